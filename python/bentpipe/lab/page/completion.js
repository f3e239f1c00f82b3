// Completion of the scenario file: a list at the cursor, moved in with the arrow keys.

import { by, make } from "./elements.js";
import { post } from "./requests.js";

const TYPED_MS = 150; // until typing has paused
const ROWS = 8; // of the list, when it opens above the cursor

export class Completion {
  constructor(box, list) {
    this.box = box;
    this.list = list;
    this.items = [];
    this.chosen = -1;
    this.asked = 0;
    box.addEventListener("input", (event) => this.typed(event));
    box.addEventListener("keydown", (event) => this.pressed(event));
    box.addEventListener("blur", () => this.close());
    box.addEventListener("scroll", () => this.isOpen && this.place());
    box.addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !this.list.hidden;
  }

  typed(event) {
    clearTimeout(this.timer);
    this.close();
    if (event.inputType === "insertText") this.timer = setTimeout(() => this.ask(), TYPED_MS);
  }

  async ask(isWanted = false) {
    const { selectionStart: at, selectionEnd: end, value } = this.box;
    if (at !== end) return;
    const number = (this.asked += 1);
    const before = value.slice(0, at);
    const answer = await post("complete", { before });
    if (!answer.ok || number !== this.asked || this.box.value.slice(0, this.box.selectionStart) !== before) return;
    const { replaced, items } = await answer.json();
    if (items.length && (replaced || isWanted)) this.open(items, at - replaced);
  }

  open(items, from) {
    this.items = items;
    this.from = from;
    this.list.replaceChildren(
      ...items.map(({ text, help }, number) => {
        const about = help ? make("small", {}, help) : null;
        const row = make("li", { role: "option", id: `completion-${number}`, "aria-selected": "false" }, text, about);
        row.addEventListener("mousedown", (event) => {
          event.preventDefault(); // the box keeps the focus
          this.take(number);
        });
        return row;
      }),
    );
    this.list.hidden = false;
    this.place();
    this.choose(-1);
  }

  // Below the line of the cursor, or above it where there is no room.
  place() {
    const style = getComputedStyle(this.box);
    const lines = this.box.value.slice(0, this.from).split("\n");
    const height = Number.parseFloat(style.lineHeight);
    const top = Number.parseFloat(style.paddingTop) + (lines.length - 1) * height - this.box.scrollTop;
    const isLow = top + height + this.list.offsetHeight > this.box.clientHeight && top > ROWS * height;
    this.list.style.top = `${isLow ? top - this.list.offsetHeight : top + height}px`;
    const wide = Number.parseFloat(style.fontSize) * 0.6 * lines.at(-1).length - this.box.scrollLeft;
    this.list.style.left = `${Math.max(0, Math.min(wide, this.box.clientWidth - this.list.offsetWidth))}px`;
  }

  choose(number) {
    this.list.children[this.chosen]?.setAttribute("aria-selected", "false");
    this.chosen = number;
    const row = this.list.children[number];
    row?.setAttribute("aria-selected", "true");
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.box.setAttribute("aria-activedescendant", row.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  pressed(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.ask(true);
    } else if (this.isOpen) this.moved(event);
  }

  moved(event) {
    const many = this.items.length;
    const act = {
      ArrowDown: () => this.choose((this.chosen + 1) % many),
      ArrowUp: () => this.choose((Math.max(this.chosen, 0) + many - 1) % many),
      Escape: () => this.close(),
      Enter: this.chosen >= 0 && (() => this.take(this.chosen)),
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown", "Tab"].includes(event.key)) this.close();
  }

  // The item in the text, as if it had been typed.
  take(number) {
    const { text } = this.items[number];
    this.box.setRangeText(text, this.from, this.box.selectionStart, "end");
    this.close();
    this.box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }

  close() {
    this.asked += 1;
    this.list.hidden = true;
    this.choose(-1);
  }
}

export const completion = () => new Completion(by("toml"), by("completions"));
