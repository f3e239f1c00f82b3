"""Which controllers take part, and how a scenario names them."""

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
    "peach": "routers that let low priority give way",
    "peach-plus": "routers that let low priority give way",
    "cherry": "routers that let low priority give way",
    "jersey": "routers that mark packets",
    "new-jersey": "routers that mark packets",
}
"""What a controller needs of routers to be itself: docs/controllers.md, not in the registry."""
TOLD = {"ck-stp": "to be told rate and round trip of the link, and was"}
REFERENCES = ("newreno", "cubic")
"""Those that all others are compared with, and so always take part."""


@dataclass(frozen=True)
class Candidate:
    """A controller with its status, and what stands for it in a scenario."""

    name: str
    status: str
    setting: str
    asks: str | None = None

    @property
    def title(self) -> str:
        """Its name, marked where it needs what others do not."""
        return f"{self.name}*" if self.asks else self.name


def chosen(names: Sequence[str] | None, link: Link) -> list[Candidate]:
    """The controllers `names` with the references; by default all that need no other routers.

    `InputError` for one that does not exist.
    """
    known = {entry["name"]: entry for entry in bentpipe.controllers()}
    for name in names or ():
        if name not in known:
            raise InputError(f"there is no controller {name!r}{nearest(name, known)}")
    wanted = {*names, *REFERENCES} if names else known.keys() - ASKS.keys()
    return [
        Candidate(name, entry["status"], setting(name, link), (ASKS | TOLD).get(name))
        for name, entry in known.items()
        if name in wanted
    ]


def left_out(names: Sequence[str] | None) -> dict[str, str]:
    """Those that do not take part unless they are asked for, with the reason."""
    return {} if names else dict(ASKS)


def setting(name: str, link: Link) -> str:
    """As it is written in a scenario; CK-STP is told the link, which it cannot find out."""
    if name != "ck-stp":
        return name
    rate, rtt = link.rate_bps / 1e6, link.rtt_s * 1e3
    return f'{{ name = "ck-stp", rate = {rate:g}, rtt = {rtt:g} }}'
