"""The page of reproductions: published and measured values compared."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.errors import BentpipeError
from bentpipe.numbers import NONE, count, decimals, signed, with_interval
from bentpipe.report.page import Cell, Column, Details, Page, Section, Table, Text
from bentpipe.report.source import read_json
from bentpipe.reproductions.plots import figure
from bentpipe.reproductions.reproduction import Row, names
from bentpipe.reproductions.tables import notes_of, published
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
    """The number of reproduced values, in sentences."""
    rows = [row for saved in found for row in saved.rows]
    lines = [verdict_sentence(rows)]
    if len(found) > 1:
        lines += [f"{saved.title}: {verdict_sentence(saved.rows)}" for saved in found]
    lines.append(
        "A value is reproduced if the mean of the runs is within the tolerance of the published "
        "value, which was set before the runs. The width of the interval does not count. For "
        "values that deviate, the notes give the known reasons."
    )
    return lines


def verdict_sentence(rows: Sequence[Row]) -> str:
    """A sentence with the number of each verdict."""
    counts = dict.fromkeys(VERDICTS, 0)
    for row in rows:
        counts[row.verdict] += 1
    judged = counts["reproduced"] + counts["deviates"]
    share = f" ({counts['reproduced'] / judged:.0%})" if judged else ""
    return (
        f"Of {count(len(rows))} comparisons with published values {count(judged)} can be judged: "
        f"{count(counts['reproduced'])} are reproduced{share} and {count(counts['deviates'])} "
        f"deviate. {count(counts['not comparable'])} are not comparable."
    )


class Saved:
    """The folder of one reproduction."""

    def __init__(self, folder: Path) -> None:
        content = read_json(folder / "rows.json", "papers")
        (paper, *_) = content["papers"]
        self.name: str = paper["paper"]
        self.partial: bool = paper["partial"]
        self.rows = [Row(**{key: row[key] for key in Row.__annotations__}) for row in paper["rows"]]
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
        self.plots: dict[str, dict[str, Any]] = held.get("plots", {})

    def sections(self) -> list[Section]:
        """The table, figures and scenarios of the paper."""
        drawn = [figure(f"{self.name}-{name}", plot) for name, plot in self.plots.items()]
        runs = "" if self.runs is None else f" They come from {count(self.runs)} runs."
        told = f"{self.authors}. {verdict_sentence(self.rows)}{runs}"
        return [
            Section(self.name, self.title, [Text([told]), self.table()]),
            Section(f"{self.name}-figures", "Figures", drawn or [Text([NO_PLOTS])], level=3),
            Section(f"{self.name}-made", "Scenarios and version", self.made_by(), level=3),
        ]

    def table(self) -> Table:
        """The table of published and measured values."""
        notes = notes_of(self.rows)
        columns = [
            Column("quantity", numeric=False),
            Column("unit", numeric=False),
            Column("published"),
            Column("measured"),
            Column("95 % interval"),
            Column("deviation", "%"),
            Column("tolerance", "%"),
            Column("verdict", numeric=False, choices=True),
        ]
        rows = [row_cells(row, notes) for row in self.rows]
        caption = f"{self.title}: published and measured"
        return Table(f"{self.name}-table", caption, columns, rows, list(notes))

    def made_by(self) -> list[Text | Table | Details | Figure]:
        """The command, and the scenarios if this is still the same version."""
        command = f"bentpipe papers run {self.name} --out DIR"
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


def row_cells(row: Row, notes: dict[str, int]) -> list[Cell]:
    """One line of the table."""
    low = high = None
    if row.measured is not None and row.ci95:
        low, high = row.measured - row.ci95, row.measured + row.ci95
    mean, interval = with_interval(row.measured, low, high)
    deviation = NONE if row.deviation is None else signed(row.deviation * 100, places=1)
    ends = row.published if isinstance(row.published, list) else [row.published]
    return [
        Cell(row.quantity),
        Cell(row.unit),
        Cell(NONE if row.published is None else published(row), ends[0]),
        Cell(mean, row.measured),
        Cell(interval, row.ci95),
        Cell(deviation, row.deviation),
        Cell(NONE if row.tolerance is None else decimals(row.tolerance * 100, 1), row.tolerance),
        Cell(row.verdict, verdict=VERDICTS[row.verdict], note=notes.get(row.note)),
    ]
