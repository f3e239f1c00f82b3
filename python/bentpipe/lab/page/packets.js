// The time-sequence graph: a run with its packets, on request, and any range of it.

import { by, make, stroke } from "./elements.js";
import { page, post } from "./requests.js";
import { moved } from "./range.js";

const HEIGHT = 320;
const ROWS = 100; // of the table of segments
const LEAST_S = 1e-4; // of a range
const KINDS = [
  // Those that come later are drawn above the others: name, words, colour, dash, and width of the line.
  ["edge", "end of the window", 3, [4, 3], 1],
  ["acked", "acknowledged", 2, [], 1.3],
  ["sacks", "SACK block", 4, [2, 2], 1.5],
  ["sent", "segment", 0, [], 1.8],
  ["again", "retransmission", 1, [], 1.8],
];
const STEPS = ["edge", "acked"];

export class Packets {
  // `state` returns the state of the page, and `charts` has the colours.
  constructor(state, charts) {
    this.state = state;
    this.charts = charts;
    this.found = null;
    by("packets-draw").addEventListener("click", () => this.draw());
    by("packets-stop").addEventListener("click", () => post("stop", { page: `${page}-packets` }));
    by("packets-of").addEventListener("change", () => this.found && this.draw());
    by("packets-connection").addEventListener("change", (event) => this.ask({ connection: Number(event.target.value) }));
    for (const button of document.querySelectorAll("[data-packets]")) {
      button.addEventListener("click", () => this.zoom(button.dataset.packets));
    }
    new ResizeObserver(() => this.paint()).observe(by("packets"));
  }

  // The controllers of the page. A graph of another state says so.
  update(names) {
    const list = by("packets-of");
    const now = list.value;
    list.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
    if (names.includes(now)) list.value = now;
    if (this.found && JSON.stringify(this.state()) !== this.drawnOf) {
      this.say("The scenario has changed since this graph was drawn. Draw it again to see the change.");
    }
  }

  draw() {
    this.drawn = this.state();
    this.drawnOf = JSON.stringify(this.drawn);
    this.controller = by("packets-of").value;
    return this.ask({});
  }

  async ask(range) {
    const number = (this.number = (this.number ?? 0) + 1);
    this.busy(true);
    const answer = await post("packets", {
      page: `${page}-packets`,
      state: this.drawn,
      controller: this.controller,
      ...range,
    });
    if (number !== this.number) return;
    this.busy(false);
    if (answer.status === 422) return void this.say((await answer.json()).problems.map((one) => one.message).join(" "));
    if (!answer.ok) return void this.say("Stopped.");
    this.found = await answer.json();
    by("packets-shown").hidden = false;
    this.connections();
    this.paint();
    this.table();
    this.say(this.sentence());
  }

  busy(isBusy) {
    by("packets-stop").hidden = !isBusy;
    if (isBusy) this.say("Running …");
  }

  say(text) {
    by("packets-note").textContent = text;
  }

  sentence() {
    const { from_s: begin, to_s: end, sent, again, reduced } = this.found;
    const count = `${this.controller}, ${begin.toPrecision(6)} to ${end.toPrecision(6)} s: `;
    if (reduced) return `${count}segments of each short interval are one line. Zoom in to see each of them.`;
    return `${count}${sent.length} segments and ${again.length} retransmissions, each drawn.`;
  }

  connections() {
    const list = by("packets-connection");
    const options = this.found.connections.map(({ number, text }) => make("option", { value: number }, text));
    list.replaceChildren(...options);
    list.value = this.found.connection;
    list.parentElement.hidden = options.length < 2;
  }

  zoom(what) {
    if (!this.found) return;
    const { from_s: min, to_s: max, whole, again, connection } = this.found;
    if (what === "loss" && !again.length) return void this.say("This range has no retransmission.");
    const span = max - min;
    const around = what === "loss" && { min: again[0][0] - span / 20, max: again[0][0] + span / 20 };
    const range = around || moved(what, { min, max }, { min: whole[0], max: whole[1] });
    if (range && range.max - range.min < LEAST_S) return;
    this.ask({ connection, ...(range ? { from_s: range.min, to_s: range.max } : {}) });
  }

