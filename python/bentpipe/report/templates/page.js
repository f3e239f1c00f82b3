// What a reader can do with the page. It asks for nothing from outside.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const figures = read("figures");
const themes = read("themes");
const tip = document.getElementById("tip");
const root = document.documentElement;

// ------------------------------------------------------------------------------ light and dark

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const themeButton = document.getElementById("theme");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

function sayTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-pressed", String(isDark()));
  themeButton.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
}
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  sayTheme();
});
prefersDark.addEventListener("change", sayTheme);
sayTheme();

// -------------------------------------------------------------------------------------- tables

function filter(box) {
  const words = box.querySelector("input[type=search]").value.toLowerCase().split(/\s+/);
  const choices = [...box.querySelectorAll("select")].filter((choice) => choice.value);
  let shown = 0;
  for (const row of box.querySelectorAll("tbody tr")) {
    // Notes are searched by their text, which stands in the title of their number.
    const notes = [...row.querySelectorAll("[title]")].map((note) => note.title);
    const text = [row.textContent, ...notes].join(" ").toLowerCase();
    const cell = (choice) => row.cells[choice.dataset.column].textContent.trim();
    const chosen = choices.every((choice) => cell(choice).startsWith(choice.value));
    row.hidden = !(chosen && words.every((word) => text.includes(word)));
    shown += row.hidden ? 0 : 1;
  }
  box.querySelector("output").textContent = shown === 1 ? "1 row" : `${shown} rows`;
}

function sort(heading) {
  const body = heading.closest("table").tBodies[0];
  const column = heading.cellIndex;
  const direction = heading.ariaSort === "ascending" ? "descending" : "ascending";
  for (const other of heading.parentElement.cells) other.ariaSort = "none";
  heading.ariaSort = direction;
  const sign = direction === "ascending" ? 1 : -1;
  const order = (a, b) => {
    const [left, right] = [a.cells[column], b.cells[column]];
    const [x, y] = [left.dataset.value, right.dataset.value];
    if (x !== undefined && y !== undefined) return sign * (Number(x) - Number(y));
    // What has no value stands last.
    if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
    return sign * left.textContent.localeCompare(right.textContent, "en", { numeric: true });
  };
  body.append(...[...body.rows].sort(order));
}

for (const box of document.querySelectorAll(".table")) {
  box.addEventListener("input", () => filter(box));
  for (const button of box.querySelectorAll("thead button")) {
    button.addEventListener("click", () => sort(button.parentElement));
  }
}

for (const button of document.querySelectorAll(".copy")) {
  const text = button.parentElement.querySelector("pre");
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(text);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      // Without leave for the clipboard the text is selected, ready for Ctrl-C.
      button.textContent = "Selected";
    }
  });
}

// ------------------------------------------------------------------------------------- figures

function rows(figure) {
  const columns = Object.keys(figure.data);
  return figure.data.series.map((_, row) => {
    const cells = columns.map((column) => [column, figure.data[column][row]]);
    return { ...Object.fromEntries(cells), series: figure.series[figure.data.series[row]] };
  });
}

function specification(figure) {
  const datasets = { ...figure.specification.datasets, points: rows(figure) };
  return { ...figure.specification, datasets };
}

const SHAPES = {
  circle: "M 11 1 a 4 4 0 1 0 0.01 0 z",
  square: "M 7 1 h 8 v 8 h -8 z",
  cross: "M 9.5 1 h 3 v 2.5 h 2.5 v 3 h -2.5 v 2.5 h -3 v -2.5 h -2.5 v -3 h 2.5 z",
  diamond: "M 11 0 l 4 5 l -4 5 l -4 -5 z",
  "triangle-up": "M 11 1 l 5 8 h -10 z",
  "triangle-down": "M 11 9 l 5 -8 h -10 z",
  "triangle-right": "M 15 5 l -8 5 v -10 z",
  "triangle-left": "M 7 5 l 8 5 v -10 z",
};

