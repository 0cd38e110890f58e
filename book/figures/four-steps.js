import { Answer, aligned, clamp, dot, index, matrix, name, range, softmax, sum, whole } from "./answer.js";

const EXAMPLES = [
  { q: [[1, 0, 1, 0]], k: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]], v: [[1, 0], [0, 1], [0.5, 0.5]], m: [[1, 1, 1]] },
  { q: [[1, 1, 1, 1]], k: [[0.5, 0.5, 0.5, 0], [1, 0.5, 0.5, 0], [1, 1, 1, 0]], v: [[1, 0], [0, 1], [9, 9]], m: [[1, 1, 0]] },
  { q: [[1, 0], [1, 1], [0, 2]], k: [[1, 0], [1, 1], [0, 2]], v: [[1, 0], [0, 1], [2, 2]], m: [[1, 0, 0], [1, 1, 0], [1, 1, 1]] },
];
const SIZES = { n_q: [1, 4], n_k: [1, 6], d_k: [1, 8], d_v: [1, 4] };
const resized = (rows, n, d, fill) =>
  range(n).map((i) => range(d).map((j) => clamp(rows[i]?.[j] ?? fill, -1e4, 1e4)));

class FourSteps extends Answer {
  start = { ...EXAMPLES[0], scale: 1, mask: 1, times: 1 };

  fit(state) {
    const { q, k, v } = state;
    const [n_q, n_k, d_k, d_v] = [whole(q.length, 1, 4), whole(k.length, 1, 6), whole(q[0].length, 1, 8), whole(v[0].length, 1, 4)];
    const m = resized(state.m, n_q, n_k, 1).map((row) => row.map((seen) => +(seen !== 0)));
    return { q: resized(q, n_q, d_k, 0), k: resized(k, n_k, d_k, 0), v: resized(v, n_k, d_v, 0), m,
      scale: +!!state.scale, mask: +!!state.mask, times: whole(state.times, 1, 20) };
  }

  controls() {
    const examples = [["손으로 계산한 예", "Worked example"], ["셋째 Key를 가린 예", "Third Key hidden"], ["causal mask", "Causal mask"]];
    const choices = examples.map((pair, place) => `<option value="${place}">${this.word(...pair)}</option>`).join("");
    const sizes = Object.entries(SIZES).map(([size, [low, high]]) => `<label class="answer-control">${name(size)}
      <input type="number" class="size" data-size="${size}" min="${low}" max="${high}"></label>`).join("");
    return `<div class="row"><label class="answer-control">${this.word("예", "Example")} <select>
      <option value="">${this.word("내가 쓴 것", "My own")}</option>${choices}</select></label>${sizes}</div>
      <div class="row inputs"></div><div class="row">${this.box("scale", `÷ √${name("d_k")}`)}${this.box("mask", "+ <b>M</b>")}
      ${this.slider("times", this.word("logits를 몇 배로", "Logits times"), 1, 20)}</div>`;
  }

  listen(event) {
    const { target } = event;
    const { q, k, v, m } = this.state;
    if (target.tagName === "SELECT") return target.value && this.change({ ...EXAMPLES[target.value], mask: 1 });
    const size = target.dataset.size;
    if (!size) return super.listen(event);
    if (!target.valueAsNumber) return;
    const n = whole(target.valueAsNumber, ...SIZES[size]);
    const wider = (rows) => rows.map((row) => range(n).map((j) => row[j] ?? 0));
    const longer = (rows, fill) => range(n).map((i) => rows[i] ?? rows[0].map(() => fill));
    if (size === "n_q") this.change({ q: longer(q, 0), m: longer(m, 1) });
    if (size === "n_k") this.change({ k: longer(k, 0), v: longer(v, 0) });
    if (size === "d_k") this.change({ q: wider(q), k: wider(k) });
    if (size === "d_v") this.change({ v: wider(v) });
  }

  compute({ q, k, v, m, scale, mask, times }) {
    const factor = scale ? Math.sqrt(q[0].length) : 1;
    const S = q.map((query) => k.map((key) => dot(query, key)));
    const L = S.map((row, i) => row.map((score, j) => (mask && !m[i][j] ? -Infinity : (score / factor) * times)));
    const A = L.map(softmax);
    const O = A.map((weights) => v[0].map((_, j) => dot(weights, v.map((row) => row[j]))));
    const M = m.map((row) => row.map((seen) => (seen ? 0 : -Infinity)));
    const wide = Math.max(k.length, q[0].length, v[0].length);
    const rows = Object.entries({ Q: q, K: k, V: v, M, S, L, A, O }).flatMap(([letter, values]) =>
      values.map((row, i) => [`${letter}${index(i + 1)}`, ...range(wide).map((j) => row[j] ?? null)]));
    return { S, L, A, O, rows };
  }

