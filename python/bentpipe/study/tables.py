"""Tables of the results of a study, for papers and notebooks: LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from bentpipe.errors import InputError
from bentpipe.numbers import SMALL, missing_interval, with_interval
from bentpipe.study.answer import rankings_of
from bentpipe.study.figures import quantity_of, words
from bentpipe.study.quantities import shown, unit_beside
from bentpipe.study.ranking import chosen_parameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bentpipe.study.estimates import Estimate
    from bentpipe.study.parameters import Parameter
    from bentpipe.study.quantities import Quantity
    from bentpipe.study.ranking import Ranked
    from bentpipe.study.results import Results

TableFormat = Literal["markdown", "latex", "csv"]
Content = Literal["means", "differences"]
LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "--",
})  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A line of a table: the values of the parameters, and a number with its interval."""

    parameters: Sequence[str]
    quantity: str
    n: int
    value: float | None
    ci95: Sequence[float] | None
    finding: str | None = None
    deterministic: bool = False


def table(results: Results, form: TableFormat, of: Content, *, long: bool = False) -> str:
    """See `Results.table`."""
    for argument, value, known in (
        ("form", form, get_args(TableFormat)),
        ("of", of, get_args(Content)),
    ):
        if value not in known:
            raise InputError.of_value(argument, f"one of {', '.join(known)}", repr(value))
    means = of == "means"
    across = chosen_parameter(results.study)
    if form == "latex" and means and not long and across and not results.study.zips:
        return pivoted(results, across)
    heads = [head(parameter) for parameter in results.study.parameters]
    lines = list(mean_lines(results) if means else difference_lines(results))
    kinds = ["runs", "mean"] if means else ["pairs", "difference"]
    heads += ["quantity", "unit", *kinds]
    last = [] if means else ["finding"]
    if form == "csv":
        rows = [csv_row(line) for line in lines]
        return as_csv([[*heads, "low", "high", *last], *rows])
    heads += ["95 % interval", *last]
    rows = [text_row(results, line) for line in lines]
    if form == "markdown":
        whole = [heads, ["---"] * len(heads), *rows]
        return "".join(f"| {' | '.join(row)} |\n" for row in whole)
    left = len(results.study.parameters) + 2
    return as_latex([heads, *rows], "l" * left + "rrr" + "l" * len(last))


def head(parameter: Parameter) -> str:
    """The label of a parameter, with the unit that all of its values have."""
    return f"{parameter.label} ({parameter.unit})" if parameter.unit else parameter.label


def pivoted(results: Results, across: Parameter) -> str:
    """A table of booktabs with the values of a parameter, such as controllers, in its columns.

    Each quantity has a part with its name and unit. All of its numbers have the same digits.
    """
    down = [one for one in results.study.parameters if one is not across and len(one.values) > 1]
    heads = [*map(head, down), *(f"{value} {across.unit or ''}".strip() for value in across.plain)]
    lines = [BOLD, rf"\begin{{tabular}}{{{'l' * len(down)}{'r' * len(across.values)}}}",
             r"\toprule", latex_row([one.translate(LATEX) for one in heads])]  # fmt: skip
    ranked = rankings_of(results)
    for quantity in results.study.quantities:
        unit = unit_beside(words(quantity), shown(quantity.name)[1])
        of = f" ({unit})" if unit else ""
        title = f"{words(quantity)}{of}".translate(LATEX)
        lines += [r"\midrule", latex_row([rf"\multicolumn{{{len(heads)}}}{{l}}{{{title}}}"])]
        conditions = ranked.get(quantity.name, ())
        lines += part_of(results, quantity, across, down, conditions)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def part_of(
    results: Results,
    quantity: Quantity,
    across: Parameter,
    down: Sequence[Parameter],
    conditions: Sequence[Ranked],
) -> Iterator[str]:
    """The rows of one quantity: one for each combination of the other parameters."""
    factor, _ = shown(quantity.name)
    cells = [one for one in results.cells if one.quantity == quantity.name]
    places = same_places(one.mean * factor for one in cells if one.mean is not None)
    places = min(places, PLACES_OF_COUNTS) if quantity.is_count else places
    best = {
        (repr(row.condition), name)
        for row in conditions
        for name in (row.names[0], *filter(row.is_equal, row.names[1:]))
    }
    rows: dict[str, tuple[list[str], dict[str, str]]] = {}
    for cell in cells:
        rest = {path: value for path, value in cell.parameters.items() if path != across.path}
        name = str(cell.parameters[across.path])
        own = [latex_value(rest[one.path]) for one in down]
        bold = (repr(rest), f"{name} {across.unit}" if across.unit else name) in best
        row = rows.setdefault(repr(rest), (own, {}))
        highest = quantity.domain().high
        row[1][name] = latex_cell(cell, factor, places, highest, bold=bold)
    for own, values in rows.values():
        yield latex_row([*own, *(values.get(str(value), "--") for value in across.plain)])


