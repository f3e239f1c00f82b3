"""Parts of all figures: encodings of series, axes, and the parameters that pages set."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.errors import InputError
from bentpipe.numbers import SMALL, significant, typeset
from bentpipe.plots.figure import PIXELS_PER_LETTER
from bentpipe.plots.looks import MOST_SERIES, ranges, usual
from bentpipe.plots.theme import HEIGHT, PALETTE, WIDTH

if TYPE_CHECKING:
    import polars as pl

MOST_COLOURS = len(PALETTE)
"""Maximum number of series that only differ by their colours: bars, boxes, bands."""

MOST_TICKS = 8
"""With at most this number of positions, a logarithmic axis has its ticks there."""

PIXELS_PER_LINE = 13
"""Height of a line of labels."""

SLOPE = 35
"""Degrees of labels that do not fit side by side."""

PANEL_WIDTH, PANEL_HEIGHT = 190, 110
"""Pixels of the area between the axes of one of several panels."""

PANELS_PER_ROW = 4

SHOWN = "shown === null || indexof(shown, datum.series) >= 0"
"""The filter for the series that the page shows: a click on the legend hides one."""

XKind = Literal["linear", "log", "nominal"]


def chosen(series: list[str], most: int = MOST_SERIES) -> tuple[list[str], list[str]]:
    """The series that readers can distinguish, and a note if there are more."""
    if len(series) <= most:
        return series, []
    return series[:most], [
        f"The first {most} of {len(series)} series are drawn: more cannot be distinguished."
    ]


def check_distinguishable(series: Collection[str], way_out: str, most: int = MOST_SERIES) -> None:
    """Reject a figure whose series readers cannot distinguish; `InputError` with the way out."""
    if len(series) > most:
        raise InputError(
            f"{len(series)} series: expected at most {most} in one figure, because more cannot be "
            f"distinguished; {way_out}"
        )


def colour(series: Sequence[str]) -> dict[str, Any]:
    """The colours of the series. They do not change when other series are hidden."""
    import altair as alt

    scale = alt.Scale(domain=list(series), range=ranges(usual(series))["color"])
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
    values = ranges(usual(series))
    if second == "shape":
        scale = alt.Scale(domain=list(series), range=values["shape"])
        encoded["shape"] = alt.Shape("series:N", scale=scale, **legend(series))
    elif len(series) > len(PALETTE):
        scale = alt.Scale(domain=list(series), range=values["strokeDash"])
        encoded["strokeDash"] = alt.StrokeDash("series:N", scale=scale, **legend(series))
    return encoded


def powers() -> str:
    """The expression of the labels of an axis: 10⁻⁵ and not 0.00001."""
    digits = "split(format(datum.value, '.3~e'), 'e')"
    raised = f"{digits}[1]"
    for plain, above in zip("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True):
        raised = f"replace({raised}, /{plain}/g, '{above}')"
    mantissa = f"({digits}[0] === '1' ? '' : {digits}[0] + ' \N{MULTIPLICATION SIGN} ')"
    is_small = f"datum.value !== 0 && abs(datum.value) < {SMALL}"
    # Logarithmic axes have empty labels where others would collide.
    other = "datum.value === 0 && datum.label !== '' ? '0' : datum.label"
    return f"{is_small} && datum.label !== '' ? {mantissa} + '10' + {raised} : {other}"


def number_axis(**options: Any) -> Any:
    """An axis of numbers with typeset powers of ten."""
    import altair as alt

    return alt.Axis(labelExpr=powers(), **options)


def x_encoding(title: str, kind: XKind, names: Sequence[Any], series: int) -> dict[str, Any]:
    """The x axis of groups. Names are horizontal; sloping or upright if there is not enough space.

    Names that would collide even upright are left out.
    """
    import altair as alt

    if kind != "nominal":
        scale = alt.Scale(type=kind, nice=False, zero=False, padding=12)
        if kind == "linear":
            axis = number_axis(tickCount=8)
        else:
            at = list(names) if len(names) <= MOST_TICKS else alt.Undefined
            axis = number_axis(
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


PUBLISHED = "Open diamonds: published values."
PublishedValues = Mapping[str, Sequence[Sequence[float | str]]]
"""Published values by series: x, and the ends of a range, which are equal for a number."""


def published_layers(
    series: Sequence[str],
    published: PublishedValues,
    y: str,
    channel: dict[str, Any],
    fill: str = "transparent",
) -> list[Any]:
    """Open diamonds at published values, with lines over their ranges. They hide with series."""
    import altair as alt

    rows = [
        {"series": typeset(name), "x": x, "low": low, "high": high}
        for name, points in published.items()
        for x, low, high in points
        if typeset(name) in series
    ]
    base = alt.Chart(alt.InlineData(values=rows)).transform_filter(SHOWN)
    ranges_drawn = base.mark_rule(strokeWidth=1.4, strokeDash=[2, 2]).encode(
        y=alt.Y("low:Q", title=y), y2="high:Q", **colour(series), **channel
    )
    tips = [
        alt.Tooltip("series:N", title="published"),
        alt.Tooltip("low:Q", title="from", format=",.5~r"),
        alt.Tooltip("high:Q", title="to", format=",.5~r"),
    ]
    marks = [
        base.mark_point(
            shape="diamond", fill=fill, size=90, strokeWidth=2, opacity=1, clip=False
        ).encode(
            # Both ends of a range have one, and a number has one.
            y=alt.Y(f"{end}:Q", title=y),
            tooltip=tips, **colour(series), **channel,
        )
        for end in ("low", "high")
    ]  # fmt: skip
    return [ranges_drawn, *marks]


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


def shown_series() -> Any:
    """The parameter that the page sets to the series that it shows; all without a page."""
    import altair as alt

    return alt.param(name="shown", value=None)


def finished(chart: Any, zoom: bool, height: int = HEIGHT, marks: Sequence[Any] = ()) -> Any:
    """The chart with its size and the parameters that the page sets.

    `marks` are layers on top that neither zooming nor the choice of series selects.
    """
    import altair as alt

    chart = chart.transform_filter(SHOWN)
    if zoom:
        # With Ctrl, so that the wheel still scrolls the page over a figure.
        wheel = "wheel![event.ctrlKey || event.metaKey]"
        drag = alt.selection_interval(name="zoom", bind="scales", encodings=["x"], zoom=wheel)
        chart = chart.add_params(drag)
    if marks:
        chart = alt.layer(chart, *marks)
    return chart.add_params(shown_series()).properties(width=WIDTH, height=height)


def finished_or_panels(chart: Any, data: pl.DataFrame, zoom: bool) -> Any:
    """The finished chart, or a panel with the same scales for each value of `panel` in the data."""
    if "panel" not in data.columns or data["panel"].is_null().all():
        return finished(chart, zoom)
    return panels(chart, data["panel"].unique(maintain_order=True).to_list(), "shared")


def panels(
    chart: Any,
    names: Sequence[str],
    scales: Literal["shared", "independent"] = "independent",
    height: int = PANEL_HEIGHT,
) -> Any:
    """The chart once for each panel, in rows of `PANELS_PER_ROW`. Names are not cut off."""
    import altair as alt

    header = alt.Header(labelLimit=0)
    return (
        chart.transform_filter(SHOWN)
        .properties(width=PANEL_WIDTH, height=height)
        .facet(
            facet=alt.Facet("panel:N", title=None, sort=list(names), header=header),
            columns=PANELS_PER_ROW,
        )
        .resolve_scale(x=scales, y=scales)
        .add_params(shown_series())
    )
