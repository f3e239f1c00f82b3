"""Beams for the terminal, and the options of the search."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from bentpipe.beams.groups import chosen_group
from bentpipe.beams.ranking import HEADINGS, compare, sentences
from bentpipe.beams.ranking import cells as cells_of
from bentpipe.beams.search import BOUNDS, Bound
from bentpipe.console import late_progress, nearest, show, table
from bentpipe.durations import seconds
from bentpipe.errors import InputError
from bentpipe.numbers import decimals, quantile
from bentpipe.printing.mechanisms import TABLES
from bentpipe.printing.recording import print_quality
from bentpipe.stdout import about_to_print
from bentpipe.study import significance
from bentpipe.study.store import as_json as as_json_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from bentpipe._native import Scenario
    from bentpipe.beams.groups import Answer, Experience
    from bentpipe.beams.ranking import Rankings
    from bentpipe.beams.search import Found


def show_answer(answer: Answer) -> None:
    """Print the tables of beams, and the times of pages and transfers by group."""
    tables = {
        "beams": answer.beams,
        "beam_modcods": answer.modcods,
        "beam_groups": answer.groups,
        "beam_classes": answer.classes,
        "beam_background": answer.background,
    }
    for name, rows in tables.items():
        if not rows:
            continue
        listed = table(*(column.heading for column in TABLES[name]))
        for row in rows:
            listed.add_row(*(column.text(row) for column in TABLES[name]))
        show(listed)
    show(*users_tables(answer))
    if answer.kernel:
        print_quality(answer.kernel)


def users_tables(answer: Answer) -> list[Table]:
    """The times of pages and transfers by group, and the quality of calls and videos."""
    times = table(
        "<group", "pages", "load p50 s", "load p95 s", "not ended", "transfers", "FCT p50 s",
        "FCT p95 s",
    )  # fmt: skip
    quality = table("<group", "calls", "MOS p5", "MOS p50", "videos", "stalls p95", "stalled p95 s")
    for group, one in answer.users.items():
        if one.pages_s or one.transfers_s:
            times.add_row(group, *cells(one))
        if one.mos or one.stalls:
            quality.add_row(
                group,
                str(len(one.mos)),
                text(one.mos, 0.05),
                text(one.mos, 0.5),
                str(len(one.stalls)),
                text(one.stalls, 0.95),
                text(one.stalled_s, 0.95),
            )
    return [found for found in (times, quality) if found.row_count]


def text(values: Sequence[float], share: float) -> str:
    """A quantile with two digits after the point."""
    value = quantile(values, share)
    return "-" if value is None or math.isinf(value) else decimals(value, 2)


def cells(one: Experience) -> list[str]:
    """The times of a group."""
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
    group = chosen_group(scenario, group)
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
    in_seconds = BOUNDS[quantity].in_seconds
    try:
        number = seconds(value) if in_seconds else float(value)
    except ValueError:
        expected = "a time such as 8s" if in_seconds else "a number such as 3.6"
        message = f"--within {quantity}: expected {expected}, found {value or 'nothing'}"
        raise InputError(message) from None
    return Bound(quantity, number)


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
        why = significance.ALL_THE_SAME
        show(f"All seeds have the same number. The interval has no meaning if {why}.")


def show_rankings(found: Rankings, out: Path | None) -> None:
    """Print a ranking of controllers for each quantity of a group."""
    for sentence in sentences(found):
        show(sentence)
    for ranking in found.rankings:
        listed = table(*HEADINGS)
        for place in ranking.places:
            listed.add_row(*cells_of(place))
        show("")
        show(f"{ranking.quantity}: {ranking.meaning}")
        show(listed)
    show("")
    show(significance.rule("a ranking"))
    if out is None:
        show("--out DIR keeps the runs; `bentpipe report DIR` makes a page of them. --json: all.")
    else:
        show(
            f"The runs, compare.json and compare.md are in {out}. `bentpipe report {out}` makes a"
            " page of them."
        )


def compare_and_print(
    scenario: Scenario,
    group: str | None,
    controllers: list[str] | None,
    replications: int,
    workers: int | None,
    out: Path | None,
    as_one_object: bool,
    on_path: str | None,
    command: Sequence[str],
) -> None:
    """Rank controllers for the flows of a group over a beam, and print the rankings.

    Arguments are those of `ranking.compare`.
    """
    with late_progress(scenario.name, 1.0) as progress:
        found = compare(
            scenario, group, controllers, replications, workers, progress, on_path, out, command
        )
    text = as_json_file(found.to_dict()).decode()
    about_to_print("compare", lambda: text, out)
    click.echo(text, nl=False) if as_one_object else show_rankings(found, out)
