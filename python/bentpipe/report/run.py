"""The page of one run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe._native import Recording
from bentpipe.counts import has_other_protocols, packets, timers
from bentpipe.numbers import amount, count, on_pages, percent, scale, significant
from bentpipe.pages.waterfall import waterfalls
from bentpipe.plots import Figure, line_figure
from bentpipe.report import pages_loaded
from bentpipe.report.beams import beams_section, flow_groups_table, has_beams
from bentpipe.report.kernel import kernel_section, kernel_summary
from bentpipe.report.legs import legs_section, limited_legs
from bentpipe.report.limits import limit_blocks, limit_sentence
from bentpipe.report.mechanisms import mechanisms_section
from bentpipe.report.over_time import (
    events_table,
    losses_figure,
    saved_scenario,
    sequence_blocks,
    signal_figure,
    timeline_of,
)
from bentpipe.report.page import Cell, Column, Page, Section, Table, Text
from bentpipe.report.scenarios import (
    endless_flows,
    explained,
    facts_table,
    scenario_section,
)
from bentpipe.report.switches import moves
from bentpipe.report.traces import figures as trace_figures
from bentpipe.report.traces import traces_of, weak_signals
from bentpipe.runs import Run

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from bentpipe._native import Flow, Link, Signal
    from bentpipe.explanation import Explanation
    from bentpipe.plots.timeline import Timeline
    from bentpipe.report.traces import Trace

RECORD = (
    "No series were recorded, so there are no figures of flows and links over time. Run the "
    "scenario again with --set record.interval=100ms to record cwnd, srtt, goodput and queues "
    "every 100 ms."
)

ABOVE = 1.02
"""Share of the rate from which a sample is above it, because samples begin within packets."""

FLOW_SERIES = (
    ("cwnd", "Congestion window", "cwnd", "cwnd_bytes", "B"),
    ("flight", "Data in flight", "flight size", "flight_bytes", "B"),
    ("goodput", "Goodput since the previous sample", "goodput", "goodput_bps", "bit/s"),
    ("srtt", "Smoothed round-trip time", "srtt", "srtt_ms", "ms"),
)
LINK_SERIES = (
    ("queue", "Queue of each link direction", "queue", "queue_bytes", "B"),
    ("utilisation", "Utilisation of each link direction", "utilisation", "utilisation", "%"),
)
"""Name, title, label of the y axis, column and unit of each figure."""


def run_page(folder: Path) -> Page:
    """The page of a folder of `bentpipe run --out`."""
    run = Run(Recording.load(folder), folder / "scenario.toml")
    scenario = folder / "scenario.toml"
    explanation = explained(scenario)
    flows, links = run.recording.flows, run.recording.links
    saved = saved_scenario(scenario)
    signals = saved.signals() if saved else []
    delay_s = saved.event_delay_s(run.seed) if saved else 0.0
    traces = traces_of(folder, run.recording, run.simulated_s)
    silences = [span for one in traces for span in one.outages(run.simulated_s)]
    silences += weak_signals(run.recording, run.simulated_s)
    timeline = timeline_of(run, explanation, signals, delay_s, silences)
    timeline = timeline.with_events(moves(run, explanation, delay_s))
    directions = [direction_name(link) for link in links]
    on_kernel = run.recording.kernel is not None
    sections = [
        Section("what", "Scenario in brief", what_was_run(run, explanation)),
        Section(
            "flows",
            "Flows",
            [
                flow_groups_table(flows),
            ]
            if has_beams(run.recording)
            else [
                flows_table(flows, on_kernel),
                *limit_blocks(flows, on_kernel, limited_legs(run)),
                *pages_loaded.blocks(run),
                *waterfalls(run),
            ],
        ),
        legs_section(run, timeline),
        beams_section(run, timeline),
        Section("links", "Links", [links_table(links)]),
        Section("time", "Over time", over_time(run, explanation, traces, signals, timeline)),
        mechanisms_section(run, directions, timeline),
        Section("sequence", "Time-sequence graphs", sequence_blocks(run, folder, timeline)),
    ]
    sections = [section for section in sections if section.blocks]
    kernel = run.kernel
    if kernel:
        sections.insert(1, kernel_section(kernel))
    command = ["bentpipe", "run", "scenario.toml"]
    if kernel:
        command += ["--backend", "kernel"]
    sections.append(scenario_section(scenario, run.version, command, explanation))
    return Page(
        title=run.name,
        subtitle=f"One run on the {run.backend}, seed {run.seed}",
        version=run.version,
        summary=summary(run),
        sections=sections,
        warnings=run_warnings(run, endless_flows(explanation)),
        things=[*(flow.flow for flow in flows), *directions],
    )


# ------------------------------------------------------------------------------------- summary


def summary(run: Run) -> list[str]:
    """The result in sentences."""
    flows = run.recording.flows
    lines = [flow_sentence(flows[0]) if len(flows) == 1 else flows_sentence(run)]
    lines += [
        pages_loaded.sentence(run),
        loss_sentence(flows),
        links_sentence(run.recording.links),
    ]
    kernel = run.kernel
    lines.append(kernel_summary(kernel) if kernel else effort_sentence(run))
    return [line for line in lines if line]


def run_warnings(run: Run, endless: set[str]) -> list[str]:
    """Warnings that affect the interpretation of the numbers."""
    found = []
    if run.partial:
        found.append("The run was interrupted. The page shows the results until then.")
    unfinished = [
        flow.flow
        for flow in run.recording.flows
        if not flow.completed and not endless & {flow.flow, flow.flow.rpartition(".")[0]}
    ]
    if unfinished:
        few = ", ".join(unfinished[:5]) + (" and others" if len(unfinished) > 5 else "")
        found.append(f"Not finished at the end of the run: {few}.")
    return found


def flow_sentence(flow: Flow) -> str:
    """A sentence on a single flow."""
    took = f" in {significant(flow.completion_s)} s" if flow.completion_s is not None else ""
    return (
        f"The flow {flow.flow} with the congestion controller {flow.controller} delivered "
        f"{amount(flow.bytes, 'B', 4)}{took}. Its goodput is "
        f"{amount(flow.goodput_bps, 'bit/s')}.{limit_sentence(flow)}"
    )


def flows_sentence(run: Run) -> str:
    """Sentences on several flows and their fairness."""
    flows = run.recording.flows
    if not flows:
        return "Nothing was sent."
    rates = [flow.goodput_bps for flow in flows]
    kinds = sorted({flow.controller for flow in flows})
    jain = run.jain_index
    equal = "" if jain is None else f" Jain's fairness index is {jain:.3f}; 1 is an equal share."
    return (
        f"{count(len(flows))} flows with {', '.join(kinds)} delivered "
        f"{amount(sum(flow.bytes for flow in flows), 'B', 4)}. "
        f"Goodput is {amount(min(rates, default=None), 'bit/s')} for the slowest flow and "
        f"{amount(max(rates, default=None), 'bit/s')} for the fastest.{equal}"
    )


def loss_sentence(flows: Sequence[Flow]) -> str:
    """A sentence on retransmissions and timeouts."""
    totals = [found for flow in flows if (found := packets(flow))]
    sent = sum(found.segments_sent for found in totals)
    again = sum(found.segments_retransmitted for found in totals)
    timed = [found for flow in flows if (found := timers(flow))]
    timeouts = sum(found.timeouts for found in timed)
    if not sent:
        return ""
    waited = {0: "There was no timeout.", 1: "There was one timeout."}
    ends = waited.get(timeouts, f"There were {count(timeouts)} timeouts.") if timed else ""
    return (
        f"{count(again)} of {count(sent)} segments ({percent(again / sent)} %) were "
        f"retransmitted. {ends}"
    ).rstrip()


def links_sentence(links: Sequence[Link]) -> str:
    """A sentence on the busiest link and on lost packets."""
    if not links:
        return ""
    busiest = max(links, key=lambda link: link.utilisation)
    dropped = sum(link.dropped_packets for link in links)
    corrupted = sum(link.corrupted_packets for link in links)
    return (
        f"The busiest link was {direction_name(busiest)}, with a utilisation of "
        f"{percent(busiest.utilisation)} %. Queues dropped {count(dropped)} packets "
        f"and channels corrupted {count(corrupted)}."
    )


def effort_sentence(run: Run) -> str:
    """A sentence on the simulated time and the wall time."""
    return (
        f"{significant(run.simulated_s)} s of network time were simulated in "
        f"{significant(run.wall_s, 2)} s, with {count(run.events)} events."
    )


# -------------------------------------------------------------------------------------- tables


def what_was_run(run: Run, explanation: Explanation | None) -> list[Any]:
    """The limits of each flow, and warnings about the scenario."""
    facts = facts_table(explanation) if explanation else None
    warned = [one.sentence for one in explanation.warnings] if explanation else []
    blocks: list[Any] = [facts] if facts else []
    if warned:
        blocks += [Text(["Warnings about the scenario:"]), Text(warned, marked=True)]
    if not blocks:
        nodes = {link.link for link in run.recording.links}
        blocks.append(Text([f"{len(run.recording.flows)} flows over {len(nodes)} links."]))
    return blocks


def rtt_headings(smoothed: bool) -> tuple[str, ...]:
    """Headings of the RTT. The kernel reports a smoothed RTT and no samples."""
    return ("srtt at end",) if smoothed else ("median RTT", "p95 RTT")


def rtt_cells(flow: Flow, smoothed: bool) -> list[Cell]:
    """The cells below `rtt_headings`."""
    found = [flow.srtt_ms] if smoothed else [flow.median_rtt_ms, flow.p95_rtt_ms]
    return [cell(value) for value in found]


def flows_table(flows: Sequence[Flow], smoothed: bool) -> Table:
    """Totals of the flows; the column of probes only if a flow sent some."""
    probing = any(flow.tcp and flow.tcp.probes_sent for flow in flows)
    named = has_other_protocols(flows)
    size, bytes_unit = scale("B", (flow.bytes for flow in flows))
    speed, speed_unit = on_pages("bit/s", (flow.goodput_bps for flow in flows))
    columns = [
        Column("flow", numeric=False),
        Column("controller", numeric=False, choices=len({f.controller for f in flows}) > 1),
        *([Column("transport", numeric=False)] if named else []),
        Column("delivered", bytes_unit),
        Column("FCT", "s"),
        Column("goodput", speed_unit),
        Column("segments sent"),
        Column("retransmitted"),
        Column("retransmitted", "%"),
        *([Column("probes sent")] if probing else []),
        Column("timeouts"),
        Column("recoveries"),
        Column("minimum RTT", "ms"),
        *(Column(heading, "ms") for heading in rtt_headings(smoothed)),
    ]
    rows = [
        [
            Cell(flow.flow),
            Cell(flow.controller),
            *([Cell(flow.protocol)] if named else []),
            cell(flow.bytes, size),
            cell(flow.completion_s),
            cell(flow.goodput_bps, speed),
            *packet_cells(flow, probing=probing),
            cell(flow.min_rtt_ms),
            *rtt_cells(flow, smoothed),
        ]
        for flow in flows
    ]
    return Table("flows-table", "Totals of each flow", columns, rows)


def packet_cells(flow: Flow, *, probing: bool) -> list[Cell]:
    """Counts of packets, with probes if `probing`; cells are empty if a protocol lacks a count."""
    found, tcp, timed = packets(flow), flow.tcp, timers(flow)
    if found is None:
        return [whole(None)] * (6 if probing else 5)
    return [
        whole(found.segments_sent),
        whole(found.segments_retransmitted),
        cell(share(found.segments_retransmitted, found.segments_sent), 0.01, 3),
        *([whole(tcp and tcp.probes_sent)] if probing else []),
        whole(timed and timed.timeouts),
        whole(getattr(found, "fast_recoveries", None)),
    ]


def links_table(links: Sequence[Link]) -> Table:
    """Totals of the directions of links."""
    size, unit = scale("B", (link.delivered_bytes for link in links))
    queue, queue_unit = scale("B", (link.max_queue_bytes for link in links))
    columns = [
        Column("link", numeric=False),
        Column("direction", numeric=False),
        Column("utilisation", "%"),
        Column("delivered", "packets"),
        Column("delivered", unit),
        Column("queue drops", "packets"),
        Column("corrupted", "packets"),
        Column("p95 queueing delay", "ms"),
        Column("maximum queue", queue_unit),
    ]
    rows = [
        [
            Cell(link.link),
            Cell(link.direction),
            cell(link.utilisation, 0.01, 3),
            whole(link.delivered_packets),
            cell(link.delivered_bytes, size),
            whole(link.dropped_packets),
            whole(link.corrupted_packets),
            cell(link.p95_queueing_delay_ms),
            cell(link.max_queue_bytes, queue),
        ]
        for link in links
    ]
    return Table("links-table", "Totals of each direction of each link", columns, rows)


def cell(value: float | None, size: float = 1.0, digits: int = 4) -> Cell:
    """A number in a larger unit."""
    return Cell(significant(None if value is None else value / size, digits), value)


def whole(value: float | None) -> Cell:
    """A whole number."""
    return Cell(count(value), value)


def share(part: float, of: float) -> float | None:
    """A part of a whole; None if the whole is zero."""
    return part / of if of else None


def direction_name(link: Link) -> str:
    """A direction of a link in words."""
    return f"{link.link} ({link.direction})"


# ------------------------------------------------------------------------------------- figures


def over_time(
    run: Run,
    explanation: Explanation | None,
    traces: Sequence[Trace],
    signals: Sequence[Signal],
    timeline: Timeline,
) -> list[Any]:
    """The figures over time with the marks that all of them have, or what to record for them."""
    drawn = figures(run, signals, timeline)
    rates = {rate for one in traces if (rate := highest(one.table["rate_bps"]))}
    drawn = [
        replace(one, notes=(*one.notes, *above_rate(run, explanation, rates)))
        if one.name == "goodput"
        else one
        for one in drawn
    ]
    drawn += trace_figures(traces, timeline)
    blocks: list[Any] = []
    if drawn and not timeline.is_empty:
        blocks.append(Text([timeline.legend()]))
    if run.flow_series.is_empty():
        blocks.append(Text([RECORD]))
    blocks += drawn
    return [*blocks, events_table(timeline)] if timeline.events else blocks


def highest(values: pl.Series) -> float | None:
    """The largest value; None without any."""
    known = values.drop_nulls()
    return float(known.to_numpy().max()) if len(known) else None


def above_rate(run: Run, explanation: Explanation | None, traced: Collection[float]) -> list[str]:
    """Why the goodput of a sample is above the rate of the bottleneck, if one is.

    `traced` are the highest rates of traces. A modem changes the rate too, so that the highest
    rate is that of its samples.
    """
    if explanation is None or run.flow_series.is_empty():
        return []
    sampled = run.recording.table("acm_series") if "acm_series" in run.recording.names else None
    modem = highest(sampled["rate_bps"]) if sampled is not None else None
    bottlenecks = [flow.figures.bottleneck_bps for flow in explanation.flows]
    rate = max([*bottlenecks, *traced, *([modem] if modem else [])], default=0.0)
    goodput = run.flow_series["goodput_bps"].drop_nulls()
    above = int((goodput > ABOVE * rate).sum())
    if not above or not rate:
        return []
    times = "One sample is" if above == 1 else f"{count(above)} samples are"
    return [
        f"{times} above the {amount(rate, 'bit/s')} of the bottleneck: data that arrived out of "
        "order waits for a retransmission, and reaches the application with it all at once."
    ]


def figures(run: Run, signals: Sequence[Signal], timeline: Timeline) -> list[Figure]:
    """The figures of the signal and of the recorded series."""
    names = [f"{flow.flow}, {flow.controller}" for flow in run.recording.flows]
    directions = [direction_name(link) for link in run.recording.links]
    drawn = [series_figure(run.flow_series, "flow", names, timeline, *kind)
             for kind in FLOW_SERIES]  # fmt: skip
    drawn += [series_figure(run.link_series, "link", directions, timeline, *kind)
              for kind in LINK_SERIES]  # fmt: skip
    drawn += [
        losses_figure(run, directions, timeline),
        signal_figure(signals, directions, timeline),
        pages_figure(run.pages, run.flows["flow"].to_list(), timeline),
    ]
    return [figure for figure in drawn if figure]


def series_figure(
    table: pl.DataFrame,
    entity: str,
    names: Sequence[str],
    timeline: Timeline,
    name: str,
    title: str,
    label: str,
    column: str,
    unit: str,
) -> Figure | None:
    """A column of a series over time, with a line for each flow or link direction."""
    table = table.select(entity, "t_s", column).drop_nulls()
    size, unit = (0.01, "%") if unit == "%" else on_pages(unit, table[column])
    if entity == "link":
        table = table.filter(pl.col(column).max().over(entity) > 0)
    points = table.sort(entity, maintain_order=True).select(
        pl.col(entity)
        .replace_strict(dict(enumerate(names)), return_dtype=pl.String)
        .alias("series"),
        pl.col("t_s").alias("x"),
        (pl.col(column) / size).alias("y"),
    )
    if points.is_empty():
        return None
    idle = entity == "link" and points["series"].n_unique() < len(names)
    notes = ["Directions with only zeros are left out."] if idle else []
    return line_figure(name, title, "time (s)", f"{label} ({unit})", points, notes=notes,
                       timeline=timeline)  # fmt: skip


def pages_figure(table: pl.DataFrame, names: Sequence[str], timeline: Timeline) -> Figure | None:
    """Page load times, with a line for each flow."""
    points = (
        table.drop_nulls("response_s")
        .sort("start_s")
        .select(
            pl.col("flow")
            .replace_strict(dict(enumerate(names)), return_dtype=pl.String)
            .alias("series"),
            pl.col("start_s").alias("x"),
            pl.col("response_s").alias("y"),
        )
    )
    # One load has a row in the table, and no line.
    if points["series"].is_unique().all():
        return None
    title, y = "Page load time", "page load time (s)"
    return line_figure("pages", title, "start of the request (s)", y, points, timeline=timeline)