function swatch(colour, dash, shape) {
  const box = document.createElement("span");
  const mark = shape
    ? `<path d="${SHAPES[shape]}"/>`
    : '<line x1="0" x2="22" y1="5" y2="5" stroke-width="3"/>';
  box.innerHTML = `<svg width="22" height="10" aria-hidden="true">${mark}</svg>`;
  const drawn = box.querySelector(shape ? "path" : "line");
  drawn.style[shape ? "fill" : "stroke"] = colour;
  if (!shape) drawn.style.strokeDasharray = dash[1] ? dash.join(" ") : "none";
  return box.firstChild;
}

function legend(box, figure, show) {
  if (figure.series.length < 2) return;
  let shown = new Set(figure.series);
  const buttons = figure.series.map((name, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(swatch(figure.colours[number], figure.dashes[number], figure.shapes[number]), name);
    button.addEventListener("click", (event) => {
      const alone = shown.size === 1 && shown.has(name);
      if (event.shiftKey) shown = new Set(alone ? figure.series : [name]);
      else if (!shown.delete(name)) shown.add(name);
      mark();
      show([...shown]);
    });
    return button;
  });
  const mark = () =>
    buttons.forEach((button, number) =>
      button.setAttribute("aria-pressed", String(shown.has(figure.series[number])))
    );
  mark();
  box.append(...buttons);
}

// Points that the pointer may find, by series; x rises within each.
function bySeries(figure) {
  const found = figure.series.map(() => ({ x: [], y: [] }));
  figure.data.series.forEach((number, row) => {
    found[number].x.push(figure.data.x[row]);
    found[number].y.push(figure.data.y[row]);
  });
  return found;
}

function nearestIndex(sorted, value) {
  let [low, high] = [0, sorted.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle;
    else high = middle;
  }
  return value - sorted[low] < sorted[high] - value ? low : high;
}

function number(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 5 });
}

