"""`bentpipe replay cwnd`: a controller next to the window of a measured connection.

The engine drives the controller (crate `measured`). This module reads the file, chooses the variant
of the sender's system, and compares.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe import _native
from bentpipe.errors import BentpipeError, ControllerError, InputError
from bentpipe.problems import UnfitError, quoted
from bentpipe.prototypes.spec import Spec
from bentpipe.traces import formats, programs

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe._native import CwndReplay, Scenario
    from bentpipe.errors import Problem
    from bentpipe.traces.programs import Sender

QUANTILES = (5, 25, 50, 75, 95)
"""Percentiles of the errors of peaks."""


@dataclass(frozen=True)
class Comparison:
    """A controller next to the window of a measured connection."""

    controller: str
    variant: str
    """`linux` for Linux's controller of this name, otherwise `original`."""
    variant_from: str | None
    """The system of the sender, if it has chosen the variant."""
    measured_controller: str | None
    """The controller that the file names."""
    mss: int
    """Segment size in bytes."""
    losses: int
    timeouts: int
    epochs: int
    measured_growth: float
    """Growth of the measured window in segments, summed over the epochs."""
    replayed_growth: float
    """Growth of the controller's window in segments, summed over the epochs."""
    growth_error_percent: float
    peak_error_percent: dict[str, float]
    """Percentiles 5, 25, 50, 75 and 95 of the error of the window at the end of an epoch."""

    def to_dict(self) -> dict[str, Any]:
        """Its attributes as data."""
        return asdict(self)


def replay(file: Path, controller: str) -> tuple[Sender, CwndReplay, Comparison]:
    """Drive a controller with a report of iperf3, and compare the windows.

    `controller` is a name with parameters such as `cubic:c=0.8`. Linux's variant is taken if the
    report is from Linux, the controller has this variant, and `controller` names none.
    `ControllerError` or `TraceError` if one of them cannot be used.
    """
    sender = programs.sender(file, formats.content(file))
    scenario, variant_from = chosen(controller, sender)
    samples = zip(sender.end_s.tolist(), sender.cwnd, sender.rtt_s.tolist(), sender.retransmits,
                  strict=True)  # fmt: skip
    try:
        found = _native.replay_cwnd(scenario, sender.mss, list(samples))
    except ControllerError as error:
        raise ControllerError(f"{file}: {error}") from None
    return sender, found, compare(sender, found, variant_from)


def chosen(controller: str, sender: Sender) -> tuple[Scenario, str | None]:
    """A scenario with the controller, and the system that has chosen its variant."""
    try:
        spec = Spec.parse(controller)
        if spec.in_python:
            raise UnfitError("a controller of the registry", quoted(controller))
    except UnfitError as error:
        raise ControllerError(f"--controller: {error}") from None
    system = " ".join(sender.system.split()[:3:2])
    known = {entry.name: entry for entry in _native.controllers()}
    entry = known.get(spec.target)
    has_linux = entry is not None and any(one.variant == "linux" for one in entry.variants)
    takes = has_linux and sender.system.startswith("Linux") and "variant" not in spec.parameters
    # The variant comes first: it decides which parameters there are.
    parameters = ({"variant": "linux"} if takes else {}) | spec.parameters
    return scenario_of(Spec(spec.target, parameters)), system if takes else None


def scenario_of(spec: Spec) -> Scenario:
    """A scenario with one flow that has the controller; `ControllerError` if there is none."""
    value = {"name": spec.target, **spec.parameters} if spec.parameters else spec.target
    link = {"between": ["server", "client"], "rate": "1Mbit/s", "delay": "1ms"}
    flow = {"from": "server", "to": "client", "controller": value, "traffic": {"bulk": "unlimited"}}
    try:
        return _native.Scenario.build(name="replay", link=[link], flow=[flow])
    except InputError as error:
        problem = error.errors[0]
        key = problem.path.rpartition("controller")[2].lstrip(".")
        raise ControllerError(
            f"--controller: {key}{': ' if key else ''}expected {problem.expected}, found"
            f" {problem.found}{nearest(problem)}"
        ) from None


def nearest(problem: Problem) -> str:
    """The nearest valid name of an error."""
    return f"; did you mean {problem.suggestion}?" if problem.suggestion else ""


def compare(sender: Sender, found: CwndReplay, variant_from: str | None) -> Comparison:
    """Sums and percentiles over the epochs."""
    epochs = np.array(
        [(one.start, one.measured, one.replayed) for one in found.epochs], dtype=float
    )
    if not len(epochs):
        raise BentpipeError("expected an epoch of at least two samples between losses, found none")
    start, measured, replayed = epochs.T / sender.mss
    growth, own = float((measured - start).sum()), float((replayed - start).sum())
    if growth <= 0:
        raise BentpipeError("expected a window that grows between losses, found none")
    errors = np.percentile(100 * (replayed / measured - 1), QUANTILES)
    return Comparison(
        controller=found.controller,
        variant=found.variant,
        variant_from=variant_from,
        measured_controller=sender.controller,
        mss=sender.mss,
        losses=found.losses,
        timeouts=found.timeouts,
        epochs=len(found.epochs),
        measured_growth=growth,
        replayed_growth=own,
        growth_error_percent=100 * (own / growth - 1),
        peak_error_percent={f"p{q}": float(x) for q, x in zip(QUANTILES, errors, strict=True)},
    )
