"""Controls of the page: what of a scenario a reader can change with sliders, lists and switches.

A control belongs to one value of the scenario, has its possible values in the notation of
scenarios, and knows the changes that set it. `controls` finds those of a scenario. A value that the
scenario rejects is not listed, nor one that changes nothing, and a control without values is left
out. So the page shows what has an effect on this path.
"""

from __future__ import annotations

import math
from dataclasses import is_dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare import fade, mechanisms
from bentpipe.compare.links import Link
from bentpipe.durations import seconds
from bentpipe.errors import InputError, ScenarioError
from bentpipe.lab.applications import of_applications, of_beam
from bentpipe.lab.control import (
    Changes,
    Control,
    Option,
    rounded,
    short,
    slider,
    spaced,
    switch,
    unspaced,
)
from bentpipe.lab.moving import of_moving
from bentpipe.numbers import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bentpipe._native import Hop, Scenario
    from bentpipe.explanation import Flow, Setting

FADE_S = 120.0
"""A run with the built-in fade lasts at least this long, so that it sees the end of the event."""
QUEUES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Lengths of a queue in bandwidth-delay products."""
OUTAGES = ("60ms", "100ms", "200ms", "500ms", "1s", "2s", "5s", "10s")
PACKET_BYTES = 1500
"""Size of a full packet, for the place of a queue of packets among those in bytes."""
ZERO_S = 0.005
"""Delays of a slider for a link without delay lie around this one."""
OUTAGE_AT = 0.4
"""Start of an outage, as a share of the run."""
DURATIONS = (5, 10, 20, 30, 60, 90, 120, 180, 300, 600)
"""Durations of a run in seconds."""
MANTISSAS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Values of a decade, in steps of about a quarter."""
RATIO = 20.0
"""Rates and delays go from the scenario's value divided by this to the value times this."""
RECOVERIES = ("reno", "newreno", "sack", "linux")
ORIGINS = frozenset({"default", "origin", "overridden", "source", "certainty", "text"})
"""Keys of settings that say where a value comes from and how it is written."""
RULED_OUT = frozenset({"link.feedback", "node.proxy", "flow.tunnel"})
"""Keys of mechanisms that are not in the list: special routers, and those with controls."""


def controls(scenario: Scenario) -> list[Control]:
    """The controls of a scenario, in the order in which their changes are applied."""
    link = Link(scenario.name, scenario)
    found = (fitting(one, link) for one in candidates(link))
    return [one for one in found if one is not None]


def fitting(control: Control, link: Link) -> Control | None:
    """The control with those values that the scenario takes and that change it; None without."""
    options = [
        one for one in control.options if one.value is None or has_effect(control, one, link)
    ]
    if len(options) < 2:
        return None
    return replace(control, options=options)


def has_effect(control: Control, option: Option, link: Link) -> bool:
    """True if the scenario takes the value and is explained differently with it."""
    try:
        changed = link.scenario.with_(control.changes(option.value, link))
    except InputError:
        return False
    return not control.compared or meaning(changed) != meaning(link.scenario)


@lru_cache(maxsize=8)
def meaning(scenario: Scenario) -> Any:
    """The values of a scenario, without where they come from."""
    found = scenario.explain()
    return without_origins([found.settings, found.nodes, found.links, found.flows, found.switches])


def without_origins(node: Any) -> Any:
    """The data without the fields and keys that say where a value comes from and how it is written.

    `dataclasses.asdict` copies each value, and took two thirds of the time of all controls.
    """
    if isinstance(node, list):
        return [without_origins(one) for one in node]
    if is_dataclass(node):
        node = vars(node)
    if isinstance(node, dict):
        return {key: without_origins(one) for key, one in node.items() if key not in ORIGINS}
    return node


def candidates(link: Link) -> Iterator[Control]:
    """All controls that a path could have. Some values may not fit this one."""
    flow = link.scenario.explain().flows[0]
    values = {one.name: one for one in flow.settings}
    yield duration(link)
    yield from of_path(link)
    yield from of_hosts(link, flow, values)
    yield mechanism(link)
    if protocol_of(values) == "tcp":  # no other is split
        yield proxy(link)
    yield tunnel(link)
    yield from of_events(link)
    yield from of_moving(link)
    yield from rain(link)
    yield from of_applications(link)
    yield from of_beam(link)
    # Last, because its time depends on the duration, and it is one of the events.
    yield outage(link)


def duration(link: Link) -> Control:
    """The upper bound of the simulated time."""
    now_s = link.scenario.duration_s
    return slider(
        "duration", "Run", "Duration", DURATIONS, now_s, lambda s: f"{s:g}s",
        lambda s: f"{s:g} s", lambda value, _: {"duration": value},
    )  # fmt: skip


