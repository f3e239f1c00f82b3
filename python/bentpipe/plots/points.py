"""Means with their intervals: over an axis, as bars, and as a ranking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.numbers import typeset
from bentpipe.plots.figure import Figure
from bentpipe.plots.looks import MOST_SERIES
from bentpipe.plots.marks import (
    MOST_COLOURS,
    PUBLISHED,
    XKind,
    chosen,
    colour,
    finished,
    finished_or_panels,
    number_axis,
    published_layers,
    range_text,
    series_encoding,
    series_text,
    x_encoding,
)
from bentpipe.plots.theme import PALETTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.plots.marks import PublishedValues

PIXELS_PER_ROW = 20
INK = PALETTE[6]
RING_PIXELS = 260


@dataclass(frozen=True)
class Point:
    """A mean of a series with its interval, at a position on the x axis."""

    series: str
    x: float | str
    mean: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    panel: str | None = None
    is_best: bool = False
    """True for a point with a ring around it."""


def interval_figure(
    name: str,
    title: str,
    x: str,
    y: str,
    points: Sequence[Point],
    x_kind: XKind,
    zero: bool = False,
    notes: Sequence[str] = (),
    y_ends: tuple[float, float] | None = None,
) -> Figure:
    """Means as points with error bars. `zero` adds the zero line for differences.

    With `y_ends`, the y axis is that of other figures which are compared with this one.
    """
    import altair as alt

    series, data, cut = table(points)
    base = alt.Chart(alt.NamedData("points"))
    channel = x_encoding(x, x_kind, names(data), len(series))
    scale = alt.Scale(zero=zero)
    if y_ends:
        scale = alt.Scale(domain=list(y_ends), nice=True, zero=zero)
    bars = base.mark_rule(strokeWidth=1.6).encode(
        y=alt.Y("low:Q", title=y, scale=scale, axis=number_axis()),
        y2="high:Q",
        **colour(series),
        **channel,
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("mean:Q", title=y, scale=scale, axis=number_axis()),
        tooltip=tooltips(x, y, data, x_kind == "nominal"),
        **series_encoding(series, "shape"),
        **channel,
    )
    layers = [bars, dots]
    if "is_best" in data.columns:
        layers.append(
            base.transform_filter("datum.is_best")
            .mark_point(filled=False, size=RING_PIXELS, strokeWidth=2.2, opacity=1, color=INK)
            .encode(
                y=alt.Y("mean:Q", title=y, scale=scale, axis=number_axis()),
                detail="series:N",
                **channel,
            )
        )
    if x_kind != "nominal":
        joined = base.mark_line(strokeWidth=1, opacity=0.5).encode(
            y=alt.Y("mean:Q", title=y, scale=scale, axis=number_axis()), **colour(series), **channel
        )
        layers.insert(0, joined)
    if zero:
        nothing = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        # Last: the first layer is the one that zooms, and must have an x axis.
        layers.append(nothing.mark_rule(strokeDash=[4, 3]).encode(y=alt.Y("zero:Q", title=y)))
    text = (
        f"Figure of means with intervals: {y} over {x}. {series_text(series)} "
        f"{range_text(y, data['mean'])}"
    )
    drawing = finished_or_panels(alt.layer(*layers), data, zoom=x_kind != "nominal")
    return Figure(name, title, text, drawing, data, series, False, (*notes, *cut))


def bar_figure(
    name: str,
    title: str,
    x: str,
    y: str,
    points: Sequence[Point],
    notes: Sequence[str] = (),
    published: PublishedValues | None = None,
) -> Figure:
    """Groups of bars with whiskers over their intervals.

    `published` are values of a paper, drawn as open diamonds at their bars.
    """
    import altair as alt

    series, data, cut = table(points, most=MOST_COLOURS)
    channel = x_encoding(x, "nominal", names(data), len(series))
    base = alt.Chart(alt.NamedData("points"))
    bars = base.mark_bar().encode(
        y=alt.Y("mean:Q", title=y, axis=number_axis()),
        tooltip=tooltips(x, y, data),
        **colour(series),
        **channel,
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(
        y=alt.Y("low:Q", title=y), y2="high:Q", **channel
    )
    text = f"Bar figure: {y} over {x or 'groups'}. {series_text(series)} "
    text += range_text(y, data["mean"])
    layers = [bars, whiskers]
    marks = []
    if published:
        # Dark on bars of every colour.
        marks = [
            layer.encode(color=alt.value(INK))
            for layer in published_layers(series, published, y, channel, "white")
        ]
        notes = [*notes, PUBLISHED]
    drawing = finished(alt.layer(*layers), zoom=False, marks=marks)
    return Figure(name, title, text, drawing, data, series, False, (*notes, *cut))


def ranking_figure(
    name: str,
    title: str,
    x: str,
    points: Sequence[Point],
    notes: Sequence[str] = (),
    series: Mapping[str, str] | None = None,
) -> Figure:
    """Means with intervals along the x axis, a row for each name in the order of the points.

    The `x` of a point is its name; the argument `x` is the title of the axis of the means.
    With `series`, these names have these colours in every figure, also if a figure has no point
    of some of them.
    """
    import altair as alt

    drawn, data, cut = table(points, list(series or ()))
    rows = names(data)
    axis = alt.Axis(labelLimit=220, labelOverlap=False, grid=True)
    row = alt.Y("x:N", title=None, sort=rows, axis=axis)
    scale = alt.Scale(zero=False, padding=12)
    base = alt.Chart(alt.NamedData("points"))
    bars = base.mark_rule(strokeWidth=1.6).encode(
        x=alt.X("low:Q", title=x, scale=scale, axis=number_axis()),
        x2="high:Q",
        y=row,
        **colour(drawn),
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("mean:Q", title=x, scale=scale, axis=number_axis()),
        y=row,
        tooltip=tooltips("", x, data),
        **series_encoding(drawn, "shape"),
    )
    text = f"Figure of means with intervals, best first: {x} of {', '.join(rows)}. "
    text += range_text(x, data["mean"])
    if series:
        tint = alt.Color("series:N", scale=alt.Scale(domain=drawn, range=list(series.values())))
        bars, dots = bars.encode(color=tint), dots.encode(color=tint)
    height = PIXELS_PER_ROW * max(len(rows), 3)
    drawing = finished(alt.layer(bars, dots), zoom=False, height=height)
    return Figure(name, title, text, drawing, data, drawn, False, (*notes, *cut),
                  has_own_colours=bool(series))  # fmt: skip


def table(
    points: Sequence[Point], series: Sequence[str] = (), most: int = MOST_SERIES
) -> tuple[list[str], pl.DataFrame, list[str]]:
    """The drawn series, the table of their points, and a note if there are more series.

    The order of series is that of the points, or of `series`.
    """
    numbers = dict.fromkeys(("mean", "low", "high"), pl.Float64)
    x = pl.String if any(isinstance(point.x, str) for point in points) else pl.Float64
    schema = {
        "series": pl.String, "x": x, **numbers, "n": pl.Int64, "panel": pl.String,
        "is_best": pl.Boolean,
    }  # fmt: skip
    points = [replace(one, series=typeset(one.series), x=typeset_name(one.x)) for one in points]
    series = [typeset(name) for name in series]
    rows = pl.DataFrame(points, schema=schema)
    found = list(series) or rows["series"].unique(maintain_order=True).to_list()
    shown, cut = chosen(found, most)
    drawn = rows.filter(pl.col("series").is_in(shown)).select(
        "x",
        pl.col("mean"),
        pl.col("low", "high").fill_null(pl.col("mean")),
        "n",
        pl.col("series").cast(pl.Enum(shown)),
        *(["panel"] if rows["panel"].is_not_null().any() else []),
        *(["is_best"] if rows["is_best"].any() else []),
    )
    return shown, drawn, cut


def typeset_name(x: float | str) -> float | str:
    """A position on the axis, its name typeset."""
    return typeset(x) if isinstance(x, str) else x


def names(data: pl.DataFrame) -> list[Any]:
    """The positions on the x axis in the order of the points."""
    return data["x"].unique(maintain_order=True).to_list()


def tooltips(x: str, y: str, data: pl.DataFrame, nominal: bool = True) -> list[Any]:
    """The tooltip of a point."""
    import altair as alt

    runs = [alt.Tooltip("n:Q", title="runs")] if (data["n"] > 0).any() else []
    return [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:N" if nominal else "x:Q", title=x or "group"),
        alt.Tooltip("mean:Q", title=y, format=",.5~r"),
        alt.Tooltip("low:Q", title="95 % interval from", format=",.5~r"),
        alt.Tooltip("high:Q", title="to", format=",.5~r"),
        *runs,
    ]
