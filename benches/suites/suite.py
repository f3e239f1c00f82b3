"""Suites of comparisons, and the overrides that most of them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "benches" / "scenarios"
GEO = ROOT / "examples" / "geo-fidelity.toml"

CONTROLLERS = {
    "reno": "reno",
    "cubic": '{ name = "cubic", slow_start = "hystart" }',
    "bbr": "bbr",
    # Flow control is not TCP-ADaLR's to break in a real kernel.
    "adalr": '{ name = "adalr", rwnd = "off" }',
    "aliad": "aliad",
    "hybla": "hybla",
    "westwood-plus": "westwood-plus",
}
SATELLITE = "node.0.proxy.satellite"
"""The leg over the satellite, of a split proxy at the gateway."""
LINUX = ("flow.0.transport.recovery=linux",)

LIKE_LINUX = {name: f'{{ name = "{name}", variant = "linux" }}' for name in ("cubic", "reno")}
"""Controllers that differ in Linux, for the model `recovery linux`."""

Choices = dict[str, dict[str, str]]
"""Name for people -> overrides."""


@dataclass(frozen=True)
class Suite:
    """One scenario in all combinations of the `axes`; rows are the first, columns the others."""

    axes: Sequence[Choices]
    quantity: str = "goodput"
    sets: tuple[str, ...] = ()
    seeds: int = 2
    parallel: int = 12
    file: Path = GEO
    models: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"recovery linux": LINUX})
    flow: int | None = None
    attempts: int = 1
    """A kernel run that is not valid is repeated until there are as many."""
    figure: bool = False
    medians: bool = False
    """The table compares medians, for runs that may end in one of several ways."""

    baseline: str | None = None
    """A column to which the others are compared. The table has times and not differences."""

    def variants(self) -> list[tuple[tuple[str, ...], dict[str, str]]]:
        """The names and the overrides of each variant."""
        return [
            (
                tuple(name for name, _ in chosen),
                {path: value for _, sets in chosen for path, value in sets.items()},
            )
            for chosen in product(*(axis.items() for axis in self.axes))
        ]


def like_linux(overrides: Mapping[str, str]) -> tuple[str, ...]:
    """Further overrides of the model `recovery linux` for a variant with these overrides."""
    controllers = tuple(
        f"{path}={LIKE_LINUX[name]}"
        for path, value in overrides.items()
        for name in LIKE_LINUX
        if value == written(name)
    )
    is_split = f"{SATELLITE}.controller" in overrides
    return (*controllers, f"{SATELLITE}.recovery=linux") if is_split else controllers


def written(name: str) -> str:
    """A controller of the tables as a value of a scenario."""
    value = CONTROLLERS[name]
    return value if "{" in value else f'"{value}"'


def with_controller(name: str, flow: int = 0) -> dict[str, str]:
    """The overrides that give a flow this controller."""
    overrides = {f"flow.{flow}.controller": written(name)}
    if name == "bbr":
        # BBR in Linux is always paced by Linux's rules.
        overrides[f"flow.{flow}.transport.pacing"] = "linux"
    return overrides
