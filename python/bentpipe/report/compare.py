"""The page of a comparison: verdicts, an overview, and each ranking with its figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, count
from bentpipe.plots import Point, ranking_figure
from bentpipe.plots.theme import BEST, SAME, WORSE
from bentpipe.report.first import buffers_tradeoff, of_comparison, queue_figures
from bentpipe.report.page import Cell, Column, Page, Section, Table, Text
from bentpipe.report.scenarios import studies_section
from bentpipe.report.shown import Shown
from bentpipe.report.source import read_json
from bentpipe.study.significance import finding_of, rule

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.plots import Figure

KEYS = ("bentpipe", "compare", "link", "complete", "command", "controllers", "left_out",
        "workloads", "verdicts")  # fmt: skip
INTERRUPTED = "Interrupted: incomplete workloads are not shown."

HOW_TO_READ = (
    f"All controllers met the same losses and the same competing traffic. {rule('a ranking')}"
)
STANDS = {
    "best": "best",
    "not significant": "not significantly different from the best",
    "worse": "significantly worse than the best",
    "deterministic": "worse than the best, without randomness",
}
"""A controller compared with the best: in a table and in full."""
COLOURS = (BEST, SAME, WORSE, WORSE)
"""Colours of `STANDS`. The last two differ by their shape."""


def compare_page(folder: Path) -> Page:
    """The page of a folder of `bentpipe compare --out`."""
    found = read_json(folder / "compare.json", *KEYS)
    workloads = [Ranking(row, found["verdicts"]) for row in found["workloads"]]
    runs = sum(ranking.runs for ranking in workloads)
    # Of earlier releases, the folder is that of the workload.
    names = [row.get("folder", row["workload"]) for row in found["workloads"]]
    # Only there if several queues were compared.
    buffers = found.get("buffers")
    if buffers:
        runs += buffers["runs"]
        names.append(buffers["study"])
    return Page(
        title=f"Controllers on {found['compare']}",
        subtitle=f"{count(len(found['controllers']))} {kind(found)} in {count(runs)} runs",
        version=found["bentpipe"],
        summary=[
            f"The link: {found['link']['described']}.",
            # Not in comparisons of earlier releases.
            *found["link"].get("about", ()),
            *([buffers["sentence"]] if buffers else []),
            *(verdict["sentence"] for verdict in found["verdicts"]),
            HOW_TO_READ,
        ],
        sections=[
            *([buffers_section(folder, buffers, drawn="answer" not in found)] if buffers else []),
            *([at_a_glance(found, workloads)] if workloads else []),
            *(ranking.section() for ranking in workloads),
            studies_section(folder, names, found["bentpipe"], found["command"]),
        ],
        warnings=[] if found["complete"] else [INTERRUPTED],
        first=of_comparison(folder, found),
        things=[one["name"] for one in found["controllers"]],
    )


def kind(found: dict[str, Any]) -> str:
    """What the rows of the rankings are."""
    several = any(one.get("transport") for one in found["controllers"])
    return "combinations of controller and transport" if several else "congestion controllers"


class Ranking:
    """One workload with the ranking of the controllers."""

    def __init__(self, row: dict[str, Any], verdicts: list[dict[str, Any]]) -> None:
        self.name: str = row["workload"]
        self.title: str = row["title"]
        self.runs: int = row["runs"]
        self.baseline: str = row["baseline"] or NONE
        # Not in comparisons of earlier releases.
        self.notes: list[str] = row.get("notes", [])
        self.higher_is_better: bool = row["higher_is_better"]
        self.places: list[dict[str, Any]] = row["ranking"]
        self.sentences = [v["sentence"] for v in verdicts if v["workload"] == self.name]
        # Not in comparisons of earlier releases.
        self.counters: list[dict[str, Any]] = row.get("counters", [])
        means = [place["mean"] for place in self.places]
        self.quantity = Shown(row["quantity"], row["label"], row["unit"], means)
        self.also = [
            Shown(
                other["quantity"],
                other["label"],
                other["unit"],
                [place["also"][other["quantity"]] for place in self.places],
            )
            for other in row["also"]
        ]

    def section(self) -> Section:
        """The ranking as a figure and a table."""
        blocks: list[Any] = [Text(self.sentences + self.notes), self.figure(), self.table()]
        return Section(self.name, self.title, blocks + counter_tables(self.name, self.counters))

    def figure(self) -> Figure:
        """Means with intervals, best at the top."""
        known = [place for place in self.places if place["mean"] is not None]
        points = [
            Point(
                STANDS[stand(place)],
                place["controller"],
                place["mean"] / self.quantity.size,
                *self.quantity.ends(place["ci95"]),
                place["n"],
            )
            for place in known
        ]
        better = "more" if self.higher_is_better else "less"
        title = f"{self.title}: {self.quantity.label}, {better} is better"
        unknown = [place["controller"] for place in self.places if place["mean"] is None]
        notes = [f"Undefined in every run: {', '.join(unknown)}."] if unknown else []
        return ranking_figure(
            f"{self.name}-ranking",
            title,
            self.quantity.title,
            points,
            notes,
            series=dict(zip(STANDS.values(), COLOURS, strict=True)),
        )

    def table(self) -> Table:
        """All controllers with their differences from the best and from the baseline."""
        unit = self.quantity.column_unit
        columns = [
            Column("controller", numeric=False),
            Column("rank"),
            Column(self.quantity.label, unit),
            Column("95 % interval", unit),
            Column("minus best, 95 % interval", unit),
            Column(f"minus {self.baseline}, 95 % interval", unit),
            *(Column(other.label, other.column_unit) for other in self.also),
            *([Column("undefined")] if self.has_undefined else []),
            *([Column("aborted", "% of runs")] if self.has_aborted else []),
            Column("compared with best", numeric=False, choices=True),
        ]
        rows = [
            [
                Cell(place["controller"]),
                Cell(rank(place), place["rank"]),
                *self.quantity.mean_cells(place["mean"], place["ci95"], place["n"]),
                self.quantity.difference_cell(place["against_best"]),
                self.quantity.difference_cell(place["against_baseline"]),
                *(other.number_cell(place["also"][other.name]) for other in self.also),
                *(
                    [Cell(count(place["undefined"]), place["undefined"])]
                    if self.has_undefined
                    else []
                ),
                *([Cell(count(100 * aborted(place)), aborted(place))] if self.has_aborted else []),
                Cell(stand(place)),
            ]
            for place in self.places
        ]
        caption = f"{self.title}: means, and intervals of paired differences (same seed)"
        return Table(f"{self.name}-table", caption, columns, rows)

    @property
    def has_undefined(self) -> bool:
        """True if the quantity is undefined in a run."""
        return any(place["undefined"] for place in self.places)

    @property
    def has_aborted(self) -> bool:
        """True if a connection was aborted in a run."""
        return any(aborted(place) for place in self.places)


def counter_tables(workload: str, counters: list[dict[str, Any]]) -> list[Table]:
    """One table of counters for each mechanism on the path."""
    by_mechanism: dict[str, list[dict[str, Any]]] = {}
    for counter in counters:
        by_mechanism.setdefault(counter["on_path"], []).append(counter)
    columns = [
        Column("counter", numeric=False, choices=True),
        Column("controller", numeric=False, choices=True),
        Column("unit", numeric=False),
        Column("mean"),
        Column("95 % interval"),
        Column("minus baseline, 95 % interval"),
    ]
    return [
        Table(
            f"{workload}-counters-{number}",
            f"Counters of {mechanism}" if mechanism != "none" else "Counters of the path as it is",
            columns,
            [row for counter in found for row in counter_rows(counter)],
        )
        for number, (mechanism, found) in enumerate(by_mechanism.items())
    ]


def counter_rows(counter: dict[str, Any]) -> list[list[Cell]]:
    """One row for each controller."""
    means = [value["mean"] for value in counter["values"]]
    form = Shown(counter["quantity"], counter["label"], counter["unit"], means)
    return [
        [
            Cell(counter["label"]),
            Cell(value["controller"]),
            Cell(form.column_unit or ""),
            *form.mean_cells(value["mean"], value["ci95"], value["n"]),
            form.difference_cell(value["against_baseline"]),
        ]
        for value in counter["values"]
    ]


def stand(place: dict[str, Any]) -> str:
    """The controller compared with the best: a key of `STANDS`."""
    if place["against_best"] is None:
        return "best"
    if place["tied_with_best"]:
        return "not significant"
    finding = finding_of(place["against_best"])
    return finding if finding == "deterministic" else "worse"


def aborted(place: dict[str, Any]) -> float:
    """The share of runs with an aborted connection. Earlier releases have none."""
    return float(place.get("aborted", 0.0))


def rank(place: dict[str, Any]) -> str:
    """The rank, with = if it is not significantly different from the best."""
    return f"{place['rank']}{'=' if place['tied_with_best'] else ''}"


def rank_cell(place: dict[str, Any] | None) -> Cell:
    """The rank; a dash in a workload from which the candidate was left out."""
    return Cell(NONE) if place is None else Cell(rank(place), place["rank"])


def at_a_glance(found: dict[str, Any], workloads: list[Ranking]) -> Section:
    """The rank of every controller in every workload, without a sum, which would need weights."""
    columns = [
        Column("controller", numeric=False),
        Column("status", numeric=False, choices=True),
        *(Column(ranking.title) for ranking in workloads),
    ]
    by_name = [{place["controller"]: place for place in r.places} for r in workloads]
    asks = [c["asks"] for c in found["controllers"] if c["asks"]]
    notes = [f"Needs {reason}." for reason in dict.fromkeys(asks)]
    rows = [
        [
            Cell(c["name"], note=notes.index(f"Needs {c['asks']}.") + 1 if c["asks"] else None),
            Cell(c["status"]),
            *(rank_cell(places.get(c["name"])) for places in by_name),
        ]
        for c in found["controllers"]
    ]
    reasons: dict[str, list[str]] = {}
    for row in found["left_out"]:
        reasons.setdefault(row["needs"], []).append(row["controller"])
    left = [f"Left out because they need {why}: {', '.join(who)}." for why, who in reasons.items()]
    # Not in comparisons of earlier releases.
    left += [one["sentence"] for one in found.get("not_carried", ())]
    left += found.get("notes", ())
    described = "Rank in each workload; = not significantly different from the best"
    table = Table("places", described, columns, rows, notes)
    return Section("places", "At a glance", [table, *([Text(left)] if left else [])])


def buffers_section(folder: Path, found: dict[str, Any], *, drawn: bool) -> Section:
    """Controllers and queues, and which to choose; with the figure if no first screen has it."""
    rows = found["combinations"]
    goodput = Shown("flow.bulk.goodput_bps", "goodput", "bit/s")
    latency = Shown("flow.bulk.p95_rtt_ms", "latency under load, p95 RTT", "ms")
    content: list[Any] = [Text([found["sentence"]])]
    if rows and drawn:
        content.append(buffers_tradeoff(found, queue_figures(folder, found)))
    if rows:
        content.append(buffers_table(found, goodput, latency))
    if found["undefined"]:
        content.append(Text([f"Undefined in some run: {'; '.join(found['undefined'])}."]))
    return Section("buffers", "Controllers and buffers", content)


def buffers_table(found: dict[str, Any], goodput: Shown, latency: Shown) -> Table:
    """All combinations, lowest latency first."""
    columns = [
        Column("controller", numeric=False),
        Column("queue", numeric=False, choices=True),
        Column(goodput.label, goodput.column_unit),
        Column("95 % interval", goodput.column_unit),
        Column(latency.label, latency.column_unit),
        Column("95 % interval", latency.column_unit),
        Column("p95 queueing delay", "ms"),
        Column("timeouts"),
        Column("front", numeric=False, choices=True),
    ]
    best = found["recommended"]
    rows = [
        [
            Cell(row["controller"]),
            Cell(row["queue"]),
            *goodput.mean_cells(row["goodput_bps"]["mean"], row["goodput_bps"]["ci95"], row["n"]),
            *latency.mean_cells(row["p95_rtt_ms"]["mean"], row["p95_rtt_ms"]["ci95"], row["n"]),
            latency.number_cell(row["p95_queueing_delay_ms"]),
            latency.number_cell(row["timeouts"]),
            Cell(place(row, best)),
        ]
        for row in found["combinations"]
    ]
    caption = "One bulk flow of each controller with each queue: means and intervals"
    return Table("buffers-table", caption, columns, rows)


def place(row: dict[str, Any], best: dict[str, str] | None) -> str:
    """Whether a combination is recommended or on the front."""
    if best == {key: row[key] for key in ("controller", "queue")}:
        return "recommended"
    return "front" if row["on_front"] else NONE
