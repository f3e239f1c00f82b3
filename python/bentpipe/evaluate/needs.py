"""Controllers that depend on routers or settings, and the items that do not provide them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.compare.candidates import NEEDED_SETTINGS, named_settings, needed
from bentpipe.evaluate.checklist import ALL
from bentpipe.evaluate.items import link_of, names_of
from bentpipe.prototypes import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.evaluate.checklist import Item

PROVIDED = {"jersey": ("marks",), "new-jersey": ("marks",)}
"""Names of the items that have the routers of a controller, by the name of the controller."""


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
    what = needed(spec)
    if what is None:
        return None
    lacking, rest = (of_path if spec.target in NEEDED_SETTINGS else of_routers)(name, spec, chosen)
    return Need(name, lacking, f"{name} needs {what}{rest}") if lacking else None


def of_routers(name: str, spec: Spec, chosen: Sequence[Item]) -> tuple[list[str], str]:
    """The items without the routers of a controller, and the end of its sentence."""
    provided = [one.name for one in chosen if one.name in PROVIDED.get(spec.target, ())]
    lacking = [one.name for one in chosen if one.name not in provided]
    which = f"only the item {' and '.join(provided)}" if provided else "no item of this evaluation"
    other = "other " if provided else ""
    return lacking, f", which {which} has. In all {other}items {name} runs without them."


def of_path(_: str, spec: Spec, chosen: Sequence[Item]) -> tuple[list[str], str]:
    """The items with another path than the settings of a controller, and the end of its sentence.

    A controller with settings in its name has another path in all items.
    """
    if spec.parameters:
        kept = " and ".join(named_settings(spec))
        return [item.name for item in chosen], f". It keeps {kept} in all items."
    unfit = [item.name for item in chosen if not is_one_path(item)]
    return unfit, (
        f". It gets those of each case. In {', '.join(unfit)} other flows have another RTT, or the"
        " path changes during the run: there the setting is that of the first flow at its start."
    )


def is_one_path(item: Item) -> bool:
    """True if all flows of the candidate have the same path, which does not change."""
    document = link_of(item, "fixed").document
    flows = document["flow"] if item.controllers == ALL else document["flow"][:1]
    ends = {(flow["from"], flow["to"]) for flow in flows}
    return len(ends) == 1 and not any(link.get("event") for link in document["link"])
