"""Lines over a common axis. Every line figure of the project is drawn here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.numbers import typeset
from bentpipe.plots.figure import Figure
from bentpipe.plots.marks import (
    PUBLISHED,
    chosen,
    colour,
    finished,
    number_axis,
    panels,
    published_layers,
    range_text,
    series_encoding,
    series_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.plots.marks import PublishedValues
    from bentpipe.plots.timeline import Timeline

POINTS = 1600
"""Maximum number of points of a line: four for each two pixels of width."""

GROUPED_POINTS = 12_000
"""Maximum number of points in a figure, shared by its lines."""

REDUCED = "Reduced: each short interval shows its first, last, lowest and highest point."


def line_figure(
    name: str,
    title: str,
    x: str,
    y: str,
    points: pl.DataFrame,
    *,
    y_range: Sequence[float] | None = None,
    step: bool = False,
    notes: Sequence[str] = (),
    timeline: Timeline | None = None,
    common: bool = False,
    published: PublishedValues | None = None,
) -> Figure:
    """Lines through the rows of `points`, whose columns are `series`, `x` and `y`.

    With a column `panel` there is a panel for each of its values, with own scales, or with the same
    if they are `common`. `x` and `y` are
    titles with units. With `step`, a value is constant until the next one. The order of series and
    panels is that of their first rows. With `timeline`, the axis of time is that of all figures of
    a page, from 0 to the end of the run, with its marks. `published` are values of a paper, drawn
    as open diamonds in the colours of their series.
    """
    import altair as alt

    points = with_typeset_names(points)
    series, cut = chosen(points["series"].unique(maintain_order=True).to_list())
    keys = ["panel", "series"] if "panel" in points.columns else ["series"]
    whole = (
        points.select(*keys, pl.col("x", "y").cast(pl.Float64))
        .drop_nulls()
        .filter(pl.col("series").is_in(series))
        .with_columns(pl.col("series").cast(pl.Enum(series)))
        .sort(*keys, "x", maintain_order=True)
    )
    most = min(max(GROUPED_POINTS // max(len(series), 1), 200), POINTS)
    data = thinned(whole, keys, most)
    if data.height < whole.height:
        cut = [*cut, REDUCED]
    text = f"Line figure: {y} over {x}. {series_text(series)} {range_text(y, whole['y'])}"
    data = data.select("x", "y", *keys)
    chart = (
        alt.Chart(alt.NamedData("points"))
        .mark_line(strokeWidth=1.6, clip=True, interpolate="step-after" if step else alt.Undefined)
        .encode(
            x=x_axis(x, timeline),
            y=alt.Y(
                "y:Q",
                title=y,
                scale=alt.Scale(domain=list(y_range)) if y_range else alt.Scale(),
                axis=number_axis(),
            ),
            tooltip=[
                alt.Tooltip("series:N", title="series"),
                alt.Tooltip("x:Q", title=x, format=",.5~r"),
                alt.Tooltip("y:Q", title=y, format=",.5~r"),
            ],
            **series_encoding(series, "strokeDash"),
        )
    )
    if "panel" in keys:
        names = points["panel"].unique(maintain_order=True).to_list()
        drawing = panels(chart, names, "shared" if common else "independent")
    else:
        marks = timeline.layers() if timeline else []
        if published:
            channel = {"x": x_axis(x, timeline)}
            marks += published_layers(series, published, y, channel)
            cut = [*cut, PUBLISHED]
        drawing = finished(chart, zoom=True, marks=marks)
    return Figure(name, title, text, drawing, data, series, True, (*notes, *cut),
                  over_time=timeline is not None)  # fmt: skip


def with_typeset_names(points: pl.DataFrame) -> pl.DataFrame:
    """The points with powers of ten in the names of their series."""
    names = points["series"].cast(pl.String).unique(maintain_order=True)
    changed = {name: typeset(name) for name in names if typeset(name) != name}
    if not changed:
        return points
    return points.with_columns(pl.col("series").cast(pl.String).replace(changed))


def x_axis(title: str, timeline: Timeline | None) -> Any:
    """The x axis: over all values, or over the time of the run."""
    import altair as alt

    scale = alt.Scale(nice=False, zero=False)
    if timeline:
        scale = alt.Scale(nice=False, domain=[0, timeline.end_s])
    return alt.X("x:Q", title=title, scale=scale, axis=number_axis())


def band_figure(name: str, title: str, x: str, y: str, points: pl.DataFrame) -> Figure:
    """Means of several runs as lines, in bands from the lowest to the highest.

    The columns of `points` are `series`, `x`, `y`, `low`, `high` and `n`, the number of runs.
    """
    import altair as alt

    series, cut = chosen(points["series"].unique(maintain_order=True).to_list())
    data = points.filter(pl.col("series").is_in(series)).with_columns(
        pl.col("series").cast(pl.Enum(series))
    )
    base = alt.Chart(alt.NamedData("points"))
    lines = base.mark_line(strokeWidth=1.6, clip=True).encode(
        x=x_axis(x, None),
        y=alt.Y("y:Q", title=y, axis=number_axis()),
        **series_encoding(series, "strokeDash"),
    )
    bands = base.mark_area(opacity=0.2, clip=True).encode(
        x=x_axis(x, None), y=alt.Y("low:Q", title=y), y2="high:Q", **colour(series)
    )
    text = f"Line figure with bands: {y} over {x}. {series_text(series)} {range_text(y, data['y'])}"
    most = int(data["n"].to_numpy().max(initial=0))
    notes = (f"Means of {most} runs. Bands are from the lowest to the highest.", *cut)
    drawing = finished(alt.layer(lines, bands), zoom=True)
    return Figure(name, title, text, drawing, data, series, True, notes)


def thinned(rows: pl.DataFrame, keys: Sequence[str], most: int = POINTS) -> pl.DataFrame:
    """The rows to draw: the first, last, lowest and highest of each interval of `x`.

    A line through them covers the same pixels. A line through every n-th row would lose peaks.
    Lines are the groups of `keys`. Their `x` must not decrease. All rows of a line are returned if
    there are at most `most`.

    Source: U. Jugel and others, "M4: a visualization-oriented time series data aggregation", VLDB
    2014.
    """
    intervals = max(most // 4, 1)
    x, row, start = pl.col("x"), pl.col("row"), pl.col("x").first().over(keys)
    share = (x - start) / (x.last().over(keys) - start)
    part = [*keys, "part"]
    return (
        rows.with_row_index("row")
        .with_columns(
            part=(share * intervals).fill_nan(0).floor().clip(upper_bound=intervals - 1),
            length=pl.len().over(keys),
        )
        .filter(
            (pl.col("length") <= most)
            | (row == row.first().over(part))
            | (row == row.last().over(part))
            | (row == row.get(pl.col("y").arg_min()).over(part))
            | (row == row.get(pl.col("y").arg_max()).over(part))
        )
        .drop("row", "part", "length")
    )


def as_points(lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> pl.DataFrame:
    """The table for `line_figure` of named lines, each with its x and y values."""
    tables = [
        pl.DataFrame(
            {"x": xs, "y": ys}, schema={"x": pl.Float64, "y": pl.Float64}, strict=False
        ).with_columns(series=pl.lit(name))
        for name, (xs, ys) in lines.items()
    ]
    empty = pl.DataFrame(schema={"x": pl.Float64, "y": pl.Float64, "series": pl.String})
    return pl.concat([empty, *tables])
