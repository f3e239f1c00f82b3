"""The rate of the bottleneck of a flow, which a speed test is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe.names import group_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe import Scenario
    from bentpipe.explanation import Direction, Explanation, Flow


@dataclass(frozen=True)
class Rate:
    """A rate of IP packets in bit/s, and the words for it in a sentence."""

    bps: float
    words: str


def rates_of(scenario: Scenario) -> dict[str, Rate]:
    """The rates by the names of flows; without those whose bottleneck has no rate of its own."""
    explained = scenario.explain()
    rates = ((flow.name, rate_of(explained, flow, scenario.duration_s)) for flow in explained.flows)
    return {name: rate for name, rate in rates if rate is not None}


def rate_of(explained: Explanation, flow: Flow, end_s: float) -> Rate | None:
    """The rate of the bottleneck on the way of a flow's data.

    None where it changes by events or by a modem, where the flow may take several paths, and for
    a carrier of a beam that other terminals share: nobody knows the share before the run.
    """
    if flow.paths or explained.switches:
        return None
    ways = set(pairwise(flow.route))
    on_way = [one for one in explained.links if (one.from_, one.to) in ways]
    if any(changes(one, end_s) for one in on_way):
        return None
    figures = flow.figures
    for beam in explained.beams:
        for group in beam["groups"]:
            terminal = next((one for one in flow.route if group_of(one, [group["name"]])), None)
            if terminal is not None:
                return of_beam(flow, beam["terminals"], group, is_up=flow.route[-1] != terminal)
    mean = "the mean rate of the link" if figures.mean_rate else "the link's rate"
    return Rate(figures.bottleneck_bps, mean)


def most_of(scenario: Scenario) -> dict[str, dict[str, float]]:
    """The payload in bit/s that the bottleneck of each flow carries at most, by columns of a test.

    Without flows whose bottleneck has no rate of its own, and without beams, where the return
    channel is shared.
    """
    explained = scenario.explain()
    found = {}
    for flow in explained.flows if not explained.beams else []:
        ways = set(pairwise(flow.route[::-1]))
        back = [one for one in explained.links if (one.from_, one.to) in ways]
        rate = rate_of(explained, flow, scenario.duration_s)
        if rate is None or any(changes(one, scenario.duration_s) for one in back):
            continue
        figures = flow.figures
        payload = figures.capacity_bps / figures.bottleneck_bps
        both = {"download_bps": rate.bps, "upload_bps": figures.return_bottleneck_bps}
        found[flow.name] = {column: bps * payload for column, bps in both.items()}
    return found


def of_beam(flow: Flow, terminals: int, group: Mapping[str, Any], *, is_up: bool) -> Rate | None:
    """The rate of the plan of a terminal, or of a carrier that no other terminal shares."""
    plan = group["up" if is_up else "down"]
    bottleneck = flow.figures.bottleneck_bps
    if plan and plan["rate_bps"] < bottleneck and plan["allowance_lasts_s"] is None:
        return Rate(plan["rate_bps"], "the rate of the plan")
    if terminals == 1 and not plan:
        return Rate(bottleneck, "the rate of the bottleneck")
    return None


def changes(direction: Direction, end_s: float) -> bool:
    """True if the rate of a direction of a link changes while the run lasts."""
    channel: Mapping[str, Any] = next(
        (one.value for one in direction.settings if one.name == "channel"), {}
    )
    by_events = any(one.rate_bps is not None and one.at_s < end_s for one in direction.events)
    return by_events or channel.get("kind") == "acm"
