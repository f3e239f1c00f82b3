"""The first screen of a page as one sheet of A4: an SVG that becomes a PDF without a browser.

vl-convert, which also draws the files of figures, makes the PDF. Equal folders give equal drawings.
The numbers of the objects in the PDF differ.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from bentpipe.errors import BentpipeError
from bentpipe.numbers import typeset
from bentpipe.plots.figure import raised
from bentpipe.plots.theme import LIGHT
from bentpipe.report.page import First, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.plots import Figure
    from bentpipe.report.page import Page

WIDTH, HEIGHT = 794, 1123
"""A4 in pixels of 96 per inch."""
POINTS = 72 / 96
MARGIN = 48
ACROSS = WIDTH - 2 * MARGIN
MOST_FIGURE = 400
"""Pixels of the height of the figure, at most."""
LABEL, AXES = 64, 60
"""Pixels of the labels of the answer, and of an axis with its title."""
ROW, LINE = 17, 1.35
SIZE, SMALL = 12.5, 10.5
INK, FAINT, RULE = LIGHT
MARK = b"% bentpipe report\n"
"""The last line of every sheet, by which it is recognised."""
MOST_LINES = 6
"""Lines of a summary that stands for an answer."""

NARROW, BROAD = set("ijlIftr.,:;'|!()[] /-"), set("mwMW%@=+<>")


def sheet(page: Page) -> bytes:
    """The PDF. `BentpipeError` names what is needed if it cannot be made."""
    try:
        import vl_convert
    except ImportError as error:
        raise BentpipeError(
            "the PDF needs the package vl-convert-python, which cannot be imported"
            f" ({error}); install it, or print the page from a browser"
        ) from error
    pdf: bytes = vl_convert.svg_to_pdf(svg(page), scale=1.0)
    return pdf + MARK


def first_of(page: Page) -> First:
    """The first screen of a page; for a run or papers their summary, figure and table."""
    if page.first:
        return page.first
    lines = {("" if n else "Summary"): line for n, line in enumerate(page.summary[:1])}
    lines |= {" " * n: line for n, line in enumerate(page.summary[1:MOST_LINES], 1)}
    tables = [
        block for section in page.sections for block in section.blocks if isinstance(block, Table)
    ]
    return First(lines, next(iter(page.figures), None), tables[0] if tables else None)


def svg(page: Page) -> str:
    """The sheet as SVG, with the texts as texts."""
    first = first_of(page)
    drawing = Drawing()
    drawing.words(page.title, 19, bold=True)
    drawing.words(page.subtitle, SMALL, faint=True)
    drawing.down(8)
    for number, (label, line) in enumerate(first.answer.items()):
        drawing.labelled(label, line, bold=number < 3, size=SIZE + (number == 0))
    for line in page.warnings:
        drawing.labelled("Note", line, bold=False, size=SMALL)
    drawing.down(8)
    name = first.figure.name if first.figure else ""
    drawn = next((one for one in page.figures if one.name == name), None)
    if drawn:
        drawing.figure(drawn)
    if first.table:
        drawing.table(first.table)
    return drawing.finished(f"Bentpipe {page.version}")


class Drawing:
    """Elements of the sheet from the top to the bottom."""

    def __init__(self) -> None:
        self.y = float(MARGIN)
        self.parts: list[str] = []

    def down(self, pixels: float) -> None:
        """Leave space."""
        self.y += pixels

    @property
    def left(self) -> float:
        """Pixels to the line at the foot."""
        return HEIGHT - MARGIN - 2 * SMALL - self.y

    def text(
        self, words: str, x: float, size: float, *, bold: bool = False, faint: bool = False,
        end: bool = False,
    ) -> None:  # fmt: skip
        """One line of text at the current height, to the right of `x` or ending there."""
        style = ' font-weight="bold"' if bold else ""
        anchor = ' text-anchor="end"' if end else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{self.y:.1f}" font-size="{size}"'
            f' fill="{FAINT if faint else INK}"{style}{anchor}>{escape(unmarked(words))}</text>'
        )

    def words(
        self, words: str, size: float, *, x: float = MARGIN, bold: bool = False,
        faint: bool = False,
    ) -> None:  # fmt: skip
        """A paragraph, broken into lines."""
        for line in broken(unmarked(words), size, WIDTH - MARGIN - x, bold=bold):
            self.down(size * LINE)
            self.text(line, x, size, bold=bold, faint=faint)

    def labelled(self, label: str, words: str, *, bold: bool, size: float) -> None:
        """A line of the answer with its label."""
        top = self.y
        self.down(size * LINE)
        self.text(label.strip(), MARGIN, SMALL, faint=True)
        self.y = top
        self.words(words, size, x=MARGIN + LABEL, bold=bold)
        self.down(3)

    def figure(self, figure: Figure) -> None:
        """The figure with its title and notes."""
        import vl_convert

        self.words(figure.title, SIZE, bold=True)
        bare = replace(figure, title="")
        specification = bare.to_dict()
        if "facet" in specification:
            columns = min(specification["columns"], figure.data["panel"].n_unique())
            panel = {"width": ACROSS / columns - AXES, "height": 190}
            specification["spec"] = specification["spec"] | panel
        else:
            specification |= {"width": ACROSS - AXES, "height": 300}
        drawn: str = vl_convert.vegalite_to_svg(specification)
        sizes = re.findall(r'(?:width|height)="([\d.]+)"', drawn)[:2]
        width, height = map(float, sizes)
        size = min(ACROSS / width, MOST_FIGURE / height, 1.0)
        head, rest = drawn[: drawn.index(">")], drawn[drawn.index(">") :]
        head = re.sub(r' (width|height)="[\d.]+"', "", head)
        place = (
            f' x="{MARGIN}" y="{self.y + 6:.1f}" width="{width * size:.1f}"'
            f' height="{height * size:.1f}"'
        )
        self.parts.append(f"{head}{place}{rest}")
        self.down(height * size + 6)
        for note in figure.notes:
            self.words(note, SMALL, faint=True)
        self.down(6)

    def table(self, table: Table) -> None:
        """The rows that fit, under their headings."""
        self.words(table.caption, SMALL, bold=True)
        widths = widths_of(table)
        rows = list(table.rows)
        fitting = max(int((self.left - 3 * ROW) // ROW), 0)
        heads = [broken(heading, SMALL, width, bold=True) for heading, width in
                 zip(headings(table), widths, strict=True)]  # fmt: skip
        top = self.y
        deepest = max(map(len, heads), default=0)
        for lines, (x, end) in zip(heads, edges(table, widths), strict=True):
            for number, line in enumerate(lines):
                self.y = top + (deepest - len(lines) + number + 1) * SMALL * LINE
                self.text(line, x, SMALL, bold=True, end=end)
        self.y = top + deepest * SMALL * LINE + 5
        self.rule()
        for number, row in enumerate(rows[:fitting]):
            self.down(ROW)
            for cell, (x, end), width in zip(row, edges(table, widths), widths, strict=True):
                words = shortened(typeset(cell.text), SMALL, width)
                self.text(words, x, SMALL, bold=number in table.strong, end=end)
        if len(rows) > fitting:
            self.words(f"{len(rows) - fitting} more rows do not fit.", SMALL, faint=True)

    def rule(self) -> None:
        """A line across the sheet."""
        self.parts.append(
            f'<path d="M {MARGIN} {self.y:.1f} h {ACROSS}" stroke="{FAINT}" stroke-width="0.8"/>'
        )

    def finished(self, made_by: str) -> str:
        """The whole SVG with its foot."""
        self.y = HEIGHT - MARGIN
        self.text(made_by, MARGIN, SMALL, faint=True)
        size = f'width="{WIDTH * POINTS:.2f}" height="{HEIGHT * POINTS:.2f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>'
            f"{''.join(map(raised, self.parts))}</svg>"
        )


def unmarked(words: str) -> str:
    """Text of the sheet, which has no font for code: without the backticks around commands."""
    return typeset(words).replace("`", "")


def width_of(words: str, size: float, *, bold: bool = False) -> float:
    """The estimated pixels of a text in Arial or a font of its widths."""
    letters = sum(0.29 if a in NARROW else 0.86 if a in BROAD else 0.57 for a in words)
    return letters * size * (1.06 if bold else 1.0)


def broken(words: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """The text in lines of at most this width. A longer word is not broken."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def shortened(words: str, size: float, width: float) -> str:
    """The text, cut off with an ellipsis if it is wider than its column."""
    while words and width_of(words, size) > width:
        words = words.rstrip("…")[:-1].rstrip() + "…" if len(words) > 1 else ""
    return words


def headings(table: Table) -> list[str]:
    """The headings with their units."""
    return [f"{one.label} {one.unit}".strip() for one in table.columns]


GAP = 12
"""Pixels between columns."""


def widths_of(table: Table) -> list[float]:
    """The widths of the columns: those of their texts, together those of the sheet at most."""
    wanted = []
    for number, heading in enumerate(headings(table)):
        longest = max((width_of(word, SMALL, bold=True) for word in heading.split()), default=0)
        cells = (width_of(typeset(row[number].text), SMALL, bold=True) for row in table.rows)
        wanted.append(max([longest, *cells]) + 2)
    room = ACROSS - GAP * (len(wanted) - 1)
    size = min(room / sum(wanted), 1.0) if wanted else 1.0
    spare = max(room - sum(wanted), 0) / max(len(wanted), 1)
    return [width * size + min(spare, 60) for width in wanted]


def edges(table: Table, widths: Sequence[float]) -> Iterator[tuple[float, bool]]:
    """Where the text of each column begins, or ends for numbers."""
    x = float(MARGIN)
    for column, width in zip(table.columns, widths, strict=True):
        yield (x + width, True) if column.numeric else (x, False)
        x += width + GAP
