"""Results of one workload: the runs of every controller and their ranking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bentpipe.compare import counters
from bentpipe.compare.ranking import Place, Runs, ranked
from bentpipe.study.pairs import defined
from bentpipe.study.quantities import domain_of
from bentpipe.study.summary import values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Scenario
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.traffic import Application
    from bentpipe.compare.workloads import Workload
    from bentpipe.explanation import Explanation
    from bentpipe.study import Results


@dataclass(frozen=True)
class Outcome:
    """The results of a workload by the names of controllers, from one study for each part."""

    workload: Workload
    parts: Sequence[Sequence[Candidate]]
    """The candidates of each study, in the order of its variants."""
    studies: Sequence[Results]
    application: Application | None = None
    """How pages are loaded; None for other workloads."""

    @property
    def name(self) -> str:
        """The name of the ranking: that of the workload, or of the application of its pages."""
        return self.application.name if self.application else self.workload.name

    @property
    def title(self) -> str:
        """The title of the ranking, which names the application of its pages."""
        title = self.workload.title
        return f"{title} over {self.application.words}" if self.application else title

    @property
    def head(self) -> str:
        """The heading of its column."""
        return self.application.head if self.application else self.workload.head

    @cached_property
    def baseline(self) -> str | None:
        """The candidate that others are compared with; None if it has no such controller."""
        same = (one for one in self.candidates if one.controller == self.workload.baseline)
        return next((one.name for one in same), None)

    @cached_property
    def explanations(self) -> dict[str, Explanation]:
        """The scenarios of `bentpipe explain`, by candidate. Each takes longer than a short run."""
        return {
            candidate.name: variant.scenario.explain()
            for part, results in zip(self.parts, self.studies, strict=True)
            for candidate, variant in zip(part, results.study.variants, strict=True)
        }

    @cached_property
    def warnings(self) -> dict[str, list[str]]:
        """The warnings of `bentpipe explain` about the flow that is compared, by candidate."""
        compared = self.workload.compared
        return {
            name: about(explanation, compared) for name, explanation in self.explanations.items()
        }

    @cached_property
    def shared_warnings(self) -> list[str]:
        """The warnings that all candidates have: they are about the link."""
        first, *others = self.warnings.values()
        return [one for one in first if all(one in other for other in others)]

    @property
    def candidates(self) -> list[Candidate]:
        """The candidates of all studies."""
        return [candidate for part in self.parts for candidate in part]

    @property
    def counter_names(self) -> list[tuple[str, ...]]:
        """The counters of mechanisms that each study has."""
        own = {self.workload.quantity, *self.workload.also, self.workload.aborted}
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
        """The values of a quantity by the names of the candidates."""
        return {
            candidate.name: runs
            for part, results in zip(self.parts, self.studies, strict=True)
            for candidate, runs in zip(part, self.values_in(results, quantity), strict=True)
        }

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
            baseline=self.baseline,
            fixed=self.deterministic,
            domain=domain_of(self.workload.quantity),
        )

    @cached_property
    def deterministic(self) -> list[str]:
        """The names of the candidates whose runs are all the same: nothing depends on the seed."""
        names = []
        for part, results in zip(self.parts, self.studies, strict=True):
            fixed = set(results.summary["deterministic"])
            variants = sorted(set(results.rows["variant"]))
            for number, candidate in zip(variants, part, strict=True):
                if number in fixed:
                    names.append(candidate.name)
        return names

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

    @cached_property
    def aborted(self) -> dict[str, float]:
        """The share of runs in which the connection was aborted, of those with any."""
        found = self.of(self.workload.aborted)
        shares = {name: sum(defined(runs)) / len(runs) for name, runs in found.items()}
        return {name: share for name, share in shares.items() if share}

    @property
    def unit(self) -> str:
        """The unit of the quantity that the workload is ranked by."""
        return self.unit_of(self.workload.quantity)

    def unit_of(self, name: str) -> str:
        """The unit of any quantity of the workload."""
        return next(q.unit for q in self.studies[0].study.quantities if q.name == name)


def explained(scenario: Scenario, flow: str) -> list[str]:
    """The warnings of `bentpipe explain` about a flow."""
    return about(scenario.explain(), flow)


def about(explanation: Explanation, flow: str) -> list[str]:
    """The warnings of an explanation about a flow."""
    return [one.message for one in explanation.warnings if one.subject == flow]
