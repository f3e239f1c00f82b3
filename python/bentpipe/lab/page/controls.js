// Sliders, lists and switches. They are made again only when the scenario has others.

import { make } from "./elements.js";

const ABOUT_SEED = "of all random numbers";

export class Controls {
  constructor(form, mostSeed, changed) {
    this.form = form;
    this.mostSeed = mostSeed;
    this.changed = changed; // called with the name of a control and its value, null for its own
    this.made = "";
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  show(controls, values, seed) {
    const key = JSON.stringify(controls);
    if (key !== this.made) this.make(controls);
    this.made = key;
    for (const control of controls) this.set(control, values[control.id] ?? null);
    this.setSeed(seed);
  }

  enable(isEnabled) {
    for (const group of this.form.querySelectorAll("fieldset")) group.disabled = !isEnabled;
    // Nothing inside takes the focus while all is disabled, and the keyboard still has to scroll.
    if (isEnabled) this.form.removeAttribute("tabindex");
    else this.form.tabIndex = 0;
  }

  // Mark the control that a lesson is about, until it is made again.
  point(id) {
    for (const [name, row] of Object.entries(this.rows)) row.classList.toggle("pointed", name === id);
    this.rows[id]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  make(controls) {
    this.inputs = {};
    this.rows = {};
    const groups = Map.groupBy ? Map.groupBy(controls, (one) => one.group) : grouped(controls);
    const order = ["Path", "Hosts", "Applications", "Beam", "Run"].filter((name) => groups.has(name));
    this.form.replaceChildren(
      ...order.map((name) => {
        const rows = groups.get(name).map((control) => this.row(control));
        if (name === "Run") rows.push(this.seedRow());
        return make("fieldset", {}, make("legend", {}, name), ...rows);
      }),
    );
  }

  row(control) {
    const id = `control-${control.id}`;
    const help = control.help ? make("p", { class: "help", id: `${id}-help` }, control.help) : null;
    const about = help ? { "aria-describedby": help.id } : {};
    const input = { slider, choice, switch: toggle }[control.kind](control, { id, ...about });
    const output = control.kind === "slider" ? make("output", { for: id }) : null;
    const undo = make("button", { type: "button", class: "undo", "aria-label": `Reset ${control.label}` }, "↺");
    undo.addEventListener("click", () => {
      this.set(control, null);
      this.changed(control.id, null);
    });
    input.addEventListener(control.kind === "slider" ? "input" : "change", () => {
      const value = chosen(control, input);
      this.set(control, value);
      this.changed(control.id, value);
    });
    const label = make("label", { for: id }, control.label);
    const top = make("div", { class: "top" }, control.kind === "switch" ? input : null, label, undo, output);
    const row = make("div", { class: "control" }, top, control.kind === "switch" ? null : input, help);
    this.inputs[control.id] = { input, output };
    this.rows[control.id] = row;
    return row;
  }

  set(control, value) {
    const { input, output } = this.inputs[control.id];
    let number = control.options.findIndex((one) => one.value === value);
    const isKnown = number >= 0;
    if (!isKnown) number = control.options.findIndex((one) => one.value === null);
    const text = isKnown ? control.options[number].text : String(value);
    if (control.kind === "slider") {
      if (chosen(control, input) !== value) input.value = number;
      input.setAttribute("aria-valuetext", text);
      output.textContent = text;
    } else if (control.kind === "choice") {
      input.value = String(number);
    } else {
      input.checked = value === true;
    }
    this.rows[control.id].classList.toggle("changed", value !== null);
  }

  seedRow() {
    const input = make("input", {
      type: "number",
      id: "control-seed",
      min: 0,
      step: 1,
      "aria-describedby": "control-seed-help",
    });
    input.addEventListener("change", () => this.takeSeed());
    this.seed = input;
    const label = make("div", { class: "top" }, make("label", { for: "control-seed" }, "Seed"));
    this.seedHelp = make("p", { class: "help", id: "control-seed-help", role: "status" }, ABOUT_SEED);
    return make("div", { class: "control" }, label, input, this.seedHelp);
  }

  // Seeds are texts, because a number has 53 bits only.
  takeSeed() {
    const isSeed = /^\d+$/.test(this.seed.value) && BigInt(this.seed.value) <= BigInt(this.mostSeed);
    this.tellSeed(isSeed ? "" : `Expected a whole number from 0 to ${this.mostSeed}. Seed ${this.now} stays.`);
    if (this.seed.reportValidity()) this.changed("seed", String(BigInt(this.seed.value)));
  }

  tellSeed(error) {
    this.seed.setCustomValidity(error);
    const text = error || ABOUT_SEED;
    if (this.seedHelp.textContent !== text) this.seedHelp.textContent = text; // else it is read out again
  }

  setSeed(seed) {
    this.now = seed;
    if (!this.seed || document.activeElement === this.seed) return;
    this.seed.value = seed;
    this.tellSeed("");
  }
}

const grouped = (controls) => {
  const found = new Map();
  for (const one of controls) found.set(one.group, [...(found.get(one.group) ?? []), one]);
  return found;
};

const slider = (control, attributes) =>
  make("input", { type: "range", min: 0, max: control.options.length - 1, step: 1, ...attributes });

const choice = (control, attributes) =>
  make("select", attributes, ...control.options.map((one, number) => make("option", { value: number }, one.text)));

const toggle = (_, attributes) => make("input", { type: "checkbox", role: "switch", ...attributes });

function chosen(control, input) {
  if (control.kind === "switch") return input.checked ? true : null;
  return control.options[Number(input.value)]?.value ?? null;
}
