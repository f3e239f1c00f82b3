"""The link of a comparison: a preset with changes, or a scenario of the user.

A scenario provides the links with their events and fades, the nodes, the `duration`, the `seed`,
and the ends, the `transport` and the `tunnel` of its first flow. The flows of the workloads replace
its flows, and the output says so. An override of anything else would have no effect, so it is
rejected.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare import paths
from bentpipe.compare.fade import shipped
from bentpipe.console import nearest
from bentpipe.durations import seconds
from bentpipe.errors import InputError, ScenarioError
from bentpipe.names import flow_name
from bentpipe.prototypes.spec import items
from bentpipe.study.parameters import written

if TYPE_CHECKING:
    from bentpipe.compare.legs import Sender
    from bentpipe.compare.paths import Place, Way
    from bentpipe.explanation import Figures

PACKET = 1500
"""Bytes of a full packet, which every queue of the satellite link has room for."""
SATELLITE = 1
"""The number of the satellite's link in every preset."""
CYCLES = 5
"""Repetitions of an event in the window of a preset."""
HONOURED = ("from", "to", "host", "transport", "tunnel")
"""Keys of the first flow that a comparison takes from the scenario."""
ENDS = ("from", "to")
"""The ends of a flow: its server and its client."""
RECONSTRUCTED = "reconstructed"
"""The status of a profile whose buffers or controller have no source."""
MOST_NAMES = 4
"""Flows that are named, at most."""
FIXED = (
    "flow.0.host=none",
    "flow.0.transport.recovery=linux",
    "flow.0.transport.receive_buffer=64MiB",
)
"""Hosts without a profile: a large receive buffer of one size, and a send buffer without an end."""
NO_CONTROLLER = "none"
"""The controller of flows whose transport takes none."""
SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Bytes of each unit of sizes."""


@dataclass(frozen=True)
class Buffer:
    """A queue as the user wrote it, and in the notation of scenarios."""

    label: str
    setting: str


@dataclass(frozen=True)
class Link:
    """Links and endpoints that all workloads share."""

    name: str
    scenario: _native.Scenario
    preset: bool = False
    own_transport: dict[str, Any] | None = None
    """Transport of the flow that is compared, if it is another one than that of all others."""
    senders: tuple[Sender, ...] = ()
    """The split proxies of the scenario that send over the satellite, as written."""
    starts: str = ""
    """Why all seeds begin at the same time of an orbit; empty if they do not."""
    queues: str = ""
    """The queues that `--queue` has set, as a sentence; empty for those of the scenario."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The scenario as a document. Defaults may be missing."""
        return self.scenario.values()

    @property
    def ends(self) -> dict[str, str]:
        """Source and destination of the first flow."""
        flow = self.document["flow"][0]
        return {"from": flow["from"], "to": flow["to"]}

    @property
    def transport(self) -> dict[str, Any]:
        """The `transport` of the first flow, which all flows have that are not compared."""
        found: dict[str, Any] = self.document["flow"][0].get("transport", {})
        return found

    @property
    def candidate_transport(self) -> dict[str, Any]:
        """The `transport` of the flow that is compared."""
        return self.transport if self.own_transport is None else self.own_transport

    @property
    def host(self) -> dict[str, Any]:
        """The key `host` of a flow with profiles, as the first flow has it; nothing without."""
        found = self.document["flow"][0].get("host")
        return {} if found is None else {"host": found}

    @property
    def tunnel(self) -> dict[str, Any]:
        """The key `tunnel` of the flows in it, as the first flow has it; nothing without."""
        found = self.document["flow"][0].get("tunnel", "none")
        return {} if found == "none" else {"tunnel": found}

    @property
    def protocol(self) -> str:
        """The protocol of the flow that is compared."""
        found: str = self.candidate_transport.get("protocol", "tcp")
        return found

    @cached_property
    def hops(self) -> list[_native.Hop]:
        """The route of the data."""
        return self.scenario.route()

    @cached_property
    def back(self) -> list[_native.Hop]:
        """The route of the acknowledgements."""
        return self.scenario.route(back=True)

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """The paths of the flow, that at the start first. A switch has several."""
        return paths.ways(self)

    @property
    def bottlenecks(self) -> list[Place]:
        """The slowest link on the route of the data, for each path; each once."""
        return paths.distinct([way.bottleneck for way in self.ways])

    @property
    def return_bottlenecks(self) -> list[Place]:
        """The slowest link on the route of the acknowledgements, for each path; each once."""
        return paths.distinct([way.return_bottleneck for way in self.ways])

    @property
    def slowest_bps(self) -> int:
        """The least rate of the bottlenecks of all paths in bit/s."""
        return min(place.rate_bps for place in self.bottlenecks)

    @property
    def bottleneck(self) -> _native.Hop:
        """The slowest link on the route of the data, of the path at the start."""
        return min(self.hops, key=lambda hop: hop.rate_bps)

    @property
    def satellite(self) -> _native.Hop:
        """The link of the satellite: one with an orbit, otherwise that with the longest delay."""
        moving = [hop for hop in self.hops if self.moves(hop)]
        return max(moving or self.hops, key=lambda hop: hop.delay_s)

    def moves(self, hop: _native.Hop) -> bool:
        """True if the delay of a direction is computed from an orbit."""
        trace = self.trace(hop)
        return self.value(hop, "orbit") is not None or (
            isinstance(trace, dict) and "orbit" in trace
        )

    @property
    def rate_bps(self) -> int:
        """The rate of the bottleneck in bit/s."""
        return self.bottleneck.rate_bps

    @property
    def rtt_s(self) -> float:
        """The round-trip propagation delay in seconds."""
        return sum(hop.delay_s for hop in (*self.hops, *self.back))

    @property
    def bdp_bytes(self) -> float:
        """The bandwidth-delay product in bytes."""
        return self.rate_bps * self.rtt_s / 8

    @property
    def own_duration(self) -> bool:
        """True if the user chose the duration: in a scenario, or by an override of a preset."""
        return not self.preset or "duration" in self.document

    def window_s(self, default_s: float) -> float:
        """The duration that is compared, in seconds.

        That of the scenario, or the one that was set for a preset. A preset without one has
        `default_s`, or as much as it takes to see its events: five cycles of each that repeats,
        and `default_s` after each that does not.
        """
        if self.own_duration:
            return self.scenario.duration_s
        needed = [default_s]
        for entry in (*self.document["link"], *self.document.get("switch", ())):
            for event in entry.get("event", ()):
                cycles = CYCLES * seconds(event["every"]) if "every" in event else default_s
                needed.append(seconds(event["at"]) + cycles)
        return max(needed)

    @property
    def queue_path(self) -> str:
        """The path of the queue before the bottleneck: of the satellite's link in a preset."""
        if self.preset:
            return f"link.{SATELLITE}.queue"
        return f"link.{self.bottleneck.link}.{self.bottleneck.direction}.queue"

    def buffers(self, lengths: str) -> list[Buffer]:
        """The queues in a comma-separated list; `InputError` for an invalid or a repeated one."""
        if len(self.bottlenecks) > 1:
            names = ", ".join(self.arrow(place) for place in self.bottlenecks)
            raise InputError(
                "several --queue: expected paths with the same bottleneck, found the bottlenecks"
                f" {names}; compare one --queue at a time, which changes all of them"
            )
        found: list[Buffer] = []
        for length in items("--queue", lengths):
            bdp = self.bdp_bytes if self.preset else self.bdp_at(self.bottlenecks[0])
            buffer = Buffer(length, queue_of(self, self, length, bdp_bytes=bdp))
            if any(buffer.setting == other.setting for other in found):
                raise InputError(f"--queue: expected each length once, found {length!r} again")
            found.append(buffer)
        return found

    def with_queue(self, length: str) -> Link:
        """The link with another queue before the bottleneck of each path.

        A length in bandwidth-delay products is that of the path. A bottleneck of several paths has
        the longest of their queues. `InputError` for an invalid length.
        """
        changes = {}
        words = []
        for place in self.bottlenecks:
            bdp = self.bdp_at(place)
            queue = tomllib.loads(f"q={queue_of(self, self, length, place, bdp)}")["q"]
            changes[f"link.{place.link}.{place.direction}.queue"] = queue
            if "packets" in queue:
                size = f"{queue['packets']} packets"
            else:
                own = bytes_of(queue["bytes"])
                size = f"{own / 1e3:.4g} kB, {own / bdp:.3g} times the bandwidth-delay product"
            words.append(f"{self.arrow(place)} ({size})")
        sentence = f"Queues of --queue {length}: {', '.join(words)}."
        return replace(self, scenario=self.scenario.with_(changes), queues=sentence)

    def bdp_at(self, place: Place) -> float:
        """The longest bandwidth-delay product of the paths with this bottleneck, in bytes."""
        own = (place.link, place.direction)
        return max(
            way.link.bdp_bytes
            for way in self.ways
            if (way.bottleneck.link, way.bottleneck.direction) == own
        )

    def queue_rule(self, hop: _native.Hop | Place | None = None) -> str:
        """The rule for packets of low priority of a queue, for a setting; empty for none.

        Another length of the queue keeps the rule. By default of the queue before the bottleneck,
        which in a preset is that of the satellite's link.
        """
        if hop is None:
            hop = self.hops[SATELLITE] if self.preset else self.bottleneck
        queue = self.value(hop, "queue")
        rule = queue.get("low_priority") if isinstance(queue, dict) else None
        return f", low_priority = '{rule}'" if rule else ""

    @property
    def has_events(self) -> bool:
        """True if a link of the scenario has events."""
        return any("event" in link for link in self.document["link"])

    @property
    def has_moves(self) -> bool:
        """True if a switch of the scenario moves at times that are written."""
        switches = self.document.get("switch", [])
        return any("event" in switch or "file" in switch for switch in switches)

    def in_phase(self, phase: str | None) -> Link:
        """The link with this phase of its events; None keeps that of the scenario, or is random.

        With a random phase the seeds meet the events at different moments, and intervals cover
        more than one of them.
        """
        if not (self.has_events or self.has_moves) or (phase is None and "phase" in self.document):
            return self
        return replace(self, scenario=self.scenario.with_({"phase": phase or "random"}))

    @property
    def own_fade(self) -> bool:
        """True if a link of the scenario has an attenuation that changes."""
        return any(
            isinstance(channel, dict) and isinstance(channel.get("attenuation"), (str, dict))
            for link in self.document["link"]
            for part in (link, link.get("forward", {}), link.get("backward", {}))
            if (channel := part.get("channel")) is not None
        )

    def channel(self, hop: _native.Hop | Place) -> Any:
        """The channel of a direction of a link, as it was written; `perfect` without one."""
        return self.value(hop, "channel") or "perfect"

    def trace(self, hop: _native.Hop | Place) -> Any:
        """The trace of a direction of a link, as it was written; None without one."""
        return self.value(hop, "trace")

    def value(self, hop: _native.Hop | Place, key: str) -> Any:
        """A key of a direction, or of its link for both directions; None without it."""
        link = self.document["link"][hop.link]
        found = link.get(hop.direction, {}).get(key)
        return link.get(key) if found is None else found

    def name_of(self, hop: _native.Hop | Place) -> str:
        """The name of a direction: `gateway-client forward`."""
        return f"{'-'.join(self.document['link'][hop.link]['between'])} {hop.direction}"

    def nodes_of(self, hop: _native.Hop | Place) -> tuple[str, str]:
        """The nodes before and behind a direction of a link."""
        first, second = self.document["link"][hop.link]["between"]
        return (first, second) if hop.direction == "forward" else (second, first)

    def arrow(self, hop: _native.Hop | Place) -> str:
        """The nodes of a direction, in the order of its packets: `gateway -> client`."""
        return " -> ".join(self.nodes_of(hop))

    def replayed(self, hop: _native.Hop) -> dict[str, Any] | None:
        """The means and ranges of the trace of a direction; None without a trace."""
        return self.traces[2 * hop.link + (hop.direction == "backward")]

    @cached_property
    def traces(self) -> list[dict[str, Any] | None]:
        """The means and ranges of the traces of both directions of all links."""
        explained = self.scenario.explain().links
        every = ({one.name: one.value for one in found.settings} for found in explained)
        return [values.get("trace") for values in every]

    @cached_property
    def figures(self) -> Figures:
        """The figures of the first flow before it runs."""
        return self.scenario.explain().flows[0].figures

    @property
    def series(self) -> list[dict[str, Any]]:
        """The means and ranges of all traces that there are."""
        return [trace for trace in self.traces if trace is not None]

    @cached_property
    def left_out(self) -> str:
        """What a comparison does not take from a scenario, as a sentence; empty for a preset."""
        if self.preset:
            return ""
        first, *others = self.document["flow"]
        keys = [key for key in first if key not in (*HONOURED, "name")]
        parts = []
        if others:
            names = [flow_name(one, n) for n, one in enumerate(others, 1)]
            flows = f"{len(others)} other flows" if len(others) > 1 else "another flow"
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            parts.append(f"{flows} ({', '.join(names[:MOST_NAMES])}{more})")
        if keys:
            parts.append(f"{', '.join(keys)} of the first flow")
        if "record" in self.document:
            parts.append("record")
        name = first.get("name", "flow[0]")
        own = ["ends", *(["hosts"] if "host" in first else []), "transport"]
        own += ["tunnel"] if self.tunnel else []
        words = f"{', '.join(own[:-1])} and {own[-1]}"
        taken = f"Taken from the scenario: nodes, links, and the {words} of {name}."
        return f"{taken} Left out: {'; '.join(parts)}." if parts else taken