  draw({ S, L, A, O }) {
    const { q, k, v, m, scale, mask, times } = this.state;
    const [n_q, n_k, d_k, d_v] = [q.length, k.length, q[0].length, v[0].length];
    this.inputs([n_q, n_k, d_k, d_v]);
    const shown = [S, L, A, O].map((values) => aligned(values.flat()));
    const cells = (place, wide, marks) => (i, j) => {
      const tint = place === 2 ? 8 + 34 * A[i][j] : 10;
      const hidden = place === 1 && mask && !m[i][j] ? " masked" : "";
      return `<span class="cell${hidden}" data-part="${marks(i, j)}" style="--tint:${tint}%">${shown[place][i * wide + j]}</span>`;
    };
    const output = (i, j) => `<button type="button" class="cell" data-pick="${i} ${j}" data-part="q${i} v${j} o${i} ${j}"
      style="--tint:10%" aria-label="O${index(i + 1)}${index(j + 1)} = ${shown[3][i * d_v + j]}">${shown[3][i * d_v + j]}</button>`;
    const [row, by] = [(i) => `q${i}`, `${times > 1 ? ` = ${times}·` : " = "}S${scale ? "/√d" : ""}`];
    this.picture.innerHTML = `<ol class="steps">
      <li><strong>Score</strong>${matrix("S", "score", [n_q, n_k], ["n_q", "n_k"], cells(0, n_k, row), " = QKᵀ")}</li>
      <li><strong>Scale &amp; Mask</strong>${matrix("L", "score", [n_q, n_k], ["n_q", "n_k"], cells(1, n_k, row), `${by.replace("d", "d<sub>k</sub>")}${mask ? " + M" : ""}`)}</li>
      <li><strong>Softmax over Keys</strong>${matrix("A", "weight", [n_q, n_k], ["n_q", "n_k"], cells(2, n_k, row))}</li>
      <li><strong>Output</strong>${matrix("O", "output", [n_q, d_v], ["n_q", "d_v"], output, " = AV")}</li></ol>`;
    for (const button of this.picture.querySelectorAll("button")) {
      for (const kind of ["focus", "pointerenter", "click"]) button.addEventListener(kind, () => this.pick(button));
      for (const kind of ["blur", "pointerleave"]) button.addEventListener(kind, () => this.pick(null));
    }
    return this.summary(A, O);
  }

  summary(A, O) {
    return A.map((row, i) => {
      const [best, shown] = [row.indexOf(Math.max(...row)), aligned(O[i]).join(", ")];
      const query = `Query ${i + 1}`;
      if (!sum(row)) return this.word(`${query}: 볼 수 있는 Key가 없어 output은 0이다.`, `${query} may see no Key: its output is 0.`);
      return this.word(`${query}: Key ${best + 1}의 weight가 가장 크고(${aligned(row)[best]}), output은 [${shown}]이다.`,
        `${query} gives Key ${best + 1} the largest weight, ${aligned(row)[best]}; its output is [${shown}].`);
    }).join(" ");
  }

  // Which cells made an output entry: its Query, all Keys, its rows of S, L and A, and its column of V.
  pick(button) {
    this.toggleAttribute("data-picked", !!button);
    const [i, j] = (button?.dataset.pick ?? "- -").split(" ");
    for (const cell of this.querySelectorAll("[data-part]")) {
      const parts = cell.dataset.part.split(" ");
      const own = cell.dataset.pick ? cell === button : parts.includes(`q${i}`) || parts.includes(`v${j}`) || parts[0] === "k";
      cell.classList.toggle("made", !!button && own);
    }
    const { A, O } = this.result;
    if (!button) return void (this.sentence.innerHTML = this.summary(A, O));
    const terms = A[i].map((weight, key) => `${aligned(A[i])[key]}·${this.state.v[key][j]}`.replace("-", "−")).join(" + ");
    const made = `${terms} = ${aligned([O[i][j]])[0]}`;
    const [equals, plain] = made.includes("≈") ? ["≈", made.replace(/≈/g, "").replace("=", "≈")] : ["=", made];
    this.sentence.innerHTML = `<b>O</b>${index(+i + 1)}${index(+j + 1)} ${equals} ${plain}`;
    this.announce();
  }

  // The inputs are made anew only where a size changed: else the one that is typed in would lose its focus.
  inputs(sizes) {
    const holder = this.querySelector(".inputs");
    const { q, m } = this.state;
    const fits = EXAMPLES.findIndex((example) => Object.keys(example).every((key) => String(example[key]) === String(this.state[key]) && example[key].length === this.state[key].length));
    const select = this.querySelector("select");
    select.value = fits < 0 ? "" : fits;
    for (const input of this.querySelectorAll("[data-size]")) input.value = sizes[Object.keys(SIZES).indexOf(input.dataset.size)];
    if (holder.dataset.sizes === sizes.join()) return;
    holder.dataset.sizes = sizes.join();
    const [n_q, n_k, d_k, d_v] = sizes;
    const typed = (key, letter, part) => (i, j) => `<input type="number" step="any" class="cell" data-key="${key}" data-at="${i} ${j}"
      data-part="${part(i, j)}" style="--tint:10%" aria-label="${letter}${index(i + 1)}${index(j + 1)}">`;
    const seen = (i, j) => `<input type="checkbox" class="cell sees" data-key="m" data-at="${i} ${j}" data-part="q${i}"
      aria-label="${this.word(`Query ${i + 1}의 Key ${j + 1} 보기`, `Query ${i + 1} may see Key ${j + 1}`)}">`;
    holder.innerHTML = matrix("Q", "query", [n_q, d_k], ["n_q", "d_k"], typed("q", "Q", (i) => `q${i}`)) +
      matrix("K", "key", [n_k, d_k], ["n_k", "d_k"], typed("k", "K", () => "k")) +
      matrix("V", "value", [n_k, d_v], ["n_k", "d_v"], typed("v", "V", (i, j) => `v${j}`)) +
      matrix("M", "score", [n_q, n_k], ["n_q", "n_k"], seen);
  }
}

customElements.define("course-four-steps", FourSteps);
