"""Curves of cwnd, and the distance between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import bentpipe

POINTS = 600
"""Number of times at which curves are compared."""


@dataclass(frozen=True)
class Curve:
    """cwnd in bytes over time in seconds, a mean over runs. Both have the shape `(n,)`."""

    time_s: np.ndarray
    cwnd_bytes: np.ndarray


def mean_cwnd(recordings: Iterable[bentpipe.Recording], only: int | None = None) -> Curve:
    """The mean over all flows and runs, while all of them run; with `only`, over that flow.

    A flow keeps its cwnd from one sample to the next. Single runs lose packets at different times,
    so only their means can be compared at a given time.
    """
    curves = []
    for recording in recordings:
        series = recording.table("flow_series")
        if only is not None:
            series = series.filter(series["flow"] == only)
        for _, flow in sorted(series.group_by("flow"), key=lambda group: str(group[0])):
            active = flow.filter(flow["cwnd_bytes"] > 0)
            if active.height:
                curves.append((active["t_s"].to_numpy(), active["cwnd_bytes"].to_numpy()))
    if not curves:
        return Curve(np.empty(0), np.empty(0))
    start = max(times[0] for times, _ in curves)
    end = min(times[-1] for times, _ in curves)
    instants = np.linspace(start, max(end, start), POINTS)
    held = [
        windows[np.searchsorted(times, instants, side="right") - 1] for times, windows in curves
    ]
    return Curve(instants, np.mean(held, axis=0))


def distance(one: Curve, reference: Curve) -> float | None:
    """Mean distance of two curves while both run, in percent of the mean of `reference`."""
    if not (one.time_s.size and reference.time_s.size):
        return None
    start = max(one.time_s[0], reference.time_s[0])
    end = min(one.time_s[-1], reference.time_s[-1])
    if end <= start:
        return None
    instants = np.linspace(start, end, POINTS)
    first, second = (
        np.interp(instants, curve.time_s, curve.cwnd_bytes) for curve in (one, reference)
    )
    return float(np.mean(np.abs(first - second)) / np.mean(second) * 100)