def presets() -> list[str]:
    """The names of the built-in links."""
    folder = resources.files("bentpipe.compare") / "links"
    return sorted(Path(entry.name).stem for entry in folder.iterdir() if entry.name[-5:] == ".toml")


def of_scenario(file: Path, sets: tuple[str, ...]) -> Link:
    """The link of a scenario file."""
    scenario = _native.Scenario.load(file, sets).without_mixes()
    link = Link(scenario.name, scenario)
    check_sets(link, sets)
    check_flows(link)
    return link


def of_object(scenario: _native.Scenario, sets: tuple[str, ...]) -> Link:
    """The link of a scenario of a program."""
    changed = scenario
    for override in sets:
        path, _, value = override.partition("=")
        try:
            parsed = tomllib.loads(f"it = {value}")["it"]
        except tomllib.TOMLDecodeError:
            parsed = value
        changed = changed.with_({path.strip(): parsed})
    check_sets(Link(scenario.name, scenario), sets)
    link = Link(changed.name, changed.without_mixes())
    check_flows(link)
    return link


def check_flows(link: Link) -> None:
    """Reject scenarios whose flows a comparison cannot replace by its own; `InputError`."""
    if "beam" in link.document:
        raise InputError(
            f"{link.name}: expected a scenario without a beam: a comparison has flows of its own,"
            " and the load of a beam is that of all its groups. `bentpipe.beams.compare` ranks the"
            " controllers of the flows of a group"
        )
    first = link.document["flow"][0]
    protocol = first.get("transport", {}).get("protocol", "tcp")
    if first.get("controller", NO_CONTROLLER) == NO_CONTROLLER and protocol != "tcp":
        raise InputError(
            f"{link.name}: expected a first flow with a congestion controller, found the transport"
            f" {protocol}, which takes none. The comparison has the ends, the hosts and the"
            " transport of this flow"
        )


