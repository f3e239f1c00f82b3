// Figures over time, with one cursor and one range for all.

import { make } from "./elements.js";
import { moved } from "./range.js";

const HEIGHT = 150;
const EDGE = { stroke: "transparent", width: 0, spanGaps: true, points: { show: false } };

export class Charts {
  constructor(box, series, looks) {
    this.box = box;
    this.series = series;
    this.looks = looks;
    this.charts = [];
    this.redraws = 0;
    this.range = null;
    this.figures = series.map((one) => {
      const readout = make("output", { class: "readout", "aria-hidden": "true" });
      const unit = make("span", { class: "unit" }, one.unit);
      const about = make("span", { class: "unit" });
      const plot = make("div", { class: "plot", role: "img", id: `chart-${one.id}` });
      const caption = make("figcaption", {}, make("span", {}, `${one.label} `, unit, about), readout);
      box.append(make("figure", {}, caption, plot));
      return { plot, readout, about };
    });
    new ResizeObserver(() => this.resize()).observe(box);
  }

  isDark() {
    const root = document.documentElement;
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  colour(number) {
    const palette = this.looks.palettes[this.isDark() ? "dark" : "light"];
    return palette[number % palette.length];
  }

  inks() {
    const [ink, , grid] = this.looks.inks[this.isDark() ? "dark" : "light"];
    return { ink, grid };
  }

  dash(number) {
    const turn = Math.floor(number / this.looks.palettes.light.length);
    return this.looks.dashes[turn % this.looks.dashes.length];
  }

  // `runs` are [name, number of its look, result]; `end` is the duration in seconds. With `bands`,
  // lines are medians over `bands.seeds` seeds.
  draw(runs, end, bands = null) {
    this.runs = runs;
    this.bands = bands && runs.every(([name]) => bands.lines[name]) ? bands : null;
    this.end = end;
    const key = JSON.stringify([runs.map(([name, look]) => [name, look]), this.isDark(), Boolean(this.bands)]);
    if (key !== this.key) this.rebuild();
    this.key = key;
    this.series.forEach((one, number) => {
      this.charts[number].setData(this.data(one), false);
      this.charts[number].setScale("x", this.shownRange());
      this.figures[number].about.textContent = one.step ? this.leg(one) : this.window();
      this.figures[number].plot.setAttribute("aria-label", this.description(one));
    });
    this.redraws += 1;
  }

  data(one) {
    if (!this.runs.length) return [[0], []];
    const tables = this.runs.map(([name, , found]) => {
      if (!this.bands) return [found.series.t, found.series[one.id]];
      const { mid, low, high } = this.bands.lines[name][one.id];
      return [this.bands.lines[name].t, mid, high, low];
    });
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

  // The time over which rates are means.
  window() {
    const windows = this.runs.map(([, , found]) => found.series.window_s);
    return windows.length ? `, mean over ${Number(Math.max(...windows).toPrecision(2))} s` : "";
  }

  // Of a split flow, the leg whose window and RTT are shown.
  leg(one) {
    const legs = new Set(this.runs.map(([, , found]) => found.series.leg).filter(Boolean));
    return legs.size && ["cwnd", "rtt"].includes(one.id) ? `, ${[...legs].join(", ")}` : "";
  }

  description(one) {
    const head = `${one.label} in ${one.unit} over time in s.`;
    if (this.bands) {
      const ends = this.runs.map(([name]) => {
        const { mid, low, high } = this.bands.lines[name][one.id];
        return `${name} ends at ${last(mid)}, from ${last(low)} to ${last(high)}`;
      });
      return `${head} Medians and ranges of ${this.bands.seeds} seeds. ${ends.join("; ")}.`;
    }
    const lasts = this.runs.map(([name, , found]) => `${name} ends at ${found.series[one.id].at(-1) ?? "no value"}`);
    return `${head} ${lasts.join(", ")}.`;
  }

  shownRange() {
    const ends = this.runs.map(([, , found]) => found.simulated_s);
    const whole = { min: 0, max: ends.length ? Math.max(...ends) : this.end };
    return this.range ?? whole;
  }

  rebuild() {
    for (const chart of this.charts) chart.destroy();
    this.charts = this.series.map(
      (one, number) => new uPlot(this.options(one, number), this.data(one), this.figures[number].plot),
    );
  }

  options(one, number) {
    const { ink, grid } = this.inks();
    const isLast = number === this.series.length - 1;
    const axis = {
      stroke: ink,
      grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid, width: 1 },
      font: "11px system-ui, sans-serif",
    };
    return {
      width: this.width(),
      height: HEIGHT + (isLast ? 24 : 0),
      legend: { show: false },
      cursor: { sync: { key: "lab" }, points: { size: 7 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [
        {
          ...axis,
          label: isLast ? "time (s)" : undefined,
          labelSize: 20,
          labelFont: "12px system-ui, sans-serif",
          size: 26,
        },
        { ...axis, size: 52, values: (_, values) => values.map((value) => value.toLocaleString("en")) },
      ],
      series: [
        {},
        ...this.runs.flatMap(([name, look]) => [
          {
            label: name,
            stroke: this.colour(look),
            width: 2,
            dash: this.dash(look),
            spanGaps: true,
            points: { show: false },
            paths: one.step && !this.bands ? uPlot.paths.stepped({ align: 1 }) : undefined,
          },
          ...(this.bands ? [EDGE, EDGE] : []),
        ]),
      ],
      bands: this.bands
        ? this.runs.map(([, look], number) => ({
            series: [3 * number + 2, 3 * number + 3],
            fill: `${this.colour(look)}38`,
          }))
        : undefined,
      hooks: {
        setCursor: [(chart) => this.read(chart, one, number)],
        setScale: [(chart, key) => key === "x" && this.zoomed(chart)],
      },
    };
  }

  // After a drag in a figure, all have its range.
  zoomed(chart) {
    const { min, max } = chart.scales.x;
    const whole = this.range === null && this.runs.length ? this.shownRange() : null;
    if (whole && whole.min === min && whole.max === max) return;
    this.range = { min, max };
  }

  zoom(what) {
    const now = this.shownRange();
    this.range = null;
    const whole = this.shownRange();
    this.range = moved(what, now, whole);
    const shown = this.shownRange();
    for (const chart of this.charts) chart.setScale("x", shown);
  }

  read(chart, one, number) {
    const { readout } = this.figures[number];
    const at = chart.cursor.idx;
    if (at === null || at === undefined || !this.runs.length) return void (readout.textContent = "");
    const values = this.runs.map(
      ([name], line) => `${name} ${shown(before(chart.data[line * (this.bands ? 3 : 1) + 1], at))}`,
    );
    readout.textContent = `${chart.data[0][at].toFixed(1)} s: ${values.join(", ")}`;
  }

  width() {
    return Math.max(200, this.box.clientWidth);
  }

  resize() {
    const width = this.width();
    this.charts.forEach((chart) => {
      if (chart.width !== width) chart.setSize({ width, height: chart.height });
    });
  }
}

// The last value of a line until a point, because lines have points of their own.
function before(values, at) {
  for (let number = at; number >= 0; number -= 1) {
    if (values[number] !== null && values[number] !== undefined) return values[number];
  }
  return null;
}

const last = (values) => values.findLast((value) => value !== null) ?? "no value";

const shown = (value) => (value === null ? "–" : Number(value.toPrecision(4)).toLocaleString("en"));
