"""A rain event on demand, with a given peak and duration. This method is ours.

A stationary series of 15 minutes is mostly dry, and the event that an experiment needs may be years
away. So X of a fitted method is led from the threshold of rain to the level of the peak and back,
a bridge for each side (see `bentpipe.rain.bridge`); the fall is a rise read backwards, as X has the
same law in both directions. No Recommendation was found that says how, and no measured event was
compared.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import RainError
from bentpipe.rain.bridge import bridge
from bentpipe.rain.gaussian import generator
from bentpipe.rain.series import Series, nanoseconds, steps_in, times
from bentpipe.rain.site import within
from bentpipe.rain.synthesis import BETA

if TYPE_CHECKING:
    from bentpipe.rain.synthesis import Synthesis

MOST_STEPS = 200_000
"""Each step is drawn on its own; so many take some seconds."""

NARROWEST = 1e-6
"""Closer to the threshold in X, the level of a peak would drown in rounding."""


def event(
    method: Synthesis,
    peak_db: float,
    duration_s: float,
    step_s: float = 1.0,
    *,
    peak_at_s: float | None = None,
    seed: int,
) -> Series:
    """An event that starts and ends at 0 dB and rains between, with its only maximum `peak_db`.

    `peak_db` is from 0.01 to 200 dB; `peak_at_s` is rounded to a sample, by default the middle one.
    `RainError` unless the duration is a whole number of steps, at least 2, or when the peak lies
    outside of it or of what the method gives.
    """
    within("peak_db", peak_db, 0.01, 200.0)
    steps = steps_in(duration_s, step_s, fewest=2)
    if steps > MOST_STEPS:
        raise RainError("duration_s", f"at most {MOST_STEPS} steps for an event", steps)
    rise = steps // 2
    if peak_at_s is not None:
        rise = round(nanoseconds("peak_at_s", peak_at_s) / nanoseconds("step_s", step_s))
        if not 0 < rise < steps:
            expected = f"a time within the event of {duration_s:g} s, a step from its ends"
            raise RainError("peak_at_s", expected, f"{peak_at_s:g} s")
    low, high = method.threshold, method.level(peak_db)
    if not (isfinite(high) and high - low > NARROWEST):
        raise RainError("peak_db", "an attenuation that rain has at this site", peak_db)

    random = generator(seed)
    levels = low, high
    there = bridge(random, BETA * step_s, rise, ends=levels, limits=levels)
    back = bridge(random, BETA * step_s, steps - rise, ends=levels, limits=levels)[::-1]
    attenuation = method.attenuation(np.concatenate((there, back[1:])))
    # What is asked for is exact; the levels are so but for rounding.
    attenuation = np.minimum(attenuation, peak_db)
    attenuation[[0, rise, steps]] = 0.0, peak_db, 0.0
    return Series(times(steps, step_s), attenuation)
