"""Beams for the terminal, and the options of the search."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

from bentpipe.beams.groups import quantile, written_groups
from bentpipe.beams.search import BOUNDS, Bound
from bentpipe.console import nearest, show, table
from bentpipe.durations import seconds
from bentpipe.errors import InputError
from bentpipe.numbers import decimals
from bentpipe.printing.mechanisms import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Scenario
    from bentpipe.beams.groups import Answer, Experience
    from bentpipe.beams.search import Found


def show_answer(answer: Answer) -> None:
    """Print the tables of beams, and the times of pages and transfers by group."""
    tables = {
        "beams": answer.beams,
        "beam_modcods": answer.modcods,
        "beam_groups": answer.groups,
    }
    for name, rows in tables.items():
        listed = table(*(column.heading for column in TABLES[name]))
        for row in rows:
            listed.add_row(*(column.text(row) for column in TABLES[name]))
        show(listed)
    users = table(
        "<group", "pages", "load p50 s", "load p95 s", "not ended", "transfers", "FCT p50 s",
        "FCT p95 s",
    )  # fmt: skip
    for group, one in answer.users.items():
        if one.pages_s or one.transfers_s:
            users.add_row(group, *cells(one))
    if users.row_count:
        show(users)


def cells(one: Experience) -> list[str]:
    """The times of a group."""

    def text(values: Sequence[float], share: float) -> str:
        value = quantile(values, share)
        return "-" if value is None or math.isinf(value) else decimals(value, 2)

    return [
        str(len(one.pages_s)),
        text(one.pages_s, 0.5),
        text(one.pages_s, 0.95),
        str(sum(math.isinf(page) for page in one.pages_s)),
        str(len(one.transfers_s)),
        text(one.transfers_s, 0.5),
        text(one.transfers_s, 0.95),
    ]


def chosen(
    scenario: Scenario, group: str | None, within: Sequence[str], limits: str | None
) -> tuple[str, list[Bound], tuple[int, int]]:
    """The options of a search.

    Raises InputError for options that do not fit.
    """
    names = [one["name"] for one in written_groups(scenario)]
    if group is None and len(names) == 1:
        group = names[0]
    if group is None or group not in names:
        near = nearest(group, names) if group else ""
        wanted = "one of " + ", ".join(names) if names else "a scenario with a [[beam]]"
        message = f"--group: expected {wanted}, found {group or 'nothing'}{near}"
        raise InputError(message)
    if not within:
        message = f"--within: expected a bound such as page_p95=8s ({', '.join(BOUNDS)})"
        raise InputError(message)
    return group, [bound_of(text) for text in within], range_of(limits or "1:1000")


def bound_of(text: str) -> Bound:
    """A bound such as `page_p95=8s`."""
    quantity, _, value = text.partition("=")
    if quantity not in BOUNDS:
        expected = f"one of {', '.join(BOUNDS)}"
        message = f"--within: expected {expected}, found {quantity}{nearest(quantity, BOUNDS)}"
        raise InputError(message)
    try:
        most = seconds(value)
    except ValueError:
        message = f"--within {quantity}: expected a time such as 8s, found {value or 'nothing'}"
        raise InputError(message) from None
    return Bound(quantity, most)


def range_of(text: str) -> tuple[int, int]:
    """A range such as `10:200`."""
    low, _, high = text.partition(":")
    if not (low.isdecimal() and high.isdecimal() and 1 <= int(low) < int(high)):
        message = f"--range: expected two rising numbers such as 10:200, found {text}"
        raise InputError(message)
    return int(low), int(high)


def as_json(found: Found) -> str:
    """A result of the search as one JSON object."""
    return json.dumps(asdict(found))


def show_found(found: Found) -> None:
    """Print a result of the search."""
    interval = "" if found.low is None else f" [{found.low:.1f}, {found.high:.1f}]"
    least = "at least " if found.at_most else ""
    show(
        f"{found.group}: {least}{found.mean:.1f}{interval} terminals with {', '.join(found.bounds)}"
        f" ({len(found.by_seed)} seeds: {', '.join(map(str, found.by_seed.values()))})"
    )
    if len(found.by_seed) > 1 and found.low == found.high:
        show("All seeds have the same number: the interval says nothing if nothing is random.")
