// The table of differences, and that of limits.

import { make } from "./elements.js";

const heading = (text, unit = "") =>
  make("th", { scope: "col", class: "number" }, text, unit ? make("span", { class: "unit" }, ` ${unit}`) : null);

export function drawDifferences(table, found) {
  const names = found.columns.map((name, number) =>
    heading(name, number === 0 && found.columns.length > 1 ? "baseline" : ""),
  );
  const rows = found.rows.map((row) => {
    const label = make("th", { scope: "row" }, row.label, " ", make("span", { class: "unit" }, row.unit));
    return make("tr", {}, label, ...row.cells.map(cell));
  });
  table.replaceChildren(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "quantity"), ...names)),
    make("tbody", {}, ...rows),
  );
}

function cell({ text, difference, is_better: isBetter }) {
  const made = make("td", { class: "number" }, text);
  if (difference) {
    const kind = isBetter === undefined ? "" : isBetter ? "good" : "bad";
    const word = { good: "better", bad: "worse", "": "" }[kind];
    made.append(
      make("small", { class: kind }, difference, word ? make("span", { class: "hidden" }, ` ${word}`) : null),
    );
  }
  return made;
}

export function drawLimits(table, found) {
  const rows = found.rows.map((row) => {
    const cells = row.cells.map(({ text, share }) => {
      const made = make("td", { class: "number" }, text);
      made.style.setProperty("--share", `${100 * (share ?? 0)}%`);
      return made;
    });
    return make("tr", {}, make("th", { scope: "row" }, row.label), ...cells);
  });
  table.replaceChildren(
    make(
      "thead",
      {},
      make("tr", {}, make("th", { scope: "col" }, "controller"), ...found.columns.map((name) => heading(name, "%"))),
    ),
    make("tbody", {}, ...rows),
  );
}
