"""The part of a run's page over time: what happened to links and packets, and the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import bentpipe
from bentpipe.captures.beside import CAPTURE
from bentpipe.captures.figures import ends
from bentpipe.captures.traces import is_to_server, largest, read, with_points
from bentpipe.errors import CaptureError
from bentpipe.numbers import amount, significant
from bentpipe.plots import line_figure, sequence
from bentpipe.plots.timeline import MOST_EVENTS, Timeline, rises, spread
from bentpipe.report.page import Cell, Column, Table, Text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe._native import Scenario, Signal
    from bentpipe.explanation import Event, Explanation
    from bentpipe.plots import Figure
    from bentpipe.report.page import Details
    from bentpipe.runs import Run

MOST_CONNECTIONS = 3
"""Connections with a time-sequence graph: those with most data."""

NO_SEGMENTS = (
    "This time-sequence graph is drawn from the series. It shows bytes that were sent (with "
    "retransmissions) and delivered, and no single segment. Run the scenario again with "
    "--pcap and --out to see each segment, acknowledgment, SACK block and the window, as tcptrace "
    "draws them."
)

NO_CONNECTIONS = (
    "This time-sequence graph is drawn from the series, because the capture has no connection of "
    "TCP. Wireshark reads its packets."
)

Blocks = list["Text | Table | Details | Figure"]


def timeline_of(
    run: Run,
    explanation: Explanation | None,
    signals: Sequence[Signal],
    delay_s: float,
    outages: Sequence[tuple[float, float]] = (),
) -> Timeline:
    """Events of links, times without signal, and losses, from the scenario and the series.

    `delay_s` is the delay of all events in this run, with `phase = "random"`. `outages` are those
    of traces and modems, from and to.
    """
    end_s = run.simulated_s
    losses: dict[str, list[float]] = {}
    sources = [
        ("queue drop", run.link_series, "link", "dropped_packets"),
        ("corrupted", run.link_series, "link", "corrupted_packets"),
        ("retransmission", run.flow_series, "flow", "retransmitted"),
    ]
    for name, table, entity, column in sources:
        rising = rises(table, entity, column).filter(pl.col("rise") > 0)
        losses[name] = spread(rising["t_s"].sort(), end_s)
    silences: list[tuple[float, float]] = [*outages]
    silences += [
        (lost, locked) for signal in signals
        for lost, locked in zip(signal.lost_s, signal.locked_s, strict=True) if lost < end_s
    ]  # fmt: skip
    events: dict[tuple[float, str, str], list[str]] = {}
    for direction in explanation.links if explanation else ():
        ends = (direction.from_, direction.to)
        for event in direction.events:
            for at in happening(event, delay_s, end_s):
                key = (at, in_words(event), " - ".join(sorted(ends)))
                events.setdefault(key, []).append(" to ".join(ends))
                if event.outage_s:
                    silences.append((at, at + event.outage_s))
    worded = [
        (at, f"{' and '.join(directions)}: {words}")
        for (at, words, _), directions in events.items()
    ]
    return Timeline(end_s, losses, sorted(worded), sorted(set(silences)))


def happening(event: Event, delay_s: float, end_s: float) -> list[float]:
    """The times of an event before the end of the run, as many as are drawn."""
    first = event.at_s + delay_s
    if first >= end_s:
        return []
    if not event.every_s:
        return [first]
    number = min(int((end_s - first) / event.every_s) + 1, MOST_EVENTS)
    times = (first + event.every_s * n for n in range(number))
    return [at for at in times if at < end_s]


def in_words(event: Event) -> str:
    """What an event changes."""
    parts = [
        f"rate {amount(event.rate_bps, 'bit/s')}" if event.rate_bps is not None else "",
        f"delay {significant(event.delay_s * 1000)} ms" if event.delay_s is not None else "",
        f"outage of {significant(event.outage_s * 1000)} ms" if event.outage_s else "",
    ]
    return ", ".join(filter(None, parts))


def events_table(timeline: Timeline) -> Table:
    """The events of links and routers in their order."""
    columns = [Column("time", "s"), Column("event", numeric=False)]
    rows = [[Cell(f"{at:.6g}", at), Cell(text)] for at, text in timeline.events[:MOST_EVENTS]]
    return Table("events", "Events", columns, rows)


def signal_figure(
    signals: Sequence[Signal], names: Sequence[str], timeline: Timeline
) -> Figure | None:
    """Attenuation and Eb/N0 of all directions with a link budget; None if they never change."""
    lines = []
    for signal in signals:
        if len(set(signal.attenuation_db)) < 2:
            continue
        name = names[2 * signal.link + (signal.direction == "backward")]
        for what, values in (("Eb/N0", signal.eb_n0_db), ("attenuation", signal.attenuation_db)):
            # Constant beyond the samples.
            times = [0.0, *signal.t_s, timeline.end_s]
            table = pl.DataFrame({"x": times, "y": [values[0], *values, values[-1]]})
            table = table.filter(pl.col("x").is_between(0, timeline.end_s))
            lines.append(table.with_columns(series=pl.lit(f"{what}, {name}")))
    if not lines:
        return None
    title = "Signal: attenuation, and Eb/N0 at the receiver"
    return line_figure("signal", title, "time (s)", "dB", pl.concat(lines), timeline=timeline)


def losses_figure(run: Run, directions: Sequence[str], timeline: Timeline) -> Figure | None:
    """Lost and retransmitted packets in each sampling interval."""
    flows = run.flows["flow"].to_list()
    sources = [
        ("queue drops", run.link_series, "link", "dropped_packets", directions),
        ("corrupted", run.link_series, "link", "corrupted_packets", directions),
        ("retransmitted", run.flow_series, "flow", "retransmitted", flows),
    ]
    lines = []
    for what, table, entity, column, names in sources:
        rising = rises(table, entity, column).sort(entity, "t_s")
        rising = rising.filter(pl.col("rise").sum().over(entity) > 0)
        labels = {number: f"{what}, {name}" for number, name in enumerate(names)}
        lines.append(
            rising.select(
                pl.col(entity).replace_strict(labels, return_dtype=pl.String).alias("series"),
                pl.col("t_s").alias("x"),
                pl.col("rise").alias("y"),
            )
        )
    points = pl.concat(lines)
    if points.is_empty():
        return None
    title = "Lost packets and retransmitted segments since the previous sample"
    return line_figure("losses", title, "time (s)", "packets", points, timeline=timeline)


def sequence_blocks(run: Run, folder: Path, timeline: Timeline) -> Blocks:
    """Time-sequence graphs: from the capture, otherwise from the series."""
    path = folder / CAPTURE
    try:
        taken = read(path, "run") if path.is_file() else None
    except CaptureError:
        taken = None
    if taken is None:
        lines = bytes_figure(run, timeline)
        note = NO_CONNECTIONS if path.is_file() else NO_SEGMENTS
        return [Text([note]), lines] if lines else []
    found = largest(taken.capture.connections, MOST_CONNECTIONS)
    blocks: Blocks = []
    if len(taken.capture.connections) > len(found):
        many = len(taken.capture.connections)
        blocks.append(Text([f"The {len(found)} of {many} connections with most data."]))
    for number, one in enumerate(with_points(taken, found)):
        title = ends(one.connection, to_server=is_to_server(one.connection))
        # Times of the run: those of the capture count from its first packet.
        zero_s = -taken.capture.started_s
        name = f"sequence-{number}"
        traces = [sequence.Trace(one.whole, zero_s)]
        blocks.append(sequence.whole(name, f"Time-sequence graph, {title}", traces, timeline))
        if one.around:
            words = f"Time-sequence graph around the first retransmission, {title}"
            trace = sequence.Trace(one.around, zero_s)
            detail = sequence.detail(f"{name}-loss", words, trace)
            blocks += [detail] if detail else []
    return blocks


def bytes_figure(run: Run, timeline: Timeline) -> Figure | None:
    """Bytes sent and delivered of each flow, from the series."""
    flows = dict(enumerate(run.flows["flow"].to_list()))
    table = run.flow_series.sort("flow", "t_s")
    if table.is_empty():
        return None
    lines = [
        table.select(
            (pl.col("flow").replace_strict(flows, return_dtype=pl.String) + f", {what}").alias(
                "series"
            ),
            pl.col("t_s").alias("x"),
            pl.col(column) / 1e6,
        ).rename({column: "y"})
        for what, column in (("sent", "sent_bytes"), ("delivered", "delivered_bytes"))
    ]
    title, y = "Time-sequence graph from the series", "data (MB)"
    return line_figure("sequence", title, "time (s)", y, pl.concat(lines), timeline=timeline)


def saved_scenario(path: Path) -> Scenario | None:
    """A saved scenario; None if it cannot be read any more."""
    try:
        return bentpipe.Scenario.load(path)
    except bentpipe.BentpipeError:
        return None
