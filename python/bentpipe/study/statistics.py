"""Means over seeds with confidence intervals, for studies and reproductions."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Mean:
    """A mean with the half width of its 95 % confidence interval (None for a single value).

    `runs` is the number of values.
    """

    value: float
    ci95: float | None = None
    runs: int = field(default=1, compare=False)


def mean(values: Sequence[float]) -> Mean:
    """Mean and Student's 95 % interval of independent `values`; `ValueError` for none.

    Values that are all the same (a scenario without randomness) have an interval of zero.
    """
    if not values:
        raise ValueError("the mean of no values")
    if len(values) == 1:
        return Mean(values[0])
    centre = statistics.fmean(values)
    deviation = statistics.stdev(values, centre)
    if deviation == 0.0:
        return Mean(centre, 0.0, len(values))
    half = student(len(values) - 1) * deviation / math.sqrt(len(values))
    return Mean(centre, half, len(values))


def is_narrow(values: Sequence[float], relative: float) -> bool:
    """True if the half width of Student's interval is at most this part of the mean."""
    if len(values) < 2:
        return False
    found = mean(values)
    return found.ci95 is not None and found.ci95 <= relative * abs(found.value)


def student(freedom: int) -> float:
    """The factor of a two-sided 95 % interval with `freedom` degrees of freedom."""
    # scipy.special and not scipy.stats: the same function, a third of the time to import.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile, by linear interpolation between the two nearest values."""
    ordered = sorted(values)
    place = percent / 100 * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def bootstrap(values: Sequence[float], seed: Sequence[int]) -> tuple[float, float]:
    """The 95 % interval of the mean by the bootstrap, bias-corrected and accelerated (BCa).

    Efron, "Better bootstrap confidence intervals", JASA 82 (1987). One seed gives one interval.
    """
    if min(values) == max(values):  # all resamples are the same, and BCa divides by their spread
        return values[0], values[0]
    import numpy as np
    from scipy import stats

    found = stats.bootstrap(
        (np.asarray(values),),
        np.mean,
        confidence_level=0.95,
        method="BCa",
        batch=100,
        rng=np.random.default_rng(list(seed)),
    ).confidence_interval
    return float(found.low), float(found.high)


def gains(new: Sequence[float], old: Sequence[float]) -> list[float]:
    """The difference of each of `new` from its pair of the same seed in `old`, in percent."""
    return [(n / o - 1) * 100 for n, o in zip(new, old, strict=True)]


def savings(new: Sequence[float], old: Sequence[float]) -> list[float]:
    """The reduction of each of `new` from its pair of the same seed in `old`, in percent."""
    return [-gain for gain in gains(new, old)]
