"""Starts of runs within an orbit, and the option `--phase`.

A path over satellites that move is longer than a run. Each seed begins at another time of it, so
that intervals are about the path and not about its first seconds. All links that follow a series of
the scenario begin at the same time of it. Where that is not possible, all seeds begin at its start,
and the output says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bentpipe.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from bentpipe.compare.links import Link

PARTS = ("forward", "backward")
"""Tables of a link for one direction."""
AT_THE_START = "Orbits: all seeds begin at the start of the series"
"""What a comparison says of an orbit that no seed moves."""
HAS_EPOCH = "the scenario has an `epoch`, at which runs start (--phase random: at another time)"
"""Why the start of an orbit is that of the scenario, unless the option says otherwise."""


def in_phase(link: Link, phase: str | None) -> Link:
    """The link with this phase of its events and orbits; by default a random one where it can be.

    A phase that a scenario has itself stays without the option, and so do the moves of a switch
    next to an orbit, whose times may be those of the orbit. `InputError` for an option that
    has no effect, and for orbits that cannot begin at another time.
    """
    orbits = has_orbit(link)
    if phase is not None and not orbits and not link.has_events and not link.has_moves:
        raise InputError(
            f"--phase: no effect, because {link.name} has no events and no orbit; `trace.phase` of"
            " a scenario moves a trace"
        )
    found = link if phase is None and orbits and link.has_moves else link.in_phase(phase)
    if not orbits:
        return found
    if phase == "fixed":
        return replace(fixed(found), starts=f"{AT_THE_START} (--phase fixed)")
    if phase is None and (written := phases(link)):
        is_fixed = "random" not in written
        return replace(found, starts=f"{AT_THE_START} (`trace.phase`)") if is_fixed else found
    changed = HAS_EPOCH if phase is None and "epoch" in link.document else moved(found)
    if not isinstance(changed, str):
        return changed
    if phase is not None:
        raise InputError(f"--phase random: {changed}; without the option orbits are as written")
    return replace(found, starts=f"{AT_THE_START}, because {changed}")


def parts(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """A link, and its tables for one direction."""
    return [entry, *(entry[key] for key in PARTS if key in entry)]


def tables(link: Link) -> list[dict[str, Any]]:
    """The traces of all links that are tables."""
    every = (part.get("trace") for entry in link.document["link"] for part in parts(entry))
    return [trace for trace in every if isinstance(trace, dict)]


def has_orbit(link: Link) -> bool:
    """True if the delay of a link is computed from an orbit."""
    alone = any("orbit" in part for entry in link.document["link"] for part in parts(entry))
    return alone or any("orbit" in trace for trace in tables(link))


def phases(link: Link) -> list[str]:
    """The phases of traces that the scenario has itself."""
    return [trace["phase"] for trace in tables(link) if "phase" in trace]


def moved(link: Link) -> Link | str:
    """The link with all its series at a random start, or the reason why it cannot have one."""
    if link.has_moves:
        return "a switch of the scenario moves at times of its own"
    changed = []
    for entry in link.document["link"]:
        if has_both(entry):
            return (
                f"{'-'.join(entry['between'])} has both a trace and an orbit, and only `trace ="
                " { orbit = ... }` can begin at another time"
            )
        directions = {key: random(entry[key]) for key in PARTS if key in entry}
        changed.append(random(entry) | directions)
    try:
        found = replace(link, scenario=link.scenario.with_({"link": changed}))
    except ScenarioError as error:
        first = error.errors[0]
        if first.path.endswith((".trace.phase", ".trace.orbit")):
            return "an orbit ends with the run: a longer `duration` of it has room for other starts"
        return first.message
    starts = {series["start_s"] for series in found.series}
    if len(starts) > 1:
        return "its orbits and traces have different lengths, and would not begin together"
    return found


def has_both(entry: dict[str, Any]) -> bool:
    """True if a direction of a link has an orbit, and a trace that is not in the same table."""
    return any(
        "orbit" in entry | entry.get(key, {}) and "trace" in entry | entry.get(key, {})
        for key in PARTS
    )


def random(part: dict[str, Any]) -> dict[str, Any]:
    """A link or a direction whose orbit or trace begins at a random time."""
    found = dict(part)
    if (orbit := found.pop("orbit", None)) is not None:
        found["trace"] = {"orbit": orbit}
    if (trace := found.get("trace")) is not None:
        table = {"file": trace} if isinstance(trace, str) else trace
        found["trace"] = table | {"phase": "random"}
    return found


def fixed(link: Link) -> Link:
    """The link with its orbits and traces from their start."""

    def of(part: dict[str, Any]) -> dict[str, Any]:
        trace = part.get("trace")
        if not isinstance(trace, dict) or "phase" not in trace:
            return part
        return part | {"trace": trace | {"phase": "fixed"}}

    changed = [
        of(entry) | {key: of(entry[key]) for key in PARTS if key in entry}
        for entry in link.document["link"]
    ]
    return replace(link, scenario=link.scenario.with_({"link": changed}))
