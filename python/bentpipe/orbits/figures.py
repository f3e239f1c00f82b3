"""Figures of a path over satellites: its delay over time, and the sky above its first place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.orbits.frame import frame
from bentpipe.plots.figure import Figure
from bentpipe.plots.lines import line_figure
from bentpipe.plots.marks import colour
from bentpipe.plots.theme import SAME
from bentpipe.plots.timeline import Timeline

if TYPE_CHECKING:
    from bentpipe import OrbitHandover, OrbitSeries

RINGS = (0, 30, 60)
"""Elevations of the rings of a sky view, in degrees."""
SKY_PIXELS = 380
MOST_SKY = 4000
"""Maximum number of points of a sky view."""
PATH, HANDOVER = "satellite in use", "hand-over"


def delay_figure(series: OrbitSeries) -> Figure:
    """The one-way delay over time, with hand-overs as dashed lines and times without a path."""
    table = frame(series)
    title = f"Delay from {series.from_place} to {' or '.join(series.to_places)}"
    points = table.select(x="t_s", y="delay_ms", series=pl.lit("one-way delay"))
    events = [(one.t_s, words(one)) for one in series.handovers]
    silences = [(gap.start_s, gap.end_s) for gap in series.gaps]
    timeline = Timeline(series.duration_s, {}, events, silences)
    notes = [
        "Dashed lines: hand-overs." if events else "",
        "Shaded: no path." if silences else "",
        f"{series.source}, from {series.epoch}.",
    ]
    return line_figure(
        "delay", title, "time since the epoch (s)", "one-way delay (ms)", points,
        step=True, notes=[note for note in notes if note], timeline=timeline,
    )  # fmt: skip


def rate_figure(series: OrbitSeries) -> Figure:
    """The data rate over time, with the Es/N0 that decides it in the notes."""
    mbps = np.array(series.rate_bps) / 1e6
    points = pl.DataFrame({"x": series.t_s, "y": mbps, "series": "data rate"})
    levels = [level for level in series.es_n0_db if level is not None]
    timeline = Timeline(
        series.duration_s,
        {},
        [(one.t_s, words(one)) for one in series.handovers],
        [(gap.start_s, gap.end_s) for gap in series.gaps],
    )
    notes = [
        "Dashed lines: hand-overs." if series.handovers else "",
        f"Es/N0 from {min(levels):.1f} to {max(levels):.1f} dB.",
    ]
    return line_figure(
        "rate", f"Rate at {series.from_place}", "time since the epoch (s)", "data rate (Mbit/s)",
        points, step=True, notes=[note for note in notes if note], timeline=timeline,
    )  # fmt: skip


def words(one: OrbitHandover) -> str:
    """A hand-over in words."""
    if one.place == "between":
        return "another path between the same satellites"
    first, last = (
        f"{before} to {after}"
        for before, after in (
            (one.satellite_before, one.satellite_after),
            (one.to_satellite_before, one.to_satellite_after),
        )
    )
    return {"first": first, "last": last}.get(
        one.place, first if first == last else f"{first}, {last}"
    )


def sky_figure(series: OrbitSeries) -> Figure:
    """The sky above the first place: north at the top, east on the right, the zenith in the middle.

    A line is the way of a satellite while it is in use. Points are hand-overs to another one.
    """
    import altair as alt

    data = sky_points(series)
    names = [PATH, HANDOVER]
    data = data.with_columns(pl.col("series").cast(pl.Enum(names)))
    ends = alt.Scale(domain=[-95, 95], nice=False)
    x, y = (alt.X("x:Q", axis=None, scale=ends), alt.Y("y:Q", axis=None, scale=ends))
    points = alt.NamedData("points")
    details = [
        alt.Tooltip("satellite:N"),
        alt.Tooltip("elevation_deg:Q", title="elevation (deg)", format=".1f"),
        alt.Tooltip("azimuth_deg:Q", title="azimuth (deg)", format=".1f"),
    ]
    drawn = alt.layer(
        alt.Chart(points)
        .mark_line(strokeWidth=1.6)
        .transform_filter(f"datum.series === '{PATH}'")
        .encode(x=x, y=y, detail="pass:N", order="t_s:Q", tooltip=details, **colour(names)),
        alt.Chart(points)
        .mark_point(filled=True, size=28, opacity=1)
        .transform_filter(f"datum.series === '{HANDOVER}'")
        .encode(x=x, y=y, tooltip=details, **colour(names)),
    )
    chart = alt.layer(*rings(x, y), drawn).properties(width=SKY_PIXELS, height=SKY_PIXELS)
    text = f"Sky view: ways of the satellites in use above {series.from_place}, north at the top."
    notes = ["Rings: elevations of 0, 30 and 60 degrees. North is at the top, east on the right."]
    return Figure("sky", f"Sky above {series.from_place}", text, chart, data, names, False, notes)


def sky_points(series: OrbitSeries) -> pl.DataFrame:
    """Points of the sky view: rows with a path, and those after a hand-over of the first satellite.

    The distance from the middle is 90 degrees less the elevation.
    """
    table = frame(series).select("t_s", "satellite", "elevation_deg", "azimuth_deg").drop_nulls()
    away = 90 - pl.col("elevation_deg")
    angle = pl.col("azimuth_deg").radians()
    begins = pl.col("satellite").ne_missing(pl.col("satellite").shift())
    table = table.with_columns(
        begins.cum_sum().alias("pass"),
        x=away * angle.sin(),
        y=away * angle.cos(),
        series=pl.lit(PATH),
    )
    changes = [one.t_s for one in series.handovers if one.satellite_before != one.satellite_after]
    handovers = table.filter(pl.col("t_s").is_in(changes)).with_columns(series=pl.lit(HANDOVER))
    every = -(-table.height // MOST_SKY)
    return pl.concat([table.gather_every(every) if every > 1 else table, handovers])


def rings(x: Any, y: Any) -> list[Any]:
    """Circles of equal elevation, and the names of the directions."""
    import altair as alt

    angles = np.linspace(0, 2 * np.pi, 121)
    circles = [
        {
            "x": away * float(np.sin(angle)),
            "y": away * float(np.cos(angle)),
            "away": away,
            "angle": float(angle),
        }
        for away in (90 - ring for ring in RINGS)
        for angle in angles
    ]
    lines = (
        alt.Chart(alt.InlineData(values=circles))
        .mark_line(color=SAME, opacity=0.5, strokeWidth=1)
        .encode(x=x, y=y, detail="away:N", order="angle:Q")
    )
    sides = [
        {"x": 0, "y": 93, "side": "N"},
        {"x": 93, "y": 0, "side": "E"},
        {"x": 0, "y": -93, "side": "S"},
        {"x": -93, "y": 0, "side": "W"},
    ]
    letters = (
        alt.Chart(alt.InlineData(values=sides))
        .mark_text(color=SAME)
        .encode(x=x, y=y, text="side:N")
    )
    return [lines, letters]
