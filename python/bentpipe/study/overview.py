"""The tables of a study on the terminal: one for each quantity, in the form that has fewest lines.

With two parameters or more, a table has the values of one in its columns, if possible those of the
parameter that is chosen. Otherwise it has one row for each variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.console import compact_table, keep_lines, lines_of
from bentpipe.numbers import (
    NONE,
    TOO_FEW,
    missing_interval,
    places_of,
    signed,
    significant,
    with_interval,
)
from bentpipe.study.figures import words
from bentpipe.study.quantities import better, shown, unit_beside
from bentpipe.study.ranking import chosen_parameter, moved_with, together, value_of
from bentpipe.study.significance import NOT_SIGNIFICANT, of_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from bentpipe.study.estimates import Difference, Estimate
    from bentpipe.study.parameters import Parameter
    from bentpipe.study.quantities import Quantity
    from bentpipe.study.results import Results

MOST_ROWS = 26
"""Rows of a table. `--verbose` prints all."""
DIGITS = 4
"""Significant digits of a mean, at most."""
NEARLY = 1.5
"""A table with the chosen parameter in columns may have this many times the fewest lines."""


@dataclass(frozen=True)
class Shown:
    """A mean for a cell: its digits, its interval, and its difference from the baseline."""

    mean: str
    interval: str
    difference: str

    @property
    def one_line(self) -> str:
        """All in one line."""
        interval = f"({self.interval})" if self.interval else ""
        return " ".join(filter(None, (self.mean, interval, self.difference)))

    @property
    def two_lines(self) -> str:
        """The interval below the mean."""
        first = " ".join(filter(None, (self.mean, self.difference)))
        return f"{first}\n{self.interval}" if self.interval else first


@dataclass(frozen=True)
class Overview:
    """The title of a table, the table, and the rows that it leaves out."""

    title: str
    table: Table
    left_out: int = 0


def overviews(results: Results) -> Iterator[Overview]:
    """One table for each quantity of a study."""
    chosen = chosen_parameter(results.study)
    for quantity in results.study.quantities:
        cells = [cell for cell in results.cells if cell.quantity == quantity.name]
        differences = baseline_differences(results, quantity, chosen)
        texts = [text_of(cell, differences.get(repr(cell.parameters))) for cell in cells]
        yield overview(results, quantity, cells, texts, chosen)


def overview(
    results: Results,
    quantity: Quantity,
    cells: Sequence[Estimate],
    texts: Sequence[Shown],
    chosen: Parameter | None,
) -> Overview:
    """The table of one quantity."""
    several = [one for one in results.study.parameters if len(one.values) > 1]
    made: list[tuple[int, bool, Table]] = []
    if len(several) > 1 and not results.study.zips:
        for parameter in several:
            for two_lines in (False, True):
                pivoted = pivot(results, parameter, cells, texts, two_lines)
                height = lines_of(pivoted)
                if height is not None:
                    made.append((height, parameter is chosen, pivoted))
    heading = f"{words(quantity)}{unit_of(quantity)}"
    listed = min(len(cells), MOST_ROWS)
    if made:
        fewest = min(height for height, _, _ in made)
        liked = [one for one in made if one[1] and one[0] <= NEARLY * fewest]
        height, _, best = min(liked or made, key=lambda one: one[0])
        if height <= listed + 2:
            return Overview(title_of(quantity, results, chosen), best)
    return Overview("", rows(results, heading, cells, texts, chosen), len(cells) - listed)


def title_of(quantity: Quantity, results: Results, chosen: Parameter | None) -> str:
    """The line above a table with values of a parameter in its columns."""
    base = baseline_name(results, chosen)
    against = f", change from {base}" if base else ""
    way = better(quantity.name)
    direction = f"; {way} is better" if way else ""
    return f"{words(quantity)}{unit_of(quantity)}: mean (95 % interval){against}{direction}"


def unit_of(quantity: Quantity) -> str:
    """The unit after a name; nothing for shares, and for counts of what the name says."""
    unit = unit_beside(words(quantity), shown(quantity.name)[1])
    return f" {unit}" if unit else ""


def pivot(
    results: Results,
    across: Parameter,
    cells: Sequence[Estimate],
    texts: Sequence[Shown],
    two_lines: bool,
) -> Table:
    """A table with the values of a parameter in its columns."""
    down = [p for p in results.study.parameters if p is not across and len(p.values) > 1]
    unit = f" {across.unit}" if across.unit else ""
    name = "" if across.names_controllers else f"{across.label} "
    heads = [f"<{name}{value}{unit}" for value in across.plain]
    made = compact_table(*(f"<{one.heading}" for one in down), *heads)
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for cell, text in zip(cells, texts, strict=True):
        key = tuple(str(cell.parameters[one.path]) for one in down)
        column = str(cell.parameters[across.path])
        found.setdefault(key, {})[column] = text.two_lines if two_lines else text.one_line
    for key, row in found.items():
        made.add_row(*key, *(row.get(str(value), NONE) for value in across.plain))
    keep_lines(made, len(down))
    return made


def rows(
    results: Results,
    heading: str,
    cells: Sequence[Estimate],
    texts: Sequence[Shown],
    chosen: Parameter | None,
) -> Table:
    """A table with a row for each variant, the first of them if there are many."""
    study = results.study
    down = [one for one in study.parameters if len(one.values) > 1] or [*study.parameters]
    base = baseline_name(results, chosen)
    percentiles = sorted({percent for cell in cells for percent in cell.percentiles}, key=float)
    made = compact_table(
        *(f"<{one.heading}" for one in down), heading, "95 % interval",
        *([f"from {base}"] if base else []), *(f"p{percent}" for percent in percentiles),
    )  # fmt: skip
    for cell, text in [*zip(cells, texts, strict=True)][:MOST_ROWS]:
        factor, _ = shown(cell.quantity)
        made.add_row(
            *(str(cell.parameters[one.path]) for one in down),
            text.mean,
            text.interval or missing_interval(cell.n, deterministic=cell.deterministic),
            *([text.difference or NONE] if base else []),
            *(percentile(cell.percentiles[one], factor) for one in percentiles),
        )
    return made


def percentile(value: float | None, factor: float) -> str:
    """A percentile in the unit of the table."""
    return with_interval(None if value is None else value * factor, None, None)[0]


def baseline_of(results: Results, chosen: Parameter | None) -> str:
    """The baseline of the parameter that is chosen, with its unit; empty if it has none."""
    if chosen is None:
        return ""
    found = [one.baseline for one in results.study.comparisons if one.parameter == chosen.label]
    return str(found[0]) if found else ""


def baseline_name(results: Results, chosen: Parameter | None) -> str:
    """The baseline with the values of parameters that change with it; empty without one."""
    study, base = results.study, baseline_of(results, chosen)
    if chosen is None or not base or len(together(study, chosen)) == 1:
        return base
    plain = str(chosen.plain[[str(value) for value in chosen.values].index(base)])
    of_base = (
        one.parameters for one in study.variants if str(one.parameters[chosen.path]) == plain
    )
    return " or ".join(dict.fromkeys(value_of(study, chosen, one) for one in of_base))


def baseline_differences(
    results: Results, quantity: Quantity, chosen: Parameter | None
) -> dict[str, Difference]:
    """The differences from the baseline of the chosen parameter, by the values of the variant."""
    base = baseline_of(results, chosen)
    if chosen is None or not base:
        return {}
    moved = moved_with(results.study, chosen)
    plain = str(chosen.plain[[str(value) for value in chosen.values].index(base)])
    order = [one.path for one in results.study.parameters]
    found = {}
    for row in results.comparisons:
        is_own = row.quantity == quantity.name and set(row.of) == moved
        if is_own and str(row.against[chosen.path]) == plain:
            values = {**row.parameters, **row.of}
            found[repr({path: values[path] for path in order})] = row
    return found


def text_of(cell: Estimate, row: Difference | None) -> Shown:
    """A mean with as many digits as its interval supports."""
    factor, _ = shown(cell.quantity)
    low, high = (None, None) if cell.ci95 is None else (end * factor for end in cell.ci95)
    scaled = None if cell.mean is None else cell.mean * factor
    mean, interval = rounded(scaled, low, high)
    undefined = f" [{cell.undefined} undefined]" if cell.undefined else ""
    missing = "" if cell.deterministic else missing_interval(cell.n).removeprefix(NONE)
    known = missing if low is None else interval.replace(" to ", "\N{EN DASH}")
    negative = low is not None and low < 0
    return Shown(f"{mean}{undefined}", interval if negative else known, change(row, factor))


def rounded(mean: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """A mean and its interval with the digits that it supports, but at most `DIGITS`."""
    if mean is None or low is None or high is None:
        return with_interval(mean, low, high)
    places = places_of((high - low) / 2)
    most = len(significant(mean, DIGITS).partition(".")[2])
    if places is None or places > most or "e" in significant(mean, DIGITS):
        return significant(mean, DIGITS), " to ".join(significant(e, DIGITS) for e in (low, high))
    return with_interval(mean, low, high)


def change(row: Difference | None, factor: float) -> str:
    """A difference in percent of the baseline, with its finding; empty without one."""
    if row is None or row.difference is None:
        return ""
    pairs = of_pairs(vars(row))
    if row.words == "not significant":
        return f"{NOT_SIGNIFICANT.strip('()')}{pairs}"
    share = row.relative
    size = signed(row.difference * factor, 3) if share is None else f"{signed(share * 100, 3)} %"
    mark = {"deterministic": " det.", "too few": f" {TOO_FEW}"}.get(row.words, "")
    return f"{size}{mark}{pairs}"
