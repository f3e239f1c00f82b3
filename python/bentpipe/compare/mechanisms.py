"""Mechanisms on the path in a comparison: every controller runs over every one of them.

The mechanism stands where it can help most, at the slowest link on the route of the data: one of
links in the direction of the data, and a middlebox at the node before the link. Demand assignment
and header compression stand in the direction of the ACKs: satellite terminals have the first on
their return link, and ACKs are little but headers. Middleboxes that thin out ACKs stand at the
node behind it, before the ACKs return over the link. A split proxy stands at the end of the link
that is no host, and its satellite side is that of the link. One with its own protocol over the link
stands at both ends. A candidate is then a controller with a
mechanism, called `cubic + codel`. Without a mechanism it keeps the name of the controller, so the
baselines stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.compare.candidates import NONE
from bentpipe.console import nearest
from bentpipe.errors import InputError, ScenarioError
from bentpipe.problems import UnfitError
from bentpipe.prototypes.spec import Spec, listed

if TYPE_CHECKING:
    from bentpipe.compare.links import Link

CONTROLLERS = ("newreno", "cubic", "bbr", "hybla")
"""Controllers that are compared over mechanisms unless others are named."""
THINNING = frozenset({"ack-filter", "ack-decimation"})
"""Middleboxes that stand before the return link."""
RETURNING = frozenset({"demand", "header_compression"})
"""Keys of links for mechanisms of the return direction."""
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
    found = OnPath(name, entry.status, changes(entry.key, spec.target, value, link))
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


def changes(key: str, name: str, value: Any, link: Link) -> dict[str, Any]:
    """The changes of the scenario that put the mechanism `name` with this value at its place."""
    table, _, rest = key.partition(".")
    hop = link.bottleneck
    if table == "link":
        back = "backward" if hop.direction == "forward" else "forward"
        direction = back if rest in RETURNING else hop.direction
        return {f"link.{hop.link}.{direction}.{rest}": value}
    ends = link.document["link"][hop.link]["between"]
    before, behind = ends if hop.direction == "forward" else reversed(ends)
    node = behind if name in THINNING else before
    return at_nodes({node: value}, rest, link.document)


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
    """A split proxy at the end of the slowest link that is no host, or at both ends."""
    if spec.parameters:
        raise InputError(f"--on-path: {name}: a split proxy takes no parameters here")
    hop = link.bottleneck
    ends = link.document["link"][hop.link]["between"]
    before, behind = ends if hop.direction == "forward" else reversed(ends)
    hosts = link.ends.values()
    gateways = [(one, o) for one, o in ((before, behind), (behind, before)) if one not in hosts]
    needed = 2 if spec.target in AT_BOTH_ENDS else 1
    if len(gateways) < needed:
        found_hosts = [repr(one) for one in (before, behind) if one in hosts]
        expected = (
            "a node between the slowest link and a host, found none"
            if needed == 1
            else "a node between the slowest link and a host at both ends of it"
        )
        are = "are hosts" if len(found_hosts) > 1 else "is a host"
        raise InputError(
            f"--on-path: {name}: expected {expected}: {' and '.join(found_hosts)} {are}"
        )
    values = {
        node: {"preset": spec.target, "satellite": {"towards": [other]}}
        for node, other in gateways[:needed]
    }
    found = OnPath(name, status, at_nodes(values, PROXY, link.document), is_proxy=True)
    try:
        found.on(link)
    except ScenarioError as error:
        raise InputError(f"--on-path: {name}: {error}") from None
    return found
