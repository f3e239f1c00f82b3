"""The part of a run's page about split flows: their legs, and the flow from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.counts import packets, timers
from bentpipe.numbers import NONE, count, scale, significant
from bentpipe.plots import line_figure
from bentpipe.printing.flow_groups import LEG_HEADINGS, leg_groups
from bentpipe.report.page import Cell, Column, Section, Table, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bentpipe._native import Flow
    from bentpipe.plots import Figure
    from bentpipe.plots.timeline import Timeline
    from bentpipe.runs import Run

TABLES = ("legs", "legs_series")
"""The tables of this section."""

ABOUT = (
    "A gateway ends each connection of these flows and opens another one. Each leg is a TCP "
    "connection with its own window and round-trip time. The counts of the flow are of all legs, "
    "and it has no round-trip time, because no connection spans the path."
)
DRAWN = (
    ("cwnd_bytes", "Congestion window of each leg", "cwnd", "B"),
    ("srtt_ms", "Smoothed round-trip time of each leg", "srtt", "ms"),
    ("held_bytes", "Data that gateways hold for the next leg", "held data", "B"),
)
"""Column, title, label of the y axis and unit of each figure of `legs_series`."""


def legs_section(run: Run, timeline: Timeline) -> Section:
    """The section; without blocks if no gateway splits a flow."""
    names = run.recording.names
    if TABLES[0] not in names:
        return Section("legs", "Legs of split flows", [])
    if "beams" in names:
        return Section("legs", "Legs of split flows", [Text([ABOUT]), legs_of_beams(run)])
    legs = run.recording.table(TABLES[0])
    flows = {flow.flow: flow for flow in run.recording.flows}
    blocks: list[Text | Table | Figure] = [Text([ABOUT]), legs_table(legs, flows)]
    if TABLES[1] in names:
        series = run.recording.table(TABLES[1])
        numbers = {name: number for number, name in enumerate(run.flows["flow"])}
        named = legs.select(
            "leg",
            label=pl.format("{}: {} to {}, {}", "flow", "from", "to", "controller"),
            flow=pl.col("flow").replace_strict(numbers, return_dtype=pl.UInt32),
        )
        labelled = series.join(named, on=["flow", "leg"]).sort("flow", "leg", "t_s")
        blocks += figures(labelled, run, timeline)
    return Section("legs", "Legs of split flows", blocks)


def legs_of_beams(run: Run) -> Table:
    """Totals of the legs of all copies of each `[[flow]]`, of which a beam has thousands."""
    columns = [
        Column(heading.removeprefix("<"), numeric=not heading.startswith("<"))
        for heading in LEG_HEADINGS
    ]
    rows = [[Cell(text) for text in row] for row in leg_groups(run.recording)]
    return Table("legs-table", "Totals of the legs of each flow, all terminals together",
                 columns, rows)  # fmt: skip


def limited_legs(run: Run) -> dict[str, Callable[[str], float | None]]:
    """The legs of split flows by name, with their values by column, if they have limits."""
    if TABLES[0] not in run.recording.names:
        return {}
    legs = run.recording.table(TABLES[0])
    if "limited_s" not in legs.columns:
        return {}
    return {
        f"{row['flow']}: {row['from']} to {row['to']}": row.get
        for row in legs.iter_rows(named=True)
    }


def whole_row(flow: Flow, first: str, last: str, size: float) -> list[Cell]:
    """The flow from end to end, above its legs. It has no connection and no RTT of its own."""
    found = packets(flow)
    counts = (
        found and found.segments_sent,
        found and found.segments_retransmitted,
        (timed := timers(flow)) and timed.timeouts,
    )
    nothing = Cell(NONE)
    return [
        Cell(flow.flow),
        Cell(f"end to end, {first} to {last}"),
        Cell(flow.protocol),
        Cell(flow.controller),
        Cell(significant(flow.bytes / size, 4), flow.bytes),
        nothing,
        *(Cell(count(value), value) for value in counts),
        *[nothing] * 4,
    ]


def legs_table(legs: pl.DataFrame, flows: Mapping[str, Flow]) -> Table:
    """Totals of each leg, below those of its flow from end to end."""
    size, unit = scale("B", legs["bytes"])
    held, held_unit = scale("B", legs["held_bytes"])
    columns = [
        Column("flow", numeric=False),
        Column("leg", numeric=False),
        Column("protocol", numeric=False),
        Column("controller", numeric=False),
        Column("delivered", unit),
        Column("connections"),
        Column("segments sent"),
        Column("retransmitted"),
        Column("timeouts"),
        Column("minimum RTT", "ms"),
        Column("srtt at end", "ms"),
        Column("held at end", held_unit),
        Column("discarded", "B"),
    ]

    def number(value: float | None, size: float = 1.0) -> Cell:
        return Cell(significant(None if value is None else value / size, 4), value)

    rows: list[list[Cell]] = []
    ways = {
        name: (own["from"][0], own["to"][-1])
        for (name,), own in legs.group_by("flow", maintain_order=True)
    }
    for row in legs.iter_rows(named=True):
        if row["flow"] in flows and not any(cells[0].text == row["flow"] for cells in rows):
            rows.append(whole_row(flows[row["flow"]], *ways[row["flow"]], size))
        rows.append([
            Cell(row["flow"]),
            Cell(f"{row['from']} to {row['to']}"),
            # Recordings of earlier versions do not name it.
            Cell(row.get("protocol", "")),
            Cell(row["controller"]),
            number(row["bytes"], size),
            *(
                Cell(count(row[name]), row[name])
                for name in (
                    "connections",
                    "segments_sent",
                    "segments_retransmitted",
                    "timeouts",
                )
            ),
            number(row["min_rtt_ms"]),
            number(row["srtt_ms"]),
            number(row["held_bytes"], held),
            Cell(count(row["discarded_bytes"]), row["discarded_bytes"]),
        ])  # fmt: skip
    return Table("legs-table", "Totals of each flow and its legs", columns, rows)


def figures(series: pl.DataFrame, run: Run, timeline: Timeline) -> list[Figure]:
    """What arrived on each leg and end to end, and the state of each leg."""
    size, unit = scale("B", series["bytes"])
    split = series["flow"].unique().to_list()
    names = {number: f"{name}: end to end" for number, name in enumerate(run.flows["flow"])}
    whole = run.flow_series.filter(pl.col("flow").is_in(split)).select(
        pl.col("flow").replace_strict(names, return_dtype=pl.String).alias("series"),
        x="t_s",
        y=pl.col("delivered_bytes") / size,
    )
    arrived = series.select(series="label", x="t_s", y=pl.col("bytes") / size)
    title, y = "Data that has arrived, on each leg and end to end", f"data ({unit})"
    points = pl.concat([arrived, whole])
    notes = ["The last leg and the flow are one line where the application reads at once."]
    drawn = [
        line_figure("legs-bytes", title, "time (s)", y, points, notes=notes, timeline=timeline)
    ]
    for column, title, label, kind in DRAWN:
        known = series.drop_nulls(column)
        if column == "held_bytes":
            known = known.filter(pl.col(column).max().over("label") > 0)
        if known.is_empty():
            continue
        size, unit = scale(kind, known[column])
        points = known.select(series="label", x="t_s", y=pl.col(column) / size)
        name, y = f"legs-{column.partition('_')[0]}", f"{label} ({unit})"
        drawn.append(line_figure(name, title, "time (s)", y, points, timeline=timeline))
    return drawn
