"""Figures of pages and reproductions as Vega-Lite specifications without data.

The same specification is used by pages and by vl-convert for files. Pages insert the data and
select series with the parameter `shown`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.plots.theme import DASHES, HEIGHT, PALETTE, WIDTH, on_white
from bentpipe.plots.thin import POINTS, thin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_SERIES = len(PALETTE) * len(DASHES)
"""Maximum number of series that readers can distinguish."""

GROUPED_POINTS = 12_000
"""Maximum number of points in a figure, shared by its lines."""

PIXELS_PER_LETTER = 6.5
PIXELS_PER_ROW = 20
FORMATS = ("svg", "pdf", "png")

XKind = Literal["linear", "log", "nominal"]


@dataclass(frozen=True)
class Figure:
    """A figure. `data` is its table by columns. The column `series` is an index into `series`."""

    name: str
    title: str
    description: str
    specification: dict[str, Any]
    data: Mapping[str, Sequence[Any]]
    series: Sequence[str]
    hover: bool = False
    notes: Sequence[str] = field(default_factory=tuple)

    kind = "figure"

    def rows(self) -> list[dict[str, Any]]:
        """The data in the format of Vega."""
        columns = dict(self.data) | {"series": [self.series[n] for n in self.data["series"]]}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True)
class Point:
    """A mean of a series with its interval, at a position on the x axis."""

    series: str
    x: float | str
    mean: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


def line_figure(
    name: str,
    title: str,
    x: str,
    y: str,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    y_range: Sequence[float] | None = None,
    notes: Sequence[str] = (),
) -> Figure:
    """Lines over a common axis, with reduced points. `x` and `y` are titles with units."""
    import altair as alt

    series, cut = chosen(list(lines))
    most = max(GROUPED_POINTS // max(len(series), 1), 200)
    columns: dict[str, list[Any]] = {"x": [], "y": [], "series": []}
    thinned = 0
    for number, label in enumerate(series):
        xs, ys = lines[label]
        kept = thin(xs, ys, min(most, POINTS))
        thinned += len(kept) < len(xs)
        columns["x"] += [rounded(xs[i]) for i in kept]
        columns["y"] += [rounded(ys[i]) for i in kept]
        columns["series"] += [number] * len(kept)
    y_scale = alt.Scale(domain=list(y_range)) if y_range else alt.Scale(zero=True)
    chart = (
        alt.Chart(alt.NamedData("points"))
        .mark_line(strokeWidth=1.6, clip=True)
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(nice=False, zero=False)),
            y=alt.Y("y:Q", title=y, scale=y_scale),
            **channels(series, "strokeDash"),
        )
    )
    everything = [value for label in series for value in lines[label][1]]
    said = f"Line figure: {y} over {x}. {series_said(series)} {range_said(y, everything)}"
    if thinned:
        cut = [
            *cut,
            "Reduced: each short interval shows its first, last, lowest and highest point.",
        ]
    return Figure(
        name, title, said, finished(chart, zoom=True), columns, series, True, (*notes, *cut)
    )


def interval_figure(
    name: str,
    title: str,
    x: str,
    y: str,
    points: Sequence[Point],
    x_kind: XKind,
    zero: bool = False,
    notes: Sequence[str] = (),
) -> Figure:
    """Means as points with error bars. `zero` adds the zero line for differences."""
    import altair as alt

    series, cut = chosen(list(dict.fromkeys(point.series for point in points)))
    columns = point_columns(points, series)
    base = alt.Chart(alt.NamedData("points"))
    channel = x_channel(x, x_kind, columns["x"], len(series))
    tips = tooltips(x, y, columns, x_kind == "nominal")
    scale = alt.Scale(zero=zero)
    bars = base.mark_rule(strokeWidth=1.6).encode(
        y=alt.Y("low:Q", title=y, scale=scale), y2="high:Q", **colour(series), **channel
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("mean:Q", title=y, scale=scale),
        tooltip=tips,
        **channels(series, "shape"),
        **channel,
    )
    layers = [bars, dots]
    if x_kind != "nominal":
        layers.insert(
            0,
            base.mark_line(strokeWidth=1, opacity=0.5).encode(
                y=alt.Y("mean:Q", title=y, scale=scale), **colour(series), **channel
            ),
        )
    if zero:
        nothing = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        # Last: the first layer is the one that zooms, and must have an x axis.
        layers.append(nothing.mark_rule(strokeDash=[4, 3]).encode(y=alt.Y("zero:Q", title=y)))
    said = (
        f"Figure of means with intervals: {y} over {x}. {series_said(series)} "
        f"{range_said(y, columns['mean'])}"
    )
    specification = finished(alt.layer(*layers), zoom=x_kind != "nominal")
    return Figure(name, title, said, specification, columns, series, False, (*notes, *cut))


def bar_figure(
    name: str, title: str, x: str, y: str, points: Sequence[Point], notes: Sequence[str] = ()
) -> Figure:
    """Groups of bars with whiskers over their intervals."""
    import altair as alt

    series, cut = chosen(list(dict.fromkeys(point.series for point in points)))
    columns = point_columns(points, series)
    channel = x_channel(x, "nominal", columns["x"], len(series))
    base = alt.Chart(alt.NamedData("points"))
    bars = base.mark_bar().encode(
        y=alt.Y("mean:Q", title=y),
        tooltip=tooltips(x, y, columns),
        **colour(series),
        **channel,
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("low:Q", title=y), y2="high:Q", **channel
    )
    said = f"Bar figure: {y} over {x or 'groups'}. {series_said(series)} "
    said += range_said(y, columns["mean"])
    chart = alt.layer(bars, whiskers)
    return Figure(
        name, title, said, finished(chart, zoom=False), columns, series, False, (*notes, *cut)
    )


def ranking_figure(
    name: str, title: str, x: str, points: Sequence[Point], notes: Sequence[str] = ()
) -> Figure:
    """Means with intervals along the x axis, a row for each name in the order of the points.

    The `x` of a point is its name; the argument `x` is the title of the axis of the means.
    """
    import altair as alt

    series, cut = chosen(list(dict.fromkeys(point.series for point in points)))
    columns = point_columns(points, series)
    names = list(dict.fromkeys(columns["x"]))
    axis = alt.Axis(labelLimit=220, labelOverlap=False, grid=True)
    row = alt.Y("x:N", title=None, sort=names, axis=axis)
    scale = alt.Scale(zero=False, padding=12)
    base = alt.Chart(alt.NamedData("points"))
    bars = base.mark_rule(strokeWidth=1.6).encode(
        x=alt.X("low:Q", title=x, scale=scale), x2="high:Q", y=row, **colour(series)
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("mean:Q", title=x, scale=scale),
        y=row,
        tooltip=tooltips("", x, columns),
        **channels(series, "shape"),
    )
    said = f"Figure of means with intervals, best first: {x} of {', '.join(names)}. "
    said += range_said(x, columns["mean"])
    height = PIXELS_PER_ROW * max(len(names), 3)
    specification = finished(alt.layer(bars, dots), zoom=False, height=height)
    return Figure(name, title, said, specification, columns, series, False, (*notes, *cut))


# --------------------------------------------------------------------------------------- parts


def chosen(series: list[str]) -> tuple[list[str], list[str]]:
    """The series that readers can distinguish, and a note if there are more."""
    if len(series) <= MOST_SERIES:
        return series, []
    return series[:MOST_SERIES], [f"The first {MOST_SERIES} of {len(series)} series are drawn."]


def rounded(value: float) -> float:
    """The value with six digits, which is more than a screen shows."""
    return float(f"{value:.6g}")


def colour(series: Sequence[str]) -> dict[str, Any]:
    """The colours of the series. They do not change when other series are hidden."""
    import altair as alt

    scale = alt.Scale(domain=list(series))
    return {"color": alt.Color("series:N", scale=scale, **legend(series))}


def legend(series: Sequence[str]) -> dict[str, Any]:
    """No legend for one series; otherwise the theme decides, because pages have own legends."""
    return {"legend": None} if len(series) == 1 else {}


def channels(series: Sequence[str], second: Literal["strokeDash", "shape"]) -> dict[str, Any]:
    """Colours, with shapes or dashes for colour-blind readers and for repeated colours."""
    import altair as alt

    encoded = colour(series)
    if second == "shape":
        scale = alt.Scale(domain=list(series))
        encoded["shape"] = alt.Shape("series:N", scale=scale, **legend(series))
    elif len(series) > len(PALETTE):
        dashes = [DASHES[number // len(PALETTE)] for number in range(len(series))]
        scale = alt.Scale(domain=list(series), range=dashes)
        encoded["strokeDash"] = alt.StrokeDash("series:N", scale=scale, **legend(series))
    return encoded


def point_columns(points: Sequence[Point], series: Sequence[str]) -> dict[str, list[Any]]:
    """The table of the points of the drawn series."""
    drawn = [point for point in points if point.series in series]
    return {
        "x": [point.x for point in drawn],
        "mean": [rounded(point.mean) for point in drawn],
        "low": [rounded(point.mean if point.low is None else point.low) for point in drawn],
        "high": [rounded(point.mean if point.high is None else point.high) for point in drawn],
        "n": [point.n for point in drawn],
        "series": [series.index(point.series) for point in drawn],
    }


def x_channel(title: str, kind: XKind, values: Sequence[Any], series: int) -> dict[str, Any]:
    """The x axis. Names are horizontal, and rotated if there is not enough space."""
    import altair as alt

    if kind != "nominal":
        scale = alt.Scale(type=kind, nice=False, zero=False, padding=12)
        axis = alt.Axis(tickCount=8) if kind == "linear" else alt.Axis(format="~g", tickCount=6)
        return {"x": alt.X("x:Q", title=title, scale=scale, axis=axis)}
    names = list(dict.fromkeys(values))
    # The width of the widest name, for each of them.
    needed = math.ceil((max(map(len, names), default=0) + 2) * PIXELS_PER_LETTER * len(names))
    aslant = f"width < {needed}"
    axis = alt.Axis(
        labelAngle=alt.ExprRef(f"{aslant} ? -35 : 0"),
        labelAlign=alt.ExprRef(f"{aslant} ? 'right' : 'center'"),
        labelLimit=220,
        labelOverlap=False,
    )
    encoded: dict[str, Any] = {"x": alt.X("x:N", title=title or None, sort=names, axis=axis)}
    if series > 1:
        encoded["xOffset"] = alt.XOffset("series:N", sort=None)
    return encoded


def tooltips(
    x: str, y: str, columns: Mapping[str, Sequence[Any]], nominal: bool = True
) -> list[Any]:
    """The tooltip of a point."""
    import altair as alt

    runs = [alt.Tooltip("n:Q", title="runs")] if any(columns["n"]) else []
    return [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:N" if nominal else "x:Q", title=x or "group"),
        alt.Tooltip("mean:Q", title=y, format=",.5~r"),
        alt.Tooltip("low:Q", title="95 % interval from", format=",.5~r"),
        alt.Tooltip("high:Q", title="to", format=",.5~r"),
        *runs,
    ]


def series_said(series: Sequence[str]) -> str:
    """The names of the series in a sentence."""
    few = ", ".join(series[:12]) + (" and others" if len(series) > 12 else "")
    return f"Series: {few}."


def range_said(y: str, values: Sequence[float]) -> str:
    """The range of the drawn values in a sentence."""
    from bentpipe.numbers import significant

    if not values:
        return "There are no values."
    return f"{y}: {significant(min(values), 3)} to {significant(max(values), 3)}."


def finished(chart: Any, zoom: bool, height: int = HEIGHT) -> dict[str, Any]:
    """The specification with the parameters that the page sets."""
    import altair as alt

    shown = alt.param(name="shown", value=None)
    chart = chart.transform_filter("shown === null || indexof(shown, datum.series) >= 0")
    if zoom:
        # With Ctrl, so that the wheel still scrolls the page over a figure.
        wheel = "wheel![event.ctrlKey || event.metaKey]"
        drag = alt.selection_interval(name="zoom", bind="scales", encodings=["x"], zoom=wheel)
        chart = chart.add_params(drag)
    chart = chart.add_params(shown).properties(width=WIDTH, height=height)
    specification: dict[str, Any] = chart.to_dict()
    specification.pop("config", None)
    return specification


# --------------------------------------------------------------------------------------- files


def as_files(figure: Figure) -> dict[str, bytes]:
    """The figure by file name, on white."""
    import vl_convert

    specification = figure.specification | {
        "datasets": {"points": figure.rows()},
        "title": figure.title,
        "config": on_white(),
    }
    svg = vl_convert.vegalite_to_svg(specification)
    return {
        f"{figure.name}.svg": svg.encode(),
        f"{figure.name}.pdf": vl_convert.svg_to_pdf(svg),
        f"{figure.name}.png": vl_convert.svg_to_png(svg, scale=2),
    }


def save_figures(figures: Sequence[Figure], folder: Path) -> None:
    """Write each figure as SVG, PDF and PNG."""
    for figure in figures:
        for name, content in as_files(figure).items():
            (folder / name).write_bytes(content)
