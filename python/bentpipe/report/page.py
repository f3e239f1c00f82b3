"""Parts of a page, before it becomes HTML."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import typeset
from bentpipe.plots.looks import Wardrobe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.plots import Figure

MOST_ROWS = 2000
"""Longer tables are cut off with a note."""


@dataclass(frozen=True)
class Text:
    """A paragraph, or items of a list if there are several."""

    lines: Sequence[str]
    marked: bool = False

    kind = "text"


@dataclass(frozen=True)
class Column:
    """A heading with its unit. Numbers are right-aligned. `choices` adds a filter."""

    label: str
    unit: str = ""
    numeric: bool = True
    choices: bool = False


@dataclass(frozen=True)
class Cell:
    """The text of a cell, its value for sorting, the number of its note, and links to figures.

    `figures` are names of figures with the words of their links.
    """

    text: str
    value: float | None = None
    note: int | None = None
    verdict: str = ""
    figures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Table:
    """Rows under a caption, with numbered notes below."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    strong: Sequence[int] = ()
    """Numbers of rows in bold."""
    is_short: bool = False
    """True for a table of the first screen, which has no filter."""

    kind = "table"

    @property
    def shown(self) -> Sequence[Sequence[Cell]]:
        """The rows that the page includes."""
        return self.rows[:MOST_ROWS]

    def values_of(self, column: int) -> list[str]:
        """The different texts of a column, in order of appearance."""
        return list(dict.fromkeys(row[column].text for row in self.shown))


@dataclass(frozen=True)
class Details:
    """A text that is shown on demand, with a button to copy it if `copy` is set."""

    title: str
    text: str
    copy: bool = False
    open: bool = False

    kind = "details"


@dataclass(frozen=True)
class Section:
    """A heading and its content. `name` is its anchor, `short` its title in the menu."""

    name: str
    title: str
    blocks: Sequence[Text | Table | Details | Figure]
    level: int = 2
    short: str = ""

    @property
    def in_menu(self) -> str:
        """The title in the menu of the page."""
        return self.short or self.title


@dataclass(frozen=True)
class First:
    """The first screen: the lines of the answer by their labels, one figure, one short table."""

    answer: Mapping[str, str]
    figure: Figure | None
    table: Table | None

    @property
    def blocks(self) -> list[Figure | Table]:
        """The figure and the table, as far as there are any."""
        return [block for block in (self.figure, self.table) if block is not None]


@dataclass(frozen=True)
class Page:
    """A whole page. `version` is the version of Bentpipe that made the data."""

    title: str
    subtitle: str
    version: str
    summary: Sequence[str]
    sections: Sequence[Section]
    warnings: Sequence[str] = field(default_factory=tuple)
    first: First | None = None
    """The first screen. With it, the summary and all sections are folded."""
    things: Sequence[str] = ()
    """What series are about, in the order of their colours: controllers, flows, links."""

    @property
    def figures(self) -> list[Figure]:
        """The figures in the order of the page. A thing has one colour in all of them."""
        wardrobe = Wardrobe([typeset(thing) for thing in self.things])
        blocks: list[Any] = [*self.first.blocks] if self.first else []
        blocks += [block for section in self.sections for block in section.blocks]
        return [
            block
            if block.has_own_colours
            else replace(block, looks=wardrobe.looks(list(block.series)))
            for block in blocks
            if block.kind == "figure"
        ]


def words(*texts: str) -> list[Cell]:
    """Cells of plain text."""
    return [Cell(text) for text in texts]
