"""The part of a page on the scenario behind its data, and the command to repeat it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import bentpipe
from bentpipe.numbers import amount, count, significant
from bentpipe.report.page import Column, Details, Section, Table, Text, words
from bentpipe.report.source import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.explanation import Explanation, Figures
    from bentpipe.plots import Figure

FACTS = ("route", "round trip", "bottleneck", "BDP", "window", "packet error rate")
"""The columns of the table that a reader needs first."""


def explained(path: Path) -> Explanation | None:
    """The explanation of a saved scenario; None if it cannot be read any more."""
    try:
        return bentpipe.Scenario.load(path).explain()
    except bentpipe.BentpipeError:
        return None


def facts_table(explanation: Explanation) -> Table:
    """The limits of each flow: route, round trip, bottleneck, BDP and window."""
    rows = []
    for flow in explanation.flows:
        name = flow.name if flow.count == 1 else f"{flow.name} x {flow.count}"
        rows.append(words(name, flow.summary, " \N{RIGHTWARDS ARROW} ".join(flow.route),
                          *facts(flow.figures)))  # fmt: skip
    columns = [Column(label, numeric=False) for label in ("flow", "traffic", *FACTS)]
    return Table("facts", "What limits each flow", columns, rows)


def facts(figures: Figures) -> list[str]:
    """The figures of a flow in words, one for each column after the route."""
    shared = f", shared by {figures.bottleneck_flows} flows" if figures.bottleneck_flows > 1 else ""
    several = f" in each of {figures.connections} connections" if figures.connections > 1 else ""
    rate, delay = (
        " (mean of the trace)" if is_mean else ""
        for is_mean in (figures.mean_rate, figures.mean_delay)
    )
    if figures.rate_range_bps:
        low, high = (amount(end, "bit/s") for end in figures.rate_range_bps)
        rate += f" at the start ({low} to {high} in the run)"
    if figures.rtt_range_ms:
        low, high = (significant(end) for end in figures.rtt_range_ms)
        delay += f" at the start ({low} to {high} ms in the run)"
    changes = " at the start" if figures.rate_range_bps or figures.rtt_range_ms else ""
    return [
        f"{significant(figures.propagation_rtt_ms)} ms propagation{delay}, "
        f"{significant(figures.base_rtt_ms)} ms with a full packet of {figures.packet_bytes} B",
        f"{figures.bottleneck}: {amount(figures.bottleneck_bps, 'bit/s')} of IP packets{rate}, "
        f"{amount(figures.capacity_bps, 'bit/s')} of payload{shared}",
        f"{amount(figures.bdp_bytes, 'B')} = {significant(figures.bdp_segments)} segments{changes}",
        f"at most {amount(figures.window_bytes, 'B')} = {count(figures.window_segments)} segments"
        f"{several}: {amount(figures.window_limit_bps, 'bit/s')}",
        f"{significant(figures.per, 3)} of a full packet, {significant(figures.ack_per, 3)} of an "
        "ACK",
    ]


def endless_flows(explanation: Explanation | None) -> set[str]:
    """The names of flows that go on until the run ends."""
    flows = explanation.flows if explanation else []
    return {flow.name for flow in flows if flow.endless}


def made_with(version: str, command: Sequence[str]) -> list[Text | Details]:
    """The version, and the command that reproduces the data."""
    return [
        Text([f"Made by Bentpipe {version}. The same version reproduces the same numbers with:"]),
        Details("Command", shlex.join(command), copy=True, open=True),
    ]


def scenario_section(
    path: Path, version: str, command: Sequence[str], explanation: Explanation | None
) -> Section:
    """The scenario with all its settings, and the command that reproduces the data."""
    blocks: list[Text | Table | Details | Figure] = [
        *made_with(version, command),
        Details(f"Scenario {path.name}", read_text(path), copy=True),
    ]
    if explanation is None:
        reason = "The defaults are not known. The scenario cannot be read any more, because "
        blocks.append(Text([reason + "files that it refers to are not in the folder."]))
    else:
        title = "Every setting, with its defaults"
        if bentpipe.__version__ != version:
            title += f" (as Bentpipe {bentpipe.__version__} reads the scenario)"
        blocks.append(Details(title, str(explanation)))
    return Section("scenario", "Scenario and version", blocks)


def studies_section(
    folder: Path, studies: Sequence[str], version: str, command: Sequence[str]
) -> Section:
    """The scenarios of several studies in one folder, and the command that runs all of them."""
    scenarios: list[Text | Table | Details | Figure] = [
        Details(f"Scenario {name}", read_text(folder / name / "scenario.toml"), copy=True)
        for name in studies
    ]
    blocks: list[Text | Table | Details | Figure] = [
        *made_with(version, command),
        Text(["The controllers replace the one that is written in each scenario. Each scenario is "
              "a study in its own folder, of which the command report also makes a page."]),
        *scenarios,
    ]  # fmt: skip
    return Section("scenario", "Scenarios and version", blocks)
