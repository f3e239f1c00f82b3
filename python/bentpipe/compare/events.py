"""When the events, fades and series of a link happen in the runs of a comparison, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.compare.links import Link


def phase_of(links: Sequence[Link]) -> dict[str, Any] | None:
    """The phase of the events of `links`, their longest delay in seconds; None without events.

    `of` names what has them: links, switches or both.
    """
    longest = max(link.scenario.longest_event_delay_s for link in links)
    found = {
        "links": any(link.has_events for link in links),
        "switches": any(link.has_moves for link in links),
    }
    if not any(found.values()):
        return None
    return {
        "phase": "random" if longest else "fixed",
        "longest_event_delay_s": longest,
        "of": " and ".join(name for name, has in found.items() if has),
    }


def fades(link: Link) -> list[str]:
    """The times at which attenuation and traces change, one line each; none without a series."""
    lines = ["Attenuation: at the times of its series, in all seeds"] if link.own_fade else []
    traces = [link.trace(hop) for hop in (*link.hops, *link.back)]
    if any(isinstance(trace, dict) and trace.get("phase") == "random" for trace in traces):
        lines.append("Traces and orbits: each seed begins at another time of the series")
    return [*lines, link.starts] if link.starts else lines


def phases(events: Mapping[str, Any] | None) -> list[str]:
    """When the events of links and switches happen, as one line; none without events."""
    if events is None:
        return []
    if events["phase"] == "fixed":
        return [f"Events of {events['of']}: at the same time in all seeds"]
    longest = events["longest_event_delay_s"]
    return [
        f"Events of {events['of']}: up to {longest:g} s later than written, depending on the seed"
        " (--phase fixed: as written)"
    ]
