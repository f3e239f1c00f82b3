"""A beam with sixteen terminals on both backends: downloads and pages at two loads.

The load is the share of the forward carrier that the downloads need while they begin. Terminals
have slots without requests (CRA), or request them by rate (RBDC).
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from bentpipe import _native
from suites.figures import Comparison, Metric, Subject, mean_of
from suites.suite import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe import Recording, Scenario

FILE = SCENARIOS / "beam.toml"
CAPACITY_BPS = 23.8e6
"""Rate of IP packets on the forward carrier of the file: `rate_bps` of a run by its airtime."""
TERMINALS = 16
SPREAD_S = 20.3
"""Time in which the downloads begin."""
SLOTS = {"CRA": ("requests=none", "cra=256kbit/s"), "RBDC": ("requests=rbdc",)}


def download(load: float) -> str:
    """The override with the size of each download for a load."""
    size = load * CAPACITY_BPS * SPREAD_S / 8 / TERMINALS
    return f"flow.download.traffic.download={size / 1e3:.0f}kB"


PATHS = {
    f"load {load:.0%}, {slots}".replace("%", " %"): (
        download(load),
        *(f"beam.spot.group.home.{one}" for one in SLOTS[slots]),
    )
    for load in (0.3, 0.9)
    for slots in SLOTS
}


def scenario(path: Iterable[str]) -> Scenario:
    """The beam at a load, with its slots."""
    return _native.Scenario.load(FILE, list(path))


def transfer(recording: Recording) -> float | None:
    """Mean completion time of the downloads; None if one did not end."""
    times = [one.completion_s for one in recording.flows if one.flow.startswith("download")]
    ended = [time for time in times if time is not None]
    return statistics.fmean(ended) if len(ended) == len(times) else None


def page(recording: Recording) -> float | None:
    """Mean load time of the pages; None if one did not end."""
    loads = recording.table("page_loads")["load_s"].to_list()
    ended = [load for load in loads if load is not None]
    return statistics.fmean(ended) if len(ended) == len(loads) == TERMINALS else None


def delay(direction: str) -> Metric:
    """Mean time of packets in the queue of a direction, of all terminals."""

    def of(recording: Recording) -> float:
        rows = recording.table("beam_terminals").rows(named=True)
        ours = [row for row in rows if row["direction"] == direction]
        packets = sum(row["packets"] for row in ours)
        waited = sum(row["packets"] * row["mean_delay_ms"] for row in ours)
        return float(waited / packets)

    return Metric(f"mean delay, {direction}", of, "ms", places=1)


def slots(recording: Recording) -> float:
    """Slots of the return channel that carried something."""
    (row,) = recording.table("beams").rows(named=True)
    return float(sum(row[name] for name in row if name.endswith("_used_slots")))


SUBJECTS = {
    "beam": Subject(
        scenario,
        (
            Metric("download", transfer, "s"),
            Metric("page load", page, "s"),
            Metric("airtime", mean_of("beams", "airtime"), "%", 100, places=1),
            delay("forward"),
            delay("return"),
            Metric("used slots", slots, "", places=0),
        ),
    )
}

COMPARISON = Comparison("beams", SUBJECTS, PATHS, seeds=5)
