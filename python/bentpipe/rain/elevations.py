"""The same rain on paths of several elevations, for satellites that move.

P.618 gives the attenuation that a path exceeds for each share of the year, for each elevation
(`bentpipe.rain.statistics`). Here the rain at an instant has the same share at all elevations: its
Gaussian process X is that of the series, and each elevation has the attenuation of its own fit to
P.618. A statement about one event this is not: rain lies in the direction of one path and not of
another, and the azimuth plays no role here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import RainError
from bentpipe.rain.series import METHOD, check_suffix
from bentpipe.rain.site import RANGES, within
from bentpipe.tables import save_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from bentpipe.rain.gaussian import Array
    from bentpipe.rain.series import Series
    from bentpipe.rain.site import Site
    from bentpipe.rain.synthesis import Synthesis


FEWEST = 2
"""Minimum number of elevations: attenuation is interpolated between them."""


@dataclass(frozen=True, eq=False)
class Elevations:
    """Attenuation over time at several elevations.

    - `time_s`: seconds from 0, in equal steps
    - `attenuation_db`: rain attenuation in dB by the elevation in degrees, arrays as `time_s`
    - `method`: name of the method that made it
    """

    time_s: Array
    attenuation_db: Mapping[float, Array]
    method: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `time_s` and a column `elevation_E_db` for each elevation, as CSV or Parquet.

        The file is written completely or not at all. An existing file is replaced. `RainError` for
        another suffix, `OutputError` if the file cannot be written.
        """
        import polars as pl

        target = Path(path)
        check_suffix(target)
        columns = {f"elevation_{one:g}_db": level for one, level in self.attenuation_db.items()}
        save_table(pl.DataFrame({"time_s": self.time_s} | columns), target, {METHOD: self.method})


def at_elevations(
    series: Series, site: Site, method: type[Synthesis], elevations_deg: Sequence[float]
) -> Elevations:
    """A series that `method` made for `site`, at several elevations.

    `RainError` for elevations that do not increase, or outside of 5 to 90 degrees.
    """
    if len(elevations_deg) < FEWEST or any(low >= high for low, high in pairwise(elevations_deg)):
        listed = ",".join(f"{one:g}" for one in elevations_deg)
        raise RainError("elevations", "two or more elevations that increase", listed or "none")
    for one in elevations_deg:
        within("elevations", one, *RANGES["elevation_deg"])
    own = method.fit(site)
    attenuation = series.attenuation_db
    wet = attenuation > 0
    levels = np.array([own.level(one) for one in attenuation[wet]])
    found = {}
    for elevation in elevations_deg:
        fit = method.fit(replace(site, elevation_deg=elevation))
        found[elevation] = np.zeros(attenuation.shape)
        found[elevation][wet] = fit.attenuation(levels)
    return Elevations(series.time_s, found, series.method)
