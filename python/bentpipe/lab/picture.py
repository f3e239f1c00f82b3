"""The path of the first flow as boxes and lines: nodes, and links with both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.lab.applications import default
from bentpipe.lab.control import short, spaced
from bentpipe.names import group_of

if TYPE_CHECKING:
    from bentpipe.compare.links import Link
    from bentpipe.explanation import Direction, Explanation, Flow, Node

ALWAYS = ("rate", "delay", "queue")
"""Settings of a direction that are always shown; of the others those that are no defaults."""
WORDS = {"channel": "losses", "aqm": "AQM", "arq": "ARQ", "fec": "FEC", "mtu": "MTU"}
"""Names of settings for people; the others are the keys."""
TWO = ("newreno", "cubic")
"""Controllers of which a leg has none if it has its own, whichever the flow has."""
OF_BEAM = "Queue and losses in the figures are those of links; the table has the rates in the beam."
OF_BACKGROUND = (
    "Terminals in the background have no lines in the figures; the table has their rates."
)


def picture(link: Link, found: Explanation) -> dict[str, Any]:
    """Nodes and links on the route of the first flow, and a sentence on what it leaves out."""
    flow = found.flows[0]
    nodes = {one.name: one for one in found.nodes}
    # Terminals of a beam are no nodes of the scenario.
    route = [
        box(nodes[name], flow) if name in nodes else {"name": name, "about": ["terminal"]}
        for name in flow.route
    ]
    lines = [line(found, hop.link, hop.direction) for hop in link.hops]
    others = len(link.document.get("link", ())) - len(lines)
    beam = beam_of(link, flow)
    if beam is not None:
        place = flow.route.index(beam["gateway"])
        is_forward = flow.route[-1] not in nodes
        lines.insert(place if is_forward else 0, carriers(beam, is_forward))
    figures = flow.figures
    return {
        "flow": flow.name,
        "nodes": route,
        "links": lines,
        "base_rtt": f"{figures.base_rtt_ms:.4g} ms",
        "bdp": short(figures.bdp_bytes, "B"),
        "note": " ".join(
            filter(
                None,
                (
                    left_out(others, len(found.flows) - 1, flow),
                    *of_beam(beam),
                    *of_proxies(link, flow),
                ),
            )
        ),
    }


def of_beam(beam: dict[str, Any] | None) -> list[str]:
    """Sentences on what the figures do not have of a beam."""
    if beam is None:
        return []
    has_background = any(group.get("background") for group in beam["group"])
    return [OF_BEAM, OF_BACKGROUND] if has_background else [OF_BEAM]


def of_proxies(link: Link, flow: Flow) -> list[str]:
    """Sentences on split proxies that send with a controller of their own."""
    if not flow.legs:
        return []
    legs = [
        link.scenario.with_({"flow.0.controller": name}).explain().flows[0].legs for name in TWO
    ]
    return [
        f"The split proxy at {one.from_} sends to {one.to} with {one.controller}, whatever"
        " controller is chosen."
        for one, other in zip(*legs, strict=True)
        if one.controller == other.controller
    ]


def beam_of(link: Link, flow: Flow) -> dict[str, Any] | None:
    """The beam on the route of a flow, as its scenario has it."""
    ends = (flow.route[0], flow.route[-1])
    for beam in link.document.get("beam", ()):
        groups = {one["name"] for one in beam["group"]}
        if beam["gateway"] in flow.route and any(group_of(name, groups) for name in ends):
            return dict(beam)
    return None


def carriers(beam: dict[str, Any], is_forward: bool) -> dict[str, Any]:
    """The carrier of a beam and its return channel as a line, the direction of the data first."""
    terminals = sum(group["terminals"] for group in beam["group"])
    scheduler = beam.get("forward", {}).get("scheduler", default("forward", "scheduler"))
    count = beam.get("return", {}).get("carriers", default("return", "carriers"))
    delay = spaced(beam.get("delay", default("delay")))
    ways = [
        (f"beam {beam['name']}", f"{terminals} terminals, {scheduler}, {delay}"),
        ("return channel", f"{count} carriers, {delay}"),
    ]
    ends = [beam["gateway"], "terminals"]
    found = [
        {"from": a, "to": b, "settings": [{"name": name, "text": text}]}
        for (name, text), (a, b) in zip(ways, (ends, ends[::-1]), strict=True)
    ]
    data, back = found if is_forward else found[::-1]
    return {"data": data, "back": back}


def left_out(links: int, flows: int, flow: Flow) -> str:
    """A sentence on the links that are not drawn, and on the flows that keep their controller."""
    parts = []
    if links:
        parts.append(f"{links} other link{'s' if links > 1 else ''} of the scenario not drawn.")
    if flows or flow.count > 1:
        first = f"the first of the {flow.count} flows {flow.name}" if flow.count > 1 else flow.name
        more = f"{flows} other flows" if flows > 1 else "other flow"
        keep = f" The {more} keep{'' if flows > 1 else 's'} the controller of the scenario."
        parts.append(f"The figures show {first}.{keep if flows else ''}")
    return " ".join(parts)


def box(node: Node, flow: Flow) -> dict[str, Any]:
    """A node with its profile, middlebox, proxy and forwarding."""
    about = [one.profile for one in flow.hosts if one.node == node.name and one.profile]
    if node.middlebox:
        about.append(node.middlebox.name)
    if node.proxy:
        about.append(f"split proxy{f' {node.proxy.preset}' if node.proxy.preset else ''}")
    if node.forwarding:
        about.append(f"forwards {short(node.forwarding.rate_bps, 'bit/s')}")
    return {"name": node.name, "about": about}


def line(found: Explanation, number: int, direction: str) -> dict[str, Any]:
    """Both directions of a link, that of the data first."""
    forward, backward = found.links[2 * number], found.links[2 * number + 1]
    data, back = (forward, backward) if direction == "forward" else (backward, forward)
    return {"data": settings(data), "back": settings(back)}


def settings(found: Direction) -> dict[str, Any]:
    """The settings of a direction as texts, and its events."""
    shown = [one for one in found.settings if one.name in ALWAYS or not one.default]
    texts = [
        {"name": WORDS.get(one.name, one.name.replace("_", " ")), "text": spaced(one.text)}
        for one in shown
    ]
    if found.events:
        texts.append({"name": "events", "text": str(len(found.events))})
    return {"from": found.from_, "to": found.to, "settings": texts}
