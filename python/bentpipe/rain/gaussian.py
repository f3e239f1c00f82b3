"""The Gaussian process X under every rain series.

X has mean 0, variance 1 and the autocorrelation exp(-beta t). All random numbers come from NumPy's
PCG64 with the given seed. NumPy keeps the numbers of a generator over its releases, but may change
their conversion to normal numbers. A series is the same for the same seed, NumPy and SciPy.
"""

from __future__ import annotations

from math import exp, expm1, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def generator(seed: int) -> np.random.Generator:
    """The generator PCG64 with this seed."""
    return np.random.Generator(np.random.PCG64(seed))


def stationary(random: np.random.Generator, decay: float, samples: int, count: int = 1) -> Array:
    """`count` independent series of `samples` values, as an array (count, samples).

    `decay` is beta times the step. The first value is drawn from the stationary distribution, so
    there is no transient: X_0 ~ N(0, 1), X_k = rho X_(k-1) + sqrt(1 - rho^2) n_k.
    """
    # scipy.signal takes most of a second to import, and only this function needs it.
    from scipy.signal import lfilter

    rho = exp(-decay)
    driven = random.standard_normal((count, samples))
    driven[:, 1:] *= sqrt(-expm1(-2 * decay))
    series: Array = lfilter([1.0], [1.0, -rho], driven, axis=1)
    return series
