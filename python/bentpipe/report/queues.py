"""The queue before the bottleneck in kB and in ms, as a reader of a page compares it."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.numbers import amount
from bentpipe.report.scenarios import explained
from bentpipe.report.source import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.explanation import Figures


PATH = ".queue"
"""End of the paths of queues."""


def kilobytes(figures: Figures | None) -> str:
    """The capacity of the queue: `300 kB`; empty if it is not known or unlimited."""
    if figures is None or not figures.bottleneck_queue_bytes:
        return ""
    return f"{figures.bottleneck_queue_bytes / 1e3:,.4g} kB"


def milliseconds(figures: Figures | None) -> str:
    """The time in which the bottleneck empties its full queue: `48 ms`."""
    if figures is None or not figures.bottleneck_queue_bytes:
        return ""
    drain_ms = 8e3 * figures.bottleneck_queue_bytes / figures.bottleneck_bps
    return f"{drain_ms:,.4g} ms"


def size(figures: Figures | None) -> str:
    """The queue in kB and ms: `300 kB, 48 ms`; empty if it is not known."""
    return ", ".join(filter(None, (kilobytes(figures), milliseconds(figures))))


def sentence(folder: Path) -> list[str]:
    """A sentence on the queue of the scenario of a study, if it is known."""
    explanation = explained(folder / "scenario.toml")
    figures = explanation.flows[0].figures if explanation and explanation.flows else None
    if not kilobytes(figures) or figures is None:
        return []
    return [
        f"Queue at {figures.bottleneck}: {kilobytes(figures)}, which is {milliseconds(figures)} at "
        f"{amount(figures.bottleneck_bps, 'bit/s')}."
    ]


def of_study(folder: Path) -> list[Figures | None]:
    """The figures of the first flow for each queue that a study compares, in their order.

    The queue is the parameter whose path ends with `.queue`. Empty without one.
    """
    try:
        parameters: list[dict[str, Any]] = json.loads(read_text(folder / "study.json"))[
            "parameters"
        ]
        queues = next(one for one in parameters if one["path"].endswith(PATH))
        scenario = bentpipe.Scenario.load(folder / "scenario.toml")
    except (ValueError, KeyError, StopIteration, bentpipe.BentpipeError):
        return []
    found: list[Figures | None] = []
    for value in queues["values"]:
        try:
            setting = tomllib.loads(f"queue = {value}")["queue"]
            flows = scenario.with_({queues["path"]: setting}).explain().flows
            found.append(flows[0].figures)
        except (tomllib.TOMLDecodeError, bentpipe.BentpipeError):
            found.append(None)
    return found
