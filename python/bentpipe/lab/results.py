"""Results of a run for the page: coarse series, totals, and the limits of the first flow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bentpipe.compare.links import Link
from bentpipe.counts import packets
from bentpipe.experience.figures import kind_of
from bentpipe.lab.applications import application_of
from bentpipe.limits import LIMITS, shares, shares_of
from bentpipe.numbers import count, percent, signed, significant
from bentpipe.study.domains import ANY, COUNTS, Domain
from bentpipe.study.quantities import Quantity, better, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe._native import Recording, Scenario
    from bentpipe.study.quantities import Better

SAMPLES = 2400
"""Samples of a run that lasts its whole duration: more than points of a line, because a run that
ends early has fewer."""
LEAST_INTERVAL_S = 0.001
WHOLE = ""
"""The name of the only leg of a flow that no gateway splits."""


@dataclass(frozen=True)
class Series:
    """A figure of the page."""

    id: str
    label: str
    unit: str
    step: bool = True
    """True if a value stays until the next one."""


SERIES = (
    Series("goodput", "Goodput", "Mbit/s", step=False),
    Series("cwnd", "Congestion window", "kB"),
    Series("rtt", "Smoothed RTT", "ms"),
    Series("queue", "Queue at the bottleneck", "kB"),
    Series("lost", "Lost so far", "packets"),
)
"""The figures of the page, in their order."""


@dataclass(frozen=True)
class Metric:
    """A row of the table of differences."""

    id: str
    label: str
    unit: str
    better: Better | None = "higher"
    """The better values; None if that depends on the question."""

    @property
    def is_count(self) -> bool:
        """True if its values are whole numbers."""
        return self.unit in ("segments", "packets")

    @property
    def domain(self) -> Domain:
        """The values that it can have, in its unit."""
        if self.is_count:
            return COUNTS
        return Domain(0.0, 100.0) if self.unit == "%" else ANY

    def is_better(self, difference: float) -> bool | None:
        """True if a difference from another value of it, other than zero, is an improvement.

        None if that depends on the question.
        """
        return None if self.better is None else (difference < 0) is (self.better == "lower")


METRICS = (
    Metric("goodput", "Goodput", "Mbit/s"),
    Metric("completion", "Flow completion time", "s", better="lower"),
    Metric("median_rtt", "Median RTT", "ms", better="lower"),
    Metric("p95_rtt", "95th percentile of the RTT", "ms", better="lower"),
    Metric("retransmitted", "Retransmitted", "segments", better="lower"),
    Metric("lost", "Lost", "packets", better="lower"),
    Metric("utilisation", "Utilisation of the bottleneck", "%"),
    Metric("others", "Goodput of all other flows", "Mbit/s"),
)
"""The rows of each table, in their order. Rows without values are left out."""
GROUPS = "beam_groups"
OF_GROUPS = {"p50_rate_bps": "median rate of a terminal", "p5_rate_bps": "p5 rate of a terminal"}
"""Columns of groups of a beam, to the terminals, and their words."""

Row = tuple[Metric, "Callable[[Recording], float | None]"]
"""A row of the table, and its value in a run."""


def metrics(scenario: Scenario) -> list[Metric]:
    """The rows of the table of a scenario."""
    return [*METRICS, *(metric for metric, _ in rows(scenario))]


@lru_cache(maxsize=64)
def rows(scenario: Scenario) -> tuple[Row, ...]:
    """The figures of the applications of a scenario, and of the groups of its beams."""
    kinds = [(flow.name, kind_of(application_of(flow))) for flow in scenario.explain().flows]
    beams = Link(scenario.name, scenario).document.get("beam", ())
    return (
        *(
            of_quantity(figure.quantity(name), f"{name}: {figure.label}")
            for name, kind in kinds
            for figure in (kind.figures if kind else ())
        ),
        *(
            of_group(beam["name"], group["name"], column)
            for beam in beams
            for group in beam["group"]
            for column in OF_GROUPS
        ),
    )


def of_quantity(quantity: Quantity, label: str) -> Row:
    """A row for a quantity, in the unit of all tables."""
    factor, unit = shown(quantity.name)
    native = quantity.taken.native()

    def value(recording: Recording) -> float | None:
        found = native.of(recording)
        return None if found is None else found * factor

    bare = "" if unit in ("1", "count") or label.endswith(unit) else unit
    return Metric(quantity.name, label, bare, better(quantity.name)), value


def of_group(beam: str, group: str, column: str) -> Row:
    """A row for the rates of the terminals of a group of a beam, in Mbit/s."""

    def value(recording: Recording) -> float | None:
        found = next(
            one[column]
            for one in recording.table(GROUPS).to_dicts()
            if (one["beam"], one["group"], one["direction"]) == (beam, group, "forward")
        )
        return None if found is None else found / 1e6

    name = f"{GROUPS}.{beam}.{group}.{column}"
    return Metric(name, f"{group}: {OF_GROUPS[column]}", "Mbit/s"), value


def recorded(scenario: Scenario) -> Scenario:
    """The scenario with the series of the page, and nothing else recorded."""
    changes = {"record.interval": recorded_every(scenario), "record.events": False}
    return scenario.with_(changes)


def recorded_every(scenario: Scenario) -> str:
    """The sampling interval of a run of the page, in the notation of scenarios."""
    interval = max(scenario.duration_s / SAMPLES, LEAST_INTERVAL_S)
    return f"{round(interval * 1e9)}ns"


def result(scenario: Scenario, recording: Recording) -> dict[str, Any]:
    """Series, totals and limits of a run, as the page gets them."""
    from bentpipe.lab.series import series
    from bentpipe.report.legs import limited_legs
    from bentpipe.runs import Run

    link = Link(scenario.name, scenario)
    flow = recording.flows[0]
    return {
        "simulated_s": recording.simulated_s,
        "wall_ms": round(recording.wall_s * 1e3, 1),
        "series": series(link, recording),
        "totals": totals(link, recording),
        "limits": {
            leg.removeprefix(f"{flow.flow}: "): shares(of)
            for leg, of in limited_legs(Run(recording, scenario)).items()
            if leg.startswith(f"{flow.flow}: ")
        }
        or {WHOLE: shares_of(flow)},
    }


def totals(link: Link, recording: Recording) -> dict[str, float | None]:
    """Values of the table by the names of `metrics`."""
    flow = recording.flows[0]
    counted = packets(flow)
    hops = [recording.links[2 * hop.link + (hop.direction == "backward")] for hop in link.hops]
    slowest = link.bottleneck
    of_slowest = recording.links[2 * slowest.link + (slowest.direction == "backward")]
    others = recording.flows[1:]
    return figures(link.scenario, recording) | {
        "goodput": flow.goodput_bps / 1e6,
        "completion": flow.completion_s,
        "median_rtt": flow.median_rtt_ms,
        "p95_rtt": flow.p95_rtt_ms,
        "retransmitted": counted.segments_retransmitted if counted else None,
        "lost": sum(one.dropped_packets + one.corrupted_packets for one in hops),
        "utilisation": of_slowest.utilisation * 100,
        "others": sum(one.goodput_bps for one in others) / 1e6 if others else None,
    }


def figures(scenario: Scenario, recording: Recording) -> dict[str, float | None]:
    """The values of the rows of applications and beams in a run."""
    return {metric.id: value(recording) for metric, value in rows(scenario)}


def table(
    found: Mapping[str, Mapping[str, Any]], known: Sequence[Metric] = METRICS
) -> dict[str, Any]:
    """Rows of metrics over controllers, with the differences from the first controller."""
    names = list(found)
    lines = []
    for metric in known:
        values = [found[name]["totals"][metric.id] for name in names]
        if all(one is None for one in values):
            continue
        lines.append({
            "label": metric.label,
            "unit": metric.unit,
            "cells": [cell(metric, one, values[0], first=n == 0) for n, one in enumerate(values)],
        })  # fmt: skip
    return {"columns": names, "rows": lines}


def cell(metric: Metric, value: float | None, base: float | None, *, first: bool) -> dict[str, Any]:
    """A value, its difference from the first controller, and which of both is better."""
    text: dict[str, Any] = {"text": written(metric, value)}
    if first or value is None or base is None:
        return text
    difference = value - base
    share = f", {signed(100 * difference / base, 3)} %" if base else ""
    absolute = signed(difference, places=0) if metric.is_count else signed(difference)
    found = text | {"difference": f"{absolute}{share}"}
    if difference and metric.better is not None:
        found["is_better"] = metric.is_better(difference)
    return found


def written(metric: Metric, value: float | None) -> str:
    """A value of a metric for people."""
    return count(value) if metric.is_count else significant(value)


def limits(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Shares of the time of each controller, or of its legs, that each limit held it back."""
    rows = {
        f"{controller}, {leg}" if leg else controller: own
        for controller, one in found.items()
        for leg, own in one["limits"].items()
    }
    names = [words for words in LIMITS.values() if any(one.get(words) for one in rows.values())]
    return {
        "columns": names,
        "rows": [
            {
                "label": label,
                "cells": [{"text": percent(one.get(words), 2), "share": one.get(words)}
                          for words in names],
            }
            for label, one in rows.items()
        ],
    }  # fmt: skip


def summary(found: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> str:
    """A sentence with the goodput of each controller, for those who do not see the figures."""
    goodputs = {name: found[name]["totals"]["goodput"] for name in names if name in found}
    parts = (f"{name} {significant(one, 3)} Mbit/s" for name, one in goodputs.items())
    return f"Goodput: {', '.join(parts)}."