// A line has thousands of points: the nearest is searched here instead of giving each an element.
function hover(plot, figure, view) {
  const lines = bySeries(figure);
  const dot = document.createElement("div");
  dot.className = "dot";
  dot.hidden = true;
  plot.append(dot);
  const hide = () => {
    tip.hidden = dot.hidden = true;
  };
  const { x: xTitle, y: yTitle } = axes(figure.specification);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("pointermove", (event) => {
    const area = plot.querySelector("svg path.background").getBoundingClientRect();
    const at = { x: event.clientX - area.left, y: event.clientY - area.top };
    if (at.x < 0 || at.y < 0 || at.x > area.width || at.y > area.height) return hide();
    const [x, y] = [view.scale("x"), view.scale("y")];
    const shown = view.signal("shown") ?? figure.series;
    let best = null;
    lines.forEach((line, series) => {
      if (!line.x.length || !shown.includes(figure.series[series])) return;
      const point = nearestIndex(line.x, x.invert(at.x));
      const place = { x: x(line.x[point]), y: y(line.y[point]) };
      const distance = Math.hypot(place.x - at.x, place.y - at.y);
      if (place.x < 0 || place.x > area.width) return;
      if (!best || distance < best.distance) best = { distance, place, series, point };
    });
    if (!best) return hide();
    const line = lines[best.series];
    const name = document.createElement("b");
    name.textContent = figure.series[best.series];
    const values = [`${xTitle}: ${number(line.x[best.point])}`, `${yTitle}: ${number(line.y[best.point])}`];
    tip.replaceChildren(name, values[0], document.createElement("br"), values[1]);
    tip.hidden = dot.hidden = false;
    const box = plot.getBoundingClientRect();
    dot.style.left = `${area.left - box.left + best.place.x}px`;
    dot.style.top = `${area.top - box.top + best.place.y}px`;
    dot.style.background = figure.colours[best.series];
    const room = innerWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(0, Math.min(event.clientX + 14, room))}px`;
    tip.style.top = `${Math.max(0, event.clientY - tip.offsetHeight - 10)}px`;
  });
}

function axes(specification) {
  const { encoding } = specification.layer?.[0] ?? specification;
  return { x: encoding.x.title, y: encoding.y.title };
}

function zoom(view, factor) {
  const scale = view.scale("x");
  const logarithmic = scale.type === "log";
  const ends = scale.domain().map((end) => (logarithmic ? Math.log(end) : end));
  const [middle, half] = [(ends[0] + ends[1]) / 2, ((ends[1] - ends[0]) / 2) * factor];
  const zoomed = [middle - half, middle + half];
  view.signal("zoom_x", logarithmic ? zoomed.map(Math.exp) : zoomed).runAsync();
}

// Figures over the time of the run show the same part of it.
const overTime = [];
let moving = false;

function together(view) {
  overTime.push(view);
  view.addSignalListener("zoom_x", (_, range) => {
    if (moving) return;
    moving = true;
    for (const other of overTime) if (other !== view) other.signal("zoom_x", range).run();
    moving = false;
  });
}

async function save(name, figure, view) {
  const shown = view.signal("shown");
  const whole = { ...specification(figure), title: figure.title };
  const config = { ...themes.file, background: "white" };
  const unseen = document.createElement("div");
  const { view: drawn } = await vegaEmbed(unseen, whole, { config, renderer: "svg", actions: false });
  drawn.signal("shown", shown);
  const link = document.createElement("a");
  // A file has no variables of a page.
  const text = (await drawn.toSVG()).replace(/var\((--[\w-]+)\)/g, (_, name) => themes.light[name]);
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
  drawn.finalize();
}

const PANEL = { least: 230, axes: 62 };

// Panels have no width of their container: as many stand side by side as are wide enough.
function sized(specification, plot) {
  if (!specification.facet) return { ...specification, width: "container" };
  const columns = Math.max(1, Math.min(specification.columns, Math.floor(plot.clientWidth / PANEL.least)));
  const width = Math.floor(plot.clientWidth / columns) - PANEL.axes;
  return { ...specification, columns, spec: { ...specification.spec, width } };
}

async function draw(element) {
  const name = element.dataset.figure;
  const figure = figures[name];
  const plot = element.querySelector(".plot");
  const wide = sized(specification(figure), plot);
  // Lines have the nearest point of `hover` instead of tooltips.
  const tooltip = !figure.hover;
  // Panels cannot be fitted to a width: `sized` has chosen theirs.
  const config = wide.facet ? { ...themes.page, autosize: "pad" } : themes.page;
  const options = { config, renderer: "svg", actions: false, tooltip };
  const { view } = await vegaEmbed(plot, wide, options);
  legend(element.querySelector(".legend"), figure, (shown) => view.signal("shown", shown).runAsync());
  if (figure.hover) hover(plot, figure, view);
  const zooms = JSON.stringify(figure.specification).includes('"zoom"');
  if (zooms && figure.over_time) together(view);
  const actions = {
    in: () => zoom(view, 0.5),
    out: () => zoom(view, 2),
    reset: () => view.signal("zoom_x", null).runAsync(),
    save: () => save(name, figure, view),
  };
  for (const button of element.querySelectorAll(".tools button")) {
    button.addEventListener("click", actions[button.dataset.do]);
    button.hidden = !zooms && button.dataset.do !== "save";
  }
}

// A figure in a folded part has no width: it is drawn when the part is opened.
const waiting = new Set(document.querySelectorAll("figure"));

async function drawShown() {
  for (const element of [...waiting]) {
    if (element.closest("details:not([open])")) continue;
    waiting.delete(element);
    await draw(element);
  }
}

function unfold() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target?.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  target?.scrollIntoView();
}

for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", drawShown);
addEventListener("hashchange", unfold);
unfold();
await drawShown();
root.dataset.ready = "";
