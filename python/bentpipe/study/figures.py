"""Figures of the results of a study, for papers and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from bentpipe.console import nearest
from bentpipe.errors import InputError
from bentpipe.numbers import typeset
from bentpipe.plots import Figure, Point, as_points, interval_figure, line_figure
from bentpipe.plots.looks import MOST_SERIES
from bentpipe.plots.marks import (
    MOST_COLOURS,
    check_distinguishable,
    finished_or_panels,
    series_encoding,
    series_text,
    x_encoding,
)
from bentpipe.study.quantities import heading, shown, unit_beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.plots.marks import XKind
    from bentpipe.study.parameters import Parameter
    from bentpipe.study.quantities import Quantity
    from bentpipe.study.results import Results

Kind = Literal["interval", "ecdf", "box", "strip"]


def plot(
    results: Results, x: str, y: str, hue: str | None, kind: Kind, panel: str | None
) -> Figure:
    """See `Results.plot`."""
    if kind not in get_args(Kind):
        raise InputError.of_value("kind", f"one of {', '.join(get_args(Kind))}", repr(kind))
    axis = parameter(results, "x", x)
    colour = None if hue is None else parameter(results, "hue", hue)
    across = None if panel is None else parameter(results, "panel", panel)
    if across in (axis, colour) and across is not None:
        raise InputError.of_value("panel", "another parameter than x and hue", repr(panel))
    quantity = quantity_of(results, y)
    title = words(quantity)
    unit = unit_beside(title, shown(quantity.name)[1])
    factor = shown(quantity.name)[0]
    label = f"{title} ({unit})" if unit else title
    others = [p for p in results.study.parameters if p not in (axis, colour, across)]
    # What changes with a parameter of the figure distinguishes no series.
    named = {p.label for p in (axis, colour, across) if p}
    paired = {label for group in results.study.zips for label in group if named & set(group)}
    others = [p for p in others if p.label not in paired]
    if kind == "ecdf":
        return ecdf(results, quantity, [p for p in (axis, colour) if p], across, label)

    def group(parameters: dict[str, Any]) -> str:
        named = [p for p in (colour, *others) if p is not None]
        return ", ".join(value_text(p, parameters[p.path]) for p in named) or title

    def panel_of(parameters: dict[str, Any]) -> str | None:
        return None if across is None else panel_text(across, parameters[across.path])

    heading = f"{axis.label} ({axis.unit})" if axis.unit else axis.label
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in axis.plain)
    check_distinguishable(
        dict.fromkeys(group(cell.parameters) for cell in results.cells),
        "another hue, or panel= for a parameter with a panel for each of its values",
        MOST_COLOURS if kind == "box" else MOST_SERIES,
    )
    if kind == "interval":
        points = []
        for cell in results.cells:
            if cell.quantity == quantity.name and cell.mean is not None:
                at = cell.parameters[axis.path]
                low, high = cell.ci95 or (cell.mean, cell.mean)
                points.append(
                    Point(
                        group(cell.parameters),
                        float(at) if numeric else str(at),
                        cell.mean * factor,
                        low * factor,
                        high * factor,
                        cell.n,
                        panel_of(cell.parameters),
                    )
                )
        return interval_figure(
            "means", f"{title}: means with 95 % intervals", heading, label, points,
            kind_of(axis.plain) if numeric else "nominal",
        )  # fmt: skip
    rows = [
        {
            "x": str(row[axis.path]),
            "y": row[quantity.name] * factor,
            "series": group(row),
            "panel": panel_of(row),
        }
        for row in results.rows.iter_rows(named=True)
        if row[quantity.name] is not None
    ]
    return single_runs(rows, kind, title, heading, label)


def single_runs(
    rows: list[dict[str, Any]], kind: Kind, title: str, heading: str, label: str
) -> Figure:
    """Box or strip plots: a column for each value of x, and in it one for each series."""
    import altair as alt

    series = list(dict.fromkeys(row["series"] for row in rows))
    order = list(dict.fromkeys(row["x"] for row in rows))
    schema: Any = {"x": pl.String, "y": pl.Float64, "series": pl.Enum(series), "panel": pl.String}
    data = pl.DataFrame(rows, schema=schema)
    base = alt.Chart(alt.NamedData("points"))
    mark = (
        base.mark_boxplot(size=14)
        if kind == "box"
        else base.mark_point(size=30, opacity=0.7, filled=False)
    )
    encoding = series_encoding(series, "shape")
    if kind == "box":
        encoding.pop("shape", None)
    chart = mark.encode(
        **x_encoding(heading, "nominal", order, len(series)),
        y=alt.Y("y:Q", title=label, scale=alt.Scale(zero=False, padding=8)),
        **encoding,
    )
    what = "box plot" if kind == "box" else "single runs"
    text = f"Figure of single runs ({what}): {label} over {heading}. {series_text(series)}"
    drawing = finished_or_panels(alt.layer(chart), data, zoom=False)
    return Figure(kind, f"{title}: {what}", text, drawing, data, series)


def ecdf(
    results: Results,
    quantity: Quantity,
    by: list[Parameter],
    across: Parameter | None,
    label: str,
) -> Figure:
    """The share of runs up to each value."""
    factor, _ = shown(quantity.name)
    panels: dict[str | None, dict[str, list[float]]] = {}
    for row in results.rows.iter_rows(named=True):
        name = ", ".join(value_text(p, row[p.path]) for p in by)
        panel = None if across is None else panel_text(across, row[across.path])
        if row[quantity.name] is not None:
            lines = panels.setdefault(panel, {})
            lines.setdefault(name, []).append(row[quantity.name] * factor)
    names = {name for lines in panels.values() for name in lines}
    check_distinguishable(names, "panel= has a panel for each value of a parameter")
    tables = []
    for panel, lines in panels.items():
        steps = {
            name: ([values[0], *values], [i / len(values) for i in range(len(values) + 1)])
            for name, values in ((name, sorted(found)) for name, found in lines.items())
        }
        points = as_points(steps)
        tables.append(points if panel is None else points.with_columns(panel=pl.lit(panel)))
    title = f"{words(quantity)}: distribution over runs"
    return line_figure("ecdf", title, label, "share of runs", pl.concat(tables), y_range=(0, 1),
                       step=True, common=True)  # fmt: skip


def panel_text(across: Parameter, value: Any) -> str:
    """The heading of a panel."""
    return typeset(f"{across.label} {value}{across.unit or ''}")


def words(quantity: Quantity) -> str:
    """The label of a quantity, by default its name in words: `p95 smoothed RTT`."""
    own = quantity.label and quantity.label != quantity.name
    return quantity.label if own else heading(quantity.name)


def kind_of(values: Sequence[Any]) -> XKind:
    """A logarithmic axis for positive values over more than one decade."""
    return "log" if min(values) > 0 and max(values) > 10 * min(values) else "linear"


def value_text(parameter: Parameter, value: Any) -> str:
    """A value of a parameter with its name, unless it is a word of its own."""
    if isinstance(value, str):
        return value
    return typeset(f"{parameter.label} {value}{parameter.unit or ''}")


def parameter(results: Results, argument: str, name: str) -> Parameter:
    """A parameter of the study by its label or path; `InputError`."""
    known = {p.label: p for p in results.study.parameters}
    found = known.get(name) or {p.path: p for p in results.study.parameters}.get(name)
    if found is None:
        raise InputError(f"{argument}: there is no parameter {name!r}{nearest(name, known)}")
    return found


def quantity_of(results: Results, name: str) -> Quantity:
    """A quantity of the study by its name or label; `InputError`."""
    known = {q.name: q for q in results.study.quantities}
    found = known.get(name) or {q.label: q for q in results.study.quantities}.get(name)
    if found is None:
        raise InputError(f"y: there is no quantity {name!r}{nearest(name, known)}")
    return found
