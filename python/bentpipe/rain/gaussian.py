"""The Gaussian process X under every rain series, and the bridge that leads it to a given level.

X has mean 0, variance 1 and the autocorrelation exp(-beta t). All that is drawn comes from NumPy's
PCG64 with the seed given. NumPy keeps a generator's numbers over its releases but may change how
they become normal ones: a series is the same for the same seed, NumPy and SciPy.
"""

from __future__ import annotations

from math import exp, expm1, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def generator(seed: int) -> np.random.Generator:
    """PCG64 with this seed."""
    return np.random.Generator(np.random.PCG64(seed))


def stationary(random: np.random.Generator, decay: float, samples: int, count: int = 1) -> Array:
    """`count` independent series of `samples` values, as an array (count, samples).

    `decay` is beta times the step. The first value is drawn from the stationary distribution, so
    there is nothing to warm up: X_0 ~ N(0, 1), X_k = rho X_(k-1) + sqrt(1 - rho^2) n_k.
    """
    # scipy.signal takes most of a second to import, and only this needs it.
    from scipy.signal import lfilter

    rho = exp(-decay)
    driven = random.standard_normal((count, samples))
    driven[:, 1:] *= sqrt(-expm1(-2 * decay))
    series: Array = lfilter([1.0], [1.0, -rho], driven, axis=1)
    return series


def bridge(
    random: np.random.Generator,
    decay: float,
    steps: int,
    ends: tuple[float, float],
    cut: tuple[float, float],
) -> Array:
    """From one end to the other in `steps` steps, within the cut on the way: `steps` + 1 values.

    Each value is drawn, in order, from the law of the AR(1) process given the value before and the
    end ahead, cut off on both sides. With an infinite cut this is exactly the process conditioned
    on both ends. Otherwise a step heeds the cut for itself alone and not for those that follow, so
    near the cut the path is only close to the process that never leaves it.
    """
    left = decay * np.arange(steps, 0, -1)
    # With m steps left to the end e: mean (x sinh((m-1) d) + e sinh(d)) / sinh(m d), written
    # without overflow; variance (1 - rho^2) (1 - rho^(2(m-1))) / (1 - rho^(2m)).
    whole = -np.expm1(-2 * left)
    rest = -np.expm1(-2 * (left - decay))
    step = -expm1(-2 * decay)
    from_here = exp(-decay) * rest / whole
    from_end = ends[1] * np.exp(-(left - decay)) * step / whole
    deviation = np.sqrt(step * rest / whole)
    uniform = random.random(steps)

    path = np.empty(steps + 1)
    path[0] = at = ends[0]
    for number in range(steps - 1):
        mean = from_here[number] * at + from_end[number]
        below = ndtr((cut[0] - mean) / deviation[number])
        above = ndtr((cut[1] - mean) / deviation[number])
        at = mean + deviation[number] * ndtri(below + uniform[number] * (above - below))
        path[number + 1] = at
    path[-1] = ends[1]
    return path
