"""What a study estimates: means of quantities in variants, and differences from baselines.

The names of the fields are those of `summary.json`.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from bentpipe.study.significance import finding_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.study.parameters import Value
    from bentpipe.study.significance import Finding

Interval = tuple[float, float]
"""The ends of a confidence interval."""


class FromSummary:
    """Made from an object of the summary."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """The estimate of this object; `KeyError` when it lacks a field.

        Fields with a default are not in summaries of earlier releases.
        """
        known = {
            one.name: data[one.name]
            for one in fields(cls)  # type: ignore[arg-type]
            if one.default is MISSING or one.name in data
        }
        ci95 = known["ci95"]
        return cls(**known | {"ci95": None if ci95 is None else tuple(ci95)})


@dataclass(frozen=True)
class Estimate(FromSummary):
    """Mean, interval and percentiles of a quantity in one variant."""

    variant: int
    """Number of the variant, from zero."""
    parameters: dict[str, Value]
    """The values of the variant, by their paths."""
    quantity: str
    unit: str
    n: int
    """Number of runs in which the quantity is defined."""
    undefined: int
    """Number of the other runs."""
    mean: float | None
    ci95: Interval | None
    """95 % interval of the mean, within the bounds of the quantity.

    None for fewer than three values, for those of a deterministic variant, and for values that are
    the same in all runs and are neither counts nor successes.
    """
    interval: str
    """The method of the interval.

    `student`, `bootstrap`, `count` for numbers of events, `wilson` for shares of successes, or
    `logit` for other bounded quantities.
    """
    median: float | None
    percentiles: dict[str, float | None]
    """By the percent, such as `"95"`."""
    deterministic: bool = False
    """True if all runs of the variant are the same."""

    @property
    def value(self) -> float | None:
        """The mean."""
        return self.mean


@dataclass(frozen=True)
class Difference(FromSummary):
    """Mean difference of pairs of runs with the same seed: a value minus the baseline."""

    quantity: str
    unit: str
    parameters: dict[str, Value]
    """The values that both have, by their paths."""
    of: dict[str, Value]
    """The compared value."""
    against: dict[str, Value]
    """The baseline."""
    n: int
    """Number of pairs in which the quantity is defined."""
    difference: float | None
    ci95: Interval | None
    """95 % interval by Student; None for fewer than three pairs, or one difference in all."""
    relative: float | None
    """Share of the baseline's mean."""
    distinct: bool
    """True if the difference is significant, after the correction for the family."""
    deterministic: bool = False
    """True if both variants are deterministic: the difference is exact, and not tested."""
    p: float | None = None
    """p value of the paired test."""
    p_holm: float | None = None
    """p value, corrected for its family by the method of Holm."""
    family: int = 0
    """Number of tests in the family: all tested differences of the study and of its answer."""
    finding: Finding | None = None
    """`significant`, `not significant`, `deterministic`, `too few` or `undefined`."""
    undefined: int = 0
    """Number of runs in which the compared value has no value of the quantity."""
    undefined_against: int = 0
    """The same for the baseline, under the same seeds."""

    @property
    def words(self) -> Finding:
        """The finding, also of a summary of an earlier release."""
        return finding_of(vars(self))

    @property
    def value(self) -> float | None:
        """The difference."""
        return self.difference
