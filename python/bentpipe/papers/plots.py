"""Plots as SVG and PNG, without network or browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe.study.statistics import Mean

TEN_COLOURS = 10
"""With more lines than this another palette is taken, so that no two share a colour."""

POINTS = 1000
"""More points than a plot has pixels are thinned out to this number for each line."""


@dataclass(frozen=True)
class Plot:
    """Lines over a common x axis: name of the line -> its x and y values."""

    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    y_range: tuple[float, float] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Bars:
    """Groups of bars: name of a bar's series -> its mean in each group, with its interval."""

    title: str
    x: str
    y: str
    bars: Mapping[str, Mapping[str, Mean]]


def chart(plot: Plot | Bars) -> Any:
    """The plot as an Altair chart."""
    drawn = line_chart(plot) if isinstance(plot, Plot) else bar_chart(plot)
    return drawn.configure_legend(orient="bottom", columns=2, labelLimit=400)


def line_chart(plot: Plot) -> Any:
    """Lines, thinned out."""
    import altair as alt

    points = []
    for name, (xs, ys) in plot.lines.items():
        step = max(len(xs) // POINTS, 1)
        points += [
            {"x": x, "y": y, "line": name} for x, y in zip(xs[::step], ys[::step], strict=True)
        ]
    scale = alt.Scale(domain=list(plot.y_range)) if plot.y_range else alt.Scale()
    return (
        alt.Chart({"values": points}, title=plot.title)
        .mark_line(interpolate="linear", strokeWidth=1.2)
        .encode(
            x=alt.X("x:Q", title=plot.x),
            y=alt.Y("y:Q", title=plot.y, scale=scale),
            color=_colour("line:N", list(plot.lines)),
        )
        .properties(width=640, height=320, **plot.options)
    )


def _colour(field: str, series: list[str]) -> Any:
    import altair as alt

    few = len(series) <= TEN_COLOURS
    scale = alt.Scale(scheme="tableau10" if few else "tableau20")
    return alt.Color(field, title=None, sort=series, scale=scale)


def bar_chart(plot: Bars) -> Any:
    """Bars side by side in each group, with whiskers over their 95 % intervals."""
    import altair as alt

    points = [
        {
            "group": group,
            "bar": bar,
            "mean": mean.value,
            "low": mean.value - (mean.ci95 or 0.0),
            "high": mean.value + (mean.ci95 or 0.0),
        }
        for bar, means in plot.bars.items()
        for group, mean in means.items()
    ]
    series = list(plot.bars)
    groups = list(dict.fromkeys(group for means in plot.bars.values() for group in means))
    base = alt.Chart({"values": points}, title=plot.title).encode(
        x=alt.X(
            "group:N",
            title=plot.x or None,
            sort=groups,
            axis=alt.Axis(labelAngle=0, labelLimit=300),
        ),
        xOffset=alt.XOffset("bar:N", sort=series),
    )
    bars = base.mark_bar().encode(
        y=alt.Y("mean:Q", title=plot.y),
        color=_colour("bar:N", series),
    )
    whiskers = base.mark_rule(color="black", strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    return (bars + whiskers).properties(width=640, height=320)


def as_data(plot: Plot | Bars) -> dict[str, Any]:
    """What the plot shows, with every point, as JSON takes it."""
    held: dict[str, Any] = {"title": plot.title, "x": plot.x, "y": plot.y}
    if isinstance(plot, Plot):
        lines = {name: {"x": list(xs), "y": list(ys)} for name, (xs, ys) in plot.lines.items()}
        return held | {"kind": "lines", "y_range": plot.y_range, "lines": lines}
    bars = {
        name: {group: [mean.value, mean.ci95] for group, mean in means.items()}
        for name, means in plot.bars.items()
    }
    return held | {"kind": "bars", "bars": bars}


def save_plot(plot: Plot | Bars, path: Path) -> None:
    """Write `path` with the endings `.svg` and `.png`."""
    import vl_convert

    specification = chart(plot).to_json()
    svg = vl_convert.vegalite_to_svg(specification)
    path.with_suffix(".svg").write_text(svg, encoding="utf-8")
    path.with_suffix(".png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
