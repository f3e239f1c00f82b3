"""The things of a scenario that publications describe: controllers, mechanisms, models."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.cite.library import Thing, library

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from bentpipe._native import ControllerEntry, Mechanism, Transport
    from bentpipe.explanation import Direction, Flow, Node, Setting

NONE = "none"
WITH_NAME = ("aqm", "arq", "fec", "feedback", "demand", "header_compression")
"""Mechanisms of links whose value has the name of one of several."""
ALONE = ("mtu", "shaper", "policer", "trace")
"""Mechanisms of links that there is one of."""


EVERY = "*"
"""All flows, in a set of their names."""


def of_scenario(scenario: bentpipe.Scenario, replaced: Collection[str] = ()) -> set[Thing]:
    """All things of a scenario. A controller in Python takes the place of those of some flows."""
    explanation = scenario.explain()
    found: set[Thing] = set()
    for flow in explanation.flows:
        is_own = EVERY in replaced or any(of_entry(name, flow) for name in replaced)
        found.update(one for one in of_flow(flow) if not (is_own and is_controller(one)))
    found.update(Thing("mixes", mix["preset"]) for mix in explanation.mixes)
    for node in explanation.nodes:
        found.update(of_node(node))
    for link in explanation.links:
        found.update(of_link(link))
    written = scenario.values()
    found.update(of_files(written))
    for switch in written.get("switch", ()):
        found.update(Thing("switches", rule) for rule in library()["switches"] if rule in switch)
    for flow in written["flow"]:
        found.update(of_hints(flow.get("path_hints")))
    for beam in written.get("beam", ()):
        found.update(of_beam(beam))
    return found


def of_entry(name: str, flow: Flow) -> bool:
    """True for the name of an entry, or of one of its copies: `bulk`, `bulk.3`."""
    return name == flow.name or (flow.count > 1 and name.rpartition(".")[0] == flow.name)


def is_controller(thing: Thing) -> bool:
    """True for a controller, and for its settings."""
    return thing.kind == "controllers" or thing.name.startswith("controller.")


def of_files(written: Any) -> Iterator[Thing]:
    """Series of attenuation and traces in a scenario as it is written, with absolute file names."""
    if isinstance(written, list):
        for one in written:
            yield from of_files(one)
    if not isinstance(written, dict):
        return
    for key, value in written.items():
        yield from of_files(value)
        file = value.get("file") if isinstance(value, dict) else value
        if key in ("attenuation", "rain") and isinstance(file, str):
            yield from of_series(Path(file))
        if key == "trace" and isinstance(value, dict):
            yield from (Thing("traces", one) for one in library()["traces"] if one in value)
        if key == "orbit" and isinstance(value, (dict, str)):
            yield Thing("traces", key)
            yield from of_orbit(value)


def of_hints(hints: Mapping[str, Any] | None) -> Iterator[Thing]:
    """The source of hints of path changes; the rule of a detector."""
    source = (hints or {}).get("source", NONE)
    if source != NONE:
        name = (hints or {}).get("rule", "gap") if source == "detector" else source
        yield Thing("hints", str(name))


def of_orbit(value: dict[str, Any] | str) -> Iterator[Thing]:
    """Constellation, modem and rain of an orbit, which is a table or the name of a file."""
    table = value if isinstance(value, dict) else tomllib.loads(Path(value).read_text("utf-8"))
    if "constellation" in table:
        yield Thing("constellations", str(table["constellation"]))
    signal = table.get("signal")
    if not isinstance(signal, dict):
        return
    modem = signal["modem"]
    yield mechanism("link.channel.modem", modem if isinstance(modem, str) else modem["name"])
    # The names of files in a table are found with all others.
    if isinstance(value, str) and isinstance(signal.get("attenuation"), str):
        yield from of_series(Path(value).parent / signal["attenuation"])


def of_series(file: Path) -> Iterator[Thing]:
    """The rain model of a series of attenuation; all of them if the file does not name its own."""
    from bentpipe.rain.series import method_of
    from bentpipe.rain.synthesis import METHODS

    try:
        method = method_of(file)
    except OSError:
        method = None
    if method is not None and method in library()["rain"]:
        yield Thing("rain", method)
        return
    yield Thing("series", file.name)
    yield from (Thing("rain", one) for one in METHODS)


def of_flow(flow: Flow) -> Iterator[Thing]:
    """Controller, protocol, recovery, hosts and settings of a flow, and those of its legs."""
    own = flow.controller
    if own.name != NONE:
        yield Thing("controllers", own.name, own.status, own.implementation)
    sender = [one for host in flow.hosts if host.end == "from" for one in host.settings]
    settings: dict[str, Setting] = {one.name: one for one in [*flow.settings, *sender]}
    yield transport(str(settings["transport.protocol"].value))
    if "transport.recovery" in settings:
        yield Thing("recoveries", str(settings["transport.recovery"].value))
    for leg in flow.legs:
        if leg.controller in controllers():
            yield controller(leg.controller)
        yield transport(leg.protocol)
        if leg.recovery in library()["recoveries"]:
            yield Thing("recoveries", leg.recovery)
    for host in flow.hosts:
        if host.profile:
            yield Thing("hosts", host.profile, host.status or "published")
    if flow.tunnel:
        yield mechanism("flow.tunnel", flow.tunnel.protocol)
        if flow.tunnel.controller in controllers():
            yield controller(flow.tunnel.controller)
    yield from of_settings(settings)
    yield from of_traffic(settings)


def of_traffic(settings: Mapping[str, Setting]) -> Iterator[Thing]:
    """The application of a flow, and its protocols, rule or codec."""
    traffic = {name.removeprefix("traffic."): one.value for name, one in settings.items()
               if name.startswith("traffic.")}  # fmt: skip
    kind = next(iter(traffic)).partition(".")[0]
    yield Thing("applications", kind)
    if kind == "page":
        is_quic = settings["transport.protocol"].value == "quic"
        yield Thing("http", str(traffic["page.http"] or ("3" if is_quic else "2")))
        yield Thing("tls", str(traffic["page.tls"] or "1.3"))
        if model := traffic["page.model"]:
            yield Thing("pages", str(model))
    for kind_of, key in (("rules", "video.rule"), ("codecs", "call.codec")):
        if key in traffic:
            yield Thing(kind_of, str(traffic[key]))


def of_beam(beam: Mapping[str, Any]) -> Iterator[Thing]:
    """Modem, encapsulation, queue, return channel and random access of a beam."""
    modem = beam.get("forward", {}).get("modem", "dvb-s2")
    name = modem if isinstance(modem, str) else modem["name"]
    yield mechanism("link.channel.modem", name)
    if aqm := beam.get("forward", {}).get("aqm"):
        yield mechanism("link.aqm", aqm if isinstance(aqm, str) else aqm["name"])
    yield Thing("beams", "forward")
    yield Thing("beams", "return")
    if access := beam.get("return", {}).get("access"):
        yield Thing("beams", access.get("scheme", "crdsa"))


def of_settings(settings: Mapping[str, Setting]) -> Iterator[Thing]:
    """Settings that are not their default and have a publication: by name, or name and value."""
    known = library()["settings"]
    for name, one in settings.items():
        with_value = f"{name}.{one.value}"
        if with_value in known:
            yield Thing("settings", with_value)
        elif name in known and not one.default and one.value not in (None, False, "off", NONE):
            yield Thing("settings", name)


def of_node(node: Node) -> Iterator[Thing]:
    """The middlebox and the proxy of a node."""
    if node.middlebox:
        # Its parameters follow the name.
        yield mechanism("node.middlebox", node.middlebox.name.partition(",")[0])
    if node.proxy and node.proxy.preset:
        yield mechanism("node.proxy", node.proxy.preset)
    elif node.proxy:
        yield Thing("settings", "split proxy")


def of_link(link: Direction) -> Iterator[Thing]:
    """Mechanisms and channel of a direction."""
    for one in link.settings:
        if one.value is None or one.default:
            continue
        if one.name in WITH_NAME and isinstance(one.value, dict):
            yield mechanism(f"link.{one.name}", str(one.value["name"]))
        elif one.name in ALONE:
            yield mechanism(f"link.{one.name}", one.name)
        elif one.name == "channel":
            yield from of_channel(one.value)


def of_channel(channel: Mapping[str, Any]) -> Iterator[Thing]:
    """The model of a channel, and its modem."""
    kind = str(channel["kind"])
    if kind in library()["channels"]:
        yield Thing("channels", kind)
    if "modem" in channel:
        yield mechanism("link.channel.modem", str(channel["modem"]))


@cache
def controllers() -> dict[str, ControllerEntry]:
    """The controllers of the registry by name."""
    return {one.name: one for one in bentpipe.controllers()}


def controller(name: str) -> Thing:
    """A controller of the registry."""
    found = controllers()[name]
    return Thing("controllers", name, found.status, found.implementation)


@cache
def transports() -> dict[str, Transport]:
    """The transport protocols of the registry by name."""
    return {one.name: one for one in bentpipe.transports()}


@cache
def mechanisms() -> dict[tuple[str, str], Mechanism]:
    """The mechanisms of the registry by key and name."""
    return {(one.key, one.name): one for one in bentpipe.mechanisms()}


def transport(name: str) -> Thing:
    """A transport protocol of the registry."""
    found = transports()[name]
    return Thing("transports", name, found.status, found.implementation)


def mechanism(key: str, name: str) -> Thing:
    """A mechanism of the registry."""
    return Thing(f"mechanisms.{key}", name, mechanisms()[key, name].status)


def every_thing() -> Iterator[Thing]:
    """Everything that the registry has, with the variants of controllers."""
    for one in bentpipe.controllers():
        yield controller(one.name)
        for variant in one.variants:
            yield Thing("controllers", one.name, variant.status, variant.implementation)
    for protocol in bentpipe.transports():
        yield transport(protocol.name)
    for found in bentpipe.mechanisms():
        yield mechanism(found.key, found.name)
    for host in bentpipe.hosts():
        yield Thing("hosts", host.name, host.status)
    for mix in bentpipe.mixes():
        yield Thing("mixes", mix.name)
    for constellation in bentpipe.constellations():
        yield Thing("constellations", constellation.name)
