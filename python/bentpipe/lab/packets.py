"""Time-sequence graphs of the page: single packets of one run, on request only.

The run writes a capture at the sender of the data, as `bentpipe run --pcap` does. A range of the
graph is read from the capture again, so that a short range has every packet.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.links import Link
from bentpipe.errors import CaptureError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe._native import Capture, CapturedConnection, Scenario

MOST_PACKETS = 300_000
"""Full packets that the bottleneck can carry in a run: a capture has at most about 128 B of each,
and as much of each ACK."""
PACKET_BITS = 12_000
MOST_KEPT = 3
"""Captures that are kept for other ranges of the same run."""
MOST_CONNECTIONS = 50
"""Connections in the list, those with most data."""
LONGEST_S = 1e9
"""The largest time of a run in seconds that a page can name."""
LONGEST_SHOWN = 60
"""Characters of a wrong value in an error."""
FILE = "capture.pcapng"


@dataclass(frozen=True)
class Taken:
    """A capture of a run, and the connections that can be chosen."""

    path: Path
    capture: Capture
    connections: list[CapturedConnection]
    first: int
    """Number of the connection of the first flow over the bottleneck."""


class Packets:
    """Captures of the newest runs, in a folder that `close` removes."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="bentpipe-lab-")
        self.kept: OrderedDict[tuple[str, int], Taken] = OrderedDict()
        self.runs = 0
        self.lock = threading.Lock()
        """Held for the list of captures, and not during a run."""

    def close(self) -> None:
        """Remove all captures."""
        self.folder.cleanup()

    def graph(
        self, scenario: Scenario, asked: Range, progress: Callable[[float], object]
    ) -> dict[str, Any]:
        """The graph of a range; `InputError` for a run without packets of TCP, or with too many."""
        taken = self.taken(scenario, progress)
        number = taken.first if asked.connection is None else asked.connection
        one = next((each for each in taken.connections if each.number == number), None)
        if one is None:
            raise InputError.of_value("connection", "a number of the list", str(number))
        to_server = one.to_server.bytes >= one.to_client.bytes
        zero_s = taken.capture.started_s
        begin_s = one.start_s if asked.from_s is None else asked.from_s - zero_s
        end_s = one.start_s + one.duration_s if asked.to_s is None else asked.to_s - zero_s
        (found,) = _native.capture_graphs(
            taken.path, [(number, to_server, max(begin_s, 0.0), end_s)], progress=progress
        )
        bars = {"sent": found.sent, "again": found.again, "sacks": found.sacks}
        steps = {"acked": found.acked, "edge": found.edge}
        names = [each.name for each in scenario.explain().nodes]
        return {
            "from_s": round(begin_s + zero_s, 9),
            "to_s": round(end_s + zero_s, 9),
            "whole": [round(at + zero_s, 9) for at in (one.start_s, one.start_s + one.duration_s)],
            "reduced": found.reduced,
            "connection": number,
            "connections": [
                {"number": each.number, "text": described(each, names)}
                for each in taken.connections
            ],
            **{
                name: [(round(at + zero_s, 9), low, high) for at, low, high in each]
                for name, each in bars.items()
            },
            **{
                name: [(round(at + zero_s, 9), value) for at, value in each]
                for name, each in steps.items()
            },
        }

    def taken(self, scenario: Scenario, progress: Callable[[float], object]) -> Taken:
        """The capture of a run, which may be there from before."""
        key = (scenario.to_toml(), scenario.seed)
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        link = Link(scenario.name, scenario)
        packets = link.bottleneck.rate_bps * scenario.duration_s / PACKET_BITS
        if packets > MOST_PACKETS:
            longest_s = MOST_PACKETS * PACKET_BITS / link.bottleneck.rate_bps
            raise InputError(
                f"the graph of single packets: the run could have {packets:,.0f} packets, expected "
                f"at most {MOST_PACKETS:,}; choose a duration of at most {longest_s:.3g} s"
            )
        with self.lock:
            self.runs += 1
            folder = Path(self.folder.name) / str(self.runs)
        output = _native.OutputFolder(folder)
        output.save(_native.run(scenario, progress=progress, capture=output), scenario)
        found = read(folder / FILE, link)
        # The file is there for as long as a thread reads it.
        weakref.finalize(found, found.path.unlink, missing_ok=True)
        with self.lock:
            self.kept[key] = found
            if len(self.kept) > MOST_KEPT:
                self.kept.popitem(last=False)
        return found


