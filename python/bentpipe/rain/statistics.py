"""Rain attenuation that a slant path exceeds for a share of an average year (ITU-R P.618).

Source: editions 13 and 14, section 2.2.1.1. They differ in ranges and in the limits for gases and
clouds, which are not used here. The equations were read in the source of ITU-Rpy
(`itur/models/itu618.py`); the Recommendation itself was not available.
"""

from __future__ import annotations

from math import atan2, cos, exp, log, radians, sin, sqrt
from typing import TYPE_CHECKING

from bentpipe.rain.site import within
from bentpipe.rain.specific import coefficients

if TYPE_CHECKING:
    from bentpipe.rain.site import Site

TABLE_PERCENT = (0.001, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0)
"""The percentages of a table: the ends of the method's range and common values in between."""


def attenuation_exceeded(site: Site, percent: float) -> float:
    """A_p in dB, exceeded for `percent` of the time (0.001 to 5; `RainError` outside)."""
    within("percent", percent, 0.001, 5.0)
    return scaled(site, attenuation_at_001(site), percent)


def attenuation_at_001(site: Site) -> float:
    """A0.01 in dB: specific attenuation times the effective length of the path in rain."""
    elevation = radians(site.elevation_deg)
    height = site.rain_height_km - site.altitude_km
    ground = height / sin(elevation) * cos(elevation)
    k, alpha = coefficients(site.frequency_ghz, site.elevation_deg, site.tilt_deg)
    gamma: float = k * site.rain_rate_mmh**alpha

    horizontal = 1 / (
        1 + 0.78 * sqrt(ground * gamma / site.frequency_ghz) - 0.38 * (1 - exp(-2 * ground))
    )
    # The path leaves the rain through its side or through its top.
    through_side = atan2(height, ground * horizontal) > elevation
    slant = ground * horizontal / cos(elevation) if through_side else height / sin(elevation)

    chi = max(36 - abs(site.latitude_deg), 0.0)
    spread = 31 * (1 - exp(-site.elevation_deg / (1 + chi)))
    vertical = 1 / (
        1 + sqrt(sin(elevation)) * (spread * sqrt(slant * gamma) / site.frequency_ghz**2 - 0.45)
    )
    return gamma * slant * vertical


def scaled(site: Site, at_001: float, percent: float) -> float:
    """A_p from A0.01. `percent` is not checked, because P.1853-1 also needs 10 %."""
    sine = sin(radians(site.elevation_deg))
    latitude = abs(site.latitude_deg)
    beta = 0.0
    if percent < 1 and latitude < 36:
        beta = -0.005 * (latitude - 36)
        if site.elevation_deg < 25:
            beta += 1.8 - 4.25 * sine
    exponent = 0.655 + 0.033 * log(percent) - 0.045 * log(at_001) - beta * (1 - percent) * sine
    share: float = (percent / 0.01) ** -exponent
    return at_001 * share