BOLD = (
    "% Bold: the best mean of a row, and means that are not significantly different from it\n"
    "% (paired t-tests at 5 %, Holm). After the sign: the larger half of the 95 % interval. In\n"
    "% brackets: its ends, where that half would exceed a bound of the quantity."
)
"""The comment at the head of a table with the best values in bold."""
PLACES_OF_COUNTS = 2
"""Decimals of means of numbers of events, at most."""
DIGITS = 4
"""Significant digits of the largest mean, which all numbers of a quantity follow."""


def same_places(means: Iterable[float]) -> int:
    """The decimals with which the largest mean has four significant digits."""
    largest = max((abs(mean) for mean in means), default=0.0)
    return max(DIGITS - 1 - math.floor(math.log10(largest)), 0) if largest else 0


def latex_value(value: object) -> str:
    """A value of a parameter in LaTeX, small numbers with a power of ten."""
    if not isinstance(value, float) or not 0 < abs(value) < SMALL:
        return str(value).translate(LATEX)
    mantissa, exponent = f"{value:e}".split("e")
    ten = rf"10^{{{int(exponent)}}}"
    return f"${ten}$" if float(mantissa) == 1 else rf"${float(mantissa):g} \times {ten}$"


def latex_cell(cell: Estimate, factor: float, places: int, highest: float, *, bold: bool) -> str:
    """A mean with the half width of its interval, or with its ends.

    The half width would exceed `highest`, or be below zero, where the interval is not.
    """
    if cell.mean is None:
        return "--"
    mean = f"{cell.mean * factor:.{places}f}".translate(LATEX)
    text = rf"\textbf{{{mean}}}" if bold else mean
    if cell.ci95 is None:
        return text
    low, high = cell.ci95
    half = max(high - cell.mean, cell.mean - low)
    if cell.mean - half < 0 <= low or cell.mean + half > highest:
        return f"{text} ({low * factor:.{places}f}--{high * factor:.{places}f})"
    return rf"{text} $\pm$ {half * factor:.{places}f}"


def latex_row(cells: Sequence[str]) -> str:
    """A row of a table, whose cells are LaTeX already."""
    return rf"{' & '.join(cells)} \\"


def mean_lines(results: Results) -> Iterator[Line]:
    """The mean of each quantity in each variant."""
    for cell in results.cells:
        own = [str(cell.parameters[p.path]) for p in results.study.parameters]
        yield Line(
            own, cell.quantity, cell.n, cell.mean, cell.ci95, deterministic=cell.deterministic
        )


def difference_lines(results: Results) -> Iterator[Line]:
    """The paired differences from the baselines."""
    for row in results.comparisons:

        def value(parameter: Parameter, row: Any = row) -> str:
            path = parameter.path
            if path in row.of:
                return f"{row.of[path]} \N{MINUS SIGN} {row.against[path]}"
            return str(row.parameters[path])

        own = [value(parameter) for parameter in results.study.parameters]
        yield Line(own, row.quantity, row.n, row.difference, row.ci95, row.words, row.deterministic)


def csv_row(line: Line) -> list[Any]:
    """The line with all digits."""
    factor, unit = shown(line.quantity)
    low, high = line.ci95 or (None, None)
    numbers = [None if v is None else v * factor for v in (line.value, low, high)]
    last = [] if line.finding is None else [line.finding]
    return [*line.parameters, line.quantity, unit, line.n, *numbers, *last]


def text_row(results: Results, line: Line) -> list[str]:
    """The line with the digits that the interval supports."""
    factor, unit = shown(line.quantity)
    low, high = (None, None) if line.ci95 is None else (end * factor for end in line.ci95)
    value = None if line.value is None else line.value * factor
    at, interval = with_interval(value, low, high)
    missing = missing_interval(line.n, deterministic=line.deterministic)
    named = words(quantity_of(results, line.quantity))
    last = [] if line.finding is None else [line.finding]
    shown_interval = missing if low is None else interval
    return [*line.parameters, named, unit, str(line.n), at, shown_interval, *last]


def as_csv(rows: Sequence[Sequence[Any]]) -> str:
    """The rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def as_latex(rows: Sequence[Sequence[str]], columns: str) -> str:
    """The rows, the first of which has the headings, as a table of booktabs."""
    first, *body = [latex_row([word.translate(LATEX) for word in row]) for row in rows]
    return "\n".join([
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule",
        *body, r"\bottomrule", r"\end{tabular}", "",
    ])  # fmt: skip
