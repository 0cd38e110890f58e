import { Answer, clamp, dot, normals, number, range, softmax, svg, whole, words } from "./answer.js";

const [KEYS, WIDTH, MOST] = [6, 64, 32];
const largest = (values) => Math.max(...values.map(Math.abs));

class ScoreControl extends Answer {
  start = { t: 4, gain: 1, cap: 50, seed: 1 };

  fit = ({ t, gain, cap, seed }) =>
    ({ t: clamp(t, 1, MOST), gain: clamp(gain, 0.25, 8), cap: clamp(cap, 5, 100), seed: whole(seed, 1, 9999) });

  controls() {
    return `<div class="row">${this.slider("t", this.word("norm을 몇 배로", "Norms times"), 1, MOST, { step: 0.5 })}
      ${this.slider("gain", this.word("QK Norm의 gain", "QK Norm gain"), 0.25, 8, { step: 0.25 })}
      ${this.slider("cap", this.word("Soft-cap의 c", "Soft-cap c"), 5, 100, { step: 5 })}
      ${this.button("again", this.word("다시 뽑기", "Draw again"))}</div>`;
  }

  press() {
    this.change({ seed: this.state.seed + 1 });
  }

  // The logits of one Query and six Keys under each control, all vectors t times as long.
  logits(t) {
    const { gain, cap, seed } = this.state;
    if (this.seed !== seed) {
      const next = normals(seed);
      this.vectors = range(KEYS + 1).map(() => range(WIDTH).map(next));
      this.seed = seed;
    }
    const grown = this.vectors.map((vector) => vector.map((value) => value * t));
    const normed = grown.map((vector) => {
      const root = Math.sqrt(dot(vector, vector) / WIDTH + 1e-6);
      return vector.map((value) => (gain * value) / root);
    });
    const raw = grown.slice(1).map((key) => dot(grown[0], key));
    const scaled = raw.map((score) => score / Math.sqrt(WIDTH));
    return [raw, scaled, normed.slice(1).map((key) => dot(normed[0], key) / Math.sqrt(WIDTH)),
      scaled.map((score) => cap * Math.tanh(score / cap))];
  }

  compute({ t, gain, cap }) {
    const logits = this.logits(t);
    const weights = logits.map(softmax);
    const p = weights.map((row) => Math.max(...row));
    const bounds = [Infinity, Infinity, Math.sqrt(WIDTH) * gain * gain, cap];
    const rows = [logits.map(largest), bounds, p, p.map((value) => value * (1 - value)),
      ...range(KEYS).map((key) => logits.map((row) => row[key])), ...range(KEYS).map((key) => weights.map((row) => row[key]))];
    return { logits, weights, bounds, p, rows: rows.map((row) => [null, ...row]) };
  }

  draw({ logits, weights, bounds, p }, width) {
    const names = [this.word("그대로", "As it is"), "Scaling", "QK Norm", "Soft-cap"];
    this.picture.innerHTML = `${this.growth(names, width)}<div class="panels four">${names.map((title, place) =>
      this.panel(title, logits[place], weights[place], bounds[place], p[place], (width < 560 ? width / 2 : width / 4) - 10)).join("")}</div>`;
    const shown = logits.map((row) => `<b>${number(largest(row))}</b>`);
    return this.word(`norm을 ${this.state.t}배로 하면 가장 큰 |logit|은 Scaling만 하면 ${shown[1]}, QK\u00a0Norm을 거치면 ${shown[2]}, Soft-\u2060cap을 거치면 ${shown[3]}이다.`,
      `With norms ${this.state.t} times as large, the largest |logit| is ${shown[1]} after Scaling alone, ${shown[2]} with QK\u00a0Norm, ${shown[3]} with Soft-\u2060cap.`);
  }

  growth(names, width) {
    const [left, right, bottom] = [34, width - 84, 190];
    const x = (t) => left + ((right - left) * Math.log2(t)) / 5;
    const y = (value) => bottom - 34 * clamp(Math.log10(Math.max(value, 1e-9)) + 0.5, 0, 5);
    const lines = range(41).map((step) => 2 ** (step / 8)).map((t) => [t, ...this.logits(t).map(largest)]);
    const ends = names.map((_, way) => [y(lines.at(-1)[way + 1]), way]).sort((a, b) => a[0] - b[0]);
    // Labels that would lie on each other move apart.
    for (let place = 1; place < 4; place++) ends[place][0] = Math.max(ends[place][0], ends[place - 1][0] + 15);
    const drawn = names.map((_, way) => `<polyline class="line way${way}" points="${lines.map((line) => `${x(line[0])},${y(line[way + 1])}`).join(" ")}"/>`).join("");
    const labels = ends.map(([height, way]) => words(right + 8, height + 4, names[way])).join("");
    const ticks = [1, 2, 4, 8, 16, 32].map((t) => words(x(t), bottom + 16, `×${t}`, 'class="middle faint"')).join("") +
      [1, 10, 100, 1000, 10000].map((value) => `<path class="grid" d="M${left} ${y(value)}H${right}"/>${words(left - 6, y(value) + 4, value > 100 ? `10${value > 1000 ? "⁴" : "³"}` : value, 'class="end faint"')}`).join("");
    const dots = this.result.logits.map((row, way) => `<circle class="way${way}" cx="${x(this.state.t)}" cy="${y(largest(row))}" r="4"/>`).join("");
    const title = this.word("가장 큰 |logit| — 가로는 norm의 배수", "Largest |logit| as the norms grow");
    return svg(width, 212, title, `${words(0, 12, title, 'class="bold"')}${ticks}<path class="mark" d="M${x(this.state.t)} 20V${bottom}"/>${drawn}${dots}${labels}`);
  }

  panel(title, logits, weights, bound, p, width) {
    const [step, high] = [width / KEYS, largest(logits)];
    const bars = range(KEYS).map((key) => `<rect x="${key * step + 2}" width="${step - 4}" class="score"
      y="${62 - Math.max((36 * logits[key]) / high, 0)}" height="${Math.abs((36 * logits[key]) / high)}"/>
      <rect x="${key * step + 2}" y="${180 - 60 * weights[key]}" width="${step - 4}" height="${60 * weights[key]}" class="weight"/>
      ${words((key + 0.5) * step, 195, key + 1, 'class="middle faint"')}`).join("");
    return `<div>${svg(width, 200, `${title}: logits, weights`, `${words(0, 12, title, 'class="bold"')}${words(width, 12, "L", 'class="end bold score"')}${bars}
      <path class="axis" d="M0 62H${width}M0 180.500H${width}"/>${words(0, 115, "A", 'class="bold weight"')}`)}
      <dl><div><dt>max |logit|</dt><dd>${number(high)}</dd></div><div><dt>${this.word("상한", "Bound")}</dt><dd>${bound === Infinity ? this.word("없음", "none") : number(bound)}</dd></div>
      <div><dt>p(1−p)</dt><dd>${number(p * (1 - p))}</dd></div></dl></div>`;
  }
}

customElements.define("course-score-control", ScoreControl);
