"""The part of a page on the scenario behind its data, and the command to repeat it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import bentpipe
from bentpipe.numbers import NONE
from bentpipe.report.page import Column, Details, Section, Table, Text, words
from bentpipe.report.source import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.plots.vega import Figure

FACTS = ("route", "round trip", "bottleneck", "BDP", "window", "packet error rate")
"""The lines of `bentpipe explain` on a flow that a reader needs first."""


def explained(path: Path) -> str | None:
    """The text of `bentpipe explain` for a saved scenario; None if it cannot be read any more."""
    try:
        return bentpipe.Scenario.load(path).explain()
    except bentpipe.BentpipeError:
        return None


def facts_table(explanation: str) -> Table | None:
    """What limits each flow: its route, round trip, bottleneck, BDP and window."""
    rows = []
    for block in explanation.split("\n\n"):
        head, *lines = block.splitlines()
        if not head.startswith("Flow"):
            continue
        name, _, told = head.removeprefix("Flow").strip().partition(": ")
        found = dict(re.findall(r"^  (\S+(?: \S+)*) {2,}(.+)$", "\n".join(lines), re.MULTILINE))
        rows.append(words(name, told, *(found.get(fact, NONE) for fact in FACTS)))
    columns = [Column(label, numeric=False) for label in ("flow", "traffic", *FACTS)]
    return Table("facts", "What limits each flow", columns, rows) if rows else None


def endless_flows(explanation: str) -> set[str]:
    """The names of flows that go on until the run ends."""
    heads = re.findall(r"^Flow (\S+): (.+)$", explanation, re.MULTILINE)
    return {name for name, told in heads if " without end, " in told or " writes " in told}


def warnings_of(explanation: str) -> list[str]:
    """The warnings of `bentpipe explain`."""
    _, _, told = explanation.partition("\nWarnings\n")
    return [line.strip() for line in told.splitlines() if line.strip()]


def made_with(version: str, command: Sequence[str]) -> list[Text | Details]:
    """The version, and the command that reproduces the data."""
    return [
        Text([f"Made by Bentpipe {version}. The same version reproduces the same numbers with:"]),
        Details("Command", shlex.join(command), copy=True, open=True),
    ]


def scenario_section(
    path: Path, version: str, command: Sequence[str], explanation: str | None
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
        blocks.append(Details(title, explanation))
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
              "a study in its own folder, and `bentpipe report` can write a page about it."]),
        *scenarios,
    ]  # fmt: skip
    return Section("scenario", "Scenarios and version", blocks)
