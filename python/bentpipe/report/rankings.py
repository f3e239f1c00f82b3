"""A workload of a comparison on its page: the ranking as a figure and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, count
from bentpipe.plots import Point, ranking_figure
from bentpipe.plots.theme import BEST, SAME, WORSE
from bentpipe.report.page import Cell, Column, Section, Table, Text
from bentpipe.report.shown import Shown
from bentpipe.study.significance import finding_of, lacks_of

if TYPE_CHECKING:
    from bentpipe.plots import Figure

STANDS = {
    "best": "best",
    "not significant": "not significantly different from the best",
    "worse": "significantly worse than the best",
    "deterministic": "worse than the best, without randomness",
    "undefined": "no value in more runs than the best",
    "no value": "no value in any run",
}
"""A controller compared with the best: in a table and in full."""
COLOURS = (BEST, SAME, WORSE, WORSE, WORSE, WORSE)
"""Colours of `STANDS`. The last four differ by their shape."""


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
        self.deterministic: list[str] = row.get("deterministic", [])
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
                rank_cell(place),
                *self.quantity.mean_cells(
                    place["mean"],
                    place["ci95"],
                    place["n"],
                    deterministic=place["controller"] in self.deterministic,
                ),
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
            *form.mean_cells(
                value["mean"],
                value["ci95"],
                value["n"],
                deterministic=value.get("deterministic", False),
            ),
            form.difference_cell(value["against_baseline"]),
        ]
        for value in counter["values"]
    ]


def stand(place: dict[str, Any]) -> str:
    """The controller compared with the best: a key of `STANDS`."""
    if place["mean"] is None:
        return "no value"
    if place["against_best"] is None:
        return "best"
    if place["tied_with_best"]:
        return "not significant"
    lacks, lacks_best = lacks_of(place["against_best"])
    if lacks != lacks_best:
        return "undefined"
    finding = finding_of(place["against_best"])
    return finding if finding == "deterministic" else "worse"


def aborted(place: dict[str, Any]) -> float:
    """The share of runs with an aborted connection. Earlier releases have none."""
    return float(place.get("aborted", 0.0))


def rank_cell(place: dict[str, Any] | None, tie: str = "=") -> Cell:
    """The rank, with `tie` if it is not significantly different from the best.

    A dash for a candidate without a value in any run, and for one that was left out.
    """
    if place is None or place["mean"] is None:
        return Cell(NONE)
    return Cell(f"{place['rank']}{tie if place['tied_with_best'] else ''}", place["rank"])
