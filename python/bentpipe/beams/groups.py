"""What the terminals of each group got of a beam: rates, delays, page loads and transfers."""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe._native import Flow, Recording, Scenario


@dataclass
class Experience:
    """What the users of a group met."""

    pages_s: list[float] = field(default_factory=list)
    """Page load times in seconds; infinity for pages that did not end."""
    transfers_s: list[float] = field(default_factory=list)
    """Flow completion times in seconds; infinity for transfers that did not end."""


@dataclass(frozen=True)
class Answer:
    """How full a beam was, and what its groups got."""

    beams: list[dict[str, Any]]
    """Rows of the table `beams`."""
    modcods: list[dict[str, Any]]
    """Rows of the table `beam_modcods`."""
    groups: list[dict[str, Any]]
    """Rows of the table `beam_groups`."""
    users: dict[str, Experience]
    """What users met, by group."""

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON. Times of pages and transfers are quantiles in seconds."""
        users = {
            group: {
                "pages": len(one.pages_s),
                "page_p50_s": finite(quantile(one.pages_s, 0.5)),
                "page_p95_s": finite(quantile(one.pages_s, 0.95)),
                "transfers": len(one.transfers_s),
                "transfer_p50_s": finite(quantile(one.transfers_s, 0.5)),
                "transfer_p95_s": finite(quantile(one.transfers_s, 0.95)),
            }
            for group, one in self.users.items()
        }
        return {
            "beams": self.beams,
            "modcods": self.modcods,
            "groups": self.groups,
            "users": users,
        }


def finite(value: float | None) -> float | None:
    """The value, or None for one that no number stands for in JSON."""
    return value if value is not None and math.isfinite(value) else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest of `values` that at least this share of them does not exceed; None of none."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else None


def written_groups(scenario: Scenario) -> list[dict[str, Any]]:
    """The groups of all beams as the scenario has them."""
    beams = tomllib.loads(scenario.to_toml()).get("beam", [])
    return [group for beam in beams for group in beam["group"]]


@dataclass(frozen=True)
class Entry:
    """A `[[flow]]` with an end at a terminal."""

    group: str
    has_end: bool
    """Its application sends an amount of data, and not until the run ends."""


def entries(scenario: Scenario) -> dict[str, Entry]:
    """Each `[[flow]]` with an end at a terminal, by the name of the flow."""
    names = [group["name"] for group in written_groups(scenario)]
    found = {}
    for number, flow in enumerate(tomllib.loads(scenario.to_toml())["flow"]):
        traffic = flow["traffic"]
        has_end = "download" in traffic or traffic.get("bulk", "unlimited") != "unlimited"
        for end in (flow["from"], flow["to"]):
            group = end if end in names else end.rpartition("-")[0]
            if group in names:
                found[flow.get("name", f"flow-{number}")] = Entry(group, has_end)
    return found


def entry_of(flow: Flow, known: Mapping[str, Entry]) -> Entry | None:
    """The `[[flow]]` of a flow; its name is that of a copy without the number."""
    name, _, copy = flow.flow.rpartition(".")
    return known.get(name if copy.isdigit() and name in known else flow.flow)


def answer(scenario: Scenario, recording: Recording) -> Answer:
    """What a run has to say about its beams.

    Raises InputError if the scenario has none.
    """
    if "beams" not in recording.names:
        message = f"{scenario.name}: expected a [[beam]], found none"
        raise errors.InputError(message)
    known = entries(scenario)
    users: dict[str, Experience] = defaultdict(Experience)
    for flow in recording.flows:
        entry = entry_of(flow, known)
        if entry is None:
            continue
        of_group = users[entry.group]
        loads = [page.response_s for page in flow.pages]
        of_group.pages_s += [math.inf if one is None else one for one in loads]
        if entry.has_end:
            took = flow.completion_s
            of_group.transfers_s.append(math.inf if took is None else took)
    rows = {name: recording.table(name).to_dicts() for name in ("beams", "beam_groups")}
    modcods = "beam_modcods" in recording.names
    return Answer(
        beams=rows["beams"],
        modcods=recording.table("beam_modcods").to_dicts() if modcods else [],
        groups=rows["beam_groups"],
        users=dict(users),
    )