def of_path(link: Link) -> Iterator[Control]:
    """Rates, delay, losses and queue of the links that determine throughput."""
    slow, slow_back = link.bottleneck, min(link.back, key=lambda hop: hop.rate_bps)
    for name, label, hop in (
        ("rate", "Rate", slow),
        ("return_rate", "Return rate", slow_back),
    ):
        yield slider(
            name, "Path", label, around(hop.rate_bps), hop.rate_bps,
            lambda v: unspaced(short(v, "bit/s")), lambda v: short(v, "bit/s"), at(hop, "rate"),
            link.name_of(hop),
        )  # fmt: skip
    # The delays of a trace replace that of the link.
    if not any(flow.figures.mean_delay for flow in link.scenario.explain().flows):
        yield delay(link)
    yield from loss(link, slow)
    yield queue(link, slow)


def queue(link: Link, hop: Hop) -> Control:
    """The queue of the bottleneck, with the scenario's own one in its place and unit."""
    own = setting_of(link, hop, "queue")
    limits = own.value if isinstance(own.value, dict) else {}
    size = limits.get("bytes") or limits.get("packets", 0) * PACKET_BYTES
    about = f"{link.name_of(hop)}, in bandwidth-delay products"
    place_bdp = size / link.bdp_bytes if link.bdp_bytes else 0.0
    return slider(
        "queue", "Path", "Queue", QUEUES, place_bdp, lambda v: f"{v:g}",
        lambda v: f"{v:g} BDP",
        lambda value, now: {f"{place(hop)}.queue": {"bdp": float(value)} | rule_of(now)}, about,
        spaced(own.text),
    )  # fmt: skip


def rule_of(link: Link) -> Changes:
    """The treatment of packets of low priority by the queue of the bottleneck, which stays."""
    found = setting_of(link, link.bottleneck, "queue").value
    rule = found.get("low_priority") if isinstance(found, dict) else None
    return {} if rule in (None, "ignore") else {"low_priority": rule}


def delay(link: Link) -> Control:
    """The delay of the link with the longest one: both ways if they are equal."""
    hop = link.satellite
    both = [one for one in (*link.hops, *link.back) if one.link == hop.link]
    same = all(one.delay_s == hop.delay_s for one in both)
    hops = both if same else [hop]
    delays = around(hop.delay_s or ZERO_S)
    return slider(
        "delay", "Path", "Delay, each way" if same else "Delay", delays, hop.delay_s,
        lambda s: f"{rounded(s * 1e3):g}ms", lambda s: f"{rounded(s * 1e3):g} ms",
        lambda value, _: {f"{place(one)}.delay": value for one in hops}, link.name_of(hop),
    )  # fmt: skip


def loss(link: Link, hop: Hop) -> Iterator[Control]:
    """Packet errors, bit errors or the signal of the bottleneck; nothing for other channels."""
    channel = setting_of(link, hop, "channel").value or {"kind": "perfect"}
    kind = channel["kind"]
    name = link.name_of(hop)
    if kind in ("perfect", "packet_errors"):
        rates = [0.0, *(m * 10.0**e for e in range(-6, -1) for m in (1, 2, 5)), 0.1]
        yield slider(
            "loss", "Path", "Packet error rate", rates, channel.get("per", 0.0), str, plain,
            lambda value, _: {f"{place(hop)}.channel": {"per": float(value)}}, name,
        )  # fmt: skip
    elif kind == "bit_errors":
        rates = [0.0, *(m * 10.0**e for e in range(-9, -4) for m in (1, 2, 5))]
        yield slider(
            "loss", "Path", "Bit error rate", rates, channel["ber"], str, plain,
            lambda value, _: {f"{own_channel(link, hop)}.ber": float(value)}, name,
        )  # fmt: skip
    elif "eb_n0_db" in channel or "es_n0_db" in channel:
        key = "eb_n0" if "eb_n0_db" in channel else "es_n0"
        now = channel[f"{key}_db"]
        steps = [now + half / 2 for half in range(-16, 9)]
        yield slider(
            "signal", "Path", "Signal in clear sky", steps, now, str,
            lambda v: f"{v:g} dB",
            lambda value, _: {f"{own_channel(link, hop)}.{key}": float(value)}, name,
        )  # fmt: skip


def own_channel(link: Link, hop: Hop) -> str:
    """The path of the channel where the scenario has it: of the direction, or of the link."""
    entry = link.document["link"][hop.link]
    return f"{place(hop)}.channel" if "channel" in entry.get(hop.direction, {}) else (
        f"link.{hop.link}.channel"
    )  # fmt: skip


