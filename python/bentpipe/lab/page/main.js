// The page: its state, requests for pictures, and what is drawn of the answers.

import { Charts } from "./charts.js";
import { completion } from "./completion.js";
import { Controls } from "./controls.js";
import { by, make, stroke } from "./elements.js";
import { lessons } from "./lessons.js";
import { Packets } from "./packets.js";
import { drawPath } from "./path.js";
import { counts, page, post, Requests } from "./requests.js";
import { fromLink, toLink } from "./state.js";
import { drawDifferences, drawLimits } from "./tables.js";

const EDIT_MS = 300; // until typing has paused
const LINK_MS = 200;
const STATUS_MS = 500;
const ONE_SEED =
  "Differences from the first controller, with the same seed. One seed proves little: a band shows several, and a study has intervals.";
const SLOW_MS = 300; // from here on results are drawn one by one, with progress

const root = document.documentElement;
const start = await (await fetch("start")).json();
let state = start.state;
let asked = ""; // the link that was set last
let setup = null; // of the last good picture
let looks = {}; // numbers of colours by controller, kept while it is on the page
let results = new Map(); // what is drawn
let bands = null; // lines over several seeds and their number, until something changes
let incoming = null; // what has come of the request under way
let isEdited = false; // the text has changes that are not in the picture

const charts = new Charts(by("charts"), start.series, start);
const controls = new Controls(by("controls"), start.most_seed, change);
const requests = new Requests(() => state, take);
const packets = new Packets(() => state, charts);

// ------------------------------------------------------------------------------------- changes

function change(id, value) {
  if (id === "seed") state = { ...state, seed: value };
  else {
    const values = { ...state.values };
    if (value === null) delete values[id];
    else values[id] = value;
    state = { ...state, values };
  }
  update();
}

function update() {
  requests.ask();
  clearTimeout(update.timer);
  update.timer = setTimeout(setLink, LINK_MS);
}

async function setLink() {
  asked = await toLink(state);
  history.replaceState(null, "", `#${asked}`);
}

async function readLink() {
  const text = location.hash.slice(1);
  if (!text || text === asked) return;
  try {
    state = { values: {}, ...(await fromLink(text)) };
  } catch {
    say("The link of this page is damaged; it shows the start instead.");
    return;
  }
  asked = text;
  isEdited = typeof state.toml === "string";
  if (!isEdited) return;
  // Shown even if it is not valid: the address can be its only copy.
  by("toml").value = state.toml;
  state.toml = by("toml").value; // with the ends of lines of the box
}

// The name of the file in the box, for errors and the list of links.
const fileName = () => state.file ?? (state.preset ? `${state.preset}.toml` : start.file);

const setText = (text, file = fileName()) => {
  state = { toml: text, file, values: {}, controllers: state.controllers };
  update();
};

by("toml").addEventListener("input", () => {
  isEdited = true;
  clearTimeout(setText.timer);
  setText.timer = setTimeout(() => setText(by("toml").value), EDIT_MS);
});

by("file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  const bytes = await file.arrayBuffer();
  event.target.value = "";
  const refuse = (found) => showErrors([{ message: `${file.name}: expected a scenario file, found ${found}` }]);
  if (file.size > start.most_bytes) return void refuse(`more than ${start.most_bytes} bytes`);
  try {
    by("toml").value = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return void refuse("one that cannot be read (stream did not contain valid UTF-8)");
  }
  isEdited = true;
  setText(by("toml").value, file.name);
});

by("preset").addEventListener("change", (event) => {
  const name = event.target.value;
  const own = name ? { preset: name } : { toml: start.state.toml, file: start.file };
  state = { ...own, values: {}, controllers: state.controllers };
  isEdited = false;
  update();
});

by("reset").addEventListener("click", () => {
  state = { ...state, values: {} };
  delete state.seed;
  update();
});

addEventListener("hashchange", async () => {
  await readLink();
  requests.ask();
});

// ------------------------------------------------------------------------------------- answers