  paint() {
    this.plot?.destroy();
    this.plot = null;
    if (!this.found) return;
    const box = by("packets-plot");
    const { ink, grid } = this.charts.inks();
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui, sans-serif" };
    const [low, high] = this.heights();
    const options = {
      width: Math.max(200, by("packets").clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
      scales: { x: { time: false, range: [this.found.from_s, this.found.to_s] }, y: { range: [low, high] } },
      axes: [
        { ...axis, label: "time (s)", labelSize: 20, labelFont: "12px system-ui, sans-serif" },
        { ...axis, size: 64, values: (_, values) => values.map((value) => (value / 1e3).toLocaleString("en")), label: "sequence number (kB)", labelSize: 16, labelFont: "12px system-ui, sans-serif" },
      ],
      series: [{}, { show: false }],
      hooks: { draw: [(plot) => this.lines(plot)], setSelect: [(plot) => this.chosen(plot)] },
    };
    const { from_s: begin, to_s: end } = this.found;
    this.plot = new uPlot(options, [[begin, end], [low, high]], box);
    box.setAttribute("aria-label", `Time-sequence graph. ${this.sentence()}`);
    this.key();
  }

  key() {
    const shown = KINDS.filter(([name]) => this.found[name].length).reverse();
    const items = shown.map(([, words, look, dash]) => make("li", {}, stroke(this.charts.colour(look), dash), words));
    document.querySelector("#packets .key").replaceChildren(...items);
  }

  // From the lowest to the highest byte of segments and ACKs; the window may be far above.
  heights() {
    const { sent, again, sacks, acked } = this.found;
    const ends = [...sent, ...again, ...sacks].flatMap(([, low, high]) => [low, high]);
    const all = [...ends, ...acked.map(([, value]) => value)];
    const low = all.reduce((least, one) => Math.min(least, one), Infinity);
    const high = all.reduce((most, one) => Math.max(most, one), -Infinity);
    if (!all.length) return [0, 1];
    const margin = Math.max(high - low, 1) * 0.05;
    return [Math.max(0, low - margin), high + margin];
  }

  lines(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const scale = devicePixelRatio;
    for (const [name, , look, dash, width] of KINDS) {
      ctx.strokeStyle = ctx.fillStyle = this.charts.colour(look);
      ctx.lineWidth = width * scale;
      ctx.setLineDash(dash.map((one) => one * scale));
      ctx.beginPath();
      if (STEPS.includes(name)) this.steps(plot, this.found[name]);
      else this.bars(plot, this.found[name], name === "again" ? 3 * scale : 0);
      ctx.stroke();
    }
    ctx.restore();
  }

  // A segment can be less than a pixel high; retransmissions have a diamond, too.
  bars(plot, found, size) {
    const { ctx } = plot;
    for (const [at, low, high] of found) {
      const x = plot.valToPos(at, "x", true);
      const [bottom, top] = [low, high].map((value) => plot.valToPos(value, "y", true));
      ctx.moveTo(x, bottom);
      ctx.lineTo(x, Math.min(top, bottom - 1));
      if (!size) continue;
      const y = (bottom + top) / 2;
      ctx.moveTo(x, y - size);
      for (const [right, down] of [[size, 0], [0, size], [-size, 0], [0, -size]]) ctx.lineTo(x + right, y + down);
    }
  }

  steps(plot, found) {
    const { ctx } = plot;
    let before = null;
    for (const [at, value] of found) {
      const [x, y] = [plot.valToPos(at, "x", true), plot.valToPos(value, "y", true)];
      if (before === null) ctx.moveTo(x, y);
      else {
        ctx.lineTo(x, before);
        ctx.lineTo(x, y);
      }
      before = y;
    }
    if (before !== null) ctx.lineTo(plot.bbox.left + plot.bbox.width, before);
  }

  // After a drag, the range is read again, with more of its packets.
  chosen(plot) {
    const { left, width } = plot.select;
    if (width < 2) return;
    const [min, max] = [left, left + width].map((at) => plot.posToVal(at, "x"));
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (max - min >= LEAST_S) this.ask({ connection: this.found.connection, from_s: min, to_s: max });
  }

  table() {
    const { sent, again, reduced } = this.found;
    const rows = [...sent.map((one) => [...one, "segment"]), ...again.map((one) => [...one, "retransmission"])];
    rows.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const isList = !reduced && rows.length <= ROWS;
    const heads = ["time (s)", "first byte", "end", "kind"].map((text) => make("th", { scope: "col" }, text));
    const body = rows.map(([at, low, high, kind]) =>
      make("tr", {}, ...[at.toFixed(6), low.toLocaleString("en"), high.toLocaleString("en"), kind].map((text) => make("td", {}, text))),
    );
    const none = make("caption", {}, `Zoom in to at most ${ROWS} segments to see them as a table.`);
    const parts = isList ? [make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body)] : [none];
    document.querySelector("#packets-list table").replaceChildren(...parts);
  }
}
