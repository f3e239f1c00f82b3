"""Controllers in Python as values of a study's parameters, and their runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bentpipe.errors import ControllerError
from bentpipe.problems import UnfitError
from bentpipe.prototypes.spec import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.problems import Problems
    from bentpipe.prototypes import Prototype, RunFailedError
    from bentpipe.prototypes.pool import Row
    from bentpipe.study.parameters import Parameter
    from bentpipe.study.plan import Comparison, Study
    from bentpipe.study.runner import Job
    from bentpipe.study.store import Outcome


def named(
    parameters: Sequence[Parameter], comparisons: Sequence[Comparison]
) -> tuple[tuple[Parameter, ...], tuple[Comparison, ...], dict[str, Prototype]]:
    """Parameters and baselines with names in place of classes and dictionaries.

    Also the prototypes of these names.
    """
    found: dict[str, Prototype] = {}

    def name(value: Any) -> Any:
        if isinstance(value, dict):
            settings = dict(value)
            return table(str(settings.pop("name", "")), settings)
        if not callable(value):
            return value
        from bentpipe.prototypes import Prototype

        prototype = Prototype.of(value)
        other = found.setdefault(prototype.name, prototype)
        if other.make is not value:
            message = f"expected controllers with different names, found {prototype.name} twice"
            raise ControllerError(message)
        return prototype.name

    changed = tuple(
        replace(one, values=tuple(map(name, one.values))) if one.names_controllers else one
        for one in parameters
    )
    against = tuple(replace(one, baseline=name(one.baseline)) for one in comparisons)
    return changed, against, found


def prototypes_of(
    parameters: Sequence[Parameter], given: Mapping[str, Prototype], problems: Problems
) -> dict[str, Prototype]:
    """The prototypes that values name by a file or a module."""
    found: dict[str, Prototype] = {}
    for parameter in parameters:
        for number, value in enumerate(parameter.values):
            if not parameter.names_controllers or value in given:
                continue
            try:
                spec = parameter.spec(number)
                if spec is not None and spec.in_python:
                    from bentpipe.prototypes import Prototype

                    found[str(value)] = Prototype.load(str(value), spec)
            except UnfitError as error:
                problems.add_unfit(("parameters", parameter.label, "values", number), error)
    return found


def run_prototypes(
    study: Study,
    jobs: Sequence[Job],
    sink: Callable[[Sequence[Outcome]], None],
    workers: int | None,
) -> None:
    """Run the jobs of variants with controllers in Python, in processes."""
    jobs = [job for job in jobs if study.variants[job[0]].controllers]
    if not jobs:
        return
    from bentpipe.prototypes import RunFailedError, pool

    numbers = sorted({variant for variant, _ in jobs})
    variants = [study.variants[number] for number in numbers]
    setup = pool.Setup(
        cases=[pool.Case(variant.scenario, variant.controllers) for variant in variants],
        makers={name: prototype.make for name, prototype in study.prototypes.items()},
        quantities=[quantity.taken for quantity in study.quantities],
        search=tuple(sys.path),
        blocked_s=pool.BLOCKED_S,
    )
    position = {number: place for place, number in enumerate(numbers)}
    seeds = [(position[variant], study.seed(replication)) for variant, replication in jobs]

    def hand_over(rows: list[Row]) -> None:
        sink([(*jobs[job], values, wall_s, events) for job, values, wall_s, events in rows])

    try:
        pool.run(setup, seeds, hand_over, workers)
    except RunFailedError as error:
        raise failed(study, jobs[error.job], error) from None


def failed(study: Study, job: Job, error: RunFailedError) -> ControllerError:
    """The error of a run, with its number, seed and parameters."""
    variant, replication = job
    number, seed = study.number(*job), study.seed(replication)
    parameters = ", ".join(
        f"{p.label} = {study.variants[variant].parameters[p.path]}{p.unit or ''}"
        for p in study.parameters
    )
    raised = ControllerError(
        f"run {number} of {study.most_runs:,} of {study.name} (seed {seed}, {parameters}) failed:"
        f" {error.description}"
    )
    raised.run, raised.seed = number, seed
    return raised
