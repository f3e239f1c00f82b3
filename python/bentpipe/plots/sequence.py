"""Time-sequence graphs, as tcptrace draws them: segments, acknowledgments, window, retransmissions.

A segment is a vertical line from its first to its last byte at the time when it is captured. Below
it runs the line of acknowledged data, above it the end of the advertised window. SACK blocks are
vertical lines at the time of their ACK. Source: S. Ostermann, tcptrace manual, "Time Sequence
Graph".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.numbers import scale
from bentpipe.plots.figure import Figure
from bentpipe.plots.lines import thinned, x_axis
from bentpipe.plots.marks import SHOWN, colour, finished, number_axis, range_text, series_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import CaptureGraph
    from bentpipe.plots.timeline import Timeline

SENT, AGAIN, SACKED = "segment", "retransmission", "SACK block"
ACKED, WINDOW = "acknowledged", "end of the window"
BARS, STEPS = (SENT, AGAIN, SACKED), (ACKED, WINDOW)

JOINED = "Reduced: segments of each short interval are one line. The capture has every segment."
COMPARED = (
    "SACK blocks and the windows are left out. The figures around the first losses have them."
)
HEADROOM = 1.08
"""Share of the data at which the axis of sequence numbers ends, if the window is far above."""
FAR = "The end of the window is left out where it is far away."


@dataclass(frozen=True)
class Trace:
    """The points of one direction of data, with the label of their source if there are several.

    The figure has the times of the graph minus `zero_s`.
    """

    graph: CaptureGraph
    zero_s: float = 0.0
    label: str = ""

    def named(self, kind: str) -> str:
        """Name of a series of this trace."""
        return f"{kind}, {self.label}" if self.label else kind


def whole(name: str, title: str, traces: Sequence[Trace], timeline: Timeline | None) -> Figure:
    """The graph of the whole connection. With `timeline`, it zooms with the figures of its page."""
    bars, lines = tables(traces)
    notes = [COMPARED] if len(traces) > 1 else []
    # A window that is far above the data would squeeze them into a flat line.
    data = pl.concat([bars["y2"], lines.filter(is_not_window(traces))["y"]]).drop_nulls()
    top = float(data.to_numpy().max()) * HEADROOM if len(data) else None
    if top is not None and bool((lines["y"] > top).any()):
        notes.append(FAR)
    else:
        top = None
    return drawn(name, title, traces, bars, lines, notes, timeline, top)


def detail(name: str, title: str, trace: Trace) -> Figure | None:
    """The graph of a short time, segment by segment; None without segments."""
    bars, lines = tables([trace])
    sent = bars.filter(pl.col("series").cast(pl.String) != trace.named(SACKED))
    if sent.is_empty():
        return None
    low, high = float(bars["y"].to_numpy().min()), float(bars["y2"].to_numpy().max())
    near = lines.filter(pl.col("y").is_between(low - (high - low), high + (high - low)))
    notes = [FAR] if near.height < lines.height else []
    return drawn(name, title, [trace], bars, near, notes, None)


def is_not_window(traces: Sequence[Trace]) -> pl.Expr:
    """True for points of other lines than the end of the window."""
    windows = [trace.named(WINDOW) for trace in traces]
    return ~pl.col("series").cast(pl.String).is_in(windows)


def tables(traces: Sequence[Trace]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Vertical lines and lines in steps: columns `series`, `x`, `y`, and `y2`.

    Of several traces, SACK blocks and windows are left out, which would hide the others.
    """
    bars: list[tuple[str, float, float, float]] = []
    lines: list[tuple[str, float, float, None]] = []
    several = len(traces) > 1
    for trace in traces:
        graph, zero = trace.graph, trace.zero_s
        # Those that come later are drawn above the others.
        vertical = {SACKED: graph.sacks, SENT: graph.sent, AGAIN: graph.again}
        in_steps = {ACKED: graph.acked, WINDOW: graph.edge}
        for kind, found in vertical.items() if not several else list(vertical.items())[1:]:
            bars += [(trace.named(kind), at - zero, first, end) for at, first, end in found]
        for kind, steps in list(in_steps.items())[: 1 if several else 2]:
            lines += [(trace.named(kind), at - zero, value, None) for at, value in steps]
    names = [trace.named(kind) for trace in traces for kind in (*BARS, *STEPS)]
    schema: Any = {"series": pl.Enum(names), "x": pl.Float64, "y": pl.Float64, "y2": pl.Float64}
    found_bars, found_lines = (
        pl.DataFrame(rows, schema=schema, orient="row", strict=False) for rows in (bars, lines)
    )
    return found_bars, found_lines