function take(answer) {
  ({
    begin: () => (incoming = { results: new Map(), shares: {}, began: performance.now() }),
    setup: () => takeSetup(answer),
    progress: () => (incoming.shares[answer.controller] = answer.share),
    part: () => (incoming.share = answer.share),
    bands: () => takeBands(answer),
    result: () => incoming.results.set(answer.controller, answer),
    failed: () => say([answer.controller, answer.message].filter(Boolean).join(": ")),
    stopped: () => say("Stopped. The figures show the last complete runs."),
    tables: () => takeTables(answer),
    error: () => showErrors(answer.problems),
    lost: () => showErrors([{ message: `No answer from bentpipe lab: ${answer.message}` }]),
    end: () => {},
    idle: () => {},
  })[answer.kind]();
  if (answer.kind === "result" && isSlow()) showSome();
  showBusy(answer.kind !== "end" && answer.kind !== "idle" && answer.kind !== "error");
  if (answer.kind === "idle") root.dataset.ready = String(counts.requests);
}

const isSlow = () => performance.now() - incoming.began > SLOW_MS;

function takeSetup(found) {
  setup = found;
  by("errors").hidden = true;
  by("toml").removeAttribute("aria-invalid");
  controls.enable(true);
  controls.show(found.controls, state.values, found.seed);
  by("name").textContent = found.name;
  const isNewer = isEdited && by("toml").value !== state.toml;
  if (!isNewer && by("toml").value !== found.toml) by("toml").value = found.toml;
  if (!isNewer) isEdited = false;
  drawPath(by("path"), by("path-note"), found.path);
  showWarnings(found.warnings);
  showChips();
  showSource();
}

function showSource() {
  opened.textContent = fileName();
  const isOwn = own.length && fileName() === start.file;
  by("preset").value = state.preset ?? (isOwn ? "" : "opened");
  by("reset").disabled = !Object.keys(state.values ?? {}).length && state.seed === undefined;
}

// All results have come: one picture of them.
function takeTables(found) {
  results = incoming.results;
  showPicture(null, found, ONE_SEED, `Of the runs with seed ${setup.seed}.`);
}

function takeBands({ lines, seeds, ...found }) {
  showPicture({ lines, seeds }, found, found.note, `Means over ${seeds} seeds.`);
}

function showPicture(newBands, { differences, limits, summary }, note, limitsNote) {
  bands = newBands;
  draw();
  drawDifferences(by("differences"), differences);
  by("differences-note").textContent = note;
  drawLimits(by("limits"), limits);
  by("limits-note").textContent = limitsNote;
  counts.pictures += 1;
  clearTimeout(showPicture.timer);
  // Read out once after the moves of a slider; a band has no others to wait for.
  showPicture.timer = setTimeout(() => (by("status").textContent = summary), bands ? 0 : STATUS_MS);
}

// Of a slow request, those results that have come, and the others from before.
function showSome() {
  results = new Map([...results, ...incoming.results]);
  bands = null;
  draw();
}

function draw() {
  const names = state.controllers.filter((name) => results.has(name));
  charts.draw(
    names.map((name) => [name, looks[name], results.get(name)]),
    setup.duration_s,
    bands,
  );
}

function showBusy(isBusy) {
  const isShown = isBusy && incoming && isSlow();
  by("busy").hidden = !isShown;
  by("charts").classList.toggle("stale", Boolean(isShown));
  if (isBusy && !isShown) {
    clearTimeout(showBusy.timer);
    showBusy.timer = setTimeout(() => requests.current && showBusy(true), SLOW_MS);
  }
  if (!isShown) return;
  const shares = state.controllers.map((name) => (incoming.results.has(name) ? 1 : (incoming.shares[name] ?? 0)));
  by("progress").value = incoming.share ?? shares.reduce((sum, one) => sum + one, 0) / shares.length;
  by("progress-text").textContent = `${Math.floor(100 * by("progress").value)} %`;
}

by("band").textContent = `Band over ${start.seeds} seeds`;
by("band").addEventListener("click", () => requests.ask({ seeds: start.seeds }));
by("stop").addEventListener("click", () => post("stop", { page }));

function showErrors(problems) {
  const items = problems.map(({ message, line }) => {
    const go = line && state.toml !== undefined ? make("button", { type: "button" }, `Go to line ${line}`) : null;
    go?.addEventListener("click", () => goTo(line));
    return make("div", {}, make("pre", {}, message), go);
  });
  const kept = setup ? make("p", {}, "The figures show the last valid scenario.") : null;
  by("errors").replaceChildren(...items, ...(kept ? [kept] : []));
  by("errors").hidden = false;
  showSource();
  if (isEdited) {
    by("toml").setAttribute("aria-invalid", "true");
    controls.enable(false);
  }
}

