"""Figures of runs on both backends: their differences, and a table for docs/fidelity.md.

A figure is compared by the medians of all seeds, because a run with losses has one of several
outcomes.
"""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.console import late_progress
from bentpipe.fidelity.experiment import SET_UP_S
from bentpipe.fidelity.kept import KeptRuns
from bentpipe.numbers import decimals, signed
from suites.suite import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bentpipe import Recording, Scenario

KEPT = ROOT / ".cache" / "fidelity"
PARALLEL = 2
ATTEMPTS = 5
"""A kernel run that is not valid is repeated until there are as many."""


@dataclass(frozen=True)
class Metric:
    """A figure: its value in a run, and how it is printed."""

    name: str
    of: Callable[[Recording], float | None]
    """None if the run did not get so far."""
    unit: str
    scale: float = 1.0
    places: int = 2


def mean_of(table: str, column: str) -> Callable[[Recording], float | None]:
    """The mean of a column of a table: of both directions of a call, for example."""

    def of(recording: Recording) -> float | None:
        values = recording.table(table)[column].drop_nulls().to_list()
        return statistics.fmean(values) if values else None

    return of


@dataclass(frozen=True)
class Subject:
    """What runs on each path, and its figures."""

    scenario: Callable[[Iterable[str]], Scenario]
    """The scenario on a path, which is a list of overrides."""
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Row:
    """A figure of a subject on a path: values of valid runs on both backends."""

    subject: str
    metric: str
    path: str
    kernel: list[float]
    simulator: list[float]

    def difference(self) -> float | None:
        """Difference of the medians in percent; None if that of the kernel is zero or missing."""
        if not self.kernel or not self.simulator:
            return None
        kernel = statistics.median(self.kernel)
        return 100 * (statistics.median(self.simulator) / kernel - 1) if kernel else None


@dataclass(frozen=True)
class Comparison:
    """Subjects on paths, each with several seeds."""

    name: str
    subjects: Mapping[str, Subject]
    paths: Mapping[str, tuple[str, ...]]
    seeds: int

    def scenarios(self) -> dict[tuple[str, str], Scenario]:
        """The scenario of each subject and path."""
        return {
            (name, path): self.subjects[name].scenario(self.paths[path])
            for name, path in product(self.subjects, self.paths)
        }

    def real_time_s(self) -> float:
        """Real time of all runs, by those of the simulator."""
        planned = list(self.scenarios().values())
        recordings = _native.run_many([(scenario, 1) for scenario in planned])
        lengths = [SET_UP_S + recording.simulated_s for recording in recordings]
        return sum(lengths) * self.seeds / PARALLEL

    def run(self, seeds: int | None = None) -> dict[str, Any]:
        """Run all subjects on all paths on both backends; the object in the results."""
        seeds = self.seeds if seeds is None else seeds
        planned = self.scenarios()
        jobs = [(key, seed) for seed in range(1, 1 + seeds) for key in planned]
        found: dict[tuple[str, str], list[Recording]] = {key: [] for key in planned}
        kept = KeptRuns(KEPT)
        with (
            ThreadPoolExecutor(PARALLEL) as pool,
            late_progress(self.name, len(jobs)) as progress,
        ):
            runs = pool.map(lambda job: kept.run(planned[job[0]], job[1], ATTEMPTS), jobs)
            for done, ((key, _), recording) in enumerate(zip(jobs, runs, strict=True), 1):
                found[key].append(recording)
                if progress:
                    progress(done)
        invalid = sum(not _is_valid(one) for all_of in found.values() for one in all_of)
        modelled = _native.run_many([(planned[key], seed) for key, seed in jobs])
        simulated: dict[tuple[str, str], list[Recording]] = {key: [] for key in planned}
        for (key, _), recording in zip(jobs, modelled, strict=True):
            simulated[key].append(recording)
        rows = [
            Row(
                *(name, metric.name, path),
                kernel=_values(metric, filter(_is_valid, found[name, path])),
                simulator=_values(metric, simulated[name, path]),
            )
            for name, subject in self.subjects.items()
            for metric in subject.metrics
            for path in self.paths
        ]
        return {"seeds": seeds, "invalid": invalid, "rows": [asdict(row) for row in rows]}

    def table(self, found: dict[str, Any]) -> str:
        """The results as Markdown: differences with the medians of the kernel."""
        rows = [Row(**row) for row in found["rows"]]
        sizes = {
            f"{row.subject}, {row.metric}, {row.path}": abs(difference)
            for row in rows
            if (difference := row.difference()) is not None
        }
        largest = max(sizes, key=lambda name: sizes[name])
        within = sum(size <= 5 for size in sizes.values())
        lines = [
            f"Figures differ by {decimals(statistics.median(sizes.values()), 1)} % in the median "
            f"and by {decimals(sizes[largest], 1)} % at most ({largest}); {within} of "
            f"{len(sizes)} are within 5 %.",
            "",
            f"| difference % (kernel) | {' | '.join(self.paths)} |",
            f"|---|{'---:|' * len(self.paths)}",
        ]
        for first in range(0, len(rows), len(self.paths)):
            line = rows[first : first + len(self.paths)]
            name = f"{line[0].subject}: {line[0].metric}"
            lines.append(f"| {name} | {' | '.join(map(self._cell, line))} |")
        return "\n".join([*lines, "", _footer(found)])

    def _cell(self, row: Row) -> str:
        metrics = self.subjects[row.subject].metrics
        metric = next(metric for metric in metrics if metric.name == row.metric)
        if not row.kernel:
            return "-"
        kernel, simulator = (
            decimals(metric.scale * statistics.median(values), metric.places) if values else "-"
            for values in (row.kernel, row.simulator)
        )
        difference = row.difference()
        if difference is None:
            return f"{simulator} ({kernel})"
        text = signed(round(difference, 1) + 0.0, places=1)
        return f"{text} ({kernel} {metric.unit}".rstrip() + ")"


def _is_valid(recording: Recording) -> bool:
    return recording.kernel is not None and recording.kernel.valid


def _values(metric: Metric, recordings: Iterable[Recording]) -> list[float]:
    values = map(metric.of, recordings)
    return [value for value in values if value is not None]


def _footer(found: dict[str, Any]) -> str:
    invalid = found["invalid"]
    return (
        f"{found['date']}, commit {found['commit']}, Linux {found['kernel']}, {found['seeds']} "
        "seeds" + (f"; {invalid} kernel runs were not valid and are left out." if invalid else ".")
    )
