"""Mechanisms on the path in a comparison: every controller runs over every one of them.

The mechanism stands where it can help most. One that acts on data is at the slowest link on the
route of the data: one of links in the direction of the data, and a middlebox at the node before
the link. One that acts on ACKs (`ON_ACKS`) is at the slowest link on the route of the ACKs: one of
links in their direction, and a middlebox at the node before the link, or at the node behind it if
it makes up for ACKs that are gone. Demand assignment is there too: it is that of the return link
of a terminal.

A split proxy stands at the end of the slowest link that is no host, and its satellite side is that
of the link. One with its own protocol over the link stands at both ends. If a switch moves packets
to other paths, the mechanism stands at the slowest link of every path, and a split proxy at the
routers of the switch.

A candidate is then a controller with a mechanism, called `cubic + codel`. Without a mechanism it
keeps the name of the controller, so the baselines stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.candidates import NONE
from bentpipe.console import nearest
from bentpipe.errors import InputError, ScenarioError
from bentpipe.problems import UnfitError
from bentpipe.prototypes.spec import Spec, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.links import Link

CONTROLLERS = ("newreno", "cubic", "bbr", "hybla")
"""Controllers that are compared over mechanisms unless others are named."""
ON_ACKS = frozenset(
    {
        "link.demand",
        "link.header_compression",
        "ack-decimation",
        "ack-filter",
        "ack-reconstruction",
    }
)
"""Mechanisms at the slowest link on the route of the ACKs: keys of links, names of middleboxes.