def check_sets(link: Link, sets: tuple[str, ...]) -> None:
    """Reject overrides that a comparison would ignore; `InputError`."""
    first = {"0", str(link.document["flow"][0].get("name", "0"))}
    for override in sets:
        path = override.partition("=")[0].strip()
        table, *rest = path.split(".")
        if table == "record":
            raise InputError(f"--set {path}: no effect, because a comparison records totals only")
        if table == "flow" and not (len(rest) > 1 and rest[0] in first and rest[1] in HONOURED):
            raise InputError(
                f"--set {path}: no effect, because a comparison has flows of its own. It takes"
                " flow.0.from, flow.0.to, flow.0.host, flow.0.transport and flow.0.tunnel from the"
                " scenario;"
                " --controllers chooses the controllers"
            )


def of_preset(
    name: str,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    per: float | None = None,
    queue: str | None = None,
    hosts: str | None = None,
    sets: tuple[str, ...] = (),
) -> Link:
    """A preset with changes to its satellite link and its hosts; `InputError` for invalid values.

    The queue keeps its length in bandwidth-delay products unless `queue` is set: a number of
    packets, a size, or "0.5bdp".
    """
    known = presets()
    if name not in known:
        raise InputError(f"there is no link {name!r}{nearest(name, known)}")
    plain = Link(name, _native.Scenario.load(shipped(f"{name}.toml")), preset=True)
    path = f"link.{SATELLITE}"
    changes: list[str] = of_hosts(hosts)
    if rate is not None:
        changes.append(f"{path}.forward.rate={rate}")
        check_rate(name, rate, changes)
    if rtt is not None:
        changes.append(f"{path}.delay={satellite_delay(plain, rtt)}")
    if per is not None:
        changes.append(f"{path}.forward.channel={{ per = {per!r} }}")
    changed = Link(name, _native.Scenario.load(shipped(f"{name}.toml"), changes), preset=True)
    if queue is not None or rate is not None or rtt is not None:
        changes.append(f"{path}.queue={queue_of(plain, changed, queue)}")
    whole = _native.Scenario.load(shipped(f"{name}.toml"), (*changes, *sets))
    check_sets(plain, sets)
    return Link(name, whole, preset=True)


