"""Controls of the page for paths that change: orbits, routers with several paths, and hints."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.completion import listed
from bentpipe.lab.completing import entries
from bentpipe.lab.control import Control, Option, slider, spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.compare.links import Link
    from bentpipe.lab.control import Changes

PATH, HINTS = "Path", "Hosts"
"""Groups of controls."""
ELEVATIONS_DEG = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0)
ORBIT_OUTAGES = ("none", "leoem", "50ms", "100ms", "200ms", "500ms", "1s")
ORBIT_CHOICES = (
    ("relay", "Relay"),
    ("choice", "Choice of the satellite"),
    ("when", "Time of the choice"),
)
"""Keys of an orbit whose values are in the schema, with their labels."""
SOURCES = {
    "none": "none",
    "schedule": "exact",
    "late": "100 ms late",
    "missed": "a fifth missed",
    "clock": "the clock of Starlink",
    "gap": "detector of gaps in ACKs",
    "step": "detector of steps of the RTT",
}
"""Kinds of hints in the list of the page."""
HINTS_OF = {
    "none": {"source": "none"},
    "schedule": {"source": "schedule"},
    "late": {"source": "schedule", "late": "100ms"},
    "missed": {"source": "schedule", "missed": 0.2},
    "clock": {"source": "clock"},
    "gap": {"source": "detector", "rule": "gap"},
    "step": {"source": "detector", "rule": "step"},
}
"""`path_hints` of a flow by the kinds of hints."""


def of_moving(link: Link) -> Iterator[Control]:
    """The controls of the first orbit, of the first switch, and of the hints of the first flow."""
    yield from of_orbit(link)
    yield from of_switch(link)
    if has_changes(link):
        yield hints(link)


def of_orbit(link: Link) -> Iterator[Control]:
    """Relay, satellite, outage and elevation of the first link with an orbit."""
    places = orbits(link)
    if not places:
        return
    path, own = places[0]
    table = table_of(own)
    ends = link.document["link"][int(path.split(".")[1])]["between"]
    about = "-".join(ends)
    for key, label in ORBIT_CHOICES:
        known = [one for node in of_key(key) for one in listed(node) if one is not None]
        yield choice(key, label, table.get(key, default(key)), known, places, about)
    now = table.get("outage", ORBIT_OUTAGES[0])
    yield choice("outage", "Outage at a hand-over", now, ORBIT_OUTAGES, places, about)
    elevation = table.get("minimum_elevation_deg")
    if "range_km" not in table:
        text = "of the constellation" if elevation is None else ""
        yield slider(
            "orbit_elevation", PATH, "Least elevation", ELEVATIONS_DEG, elevation, str,
            lambda v: f"{v:g} degrees",
            lambda value, _: changed(places, "minimum_elevation_deg", float(value)), about, text,
        )  # fmt: skip


def choice(
    key: str,
    label: str,
    now: str,
    known: Sequence[str],
    places: Sequence[tuple[str, Any]],
    about: str,
) -> Control:
    """A list of values of a key of an orbit, with the one of the scenario first."""
    options = [
        Option(None, spaced(now)),
        *(Option(one, spaced(one)) for one in known if one != now),
    ]
    return Control(
        f"orbit_{key}", PATH, label, "choice", options,
        lambda value, _: changed(places, key, value), about,
    )  # fmt: skip


def orbits(link: Link) -> list[tuple[str, Any]]:
    """The keys with an orbit of the first link that has one, and their values."""
    for number, entry in enumerate(link.document["link"]):
        tables = [(f"link.{number}", entry)]
        tables += [(f"link.{number}.{one}", entry.get(one, {})) for one in ("forward", "backward")]
        tables += [(f"{path}.trace", table.get("trace")) for path, table in tables]
        found = [
            (f"{path}.orbit", table["orbit"]) for path, table in tables
            if isinstance(table, dict) and "orbit" in table
        ]  # fmt: skip
        if found:
            return found
    return []


def changed(places: Sequence[tuple[str, Any]], key: str, value: Any) -> Changes:
    """The changes that set a key of these orbits. An orbit in a file of its own becomes a table."""
    changes: Changes = {}
    for path, own in places:
        if isinstance(own, str):
            changes[path] = table_of(own) | {key: value}
        else:
            changes[f"{path}.{key}"] = value
    return changes


def table_of(orbit: dict[str, Any] | str) -> dict[str, Any]:
    """An orbit as a table, whose files have absolute names if it was a file itself."""
    if not isinstance(orbit, str):
        return orbit
    file = Path(orbit)
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    absolute(table, "elements", file)
    for place in table.get("place", []):
        absolute(place, "track", file)
    absolute(table.get("signal", {}), "attenuation", file)
    return table


def absolute(table: dict[str, Any], key: str, file: Path) -> None:
    """Makes the name of a file in a table absolute, which is relative to `file`."""
    if isinstance(table.get(key), str):
        table[key] = str((file.parent / table[key]).absolute())


def of_key(key: str) -> Iterator[dict[str, Any]]:
    """The nodes of the schema of a key of an orbit."""
    yield from entries(["link", "orbit", key])


def default(key: str) -> str:
    """The default of a key of an orbit."""
    return next(str(node["default"]) for node in of_key(key) if "default" in node)


def of_switch(link: Link) -> Iterator[Control]:
    """The rule of the first switch."""
    switches = link.document.get("switch")
    if not switches:
        return
    own = switches[0]
    rule = next((one for one in ("event", "file", "outages", "bfd") if one in own), "event")
    kept = {key: own[key] for key in ("between", "via")}
    others = {"outages": "outages of links", "bfd": "BFD (RFC 5880)"}
    now = others.get(rule, "times of the scenario")
    options = [Option(None, now)]
    options += [Option(one, text) for one, text in others.items() if one != rule]
    options += [Option(node, f"always over {node}") for node in kept["via"]]

    def changes(value: Any, now: Link) -> Changes:
        rest = now.document["switch"][1:]
        if value in others:
            return {"switch": [kept | {value: {}}, *rest]}
        return {"switch": [kept | {"event": [{"at": "1ns", "via": value}]}, *rest]}

    about = f"between {' and '.join(kept['between'])}"
    yield Control("switch", PATH, "Rule of the switch", "choice", options, changes, about)


def has_changes(link: Link) -> bool:
    """True if the delay of a link, or the path of packets, can change during the run."""
    document = link.document
    if document.get("switch") or document.get("beam"):
        return bool(document.get("switch"))
    for entry in document["link"]:
        for table in (entry, entry.get("forward", {}), entry.get("backward", {})):
            if "trace" in table or "orbit" in table:
                return True
            if any("delay" in event for event in table.get("event", [])):
                return True
    return False


def hints(link: Link) -> Control:
    """Hints of path changes for the first flow."""
    own = link.document["flow"][0].get("path_hints")
    has_own = isinstance(own, dict) and own.get("source") != "none"
    options = [Option(None, "as in the scenario" if has_own else SOURCES["none"])]
    options += [Option(one, text) for one, text in SOURCES.items() if one != "none" or has_own]

    return Control(
        "path_hints", HINTS, "Hints of path changes", "choice", options,
        lambda value, _: {"flow.0.path_hints": HINTS_OF[value]},
        "for the first flow; most controllers ignore them, and a warning says so", compared=True,
    )  # fmt: skip
