"""Bridges of the Gaussian process X: from one level to another, between two limits.

Values are drawn in order, given the previous value and the end. They follow the normal distribution
of an AR(1) bridge, truncated at both limits and weighted with the probability that the rest of the
path stays between the limits (Doob's transform). The normal distribution is exact. The weight is
that of Brownian motion and of each limit alone: 1 - exp(-2 d e / v), with the distances d and e of
the value and of the end from the limit, and the variance v of the remaining path. It approximates
that of X for paths that are short compared with the correlation time. Limits are moved outwards by
0.5826 standard deviations of a step, because only samples must respect them (Siegmund's correction
of a discrete walk).
"""

from __future__ import annotations

from math import exp, expm1, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from bentpipe.rain.gaussian import Array

SIEGMUND = 0.5826
"""-zeta(1/2) / sqrt(2 pi)."""

FAR = 6.0
"""Number of standard deviations within which values are searched when weights are compared."""


def bridge(
    random: np.random.Generator,
    decay: float,
    steps: int,
    ends: tuple[float, float],
    limits: tuple[float, float],
) -> Array:
    """From one end to the other in `steps` steps, between the limits: `steps` + 1 values.

    `decay` is beta times the step. The ends may lie on the limits; infinite limits limit nothing,
    and then this is exactly the process conditioned on its ends.
    """
    low, high = limits
    end = ends[1]
    left = decay * np.arange(steps, 0, -1)
    # With m steps of decay d left to the end e: mean (x sinh((m-1) d) + e sinh(d)) / sinh(m d),
    # written without overflow; variance (1 - rho^2) (1 - rho^(2(m-1))) / (1 - rho^(2m)).
    whole, rest = -np.expm1(-2 * left), -np.expm1(-2 * (left - decay))
    step = -expm1(-2 * decay)
    from_here = (exp(-decay) * rest / whole).tolist()
    from_end = (end * np.exp(-(left - decay)) * step / whole).tolist()
    deviations = np.sqrt(step * rest / whole).tolist()
    variances = (2 * (left - decay)).tolist()
    floor, ceiling = low - SIEGMUND * sqrt(step), high + SIEGMUND * sqrt(step)

    path = np.empty(steps + 1)
    path[0] = at = ends[0]
    for number in range(steps - 1):
        mean, deviation = from_here[number] * at + from_end[number], deviations[number]
        below, above = ndtr((low - mean) / deviation), ndtr((high - mean) / deviation)
        rise = 2 * (end - floor) / variances[number]
        fall = 2 * (ceiling - end) / variances[number]
        highest, lowest = min(high, mean + FAR * deviation), max(low, mean - FAR * deviation)
        most = expm1(-rise * (highest - floor)) * expm1(-fall * (ceiling - lowest))
        while True:
            at = float(mean + deviation * ndtri(below + random.random() * (above - below)))
            weight = expm1(-rise * (at - floor)) * expm1(-fall * (ceiling - at))
            if random.random() * most < weight:
                break
        path[number + 1] = at
    path[-1] = end
    return path
