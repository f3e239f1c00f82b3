"""Time-sequence graphs, as tcptrace draws them: segments, acknowledgments, window, retransmissions.

A segment is a vertical line from its first to its last byte at the time when it is sent. Below it
runs the line of what is acknowledged, above it the end of the advertised window. SACK blocks are
vertical lines at the time of their ACK. Source: S. Ostermann, tcptrace manual, "Time Sequence
Graph".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.numbers import scale
from bentpipe.plots.figure import Figure
from bentpipe.plots.lines import thinned, x_axis
from bentpipe.plots.marks import colour, finished, range_text, series_text

if TYPE_CHECKING:
    from bentpipe.capture import Connection
    from bentpipe.plots.timeline import Timeline

SENT, AGAIN, SACKED = "segment", "retransmission", "SACK block"
ACKED, WINDOW = "acknowledged", "end of the window"
SERIES = [SENT, AGAIN, SACKED, ACKED, WINDOW]
PARTS = 1000
"""Maximum number of vertical lines of one kind: more are joined where they would touch."""

JOINED = "Reduced: segments of each short interval are one line. The capture has every segment."


def whole(name: str, connection: Connection, timeline: Timeline) -> Figure:
    """The graph of the whole run, which zooms with the other figures of the page."""
    bars, lines = tables(connection, 0.0, timeline.end_s)
    reduced = joined(bars, 0.0, timeline.end_s)
    notes = [JOINED] if reduced.height < bars.height else []
    title = f"Time-sequence graph, {connection.name}"
    return drawn(name, title, reduced, lines, notes, timeline)


def first_loss(name: str, connection: Connection) -> Figure | None:
    """The graph around the first retransmission, segment by segment; None without one."""
    again = connection.repeated()
    if not any(again):
        return None
    at_s, first, _ = connection.sent[again.index(True)]
    lost_s = next(at for at, start, end in connection.sent if start <= first < end)
    repaired_s = next((at for at, acked, _ in connection.acks if acked > first), at_s)
    shown_s = max(repaired_s, at_s) - lost_s
    start, end = max(lost_s - 0.3 * shown_s, 0.0), max(repaired_s, at_s) + 0.3 * shown_s
    bars, lines = tables(connection, start, end)
    if bars.is_empty():
        return None
    low, high = (float(bars[column].to_numpy().max()) for column in ("y", "y2"))
    low = float(bars["y"].to_numpy().min())
    near = lines.filter(pl.col("y").is_between(low - (high - low), high + (high - low)))
    reduced = joined(bars, start, end)
    notes = ["The end of the window is left out where it is far away."] if (
        near.height < lines.height) else []  # fmt: skip
    if reduced.height < bars.height:
        notes.append(JOINED)
    title = f"Time-sequence graph around the first retransmission, {connection.name}"
    return drawn(name, title, reduced, near, notes, None)


def tables(connection: Connection, start: float, end: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Vertical and other lines between two times: columns `series`, `x`, `y`, and `y2`."""
    bars = [
        (AGAIN if again else SENT, *segment)
        for segment, again in zip(connection.sent, connection.repeated(), strict=True)
    ]
    bars += [(SACKED, *block) for block in connection.sacks]
    lines = [(ACKED, at, acked, None) for at, acked, _ in connection.acks]
    lines += [(WINDOW, at, edge, None) for at, _, edge in connection.acks]
    schema: Any = {"series": pl.Enum(SERIES), "x": pl.Float64, "y": pl.Float64, "y2": pl.Float64}
    made = (pl.DataFrame(rows, schema=schema, orient="row") for rows in (bars, lines))
    between = pl.col("x").is_between(start, end)
    found_bars, found_lines = (table.filter(between) for table in made)
    return found_bars, found_lines


def joined(bars: pl.DataFrame, start: float, end: float) -> pl.DataFrame:
    """The vertical lines, or if there are too many, one for each kind and short interval."""
    if bars.height <= PARTS * 2:
        return bars
    part = ((pl.col("x") - start) / max(end - start, 1e-9) * PARTS).floor()
    return (
        bars.group_by("series", part=part, maintain_order=True)
        .agg(pl.col("x").first(), pl.col("y").min(), pl.col("y2").max())
        .select("series", "x", "y", "y2")
    )


def drawn(
    name: str,
    title: str,
    bars: pl.DataFrame,
    lines: pl.DataFrame,
    notes: list[str],
    timeline: Timeline | None,
) -> Figure:
    """The figure of vertical lines and lines in steps."""
    import altair as alt

    size, unit = scale("B", bars["y2"])
    lines = thinned(lines.sort("series", "x", maintain_order=True), ["series"])
    data = pl.concat([bars, lines]).select(
        "x", pl.col("y") / size, (pl.col("y2") / size).fill_null(pl.col("y") / size), "series"
    )
    kinds = [kind for kind in SERIES if kind in set(data["series"].cast(pl.String))]
    data = data.with_columns(pl.col("series").cast(pl.String).cast(pl.Enum(kinds)))
    label = f"sequence number ({unit})"
    base = alt.Chart(alt.NamedData("points"))
    y = alt.Y("y:Q", title=label, scale=alt.Scale(zero=timeline is not None))
    vertical = (
        base.transform_filter(alt.FieldOneOfPredicate("series", [SENT, AGAIN, SACKED]))
        .mark_rule(strokeWidth=1.6, clip=True)
        .encode(
            x=x_axis("time (s)", timeline), y=y, y2="y2:Q", **colour(kinds),
            tooltip=["series:N", alt.Tooltip("x:Q", title="time (s)", format=",.6~r"),
                     alt.Tooltip("y:Q", title=f"from ({unit})", format=",.6~r"),
                     alt.Tooltip("y2:Q", title=f"to ({unit})", format=",.6~r")],
        )
    )  # fmt: skip
    steps = (
        base.transform_filter(alt.FieldOneOfPredicate("series", [ACKED, WINDOW]))
        .mark_line(strokeWidth=1.3, interpolate="step-after", clip=True)
        .encode(x=x_axis("time (s)", timeline), y=y, **colour(kinds))
    )
    marks: list[Any] = timeline.layers() if timeline else []
    drawing = finished(vertical, zoom=True, marks=[shown(steps), *marks])
    text = f"Time-sequence graph. {series_text(kinds)} {range_text(label, data['y'])}"
    return Figure(name, title, text, drawing, data, kinds, False, tuple(notes),
                  over_time=timeline is not None)  # fmt: skip


def shown(chart: Any) -> Any:
    """The chart with only the series that the page shows."""
    return chart.transform_filter("shown === null || indexof(shown, datum.series) >= 0")
