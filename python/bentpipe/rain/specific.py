"""Specific attenuation of rain: gamma = k R^alpha in dB/km (ITU-R P.838-3).

k and alpha are sums of Gaussian curves over the logarithm of the frequency, one pair for horizontal
and one for vertical polarisation. The coefficients were read in the source of ITU-Rpy
(`itur/models/itu838.py`); the Recommendation itself was not available.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, exp, log10, radians


@dataclass(frozen=True)
class Curve:
    """Gaussian curves (height, centre, width) and a straight line, over log10 of the GHz."""

    gaussians: tuple[tuple[float, float, float], ...]
    slope: float
    constant: float

    def at(self, log_ghz: float) -> float:
        """The sum at one frequency."""
        curves = sum(a * exp(-(((log_ghz - b) / c) ** 2)) for a, b, c in self.gaussians)
        return curves + self.slope * log_ghz + self.constant


K_HORIZONTAL = Curve(
    (
        (-5.33980, -0.10008, 1.13098),
        (-0.35351, 1.26970, 0.45400),
        (-0.23789, 0.86036, 0.15354),
        (-0.94158, 0.64552, 0.16817),
    ),
    -0.18961,
    0.71147,
)
K_VERTICAL = Curve(
    (
        (-3.80595, 0.56934, 0.81061),
        (-3.44965, -0.22911, 0.51059),
        (-0.39902, 0.73042, 0.11899),
        (0.50167, 1.07319, 0.27195),
    ),
    -0.16398,
    0.63297,
)
ALPHA_HORIZONTAL = Curve(
    (
        (-0.14318, 1.82442, -0.55187),
        (0.29591, 0.77564, 0.19822),
        (0.32177, 0.63773, 0.13164),
        (-5.37610, -0.96230, 1.47828),
        (16.1721, -3.29980, 3.43990),
    ),
    0.67849,
    -1.95537,
)
ALPHA_VERTICAL = Curve(
    (
        (-0.07771, 2.33840, -0.76284),
        (0.56727, 0.95545, 0.54039),
        (-0.20238, 1.14520, 0.26809),
        (-48.2991, 0.791669, 0.116226),
        (48.5833, 0.791459, 0.116479),
    ),
    -0.053739,
    0.83433,
)


def coefficients(
    frequency_ghz: float, elevation_deg: float, tilt_deg: float
) -> tuple[float, float]:
    """The k (dB/km at 1 mm/h) and alpha of a path and a polarisation.

    `tilt_deg` is the angle of the polarisation to the horizontal; 45 stands for circular.
    """
    log_ghz = log10(frequency_ghz)
    k_h, k_v = 10 ** K_HORIZONTAL.at(log_ghz), 10 ** K_VERTICAL.at(log_ghz)
    alpha_h, alpha_v = ALPHA_HORIZONTAL.at(log_ghz), ALPHA_VERTICAL.at(log_ghz)
    mix = cos(radians(elevation_deg)) ** 2 * cos(2 * radians(tilt_deg))
    k = (k_h + k_v + (k_h - k_v) * mix) / 2
    alpha = (k_h * alpha_h + k_v * alpha_v + (k_h * alpha_h - k_v * alpha_v) * mix) / (2 * k)
    return k, alpha
