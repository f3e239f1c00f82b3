"""Controllers that depend on routers or settings, and the items that do not provide them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.compare.candidates import ASKS, TOLD
from bentpipe.evaluate.checklist import ALL
from bentpipe.evaluate.items import link_of, names_of
from bentpipe.prototypes import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.evaluate.checklist import Item

PROVIDED = {"jersey": ("marks",), "new-jersey": ("marks",)}
"""Items whose routers are those that a controller of `ASKS` depends on."""


@dataclass(frozen=True)
class Need:
    """A controller that depends on routers or settings. The field names are the JSON names.

    `items` are the items that do not provide them. Findings there are not those of the controller
    as it was designed.
    """

    controller: str
    items: list[str]
    sentence: str


def needs(candidate: str, against: Sequence[str], chosen: Sequence[Item]) -> list[Need]:
    """The controllers of an evaluation whose needs some of the items do not provide."""
    names = dict.fromkeys(name for item in chosen for name in names_of(item, candidate, against))
    found = (need(name, chosen) for name in names)
    return [one for one in found if one is not None]


def need(name: str, chosen: Sequence[Item]) -> Need | None:
    """The need of one controller; None if it has none, or all items provide it."""
    spec = Spec.parse(name)
    if spec.in_python:
        return None
    if spec.target in ASKS:
        provided = [one.name for one in chosen if one.name in PROVIDED.get(spec.target, ())]
        return of_routers(name, ASKS[spec.target], provided, chosen)
    return of_path(name, spec, chosen) if spec.target in TOLD else None


def of_routers(
    name: str, routers: str, provided: Sequence[str], chosen: Sequence[Item]
) -> Need | None:
    """The need of a controller that depends on routers."""
    lacking = [one.name for one in chosen if one.name not in provided]
    if not lacking:
        return None
    if provided:
        which, of = f"only the item {' and '.join(provided)} has", "Other"
    else:
        which, of = "no item of this evaluation has", "All"
    return Need(
        name,
        lacking,
        f"{name} needs {routers}, which {which}. {of} findings are those of the controller without"
        " its routers.",
    )


def of_path(name: str, spec: Spec, chosen: Sequence[Item]) -> Need:
    """The need of a controller that is set to the rate and the RTT of its path."""
    unfit = [item.name for item in chosen if spec.parameters or not is_one_path(item)]
    start = f"{name} needs the rate and the RTT of the path as settings."
    if spec.parameters:
        return Need(name, unfit, f"{start} It has those of its name in all items and cases.")
    rest = (
        f" In {', '.join(unfit)} other flows have another RTT, or the path changes during the run:"
        " there the setting is that of the first flow at its start."
        if unfit
        else ""
    )
    return Need(name, unfit, f"{start} It gets those of each case.{rest}")


def is_one_path(item: Item) -> bool:
    """True if all flows of the candidate have the same path, which does not change."""
    document = link_of(item, "fixed").document
    flows = document["flow"] if item.controllers == ALL else document["flow"][:1]
    ends = {(flow["from"], flow["to"]) for flow in flows}
    return len(ends) == 1 and not any(link.get("event") for link in document["link"])
