"""The scenario that runs: with its own applications, or with four that are added.

A scenario without pages, videos, calls, messages and speed tests gets a page, a video, a call and a
speed test between the end points of its first flow, one after the other. Its own flows stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.compare import traffic
from bentpipe.compare.links import Link
from bentpipe.errors import InputError, ScenarioError
from bentpipe.experience import lasts
from bentpipe.experience.figures import Kind, kind_of
from bentpipe.names import flow_names, group_of

if TYPE_CHECKING:
    from bentpipe._native import Scenario

LOADS = 2
LOAD_BYTES = 1.75e6
"""Bytes of the built-in page, rounded up."""
VIDEO_S = 60
CALL_S = 20
MOST_NAMES = 4


@dataclass(frozen=True)
class Application:
    """A flow with an application of people."""

    flow: str
    kind: Kind


@dataclass(frozen=True)
class Plan:
    """The scenario that runs, its applications, and sentences on what was added or left out."""

    scenario: Scenario
    applications: list[Application]
    added: bool
    notes: list[str] = field(default_factory=list)


def planned(scenario: Scenario, *, alone: bool = False) -> Plan:
    """The scenario with applications; `InputError` if it takes none of them, or is too short.

    With `alone`, applications are added without the scenario's own flows.
    """
    scenario = scenario.without_mixes()
    own = applications_of(scenario)
    if own and alone:
        raise InputError(
            f"--alone: expected a scenario without applications of people, found {own[0].flow}"
            f" ({own[0].kind.key}); leave the option out"
        )
    if own:
        lasts.check(scenario, own, written(scenario))
        names = ", ".join(dict.fromkeys(one.flow for one in own))
        notes = [f"Applications of the scenario: {names}.", *doubts(scenario, own)]
        return Plan(scenario, own, added=False, notes=notes)
    return with_added(scenario, alone=alone)


def applications_of(scenario: Scenario) -> list[Application]:
    """The flows of a scenario with applications of people. Copies of a flow are one."""
    flows = written(scenario)
    return [
        Application(explained.name, kind)
        for explained in scenario.explain().flows
        for key in flows[explained.name]["traffic"]
        if (kind := kind_of(key))
    ]


def written(scenario: Scenario) -> dict[str, dict[str, Any]]:
    """The flows as they were written, by their names. `explain` has none of the background."""
    flows = scenario.values()["flow"]
    return dict(zip(flow_names(flows), flows, strict=True))


def with_added(scenario: Scenario, *, alone: bool) -> Plan:
    """The scenario with a page, a video, a call and a speed test, as far as its path takes them."""
    if not scenario.explain().flows:
        raise InputError(
            f"{scenario.name}: expected a flow between hosts, found terminals in the background"
            " only; applications are added between its ends"
        )
    link = Link(scenario.name, scenario)
    own = silent(link) if alone else link.document["flow"]
    flows = [*own]
    refused: dict[str, list[str]] = {}
    taken = {flow.get("name") for flow in own}
    start_s = 0.0
    times = []
    for key, made in added_flows(link).items():
        name = key if key not in taken else f"experience-{key}"
        one = made | {"name": name, "start": f"{start_s:g}s"}
        longest = start_s + length_s(link, key)
        try:
            scenario.with_({"flow": [*flows, one], "duration": f"{longest:g}s"})
        except ScenarioError as error:
            reason = error.errors[0].reason or error.errors[0].message
            refused.setdefault(reason, []).append(f"a {key}")
            continue
        flows.append(one)
        times.append(f"{key} at {start_s:g} s")
        start_s = longest
    without = [f"Without {' and '.join(keys)}: {reason}." for reason, keys in refused.items()]
    if len(flows) == len(own):
        raise InputError(f"{scenario.name}: the path takes no application: {' '.join(without)}")
    whole = scenario.with_({"flow": flows, "duration": f"{start_s:g}s"})
    notes = [
        f"The scenario has no applications of people. Added between {link.ends['from']} and"
        f" {link.ends['to']}, one after the other: {', '.join(times)}. Duration: {start_s:g} s.",
        *without,
        *about_own_flows([] if alone else [one.name for one in scenario.explain().flows]),
    ]
    applications = applications_of(whole)
    return Plan(whole, applications, added=True, notes=[*notes, *doubts(whole, applications)])


def silent(link: Link) -> list[dict[str, Any]]:
    """The flows of the scenario that stay with `--alone`, which start after the run.

    A beam has no group without flows, and no class of flows that do not exist. Its terminals keep
    their share of the capacity that is free. Paths without a beam keep no flow.
    """
    if "beam" not in link.document:
        return []
    end_s = sum(length_s(link, key) for key in added_flows(link)) + 1
    return [
        {key: value for key, value in flow.items() if key != "stop"} | {"start": f"{end_s:g}s"}
        for flow in link.document["flow"]
    ]


def doubts(scenario: Scenario, applications: list[Application]) -> list[str]:
    """The warnings of `bentpipe explain` about the applications, equal ones in one sentence."""
    flows: dict[str, list[str]] = {}
    for one in scenario.explain().warnings:
        if one.subject in {application.flow for application in applications}:
            flows.setdefault(one.message, []).append(one.subject)
    return [
        f"`bentpipe explain` warns about {' and '.join(names)}: {message}."
        for message, names in flows.items()
    ]


def about_own_flows(names: list[str]) -> list[str]:
    """A sentence on the flows of the scenario itself, which share the path."""
    if not names:
        return ["The scenario's own flows are left out (--alone)."]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return [
        f"They share the path with the scenario's own flows: {', '.join(names[:MOST_NAMES])}{more}."
        " --alone leaves these out."
    ]


def added_flows(link: Link) -> dict[str, dict[str, Any]]:
    """The flows that are added, with host, transport and controller of the first flow."""
    first = link.document["flow"][0]
    controller = first.get("controller", traffic.CUBIC)
    page = traffic.shop(link, LOADS, load_s(link))
    video = traffic.VIDEO | {"length": f"{VIDEO_S}s"}
    return {
        "page": traffic.compared(link, "page", controller, {"page": page}),
        "video": traffic.compared(link, "video", controller, {"video": video}),
        "call": traffic.talk(link, traffic.CALL | {"duration": f"{CALL_S}s"}),
        "speedtest": traffic.compared(link, "speedtest", controller, {"speedtest": {}}),
    }


def load_s(link: Link) -> float:
    """The time for a load of the page in seconds: 40 s, and four times its time at the rate."""
    return 40 + round(4 * 8 * LOAD_BYTES / least_bps(link))


def least_bps(link: Link) -> float:
    """The rate of the bottleneck in bit/s: of links, of the carrier of a beam, or of a plan.

    The carrier counts as if no other terminal sent.
    """
    explained = link.scenario.explain()
    first = explained.flows[0]
    groups = [group for beam in explained.beams for group in beam["groups"]]
    plans = [
        group["down"]["rate_bps"]
        for group in groups
        if group["down"] and any(group_of(node, [group["name"]]) for node in first.route)
    ]
    return float(min(link.rate_bps, first.figures.bottleneck_bps, *plans))


def length_s(link: Link, key: str) -> float:
    """The time of an application until the next one begins, in seconds."""
    lengths = {
        "page": LOADS * load_s(link),
        "video": 2 * VIDEO_S,
        "call": CALL_S + 5,
        "speedtest": traffic.LEAST_TEST_S + 8,
    }
    return lengths[key]
