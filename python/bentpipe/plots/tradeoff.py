"""Two quantities against each other: what is recommended, and what no other choice dominates.

Each choice is a point with its name next to it. The recommended one is ringed, and a line in
steps is the Pareto front. Names that would collide are left out. A page shows them at the pointer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.numbers import typeset
from bentpipe.plots.figure import PIXELS_PER_LETTER, Figure
from bentpipe.plots.looks import ranges, usual
from bentpipe.plots.marks import (
    MOST_COLOURS,
    finished,
    number_axis,
    panels,
    range_text,
    series_text,
)
from bentpipe.plots.points import INK, RING_PIXELS
from bentpipe.plots.theme import BEST, HEIGHT, SAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RECOMMENDED, FRONT, OTHERS = "recommended", "on the front", "others"
ROLES = (RECOMMENDED, FRONT, OTHERS)
"""Series of a figure without groups. Their colours are fixed."""
NARROW, WIDE, LIMIT = 250, 520, 480
"""Pixels for which names are placed, and the width from which the wider places apply."""
PANEL = 170
"""Pixels of the height of a panel, which is longer than most titles of axes."""
LETTER_HEIGHT = 13
SIDES = {
    "right": ("left", 9, 0),
    "left": ("right", -9, 0),
    "above": ("center", 0, -13),
    "below": ("center", 0, 14),
}
"""Alignment and offsets in pixels of a name next to its point."""
MARGIN = 0.08
"""Share of the range of values on each side of an axis."""
RING_SHARE = 1.5
"""By how much names are farther away from a ring than from a point."""


@dataclass(frozen=True)
class Spot:
    """A choice: its name, its place, and the half axes of its interval.

    Spots of one `group` are joined by a line. `detail` is shown at the pointer.
    """

    name: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    group: str = ""
    detail: str = ""
    is_best: bool = False
    on_front: bool = False
    panel: str | None = None


def with_front(spots: Sequence[Spot], higher_is_better: bool) -> list[Spot]:
    """The spots, marked if no other has at least its y with at most its x, panel by panel."""
    sign = 1 if higher_is_better else -1

    def dominates(other: Spot, one: Spot) -> bool:
        at_least = other.x <= one.x and sign * other.y >= sign * one.y
        return at_least and (other.x, other.y) != (one.x, one.y)

    return [
        replace(
            one,
            on_front=not any(dominates(other, one) for other in spots if other.panel == one.panel),
        )
        for one in spots
    ]


def tradeoff_figure(
    name: str,
    title: str,
    x: str,
    y: str,
    spots: Sequence[Spot],
    notes: Sequence[str] = (),
    *,
    own_axes: bool = False,
) -> Figure:
    """The figure of two quantities. Groups have colours if they can be distinguished.

    Otherwise colours distinguish the recommended choice and the front from all others. Panels have
    the same axes, or with `own_axes` each has its own.
    """
    groups = list(dict.fromkeys(one.group for one in spots))
    grouped = 1 < len(groups) <= MOST_COLOURS and len(spots) > len(groups)
    series = groups if grouped else list(ROLES)
    data = table(spots, series, grouped=grouped)
    several = not data["panel"].is_null().all()
    ends = {panel: ends_of(data.filter(pl.col("panel").eq_missing(panel)) if own_axes else data)
            for panel in data["panel"].unique(maintain_order=True)}  # fmt: skip
    placed = [
        places(spots, ends, pixels, PANEL if several else HEIGHT) for pixels in (NARROW, WIDE)
    ]
    data = data.with_columns(
        # The recommended one last, so that it is drawn above the others.
        narrow=pl.Series(placed[0], dtype=pl.String),
        wide=pl.Series(placed[1], dtype=pl.String),
    ).sort("best", maintain_order=True)
    scales = scales_of(None if own_axes else next(iter(ends.values())))
    chart = layers(x, y, series, scales, grouped=grouped, several=several)
    if several:
        drawing = panels(chart, list(ends), "independent" if own_axes else "shared", PANEL)
    else:
        drawing = finished(chart, zoom=False)
        data = data.drop("panel")
    best = [one.name for one in spots if one.is_best]
    words = f" Ringed: {', '.join(dict.fromkeys(best))}." if best else ""
    text = f"{y} over {x}. {series_text(series)}{words} {range_text(y, data['y'])}"
    return Figure(name, title, text, drawing, data, series, False, tuple(notes),
                  has_own_colours=not grouped)  # fmt: skip


def table(spots: Sequence[Spot], series: Sequence[str], *, grouped: bool) -> pl.DataFrame:
    """The table of the points."""
    rows = [
        {
            "x": one.x,
            "y": one.y,
            "low": one.y if one.low is None else one.low,
            "high": one.y if one.high is None else one.high,
            "label": typeset(one.name),
            "detail": typeset(one.detail),
            "step": number,
            "front": one.on_front,
            "best": one.is_best,
            "panel": one.panel,
            "series": one.group if grouped else role(one),
        }
        for number, one in enumerate(spots)
    ]
    numbers = dict.fromkeys(("x", "y", "low", "high"), pl.Float64)
    words = dict.fromkeys(("label", "detail"), pl.String)
    schema: Any = {**numbers, **words, "step": pl.Int64, "front": pl.Boolean, "best": pl.Boolean,
                   "panel": pl.String, "series": pl.Enum(list(series))}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def role(spot: Spot) -> str:
    """The series of a spot without a group."""
    return RECOMMENDED if spot.is_best else FRONT if spot.on_front else OTHERS


def limits(values: pl.Series) -> tuple[float, float]:
    """The ends of an axis, with a margin for marks and names."""
    found = values.to_numpy()
    low, high = float(found.min()), float(found.max())
    margin = (high - low or abs(high) or 1.0) * MARGIN
    return low - margin, high + margin


Ends = tuple[tuple[float, float], tuple[float, float]]
"""The ends of both axes."""


def ends_of(data: pl.DataFrame) -> Ends:
    """The ends of the axes of a panel with these points and their intervals."""
    return limits(data["x"]), limits(pl.concat([data["y"], data["low"], data["high"]]))


def scales_of(ends: Ends | None) -> list[Any]:
    """The scales of both axes with these ends; without, with those of the points of each panel."""
    import altair as alt

    if ends is None:
        share = MARGIN / (1 + 2 * MARGIN)
        return [alt.Scale(nice=False, zero=False, padding=share * size) for size in (NARROW, PANEL)]
    return [alt.Scale(domain=list(pair), nice=False, zero=False) for pair in ends]


Box = tuple[float, float, float, float]


def places(
    spots: Sequence[Spot],
    ends: Mapping[str | None, Ends],
    width: float,
    height: float,
) -> list[str | None]:
    """The side of each name at its point; None where each side would collide.

    The recommended choice is placed first, then those on the front, then the others.
    """
    at = [
        ((one.x - left) / (right - left) * width, (top - one.y) / (top - bottom) * height)
        for one in spots
        for (left, right), (bottom, top) in [ends[one.panel]]
    ]
    found: list[str | None] = [None] * len(spots)
    by_panel: dict[str | None, list[int]] = {}
    for number, one in enumerate(spots):
        by_panel.setdefault(one.panel, []).append(number)
    for numbers in by_panel.values():
        boxes: list[Box] = [
            (at[number][0] - 4, at[number][1] - 4, at[number][0] + 4, at[number][1] + 4)
            for number in numbers
        ]
        boxes += steps_of([at[n] for n in numbers if spots[n].on_front])
        order = sorted(numbers, key=lambda n: (not spots[n].is_best, not spots[n].on_front))
        for number in order:
            own = at[number]
            for side in SIDES:
                box = name_box(typeset(spots[number].name), own, side, spots[number].is_best)
                inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
                if inside and not any(overlap(box, other) for other in boxes):
                    found[number] = side
                    boxes.append(box)
                    break
    return found


def steps_of(front: Sequence[tuple[float, float]]) -> list[Box]:
    """The boxes around the line in steps through the points of the front."""
    boxes: list[Box] = []
    for (x0, y0), (x1, y1) in pairwise(sorted(front)):
        boxes += [(x0, y0 - 1, x1, y0 + 1), (x1 - 1, min(y0, y1), x1 + 1, max(y0, y1))]
    return boxes


def name_box(name: str, at: tuple[float, float], side: str, is_best: bool) -> Box:
    """Left, top, right and bottom of a name next to a point, or to a ring if it is the best."""
    align, dx, dy = SIDES[side]
    away = RING_SHARE if is_best else 1.0
    width = len(name) * PIXELS_PER_LETTER
    left = at[0] + dx * away - {"left": 0.0, "right": width, "center": width / 2}[align]
    middle = at[1] + dy * away
    return left, middle - LETTER_HEIGHT / 2, left + width, middle + LETTER_HEIGHT / 2


def overlap(one: Box, two: Box) -> bool:
    """True if two boxes have common points."""
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def layers(
    x: str,
    y: str,
    series: Sequence[str],
    scales: Sequence[Any],
    *,
    grouped: bool,
    several: bool,
) -> Any:
    """The layers: intervals, the front, points, the ring, names."""
    import altair as alt

    base = alt.Chart(alt.NamedData("points"))
    across = alt.X("x:Q", title=x, scale=scales[0], axis=number_axis(tickCount=6))
    up = alt.Y("y:Q", title=y, scale=scales[1], axis=number_axis())
    low = alt.Y("low:Q", title=y, scale=scales[1], axis=number_axis())
    looks = ranges(usual(series)) if grouped else {
        "color": [BEST, INK, SAME], "shape": ["circle", "diamond", "circle"]
    }  # fmt: skip
    scale = alt.Scale(domain=list(series), range=looks["color"])
    tint = alt.Color("series:N", scale=scale)
    tips = [
        alt.Tooltip("label:N", title="choice"),
        alt.Tooltip("x:Q", title=x, format=",.5~r"),
        alt.Tooltip("y:Q", title=y, format=",.5~r"),
        alt.Tooltip("low:Q", title="95 % interval from", format=",.5~r"),
        alt.Tooltip("high:Q", title="to", format=",.5~r"),
        alt.Tooltip("detail:N", title="with"),
    ]
    bars = base.mark_rule(strokeWidth=1.2, opacity=0.7).encode(
        x=across, y=low, y2="high:Q", color=tint
    )
    steps = (
        base.transform_filter("datum.front")
        .mark_line(color=INK, strokeWidth=1.4, strokeDash=[5, 3], interpolate="step-after")
        .encode(x=across, y=up, order="x:Q")
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=across,
        y=up,
        color=tint,
        shape=alt.Shape("series:N", scale=alt.Scale(domain=list(series), range=looks["shape"])),
        tooltip=tips,
    )
    rings = (
        base.transform_filter("datum.best")
        .mark_point(filled=False, size=RING_PIXELS, strokeWidth=2.2, opacity=1, color=INK)
        .encode(x=across, y=up)
    )
    drawn = [bars, steps, rings, dots]
    if grouped:
        joined = base.mark_line(strokeWidth=1.2, opacity=0.75).encode(
            x=across, y=up, color=tint, order="step:Q"
        )
        drawn.insert(1, joined)
    return alt.layer(*drawn, *names(base, across, up, several=several))


def names(base: Any, across: Any, up: Any, *, several: bool) -> Iterable[Any]:
    """The names next to their points, a layer for each side and weight."""
    import altair as alt

    place = "datum.narrow" if several else f"(width < {LIMIT} ? datum.narrow : datum.wide)"
    for side, (align, dx, dy) in SIDES.items():
        for best, weight in ((True, "bold"), (False, "normal")):
            away = RING_SHARE if best else 1
            wanted = f"{place} === '{side}' && {'' if best else '!'}datum.best"
            yield (
                base.transform_filter(wanted)
                .mark_text(
                    align=align, baseline="middle", dx=dx * away, dy=dy * away, fontSize=11,
                    color=INK,
                    fontWeight=weight,
                )
                .encode(x=across, y=up, text=alt.Text("label:N"))
            )  # fmt: skip
