"""The page of reproductions: published and measured values compared."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.errors import BentpipeError
from bentpipe.numbers import NONE, count, decimals, signed, with_interval
from bentpipe.report.page import Cell, Column, Details, Page, Section, Table, Text, words
from bentpipe.report.source import read_json
from bentpipe.reproductions.judgement import HEADINGS, RULE, Judged, Row, Summary, summarise
from bentpipe.reproductions.plots import figure
from bentpipe.reproductions.rankings import Ranking, of_dict
from bentpipe.reproductions.readings import explain
from bentpipe.reproductions.reproduction import find, names
from bentpipe.reproductions.tables import (
    HEADER,
    lines_of,
    measured_of,
    numbers_of,
    published,
    published_of,
    spread,
)
from bentpipe.seal import KEY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.plots import Figure

VERDICTS = {"reproduced": "good", "deviates": "bad", "not comparable": "none"}

NO_PLOTS = (
    "There are no figures, because the folder has no plots.json. "
    "`bentpipe papers run` writes it when all runs are complete."
)


RANKED = (
    "Means over the seeds of each condition, with their intervals. Differences are paired by seed: "
    "= marks candidates that are not significantly different from the best. Runs in which a "
    "quantity is undefined, because no short flow completed, rank behind all others. Click a "
    "heading to sort by it."
)


def reproductions_page(folders: Sequence[Path]) -> Page:
    """The page of the folders of one or more reproductions."""
    found = [Saved(folder) for folder in folders]
    versions = sorted({saved.version for saved in found})
    single = found[0] if len(found) == 1 else None
    return Page(
        title=single.title if single else "Reproductions of published experiments",
        subtitle=single.authors if single else f"{len(found)} papers",
        version=", ".join(versions),
        summary=summary(found),
        sections=[section for saved in found for section in saved.sections()],
        warnings=[
            f"{saved.title}: the runs were interrupted. Missing values are not comparable."
            for saved in found
            if saved.partial
        ],
    )


def summary(found: Sequence[Saved]) -> list[str]:
    """The counts in sentences."""
    return [
        *(f"{saved.title}: {counts_sentence(saved.summary)}" for saved in found),
        "A statement is a sentence, a number, a row of a table or a range. Rows that repeat one "
        "are listed below it and not counted. A number within its tolerance is reproduced, a range "
        "is within, and an order or a word agrees.",
        RULE,
        "The notes give the known reasons. `bentpipe papers explain ID` shows one statement with "
        "its source, its reading, all that was tried, and its runs.",
    ]


def counts_sentence(counted: Summary) -> str:
    """A sentence with the counts of one paper."""
    parts = [
        f"{counts.yes} of {counts.judged} {HEADINGS[kind]}"
        + (f" ({counts.undecided} more undecided)" if counts.undecided else "")
        for kind, counts in counted.statements.items()
        if counts.total
    ]
    text = f"reproduced are {'; '.join(parts)}."
    if counted.contradicted:
        text += f" Contradicted by the paper itself: {counted.contradicted}."
    if counted.not_comparable:
        text += f" Not comparable: {counted.not_comparable}."
    return text


class Saved:
    """The folder of one reproduction."""

    def __init__(self, folder: Path) -> None:
        content = read_json(folder / "rows.json", "papers")
        (paper, *_) = content["papers"]
        self.name: str = paper["paper"]
        self.partial: bool = paper["partial"]
        if "statements" not in paper:
            raise BentpipeError(
                f"{folder / 'rows.json'}: expected statements, found the rows of an older version; "
                f"run `bentpipe papers run {self.name} --out` again"
            )
        self.rows = [Row(**row) for row in paper["rows"]]
        self.statements = [
            Judged(**{key: one[key] for key in Judged.__annotations__})
            for one in paper["statements"]
        ]
        self.summary = summarise(self.statements, self.rows)
        self.rankings = [of_dict(one) for one in paper.get("rankings", ())]
        path = folder / "plots.json"
        held = read_json(path, "bentpipe", "title", "plots") if path.exists() else {}
        if held.get("rows", content.get(KEY)) != content.get(KEY):
            raise BentpipeError(
                f"{path}: expected the plots of rows.json, found those of other runs;"
                f" run `bentpipe papers run {self.name}` again"
            )
        self.title: str = held.get("title", self.name)
        self.authors: str = held.get("authors", "")
        self.version: str = held.get("bentpipe", "of an unknown version")
        self.runs: int | None = held.get("runs")
        self.full: bool = held.get("full", False)
        self.plots: dict[str, dict[str, Any]] = held.get("plots", {})
        self.readings = find(self.name).readings() if self.name in names() else ()

    def sections(self) -> list[Section]:
        """The table, figures and scenarios of the paper."""
        drawn = [figure(f"{self.name}-{name}", plot) for name, plot in self.plots.items()]
        runs = "" if self.runs is None else f" They come from {count(self.runs)} runs."
        counted = counts_sentence(self.summary)
        about = f"{self.authors}. {counted[0].upper()}{counted[1:]}{runs}"
        tables = [self.summary_table(), self.statements_table()]
        return [
            Section(self.name, self.title, [Text([about]), *tables]),
            Section(f"{self.name}-rows", "All rows", [self.table()], level=3),
            Section(f"{self.name}-figures", "Figures", drawn or [Text([NO_PLOTS])], level=3),
            *self.ranked(),
            Section(f"{self.name}-made", "Scenarios and version", self.made_by(), level=3),
        ]

    def ranked(self) -> list[Section]:
        """The rankings of a survey."""
        if not self.rankings:
            return []
        tables = [ranking_table(self.name, one) for one in self.rankings]
        return [Section(f"{self.name}-rankings", "Rankings", [Text([RANKED]), *tables], level=3)]

    def summary_table(self) -> Table:
        """The counts of statements and of rows."""
        columns = [Column(heading, numeric=False) for heading in HEADER]
        rows = [words(*line) for line in lines_of(self.name, self.summary)]
        return Table(f"{self.name}-summary", f"{self.title}: summary", columns, rows)

    def statements_table(self) -> Table:
        """The statements with their judgements."""
        notes = numbers_of(self.statements)
        by_id = {row.id: row for row in self.rows}
        columns = [
            Column("statement", numeric=False),
            Column("ID", numeric=False),
            Column("kind", numeric=False, choices=True),
            Column("published"),
            Column("measured"),
            Column("judgement", numeric=False, choices=True),
            Column("not counted", numeric=False, choices=True),
        ]
        rows = [
            [
                Cell(one.quantity, figures=self.figures_of(one.id)),
                *words(one.id, one.kind),
                Cell(published_of(one, by_id)),
                Cell(measured_of(one, by_id)),
                Cell(one.judgement, verdict=VERDICTS[one.verdict], note=notes.get(one.note)),
                Cell(one.removed),
            ]
            for one in self.statements
        ]
        name = f"{self.name}-statements"
        return Table(name, f"{self.title}: statements", columns, rows, list(notes))

    def table(self) -> Table:
        """The table of published and measured values."""
        notes = numbers_of(self.rows)
        columns = [
            Column("quantity", numeric=False),
            Column("unit", numeric=False),
            Column("published"),
            Column("measured"),
            Column("95 % interval"),
            Column("spread"),
            Column("deviation", "%"),
            Column("tolerance", "%"),
            Column("judgement", numeric=False, choices=True),
            Column("not counted", numeric=False, choices=True),
        ]
        rows = [row_cells(row, notes, self.figures_of(row.statement)) for row in self.rows]
        proofs = {row.proof: row.removed for row in self.rows if row.removed}
        removals = [f"Not counted, {reason}: {proof}." for proof, reason in proofs.items()]
        caption = f"{self.title}: published and measured"
        return Table(f"{self.name}-table", caption, columns, rows, [*notes, *removals])

    def figures_of(self, statement: str) -> list[tuple[str, str]]:
        """The figures of this page that show a statement, with the words of their links."""
        known = explain(self.readings, statement).figures
        return [
            (f"{self.name}-{name}", self.plots[name]["title"])
            for name in known
            if name in self.plots
        ]

    def made_by(self) -> list[Text | Table | Details | Figure]:
        """The command, and the scenarios if this is still the same version."""
        command = f"bentpipe papers run {self.name}{' --full' if self.full else ''} --out DIR"
        blocks: list[Text | Table | Details | Figure] = [
            Text([f"Made by Bentpipe {self.version}."]),
            Details("Command", command, copy=True, open=True),
        ]
        if self.version != bentpipe.__version__ or self.name not in names():
            blocks.append(Text(["The scenarios are those of that version's reproductions."]))
            return blocks
        folder = resources.files("bentpipe.reproductions") / self.name / "scenarios"
        files = [file for file in folder.iterdir() if file.name.endswith(".toml")]
        files.sort(key=lambda file: file.name)
        return blocks + [Details(file.name, file.read_text("utf-8"), copy=True) for file in files]


def ranking_table(paper: str, ranking: Ranking) -> Table:
    """The candidates of a condition, the best goodput first. Each quantity has its rank."""
    order, *_ = ranking.quantities
    columns = [Column("controller + helper", numeric=False)]
    for quantity in ranking.quantities:
        unit = "" if quantity.unit == "1" else quantity.unit
        columns += [Column(quantity.title, unit), Column("95 % interval"), Column("rank")]
    rows = []
    for name in ranking.best(order.name):
        cells = [Cell(name)]
        for quantity in ranking.quantities:
            at = ranking.standings[name][quantity.name]
            mean, interval = with_interval(at.mean, *(at.ci95 or (None, None)))
            if at.missing:
                interval = f"{interval} ({at.missing} of {ranking.runs} without)"
            rank = Cell(NONE)
            if at.rank is not None:
                rank = Cell(f"{at.rank}{'=' if at.tied else ''}", float(at.rank))
            cells += [Cell(mean, at.mean), Cell(interval), rank]
        rows.append(cells)
    return Table(f"{paper}-ranking-{ranking.name.replace('/', '-')}", ranking.title, columns, rows)


def row_cells(row: Row, notes: dict[str, int], figures: Sequence[tuple[str, str]]) -> list[Cell]:
    """One line of the table."""
    low = high = None
    if row.measured is not None and row.ci95:
        low, high = row.measured - row.ci95, row.measured + row.ci95
    mean, interval = with_interval(row.measured, low, high)
    deviation = NONE if row.deviation is None else signed(row.deviation * 100, places=1)
    ends = row.published if isinstance(row.published, list) else [row.published]
    return [
        Cell(row.quantity, figures=figures),
        Cell(row.unit),
        Cell(NONE if row.published is None else published(row), ends[0]),
        Cell(mean, row.measured),
        Cell(interval, row.ci95),
        Cell(spread(row), row.spread),
        Cell(deviation, row.deviation),
        Cell(NONE if row.tolerance is None else decimals(row.tolerance * 100, 1), row.tolerance),
        Cell(row.judgement, verdict=VERDICTS[row.verdict], note=notes.get(row.note)),
        Cell(row.removed),
    ]
