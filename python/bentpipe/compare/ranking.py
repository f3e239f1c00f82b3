"""Ranking by paired runs: the best, and those not significantly different from it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.study.summary import around, difference, paired

if TYPE_CHECKING:
    from collections.abc import Mapping

Runs = dict[int, float | None]
"""The values of one controller by replication; None where the quantity is undefined."""


@dataclass(frozen=True)
class Place:
    """One controller in a ranking.

    `against_best` and `against_baseline` are mean differences with their paired 95 % intervals, as
    in the comparisons of a study. They are None for the best and for the baseline.
    """

    rank: int
    name: str
    n: int
    undefined: int
    mean: float | None
    ci95: tuple[float, float] | None
    against_best: dict[str, Any] | None
    against_baseline: dict[str, Any] | None

    @property
    def tied(self) -> bool:
        """True if the controller is not significantly different from the best."""
        return self.against_best is not None and not self.against_best["distinct"]


def ranked(
    found: Mapping[str, Runs], *, higher_is_better: bool, baseline: str | None
) -> list[Place]:
    """Sort by mean, best first. Equal means have the same rank. Fewer undefined values rank first.

    A page that never completed has no load time. The mean over the other pages would be too good.
    """

    def key(name: str) -> tuple[int, float]:
        values = defined(found[name])
        at = statistics.fmean(values) if values else float("inf")
        return len(found[name]) - len(values), -at if higher_is_better else at

    order = sorted(found, key=key)
    keys = [key(name) for name in order]
    return [place(keys.index(key(name)) + 1, name, order[0], found, baseline) for name in order]


def place(
    rank: int, name: str, best: str, found: Mapping[str, Runs], baseline: str | None
) -> Place:
    """One row of the ranking."""
    values = defined(found[name])

    def against(other: str | None) -> dict[str, Any] | None:
        if other is None or other == name or other not in found:
            return None
        return difference(paired(found[name], found[other]))

    return Place(
        rank=rank,
        name=name,
        n=len(values),
        undefined=len(found[name]) - len(values),
        mean=statistics.fmean(values) if values else None,
        ci95=around(values),
        against_best=against(best),
        against_baseline=against(baseline),
    )


def defined(runs: Runs) -> list[float]:
    """The values that are defined."""
    return [value for value in runs.values() if value is not None]