@dataclass(frozen=True)
class Range:
    """The part of a graph that a page shows: seconds of the run, and a connection."""

    from_s: float | None = None
    to_s: float | None = None
    connection: int | None = None

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Range:
        """The range that a page sent; `InputError` if it is none."""
        ends = [data.get(key) for key in ("from_s", "to_s")]
        for end in ends:
            if not (end is None or is_time(end)):
                raise InputError.of_value("range", "a number of seconds", repr(end)[:LONGEST_SHOWN])
        begin, end = ends
        if begin is not None and end is not None and not begin < end:
            raise InputError.of_value("range", "a start before the end", f"{begin} to {end}")
        number = data.get("connection")
        if not (number is None or type(number) is int):
            raise InputError.of_value("connection", "a number", repr(number))
        return cls(begin, end, number)


def is_time(value: object) -> bool:
    """True for a number that can be a time of a run."""
    return isinstance(value, int | float) and type(value) is not bool and abs(value) <= LONGEST_S


def read(path: Path, link: Link) -> Taken:
    """A capture with its connections; `InputError` if it has none of TCP."""
    try:
        capture = _native.read_capture(path)
    except CaptureError:
        protocol = "the graph of single packets needs a flow over TCP; this run has no packet of it"
        raise InputError(protocol) from None
    by_data = sorted(capture.connections, key=lambda one: -data(one))[:MOST_CONNECTIONS]
    connections = sorted(by_data, key=lambda one: one.number)
    return Taken(path, capture, connections, first(connections, link))


def first(connections: list[CapturedConnection], link: Link) -> int:
    """The connection of the first flow whose data goes over the bottleneck.

    Its sender is the last gateway with a proxy before the bottleneck, or the server. Of equal ones
    it is that with the lowest port, which flows get in their order.
    """
    explained = link.scenario.explain()
    names = [one.name for one in explained.nodes]
    route = explained.flows[0].route
    place = next(n for n, hop in enumerate(link.hops) if hop.link == link.bottleneck.link)
    proxies = {one.name for one in explained.nodes if one.proxy}
    split = [name for number, name in enumerate(route[: place + 1]) if number and name in proxies]
    sender = split[-1] if split else route[0]

    def order(one: CapturedConnection) -> tuple[bool, int, int]:
        ends = (one.server, one.client)
        source = ends[0] if one.to_client.bytes >= one.to_server.bytes else ends[1]
        port = min(-int(end.rpartition(":")[2]) for end in ends)
        return node_of(source, names) != sender, -port, one.number

    return min(connections, key=order).number


def node_of(end: str, names: list[str]) -> str:
    """The node of an address with a port."""
    address = end.rpartition(":")[0].strip("[]")
    number = _native.node_of_address(address)
    return names[number] if number is not None and number < len(names) else address


def data(one: CapturedConnection) -> int:
    """Bytes of both directions."""
    return one.to_server.bytes + one.to_client.bytes


def described(one: CapturedConnection, names: list[str]) -> str:
    """A connection as its sender, its receiver and its data."""
    source, target = one.server, one.client
    if one.to_client.bytes < one.to_server.bytes:
        source, target = target, source
    ends = " to ".join(node_of(end, names) for end in (source, target))
    return f"{one.number}: {ends}, {data(one) / 1e6:.3g} MB"
