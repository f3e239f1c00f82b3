"""Plots as SVG and PNG, without network or browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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


def chart(plot: Plot) -> Any:
    """The plot as an Altair chart."""
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
            color=alt.Color("line:N", title=None, sort=list(plot.lines)),
        )
        .properties(width=640, height=320, **plot.options)
        .configure_legend(orient="bottom", columns=2, labelLimit=400)
    )


def save_plot(plot: Plot, path: Path) -> None:
    """Write `path` with the endings `.svg` and `.png`."""
    import vl_convert

    specification = chart(plot).to_json()
    svg = vl_convert.vegalite_to_svg(specification)
    path.with_suffix(".svg").write_text(svg, encoding="utf-8")
    path.with_suffix(".png").write_bytes(vl_convert.svg_to_png(svg, scale=2))