function goTo(line) {
  const box = by("toml");
  const lines = box.value.split("\n");
  const begin = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  box.focus();
  box.setSelectionRange(begin, begin + (lines[line - 1] ?? "").length);
  box.scrollTop = (box.scrollHeight * (line - 3)) / lines.length;
}

function showWarnings(warnings) {
  const items = warnings.map((text) => make("li", {}, text));
  const title = `${warnings.length} warning${warnings.length > 1 ? "s" : ""} about this scenario`;
  const wasOpen = by("warnings").querySelector("details")?.open ?? false;
  const made = make("details", { open: wasOpen }, make("summary", {}, title), make("ul", {}, ...items));
  by("warnings").replaceChildren(...(warnings.length ? [made] : []));
}

// --------------------------------------------------------------------------------- controllers

function showChips() {
  const used = new Set();
  const kept = {};
  for (const name of state.controllers) {
    if (looks[name] !== undefined) used.add((kept[name] = looks[name]));
  }
  for (const name of state.controllers) {
    if (kept[name] === undefined) {
      kept[name] = [...Array(start.most_controllers).keys()].find((number) => !used.has(number));
      used.add(kept[name]);
    }
  }
  looks = kept;
  packets.update(state.controllers.filter((name) => !setup.failed[name]));
  by("chips").replaceChildren(...state.controllers.map(chip));
  const free = setup.choices.filter((one) => !state.controllers.includes(one.name));
  const options = free.map((one) =>
    make("option", { value: one.name, title: one.about }, one.needs ? `${one.name} (needs ${one.needs})` : one.name),
  );
  by("add").replaceChildren(make("option", { value: "" }, "…"), ...options);
  by("add").disabled = state.controllers.length >= start.most_controllers;
  by("needs").replaceChildren(...Object.values(setup.notes).map((text) => make("li", {}, `* ${text}`)));
  by("needs").hidden = !Object.keys(setup.notes).length;
}

function chip(name) {
  const failed = setup.failed[name];
  const remove = make(
    "button",
    { type: "button", "aria-label": `Remove ${name}`, disabled: state.controllers.length < 2 },
    "×",
  );
  remove.addEventListener("click", () => choose(state.controllers.filter((one) => one !== name)));
  const swatch = stroke(charts.colour(looks[name]), charts.dash(looks[name]));
  const note = setup.notes[name];
  const about = { class: failed ? "failed" : "", title: failed ?? note ?? "" };
  return make("li", about, swatch, note ? `${name}*` : name, remove);
}

function choose(names) {
  state = { ...state, controllers: names };
  update();
}

by("add").addEventListener("change", (event) => {
  if (event.target.value) choose([...state.controllers, event.target.value]);
});

// -------------------------------------------------------------------------------- other buttons

const say = (text) => (by("said").textContent = text);

async function save(kind) {
  const answer = await post(`save/${kind}`, { state });
  if (!answer.ok) return void showErrors((await answer.json()).problems);
  const [, name] = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"));
  const address = URL.createObjectURL(await answer.blob());
  make("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
  say(`${name} saved`);
}
for (const kind of ["scenario", "study", "notebook"]) by(`save-${kind}`).addEventListener("click", () => save(kind));
by("copy-link").addEventListener("click", async () => {
  await setLink();
  await navigator.clipboard.writeText(location.href).then(
    () => say("Link copied"),
    () => say("Copy the address of this page"),
  );
});

for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => charts.zoom(button.dataset.zoom));
}

const themeButton = by("theme");
function showTheme() {
  const other = charts.isDark() ? "Light" : "Dark";
  themeButton.textContent = other;
  themeButton.setAttribute("aria-label", `Switch to ${other.toLowerCase()} colours`);
  if (setup) showChips();
  if (results.size) draw();
  packets.paint();
}
themeButton.addEventListener("click", () => {
  root.dataset.theme = charts.isDark() ? "light" : "dark";
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);

const own = start.state.toml === undefined ? [] : [make("option", { value: "" }, start.file)];
const opened = make("option", { value: "opened", hidden: true, disabled: true });
by("preset").append(...own, opened, ...start.presets.map((name) => make("option", { value: name }, name)));

lessons(
  (wanted) => {
    state = wanted;
    isEdited = false;
    update();
  },
  (control) => controls.point(control),
);

completion();

globalThis.lab = { counts, charts, packets }; // for tests
showTheme();
await readLink();
requests.ask();
