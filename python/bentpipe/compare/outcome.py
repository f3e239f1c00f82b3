"""Results of one workload: the runs of every controller and their ranking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bentpipe.compare import counters
from bentpipe.compare.ranking import Place, Runs, defined, ranked
from bentpipe.study.summary import values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.workloads import Workload
    from bentpipe.study import Results


@dataclass(frozen=True)
class Outcome:
    """The results of a workload by the names of controllers, from one study per mechanism."""

    workload: Workload
    candidates: Sequence[Candidate]
    studies: Sequence[Results]

    @property
    def counter_names(self) -> list[tuple[str, ...]]:
        """The counters of mechanisms that each study has."""
        own = {self.workload.quantity, *self.workload.also}
        quantities = (results.study.quantities for results in self.studies)
        return [tuple(one.name for one in each if one.name not in own) for each in quantities]

    @cached_property
    def counted(self) -> list[counters.Counter]:
        """The counters of the mechanisms with their statistics."""
        return counters.counted(self)

    @staticmethod
    def values_in(results: Results, quantity: str) -> list[Runs]:
        """The values of a quantity in one study, in the order of its variants."""
        found = values_of(results.rows, quantity)
        return [found[number] for number in sorted(found)]

    def of(self, quantity: str) -> dict[str, Runs]:
        """The values of a quantity. Variants of the studies are in the order of the candidates."""
        found = [values_of(results.rows, quantity) for results in self.studies]
        variants = range(len(self.candidates) // len(self.studies))
        runs = [study[n] for study in found for n in variants]
        return {one.name: values for one, values in zip(self.candidates, runs, strict=True)}

    @property
    def run_count(self) -> int:
        """The number of runs."""
        return sum(results.summary["runs"] for results in self.studies)

    @cached_property
    def runs(self) -> dict[str, Runs]:
        """The values of the quantity that the workload is ranked by."""
        return self.of(self.workload.quantity)

    @cached_property
    def places(self) -> list[Place]:
        """The controllers, best first."""
        return ranked(
            self.runs,
            higher_is_better=self.workload.higher_is_better,
            baseline=self.workload.baseline,
        )

    @cached_property
    def also(self) -> dict[str, dict[str, float | None]]:
        """Means of the other quantities, by quantity and controller."""
        return {
            quantity: {
                name: sum(values) / len(values) if (values := defined(runs)) else None
                for name, runs in self.of(quantity).items()
            }
            for quantity in self.workload.also
        }

    @property
    def unit(self) -> str:
        """The unit of the quantity that the workload is ranked by."""
        return self.unit_of(self.workload.quantity)

    def unit_of(self, name: str) -> str:
        """The unit of any quantity of the workload."""
        return next(q.unit for q in self.studies[0].study.quantities if q.name == name)
