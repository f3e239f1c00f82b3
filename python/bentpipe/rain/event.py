"""A rain event on demand, with a given peak and duration. This method is our own.

A stationary series of 15 minutes is mostly dry, and an experiment could wait for years for the
event that it needs. So X of a fitted method goes from the threshold of rain to the level of the
peak and back, with a bridge for each side (see `bentpipe.rain.bridge`). The fall is a reversed
rise, because X has the same law in both directions. We found no Recommendation for such events, and
compared with no measured event.
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
"""Maximum number of steps. Each step is drawn on its own, which takes some seconds in total."""

NARROWEST = 1e-6
"""Minimum distance of a peak from the threshold in X. A closer level would be lost in rounding."""


def event(
    method: Synthesis,
    peak_db: float,
    duration_s: float,
    step_s: float = 1.0,
    *,
    peak_at_s: float | None = None,
    seed: int,
) -> Series:
    """An event that starts and ends at 0 dB, with rain in between and the only maximum `peak_db`.

    `peak_db` is from 0.01 to 200 dB. `peak_at_s` is rounded to a sample, by default the middle one.
    `RainError` if the duration is not a whole number of at least 2 steps, or if the peak is outside
    the event or the range of the method.
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
    # The requested peak is exact; the levels have rounding errors.
    attenuation = np.minimum(attenuation, peak_db)
    attenuation[[0, rise, steps]] = 0.0, peak_db, 0.0
    return Series(times(steps, step_s), attenuation, method.name)
