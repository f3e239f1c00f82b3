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


def link_of(item: Item, phase: str, case: int | None = None) -> Link:
    """The path of an item with this phase of its events: as written, or as in a case."""
    values = item.cases[case][1] if case is not None and item.cases else ()
    changes = [f"{path}={value}" for path, value in zip(item.paths, values, strict=False)]
    file = Path(str(resources.files("bentpipe.evaluate") / "scenarios" / f"{item.scenario}.toml"))
    return Link(item.name, Scenario.load(file, [*item.sets, *changes])).in_phase(phase)


def planned(
    item: Item, candidate: str, against: Sequence[str], phase: str, replications: int
) -> Study:
    """The study of an item. Its variants are sorted by controller, and then by case."""
    link = link_of(item, phase)
    scenario = named(item.workload).scenario(link) if item.workload else link.scenario
    parameters, zips = axes(item, names_of(item, candidate, against), phase)
    return Study.make(
        name=f"evaluate-{item.name}",
        title=f"{item.title} ({'' if item.workload else 'section '}{item.section})",
        scenario=scenario.with_({"name": item.name}),
        parameters=parameters,
        zips=zips,
        quantities=[Quantity(measure.quantity) for measure in item.measures],
        replications=Replications(count=replications, seed=SEED),
    )


def axes(
    item: Item, names: Sequence[str], phase: str
) -> tuple[list[Parameter], list[tuple[str, ...]]]:
    """The parameters of the study of an item, and its zips: the names of paired parameters.

    A controller has the same setting in all cases, unless it needs the rate and the RTT of the
    path. Then all parameters are paired, with one value for each controller and case.
    """
    links = [link_of(item, phase, case) for case in range(len(labels_of(item)))]
    settings = [[setting(name, link) for link in links] for name in names]
    by_case = any(len(set(of_cases)) > 1 for of_cases in settings)
    if by_case:
        values = tuple(value for of_cases in settings for value in of_cases)
    else:
        values = tuple(of_cases[0] for of_cases in settings)
    repeats = len(names) if by_case else 1
    varied = [
        Parameter(path, path, tuple(of_case[number] for _, of_case in item.cases) * repeats)
        for number, path in enumerate(item.paths)
    ]
    paired = ("controller", *item.paths) if by_case else tuple(item.paths)
    return (
        [Parameter("controller", item.controllers[0], values), *varied],
        [paired] if len(paired) > 1 else [],
    )
