// What the figures have in common: their state in the address, controls, matrices, the sentence that is read aloud.

const PAPER = 720; // pixels: a little more than a page has between its margins, so that pictures leave room for text

export class Answer extends HTMLElement {
  // A figure has `start` (its state, numbers and matrices), `fit(state)` (what may be typed), `controls()`,
  // `compute(state)` (an object with the `rows` of the table) and `draw(result)` (the picture; it returns the sentence).
  connectedCallback() {
    if (this.picture) return;
    this.korean = this.closest("[lang]").lang.startsWith("ko");
    const box = this.querySelector(".answer-table"); // it scrolls where the table is wider than the page
    this.table = box.querySelector("table");
    this.key = this.id.replace("figure-", "");
    this.state = this.fit({ ...structuredClone(this.start), ...read(this.key, this.start) });
    this.innerHTML = `<div class="answer-controls">${this.controls()}</div><div class="answer-picture"></div>
      <p class="answer-sentence"></p><p class="answer-title">${this.table.caption.innerHTML}</p><div class="answer-foot"><details><summary>${this.word("표로 보기", "As a table")}
      </summary></details><a>${this.word("이 상태의 주소", "Link to this state")}</a></div>`;
    [this.picture, this.sentence] = [this.children[1], this.children[2]];
    this.querySelector("details").append(box);
    this.addEventListener("input", (event) => this.listen(event));
    // What was typed beyond the ends is put right when it is left.
    this.addEventListener("change", ({ target }) => target.dataset.key && this.show(target, true));
    this.addEventListener("click", (event) => event.target.dataset.do && this.press(event.target.dataset.do));
    addEventListener("beforeprint", () => this.print(PAPER));
    addEventListener("afterprint", () => this.print());
    new ResizeObserver(() => this.picture.clientWidth !== this.drawn && this.update()).observe(this.picture);
    this.update();
    carry();
  }

  word(korean, english) {
    return this.korean ? korean : english;
  }

  listen({ target }) {
    const { key, at, log } = target.dataset;
    if (!key) return;
    const value = target.type === "checkbox" ? +target.checked : log ? Math.round(2 ** target.value) : target.valueAsNumber;
    const typed = target.tagName === "SELECT" ? Number(target.value) : value;
    target.setAttribute("aria-invalid", !Number.isFinite(typed));
    if (!Number.isFinite(typed)) return;
    if (!at) return this.change({ [key]: typed });
    const matrix = structuredClone(this.state[key]);
    const [row, column] = at.split(" ");
    matrix[row][column] = typed;
    this.change({ [key]: matrix });
  }

  change(part) {
    this.state = this.fit({ ...this.state, ...part });
    this.update();
    this.announce();
  }

  // Once, when the reader has come to rest: a slider that is drawn along would never stop talking.
  announce() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      history.replaceState(history.state, "", this.address());
      carry();
      live().textContent = this.sentence.textContent;
    }, 600);
  }

  // On paper a figure is as wide as any other, whatever the screen was, and nothing of it is folded.
  print(width) {
    const table = this.querySelector("details");
    if (width) [this.unfolded, table.open] = [table.open, true];
    else table.open = this.unfolded;
    this.update(width);
  }

  update(width = this.picture.clientWidth) {
    this.drawn = width;
    this.result = this.compute(this.state);
    this.sentence.innerHTML = this.draw(this.result, Math.min(this.drawn || 320, 720));
    for (const input of this.querySelectorAll(".answer-controls [data-key]")) this.show(input);
    const body = this.table.tBodies[0];
    const heads = [...body.rows].map((row) => row.cells[0].innerHTML);
    body.innerHTML = this.result.rows.map(([head, ...values], row) => `<tr><th scope="row">${head ?? heads[row]}</th>${
      values.map((value) => `<td>${value === null ? "" : this.exact ? thousands(value) : number(value)}</td>`).join("")}</tr>`).join("");
    this.querySelector(".answer-foot a").href = this.address();
  }

  show(input, left = false) {
    const { key, at, log } = input.dataset;
    const [row, column] = at?.split(" ") ?? [];
    const value = at ? this.state[key][row][column] : this.state[key];
    if (input.type === "checkbox") input.checked = value;
    else if (log) [input.value, input.ariaValueText] = [Math.log2(value), thousands(value)];
    else if (left || input !== document.activeElement || input.type !== "number") input.value = value;
  }

  address() {
    const changed = Object.keys(this.start).filter((key) => text(this.state[key]) !== text(this.start[key]));
    const others = location.search.slice(1).split("&").filter((part) => part && part.split("=")[0] !== this.key);
    const own = changed.length ? [`${this.key}=${changed.map((key) => `${key}:${text(this.state[key])}`).join(";")}`] : [];
    const query = [...others, ...own].join("&");
    return `${location.pathname}${query && `?${query}`}#${this.id}`;
  }

  // Controls

  slider(key, label, low, high, { step = 1, log = "" } = {}) {
    const ends = log ? [Math.log2(low), Math.log2(high)] : [low, high];
    return `<div class="answer-control"><label for="${this.id}-${key}">${label}</label>
      <input type="range" id="${this.id}-${key}" data-key="${key}" data-log="${log}" min="${ends[0]}" max="${ends[1]}"
        step="${step}"><input type="number" data-key="${key}" min="${low}" max="${high}" step="any" aria-label="${plain(label)}"></div>`;
  }

  box(key, label) {
    return `<label class="answer-control"><input type="checkbox" data-key="${key}"> <span>${label}</span></label>`;
  }

  button(name, label) {
    return `<button type="button" data-do="${name}">${label}</button>`;
  }
}

