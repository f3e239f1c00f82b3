"""Tables of published and measured values, of statements and of their counts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bentpipe.console import show, table, verbatim
from bentpipe.numbers import NONE, percent, plus_minus, signed, significant
from bentpipe.reproductions.judgement import COLUMNS, HEADINGS, RULE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table
    from rich.text import Text

    from bentpipe.reproductions.judgement import Counts, Judged, Row, Summary, Verdict
    from bentpipe.reproductions.published import Kind
    from bentpipe.reproductions.rankings import Ranking
    from bentpipe.reproductions.reproduction import Outcome

COLOURS: Mapping[Verdict, str] = {
    "reproduced": "green",
    "deviates": "red",
    "not comparable": "dim",
}


INTERRUPTED = "Interrupted: these results are partial."


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


def spread(row: Row) -> str:
    """The half width of the spread of the paper's runs, if it has one."""
    return f"\N{PLUS-MINUS SIGN}{significant(row.spread, 2)}" if row.spread else NONE


def deviation(row: Row) -> str:
    """The deviation from the published value in percent, with its sign."""
    if row.deviation is None:
        return NONE
    return f"{signed(row.deviation * 100, places=1)} %"


def with_unit(row: Row) -> str:
    """The published value or range with its unit."""
    return published(row) if row.unit == "1" else f"{published(row)} {row.unit}"


def published_of(statement: Judged, rows: Mapping[str, Row]) -> str:
    """The published value of a statement, or the number of rows that decide it."""
    same = {with_unit(rows[name]) for name in statement.rows}
    return same.pop() if len(same) == 1 else f"{len(statement.rows)} rows"


def measured_of(statement: Judged, rows: Mapping[str, Row]) -> str:
    """The measured value of a statement, or the number of rows that come out."""
    deciding = [rows[name] for name in statement.rows]
    if len(deciding) == 1:
        return measured(deciding[0])
    right = sum(row.verdict == "reproduced" for row in deciding)
    return f"{right} of {len(deciding)} rows"


def statements_table(outcome: Outcome) -> Table:
    """The statements that are counted, with their judgements. Fits 80 columns."""
    listed = table("statement", "published", "measured", "<judgement", "note")
    rows = {row.id: row for row in outcome.rows}
    statements = counted(outcome)
    numbered = numbers_of(statements)
    for one in statements:
        listed.add_row(
            one.quantity,
            published_of(one, rows),
            measured_of(one, rows),
            coloured(one),
            str(numbered[one.note]) if one.note else "",
        )
    return listed


def counted(outcome: Outcome) -> list[Judged]:
    """The statements that are counted."""
    return [one for one in outcome.statements if one.counted]


def coloured(item: Row | Judged) -> Text:
    """The judgement in the colour of its verdict."""
    from rich.text import Text

    return Text(item.judgement, style=COLOURS[item.verdict])


def side_by_side(rows: list[Row]) -> Table:
    """The comparison of all rows as a table, with the number of each note."""
    listed = table("quantity", "<unit", "published", "measured", "spread", "deviation", "tolerance",
                   "<judgement", "<not counted", "<note")  # fmt: skip
    numbered = numbers_of(rows)
    for row in rows:
        listed.add_row(
            row.quantity,
            row.unit,
            published(row),
            measured(row),
            spread(row),
            deviation(row),
            NONE if row.tolerance is None else f"{percent(row.tolerance)} %",
            coloured(row),
            row.removed,
            str(numbered[row.note]) if row.note else "",
        )
    return listed


def rankings_table(rankings: Sequence[Ranking]) -> Table:
    """The best candidates of every condition, by each quantity. Fits 80 columns."""
    listed = table("condition", "<quantity", "<best", "mean", "ties")
    for one in rankings:
        for number, quantity in enumerate(one.quantities):
            best, *_ = one.best(quantity.name)
            at = one.standings[best][quantity.name]
            unit = "" if quantity.unit == "1" else f" {quantity.unit}"
            listed.add_row(
                one.title if number == 0 else "",
                quantity.title,
                best,
                NONE if at.mean is None else f"{significant(at.mean, 3)}{unit}",
                str(len(one.tied(quantity.name))),
            )
    return listed


TIES = "ties: candidates that are not significantly different from the best."


def numbers_of(items: Iterable[Row | Judged]) -> dict[str, int]:
    """Each different note with its number, in order of appearance."""
    notes: dict[str, int] = {}
    for item in items:
        if item.note:
            notes.setdefault(item.note, len(notes) + 1)
    return notes


def notes_text(items: Iterable[Row | Judged]) -> str:
    """The notes, numbered."""
    return "\n".join(f"{number:>3}. {note}" for note, number in numbers_of(items).items())


def removals_text(rows: Iterable[Row]) -> str:
    """Every removal with the number of its rows and its proof."""
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.removed:
            key = (row.removed, row.proof)
            found[key] = found.get(key, 0) + 1
    lines = [
        f"  {reason}, {count} {'row' if count == 1 else 'rows'}: {proof}"
        for (reason, proof), count in found.items()
    ]
    return "\n".join(["Not counted:", *lines]) if lines else "All rows are counted."


def cells(counts: Mapping[Kind, Counts]) -> list[str]:
    """The three columns of a summary."""
    return [str(counts[kind]) if counts[kind].total else NONE for kind in COLUMNS]


def lines_of(name: str, summary: Summary) -> list[list[str]]:
    """The lines of one paper: statements, with those of calibration, and all rows."""
    lines = [[name, *cells(summary.statements), str(summary.contradicted)]]
    if summary.calibrated != summary.statements:
        lines.append(["  with calibration", *cells(summary.calibrated), ""])
    return [*lines, ["  all rows", *cells(summary.rows), ""]]


HEADER = ["paper", *(HEADINGS[kind] for kind in COLUMNS), "contradicted by the paper"]


def summary_table(summaries: Sequence[tuple[str, Summary]]) -> Table:
    """The counts of several papers. Fits 80 columns."""
    listed = table(HEADER[0], *(f"<{column}" for column in HEADER[1:]))
    for name, summary in summaries:
        for line in lines_of(name, summary):
            listed.add_row(*line)
    return listed


def print_outcome(outcome: Outcome) -> None:
    """Print title, statements, notes, all removals, and the counts."""
    show(outcome.reproduction.publication.title)
    show(statements_table(outcome))
    show(notes_text(counted(outcome)))
    show(removals_text(outcome.rows))
    show(summary_table([(outcome.reproduction.name, outcome.summary)]))
    if outcome.rankings:
        show(rankings_table(outcome.rankings))
        show(TIES)
    if not outcome.complete:
        show(INTERRUPTED)


def as_text(outcome: Outcome) -> str:
    """All rows, and the output of `print_outcome`, as plain text for a file."""
    text = io.StringIO()
    console = verbatim(file=text, width=200)
    console.print(outcome.reproduction.publication.title)
    if not outcome.complete:
        console.print(INTERRUPTED)
    console.print(side_by_side(outcome.rows))
    console.print(RULE)
    console.print(notes_text(outcome.rows))
    console.print(removals_text(outcome.rows))
    console.print(statements_table(outcome))
    console.print(notes_text(counted(outcome)))
    console.print(summary_table([(outcome.reproduction.name, outcome.summary)]))
    if outcome.rankings:
        console.print(rankings_table(outcome.rankings))
        console.print(TIES)
    return text.getvalue()
