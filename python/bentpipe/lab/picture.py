"""The path of the first flow as boxes and lines: nodes, and links with both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.lab.controls import short, spaced

if TYPE_CHECKING:
    from bentpipe.compare.links import Link
    from bentpipe.explanation import Direction, Explanation, Flow, Node

ALWAYS = ("rate", "delay", "queue")
"""Settings of a direction that are always shown; of the others those that are no defaults."""
WORDS = {"channel": "losses", "aqm": "AQM", "arq": "ARQ", "fec": "FEC", "mtu": "MTU"}
"""Names of settings for people; the others are the keys."""


def picture(link: Link, found: Explanation) -> dict[str, Any]:
    """Nodes and links on the route of the first flow, and a sentence on what it leaves out."""
    flow = found.flows[0]
    nodes = {one.name: one for one in found.nodes}
    route = [box(nodes[name], flow) for name in flow.route]
    lines = [line(found, hop.link, hop.direction) for hop in link.hops]
    others = len(link.document["link"]) - len(lines)
    figures = flow.figures
    return {
        "flow": flow.name,
        "nodes": route,
        "links": lines,
        "base_rtt": f"{figures.base_rtt_ms:.4g} ms",
        "bdp": short(figures.bdp_bytes, "B"),
        "note": left_out(others, len(found.flows) - 1, flow),
    }


def left_out(links: int, flows: int, flow: Flow) -> str:
    """A sentence on the links that are not drawn, and on the flows that keep their controller."""
    parts = []
    if links:
        parts.append(f"{links} other link{'s' if links > 1 else ''} of the scenario not drawn.")
    if flows or flow.count > 1:
        first = f"the first of the {flow.count} flows {flow.name}" if flow.count > 1 else flow.name
        more = f"{flows} other flow{'s' if flows > 1 else ''}" if flows else ""
        keep = f" The {more} keep{'' if flows > 1 else 's'} the controller of the scenario."
        parts.append(f"The figures show {first}.{keep if more else ''}")
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
