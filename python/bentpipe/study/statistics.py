"""Means over seeds with confidence intervals, for studies and reproductions.

`intervals` chooses the interval for the values of a quantity.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bentpipe.numbers import without_rounding

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


LARGEST_EXPONENT = 300.0
"""Keeps the ends of absurdly wide intervals finite and above zero."""


def student_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's 95 % interval of the mean of at least two values, which may be negative."""
    found = mean(values)
    half = found.ci95 or 0.0
    return found.value - half, found.value + half


def log_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of values that cannot be negative; it is above zero.

    Student's interval on the logarithmic scale by the delta method: m exp(-h/m) to m exp(h/m), with
    the mean m and the half width h of Student's interval. For a small h it is Student's interval.
    Goodputs and times have long upper tails, where it covers the true mean more often.
    tests/test_intervals.py simulates the coverage with a standard deviation of half the mean: at
    least 93 % with 20 values, also of a shifted exponential distribution, and with 5 values of a
    lognormal, gamma or uniform one. With 5 of the exponential it is 91 %.
    """
    found = mean(values)
    if found.value <= 0 or min(values) < 0:
        return student_interval(values)
    ratio = math.exp(min((found.ci95 or 0.0) / found.value, LARGEST_EXPONENT))
    return found.value / ratio, found.value * ratio


def logit_interval(values: Sequence[float], low: float, high: float) -> tuple[float, float]:
    """The 95 % interval of the mean of values from `low` to `high`; it stays between them.

    Student's interval on the logit scale by the delta method. With the mean's place p between the
    bounds (0 to 1) and the half width h of Student's interval as a share of their distance, the
    ends have the logit of p, less and plus h / (p (1 - p)). Near a bound it is `log_interval` of
    the distance from it, and for a small h it is Student's interval. tests/test_intervals.py
    simulates the coverage: at least 93 % with 20 values of beta distributions, and 92 % with 5.
    Values outside of the bounds, by rounding, move the bounds. Values that are all the same have no
    width.
    """
    low, high = min(low, *values), max(high, *values)
    found = mean(values)
    if is_constant(values) or not low < found.value < high:
        return found.value, found.value
    above, below = found.value - low, high - found.value
    half = (found.ci95 or 0.0) * (high - low) / (above * below)
    ratio = math.exp(min(half, LARGEST_EXPONENT))

    def end(odds: float) -> float:
        return low + (high - low) * odds / (1 + odds)

    # The upper end from the other bound, so that a small distance from it is not lost to rounding.
    return end(above / below / ratio), high - (end(below / above / ratio) - low)


def wilson_interval(values: Sequence[float]) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share of successes; `values` are 1 and 0.

    It has a width also if all runs have the same value: 20 successes in 20 runs have 0.84 to 1.
    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
    The formula is that of Newcombe, "Two-sided confidence intervals for the single proportion",
    Statistics in Medicine 17 (1998).
    """
    # scipy.special and not scipy.stats, which takes seconds to import on a busy machine.
    from scipy.special import ndtri

    successes, n = round(sum(values)), len(values)
    z, p = float(ndtri(0.975)), successes / n
    denominator = 2 * (n + z**2)
    centre = (2 * n * p + z**2) / denominator
    half = z / denominator * math.sqrt(4 * n * p * (1 - p) + z**2)
    return (
        0.0 if successes == 0 else centre - half,
        1.0 if successes == n else centre + half,
    )


def is_binary(values: Sequence[float]) -> bool:
    """True if all values are 1 or 0."""
    return all(value in (0.0, 1.0) for value in values)


def is_constant(values: Sequence[float]) -> bool:
    """True if the values are the same but for rounding."""
    low, high = min(values), max(values)
    return without_rounding(high - low, max(abs(low), abs(high))) == 0


def is_whole(values: Sequence[float]) -> bool:
    """True if all values are whole numbers."""
    return all(value == math.floor(value) for value in values)


def count_variance(values: Sequence[float]) -> float:
    """The variance of at least two counts, at least that of one event in one of n runs: 1 / n.

    Counts that are all the same have no spread, but another run may have one event more.
    """
    spread = statistics.variance(values)
    return max(spread, 1 / len(values)) if is_whole(values) else spread


def count_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of counts; it is not below zero, and has a width.

    The score interval of a Poisson mean (Barker, "A comparison of nine confidence intervals for a
    Poisson parameter when the expected number of events is <= 5", The American Statistician 56,
    2002), with a variance that is a multiple of the mean (quasi-likelihood: McCullagh and Nelder,
    Generalized Linear Models, 1989, chapter 9): all means m with (mean - m)^2 <= t^2 f m / n, where
    f is the variance of the values divided by their mean. With no event in n runs the spread is
    that of one event in one of them. For a small spread it is Student's interval. An interval on
    the logarithmic scale is of no use here: a few rare events give one over many decades.
    """
    n = len(values)
    mean_value = statistics.fmean(values)
    if min(values) < 0:
        return student_interval(values)
    ratio = count_variance(values) / max(mean_value, 1 / n)
    a = student(n - 1) ** 2 * ratio / (2 * n)
    half = math.sqrt(a * (a + 2 * mean_value))
    return max(mean_value + a - half, 0.0), mean_value + a + half


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
