"""Controls of the page for applications, and for a beam, where a scenario has them.

A control offers the values of the schema. Where the schema takes any number, it offers a few round
ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.completion import listed
from bentpipe.lab.completing import entries
from bentpipe.lab.control import Control, Option, slider, spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe.compare.links import Link
    from bentpipe.explanation import Flow
    from bentpipe.lab.control import Changes

APPLICATIONS, BEAM = "Applications", "Beam"
"""Groups of controls."""
TERMINALS = (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200)
CARRIERS = (1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 50)
ATTENUATIONS_DB = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)


@dataclass(frozen=True)
class Key:
    """A key of an application that the page can change."""

    application: str
    name: str
    label: str
    values: tuple[Any, ...] = ()
    """Values of a key that takes any; those of other keys are in the schema."""

    @property
    def path(self) -> list[str]:
        """Its path in the schema."""
        return ["flow", "traffic", self.application, self.name]

    @property
    def choices(self) -> Sequence[Any]:
        """Its values in the list of the page."""
        return self.values or [
            one for node in entries(self.path) for one in listed(node) if one is not None
        ]


KEYS = (
    Key("page", "site", "Page"),
    Key("page", "http", "Version of HTTP"),
    Key("page", "tls", "TLS"),
    Key("page", "resumption", "Kept from an earlier connection"),
    Key("page", "dns", "Lookup of a name", ("20ms", "50ms", "100ms", "500ms", "1s")),
    Key("page", "resolver", "Resolver"),
    Key("video", "rule", "Rule for bit rates"),
    Key("video", "buffer", "Buffer of the player", ("8s", "12s", "25s", "40s", "60s")),
    Key("video", "segment", "Segment of the video", ("1s", "2s", "4s", "6s", "10s")),
    Key("call", "codec", "Codec"),
    Key("call", "jitter_buffer", "Jitter buffer", ("twice-jitter", "20ms", "60ms", "150ms")),
    Key("speedtest", "connections", "Connections of the speed test", (1, 2, 4, 8, 16)),
)
"""Keys of applications."""


def application_of(flow: Flow) -> str:
    """The key in `traffic` of a flow."""
    names = (one.name.split(".") for one in flow.settings if one.name.startswith("traffic."))
    return next(name[1] for name in names)


def of_applications(link: Link) -> Iterator[Control]:
    """The controls of the first flow with each kind of application."""
    seen: set[str] = set()
    for number, flow in enumerate(link.scenario.explain().flows):
        kind = application_of(flow)
        if kind in seen:
            continue
        seen.add(kind)
        texts = {one.name: one.text for one in flow.settings}
        for key in KEYS:
            if key.application == kind:
                path = f"traffic.{kind}.{key.name}"
                yield of_key(key, f"flow.{number}.{path}", spaced(texts[path]), flow.name)


def of_key(key: Key, path: str, now: str, flow: str) -> Control:
    """The control of a key, with the value of the scenario first."""
    options = [Option(None, now)]
    options += [Option(one, text) for one in key.choices if (text := spaced(str(one))) != now]
    return Control(
        f"{key.application}_{key.name}", APPLICATIONS, key.label, "choice", options,
        lambda value, _: {path: value}, f"of {flow}", compared=True,
    )  # fmt: skip


def of_beam(link: Link) -> Iterator[Control]:
    """The controls of the first beam: scheduler, carriers, terminals, and rain over a group."""
    if not link.document.get("beam"):
        return
    beam = link.document["beam"][0]
    path, name = "beam.0", beam["name"]
    now = beam.get("forward", {}).get("scheduler", default("forward", "scheduler"))
    kinds = [one for node in entries(["beam", "forward", "scheduler"]) for one in listed(node)]
    options = [Option(None, now), *(Option(one, one) for one in kinds if one != now)]
    yield Control(
        "beam_scheduler", BEAM, "Scheduler of the carrier", "choice", options,
        lambda value, _: {f"{path}.forward.scheduler": value}, f"of beam {name}",
    )  # fmt: skip
    carriers = beam.get("return", {}).get("carriers", default("return", "carriers"))
    yield whole(
        "beam_carriers", "Carriers of the return channel", CARRIERS, carriers,
        f"{path}.return.carriers", f"of beam {name}",
    )  # fmt: skip
    for number, group in enumerate(beam["group"]):
        inside, about = f"{path}.group.{number}", f"of group {group['name']}"
        yield whole(
            f"beam_terminals_{number}", "Terminals", TERMINALS, group["terminals"],
            f"{inside}.terminals", about,
        )  # fmt: skip
        rain_db = group.get("attenuation", 0.0)
        if isinstance(rain_db, int | float):
            yield slider(
                f"beam_attenuation_{number}", BEAM, "Attenuation by rain", ATTENUATIONS_DB,
                float(rain_db), str, lambda v: f"{v:g} dB", decibels(f"{inside}.attenuation"),
                about,
            )  # fmt: skip


def default(*path: str) -> Any:
    """The default of a key of a beam, or of its `forward` or `return`."""
    return next(node["default"] for node in entries(["beam", *path]) if "default" in node)


def whole(
    name: str, label: str, numbers: Sequence[int], now: int, path: str, about: str
) -> Control:
    """A slider over whole numbers."""

    def changes(value: Any, _: Link) -> Changes:
        return {path: int(value)}

    return slider(name, BEAM, label, numbers, now, str, str, changes, about)


def decibels(path: str) -> Any:
    """The changes that set a number of decibels."""
    return lambda value, _: {path: float(value)}
