"""Climate maps of the ITU-R, from the optional package `itur` (ITU-Rpy).

Only three numbers are read from it. Its time series have defects (see docs/rain.md), and
`bentpipe.rain.statistics` has the formulas of the statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bentpipe.errors import BentpipeError

MISSING = (
    "the climate maps need the package itur, which is not installed: pip install 'bentpipe[itur]'; "
    "or give the rain rate, rain height and share of rainy time yourself"
)


@dataclass(frozen=True)
class Climate:
    """Rain at a place: R0.01 and P0 of P.837, hR of P.839."""

    rate_mmh: float
    height_km: float
    percent: float


def climate(latitude_deg: float, longitude_deg: float) -> Climate:
    """Read the maps at a place. The first call loads them, which takes some seconds."""
    try:
        from itur.models import itu837, itu839
    except ModuleNotFoundError as error:
        raise BentpipeError(MISSING) from error
    return Climate(
        rate_mmh=bare(itu837.rainfall_rate(latitude_deg, longitude_deg, 0.01)),
        height_km=bare(itu839.rain_height(latitude_deg, longitude_deg)),
        percent=bare(itu837.rainfall_probability(latitude_deg, longitude_deg)),
    )


def bare(quantity: Any) -> float:
    """The number of an astropy quantity, which is an array of one element or none."""
    return float(quantity.value.item())
