"""The page of an evaluation: the findings for each baseline, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.evaluate.answer import baselines
from bentpipe.evaluate.checklist import method
from bentpipe.evaluate.findings import SHOWN, shown_difference
from bentpipe.numbers import NONE, count, percent
from bentpipe.plots import Point, interval_figure, ranking_figure
from bentpipe.report.first import items_of, of_evaluation
from bentpipe.report.page import Cell, Column, Page, Section, Table, Text, words
from bentpipe.report.scenarios import studies_section
from bentpipe.report.shown import Shown
from bentpipe.report.source import read_json
from bentpipe.study.significance import rule

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.plots import Figure

KEYS = ("bentpipe", "evaluate", "against", "complete", "command", "items", "not_covered")
FINDINGS = {
    "better": "good",
    "worse": "bad",
    "not distinguishable": "none",
    "deterministic": "none",
    "undefined": "none",
}
"""All findings with their colours."""
INTERRUPTED = "Interrupted: incomplete items are not shown."

HOW_TO_READ = (
    "The RFC sets no thresholds. A finding is better or worse if its difference is significant. "
    f"{rule('an item')}"
)


def evaluate_page(folder: Path) -> Page:
    """The page of a folder of `bentpipe evaluate --out`."""
    found = read_json(folder / "evaluate.json", *KEYS)
    candidate: str = found["evaluate"]
    against = baselines(found)
    items = [Item(row, candidate) for row in found["items"]]
    runs = sum(item.runs for item in items)
    names = [item.name for item in items]
    return Page(
        title=f"{candidate} {method(item.number for item in items)}",
        subtitle=f"{items_of(found)}, {count(runs)} runs, compared with {', '.join(against)}",
        version=found["bentpipe"],
        summary=[
            *(overall(candidate, baseline, items) for baseline in against),
            HOW_TO_READ,
        ],
        sections=[
            at_a_glance(items),
            *(item.section() for item in items),
            *([not_covered(found["not_covered"])] if found["not_covered"] else []),
            studies_section(folder, names, found["bentpipe"], found["command"]),
        ],
        warnings=[] if found["complete"] else [INTERRUPTED],
        first=of_evaluation(folder, found),
        things=[candidate, *against],
    )


class Item:
    """An item of the checklist with its findings."""

    def __init__(self, row: dict[str, Any], candidate: str) -> None:
        self.candidate = candidate
        self.name: str = row["item"]
        self.number: str = row["section"]
        self.title: str = row["title"]
        self.note: str = row["note"]
        self.runs: int = row["runs"]
        self.sentences: list[str] = row["sentences"]
        self.findings: list[dict[str, Any]] = row["findings"]
        self.quantities = [self.shown(one) for one in self.first_of_each()]

    def first_of_each(self) -> list[dict[str, Any]]:
        """The first finding of every quantity."""
        return list({one["quantity"]: one for one in reversed(self.findings)}.values())[::-1]

    def shown(self, first: dict[str, Any]) -> Shown:
        """A quantity in the unit that fits the values of all controllers."""
        of_it = [one for one in self.findings if one["quantity"] == first["quantity"]]
        means = [mean for one in of_it for mean in (one["mean"], *all_means(one))]
        return Shown(first["quantity"], first["label"], first["unit"], means)

    def counts(self, baseline: str) -> dict[str, int]:
        """The number of each finding for one baseline."""
        described = [row["finding"] for one in self.findings for row in one["against"]
                if row["baseline"] == baseline]  # fmt: skip
        return {finding: described.count(finding) for finding in FINDINGS}

    @property
    def baselines(self) -> list[str]:
        """The baselines of this item."""
        return list(
            dict.fromkeys(row["baseline"] for one in self.findings for row in one["against"])
        )

    def section(self) -> Section:
        """The item: its sentences, a figure for each quantity, and a table."""
        said = [Text([self.note])] if self.note else []
        return Section(
            self.name,
            f"{self.title} (section {self.number})" if self.number[0].isdigit() else self.title,
            [*said, Text(self.sentences), *map(self.figure, self.quantities), self.table()],
            short=self.name,
        )

    def figure(self, quantity: Shown) -> Figure:
        """A quantity of all controllers over the cases; a ranking if there is only one case."""
        found = [one for one in self.findings if one["quantity"] == quantity.name]
        points = []
        for one in found:
            own = (self.candidate, one["mean"], one["ci95"], one["n"])
            others = [(r["baseline"], r["mean"], r["mean_ci95"], r["n"]) for r in one["against"]]
            points += [
                Point(name, one["case"] or name, mean / quantity.size, *quantity.ends(ci95), n)
                for name, mean, ci95, n in (own, *others)
                if mean is not None
            ]
        better = "more" if found[0]["higher_is_better"] else "less"
        name = f"{self.name}-{self.quantities.index(quantity)}"
        title = f"{self.title}: {quantity.label}, {better} is better"
        if len(found) == 1:
            return ranking_figure(name, title, quantity.title, points)
        return interval_figure(name, title, "", quantity.title, points, "nominal")

    def table(self) -> Table:
        """Every finding against every baseline."""
        columns = [
            *([Column("case", numeric=False, choices=True)] if self.has_cases else []),
            Column("quantity", numeric=False, choices=True),
            Column(self.candidate),
            Column("95 % interval"),
            *([Column("undefined")] if self.has_undefined else []),
            Column("baseline", numeric=False, choices=True),
            Column("its value"),
            Column("difference, 95 % interval"),
            Column("relative", "%"),
            Column("finding", numeric=False, choices=True),
        ]
        by_name = {quantity.name: quantity for quantity in self.quantities}
        rows = [
            [*([Cell(one["case"])] if self.has_cases else []),
             *self.finding_cells(by_name[one["quantity"]], one, row)]
            for one in self.findings
            for row in one["against"]
        ]  # fmt: skip
        caption = f"{self.title}: means, and intervals of paired differences (same seed)"
        return Table(f"{self.name}-table", caption, columns, rows)

    @property
    def has_cases(self) -> bool:
        """True if there is more than one case."""
        return any(one["case"] for one in self.findings)

    @property
    def has_undefined(self) -> bool:
        """True if a quantity is undefined in a run."""
        return any(one["undefined"] for one in self.findings)

    def finding_cells(
        self, quantity: Shown, one: dict[str, Any], row: dict[str, Any]
    ) -> list[Cell]:
        """One finding against one baseline."""
        undefined = [Cell(count(one["undefined"]), one["undefined"])] if self.has_undefined else []
        return [
            Cell(quantity.title if quantity.column_unit else quantity.label),
            *quantity.mean_cells(
                one["mean"], one["ci95"], one["n"], deterministic=one.get("deterministic", False)
            ),
            *undefined,
            Cell(row["baseline"]),
            quantity.number_cell(row["mean"]),
            difference_cell(quantity, row),
            Cell(percent(row["relative"]), row["relative"]),
            Cell(
                SHOWN.get(row["finding"], row["finding"]),
                verdict=FINDINGS[row["finding"]],
            ),
        ]


def difference_cell(quantity: Shown, row: dict[str, Any]) -> Cell:
    """The interval of a difference, without the finding, which has a column of its own."""
    low = quantity.ends(row["ci95"])[0]
    return Cell(shown_difference(row, 1 / quantity.size), low)


def all_means(one: dict[str, Any]) -> list[float | None]:
    """The means of the baselines."""
    return [row["mean"] for row in one["against"]]


def overall(candidate: str, baseline: str, items: list[Item]) -> str:
    """The number of each finding for one baseline, in a sentence."""
    described = [item.counts(baseline) for item in items]
    better, worse, same, exact, undefined = (
        sum(counts[key] for counts in described) for key in FINDINGS
    )
    rest = f" {count(exact)} are between deterministic runs: exact, not tested." if exact else ""
    rest += f" {count(undefined)} are undefined." if undefined else ""
    return (
        f"Compared with {baseline}, {candidate} is better in {count(better)} of "
        f"{count(better + worse + same + exact + undefined)} findings and worse in {count(worse)}. "
        f"{count(same)} are not significant.{rest}"
    )


def at_a_glance(items: list[Item]) -> Section:
    """The number of findings better and worse than each baseline, for each item."""
    baselines = list(dict.fromkeys(name for item in items for name in item.baselines))
    columns = [
        Column("item", numeric=False),
        Column("section", numeric=False),
        *(
            Column(f"{word} {name}")
            for name in baselines
            for word in ("better than", "worse than", "not significant,")
        ),
    ]
    rows = []
    for item in items:
        cells = [Cell(item.title), Cell(item.number)]
        for baseline in baselines:
            counts = item.counts(baseline)
            cells += [
                Cell(count(counts[key]) if counts[key] else NONE, counts[key])
                for key in ("better", "worse", "not distinguishable")
            ]
        rows.append(cells)
    caption = "Number of findings in each item"
    return Section("glance", "At a glance", [Table("glance-table", caption, columns, rows)])


def not_covered(entries: list[dict[str, Any]]) -> Section:
    """The sections of the RFC that no item covers."""
    columns = [Column("section", numeric=False), Column("reason", numeric=False)]
    rows = [words(entry["section"], entry["reason"]) for entry in entries]
    return Section(
        "not-covered",
        "Not covered",
        [Table("not-covered-table", "Sections of the RFC that no item covers", columns, rows)],
    )
