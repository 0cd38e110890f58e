import { Answer, aligned, normals, number, name, range, softmax, sum, svg, whole, words } from "./answer.js";

const [ROWS, KEYS] = [64, 8];
const PAIRS = ROWS * KEYS;
const drawn = new Map();

// q·k of every pair for every width: the products are drawn once, and a wider vector adds further ones.
function products(seed) {
  if (!drawn.has(seed)) {
    const next = normals(seed);
    const sums = range(1025).map(() => new Float64Array(PAIRS));
    for (let width = 1; width <= 1024; width++)
      for (let pair = 0; pair < PAIRS; pair++) sums[width][pair] = sums[width - 1][pair] + next() * next();
    drawn.clear();
    drawn.set(seed, sums);
  }
  return drawn.get(seed);
}

const spread = (values) => {
  const mean = sum(values) / values.length;
  return Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length);
};

class WhySqrt extends Answer {
  start = { d: 64, seed: 1 };

  fit = ({ d, seed }) => ({ d: whole(d, 1, 1024), seed: whole(seed, 1, 9999) });

  controls() {
    return `<div class="row">${this.slider("d", name("d_k"), 1, 1024, { log: "2" })}
      ${this.button("again", this.word("다시 뽑기", "Draw again"))}</div>`;
  }

  press() {
    this.change({ seed: this.state.seed + 1 });
  }

  compute({ d, seed }) {
    const raw = [...products(seed)[d]];
    const ways = [raw, raw.map((score) => score / Math.sqrt(d))].map((logits, way) => {
      const weights = range(ROWS).map((row) => softmax(logits.slice(row * KEYS, row * KEYS + KEYS)));
      const p = Math.max(...weights[0]);
      const saturated = weights.filter((row) => Math.max(...row) > 0.99).length / ROWS;
      return { logits, weights: weights[0], p, saturated, derived: way ? 1 : Math.sqrt(d), measured: spread(logits) };
    });
    const both = (pick) => ways.map(pick);
    const rows = [both((way) => way.derived), both((way) => way.measured), both((way) => way.p),
      both((way) => way.p * (1 - way.p)), both((way) => way.saturated),
      ...range(KEYS).map((key) => both((way) => way.weights[key]))].map((values) => [null, ...values]);
    return { ways, rows };
  }

  draw({ ways }, width) {
    const titles = [this.word("나누기 전", "Not divided"), `÷ √d_k`];
    const narrow = width < 560;
    const [scale, half] = [(narrow ? width : width / 2 - 12) / 2 / 112, narrow ? width : width / 2 - 12];
    this.picture.innerHTML = `<div class="panels">${ways.map((way, place) => this.panel(way, titles[place], half, scale)).join("")}</div>`;
    const [before, after] = ways.map((way) => `<b>${number(way.p * (1 - way.p))}</b>`);
    const d = `${name("d_k")} = ${this.state.d}`;
    return this.word(`${d}: scores의 표준편차는 ${number(ways[0].measured)}이고 나누면 ${number(ways[1].measured)}이다. 남는 기울기 p(1−p)는 나누기 전 ${before}, 나눈 뒤 ${after}이다.`,
      `${d}: scores spread by ${number(ways[0].measured)}, and by ${number(ways[1].measured)} once divided. The gradient left, p(1−p), is ${before} undivided and ${after} divided.`);
  }

  panel({ logits, weights, p, saturated, derived, measured }, title, width, scale) {
    const middle = width / 2;
    const bins = new Array(57).fill(0);
    for (const logit of logits) bins[Math.min(Math.max(Math.round(logit / 4) + 28, 0), 56)]++;
    const high = Math.max(...bins);
    const bars = bins.map((count, bin) => count && `<rect x="${middle + ((bin - 28) * 4 - 2) * scale}" y="${92 - (70 * count) / high}"
      width="${Math.max(4 * scale - 0.5, 1)}" height="${(70 * count) / high}" class="score"/>`).join("");
    const ticks = [-100, -50, 0, 50, 100].map((tick) => words(middle + tick * scale, 108, String(tick).replace("-", "−"), 'class="middle faint"')).join("");
    const sigma = `<path class="ink" d="M${middle - derived * scale} 98H${middle + derived * scale}"/>`;
    const step = width / KEYS;
    const shares = weights.map((weight, key) => `<rect x="${key * step + 3}" y="${226 - 80 * weight}" width="${step - 6}" height="${80 * weight}" class="weight"/>
      ${words((key + 0.5) * step, 242, key + 1, 'class="middle faint"')}`).join("");
    const label = this.word("scores의 분포와 첫 row의 Softmax", "Spread of the scores, and Softmax of the first row");
    const facts = [["σ", `${number(measured)}`], [this.word("가장 큰 weight p", "Largest weight p"), aligned([p])[0]],
      ["p(1−p)", number(p * (1 - p))], [this.word("포화된 rows", "Saturated rows"), `${Math.round(saturated * 100)} %`]];
    return `<div>${svg(width, 250, label, `${words(0, 12, title, 'class="bold"')}${bars}<path class="axis" d="M0 92H${width}"/>${sigma}${ticks}
      ${words(0, 136, "Softmax", 'class="faint"')}<path class="axis" d="M0 226.500H${width}"/>${shares}`)}
      <dl>${facts.map(([term, value]) => `<div><dt>${term}</dt><dd>${value}</dd></div>`).join("")}</dl></div>`;
  }
}

customElements.define("course-why-sqrt", WhySqrt);