def of_hosts(text: str | None) -> list[str]:
    """Overrides for `--host`: `fixed`, the profile of both hosts, or those of server and client."""
    if text is None:
        return []
    if text == "fixed":
        return list(FIXED)
    known = {entry.name: entry.status for entry in _native.hosts()}
    names = items("--host", text)
    if len(names) > len(ENDS):
        raise InputError(f"--host: expected NAME, or SERVER,CLIENT, found {text!r}")
    for name in names:
        if name in known and known[name] == RECONSTRUCTED:
            raise InputError(
                f"--host: {name} is reconstructed, and a ranking for it would be one for hosts that"
                " may not exist; write it into a scenario (flow.0.host) and use --scenario"
            )
        if name == "fixed":
            raise InputError(
                f"--host: expected `fixed` alone, which is for both hosts, found {text!r}"
            )
        if name not in known:
            raise InputError(
                f"--host: there is no profile {name!r}{nearest(name, [*known, 'fixed'])};"
                " `bentpipe hosts` lists them"
            )
    pairs = zip(ENDS, names * 2 if len(names) == 1 else names, strict=False)
    return [f"flow.0.host.{end}={name}" for end, name in pairs]


def check_rate(name: str, text: str, changes: list[str]) -> None:
    """Reject an invalid rate, naming the option."""
    try:
        _native.Scenario.load(shipped(f"{name}.toml"), changes)
    except ScenarioError:
        raise InputError(
            f'--rate: expected a data rate such as "2Mbit/s", found {text!r}'
        ) from None


