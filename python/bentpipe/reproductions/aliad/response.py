"""Rate of a logarithmic increase over loss rate and RTT: equations 8, 9 and 11 of the paper.

The equations are images in the paper; these are derived from its prose. One loss ends each epoch,
so that an epoch carries 1 / p segments (the deterministic model of response functions).
"""

from __future__ import annotations

import math

BETA = 0.5
"""Share of the window that a loss removes when the buffer holds as much as the path."""

REFERENCE_RTT = 0.075
EXPONENT = 1.0679


def rate(loss_rate: float, rtt: float, alpha: float) -> float:
    """Segments per second at an RTT in seconds: equation 9."""
    w_max = largest_window(loss_rate, alpha)
    return 1 / loss_rate / (rounds(w_max, alpha) * rtt)


def fitted_alpha(rtt: float) -> float:
    """Alpha for epochs of equal duration, fitted to equation 11 at the PER of figure 1."""
    return math.pow(2, math.pow(rtt / REFERENCE_RTT, EXPONENT))


def largest_window(loss_rate: float, alpha: float) -> float:
    """Wmax at which an epoch carries 1 / p segments, by bisection of its logarithm."""
    low, high = math.log(2 / BETA), math.log(10 / loss_rate)
    for _ in range(200):
        middle = (low + high) / 2
        if segments(math.exp(middle), alpha) < 1 / loss_rate:
            low = middle
        else:
            high = middle
    return math.exp(low)


def rounds(w_max: float, alpha: float) -> float:
    """Round trips from (1 - beta) Wmax to a gap of one segment: equation 8."""
    return math.log(BETA * w_max) / math.log(alpha)


def segments(w_max: float, alpha: float) -> float:
    """Segments sent in an epoch: the sum of equation 5 over its rounds."""
    return rounds(w_max, alpha) * w_max - (BETA * w_max - 1) * alpha / (alpha - 1)
