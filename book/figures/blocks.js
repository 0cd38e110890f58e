import { Answer, name, normals, number, range, sum, svg, whole, words } from "./answer.js";

const [D_V, QUERIES, KEYS, WIDTH, BYTES] = [2, 64, 2048, 64, 4];
const tenth = (value) => Math.round(value * 10) / 10;

class Blocks extends Answer {
  start = { keys: 12, block: 3, step: 2, seed: 76, n: 4096 };

  fit({ keys, block, step, seed, n }) {
    keys = whole(keys, 2, 16);
    block = whole(block, 1, keys);
    return { keys, block, step: whole(step, 0, Math.ceil(keys / block)), seed: whole(seed, 1, 9999), n: whole(n, 64, 131072) };
  }

  controls() {
    return `<div class="row">${this.button("back", this.word("← 앞 block", "← Back"))}${this.button("next", this.word("다음 block →", "Next block →"))}
      ${this.slider("step", this.word("읽은 blocks", "Blocks read"), 0, 16)}</div>
      <div class="row">${this.slider("block", this.word("block 크기", "Block size"), 1, 16)}${this.slider("keys", name("n_k"), 2, 16)}
      ${this.button("again", this.word("다시 뽑기", "Draw again"))}</div>
      <div class="row">${this.slider("n", this.word("memory: tokens <var>n</var>", "Memory: tokens <var>n</var>"), 64, 131072, { log: "2" })}</div>`;
  }

  press(what) {
    const { step, seed } = this.state;
    this.change(what === "again" ? { seed: seed + 1 } : { step: step + (what === "next" ? 1 : -1) });
  }

  compute({ keys, block, step, seed, n }) {
    const next = normals(seed);
    const logits = range(keys).map(() => tenth(1.5 * next()));
    const v = logits.map(() => range(D_V).map(() => tenth(next())));
    let [m, z, u] = [-Infinity, 0, range(D_V).map(() => 0)];
    const steps = range(step).map((at) => {
      const seen = range(keys).slice(at * block, (at + 1) * block);
      const higher = Math.max(m, ...seen.map((key) => logits[key]));
      const [factor, p] = [Math.exp(m - higher), seen.map((key) => Math.exp(logits[key] - higher))];
      const kept = factor * z;
      [m, z] = [higher, kept + sum(p)];
      u = u.map((value, j) => factor * value + sum(p.map((weight, place) => weight * v[seen[place]][j])));
      return { m, factor, kept, z, output: u.map((value) => value / z) };
    });
    const tile = Math.min(n, QUERIES) * (Math.min(n, KEYS) + 2 + WIDTH) * BYTES;
    const memory = [n * n * BYTES, tile];
    const rows = steps.map((at, place) => [String(place + 1), at.m, at.factor, at.z, ...at.output]);
    return { logits, v, steps, memory, rows: [...rows, [this.word("memory (MB): n × n", "Memory (MB): n × n"), memory[0] / 1e6], [this.word("memory (MB): block", "Memory (MB): block"), memory[1] / 1e6]] };
  }

  draw({ logits, steps, memory }, width) {
    const { keys, block, step } = this.state;
    const count = Math.ceil(keys / block);
    for (const input of this.querySelectorAll('[data-key="step"]')) input.max = count;
    this.picture.innerHTML = this.row(width) + this.sums(width, count) + this.bytes(memory, width);
    const last = steps.at(-1);
    if (!last) return this.word(`Keys ${keys}개를 ${block}개씩 읽는다. 아직 읽지 않았다.`, `${keys} Keys are read ${block} at a time. None has been read.`);
    const output = last.output.map(number).join(", ");
    const facts = `m = ${number(last.m)}, Z = ${number(last.z)}`;
    const end = step === count;
    return this.word(`Block ${step}/${count}: ${facts}. 이때까지의 합에 곱한 수는 <b>${number(last.factor)}</b>이다. ${end ? "다 읽은 output은" : "지금까지의 몫은"} [${output}]이다.`,
      `Block ${step} of ${count}: ${facts}. The sum so far was multiplied by <b>${number(last.factor)}</b>. ${end ? "The output is" : "The quotient so far is"} [${output}].`);
  }