const text = (value) => (Array.isArray(value) ? value.map((row) => row.join(",")).join("/") : String(value));
const thousands = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });

function read(key, start) {
  const found = {};
  for (const part of (new URLSearchParams(location.search).get(key) ?? "").split(";")) {
    const [name, value = ""] = part.split(":");
    if (!(name in start)) continue;
    const rows = value.split("/").map((row) => row.split(",").map(Number));
    if (value && rows.flat().every(Number.isFinite)) found[name] = Array.isArray(start[name]) ? rows : rows[0][0];
  }
  return found;
}

// The way to the other language takes the states along.
function carry() {
  for (const sibling of document.querySelectorAll("a.language[hreflang]")) sibling.search = location.search;
}

// One for the page: two figures never speak at once.
function live() {
  const there = document.querySelector("#answer-live");
  if (there) return there;
  const made = document.querySelector("main").appendChild(document.createElement("div"));
  Object.assign(made, { id: "answer-live", className: "answer-live", ariaLive: "polite" });
  return made;
}

// Numbers

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
export const whole = (value, low, high) => clamp(Math.round(value), low, high);
export const sum = (values) => values.reduce((total, value) => total + value, 0);
export const dot = (a, b) => sum(a.map((value, place) => value * b[place]));
export const range = (n) => Array.from({ length: n }, (_, place) => place);

export function softmax(logits) {
  const highest = Math.max(...logits);
  if (highest === -Infinity) return logits.map(() => 0);
  const exponentials = logits.map((logit) => Math.exp(logit - highest));
  const total = sum(exponentials);
  return exponentials.map((value) => value / total);
}

// mulberry32, and Box and Muller's way from it to standard normal numbers: a seed gives the same draw everywhere.
export function normals(seed) {
  let place = seed;
  const uniform = () => {
    place = (place + 0x6d2b79f5) | 0;
    let mixed = Math.imul(place ^ (place >>> 15), place | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

// As course_lib/_numbers.py writes it: three digits, or more where three would look like a whole number.
export function number(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "NaN";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e5) return value.toExponential(1).replace(".0", "").replace("+", "").replaceAll("-", "−");
  const tells = (shown) => Number.isInteger(value) === Number.isInteger(shown) || Math.abs(value - shown) < 1e-6;
  const digits = [3, 4, 5].find((count) => tells(Number(value.toPrecision(count)))) ?? 6;
  const words = value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  return (words.includes(".") ? words.replace(/\.?0+$/, "") : words).replace("-", "−");
}

// Numbers below each other: as many decimals as one of them needs, three at most, and five letters, as a cell holds.
export function aligned(values) {
  let decimals = Math.min(Math.max(...values.map((value) => (number(value).split("e")[0].split(".")[1] ?? "").length)), 3);
  const small = values.filter((value) => Math.abs(value) < 1e4);
  while (decimals && small.some((value) => value.toFixed(decimals).length > 5)) decimals--;
  const large = (value) => [1, 0].map((digits) => value.toExponential(digits).replace("+", "").replace("-", "−"));
  return values.map((value) => {
    const words = value.toFixed(decimals).replace("-", "−");
    if (!Number.isFinite(value)) return number(value);
    if (Math.abs(value) >= 1e4) return large(value).find((words) => words.length <= 5) ?? large(value)[1];
    return Number(value.toFixed(3)) === 0 && value ? "≈0" : value > 0.999 && value < 1 && words[0] === "1" ? "≈1" : words;
  });
}

// Pictures

export const name = (symbol) => symbol.replace(/(\w)_(\w+)/g, "<span><var>$1</var><sub>$2</sub></span>");
export const index = (n) => String(n).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);
const plain = (html) => html.replace(/<[^>]*>/g, "");
export const svg = (width, height, label, content) =>
  `<svg role="img" aria-label="${label}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${content}</svg>`;
// In an SVG a subscript is a smaller, lower piece of the text.
export const words = (x, y, content, more = "") =>
  `<text x="${x}" y="${y}" ${more}>${String(content).replace(/([a-zA-Zσ])_(\w+)/g, '<tspan font-style="italic">$1</tspan><tspan dy="3" font-size="75%">$2</tspan><tspan dy="-3">\u200b</tspan>')}</text>`;

export function matrix(letter, role, [rows, columns], axes, cell, formula = "") {
  const grid = range(rows).map((i) => range(columns).map((j) => cell(i, j)).join("")).join("");
  return `<div class="matrix" style="--role:var(--role-${role});--columns:${columns}">
    <p><b>${letter}</b>${formula} <small>${rows} × ${columns}</small></p>
    <i class="top">${name(axes[1])}</i><i class="left">${name(axes[0])}</i>
    <div role="group" aria-label="${letter}, ${rows} × ${columns}">${grid}</div></div>`;
}