def of_hosts(link: Link, flow: Flow, values: dict[str, Setting]) -> Iterator[Control]:
    """Profiles, window and recovery of the hosts of the first flow."""
    protocol = protocol_of(values)
    if protocol == "tcp":
        profiles = {one.end: one.profile for one in flow.hosts}
        for end, label in (("from", "Sender's system"), ("to", "Receiver's system")):
            known = [Option(one.name, named(one)) for one in _native.hosts()]
            now = profiles.get(end)
            kept = [one for one in known if one.value != now]
            as_it_is = Option(None, now or "no profile")
            others = [Option("none", "no profile"), *kept] if now else kept
            yield Control(
                f"host_{end}", "Hosts", label, "choice", [as_it_is, *others], host_of(end),
            )  # fmt: skip
        yield window(values, "transport.receive_buffer")
        recovery = values.get("transport.recovery")
        now_text = recovery.text if recovery else "of the system"
        kinds = [Option(one, one) for one in RECOVERIES if one != now_text]
        yield Control(
            "recovery", "Hosts", "Loss recovery", "choice", [Option(None, now_text), *kinds],
            lambda value, _: {"flow.0.transport.recovery": value}, compared=True,
        )  # fmt: skip
    elif protocol == "quic":
        yield window(values, "transport.quic.stream_receive_window")


def protocol_of(values: dict[str, Setting]) -> str:
    """The protocol of a flow with these settings."""
    return str(values["transport.protocol"].value) if "transport.protocol" in values else "tcp"


def named(profile: _native.HostProfile) -> str:
    """The name of a profile, with its status if that is not certain."""
    certain = profile.status == "from its sources"
    return profile.name if certain else f"{profile.name} ({profile.status})"


def host_of(end: str) -> Callable[[Any, Link], Changes]:
    """The changes that give one end of the first flow a profile."""

    def changes(value: Any, link: Link) -> Changes:
        found = link.document["flow"][0].get("host")
        own = {"from": found, "to": found} if isinstance(found, str) else dict(found or {})
        ends = {one: name for one, name in (own | {end: value}).items() if name != "none"}
        return {"flow.0.host": ends or "none"}

    return changes


def window(values: dict[str, Setting], key: str) -> Control:
    """The receive window, as the size of its buffer."""
    found = values.get(key)
    now = found.value if found and isinstance(found.value, int) else None
    text = spaced(found.text) if found else "of the system"
    made = slider(
        "window", "Hosts", "Receive buffer", [2.0**power for power in range(14, 27)], now,
        lambda v: f"{v / 1024:.0f}KiB",
        lambda v: f"{v / 2**20:g} MiB" if v >= 2**20 else f"{v / 2**10:g} KiB",
        lambda value, _: {f"flow.0.{key}": value}, "of a size that does not grow", text,
    )  # fmt: skip
    return replace(made, compared=True)


def mechanism(link: Link) -> Control:
    """A mechanism at the place where it can help most, as `compare --on-path` has it."""
    entries = [one for one in _native.mechanisms() if one.key not in RULED_OUT]
    options = [Option(None, "none added")]
    options += [Option(one.name, f"{one.name} ({one.kind})") for one in entries]
    return Control(
        "mechanism", "Path", "Mechanism on the path", "choice", options,
        lambda value, now: mechanisms.of_name(value, now).changes,
    )  # fmt: skip


def proxy(link: Link) -> Control:
    """A split proxy at the end of the slowest link; the scenario's own one can be taken away."""
    own = [
        one["name"] for one in link.document.get("node", []) if one.get("proxy", "none") != "none"
    ]
    if own:
        options = [Option(None, "as in the scenario"), Option("none", "none")]
    else:
        names = [one.name for one in _native.mechanisms() if one.key == "node.proxy"]
        options = [Option(None, "none"), *(Option(name, name) for name in names)]

    def changes(value: Any, now: Link) -> Changes:
        if own:
            return {f"node.{name}.proxy": "none" for name in own}
        return mechanisms.of_name(value, now).changes

    return Control("proxy", "Path", "Split proxy", "choice", options, changes)


def tunnel(link: Link) -> Control:
    """A tunnel between the hosts of each flow; the scenario's own ones can be taken away."""
    flows = link.document["flow"]
    has_own = any(one.get("tunnel", "none") != "none" for one in flows)
    names = [one.name for one in _native.mechanisms() if one.key == "flow.tunnel"]
    options = [Option(None, "as in the scenario" if has_own else "none")]
    options += [Option("none", "none")] if has_own else []
    options += [Option(name, name) for name in names]

    def changes(value: Any, now: Link) -> Changes:
        return {f"flow.{number}.tunnel": value for number, _ in enumerate(now.document["flow"])}

    about = "between the hosts of each flow"
    return Control("tunnel", "Path", "Tunnel (VPN)", "choice", options, changes, about)


