"""Tables of published and measured values."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bentpipe.console import show, table
from bentpipe.numbers import NONE, percent, plus_minus, signed

if TYPE_CHECKING:
    from rich.table import Table

    from bentpipe.reproductions.reproduction import Outcome, Row

COLOURS = {"reproduced": "green", "deviates": "red", "not comparable": "dim"}


def published(row: Row) -> str:
    """The published value or range, with the printed digits."""
    if row.published is None:
        return NONE
    if isinstance(row.published, list):
        return " to ".join(f"{end:,}" for end in row.published)
    return f"{row.published:,}"


def measured(row: Row) -> str:
    """The measured value with its confidence interval, if it has one."""
    return plus_minus(row.measured, row.ci95 or None)


def deviation(row: Row) -> str:
    """The deviation from the published value in percent, with its sign."""
    if row.deviation is None:
        return NONE
    return f"{signed(row.deviation * 100, places=1)} %"


def side_by_side(rows: list[Row]) -> Table:
    """The comparison as a table, with the number of each note."""
    listed = table("quantity", "<unit", "published", "measured", "deviation", "tolerance",
                   "<verdict", "<note")  # fmt: skip
    notes = notes_of(rows)
    for row in rows:
        listed.add_row(
            row.quantity,
            row.unit,
            published(row),
            measured(row),
            deviation(row),
            NONE if row.tolerance is None else f"{percent(row.tolerance)} %",
            f"[{COLOURS[row.verdict]}]{row.verdict}[/]",
            str(notes[row.note]) if row.note else "",
        )
    return listed


def notes_of(rows: list[Row]) -> dict[str, int]:
    """Each different note with its number, in order of appearance."""
    notes: dict[str, int] = {}
    for row in rows:
        if row.note:
            notes.setdefault(row.note, len(notes) + 1)
    return notes


def summary(outcome: Outcome) -> str:
    """The number of each verdict."""
    counts = dict.fromkeys(COLOURS, 0)
    for row in outcome.rows:
        counts[row.verdict] += 1
    partial = "" if outcome.complete else " (interrupted: partial)"
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + partial


def notes_text(outcome: Outcome) -> str:
    """The notes, numbered."""
    return "\n".join(f"{number:>3}. {note}" for note, number in notes_of(outcome.rows).items())


def print_outcome(outcome: Outcome) -> None:
    """Print title, table, notes and the number of each verdict."""
    show(outcome.reproduction.publication.title)
    show(side_by_side(outcome.rows))
    show(notes_text(outcome))
    show(f"{outcome.reproduction.name}: {summary(outcome)}")


def as_text(outcome: Outcome) -> str:
    """The output of `print_outcome` as plain text for a file."""
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=200, highlight=False)
    console.print(outcome.reproduction.publication.title)
    console.print(side_by_side(outcome.rows))
    console.print(notes_text(outcome))
    console.print(summary(outcome))
    return text.getvalue()
