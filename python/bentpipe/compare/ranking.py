"""Ranking by paired runs: the best, and those not significantly different from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE
from bentpipe.study.domains import ANY
from bentpipe.study.intervals import around
from bentpipe.study.pairs import compared_runs, defined, mean, order_of, undefined
from bentpipe.study.significance import decided, is_tied

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from bentpipe.study.domains import Domain
    from bentpipe.study.significance import PairedTest

Runs = dict[int, float | None]
"""The values of one controller by replication; None where the quantity is undefined."""


@dataclass(frozen=True)
class Place:
    """One controller in a ranking.

    `against_best` and `against_baseline` are mean differences with their paired 95 % intervals, as
    in the comparisons of a study. They are None for the best and for the baseline.
    """

    rank: int | None
    """None without a value in any run."""
    name: str
    n: int
    undefined: int
    mean: float | None
    ci95: tuple[float, float] | None
    against_best: dict[str, Any] | None
    against_baseline: dict[str, Any] | None
    deterministic: bool = False
    """True if all runs of the controller are the same."""

    @property
    def is_best(self) -> bool:
        """True for the first of the ranking, if it has a value."""
        return self.mean is not None and self.against_best is None

    @property
    def rank_text(self) -> str:
        """The rank, with = if it is tied; a dash without a value."""
        return NONE if self.rank is None else f"{self.rank}{'=' if self.tied else ''}"

    @property
    def tied(self) -> bool:
        """True if the controller is not significantly different from the best."""
        return (
            self.mean is not None and self.against_best is not None and is_tied(self.against_best)
        )


def ranked(
    found: Mapping[str, Runs],
    *,
    higher_is_better: bool,
    baseline: str | None,
    fixed: Collection[str] = (),
    domain: Domain = ANY,
) -> list[Place]:
    """Sort by mean, best first. Equal means have the same rank. Fewer undefined values rank first.

    All differences of a ranking are one family. `fixed` are those whose runs are all the same, and
    `domain` has the values that the quantity can have.
    """

    def key(name: str) -> tuple[int, float]:
        return order_of(found[name], higher_is_better=higher_is_better)

    order = sorted(found, key=key)
    keys = [key(name) for name in order]
    tests = Differences(found, fixed, domain)
    best = tests.add((name, order[0]) for name in order)
    base = tests.add((name, baseline) for name in order)
    rows = decided(tests.tests)
    places = []
    for name in order:
        values = defined(found[name])
        against = (rows[n] if (n := each.get(name)) is not None else None for each in (best, base))
        against_best, against_baseline = against
        places.append(
            Place(
                rank=keys.index(key(name)) + 1 if values else None,
                name=name,
                n=len(values),
                undefined=undefined(found[name]),
                mean=mean(found[name]),
                ci95=around(values, domain, deterministic=name in fixed),
                against_best=against_best,
                against_baseline=against_baseline,
                deterministic=name in fixed,
            )
        )
    return places


class Differences:
    """The tests of a family, and where the one of each pair is. The same pair is tested once."""

    def __init__(
        self, found: Mapping[str, Runs], fixed: Collection[str], domain: Domain = ANY
    ) -> None:
        self.found = found
        self.fixed = fixed
        self.domain = domain
        self.tests: list[PairedTest] = []
        self.numbers: dict[tuple[str, str], int] = {}

    def add(self, pairs: Iterable[tuple[str, str | None]]) -> dict[str, int]:
        """PairedTest pairs of names; the numbers of the tests by the first of each pair."""
        added: dict[str, int] = {}
        for this, that in pairs:
            if that is None or this == that or that not in self.found:
                continue
            if (this, that) not in self.numbers:
                self.numbers[this, that] = len(self.tests)
                both = this in self.fixed and that in self.fixed
                self.tests.append(
                    compared_runs(
                        self.found[this],
                        self.found[that],
                        deterministic=both,
                        domain=self.domain,
                    )
                )
            added[this] = self.numbers[this, that]
        return added
