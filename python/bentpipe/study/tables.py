"""Tables of the results of a study, for papers and notebooks: LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from bentpipe.errors import InputError
from bentpipe.numbers import missing_interval, with_interval
from bentpipe.study.figures import quantity_of, words
from bentpipe.study.quantities import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.study.parameters import Parameter
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


def table(results: Results, form: TableFormat, of: Content) -> str:
    """See `Results.table`."""
    for argument, value, known in (
        ("form", form, get_args(TableFormat)),
        ("of", of, get_args(Content)),
    ):
        if value not in known:
            raise InputError.of_value(argument, f"one of {', '.join(known)}", repr(value))
    heads = [f"{p.label} ({p.unit})" if p.unit else p.label for p in results.study.parameters]
    means = of == "means"
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


def mean_lines(results: Results) -> Iterator[Line]:
    """The mean of each quantity in each variant."""
    for cell in results.cells:
        own = [str(cell.parameters[p.path]) for p in results.study.parameters]
        yield Line(own, cell.quantity, cell.n, cell.mean, cell.ci95)


def difference_lines(results: Results) -> Iterator[Line]:
    """The paired differences from the baselines."""
    for row in results.comparisons:

        def value(parameter: Parameter, row: Any = row) -> str:
            path = parameter.path
            if path in row.of:
                return f"{row.of[path]} \N{MINUS SIGN} {row.against[path]}"
            return str(row.parameters[path])

        own = [value(parameter) for parameter in results.study.parameters]
        yield Line(own, row.quantity, row.n, row.difference, row.ci95, row.words)


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
    missing = missing_interval(line.n)
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
    head, *body = [" & ".join(word.translate(LATEX) for word in row) + r" \\" for row in rows]
    return "\n".join([
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule",
        *body, r"\bottomrule", r"\end{tabular}", "",
    ])  # fmt: skip