  row(width) {
    const { logits, steps } = this.result;
    const { keys, block, step } = this.state;
    const [left, high] = [26, Math.max(...logits.map(Math.abs), 0.1)];
    const [each, zero] = [(width - left) / keys, 92];
    const y = (value) => zero - (52 * value) / high;
    // On a phone the numbers stand upright, or they would run into each other.
    const steep = +(each < 34);
    const turn = (key) => (steep ? `transform="rotate(-90 ${left + (key + 0.5) * each + 4} 146)"` : "");
    const bars = logits.map((logit, key) => {
      const state = key < step * block ? (key < (step - 1) * block ? "score" : "score now") : "unread";
      return `<rect class="${state}" x="${left + key * each + 3}" width="${each - 6}" y="${Math.min(y(logit), zero)}" height="${Math.max(Math.abs(y(logit) - zero), 1)}"/>
        ${words(left + (key + 0.5) * each + 4 * steep, steep ? 146 : 166, number(logit), `class="${steep ? "end" : "middle"} ${state === "unread" ? "faint" : ""}" ${turn(key)}`)}`;
    }).join("");
    const edge = (at) => left + Math.min(at * block, keys) * each;
    const highest = steps.map((at, place) => `<path class="line way1 whole" d="M${edge(place)} ${y(at.m)}H${edge(place + 1)}"/>`).join("");
    const now = step ? `<rect class="frame" x="${edge(step - 1) + 0.5}" y="24" width="${edge(step) - edge(step - 1) - 1}" height="154"/>` : "";
    const title = this.word("logits 한 row와 지금까지의 최댓값 m", "A row of logits, and its maximum m");
    return svg(width, 182, title, `${words(0, 14, title, 'class="bold"')}${bars}<path class="axis" d="M${left} ${zero}H${width}"/>${highest}${now}
      ${steps.length ? words(left - 4, y(steps.at(-1).m) + 4, "m", 'class="end"') : ""}`);
  }

  sums(width, count) {
    const { steps } = this.result;
    const left = 26;
    const [each, high] = [(width - left) / count, Math.max(...steps.map((at) => at.z), 1)];
    const bars = range(count).map((place) => {
      const at = steps[place];
      const [x, wide, height] = [left + place * each + 6, each - 12, at ? (70 * at.z) / high : 0];
      const old = at ? (70 * at.kept) / high : 0;
      return `${at ? `<rect class="kept" x="${x}" width="${wide}" y="${114 - old}" height="${old}"/><rect class="weight" x="${x}" width="${wide}" y="${114 - height}" height="${height - old}"/>
        ${each < 34 && at !== steps.at(-1) ? "" : words(x + wide / 2, 108 - height, number(at.z), 'class="middle"')}` : ""}${words(x + wide / 2, 130, each < 52 ? place + 1 : `block ${place + 1}`, 'class="middle faint"')}`;
    }).join("");
    const title = this.word("합 Z: 줄여서 이어 온 것(빗금) + 새것", "Sum Z: shrunk (hatched) + new");
    return svg(width, 136, title, `<defs><pattern id="${this.id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>
      ${words(0, 14, title, 'class="bold"')}${bars.replaceAll('class="kept"', `class="kept" fill="url(#${this.id}-hatch)"`)}<path class="axis" d="M${left} 114.500H${width}"/>`);
  }

  bytes([all, tile], width) {
    const log = (value) => ((width - 190) * Math.log10(value)) / 11;
    const shown = (value) => (value >= 1e9 ? `${number(value / 1e9)} GB` : value >= 1e6 ? `${number(value / 1e6)} MB` : `${number(value / 1e3)} kB`);
    const title = this.word("memory: scores와 합 (float32, log)", "Memory: scores and sums (float32, log)");
    const bars = [["n × n", all, "score"], [[QUERIES, KEYS].map((most) => Math.min(this.state.n, most)).join(" × "), tile, "way1"]].map(([label, value, kind], row) =>
      `${words(84, 41 + 28 * row, label, 'class="end"')}<rect class="${kind}" x="92" y="${27 + 28 * row}" width="${log(value)}" height="19"/>${words(100 + log(value), 41 + 28 * row, shown(value))}`).join("");
    return svg(width, 84, title, words(0, 14, title, 'class="bold"') + bars);
  }
}

customElements.define("course-blocks", Blocks);