def drawn(
    name: str,
    title: str,
    traces: Sequence[Trace],
    bars: pl.DataFrame,
    lines: pl.DataFrame,
    notes: list[str],
    timeline: Timeline | None,
    top: float | None = None,
) -> Figure:
    """The figure of vertical lines and lines in steps. `top` is the end of the y axis in bytes."""
    import altair as alt

    if any(trace.graph.reduced for trace in traces):
        notes = [*notes, JOINED]
    size, unit = scale("B", bars["y2"])
    lines = thinned(lines.sort("series", "x", maintain_order=True), ["series"])
    data = pl.concat([bars, lines]).select(
        "x", pl.col("y") / size, (pl.col("y2") / size).fill_null(pl.col("y") / size), "series"
    )
    present = set(data["series"].cast(pl.String))
    vertical_kinds = [trace.named(kind) for trace in traces for kind in BARS]
    step_kinds = [trace.named(kind) for trace in traces for kind in STEPS]
    kinds = [kind for kind in (*vertical_kinds, *step_kinds) if kind in present]
    data = data.with_columns(pl.col("series").cast(pl.String).cast(pl.Enum(kinds)))
    label = f"sequence number ({unit})"
    base = alt.Chart(alt.NamedData("points"))
    scale_y = alt.Scale(zero=timeline is not None)
    if top is not None:
        scale_y = alt.Scale(domain=[0, top / size], clamp=False)
    y = alt.Y("y:Q", title=label, scale=scale_y, axis=number_axis())
    vertical = (
        base.transform_filter(alt.FieldOneOfPredicate("series", vertical_kinds))
        .mark_rule(strokeWidth=1.6, clip=True)
        .encode(
            x=x_axis("time (s)", timeline), y=y, y2="y2:Q", **colour(kinds),
            tooltip=["series:N", alt.Tooltip("x:Q", title="time (s)", format=",.6~r"),
                     alt.Tooltip("y:Q", title=f"from ({unit})", format=",.6~r"),
                     alt.Tooltip("y2:Q", title=f"to ({unit})", format=",.6~r")],
        )
    )  # fmt: skip
    steps = (
        base.transform_filter(alt.FieldOneOfPredicate("series", step_kinds))
        .mark_line(strokeWidth=1.3, interpolate="step-after", clip=True)
        .encode(x=x_axis("time (s)", timeline), y=y, **colour(kinds))
    )
    # A segment is less than a pixel high in the graph of a long connection.
    again = (
        base.transform_filter(
            alt.FieldOneOfPredicate("series", [trace.named(AGAIN) for trace in traces])
        )
        .mark_point(filled=True, size=22, opacity=1, shape="diamond", clip=True)
        .encode(x=x_axis("time (s)", timeline), y=y, **colour(kinds))
    )
    marks: list[Any] = timeline.layers() if timeline else []
    drawing = finished(vertical, zoom=True, marks=[shown(steps), shown(again), *marks])
    text = f"Time-sequence graph. {series_text(kinds)} {range_text(label, data['y'])}"
    return Figure(name, title, text, drawing, data, kinds, False, tuple(notes),
                  over_time=timeline is not None, has_own_colours=True)  # fmt: skip


def shown(chart: Any) -> Any:
    """The chart with only the series that the page shows."""
    return chart.transform_filter(SHOWN)
