"""Variants of a scenario with a beam: controllers for the flows of a group, mechanisms at the beam.

A controller that is compared is that of all ends that send the data of the group over the beam: of
the hosts, and of split proxies on the way whose side towards the beam has a controller of its own.
Such a proxy sends to other groups with it too, which the result says.

A mechanism of `--on-path` has a place over a beam: `fq-codel` at the forward carrier, and the
presets of split proxies at the gateway. `pepsal@home` is one in each terminal of the group `home`,
`pepsal@home-3` one in that terminal, and `pepsal@gateway+home` one at both ends of the beam. A
proxy of `--on-path` keeps the controller of its preset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.candidates import NONE
from bentpipe.compare.legs import facing, has_controller, sides_of
from bentpipe.compare.mechanisms import PROXY, at_nodes, of_kind
from bentpipe.errors import InputError, ScenarioError
from bentpipe.names import flow_name, group_of
from bentpipe.problems import UnfitError
from bentpipe.prototypes.spec import Spec, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Scenario

QUEUES = "fq-codel"
"""The queue management of the forward carrier."""


@dataclass(frozen=True)
class AtBeam:
    """A mechanism as the user wrote it, with the scenario that has it."""

    name: str
    scenario: Scenario
    notes: list[str] = field(default_factory=list)
    """What of the scenario it replaces."""
    proxies: frozenset[str] = frozenset()
    """Names of the nodes whose proxies it sets."""


def chosen(text: str | None, scenario: Scenario, group: str) -> list[AtBeam]:
    """The mechanisms in a list with commas, and first the beam as it is.

    Raises InputError for one that does not exist or has no place at the beam.
    """
    as_it_is = AtBeam(NONE, scenario)
    if text is None:
        return [as_it_is]
    names = dict.fromkeys(one for name in listed("--on-path", text) for one in of_kind(name))
    found = [of_name(name, scenario, group) for name in names if name != NONE]
    if not found:
        raise InputError("--on-path: expected a mechanism; `bentpipe path` lists them")
    return [as_it_is, *found]


def of_name(name: str, scenario: Scenario, group: str) -> AtBeam:
    """One mechanism at its place."""
    mechanism, _, place = name.partition("@")
    try:
        spec = Spec.parse(mechanism)
    except UnfitError as error:
        raise InputError(f"--on-path: {name}: {error}") from None
    keys = {entry.name: entry.key for entry in _native.mechanisms()}
    number, beam = beam_of(scenario, group)
    if keys.get(spec.target) == f"node.{PROXY}":
        return split(name, spec, place.split("+") if place else [beam["gateway"]], scenario)
    if spec.target != QUEUES or place:
        raise InputError(
            f"--on-path: {name}: expected {QUEUES} at the forward carrier, or the preset of a split"
            " proxy such as pepsal, with @NODE for another place than the gateway"
        )
    value = {"name": spec.target, **spec.parameters} if spec.parameters else spec.target
    path = f"beam.{number}.forward.aqm"
    own = beam["forward"].get("aqm", NONE)
    notes = [] if own == NONE else [f"{name} replaces the aqm of {beam['name']}."]
    return AtBeam(name, with_changes(name, scenario, {path: value}), notes)


def split(name: str, spec: Spec, places: Sequence[str], scenario: Scenario) -> AtBeam:
    """A split proxy at some nodes."""
    if spec.parameters:
        raise InputError(f"--on-path: {name}: a split proxy takes no parameters here")
    document = scenario.values()
    values: dict[str, Any] = dict.fromkeys(places, spec.target)
    had = [
        one["name"]
        for one in document.get("node", [])
        if one["name"] in values and one.get(PROXY, NONE) != NONE
    ]
    notes = [f"{name} replaces the proxy of {node}." for node in had]
    changed = with_changes(name, scenario, at_nodes(values, PROXY, document))
    return AtBeam(name, changed, notes, frozenset(places))


def with_changes(name: str, scenario: Scenario, changes: dict[str, Any]) -> Scenario:
    """The scenario with these changes; `InputError` if it cannot have them."""
    try:
        return scenario.with_(changes)
    except ScenarioError as error:
        raise InputError(f"--on-path: {name}: {error}") from None


def beam_of(scenario: Scenario, group: str) -> tuple[int, dict[str, Any]]:
    """The number and the table of the beam of a group."""
    beams = enumerate(scenario.values()["beam"])
    return next(one for one in beams if any(of["name"] == group for of in one[1]["group"]))


def senders(scenario: Scenario, group: str, own: Sequence[int]) -> dict[str, str]:
    """The proxies that send data of some flows over the beam of a group: `[[node]]` and side."""
    document = scenario.values()
    flows = [document["flow"][number] for number in own]
    found: dict[str, str] = {}
    if any(group_of(flow["from"], [group]) for flow in flows):
        names = [one["name"] for one in document.get("node", []) if one.get(PROXY, NONE) != NONE]
        found |= {name: "satellite" for name in names if group_of(name, [group])}
    names = [flow_name(flow, number) for number, flow in zip(own, flows, strict=True)]
    _, beam = beam_of(scenario, group)
    explained = scenario.explain()
    proxies = sides_of(explained)
    for flow in explained.flows:
        legs = flow.legs[1:] if flow.name in names else []
        for node in (leg.from_ for leg in legs if group_of(leg.to, [group])):
            # The other side of the leg is the beam, or the next node on the way to it.
            towards = {beam["name"], flow.route[flow.route.index(node) + 1]}
            side = facing(proxies[node], towards) if node in proxies else None
            if side is not None:
                found[node] = side
    return found


def with_controller(
    at: AtBeam, group: str, own: Sequence[int], controller: str
) -> tuple[Scenario, list[str]]:
    """The scenario with another controller of these flows, and the proxies that have it too."""
    spec = Spec.parse(controller)
    value = {"name": spec.target, **spec.parameters} if spec.parameters else spec.target
    document = at.scenario.values()
    changes: dict[str, Any] = {f"flow.{number}.controller": value for number in own}
    changed = []
    for node, side in senders(at.scenario, group, own).items():
        entries = {one["name"]: (number, one) for number, one in enumerate(document["node"])}
        number, entry = entries[node]
        proxy = entry[PROXY]
        if node in at.proxies or not has_controller(proxy, side):
            continue
        changed.append(node)
        if isinstance(proxy, str):
            changes[f"node.{number}.{PROXY}"] = {"preset": proxy, side: {"controller": value}}
        else:
            changes[f"node.{number}.{PROXY}.{side}.controller"] = value
    return at.scenario.with_(changes), changed
