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

    from bentpipe._native import Recording, Scenario


@dataclass
class Experience:
    """What the users of a group met."""

    pages_s: list[float] = field(default_factory=list)
    """Page load times in seconds; infinity for pages that did not end."""
    transfers_s: list[float] = field(default_factory=list)
    """Flow completion times in seconds; infinity for transfers that did not end."""
    mos: list[float] = field(default_factory=list)
    """Mean opinion score of each call, of its worse direction; 1 if no speech arrived."""
    stalls: list[float] = field(default_factory=list)
    """Stalls of each video; infinity for videos that did not start."""
    stalled_s: list[float] = field(default_factory=list)
    """Seconds that each video has stalled; infinity for videos that did not start."""


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
    classes: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the table `beam_classes`."""

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
                "calls": len(one.mos),
                "mos_p5": quantile(one.mos, 0.05),
                "mos_p50": quantile(one.mos, 0.5),
                "videos": len(one.stalls),
                "stalls_p95": finite(quantile(one.stalls, 0.95)),
                "stalled_p95_s": finite(quantile(one.stalled_s, 0.95)),
            }
            for group, one in self.users.items()
        }
        return {
            "beams": self.beams,
            "modcods": self.modcods,
            "groups": self.groups,
            "classes": self.classes,
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


def entry_of(flow: str, known: Mapping[str, Entry]) -> Entry | None:
    """The `[[flow]]` of a flow; its name is that of a copy without the number."""
    name, _, copy = flow.rpartition(".")
    return known.get(name if copy.isdigit() and name in known else flow)


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
        entry = entry_of(flow.flow, known)
        if entry is None:
            continue
        of_group = users[entry.group]
        loads = [page.response_s for page in flow.pages]
        of_group.pages_s += [math.inf if one is None else one for one in loads]
        if entry.has_end:
            took = flow.completion_s
            of_group.transfers_s.append(math.inf if took is None else took)
    for name, mos in calls(recording).items():
        if entry := entry_of(name, known):
            users[entry.group].mos.append(mos)
    for row in rows_of(recording, "video"):
        if entry := entry_of(row["flow"], known):
            has_started = row["start_up_s"] is not None
            users[entry.group].stalls.append(row["stalls"] if has_started else math.inf)
            users[entry.group].stalled_s.append(row["stalled_s"] if has_started else math.inf)
    return Answer(
        beams=rows_of(recording, "beams"),
        modcods=rows_of(recording, "beam_modcods"),
        groups=rows_of(recording, "beam_groups"),
        users=dict(users),
        classes=rows_of(recording, "beam_classes"),
    )


def rows_of(recording: Recording, name: str) -> list[dict[str, Any]]:
    """The rows of a table; none if the recording does not have it."""
    return recording.table(name).to_dicts() if name in recording.names else []


WORST_MOS = 1.0
"""The lowest mean opinion score of the E-model (ITU-T G.107)."""


def calls(recording: Recording) -> dict[str, float]:
    """The mean opinion score of each call: that of its worse direction."""
    found: dict[str, float] = {}
    for row in rows_of(recording, "call"):
        mos = WORST_MOS if row["mos"] is None else row["mos"]
        found[row["flow"]] = min(mos, found.get(row["flow"], math.inf))
    return found
