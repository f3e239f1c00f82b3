"""Split proxies in a comparison: which of them send over the satellite, and with which controller.

A proxy of a scenario may have a controller of its own there. A ranking would then be one of the
controllers of the other legs, over which nothing is decided. So the controller that is compared
takes its place. On a link the proxy's own controller is taken away: each connection over the
satellite has the controller of its flow, and the NewReno that a candidate competes with is NewReno
there too. Over a beam it is set (`bentpipe.beams.variants`), because flows of other groups keep
theirs.

A preset that is a window or a rate made for the satellite (CK-STP, SCPS) is nothing without it, and
keeps it. So do the presets of `--on-path`. The output names them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bentpipe.compare.mechanisms import PROXY, at_nodes
from bentpipe.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from bentpipe.compare.links import Link
    from bentpipe.explanation import Explanation

SIDES = ("satellite", "terrestrial")
"""The sides of a proxy."""
OPEN = frozenset({"pepsal"})
"""Presets of programs whose controller is a setting of the system."""


@dataclass(frozen=True)
class Sender:
    """A proxy that sends over the satellite, as the scenario has it.

    `at` and `to` are the ends of its leg. `controller` is its own one, or None for that of a flow.
    """

    at: str
    to: str
    side: str
    preset: str | None
    controller: str | None

    @property
    def is_kept(self) -> bool:
        """True if it sends with its own controller in a comparison too."""
        return self.controller is not None and self.preset is not None and self.preset not in OPEN

    @property
    def is_replaced(self) -> bool:
        """True if the controller that is compared takes the place of its own."""
        return self.controller is not None and not self.is_kept

    @property
    def own(self) -> str:
        """Its own controller in words."""
        return self.controller if self.controller not in (None, "none") else "no congestion control"

    @property
    def leg(self) -> str:
        """The leg in words."""
        return f"{self.at} to {self.to}"


def facing(sides: Mapping[str, Iterable[str]], neighbours: Collection[str]) -> str | None:
    """The side of a proxy that has one of these neighbours; None if none has."""
    return next((side for side in SIDES if set(neighbours) & set(sides[side])), None)


def preset_of(proxy: str | dict[str, Any]) -> str | None:
    """The preset of a proxy, as it was written; None without one."""
    return proxy if isinstance(proxy, str) else proxy.get("preset")


def has_controller(proxy: str | dict[str, Any], side: str) -> bool:
    """True if the side of a proxy does not take the controller of the flow."""
    if not isinstance(proxy, str) and proxy.get(side, {}).get("controller") is not None:
        return True
    return preset_of(proxy) is not None and side == "satellite"


def senders(link: Link) -> list[Sender]:
    """The proxies that send over the satellite, those of the data first."""
    written = {one["name"]: one.get(PROXY, "none") for one in link.document.get("node", [])}
    if all(proxy == "none" for proxy in written.values()):
        return []
    explained = link.scenario.explain()
    sides = sides_of(explained)
    found = []
    for start, end, route in legs(link, explained):
        back = list(reversed(route))
        for at, to, way in ((start, end, route), (end, start, back)):
            side = facing(sides[at], [way[way.index(at) + 1]]) if at in sides else None
            if side is None:
                continue
            own = None
            if has_controller(written[at], side):
                own = named(written[at], side) or controller_of(link, at, to)
            found.append(Sender(at, to, side, preset_of(written[at]), own))
    return found


def sides_of(explained: Explanation) -> dict[str, dict[str, list[str]]]:
    """The neighbours on each side of each proxy."""
    return {
        node.name: {"satellite": node.proxy.satellite, "terrestrial": node.proxy.terrestrial}
        for node in explained.nodes
        if node.proxy
    }


def legs(link: Link, explained: Explanation) -> list[tuple[str, str, Sequence[str]]]:
    """The legs of the first flow over the satellite and the bottleneck: their ends and the route.

    None for a flow that no proxy splits.
    """
    first = explained.flows[0]
    route = first.route
    places = {link.hops.index(link.satellite), link.hops.index(link.bottleneck)}
    ends = [(one.from_, one.to) for one in first.legs]
    return [
        (start, end, route)
        for start, end in ends
        if any(route.index(start) <= place < route.index(end) for place in places)
    ]


def named(proxy: str | dict[str, Any], side: str) -> str | None:
    """The name of the controller that is written at the side of a proxy; None without one."""
    value = None if isinstance(proxy, str) else proxy.get(side, {}).get("controller")
    return value.get("name") if isinstance(value, dict) else value


def controller_of(link: Link, at: str, to: str) -> str:
    """The controller with which an end of a leg sends: one of a preset, so that of any flow."""
    there = {**link.ends, "controller": "cubic", "transport": link.transport, **link.tunnel}
    there["traffic"] = {"bulk": "unlimited"}
    back = there | {"from": there["to"], "to": there["from"]}
    flows = link.scenario.with_({"flow": [there, back]}).explain().flows
    return next(
        leg.controller for flow in flows for leg in flow.legs if (leg.from_, leg.to) == (at, to)
    )


def with_compared(link: Link, sets: Sequence[str] = ()) -> Link:
    """The link whose proxies send over the satellite with the controller of each flow.

    `InputError` for an override of a controller that is taken away.
    """
    found = senders(link)
    if not found:
        return link
    document = link.document
    names = [one["name"] for one in document["node"]]
    values: dict[str, Any] = {}
    for one in (one for one in found if one.is_replaced):
        check_sets(one, names.index(one.at), sets)
        values[one.at] = without_controller(document["node"][names.index(one.at)][PROXY], one.side)
    changed = link.scenario.with_(at_nodes(values, PROXY, document)) if values else link.scenario
    return replace(link, scenario=changed, senders=tuple(found))


def without_controller(proxy: str | dict[str, Any], side: str) -> dict[str, Any]:
    """The proxy whose side takes the controller of the flow."""
    table = {} if isinstance(proxy, str) else dict(proxy)
    own = {key: value for key, value in table.get(side, {}).items() if key != "controller"}
    # An open preset sets nothing else.
    table.pop("preset", None)
    return table | {side: own}


def check_sets(sender: Sender, number: int, sets: Sequence[str]) -> None:
    """Reject overrides of the controller of a proxy that is taken away; `InputError`."""
    for override in sets:
        path = override.partition("=")[0].strip()
        for node in (sender.at, str(number)):
            own = f"node.{node}.{PROXY}.{sender.side}.controller"
            if path == own or path.startswith(f"{own}."):
                raise InputError(
                    f"--set {path}: no effect, because the controller that is compared takes its"
                    " place; --controllers chooses the controllers"
                )


def on(link: Link, unsplit: Collection[tuple[str, str | None]] = ()) -> str:
    """What splits the flows, for the line that names the link; empty without a proxy or tunnel.

    `unsplit` are transports that cross a proxy unsplit, each with a proxy of `--on-path`, or None
    for that of the scenario.
    """
    parts = []
    if link.tunnel:
        (name,) = link.tunnel.values()
        parts.append(f"in a tunnel ({name if isinstance(name, str) else name['name']})")
        if unsplit and not link.senders:
            return f"{parts[0]}, which no proxy splits"
    if ranked := dict.fromkeys(one.at for one in link.senders if not one.is_kept):
        where = " and ".join(ranked)
        parts.append(f"TCP is split at {where}, with the ranked controller over the satellite")
    parts += [
        f"TCP is split at {where}, where {preset} keeps {own} over the satellite: the ranked"
        " controller is that of the other legs only"
        for (preset, own), where in kept(link).items()
    ]
    parts += [f"{name} is not split{f' by {proxy}' if proxy else ''}" for name, proxy in unsplit]
    return "; ".join(parts)


def kept(link: Link) -> dict[tuple[str | None, str], str]:
    """The nodes whose presets keep their controllers, by preset and controller."""
    found: dict[tuple[str | None, str], list[str]] = {}
    for one in (one for one in link.senders if one.is_kept):
        found.setdefault((one.preset, one.own), []).append(one.at)
    return {key: " and ".join(dict.fromkeys(nodes)) for key, nodes in found.items()}


def about(link: Link) -> list[str]:
    """What a comparison changes at the proxies of a scenario, and what it keeps, in sentences."""
    lines = [
        f"Over the satellite, the split proxy at {where} keeps {own}, as its preset {preset} has"
        " it. The ranking is one of the controllers of the other legs."
        for (preset, own), where in kept(link).items()
    ]
    own = [f"{one.at} ({one.controller})" for one in link.senders if one.is_replaced]
    if own:
        lines.append(
            "Over the satellite, each split connection has the controller of its flow, in place of"
            f" that of the proxy at {' and '.join(own)}. So the background, and the NewReno of the"
            " competition, are NewReno there too."
        )
    return lines
