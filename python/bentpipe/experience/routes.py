"""The route of a flow: its delays before the run, and the queues that the runs measure on it.

The smallest delay of a run is no propagation delay: a queue that never empties is part of it. So
`explain` gives the propagation delay, as a range where it changes, and the wait of a lone packet
for slots. The recording gives the median of the queueing delays of links and beams. It is that of
all flows, and outages and short bursts change it little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe.compare.paths import over
from bentpipe.names import group_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bentpipe import Scenario
    from bentpipe.experience.first_run import Beams
    from bentpipe.explanation import Direction, Explanation, Flow

    Of = Callable[[str], float | None]

MS = 1e3
QUEUED = "median_queueing_delay_ms"
TAIL = "p95_queueing_delay_ms"
DROPPED = "dropped_packets"
CORRUPTED = "corrupted_packets"
MEASURED = (QUEUED, TAIL, DROPPED, CORRUPTED)
"""Columns of links that are evidence."""
DELAYING = {
    "jitter": "jitter",
    "arq": "ARQ",
    "fec": "FEC",
    "reorder": "reordering",
    "slot": "the wait until a slot opens",
}
"""Settings of a direction that delay packets, and are no queue, in words."""


@dataclass(frozen=True)
class Outage:
    """A time without sending, in seconds since the start of the run."""

    start_s: float
    end_s: float


def joined(outages: Sequence[Outage]) -> list[Outage]:
    """The times in which there is at least one of these outages, in their order."""
    found: list[Outage] = []
    for one in sorted(outages, key=lambda one: one.start_s):
        if found and one.start_s <= found[-1].end_s:
            found[-1] = Outage(found[-1].start_s, max(found[-1].end_s, one.end_s))
        else:
            found.append(one)
    return found


def common(first: Sequence[Outage], second: Sequence[Outage]) -> list[Outage]:
    """The times that are in both."""
    cut = [Outage(max(a.start_s, b.start_s), min(a.end_s, b.end_s)) for a in first for b in second]
    return [one for one in cut if one.end_s > one.start_s]


@dataclass(frozen=True)
class Hop:
    """A direction of a link, or a router with limited forwarding, on a route."""

    quantity: str
    """The beginning of the names of its quantities: `link.server-client.forward`."""
    low_ms: float = 0.0
    """The smallest propagation delay in milliseconds, while the run lasts."""
    high_ms: float = 0.0
    """The largest one."""
    slots_ms: float = 0.0
    """The wait of a lone packet for slots, in milliseconds; 0 without demand assignment."""
    transmission_ms: float = 0.0
    """The time to send a full packet of the flow, in milliseconds."""
    delaying: tuple[str, ...] = ()
    """Mechanisms that delay packets and are no queue."""
    outages: tuple[Outage, ...] = ()
    """Outages by events. They begin with the delay of the first seed, if phases are random."""
    traced_s: float = 0.0
    """Seconds of the run in which a trace has outages, at least. It is not known when."""
    fades: str | None = None
    """The quantity of seconds in which the signal is below all thresholds; None without a modem."""

    @property
    def is_out(self) -> bool:
        """True if it has outages. Packets that wait for their end are in the queueing delay."""
        return bool(self.outages or self.traced_s or self.fades)

    def queue_ms(self, of: Of, column: str = QUEUED) -> float:
        """The median queueing delay of the runs in milliseconds, without the wait for slots.

        With the column `TAIL` it is the 95th percentile.
        """
        return max(0.0, (of(f"{self.quantity}.{column}") or 0.0) - self.slots_ms)


@dataclass(frozen=True)
class Over:
    """A direction of a beam on a route. Queues are measured in the run with the first seed."""

    low_ms: float
    slots_ms: float
    queue_ms: float = 0.0
    """Median wait in the queue in milliseconds, without the wait of a lone packet for slots."""
    tail_ms: float = 0.0
    """The 95th percentile of the same."""
    dropped_packets: float = 0.0
    lost_packets: float = 0.0


@dataclass(frozen=True)
class Way:
    """One direction of a flow: the hops of each route that its packets may take, and a beam."""

    routes: tuple[tuple[Hop, ...], ...]
    beam: Over | None = None

    @property
    def hops(self) -> dict[str, Hop]:
        """The hops of all routes, each once."""
        return {hop.quantity: hop for route in self.routes for hop in route}

    @property
    def low_ms(self) -> float:
        """The smallest propagation delay of all routes, in milliseconds."""
        links = min(math.fsum(hop.low_ms for hop in route) for route in self.routes)
        return links + (self.beam.low_ms if self.beam else 0.0)

    @property
    def high_ms(self) -> float:
        """The largest propagation delay of all routes, in milliseconds."""
        links = max(math.fsum(hop.high_ms for hop in route) for route in self.routes)
        return links + (self.beam.low_ms if self.beam else 0.0)

    @property
    def slots_ms(self) -> float:
        """The wait of a lone packet for slots, in milliseconds."""
        links = max(math.fsum(hop.slots_ms for hop in route) for route in self.routes)
        return links + (self.beam.slots_ms if self.beam else 0.0)

    @property
    def transmission_ms(self) -> float:
        """The time to send a full packet over all hops in milliseconds, without the beam."""
        return max(math.fsum(hop.transmission_ms for hop in route) for route in self.routes)

    def queue_ms(self, of: Of, column: str = QUEUED) -> float:
        """The median waits in queues, summed over the hops of the first route.

        It is that of the primary path, and the one before a switch moves packets. With the column
        `TAIL` the waits are 95th percentiles.
        """
        links = math.fsum(hop.queue_ms(of, column) for hop in self.routes[0])
        if self.beam is None:
            return links
        return links + (self.beam.tail_ms if column == TAIL else self.beam.queue_ms)


@dataclass(frozen=True)
class Split:
    """The parts of a delay in milliseconds. Their sum is the delay."""

    path_ms: float
    slots_ms: float
    queue_ms: float
    is_exact: bool = False
    """True if all but a constant propagation delay is queues; otherwise queues are estimated."""


@dataclass(frozen=True)
class Route:
    """Both ways of a flow. `forward` is that of its data."""

    forward: Way
    back: Way
    tunnel: bool = False
    """True if a tunnel could keep packets back."""
    streams: bool = True
    """True if lost packets are retransmitted, and delay others."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the flow, with the names and units of `explain`."""

    @property
    def ways(self) -> dict[str, Way]:
        """Both ways by the names of directions in tables of applications."""
        return {"forward": self.forward, "backward": self.back}

    @property
    def evidence(self) -> list[str]:
        """The quantities of the hops."""
        hops = self.forward.hops | self.back.hops
        measured = [f"{name}.{column}" for name in hops for column in MEASURED]
        return [*measured, *(hop.fades for hop in hops.values() if hop.fades), "simulated_s"]

    @property
    def low_ms(self) -> float:
        """The smallest round-trip propagation delay in milliseconds."""
        return self.forward.low_ms + self.back.low_ms

    @property
    def high_ms(self) -> float:
        """The largest round-trip propagation delay in milliseconds."""
        return self.forward.high_ms + self.back.high_ms

    @property
    def slots_ms(self) -> float:
        """The wait of lone packets for slots on both ways, in milliseconds."""
        return self.forward.slots_ms + self.back.slots_ms

    def queue_ms(self, of: Of) -> float:
        """The median waits in queues of both ways, summed, in milliseconds."""
        return self.forward.queue_ms(of) + self.back.queue_ms(of)

    def outage_s(self, of: Of, start_s: float, end_s: float) -> float:
        """Seconds from `start_s` to `end_s` in which all routes were out, at least.

        Of traces and fades only the sum of the run is known. At least what has no room before
        `start_s` and after `end_s` is in between.
        """
        run_s = of("simulated_s") or end_s
        known: list[Outage] | None = None
        sums = []
        for there, back in zip(self.forward.routes, self.back.routes, strict=True):
            hops = (*there, *back)
            own = joined([one for hop in hops for one in hop.outages])
            known = own if known is None else common(known, own)
            fades = [of(hop.fades) or 0.0 for hop in hops if hop.fades]
            sums.append(max([*fades, *(hop.traced_s for hop in hops)], default=0.0))
        length_s = end_s - start_s
        cut = common(known or [], [Outage(start_s, end_s)])
        total = math.fsum(one.end_s - one.start_s for one in cut)
        return max(total, min(sums, default=0.0) - (run_s - length_s))

    @property
    def has_sums(self) -> bool:
        """True if only sums of outages are known: of a trace, or of fades."""
        hops = (self.forward.hops | self.back.hops).values()
        return any(hop.traced_s or hop.fades for hop in hops)

    def lost_in_queues(self, of: Of) -> float:
        """Packets of all flows that queues on both ways dropped: the mean of the runs."""
        beams = math.fsum(way.beam.dropped_packets for way in self.ways.values() if way.beam)
        return beams + self.total(of, DROPPED)

    def lost_elsewhere(self, of: Of) -> float:
        """Packets of all flows that were corrupted on both ways: the mean of the runs."""
        beams = math.fsum(way.beam.lost_packets for way in self.ways.values() if way.beam)
        return beams + self.total(of, CORRUPTED)

    def total(self, of: Of, column: str) -> float:
        """The sum of a column of all hops."""
        hops = self.forward.hops | self.back.hops
        return math.fsum(of(f"{name}.{column}") or 0.0 for name in hops)

    def split(
        self, of: Of, delay_ms: float, ways: Sequence[Way], queue_ms: float | None = None
    ) -> Split:
        """The parts of a delay over these ways.

        All above a constant propagation delay is queues, where nothing else delays packets.
        Otherwise the queues are what was measured of them (`queue_ms`, or the medians), at most
        what is above the smallest propagation delay and the wait of a lone packet for slots, and at
        least what no propagation delay explains.
        """
        low, high = sum(way.low_ms for way in ways), sum(way.high_ms for way in ways)
        sent = sum(way.transmission_ms for way in ways)
        above = max(0.0, delay_ms - low)
        slots = min(above, sum(way.slots_ms for way in ways))
        if queue_ms is None:
            queue_ms = sum(way.queue_ms(of) for way in ways)
        queue = min(above - slots, queue_ms)
        is_known = self.is_known(of, ways)
        least = max(0.0, delay_ms - high - sent) if is_known else 0.0
        is_exact = is_known and math.isclose(low, high)
        queue = least if is_exact else max(queue, least)
        return Split(delay_ms - slots - queue, slots, queue, is_exact)

    def repeats(self, of: Of) -> bool:
        """True if there were losses, after which a stream waits for retransmissions."""
        return self.streams and self.lost_in_queues(of) + self.lost_elsewhere(of) > 0

    def is_known(self, of: Of, ways: Sequence[Way]) -> bool:
        """True if nothing but propagation and queues delays packets on these ways.

        Retransmissions count for queues if these dropped more packets than were corrupted.
        """
        lost = self.lost_elsewhere(of)
        repeats = self.streams and lost > 0 and lost >= self.lost_in_queues(of)
        delayed = any(hop.is_out for way in ways for hop in way.hops.values())
        slots = any(way.beam or way.slots_ms for way in ways)
        return not (self.delaying(ways) or repeats or delayed or slots)

    def delaying(self, ways: Sequence[Way]) -> list[str]:
        """Mechanisms on these ways that delay packets and are not measured, in words."""
        words = [one for way in ways for hop in way.hops.values() for one in hop.delaying]
        return list(dict.fromkeys([*words, *(["the tunnel"] if self.tunnel else [])]))


