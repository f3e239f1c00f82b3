"""Who is best, and who cannot be told apart from it, by runs that met the same losses."""

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
    the comparisons of a study; None for the best and the baseline themselves.
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
        """Whether the interval of its difference from the best holds zero."""
        return self.against_best is not None and not self.against_best["distinct"]


def ranked(
    found: Mapping[str, Runs], *, higher_is_better: bool, baseline: str | None
) -> list[Place]:
    """Best mean first; equal means have one rank. More undefined values come after fewer.

    A page that never came has no response time: a mean over those that came would flatter.
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
        ci95=around(values) if len(values) > 1 else None,
        against_best=against(best),
        against_baseline=against(baseline),
    )


def defined(runs: Runs) -> list[float]:
    """The values that are there."""
    return [value for value in runs.values() if value is not None]
