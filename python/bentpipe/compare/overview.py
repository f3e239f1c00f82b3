"""The table of a comparison on the terminal: a row for each candidate, workloads in columns.

Below each mean is its 95 % interval. `best` is the best mean of a workload, and `=` a candidate
that is not significantly different. A table that is wider than the terminal becomes several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.compare.candidates import NONE as AS_IT_IS
from bentpipe.console import compact_table, few, keep_lines, lines_of
from bentpipe.numbers import NONE, missing_interval, scaled
from bentpipe.study.overview import rounded
from bentpipe.study.quantities import shown, unit_beside
from bentpipe.study.significance import finding_of, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.table import Table

    from bentpipe.compare.buffers import Choice, Combination, Measured
    from bentpipe.compare.counters import Counter
    from bentpipe.compare.outcome import Outcome
    from bentpipe.compare.ranking import Place

MOST_ROWS = 26
"""Rows of a table. `--verbose` prints all."""
MOST_COUNTERS = 6
"""Counters with differences that are listed."""


def legend(outcomes: Sequence[Outcome]) -> str:
    """The meaning of the columns and of the marks."""

    def named(one: Outcome) -> str:
        over = f", {one.title[0].lower()}{one.title[1:]}" if one.application else ""
        return f"{one.head}: {one.workload.legend}{over}"

    marks = "Mean above its 95 % interval; =: tied with the best."
    return f"{'; '.join(map(named, outcomes))}. {marks}"


def text_tables(outcomes: Sequence[Outcome]) -> tuple[list[Table], int]:
    """The table, in as many parts as the width needs, and the number of rows that it leaves out."""
    order: dict[str, str] = {}
    for outcome in outcomes:
        titles = {candidate.name: candidate.title for candidate in outcome.candidates}
        order |= {p.name: titles[p.name] for p in outcome.places if p.name not in order}
    names = list(order)[:MOST_ROWS]
    columns = [one for outcome in outcomes for one in columns_of(outcome)]
    tables = []
    while columns:
        number = len(columns)
        made = table_of(names, order, columns)
        while number > 1 and lines_of(made) is None:
            number -= 1
            made = table_of(names, order, columns[:number])
        tables.append(made)
        columns = columns[number:]
    return tables, len(order) - len(names)


Column = tuple[str, "Callable[[str], str]"]
"""A heading, and the cell of a candidate."""


def table_of(names: Sequence[str], titles: dict[str, str], columns: Sequence[Column]) -> Table:
    """A table with these columns."""
    made = compact_table("controller", *(f"<{heading}" for heading, _ in columns))
    for name in names:
        made.add_row(titles[name], *(cell(name) for _, cell in columns))
    keep_lines(made, 1)
    return made


def columns_of(outcome: Outcome) -> list[Column]:
    """The quantity that ranks a workload, then the others of its table."""
    places = {place.name: place for place in outcome.places}
    factor, _ = shown(outcome.workload.quantity)

    def main(name: str) -> str:
        return cell(places[name], factor, outcome) if name in places else NONE

    found: list[Column] = [(with_unit(outcome.head, outcome.workload.quantity), main)]
    for quantity, head in outcome.workload.beside:
        found.append((with_unit(head, quantity), mean_of(outcome.also[quantity], quantity)))
    return found


def mean_of(means: Mapping[str, float | None], quantity: str) -> Callable[[str], str]:
    """The cells of a quantity that does not rank: means without intervals."""
    factor, _ = shown(quantity)
    return lambda name: scaled(means.get(name), factor)


def with_unit(head: str, quantity: str) -> str:
    """A heading with the unit of its quantity, if it has one."""
    return f"{head} {unit_beside(head, shown(quantity)[1])}".rstrip()


def cell(place: Place, factor: float, outcome: Outcome) -> str:
    """The mean with its mark above its interval."""
    low, high = (None, None) if place.ci95 is None else (end * factor for end in place.ci95)
    mean, interval = rounded(None if place.mean is None else place.mean * factor, low, high)
    mark = " best" if place.is_best else " =" if is_equal(place) else ""
    below = (
        interval.replace(" to ", "\N{EN DASH}")
        if low is not None
        else missing_interval(place.n, deterministic=place.deterministic)
    )
    if place.undefined:
        below = f"{place.undefined} undefined"
    return f"{mean}{mark}\n{below}"


def is_equal(place: Place) -> bool:
    """True if enough runs show no difference from the best; undefined values show nothing."""
    row = place.against_best
    untested = row is None or finding_of(row) in ("too few", "undefined")
    return place.tied and not untested and not place.undefined


def different(counted: Sequence[Counter]) -> tuple[list[str], int]:
    """The counters with a significant or exact difference from the baseline, and how many more."""
    lines = []
    for counter in counted:
        factor, _ = shown(counter.quantity)
        rows = [
            f"{value.controller.removesuffix(f' + {counter.on_path}')} {text(row, factor)}"
            for value in counter.values
            if (row := value.against_baseline) is not None
            and row["difference"]
            and finding_of(row) in ("significant", "deterministic")
        ]
        if rows:
            of = "" if counter.on_path == AS_IT_IS else f"{counter.on_path}: "
            lines.append(f"{of}{counter.heading}: {few(rows, 3, '; ')}")
    return lines[:MOST_COUNTERS], max(len(lines) - MOST_COUNTERS, 0)


def choice_table(found: Choice) -> Table:
    """The combinations of controller and queue, lowest latency first; intervals where they fit."""
    made = table_of_choice(found, two_lines=False)
    return table_of_choice(found, two_lines=True) if lines_of(made) is None else made


def table_of_choice(found: Choice, *, two_lines: bool) -> Table:
    """The table with the interval behind each mean, or below it."""
    made = compact_table("controller", "<queue", "<goodput Mbit/s", "<p95 RTT ms",
                         "queueing p95 ms", "timeouts", "<front")  # fmt: skip
    for one in found.combinations[:MOST_ROWS]:
        mark = "recommended" if one is found.recommended else "front" if one.on_front else ""
        made.add_row(
            f"{one.controller}{'*' if one.needs else ''}",
            one.queue,
            measured(one.goodput_bps, 1e-6, one, two_lines=two_lines),
            measured(one.p95_rtt_ms, 1.0, one, two_lines=two_lines),
            scaled(one.p95_queueing_delay_ms),
            scaled(one.timeouts),
            mark,
        )
    keep_lines(made, 2)
    return made


def measured(value: Measured, factor: float, of: Combination, *, two_lines: bool) -> str:
    """A mean of a combination with its interval."""
    low, high = (None, None) if value.ci95 is None else (end * factor for end in value.ci95)
    mean, interval = rounded(value.mean * factor, low, high)
    missing = missing_interval(of.n, deterministic=of.deterministic)
    known = missing if low is None else interval.replace(" to ", "\N{EN DASH}")
    return f"{mean}\n{known}" if two_lines else f"{mean} ({known})"