def routes_of(scenario: Scenario, beams: Beams | None = None) -> dict[str, Route]:
    """The routes of all flows by their names. Copies of a flow have that of the first one.

    `beams` has the queues that `first_run` has found; None before a run.
    """
    explained = scenario.explain()
    made = Routes(scenario, explained, beams or {})
    return {flow.name: made.of(flow) for flow in explained.flows}


@dataclass(frozen=True)
class Routes:
    """Makes the routes of the flows of a scenario."""

    scenario: Scenario
    explained: Explanation
    beams: Beams

    def of(self, flow: Flow) -> Route:
        """The route of a flow."""
        nodes = [(flow.route, flow.return_route)]
        nodes += [(path.route, path.return_route) for path in flow.paths]
        for switch in self.explained.switches:
            ways = [(one["route"], one["return_route"]) for one in switch["paths"]]
            nodes += [
                (over(data, (out, home)), over(acks, (out, home)))
                for data, acks in nodes
                for out, home in ways
            ]
        groups = [group["name"] for beam in self.explained.beams for group in beam["groups"]]
        settings = {one.name: one.value for one in flow.settings}
        terminal = next((one for one in flow.route if group_of(one, groups)), None)
        there, back = (
            tuple(tuple(self.hops(way[end], flow, is_data=end == 0)) for way in nodes)
            for end in (0, 1)
        )
        is_up = terminal is not None and flow.route[-1] != terminal
        towards = [self.over(flow, terminal, up) for up in (is_up, not is_up)]
        return Route(
            forward=Way(there, towards[0]),
            back=Way(back, towards[1]),
            tunnel=flow.tunnel is not None,
            streams=settings.get("transport.protocol") != "udp",
            settings=settings,
        )

    def hops(self, nodes: Sequence[str], flow: Flow, *, is_data: bool) -> Iterator[Hop]:
        """The hops along nodes, of data or of ACKs. The way over a beam is none of them."""
        known = {(one.from_, one.to): (n, one) for n, one in enumerate(self.explained.links)}
        limited = {one.name for one in self.explained.nodes if one.forwarding is not None}
        for from_, to in pairwise(nodes):
            if from_ in limited and from_ != nodes[0]:
                yield Hop(f"link.{from_}.forwarding")
            if (from_, to) in known:
                number, direction = known[from_, to]
                names = (from_, to) if number % 2 == 0 else (to, from_)
                word = "backward" if number % 2 else "forward"
                yield self.hop(f"{'-'.join(names)}.{word}", direction, flow, is_data=is_data)

    def hop(self, place: str, direction: Direction, flow: Flow, *, is_data: bool) -> Hop:
        """The hop of a direction of a link; `place` has the names of both."""
        settings = {one.name: one.value for one in direction.settings}
        delays = list(self.delays_s(direction, settings))
        slots = {one.name: one.value for one in direction.effects_of("demand")}
        wait = slots.get("added delay, data" if is_data else "added delay, ACK") or 0.0
        return Hop(
            f"link.{place}",
            low_ms=min(delays) * MS,
            high_ms=max(delays) * MS,
            slots_ms=wait * MS,
            transmission_ms=8 * flow.figures.packet_bytes / settings["rate"] * MS,
            delaying=tuple(words for key, words in DELAYING.items() if settings.get(key)),
            outages=tuple(self.outages(direction)),
            traced_s=traced_s(settings["trace"], self.scenario.duration_s),
            fades=f"acm.{place}.lost_s" if settings["channel"].get("kind") == "acm" else None,
        )

    def delays_s(self, direction: Direction, settings: Mapping[str, object]) -> Iterator[float]:
        """The delays that a direction has while the run lasts, in seconds."""
        trace = settings["trace"]
        traced = trace.get("delay_s") if isinstance(trace, dict) else None
        yield from traced or [settings["delay"]]
        for event in direction.events:
            if event.delay_s is not None and event.at_s < self.scenario.duration_s:
                yield event.delay_s

    def outages(self, direction: Direction) -> Iterator[Outage]:
        """The outages by events, while the run lasts."""
        end_s, shift_s = self.scenario.duration_s, self.scenario.event_delay_s()
        for event in direction.events:
            if event.outage_s:
                times = 1 if event.every_s is None else math.ceil(end_s / event.every_s)
                for number in range(times):
                    at_s = event.at_s + shift_s + number * (event.every_s or 0.0)
                    if at_s < end_s:
                        yield Outage(at_s, at_s + event.outage_s)

    def over(self, flow: Flow, terminal: str | None, is_up: bool) -> Over | None:
        """The direction of a beam on the way of a flow; None without a beam."""
        if terminal is None:
            return None
        for beam in self.explained.beams:
            for group in beam["groups"]:
                if group_of(terminal, [group["name"]]):
                    whole = flow.figures.propagation_rtt_ms - group["ack_delay_ms"]
                    links = math.fsum(
                        hop.low_ms
                        for way in (flow.route, flow.return_route)
                        for hop in self.hops(way, flow, is_data=way is flow.route)
                    )
                    slots = group["ack_delay_ms"] if is_up else 0.0
                    place = (group["name"], "return" if is_up else "forward")
                    whole_group = self.beams.get((*place, None), {})
                    row = self.beams.get((*place, self.class_of(flow)), whole_group)
                    return Over(
                        low_ms=(whole - links) / 2,
                        slots_ms=slots,
                        queue_ms=max(0.0, row.get("median_delay_ms", 0.0) - slots),
                        tail_ms=max(0.0, row.get("p95_delay_ms", 0.0) - slots),
                        dropped_packets=whole_group.get("dropped_packets", 0.0),
                        lost_packets=whole_group.get("lost_packets", 0.0),
                    )
        return None

    def class_of(self, flow: Flow) -> str:
        """The class of a flow in a beam with classes; `other` without one."""
        classes = [
            one for beam in self.scenario.values().get("beam", ()) for one in beam.get("class", ())
        ]
        return next((one["name"] for one in classes if flow.name in one["flows"]), "other")


def traced_s(trace: object, run_s: float) -> float:
    """Seconds of a run in which a trace has outages, at least; 0 without a trace."""
    if not isinstance(trace, dict) or not trace["outage_s"]:
        return 0.0
    length_s, outage_s = float(trace["length_s"]), float(trace["outage_s"])
    if trace["loops"] and length_s > 0:
        turns = run_s // length_s
        return turns * outage_s + max(0.0, outage_s - (length_s - run_s % length_s))
    covered_s = min(run_s, length_s - float(trace["start_s"]))
    return max(0.0, outage_s - (length_s - covered_s))
