"""Selection of the controllers to compare, and their settings in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bentpipe
from bentpipe.console import nearest
from bentpipe.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.links import Link

ASKS = {
    "peach": "routers that drop low priority first",
    "peach-plus": "routers that drop low priority first",
    "cherry": "routers that drop low priority first",
    "jersey": "routers with ECN marking",
    "new-jersey": "routers with ECN marking",
}
"""Router features that a controller depends on (docs/controllers.md). Not in the registry."""
TOLD = {"ck-stp": "the rate and the RTT of the link as settings, which it gets here"}
REFERENCES = ("newreno", "cubic")
"""Baselines of all comparisons, which are always included."""


@dataclass(frozen=True)
class Candidate:
    """A controller with its status and its setting in a scenario."""

    name: str
    status: str
    setting: str
    asks: str | None = None

    @property
    def title(self) -> str:
        """The name, with an asterisk if the controller has special needs."""
        return f"{self.name}*" if self.asks else self.name


def chosen(names: Sequence[str] | None, link: Link) -> list[Candidate]:
    """The controllers `names` and the references; by default all that need no special routers.

    `InputError` for a controller that does not exist.
    """
    known = {entry.name: entry for entry in bentpipe.controllers()}
    for name in names or ():
        if name not in known:
            raise InputError(f"there is no controller {name!r}{nearest(name, known)}")
    wanted = {*names, *REFERENCES} if names else known.keys() - ASKS.keys()
    return [
        Candidate(name, entry.status, setting(name, link), (ASKS | TOLD).get(name))
        for name, entry in known.items()
        if name in wanted
    ]


def left_out(names: Sequence[str] | None) -> dict[str, str]:
    """The controllers that are left out unless named, each with the reason."""
    return {} if names else dict(ASKS)


def setting(name: str, link: Link) -> str:
    """The setting in a scenario. CK-STP gets rate and RTT, because it cannot measure them."""
    if name != "ck-stp":
        return name
    rate, rtt = link.rate_bps / 1e6, link.rtt_s * 1e3
    return f'{{ name = "ck-stp", rate = {rate:g}, rtt = {rtt:g} }}'
