import { Answer, name, number, range, svg, whole, words } from "./answer.js";

const [HEAD, LATENT, ROTARY, BYTES] = [128, 512, 64, 2];
const short = (value) => {
  const unit = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([size]) => value >= size) ?? [1, ""];
  return `${number(value / unit[0])} ${unit[1]}`;
};

class AttentionAndFfn extends Answer {
  start = { n: 1024, d: 768, layers: 32, group: 3 };
  exact = true;

  // The width is a whole number of heads, and a group of Query heads shares one Key-Value head.
  fit({ n, d, layers, group }) {
    const heads = whole(d / HEAD, 1, 128);
    const divisors = range(heads).map((place) => place + 1).filter((size) => heads % size === 0);
    const fitting = divisors.filter((size) => size <= Math.max(group, 1)).at(-1);
    return { n: whole(n, 1, 131072), d: heads * HEAD, layers: whole(layers, 1, 128), group: fitting };
  }

  controls() {
    return `<div class="row">${this.slider("n", "<var>n</var>", 1, 131072, { log: "2" })}
      ${this.slider("d", "<var>d</var>", 128, 16384, { log: "2" })}</div>
      <div class="row">${this.slider("layers", this.word("layer 수 (KV cache)", "Layers (KV cache)"), 1, 128)}
      ${this.slider("group", this.word("KV head 하나를 나눠 쓰는 Query heads (GQA)", "Query heads per KV head (GQA)"), 1, 16)}</div>`;
  }

  compute({ n, d, layers, group }) {
    const heads = d / HEAD;
    const cache = (kvHeads) => n * layers * kvHeads * 2 * HEAD * BYTES;
    const caches = { MHA: cache(heads), GQA: cache(heads / group), MQA: cache(1), MLA: n * layers * (LATENT + ROTARY) * BYTES };
    const [projections, mixing, ffn] = [8 * n * d * d, 4 * n * n * d, 16 * n * d * d];
    const rows = [[4 * d * d, 8 * d * d], [projections, ffn], [mixing, 0], [projections + mixing, ffn], [2 * d, null],
      ...Object.values(caches).map((bytes) => [bytes, null])].map((row) => [null, ...row]);
    return { projections, mixing, ffn, caches, parameters: [4 * d * d, 8 * d * d], rows };
  }

  draw({ projections, mixing, ffn, caches, parameters }, width) {
    const { n, d } = this.state;
    const attention = projections + mixing;
    const bars = (title, most, list) => {
      const scale = (width - 190) / most;
      return svg(width, 24 + 30 * list.length, title, words(0, 14, title, 'class="bold"') + list.map(([label, parts, unit], row) => {
        let at = 92;
        const boxes = parts.map(([value, kind]) => {
          const wide = value * scale;
          at += wide;
          return `<rect class="${kind}" x="${at - wide}" y="${26 + 30 * row}" width="${Math.max(wide - 1, 0)}" height="20"/>`; // a gap parts them in print, too
        }).join("");
        const total = parts.reduce((whole, [value]) => whole + value, 0);
        return `${words(84, 41 + 30 * row, label, 'class="end"')}${boxes}${words(at + 8, 41 + 30 * row, short(total) + unit)}`;
      }).join(""));
    };
    const most = Math.max(...parameters);
    this.picture.innerHTML = this.crossing(width) +
      bars("FLOPs: 8nd² + 4n²d, 16nd²", Math.max(attention, ffn),
        [["Attention", [[projections, "way0"], [mixing, "way0 lighter"]], ""], ["FFN", [[ffn, "way1"]], ""]]) +
      bars(this.word("parameters", "Parameters"), most, [["Attention", [[parameters[0], "way0"]], ""], ["FFN", [[parameters[1], "way1"]], ""]]) +
      bars(`KV cache (${this.word("sequence 하나, bfloat16", "one sequence, bfloat16")})`, Math.max(...Object.values(caches)),
        Object.entries(caches).map(([kind, bytes]) => [kind, [[bytes, "way0"]], "B"]));
    const ratio = `<b>${number(attention / ffn)}</b>`;
    return this.word(`n = ${n}, d = ${d}: Attention의 FLOPs는 FFN의 ${ratio}배이다. n\u00a0=\u00a02d\u00a0=\u00a0${2 * d}에서 같아진다.`,
      `n = ${n}, d = ${d}: Attention takes ${ratio} times the FLOPs of the FFN. They are equal at n\u00a0=\u00a02d\u00a0=\u00a0${2 * d}.`);
  }

  // FLOPs over n, as far as four times d: whatever d is, the two cross in the middle.
  crossing(width) {
    const { n, d } = this.state;
    const [left, right, bottom, high] = [10, width - 84, 180, 150];
    const x = (tokens) => left + ((right - left) * tokens) / (4 * d);
    const y = (flops) => bottom - (high * flops) / (96 * d ** 3);
    const curve = range(41).map((step) => (step * d) / 10).map((at) => `${x(at)},${y(8 * at * d * d + 4 * at * at * d)}`).join(" ");
    const ticks = range(5).map((times) => words(x(times * d), bottom + 16, times ? `${times === 1 ? "" : times}d` : "0", 'class="middle faint"')).join("");
    const within = Math.min(n, 4 * d);
    const title = this.word("FLOPs — 가로는 n", "FLOPs as n grows");
    return svg(width, 204, title, `${words(0, 14, title, 'class="bold"')}<path class="axis" d="M${left} ${bottom}H${right}"/>${ticks}
      <path class="mark" d="M${x(2 * d)} ${y(32 * d ** 3)}V${bottom}"/>${words(x(2 * d) + 6, bottom - 8, "n = 2d")}
      <polyline class="line way0" points="${curve}"/><path class="line way1" d="M${x(0)} ${y(0)}L${x(4 * d)} ${y(64 * d ** 3)}"/>
      <path class="mark" d="M${x(within)} 22V${bottom}"/>${words(x(within) + 5, 34, n > 4 * d ? `n = ${n} →` : `n = ${n}`, n > 2 * d ? `class="end" dx="-10"` : "")}
      ${words(right + 8, y(96 * d ** 3) + 4, "Attention")}${words(right + 8, y(64 * d ** 3) + 4, "FFN")}`);
  }
}

customElements.define("course-attention-and-ffn", AttentionAndFfn);
