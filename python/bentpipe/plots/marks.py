"""Parts of all figures: encodings of series, axes, and the parameters that pages set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.numbers import significant
from bentpipe.plots.figure import PIXELS_PER_LETTER
from bentpipe.plots.theme import DASHES, HEIGHT, PALETTE, WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

MOST_SERIES = len(PALETTE) * len(DASHES)
"""Maximum number of series that readers can distinguish."""

MOST_TICKS = 8
"""With at most this number of positions, a logarithmic axis has its ticks there."""

TINY = 1e-4
"""Labels of a linear axis whose values are all smaller have an exponent."""

PIXELS_PER_LINE = 13
"""Height of a line of labels."""

SLOPE = 35
"""Degrees of labels that do not fit side by side."""

PANEL_WIDTH, PANEL_HEIGHT = 190, 110
"""Pixels of the area between the axes of one of several panels."""

PANELS_PER_ROW = 4

XKind = Literal["linear", "log", "nominal"]


def chosen(series: list[str]) -> tuple[list[str], list[str]]:
    """The series that readers can distinguish, and a note if there are more."""
    if len(series) <= MOST_SERIES:
        return series, []
    return series[:MOST_SERIES], [f"The first {MOST_SERIES} of {len(series)} series are drawn."]


def colour(series: Sequence[str]) -> dict[str, Any]:
    """The colours of the series. They do not change when other series are hidden."""
    import altair as alt

    scale = alt.Scale(domain=list(series))
    return {"color": alt.Color("series:N", scale=scale, **legend(series))}


def legend(series: Sequence[str]) -> dict[str, Any]:
    """No legend for one series; otherwise the theme decides, because pages have own legends."""
    return {"legend": None} if len(series) == 1 else {}


def series_encoding(
    series: Sequence[str], second: Literal["strokeDash", "shape"]
) -> dict[str, Any]:
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


def x_encoding(title: str, kind: XKind, names: Sequence[Any], series: int) -> dict[str, Any]:
    """The x axis of groups. Names are horizontal; sloping or upright if there is not enough space.

    Names that would collide even upright are left out.
    """
    import altair as alt

    if kind != "nominal":
        scale = alt.Scale(type=kind, nice=False, zero=False, padding=12)
        if kind == "linear":
            tiny = max(map(abs, names), default=1.0) < TINY
            axis = alt.Axis(tickCount=8, format="~g" if tiny else alt.Undefined)
        else:
            at = list(names) if len(names) <= MOST_TICKS else alt.Undefined
            axis = alt.Axis(
                format="~g", tickCount=6, labelSeparation=8, labelOverlap="greedy", values=at
            )
        return {"x": alt.X("x:Q", title=title, scale=scale, axis=axis)}
    # The width of the widest name, for each of them; and the distance of sloping lines.
    flat = math.ceil((max(map(len, names), default=0) + 2) * PIXELS_PER_LETTER * len(names))
    upright = math.ceil(PIXELS_PER_LINE * len(names))
    sloping = math.ceil(upright / math.sin(math.radians(SLOPE)))
    axis = alt.Axis(
        labelAngle=alt.ExprRef(f"width >= {flat} ? 0 : width >= {sloping} ? -{SLOPE} : -90"),
        labelAlign=alt.ExprRef(f"width >= {flat} ? 'center' : 'right'"),
        labelBaseline=alt.ExprRef(f"width >= {sloping} ? 'top' : 'middle'"),
        labelLimit=220,
        labelOverlap=alt.ExprRef(f"width >= {upright} ? false : 'greedy'"),
    )
    encoded: dict[str, Any] = {"x": alt.X("x:N", title=title or None, sort=list(names), axis=axis)}
    if series > 1:
        encoded["xOffset"] = alt.XOffset("series:N", sort=None)
    return encoded


def series_text(series: Sequence[str]) -> str:
    """The names of the series in a sentence."""
    few = ", ".join(series[:12]) + (" and others" if len(series) > 12 else "")
    return f"Series: {few}."


def range_text(y: str, values: pl.Series) -> str:
    """The range of the drawn values in a sentence."""
    if not len(values):
        return "There are no values."
    lowest, highest = float(values.min()), float(values.max())  # type: ignore[arg-type]
    return f"{y}: {significant(lowest, 3)} to {significant(highest, 3)}."


def finished(chart: Any, zoom: bool, height: int = HEIGHT, marks: Sequence[Any] = ()) -> Any:
    """The chart with its size and the parameters that the page sets.

    `marks` are layers on top that neither zooming nor the choice of series selects.
    """
    import altair as alt

    shown = alt.param(name="shown", value=None)
    chart = chart.transform_filter("shown === null || indexof(shown, datum.series) >= 0")
    if zoom:
        # With Ctrl, so that the wheel still scrolls the page over a figure.
        wheel = "wheel![event.ctrlKey || event.metaKey]"
        drag = alt.selection_interval(name="zoom", bind="scales", encodings=["x"], zoom=wheel)
        chart = chart.add_params(drag)
    if marks:
        chart = alt.layer(chart, *marks)
    return chart.add_params(shown).properties(width=WIDTH, height=height)


def finished_or_panels(chart: Any, data: pl.DataFrame, zoom: bool) -> Any:
    """The finished chart, or a panel with the same scales for each value of `panel` in the data."""
    if "panel" not in data.columns or data["panel"].is_null().all():
        return finished(chart, zoom)
    return panels(chart, data["panel"].unique(maintain_order=True).to_list(), "shared")


def panels(
    chart: Any, names: Sequence[str], scales: Literal["shared", "independent"] = "independent"
) -> Any:
    """The chart once for each panel, in rows of `PANELS_PER_ROW`. Names are not cut off."""
    import altair as alt

    header = alt.Header(labelLimit=0)
    return (
        chart.properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
        .facet(
            facet=alt.Facet("panel:N", title=None, sort=list(names), header=header),
            columns=PANELS_PER_ROW,
        )
        .resolve_scale(x=scales, y=scales)
    )