Headers are most of an ACK, and little of a full packet of data.
"""
BEHIND = frozenset({"ack-reconstruction"})
"""Middleboxes at the node behind their link. All others are at the node before it."""
PROXY = "proxy"
"""The key of nodes for split proxies, whose names are presets."""
AT_BOTH_ENDS = frozenset({"scps-gateway", "satpep"})
"""Split proxies with another protocol than TCP between two of them."""
WEAKEST = ("published", "from an implementation", "experimental", "reconstructed", "prototype")
"""Statuses, the surest first."""


@dataclass(frozen=True)
class OnPath:
    """A mechanism as the user wrote it, its status, and its values by path in the scenario."""

    name: str
    status: str
    changes: dict[str, Any]
    is_proxy: bool = False
    """True for a split proxy."""
    place: str = ""
    """Where it stands, in words: `on r2 -> r1`, `at r2`; empty for the path as it is."""

    @property
    def slug(self) -> str:
        """The name in the names of studies and folders; empty for the path as it is."""
        if self.name == NONE:
            return ""
        return "".join(letter if letter.isalnum() else "-" for letter in self.name)

    def on(self, link: Link) -> Link:
        """The link with the mechanism."""
        if not self.changes:
            return link
        return replace(link, scenario=link.scenario.with_(self.changes))

    def replaced(self, link: Link) -> list[str]:
        """What of the link it replaces, as sentences."""
        found = []
        for path in self.changes:
            table, _, rest = path.partition(".")
            number, _, key = rest.partition(".")
            if table == "link":
                direction, _, key = key.partition(".")
                entry = link.document["link"][int(number)]
                own = entry.get(direction, {}).get(key, entry.get(key))
                place = f"{'-'.join(entry['between'])} {direction}"
            elif number:
                entry = link.document["node"][int(number)]
                own, place = entry.get(key), entry["name"]
            else:  # new nodes
                continue
            if own not in (None, NONE):
                name = (
                    own.get("name", own.get("preset", "a table")) if isinstance(own, dict) else own
                )
                found.append(f"{self.name} replaces the {key} of {place} ({name}).")
        return found


AS_IT_IS = OnPath(NONE, WEAKEST[0], {})


def chosen(text: str, link: Link) -> list[OnPath]:
    """The mechanisms in a list with commas, and first the path as it is.

    A key of scenarios, as `arq`, stands for all of its mechanisms. `InputError` for one that does
    not exist or does not fit the link.
    """
    names = dict.fromkeys(one for name in listed("--on-path", text) for one in of_kind(name))
    found = [of_name(name, link) for name in names if name != NONE]
    if not found:
        raise InputError("--on-path: expected a mechanism; `bentpipe path` lists them")
    return [AS_IT_IS, *found]


def of_kind(name: str) -> list[str]:
    """The mechanisms of a key of links or nodes, or the name itself if it is no such key."""
    known = {entry.name: entry.key for entry in _native.mechanisms()}
    of_key = [one for one, key in known.items() if key.endswith(f".{name}")]
    return [name] if name in known or not of_key else of_key


def of_name(name: str, link: Link) -> OnPath:
    """One mechanism at its place on the link."""
    known = {entry.name: entry for entry in _native.mechanisms()}
    try:
        spec = Spec.parse(name)
    except UnfitError as error:
        raise InputError(f"--on-path: {name}: {error}") from None
    entry = known.get(spec.target)
    if entry is None:
        kind = [one.name for one in known.values() if one.key.endswith(f".{spec.target}")]
        hint = nearest(spec.target, [*known, NONE])
        near = f"; {spec.target} is one of {', '.join(kind)}" if kind else hint
        raise InputError(f"--on-path: there is no mechanism {spec.target!r}{near}")
    if entry.key.startswith("flow."):
        raise InputError(
            f"--on-path: {name}: it belongs to flows, and not to the path: `{entry.key}` of a"
            " scenario takes it"
        )
    if entry.key == f"node.{PROXY}":
        return split(name, entry.status, spec, link)
    value = value_of(entry.key, spec)
    changed, place = changes(entry.key, spec.target, value, link)
    found = OnPath(name, entry.status, changed, place=place)
    try:
        found.on(link)
    except ScenarioError as error:
        raise InputError(f"--on-path: {name}: {error}") from None
    return found


def value_of(key: str, spec: Spec) -> Any:
    """The value of the key that takes the mechanism.

    A mechanism that is all that its key takes, such as a trace, has a table without a name.
    """
    if key.rpartition(".")[2] == spec.target:
        return dict(spec.parameters)
    return {"name": spec.target, **spec.parameters} if spec.parameters else spec.target


def changes(key: str, name: str, value: Any, link: Link) -> tuple[dict[str, Any], str]:
    """The changes of the scenario that put a mechanism at its places, and the places in words."""
    table, _, rest = key.partition(".")
    places = link.return_bottlenecks if acts_on_acks(key, name) else link.bottlenecks
    if table == "link":
        changed = {f"link.{hop.link}.{hop.direction}.{rest}": value for hop in places}
        return changed, f"on {' and '.join(map(link.arrow, places))}"
    number = -1 if name in BEHIND else 0
    values = {link.nodes_of(hop)[number]: value for hop in places}
    return at_nodes(values, rest, link.document), f"at {' and '.join(values)}"


def acts_on_acks(key: str, name: str) -> bool:
    """True if the place of a mechanism is on the route of the ACKs."""
    return not ON_ACKS.isdisjoint((key, name))


def at_nodes(values: dict[str, Any], key: str, document: dict[str, Any]) -> dict[str, Any]:
    """The changes of the scenario that give nodes this key, with a value for each name."""
    nodes = document.get("node", [])
    names = [one["name"] for one in nodes]
    if values.keys() <= set(names):
        return {f"node.{names.index(node)}.{key}": value for node, value in values.items()}
    changed = [one | {key: values[one["name"]]} if one["name"] in values else one for one in nodes]
    new = [{"name": node, key: value} for node, value in values.items() if node not in names]
    return {"node": [*changed, *new]}


def split(name: str, status: str, spec: Spec, link: Link) -> OnPath:
    """A split proxy at an end of each slowest link that is no host, or at both ends.

    `InputError` for a link between hosts, and for a place that the scenario does not take.
    """
    if spec.parameters:
        raise InputError(f"--on-path: {name}: a split proxy takes no parameters here")
    needed = 2 if spec.target in AT_BOTH_ENDS else 1
    towards: dict[str, list[str]] = {}
    for ends in segments(link):
        gateways = [end for end in ends.items() if end[0] not in link.ends.values()]
        if len(gateways) < needed:
            raise InputError(f"--on-path: {name}: {between_hosts([*ends], needed, link)}")
        for node, others in gateways[:needed]:
            towards[node] = list(dict.fromkeys([*towards.get(node, []), *others]))
    values = {
        node: {"preset": spec.target, "satellite": {"towards": others}}
        for node, others in towards.items()
    }
    changed = at_nodes(values, PROXY, link.document)
    found = OnPath(name, status, changed, is_proxy=True, place=f"at {' and '.join(values)}")
    try:
        found.on(link)
    except ScenarioError as error:
        raise InputError(f"--on-path: {name}: {error}") from None
    return found


def segments(link: Link) -> list[dict[str, list[str]]]:
    """Both ends of each slowest link in the order of the data, with their neighbours on the link.

    The ends of a link on a path of a switch are the routers of the switch, because no proxy can be
    between them.
    """
    switches = link.scenario.explain().switches if len(link.ways) > 1 else []
    found = []
    for hop in link.bottlenecks:
        before, behind = link.nodes_of(hop)
        ends = {before: [behind], behind: [before]}
        for switch in switches:
            for key in ("route", "return_route"):
                routes = [path[key] for path in switch["paths"]]
                if any((before, behind) in pairwise(route) for route in routes):
                    ends = {
                        routes[0][0]: [route[1] for route in routes],
                        routes[0][-1]: [route[-2] for route in routes],
                    }
        found.append(ends)
    return found


def between_hosts(ends: Sequence[str], needed: int, link: Link) -> str:
    """Why a split proxy that needs a number of gateways has no place at the ends of a link."""
    hosts = [repr(end) for end in ends if end in link.ends.values()]
    expected = (
        "a node between the slowest link and a host, found none"
        if needed == 1
        else "a node between the slowest link and a host at both ends of it"
    )
    are = "are hosts" if len(hosts) > 1 else "is a host"
    return f"expected {expected}: {' and '.join(hosts)} {are}"
