"""The built-in fade of a comparison: a rain event that is added to the channel of a satellite.

It is on the link with the longest delay on the route of the data at the start. A modem in noise,
fixed (`eb_n0`) or adaptive (`es_n0`), gets the attenuation of the event. Any other channel keeps
its errors, and the losses of the event come in addition, as a trace of losses: a packet must
survive both. They are those of a QPSK modem with 11 dB in clear sky, code sequential-3/4, whose
decoder and demodulator pass no packet for 35 s; `crates/link/tests/built_in_fade.rs` computes them
from the same event.

No fade is added where it would not be that of the link: if a measurement has the weather in it (a
trace), if the scenario has a fade of its own, or if the delay is that of a low orbit or of the
ground.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ScenarioError

if TYPE_CHECKING:
    from bentpipe.compare.links import Link

LEAST_DELAY_S = 0.04
"""One-way delay from which a link is taken for that of a medium or geostationary orbit.

The path over a satellite in a low orbit, of up to 2,000 km, has at most 36 ms: 5,430 km up and as
many down, with the satellite at the horizon.
"""
FADE_S = 120.0
"""Duration of the fade workload, unless the link has one of its own."""
EVENT_S = (45.0, 80.0)
"""Times of the event between which no packet passes."""
MODEMS = ("eb_n0", "es_n0")
"""Keys of channels of modems in noise."""


@dataclass(frozen=True)
class Fade:
    """What the fade workload does with a link. The field names are the JSON names."""

    applied: bool
    link: str | None
    sentence: str
    """What is added where, or why there is no fade workload."""


def shipped(name: str) -> Path:
    """A file of the presets."""
    return Path(str(resources.files("bentpipe.compare") / "links" / name))


def changes(link: Link) -> dict[str, Any]:
    """The changes of the scenario that add the fade. They replace nothing that has an effect."""
    hop = link.satellite
    place = f"link.{hop.link}.{hop.direction}"
    channel = link.channel(hop)
    if is_modem(channel):
        event = {"file": str(shipped("fade.csv")), "outside": "hold"}
        return {f"{place}.channel": channel | {"attenuation": event}}
    return {f"{place}.trace": {"file": str(shipped("fade-losses.csv"))}}


def is_modem(channel: Any) -> bool:
    """True for a modem in noise, which rain can affect."""
    return isinstance(channel, dict) and any(key in channel for key in MODEMS)


def obstacle(link: Link) -> str | None:
    """The reason why the link has no fade workload; None if it has one."""
    hop = link.satellite
    name = link.name_of(hop)
    channel = link.channel(hop)
    if link.own_fade:
        return "the scenario has a fade of its own, under which all workloads run"
    if link.trace(hop) is not None and not link.moves(hop):
        return f"{name} replays a trace, which has the weather of its measurement in it"
    if hop.delay_s < LEAST_DELAY_S:
        return (
            "the built-in event is that of a satellite in a medium or geostationary orbit, and no"
            f" link {'on the route at the start ' if len(link.ways) > 1 else ''}has a delay of"
            f" {LEAST_DELAY_S * 1e3:g} ms or more{elsewhere(link)}. A series in `attenuation` of a"
            " channel is a fade of your own"
        )
    if (left := left_before(link)) is not None:
        return (
            f"by {left:g} s the switch has moved all packets from {name} to another path, before"
            f" the built-in event, which lets no packet pass between {EVENT_S[0]:g} and"
            f" {EVENT_S[1]:g} s"
        )
    if link.trace(hop) is not None:
        return (
            f"the orbit of {name} is in a trace, which can begin at another time in each seed, and"
            " the losses of the event would take its place"
        )
    if link.window_s(FADE_S) <= EVENT_S[0]:
        return (
            f"the run of {link.window_s(FADE_S):g} s ends before the built-in event, which lets no"
            f" packet pass between {EVENT_S[0]:g} and {EVENT_S[1]:g} s"
        )
    if is_modem(channel) and channel.get("attenuation"):
        return (
            f"the modem of {name} has a constant attenuation, to which the event cannot be added."
            " Set `attenuation` to a series"
        )
    try:
        link.scenario.with_(changes(link))
    except ScenarioError as error:
        return f"the losses of the event cannot be added to {name}: {error.errors[0].message}"
    return None


def elsewhere(link: Link) -> str:
    """The links of other paths that are long enough for the event, in words; empty without any."""
    found = [
        f"{link.name_of(way.satellite)} ({way.satellite.delay_s * 1e3:g} ms) on the path over"
        f" {way.name}"
        for way in link.ways[1:]
        if way.satellite.delay_s >= LEAST_DELAY_S
    ]
    return f". There is {' and '.join(found)}, to which it is not added" if found else ""


def is_on_all(link: Link) -> bool:
    """True if all paths have the link of the satellite on the route at the start."""
    hop = link.satellite
    own = (hop.link, hop.direction)
    return all(own in [(one.link, one.direction) for one in way.places] for way in link.ways)


def left_before(link: Link) -> float | None:
    """The time in seconds at which packets have left the path of the event; None if they have not.

    None too if only the run shows the moves of a switch. The latest time of all seeds counts.
    """
    if is_on_all(link):
        return None
    switches = link.scenario.with_({"phase": "fixed"}).explain().switches
    if len(switches) != 1 or switches[0]["moves"] is None:
        return None
    first = switches[0]["paths"][0]["via"]
    last = link.scenario.longest_event_delay_s
    left = 0.0
    for moves in switches[0]["moves"]:
        known = [(0.0, first), *((one["at_s"], one["via"]) for one in moves)]
        ends = [*(at for at, _ in known[1:]), EVENT_S[1]]
        for (at, via), end in zip(known, ends, strict=True):
            if via == first and at < EVENT_S[1]:
                left = max(left, end + last)
    return left if left <= EVENT_S[0] else None


def planned(link: Link) -> Fade:
    """What the fade workload adds to the link, or why there is none."""
    reason = obstacle(link)
    if reason is not None:
        return Fade(applied=False, link=None, sentence=f"No fade workload: {reason}.")
    name = link.name_of(link.satellite)
    channel = link.channel(link.satellite)
    if is_modem(channel):
        what = f"its attenuation of up to 4 dB is added to the modem of {name}"
    else:
        what = (
            f"its losses on {name}, all packets for 35 s, come in addition to those of the"
            f" channel ({described(channel)}), which stays as it is"
        )
    sentence = f"The fade workload has a rain event: {what}."
    if not is_on_all(link):
        sentence += " It does not affect packets on another path of the switch."
    if link.window_s(FADE_S) < EVENT_S[1]:
        sentence += f" The run of {link.window_s(FADE_S):g} s ends within the event."
    return Fade(applied=True, link=name, sentence=sentence)


def described(channel: Any) -> str:
    """A channel in a few words: `per = 0.01`."""
    if not isinstance(channel, dict):
        return str(channel)
    return ", ".join(f"{key} = {value}" for key, value in channel.items())


def to_dict(link: Link) -> dict[str, Any]:
    """The plan for JSON."""
    return asdict(planned(link))
