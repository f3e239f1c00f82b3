"""The study of one item: the candidate and the baselines in every case, with the same seeds."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe._native import Scenario
from bentpipe.compare.candidates import setting
from bentpipe.compare.links import Link
from bentpipe.compare.workloads import named
from bentpipe.study import Parameter, Quantity, Replications, Study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.evaluate.checklist import Item

SEED = 1
REPLICATIONS = 20
QUICK_REPLICATIONS = 3


def names_of(item: Item, candidate: str, against: Sequence[str]) -> list[str]:
    """The candidate and the algorithms that it is compared with, each once."""
    return list(dict.fromkeys((candidate, *against, *item.always)))


def labels_of(item: Item) -> list[str]:
    """The names of the cases. An item without cases is one case."""
    return [label for label, _ in item.cases] or [""]


def link_of(item: Item, phase: str) -> Link:
    """The path of an item, with this phase of its events."""
    file = Path(str(resources.files("bentpipe.evaluate") / "scenarios" / f"{item.scenario}.toml"))
    return Link(item.name, Scenario.load(file, item.sets)).in_phase(phase)


def planned(
    item: Item, candidate: str, against: Sequence[str], phase: str, replications: int
) -> Study:
    """The study of an item."""
    link = link_of(item, phase)
    scenario = named(item.workload).scenario(link) if item.workload else link.scenario
    names = names_of(item, candidate, against)
    controllers = Parameter(
        "controller", item.controllers[0], tuple(setting(name, link) for name in names)
    )
    varied = [
        Parameter(path, path, tuple(values[number] for _, values in item.cases))
        for number, path in enumerate(item.paths)
    ]
    return Study.make(
        name=f"evaluate-{item.name}",
        title=f"{item.title} ({'' if item.workload else 'section '}{item.section})",
        scenario=scenario.with_({"name": item.name}),
        parameters=[controllers, *varied],
        zips=[tuple(item.paths)] if len(item.paths) > 1 else [],
        quantities=[Quantity(measure.quantity) for measure in item.measures],
        replications=Replications(count=replications, seed=SEED),
    )
