// Checks that answer back. All words stand in the page: this shows the right ones, and says them to screen readers.
class Check extends HTMLElement {
  connectedCallback() {
    this.verdict = this.querySelector(".verdict");
    const button = this.querySelector("button");
    if (button) {
      button.hidden = false;
      button.addEventListener("click", () => this.answer());
      this.addEventListener("input", () => this.verdict.replaceChildren());
    }
    const field = this.querySelector("[data-digits]");
    field?.addEventListener("keydown", event => event.key === "Enter" && this.answer());
    this.querySelector(".marks")?.addEventListener("change", event => this.count(event.currentTarget));
  }

  answer() {
    const field = this.querySelector("[data-digits]");
    const feedback = field ? this.byNumber(field) : this.querySelector(":checked ~ .feedback");
    this.verdict.replaceChildren(...[...(feedback?.childNodes ?? [])].map(node => node.cloneNode(true)));
    this.verdict.dataset.is = feedback?.classList.contains("right") ? "right" : "wrong";
  }

  byNumber(field) {
    const given = read(field.value);
    if (Number.isNaN(given)) return this.querySelector(".unread");
    const most = 0.5000001 * 10 ** -field.dataset.digits;
    const options = [...this.querySelectorAll(".option")].map(option => ({
      value: option.querySelector(".value"), feedback: option.querySelector(".feedback"),
    }));
    const hit = options.find(({value}) => value && Math.abs(read(value.textContent) - given) <= most);
    return (hit ?? options.find(({value}) => !value) ?? options.at(-1)).feedback;
  }

  count(marks) {
    const boxes = [...marks.querySelectorAll("input")];
    this.querySelector(".count").textContent = `${boxes.filter(box => box.checked).length} / ${boxes.length}`;
  }
}

// "1,234.5", "0,66" and a typographic minus are numbers too; nothing at all is none.
function read(text) {
  const plain = text.trim().replace("−", "-").replace(/,(?=\d{3}(\D|$))(?<=[1-9]\d{0,2}(,\d{3})*,)/g, "").replace(",", ".");
  return plain ? Number(plain) : NaN;
}

customElements.define("course-check", Check);
