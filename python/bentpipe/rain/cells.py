"""Rain over a beam: correlated series of attenuation for the weather cells of a grid.

The process is that of ITU-R P.1853-2, as the open implementation ITURPropagPY has it; the
Recommendation was not available, so this is a reconstruction from one source:

- Two Gaussian processes with the decays b1 and b2 have the same noise, and G = g1 X1 + g2 X2 has
  variance 1. P.1853-2 states a step of 1 s. Here the two are sampled exactly for any step: their
  correlation is 2 sqrt(b1 b2) / (b1 + b2), that of the noise with which one step drives them
  follows from it.
- The noise of two cells at the distance d has the correlation
  r(d) = 0.59 exp(-d / 31 km) + 0.41 exp(-d / 800 km), so G has it, too.
- Attenuation is that of the method "dirac": A = exp(m + sigma Qinv(Q(G) / P0)) where G is above
  Qinv(P0), else 0.

All cells have the climate of one site.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, sqrt
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import RainError
from bentpipe.rain.gaussian import generator
from bentpipe.rain.series import METHOD, check_suffix, steps_in, times
from bentpipe.rain.site import within
from bentpipe.tables import save_table

if TYPE_CHECKING:
    import os

    from bentpipe.rain.gaussian import Array
    from bentpipe.rain.synthesis import DiracLognormal

DECAYS = (9.0186e-4, 5.0990e-5)
"""b1 and b2 in 1/s: 1109 s and 19,612 s."""

GAINS = (0.3746, 0.7738)
"""g1 and g2."""

COMMON = 2 * sqrt(DECAYS[0] * DECAYS[1]) / sum(DECAYS)
"""Correlation of X1 and X2 at one time."""

SPREAD = sqrt(GAINS[0] ** 2 + GAINS[1] ** 2 + 2 * GAINS[0] * GAINS[1] * COMMON)
"""Standard deviation of g1 X1 + g2 X2, which is 1 but for the digits of the constants."""

MOST_CELLS = 400
MOST_DRAWS = 10_000
"""Maximum number of windows that are drawn for `least_rain`."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells in rows and columns at equal distances; `RainError` outside of its limits.

    - `rows`, `columns`: at least 1 each, at most 400 cells in all
    - `spacing_km`: distance of neighbours, 1 to 1000 km
    """

    rows: int = 8
    columns: int = 8
    spacing_km: float = 25.0

    def __post_init__(self) -> None:
        for name, count in (("rows", self.rows), ("columns", self.columns)):
            if not 1 <= count <= MOST_CELLS or self.rows * self.columns > MOST_CELLS:
                expected = f"1 to {MOST_CELLS} rows and columns with at most {MOST_CELLS} cells"
                raise RainError(name, expected, count)
        within("spacing_km", self.spacing_km, 1.0, 1000.0)

    @property
    def names(self) -> list[str]:
        """Names of the cells, row by row: `cell_1_1`, `cell_1_2`, ..."""
        rows, columns = range(1, self.rows + 1), range(1, self.columns + 1)
        return [f"cell_{row}_{column}" for row in rows for column in columns]

    def distances_km(self) -> Array:
        """Distances between all cells, of shape (cells, cells)."""
        row, column = np.divmod(np.arange(self.rows * self.columns), self.columns)
        places = self.spacing_km * np.stack([row, column], axis=1).astype(float)
        apart: Array = np.linalg.norm(places[:, None] - places[None], axis=2)
        return apart

    def factor(self) -> Array:
        """The Cholesky factor of r(d) between all cells, of shape (cells, cells)."""
        lower: Array = np.linalg.cholesky(correlation(self.distances_km())).astype(np.float64)
        return lower


def correlation(distance_km: Array) -> Array:
    """r(d), the correlation of G at two places."""
    near: Array = 0.59 * np.exp(-distance_km / 31.0)
    far: Array = 0.41 * np.exp(-distance_km / 800.0)
    return near + far


@dataclass(frozen=True, eq=False)
class Cells:
    """Attenuation of all cells over time.

    - `grid`: the cells
    - `time_s`: seconds from 0, in equal steps, of shape (samples,)
    - `attenuation_db`: rain attenuation in dB, of shape (samples, cells)
    - `draws`: windows that were drawn until one had the rain that was asked for
    """

    grid: Grid
    time_s: Array
    attenuation_db: Array
    draws: int = 1

    @property
    def rain_share(self) -> float:
        """Share of rain over all cells and times."""
        return float((self.attenuation_db > 0).mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `time_s` and one column for each cell as CSV or Parquet, by the suffix of `path`.

        The file is written completely or not at all. `RainError` for another suffix, `OutputError`
        if the file cannot be written.
        """
        from pathlib import Path

        import polars as pl

        target = Path(path)
        check_suffix(target)
        columns = dict(zip(self.grid.names, self.attenuation_db.T, strict=True))
        save_table(pl.DataFrame({"time_s": self.time_s} | columns), target, {METHOD: "p1853-2"})


def cells(
    method: DiracLognormal,
    grid: Grid,
    duration_s: float,
    step_s: float = 10.0,
    *,
    seed: int,
    least_rain: float = 0.0,
) -> Cells:
    """Series of all cells at 0, step, ..., duration, stationary from the first sample.

    With `least_rain`, windows are drawn until one has rain in this share of all cells and times;
    `draws` of the answer says how many it took, so the share of such windows is about 1 / draws.
    `RainError` if the duration is not a whole number of steps, and if 10,000 windows have less
    rain.
    """
    within("least_rain", least_rain, 0.0, 1.0)
    steps = steps_in(duration_s, step_s)
    random = generator(seed)
    factor = grid.factor()
    for draw in range(1, MOST_DRAWS + 1):
        gaussian = process(random, factor, step_s, steps + 1)
        found = Cells(grid, times(steps, step_s), method.attenuation(gaussian), draw)
        if found.rain_share >= least_rain:
            return found
    expected = f"a share of rain that one of {MOST_DRAWS} windows of {duration_s:g} s has"
    raise RainError("least_rain", expected, f"{least_rain:g}")


def process(random: np.random.Generator, factor: Array, step_s: float, samples: int) -> Array:
    """G of all cells, of shape (samples, cells). `factor` is the Cholesky factor of r(d)."""
    from scipy.signal import lfilter

    count = len(factor)
    first, second = random.standard_normal((2, samples, count)) @ factor.T
    fast, slow = (np.exp(-decay * step_s) for decay in DECAYS)
    # Variances and the covariance of the noise of one step, divided by those of the processes.
    gains = [sqrt(-expm1(-2 * decay * step_s)) for decay in DECAYS]
    together = -COMMON * expm1(-sum(DECAYS) * step_s) / (gains[0] * gains[1])
    driven = [gains[0] * first, gains[1] * mixed(first, second, together)]
    driven[0][0] = first[0]
    driven[1][0] = mixed(first[0], second[0], COMMON)
    both = [
        lfilter([1.0], [1.0, -rho], noise, axis=0)
        for rho, noise in zip((fast, slow), driven, strict=True)
    ]
    gaussian: Array = (GAINS[0] * both[0] + GAINS[1] * both[1]) / SPREAD
    return gaussian


def mixed(first: Array, second: Array, share: float) -> Array:
    """Noise that has the correlation `share` with `first`; both arguments are independent."""
    noise: Array = share * first + sqrt(max(1 - share * share, 0.0)) * second
    return noise
