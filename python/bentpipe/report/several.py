"""The page of several runs: their series in common figures, and their totals in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from bentpipe._native import Recording
from bentpipe.counts import packets, timers
from bentpipe.numbers import amount, count, significant
from bentpipe.plots.comparing import Series, distinguishing, plot
from bentpipe.plots.looks import MOST_SERIES
from bentpipe.plots.marks import check_distinguishable
from bentpipe.report.page import Cell, Column, Details, Page, Section, Table, Text
from bentpipe.report.run import cell, rtt_cells, rtt_headings, whole
from bentpipe.report.source import read_text
from bentpipe.runs import Run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TITLES = {
    "cwnd": "Congestion window",
    "goodput": "Goodput",
    "rtt": "Smoothed round-trip time",
    "queue": "Queue of each link direction",
}

NO_SERIES = (
    "Not all runs have series, so there are no figures. Run their scenarios again with "
    "--set record.interval=100ms."
)


def several_page(folders: Sequence[Path]) -> Page:
    """The page of several folders of `bentpipe run --out`."""
    runs = [Run(Recording.load(folder), folder / "scenario.toml") for folder in folders]
    labels = labels_of(runs, folders)
    versions = sorted({run.version for run in runs})
    return Page(
        title=" and ".join(dict.fromkeys(run.name for run in runs)),
        subtitle=f"{len(runs)} runs",
        version=", ".join(versions),
        summary=[sentence(run, label) for run, label in zip(runs, labels, strict=True)],
        sections=[
            Section("flows", "Flows", [flows_table(runs, labels)]),
            Section("time", "Over time", figures(runs, labels)),
            Section("scenario", "Scenarios and version", scenarios(runs, labels, folders)),
        ],
        things=labels,
        warnings=[
            f"{label}: the run was interrupted. The page shows the results until then."
            for run, label in zip(runs, labels, strict=True)
            if run.partial
        ],
    )


def labels_of(runs: Sequence[Run], folders: Sequence[Path]) -> list[str]:
    """What distinguishes the runs: names, controllers or seeds, or else their folders."""
    labels = distinguishing(runs)
    if any(label.endswith(")") for label in labels) or len(set(labels)) < len(labels):
        names = [folder.name for folder in folders]
        return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
    return labels


def sentence(run: Run, label: str) -> str:
    """A sentence on the goodput of a run."""
    flows = run.recording.flows
    total = amount(sum(flow.bytes for flow in flows), "B", 4)
    rate = amount(sum(flow.goodput_bps for flow in flows), "bit/s")
    several = f"{count(len(flows))} flows" if len(flows) > 1 else "one flow"
    return f"{label}: {several} delivered {total}, with a goodput of {rate} in all."


def flows_table(runs: Sequence[Run], labels: Sequence[str]) -> Table:
    """Totals of all flows, a row for each flow of each run."""
    smoothed = any(run.recording.kernel is not None for run in runs)
    columns = [
        Column("run", numeric=False, choices=True),
        Column("flow", numeric=False),
        Column("controller", numeric=False),
        Column("delivered", "MB"),
        Column("FCT", "s"),
        Column("goodput", "Mbit/s"),
        Column("retransmitted", "segments"),
        Column("timeouts"),
        Column("minimum RTT", "ms"),
        *(Column(heading, "ms") for heading in rtt_headings(smoothed)),
    ]
    rows = [
        [
            Cell(label),
            Cell(flow.flow),
            Cell(flow.controller),
            cell(flow.bytes, 1e6),
            cell(flow.completion_s),
            cell(flow.goodput_bps, 1e6),
            whole((found := packets(flow)) and found.segments_retransmitted),
            whole((timed := timers(flow)) and timed.timeouts),
            cell(flow.min_rtt_ms),
            *rtt_cells(flow, smoothed),
        ]
        for run, label in zip(runs, labels, strict=True)
        for flow in run.recording.flows
    ]
    return Table("flows-table", "Totals of each flow", columns, rows)


def figures(runs: Sequence[Run], labels: Sequence[str]) -> list[Any]:
    """The series of all runs, each in one figure. They zoom together."""
    if any(run.flow_series.is_empty() or run.link_series.is_empty() for run in runs):
        return [Text([NO_SERIES])]
    check_distinguishable(labels, "give fewer folders, or draw panels: bp.plot(runs, panels=True)")
    end_s = max(run.simulated_s for run in runs)
    return [
        plot(runs, series, labels=labels, end_s=end_s, panels=in_panels(runs, series)).renamed(
            series, TITLES[series]
        )
        for series in get_args(Series)
    ]


def in_panels(runs: Sequence[Run], series: Series) -> bool:
    """True if all lines of the runs in one figure could not be distinguished."""
    tables = [run.link_series if series == "queue" else run.flow_series for run in runs]
    lines = sum(table[table.columns[0]].n_unique() for table in tables)
    return lines > MOST_SERIES


def scenarios(runs: Sequence[Run], labels: Sequence[str], folders: Sequence[Path]) -> list[Any]:
    """The scenario and the version of each run."""
    return [
        Details(
            f"Scenario of {label}: seed {run.seed}, {run.backend}, "
            f"{significant(run.simulated_s)} s, Bentpipe {run.version}",
            read_text(folder / "scenario.toml"),
            copy=True,
        )
        for run, label, folder in zip(runs, labels, folders, strict=True)
    ]