def satellite_delay(plain: Link, rtt: str) -> str:
    """The one-way delay of the satellite link that gives the round-trip time `rtt`."""
    if plain.moves(plain.hops[SATELLITE]):
        raise InputError(
            f"--rtt: no effect, because the delay of {plain.name} is computed from its orbit;"
            " --set link.0.delay changes the rest of the path"
        )
    try:
        asked = seconds(rtt)
    except ValueError as error:
        raise InputError(f"--rtt: {error}") from None
    ground = plain.rtt_s - 2 * plain.hops[SATELLITE].delay_s
    if asked <= ground:
        raise InputError(f"--rtt: expected more than {ground * 1e3:g}ms, the RTT of the other"
                         f" links, found {rtt!r}")  # fmt: skip
    return f"{round((asked - ground) / 2 * 1e9)}ns"


def queue_of(
    plain: Link,
    changed: Link,
    queue: str | None,
    place: Place | None = None,
    bdp_bytes: float | None = None,
) -> str:
    """A queue in the notation of scenarios, by default before the bottleneck or the satellite.

    `bdp_bytes` is one bandwidth-delay product, by default that of `changed`. `InputError` for a
    length that is none.
    """
    if queue is None:
        size = bytes_of(plain.document["link"][SATELLITE]["queue"]["bytes"])
        size = max(round(size * changed.bdp_bytes / plain.bdp_bytes), PACKET)
        return f"{{ bytes = '{size}B' }}"
    rule = changed.queue_rule(place)
    bdp = changed.bdp_bytes if bdp_bytes is None else bdp_bytes
    try:
        number, unit = written(queue)
    except ValueError:
        unit = "?"
    if unit == "bdp" and number > 0:
        return f"{{ bytes = '{round(float(number) * bdp)}B'{rule} }}"
    if unit in SIZES:
        return f"{{ bytes = '{queue}'{rule} }}"
    if unit == "" and number == int(number) and number >= 1:
        return f"{{ packets = {int(number)}{rule} }}"
    raise InputError('--queue: expected packets such as 100, a size such as "650kB" or'
                     f' "0.5bdp", found {queue!r}')  # fmt: skip


def bytes_of(text: str) -> float:
    """A size in bytes."""
    number, unit = written(text)
    return float(number) * SIZES[unit]
