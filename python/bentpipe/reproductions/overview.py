"""A paper on one screen: the counts, what is not reproduced, and the ids of all statements."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bentpipe.console import compact_table, keep_lines, lines_of, show, show_labelled
from bentpipe.numbers import NONE
from bentpipe.reproductions.judgement import COLUMNS, HEADINGS
from bentpipe.reproductions.tables import INTERRUPTED, measured_of, published_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from bentpipe.reproductions.judgement import Judged
    from bentpipe.reproductions.reproduction import Outcome

SHORT = {"undecided": "open", "not judged": NONE, "not measured": "open"}
"""Judgements of the table that are not `no`."""
MOST_ROWS = 20
"""Statements that are not reproduced, of which the table has published and measured values."""


def print_overview(outcome: Outcome) -> None:
    """Print title, counts, the statements that are not reproduced, and the ids of the others."""
    show(outcome.reproduction.publication.title)
    if not outcome.complete:
        show(INTERRUPTED)
    counted = [one for one in outcome.statements if one.counted]
    confirmed = [one for one in counted if one.verdict == "reproduced"]
    open_ones = [one for one in counted if one.verdict != "reproduced"]
    left_out = [one for one in outcome.statements if not one.counted]
    show_labelled({"Result": result(outcome, len(confirmed), len(counted))})
    most = 0
    if open_ones:
        show("")
        most = show_statements(outcome, open_ones, "not reproduced")
    if not counted:
        show("")
        show_statements(outcome, left_out, "not judged")
    groups = {
        "Also not": open_ones[most:],
        "Reproduced": confirmed,
        "Not counted": left_out,
    }
    show("")
    for label, listed in groups.items():
        if listed:
            show(f"{label} ({len(listed)}):")
            show_labelled({"": ", ".join(folded(one.id for one in listed))})
    if outcome.rankings:
        number = len(outcome.rankings)
        show(f"Rankings of {number} condition{'' if number == 1 else 's'}: --verbose")


def result(outcome: Outcome, confirmed: int, counted: int) -> str:
    """The counts of statements, by their kinds, and of those that are not counted."""
    summary = outcome.summary.statements
    kinds = [f"{HEADINGS[kind]} {summary[kind]}" for kind in COLUMNS if summary[kind].total]
    removed = Counter(one.removed for one in outcome.statements if one.removed)
    reasons = ", ".join(f"{number} {reason}" for reason, number in removed.items())
    if not counted:
        return f"No statement is judged: {reasons}."
    left_out = f". Not counted: {reasons}" if removed else ""
    return f"{confirmed} of {counted} statements are reproduced ({'; '.join(kinds)}){left_out}."


def show_statements(outcome: Outcome, listed: Sequence[Judged], heading: str) -> int:
    """Print statements with their values, and return the number of those that fit.

    They are in a table, or in two lines each if the ids are too long for one.
    """
    rows = {row.id: row for row in outcome.rows}
    cells = [
        (one.id, published_of(one, rows), measured_of(one, rows), one.judgement)
        for one in listed[:MOST_ROWS]
    ]
    made: Table = compact_table(heading, "published", "measured", "<verdict")
    for *row, judgement in cells:
        made.add_row(*row, SHORT.get(judgement, "no"))
    keep_lines(made, 0)
    if lines_of(made) is not None:
        show(made)
        return len(cells)
    in_lines = cells[: MOST_ROWS // 2]
    for identity, published, measured, judgement in in_lines:
        show(f"{identity}\n    published {published}, measured {measured}: {judgement}")
    return len(in_lines)


def folded(identities: Iterable[str]) -> list[str]:
    """Ids, those that differ in their last part only as `fig8/jain/{aliad,liad}`."""
    groups: dict[str, list[str]] = {}
    for identity in identities:
        prefix, _, last = identity.rpartition("/")
        # A comma in the last part would be taken for one between two.
        key = identity if "," in last or not prefix else f"{prefix}/"
        groups.setdefault(key, []).append("" if key == identity else last)
    return [
        f"{key}{last[0]}" if len(last) == 1 else f"{key}{{{','.join(last)}}}"
        for key, last in groups.items()
    ]
