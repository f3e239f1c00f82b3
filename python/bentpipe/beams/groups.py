"""What the terminals of each group got of a beam: rates, delays, page loads and transfers."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe import errors
from bentpipe.console import nearest
from bentpipe.frames import rows_of
from bentpipe.names import flow_name, group_of
from bentpipe.numbers import finite, quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bentpipe._native import KernelQuality, Recording, Scenario


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
    background: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the table `beam_background`."""
    kernel: KernelQuality | None = None
    """How well the kernel backend emulated the beam; None from the simulator."""

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
            "background": self.background,
            "users": users,
            "kernel": self.kernel and self.kernel.to_dict(),
        }


def written_groups(scenario: Scenario) -> list[dict[str, Any]]:
    """The groups of all beams as the scenario has them."""
    beams = scenario.values().get("beam", [])
    return [group for beam in beams for group in beam["group"]]


def chosen_group(scenario: Scenario, group: str | None) -> str:
    """The group whose users count: the one that was named, or the only one with users.

    Raises InputError for others, also for one in the background, which has no users.
    """
    groups = written_groups(scenario)
    names = [str(one["name"]) for one in groups if not one.get("background")]
    if group is None and len(names) == 1:
        return names[0]
    if group is None or group not in names:
        wanted = f"one of {', '.join(names)}" if names else "a scenario with a [[beam]]"
        message = f"--group: expected {wanted}, found {group or 'nothing'}"
        if any(one["name"] == group for one in groups):
            raise errors.InputError(f"{message}, whose terminals are in the background")
        raise errors.InputError(message + (nearest(group, names) if group else ""))
    return group


@dataclass(frozen=True)
class Entry:
    """A `[[flow]]` with an end at a terminal."""

    group: str
    has_end: bool
    """Its application sends an amount of data, and not until the run ends."""
    has_sessions: bool = False
    """Its application begins again and again."""
    is_endless: bool = False
    """It sends as much as it can until the run ends."""


def entries(scenario: Scenario) -> dict[str, Entry]:
    """Each `[[flow]]` with an end at a terminal, by the name of the flow."""
    names = [group["name"] for group in written_groups(scenario)]
    found = {}
    for number, flow in enumerate(scenario.values()["flow"]):
        traffic = flow["traffic"]
        has_end = "download" in traffic or traffic.get("bulk", "unlimited") != "unlimited"
        for end in (flow["from"], flow["to"]):
            group = group_of(end, names)
            if group is not None:
                found[flow_name(flow, number)] = Entry(
                    group, has_end, "sessions" in flow, traffic.get("bulk") == "unlimited"
                )
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
    users = users_of(entries(scenario), recording)
    return Answer(
        beams=rows_of(recording, "beams"),
        modcods=rows_of(recording, "beam_modcods"),
        groups=rows_of(recording, "beam_groups"),
        users=users,
        classes=rows_of(recording, "beam_classes"),
        background=rows_of(recording, "beam_background"),
        kernel=recording.kernel,
    )


def users_of(known: Mapping[str, Entry], recording: Recording) -> dict[str, Experience]:
    """What the users of each group met in a run."""
    users: dict[str, Experience] = defaultdict(Experience)
    for flow in recording.flows:
        if entry := entry_of(flow.flow, known):
            of_group = users[entry.group]
            of_group.pages_s += [reached(page.response_s) for page in flow.pages]
            if entry.has_end and not entry.has_sessions:
                of_group.transfers_s.append(reached(flow.completion_s))
    for entry, row in of_terminals(known, recording, "sessions"):
        if entry.has_end:
            users[entry.group].transfers_s.append(reached(row["duration_s"]))
    for name, mos in calls(recording):
        if entry := entry_of(name, known):
            users[entry.group].mos.append(mos)
    for entry, row in of_terminals(known, recording, "video"):
        has_started = row["start_up_s"] is not None
        users[entry.group].stalls.append(row["stalls"] if has_started else math.inf)
        users[entry.group].stalled_s.append(row["stalled_s"] if has_started else math.inf)
    return dict(users)


def reached(seconds: float | None) -> float:
    """A time, or infinity for one that was not reached."""
    return math.inf if seconds is None else seconds


def of_terminals(
    known: Mapping[str, Entry], recording: Recording, name: str
) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """The rows of a table whose flow has an end at a terminal."""
    for row in rows_of(recording, name):
        if entry := entry_of(row["flow"], known):
            yield entry, row


WORST_MOS = 1.0
"""The lowest mean opinion score of the E-model (ITU-T G.107)."""


def calls(recording: Recording) -> list[tuple[str, float]]:
    """The name of the flow and the mean opinion score of each call: that of its worse direction.

    Calls whose codec has no score, and those that began too late to be heard, are left out.
    """
    found: dict[tuple[str, int], float] = {}
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows_of(recording, "call"):
        # A flow with sessions has several calls, each with a row for each direction.
        call = (row["flow"], numbers[row["flow"], row["direction"]])
        numbers[row["flow"], row["direction"]] += 1
        is_lost = row["arrived_packets"] == 0 and row["loss"]
        mos = WORST_MOS if is_lost else row["mos"]
        if mos is not None:
            found[call] = min(mos, found.get(call, math.inf))
    return [(flow, mos) for (flow, _), mos in found.items()]
