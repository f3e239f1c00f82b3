"""Running of a study: the missing runs, in rounds whose size depends on the plan only."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bentpipe import _native
from bentpipe.errors import ControllerError
from bentpipe.seal import sealed
from bentpipe.study import answer
from bentpipe.study.prototypes import run_prototypes
from bentpipe.study.results import Results
from bentpipe.study.stopping import is_enough
from bentpipe.study.store import Store
from bentpipe.study.summary import EVENTS, Values, deterministic, summarise, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from bentpipe.study.plan import Study
    from bentpipe.study.store import Outcome

KEEP_EVERY_S = 1.0
"""Maximum time before a finished run is saved, and so the largest loss in a power cut."""
KEEP_AT_MOST = 5000

Job = tuple[int, int]
"""Variant and replication."""


class Executor(Protocol):
    """Runs jobs and passes on their outcomes as they arrive, in any order."""

    def __call__(self, jobs: Sequence[Job], sink: Callable[[Sequence[Outcome]], None]) -> None:
        """Run all jobs. The sink is called in this thread."""


def run(
    study: Study,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int], object] | None = None,
) -> Results:
    """See `Study.run`."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="bentpipe-") as folder:
            return run_in(Path(folder) / "study", study, workers, cluster, progress, temporary=True)
    return run_in(Path(out), study, workers, cluster, progress)


def run_in(
    folder: Path,
    study: Study,
    workers: int | None,
    cluster: str | None,
    progress: Callable[[int], object] | None,
    *,
    temporary: bool = False,
) -> Results:
    """Run a study in its folder."""
    if cluster is None:
        with Store(folder, study, temporary=temporary) as store:
            return into(store, local(study, workers), progress)
    from bentpipe.study.cluster import connected

    with connected(cluster, study) as executor, Store(folder, study, temporary=temporary) as store:
        return into(store, executor, progress)


def into(store: Store, execute: Executor, progress: Callable[[int], object] | None) -> Results:
    """Run what the store does not have, and compute the summary."""
    keeper = Keeper(store, progress)
    complete = True
    targets_met = first_targets(store.study)
    try:
        targets: list[int] | None = targets_met
        while targets is not None:
            targets_met = targets
            missing = missing_jobs(store.study, targets, keeper.done)
            if missing:
                execute(missing, keeper.take)
            targets = next_targets(store.study, targets, keeper.found)
    except KeyboardInterrupt:
        complete = False
    except ControllerError as error:
        keeper.keep()
        error.finished = len(keeper.done)
        error.args = (f"{error}\n{kept(store, error.finished)}",)
        raise
    finally:
        keeper.keep()
    rows = wanted_rows(store, targets_met)
    unsealed = summarise(store.study, rows, complete)
    answered = answer.to_dict(Results(store.study, rows, unsealed))
    summary = sealed(unsealed | {"answer": answered})
    store.finish(summary)
    return Results(store.study, rows, summary)


def kept(store: Store, finished: int) -> str:
    """A sentence on the rows of finished runs."""
    if store.is_temporary:
        return f"{finished:,} runs were finished. With an output folder their rows are kept."
    return f"The rows of {finished:,} finished runs are kept in {store.folder}."


class Keeper:
    """Receives outcomes, saves them at intervals, and reports their number."""

    def __init__(self, store: Store, progress: Callable[[int], object] | None) -> None:
        self.store = store
        self.progress = progress
        rows = store.rows()
        self.done: set[int] = set(rows["run"])
        # What decides when to stop: the values of all quantities, and the numbers of events.
        stops = store.study.replications.quantity is not None
        names = [*(one.name for one in store.study.quantities), EVENTS] if stops else []
        self.found = {name: values_of(rows, name) for name in names}
        self.waiting: list[Outcome] = []
        self.kept = time.monotonic()

    def take(self, outcomes: Sequence[Outcome]) -> None:
        """Add finished runs. If a run arrives twice, the first counts."""
        for outcome in outcomes:
            number = self.store.study.number(outcome[0], outcome[1])
            if number not in self.done:
                self.done.add(number)
                self.waiting.append(outcome)
                variant, replication, values, _, events = outcome
                for found, value in zip(self.found.values(), [*values, events], strict=False):
                    found[variant][replication] = value
        if time.monotonic() - self.kept > KEEP_EVERY_S or len(self.waiting) >= KEEP_AT_MOST:
            self.keep()
        if self.progress:
            self.progress(min(len(self.done), self.store.study.most_runs))

    def keep(self) -> None:
        """Write the waiting rows."""
        self.store.add(self.waiting)
        self.waiting = []  # last, because Ctrl-C may come at any time; duplicate rows are harmless
        self.kept = time.monotonic()


def wanted_rows(store: Store, targets: Sequence[int]) -> pl.DataFrame:
    """The rows of these replications. An earlier study in the folder may have had more."""
    study = store.study
    rows = store.rows()
    numbers = [study.number(*job) for job in missing_jobs(study, targets, set())]
    return rows.filter(rows["run"].is_in(numbers))


def first_targets(study: Study) -> list[int]:
    """The number of replications of each variant in the first round."""
    plan = study.replications
    first = plan.minimum if plan.count is None else plan.count
    return [first] * len(study.variants)


def next_targets(study: Study, targets: list[int], found: dict[str, Values]) -> list[int] | None:
    """The number of replications of each variant after the next round; None if all have enough.

    Uses only the replications of the rounds until now, whatever else was `found`.
    """
    plan = study.replications
    if plan.quantity is None:
        return None
    if plan.budget is not None and sum(targets) >= plan.budget:
        return None
    more = list(targets)
    for variant, target in enumerate(targets):
        own = {
            name: {variant: {n: one for n, one in sorted(values[variant].items()) if n < target}}
            for name, values in found.items()
        }
        events = own.pop(EVENTS)
        fixed = variant in deterministic([variant], own, events)
        runs = own[plan.quantity][variant]
        if target < plan.maximum and not is_enough(study, variant, runs, deterministic=fixed):
            more[variant] = min(target + plan.round, plan.maximum)
    return more if more != targets else None


def missing_jobs(study: Study, targets: Sequence[int], done: set[int]) -> list[Job]:
    """The jobs to run, by the number of the run, within the budget."""
    wanted = [
        (variant, replication)
        for replication in range(max(targets))
        for variant, target in enumerate(targets)
        if replication < target
    ]
    wanted = wanted[: study.replications.budget]
    return [job for job in wanted if study.number(*job) not in done]


def local(study: Study, workers: int | None) -> Executor:
    """Threads of the engine on this machine; processes for controllers in Python."""
    scenarios = [variant.scenario for variant in study.variants]
    quantities = [quantity.taken.native() for quantity in study.quantities]

    def execute(jobs: Sequence[Job], sink: Callable[[Sequence[Outcome]], None]) -> None:
        # First those that can fail.
        run_prototypes(study, jobs, sink, workers)
        jobs = [job for job in jobs if not study.variants[job[0]].controllers]

        def hand_over(rows: Sequence[tuple[int, list[float | None], float, int]]) -> None:
            sink([(*jobs[job], values, wall_s, events) for job, values, wall_s, events in rows])

        seeds = [(variant, study.seed(replication)) for variant, replication in jobs]
        _native.run_study(scenarios, seeds, quantities, hand_over, workers=workers)

    return execute
