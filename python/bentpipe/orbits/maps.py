"""The map of a path over satellites: places, their ways, and ground tracks of satellites in use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.orbits.frame import frame
from bentpipe.plots.figure import Figure
from bentpipe.plots.marks import colour
from bentpipe.plots.theme import SAME

if TYPE_CHECKING:
    from bentpipe import OrbitSeries

GROUND, HOP, WAY, PLACE, HANDOVER = (
    "ground track of a satellite in use",
    "hop to the ground",
    "way of a place",
    "place",
    "hand-over",
)
"""Series of a map, in the order of their colours."""
PIXELS = 560
"""Width of a map."""
LOWEST, HIGHEST = 240, 620
"""Pixels of the height of a map, at least and at most."""
MARGIN_DEG = 2.0
"""Space around all points, in degrees of latitude."""
MOST_POINTS = 4000
"""Maximum number of points of the tracks."""
MOST_HOPS = 60
"""Maximum number of hops that are drawn."""
POLE_DEG = 80.0
"""Latitude up to which the map has the right proportions in the middle."""


def map_figure(series: OrbitSeries) -> Figure:
    """Ground tracks of the satellites in use, with the places and the hops to them.

    Longitude and latitude are the axes, with the right proportions in the middle of the map. There
    are no coasts and no tiles: the figure needs no data of others.
    """
    import altair as alt

    data, names = map_points(series)
    longitudes, latitudes, height = extent(data)
    axis = alt.Axis(grid=True, tickCount=8, labelExpr="format(datum.value, '~f') + '°'")
    x = alt.X("x:Q", title="longitude, east positive", scale=longitudes, axis=axis)
    y = alt.Y("y:Q", title="latitude, north positive", scale=latitudes, axis=axis)
    points = alt.NamedData("points")
    shown = {"x": x, "y": y, "tooltip": ["name:N", "t_s:Q"], **colour(names)}

    def lines(kind: str, width: float, opacity: float) -> Any:
        drawn = alt.Chart(points).mark_line(strokeWidth=width, opacity=opacity)
        drawn = drawn.transform_filter(f"datum.series === '{kind}'")
        return drawn.encode(detail="line:N", order="t_s:Q", **shown)

    def marks(kind: str, size: int, shape: str) -> Any:
        drawn = alt.Chart(points).mark_point(filled=True, size=size, shape=shape, opacity=1)
        return drawn.transform_filter(f"datum.series === '{kind}'").encode(**shown)

    words = (
        alt.Chart(points)
        .mark_text(color=SAME, dy=-13, fontSize=13, fontWeight="bold")
        .transform_filter(f"datum.series === '{PLACE}'")
        .encode(x=x, y=y, text="name:N")
    )
    layers = [lines(GROUND, 1.6, 1.0)]
    layers += [lines(HOP, 0.6, 0.6)] if HOP in names else []
    layers += [lines(WAY, 2.4, 1.0)] if WAY in names else []
    layers += [marks(HANDOVER, 30, "circle")] if HANDOVER in names else []
    layers += [marks(PLACE, 90, "triangle-up"), words]
    chart = alt.layer(*layers).properties(width=PIXELS, height=height)
    to = " or ".join(series.to_places)
    text = f"Map: {series.from_place} and {to}, with the ground tracks of the satellites in use."
    notes = ["Thin lines: hops between a place and its satellite." if HOP in names else ""]
    notes.append(f"{series.source}, from {series.epoch}, {series.duration_s:g} s.")
    notes = [note for note in notes if note]
    title = f"Satellites between {series.from_place} and {to}"
    return Figure("map", title, text, chart, data, names, False, notes)


def map_points(series: OrbitSeries) -> tuple[pl.DataFrame, list[str]]:
    """Points of the map, and the series that have some. Longitudes go on beyond 180 degrees."""
    table = frame(series)
    middle = table["from_longitude_deg"][0]
    rows = [*tracks(series, table, ""), *tracks(series, table, "to_")]
    rows += hops(table)
    rows += places(table, "from", series.from_place)
    for name in series.to_places:
        rows += places(table.filter(pl.col("to") == name), "to", name)
    data = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    data = data.with_columns(x=(pl.col("x") - middle + 180).mod(360) - 180 + middle)
    jumps = (pl.col("x").diff().over("series", "line").abs() > 180).fill_null(value=False)
    data = data.with_columns(jumps.cum_sum().over("series", "line").alias("part"))
    data = data.with_columns(line=pl.format("{}.{}", "line", "part")).drop("part")
    there = set(data["series"])
    names = [name for name in (GROUND, HOP, WAY, PLACE, HANDOVER) if name in there]
    return data.with_columns(pl.col("series").cast(pl.Enum(names))), names


SCHEMA = {
    "series": pl.String,
    "line": pl.String,
    "name": pl.String,
    "t_s": pl.Float64,
    "x": pl.Float64,
    "y": pl.Float64,
}
"""Columns of the points of a map."""


def tracks(series: OrbitSeries, table: pl.DataFrame, end: str) -> list[tuple[Any, ...]]:
    """Points below the first satellite (`end` is empty) or the last one, and those of hand-overs.

    With a bent pipe both are the same, and only those of the first one are drawn.
    """
    if end and (table["satellite"] == table["to_satellite"]).drop_nulls().all():
        return []
    satellite = f"{end}satellite"
    columns = ("t_s", satellite, f"{satellite}_longitude_deg", f"{satellite}_latitude_deg")
    used = table.select(columns).drop_nulls()
    begins = pl.col(satellite).ne_missing(pl.col(satellite).shift())
    used = used.with_columns(begins.cum_sum().alias("pass"))
    every = -(-used.height // MOST_POINTS)
    drawn = used.gather_every(every) if every > 1 else used
    found: list[tuple[Any, ...]] = [
        (GROUND, f"{end}{number}", name, at, x, y) for at, name, x, y, number in drawn.rows()
    ]
    changes = {
        one.t_s
        for one in series.handovers
        if getattr(one, f"{satellite}_before") != getattr(one, f"{satellite}_after")
    }
    after = used.filter(pl.col("t_s").is_in(list(changes)))
    found += [
        (HANDOVER, f"{end}{number}", name, at, x, y) for at, name, x, y, number in after.rows()
    ]
    return found


def hops(table: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Lines from places to their satellites, some of them over time."""
    used = table.drop_nulls("satellite")
    every = -(-used.height // MOST_HOPS)
    found: list[tuple[Any, ...]] = []
    for row in used.gather_every(max(every, 1)).iter_rows(named=True):
        for place, satellite in (("from", "satellite"), ("to", "to_satellite")):
            name, at = row[satellite], row["t_s"]
            found += [
                (
                    HOP,
                    f"{place} {at}",
                    name,
                    at,
                    row[f"{one}_longitude_deg"],
                    row[f"{one}_latitude_deg"],
                )
                for one in (place, satellite)
            ]
    return found


def places(table: pl.DataFrame, end: str, name: str) -> list[tuple[Any, ...]]:
    """The place where it is at the start, and its way if it moves."""
    columns = ("t_s", f"{end}_longitude_deg", f"{end}_latitude_deg")
    points = table.select(columns).drop_nulls()
    if not points.height:
        return []
    at, x, y = points.row(0)
    found: list[tuple[Any, ...]] = [(PLACE, name, name, at, x, y)]
    if points.select(columns[1:]).unique().height > 1:
        every = -(-points.height // MOST_POINTS)
        drawn = points.gather_every(max(every, 1))
        found += [(WAY, name, name, at, x, y) for at, x, y in drawn.rows()]
    return found


def extent(data: pl.DataFrame) -> tuple[Any, Any, int]:
    """Scales of both axes, and the height in pixels, for equal lengths in the middle of the map."""
    import altair as alt

    (west, east, low, high) = data.select(
        west=pl.col("x").min(),
        east=pl.col("x").max(),
        low=pl.col("y").min(),
        high=pl.col("y").max(),
    ).row(0)
    low, high = max(low - MARGIN_DEG, -90.0), min(high + MARGIN_DEG, 90.0)
    shrink = math.cos(math.radians(min(abs(low + high) / 2, POLE_DEG)))
    west, east = west - MARGIN_DEG / shrink, east + MARGIN_DEG / shrink
    height = PIXELS * (high - low) / ((east - west) * shrink)
    if height < LOWEST:
        more = (LOWEST / height - 1) * (high - low) / 2
        low, high = max(low - more, -90.0), min(high + more, 90.0)
    elif height > HIGHEST:
        more = (height / HIGHEST - 1) * (east - west) / 2
        west, east = west - more, east + more
    pixels = round(min(max(height, LOWEST), HIGHEST))
    return (
        alt.Scale(domain=[west, east], nice=False, zero=False),
        alt.Scale(domain=[low, high], nice=False, zero=False),
        pixels,
    )