def outage(link: Link) -> Control:
    """One outage of the longest link, among its other events."""
    hop = link.satellite

    def changes(value: Any, now: Link) -> Changes:
        own = now.document["link"][hop.link].get("event", [])
        return {f"link.{hop.link}.event": with_outage(own, value, now.scenario.duration_s)}

    options = [Option(None, "none"), *(Option(one, spaced(one)) for one in OUTAGES)]
    is_random = link.document.get("phase") == "random"
    later = ", or later by the random phase of the scenario" if is_random else ""
    about = f"{link.name_of(hop)}, once, after {OUTAGE_AT:.0%} of the run{later}"
    return Control("outage", "Path", "Outage", "slider", options, changes, about)


def with_outage(
    events: Sequence[dict[str, Any]], outage: str, duration_s: float
) -> list[dict[str, Any]]:
    """The events of a link with an outage in its place in time.

    Times of events differ, so next to another event it begins a nanosecond later.
    """
    starts = [nanoseconds(one["at"]) for one in events]
    at = round(duration_s * OUTAGE_AT * 1e9)
    while at in starts:
        at += 1
    place = sum(one < at for one in starts)
    text = f"{at / 1e9:.9f}".rstrip("0").rstrip(".")
    return [*events[:place], {"at": f"{text}s", "outage": outage}, *events[place:]]


def nanoseconds(at: str) -> int:
    """A time of a scenario in ns."""
    return round(seconds(at) * 1e9)


def of_events(link: Link) -> Iterator[Control]:
    """A switch for the events of links, such as hand-overs."""
    numbers = [n for n, one in enumerate(link.document["link"]) if one.get("event")]
    if numbers:
        yield switch(
            "no_events", "Path", "Leave out the events of links",
            lambda _, __: {f"link.{n}.event": [] for n in numbers},
        )  # fmt: skip


def rain(link: Link) -> Iterator[Control]:
    """A switch for the built-in fade, where it would be that of the link."""

    def changes(_: Any, now: Link) -> Changes:
        longer = {} if now.scenario.duration_s >= FADE_S else {"duration": f"{FADE_S:g}s"}
        return fade.changes(now) | longer

    long = link.scenario.with_({"duration": f"{max(FADE_S, link.scenario.duration_s):g}s"})
    if fade.obstacle(Link(link.name, long)) is None:
        start, end = fade.EVENT_S
        yield switch(
            "fade", "Path", "Rain fade", changes,
            f"no packet passes from {start:g} to {end:g} s; the run has at least {FADE_S:g} s",
        )  # fmt: skip


def around(value: float) -> list[float]:
    """Round numbers of all decades from a twentieth to twenty times `value`."""
    lowest = math.floor(math.log10(value / RATIO))
    highest = math.ceil(math.log10(value * RATIO))
    numbers = (m * 10.0**power for power in range(lowest, highest + 1) for m in MANTISSAS)
    return [one for one in map(rounded, numbers) if value / RATIO <= one <= value * RATIO]


def place(hop: Hop) -> str:
    """The path of a direction of a link: `link.1.forward`."""
    return f"link.{hop.link}.{hop.direction}"


def at(hop: Hop, key: str) -> Callable[[Any, Link], Changes]:
    """The changes that set a key of a direction."""
    return lambda value, _: {f"{place(hop)}.{key}": value}


def setting_of(link: Link, hop: Hop, key: str) -> Setting:
    """A setting of a direction, from the explanation of the scenario."""
    found = link.scenario.explain().links[2 * hop.link + (hop.direction == "backward")]
    return next(one for one in found.settings if one.name == key)


def changed(
    scenario: Scenario, known: Sequence[Control], chosen: dict[str, Any]
) -> tuple[Scenario, Changes]:
    """The scenario with the chosen values of controls, and all changes; `InputError`.

    Changes are applied control by control, because a mechanism looks for the slowest link.
    """
    now, made = scenario, Changes()
    for control in known:
        if control.id in chosen:
            try:
                step = control.changes(chosen[control.id], Link(now.name, now))
                now = now.with_(step)
            except (ValueError, TypeError) as error:
                if isinstance(error, InputError):
                    raise
                value = repr(chosen[control.id])
                raise ScenarioError.of_value(control.id, "a value of the slider", value) from None
            made |= step
    return now, made
