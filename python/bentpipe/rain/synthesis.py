"""Series of rain attenuation: P.1853-1 (Maseng and Bakken) and Dirac and lognormal.

Both fit a lognormal distribution to P.618's A_p and drive it with a Gaussian process X of
correlation time 1 / beta = 5000 s. They differ in the treatment of dry time:

- P.1853-1 fits ln A_p over Qinv(p) and subtracts the attenuation exceeded for P0, the share of
  rainy time: A = max(exp(m + sigma X) - A_off, 0). The subtraction moves the distribution away from
  the fit.
- Dirac and lognormal (Boulanger et al.; taken into P.1853-2, as far as we know) fits over
  Qinv(p / P0), the distribution while it rains, and gives X above Qinv(P0) that distribution:
  A = exp(m + sigma Qinv(Q(X) / P0)), else 0.

Q is the upper tail of the Gaussian distribution, Qinv its inverse. P.1853-1 was read in the source
of ITU-Rpy (`itur/models/itu1853.py`), the other method in an abstract. The Recommendations were not
available.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, log
from statistics import NormalDist, linear_regression
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from bentpipe.rain.gaussian import generator, stationary
from bentpipe.rain.series import Series, steps_in, times
from bentpipe.rain.site import within
from bentpipe.rain.statistics import attenuation_at_001, scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from bentpipe.rain.gaussian import Array
    from bentpipe.rain.site import Site

BETA = 2e-4
"""Decay of the autocorrelation of X in 1/s (P.1853-1)."""

FIT_PERCENT = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Percentages at which A_p is fitted, if they are rarer than rain (P.1853-1)."""


@dataclass(frozen=True)
class Synthesis(ABC):
    """A method fitted to a site. `exceeded` is the exact distribution of its series.

    `m` and `sigma` are the parameters of ln A. `rain` is P0 as a share of 1.
    """

    m: float
    sigma: float
    rain: float

    name: ClassVar[str]
    given_rain: ClassVar[bool]
    """True if the fit is to the distribution while it rains, instead of that of all time."""

    @classmethod
    def fit(cls, site: Site) -> Self:
        """Least squares of ln A_p over the Gaussian quantiles of the method."""
        percents = [percent for percent in FIT_PERCENT if percent < site.rain_percent]
        at_001 = attenuation_at_001(site)
        logs = [log(scaled(site, at_001, percent)) for percent in percents]
        of = site.rain_percent if cls.given_rain else 100.0
        quantiles = [-NormalDist().inv_cdf(percent / of) for percent in percents]
        line = linear_regression(quantiles, logs)
        return cls(line.intercept, line.slope, site.rain_percent / 100)

    @abstractmethod
    def attenuation(self, x: ArrayLike) -> Array:
        """Attenuation in dB for values of X, an array of any shape. It increases with X."""

    @abstractmethod
    def level(self, attenuation_db: float) -> float:
        """The X of an attenuation above 0 dB: the inverse of `attenuation`."""

    @property
    def threshold(self) -> float:
        """Qinv(P0): it rains while X is above this."""
        return -float(ndtri(self.rain))

    def exceeded(self, attenuation_db: float) -> float:
        """The probability that the attenuation exceeds this value (0 dB: that it rains)."""
        return float(ndtr(-self.level(attenuation_db))) if attenuation_db > 0 else self.rain

    def attenuation_exceeded(self, percent: float) -> float:
        """The attenuation in dB that the series exceed for `percent` of the time, like A_p."""
        within("percent", percent, 1e-6, 100.0)
        return float(self.attenuation(-ndtri(percent / 100)))

    def series(self, duration_s: float, step_s: float = 1.0, *, seed: int) -> Series:
        """A stationary series at 0, step, ..., duration. Most short series are dry throughout.

        `RainError` if the duration is not a whole number of steps. Any step is possible, because
        the process is sampled exactly. A year at 1 s needs about 1.3 GB.
        """
        steps = steps_in(duration_s, step_s)
        (x,) = stationary(generator(seed), BETA * step_s, steps + 1)
        return Series(times(steps, step_s), self.attenuation(x), self.name)


@dataclass(frozen=True)
class MasengBakken(Synthesis):
    """P.1853-1: `A = max(exp(m + sigma X) - A_off, 0)`."""

    name = "p1853"
    given_rain = False

    @property
    def offset_db(self) -> float:
        """A_off: the attenuation that the fit exceeds for P0."""
        return exp(self.m + self.sigma * self.threshold)

    def attenuation(self, x: ArrayLike) -> Array:
        """The lognormal attenuation less A_off, not below 0."""
        lognormal = np.exp(self.m + self.sigma * np.asarray(x, dtype=float))
        return np.maximum(lognormal - self.offset_db, 0.0)

    def level(self, attenuation_db: float) -> float:
        """The X whose lognormal attenuation is A_off above this one."""
        return (log(attenuation_db + self.offset_db) - self.m) / self.sigma


@dataclass(frozen=True)
class DiracLognormal(Synthesis):
    """Dirac and lognormal: `A = exp(m + sigma Qinv(Q(X) / P0))` where X is above Qinv(P0)."""

    name = "dirac"
    given_rain = True

    def attenuation(self, x: ArrayLike) -> Array:
        """The attenuation with the same quantile in rainy time as X has among the rainy X."""
        x = np.asarray(x, dtype=float)
        attenuation = np.zeros(x.shape)
        wet = x > self.threshold
        attenuation[wet] = np.exp(self.m - self.sigma * ndtri(ndtr(-x[wet]) / self.rain))
        return attenuation

    def level(self, attenuation_db: float) -> float:
        """The X with the same quantile as this attenuation."""
        share = ndtr(-(log(attenuation_db) - self.m) / self.sigma)
        return -float(ndtri(self.rain * share))


METHODS: Mapping[str, type[Synthesis]] = {
    method.name: method for method in (DiracLognormal, MasengBakken)
}
"""The methods by their names on the command line."""
