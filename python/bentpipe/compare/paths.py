"""The paths of a link: one for each way that the packets of the first flow can take.

A switch moves packets to another path. Each path is a link of its own here, whose scenario has
nothing but the links of this path. So its figures and ranges equal the ones of `bentpipe explain`
for a scenario with this path only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Hop
    from bentpipe.compare.links import Link
    from bentpipe.explanation import Explanation

SPLITTING = "proxy"
"""The key of nodes that splits connections. A path is measured from end to end without it."""


@dataclass(frozen=True)
class Place:
    """A direction of a link on a route. Rate in bit/s and delay in seconds, at the start."""

    link: int
    """Number of the link in the scenario, from zero."""
    direction: str
    """`forward` or `backward`."""
    rate_bps: int
    delay_s: float


@dataclass(frozen=True)
class Way:
    """A path of the first flow. The path at the start is the first one."""

    name: str
    """The nodes that it leads through, as the switch names them; empty for the only path."""
    link: Link
    """The link with this path only. Its links have other numbers."""
    numbers: tuple[int, ...]
    """The number in the scenario of each link of `link`."""

    @property
    def bottleneck(self) -> Place:
        """The slowest link on the route of the data."""
        return self.place(self.link.bottleneck)

    @property
    def return_bottleneck(self) -> Place:
        """The slowest link on the route of the acknowledgements."""
        return self.place(min(self.link.back, key=lambda hop: hop.rate_bps))

    @property
    def satellite(self) -> Place:
        """The link of the satellite: one with an orbit, otherwise that with the longest delay."""
        return self.place(self.link.satellite)

    @property
    def places(self) -> list[Place]:
        """The route of the data."""
        return [self.place(hop) for hop in self.link.hops]

    def place(self, hop: Hop) -> Place:
        """A hop of this path with the number that its link has in the scenario."""
        return Place(self.numbers[hop.link], hop.direction, hop.rate_bps, hop.delay_s)

    def to_dict(self) -> dict[str, Any]:
        """The path for JSON."""
        return {
            "name": self.name,
            "rate_bps": self.link.rate_bps,
            "rtt_s": self.link.rtt_s,
            "bdp_bytes": self.link.bdp_bytes,
        }


def ways(link: Link) -> tuple[Way, ...]:
    """The paths of the first flow, that at the start first; one if nothing moves packets."""
    explained = link.scenario.explain()
    found: dict[tuple[int, ...], Way] = {}
    routes = [*routes_of(explained)]
    if len(routes) == 1:
        return (Way("", link, tuple(range(len(link.document["link"])))),)
    for name, data, acks in routes:
        numbers = links_of(explained, data, acks)
        found.setdefault(numbers, Way(name, alone(link, numbers, data, acks), numbers))
    return tuple(found.values())


def routes_of(explained: Explanation) -> list[tuple[str, list[str], list[str]]]:
    """The name, the nodes of the data and those of the ACKs, for each path of the first flow."""
    (flow, *_) = explained.flows
    found = [("", flow.route, flow.return_route)]
    for switch in explained.switches:
        found = [
            (
                " and ".join(filter(None, (name, path["via"]))),
                over(data, (path["route"], path["return_route"])),
                over(acks, (path["route"], path["return_route"])),
            )
            for name, data, acks in found
            for path in switch["paths"]
        ]
    return found


def links_of(explained: Explanation, data: Sequence[str], acks: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the links along the nodes of both routes, in order."""
    steps = {*pairwise(data), *pairwise(acks)}
    return tuple(
        dict.fromkeys(
            number // 2
            for number, one in enumerate(explained.links)
            if (one.from_, one.to) in steps
        )
    )


def alone(link: Link, numbers: Sequence[int], data: Sequence[str], acks: Sequence[str]) -> Link:
    """The link with the links of one path only, and a flow from its first node to its last one."""
    document = link.document
    nodes = [
        {key: value for key, value in one.items() if key != SPLITTING}
        for one in document.get("node", ())
        if one["name"] in {*data, *acks}
    ]
    flow = {"from": data[0], "to": data[-1], "controller": "cubic"}
    changes = {
        "switch": [],
        "link": [document["link"][number] for number in numbers],
        "node": nodes,
        "flow": [flow | {"traffic": {"bulk": "unlimited"}}],
    }
    return replace(link, scenario=link.scenario.with_(changes), own_transport=None, senders=())


def distinct(places: Sequence[Place]) -> list[Place]:
    """The directions of links, each once, in order."""
    return list({(one.link, one.direction): one for one in places}.values())


def over(nodes: Sequence[str], ways: Sequence[Sequence[str]]) -> list[str]:
    """The route over one of the ways of a switch; the same if it does not pass both its ends."""
    for way in ways:
        first, last = way[0], way[-1]
        if first in nodes and last in nodes and nodes.index(first) < nodes.index(last):
            return [*nodes[: nodes.index(first)], *way, *nodes[nodes.index(last) + 1 :]]
    return list(nodes)
