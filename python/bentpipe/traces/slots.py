"""Slots of 15 s in a series: where their boundary is, and whether there are any.

Starlink reconfigures its links at the seconds 12, 27, 42 and 57 of each minute in UTC (HeroHFM/
picoquic_leo, clarkzjw/LEOViz, SpaceNetLab/LeoCC). Values that jump at a boundary vary less within
slots than within windows of the same length that begin at another time.

The strength of a boundary is the share of the variance that the means of the slots explain (eta
squared). It is high for every series that varies slowly. The test for slots therefore does not ask
for a high share, but for one offset that is better than the others: without slots, all offsets of a
period are alike, so the offsets of each period may be turned at random. The p value is the share of
such permutations in which the best offset is as good as in the measurement.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PERIOD_S = 15
"""Length of a slot, and number of offsets, one for each second."""
LEAST_PERIODS = 8
"""Complete periods that a test needs: two minutes."""
PERMUTATIONS = 1999
SIGNIFICANCE = 0.01
"""Slots are reported if the p value is at most this."""
SEED = 1
LONGEST_SPACING_S = 3.0
"""Median time between values, at most. A slot needs some of them."""


@dataclass(frozen=True)
class Slots:
    """The boundary between slots of a series."""

    found: bool
    """True if the p value is at most 0.01."""
    offset_s: int
    """Second of the best boundary, from 0 to 14, after a full minute or after the first value."""
    strength: float
    """Share of the variance that the means of slots with this boundary explain."""
    strengths: tuple[float, ...]
    """The same for each offset from 0 to 14 s."""
    p: float
    """P value of the permutation test."""
    periods: int
    """Complete periods of 15 s that the test uses."""

    def to_dict(self) -> dict[str, Any]:
        """Its attributes as data."""
        return asdict(self)


def find(t_s: Floats, values: Floats) -> Slots | str:
    """Find slots in values at increasing times, or return the reason why there is no test.

    Times count from a full minute, or from any other time whose offset is wanted.
    """
    present = np.isfinite(values)
    t_s, values = t_s[present], values[present]
    if len(t_s) < 2:
        return f"the series has {'1 value' if len(t_s) else 'no values'}, and the test needs 2"
    if np.median(np.diff(t_s)) > LONGEST_SPACING_S:
        return f"the median spacing of the values is above {LONGEST_SPACING_S:g} s"
    first = np.ceil(t_s[0])
    periods = int((t_s[-1] - first - PERIOD_S) // PERIOD_S)
    if periods < LEAST_PERIODS:
        return f"the series has {max(periods, 0)} complete periods of 15 s, and the test needs 8"
    if np.all(values == values[0]):
        return "all values are equal"
    strengths = [strength(t_s, values, offset) for offset in range(PERIOD_S)]
    # Row by row the periods, column by column the windows that begin in each of their seconds.
    begins = first + np.arange(periods * PERIOD_S)
    within = within_windows(t_s, values, begins).reshape(periods, PERIOD_S)
    best = int(np.argmax(strengths))
    return Slots(
        found=(p := p_value(within)) <= SIGNIFICANCE,
        offset_s=best,
        strength=strengths[best],
        strengths=tuple(strengths),
        p=p,
        periods=periods,
    )


def strength(t_s: Floats, values: Floats, offset: int) -> float:
    """Share of the variance that the means of slots explain which begin `offset` s after 15 n s."""
    _, slot, counts = np.unique((t_s - offset) // PERIOD_S, return_inverse=True, return_counts=True)
    means = np.bincount(slot, values) / counts
    around = values.mean()
    between = float((counts * (means - around) ** 2).sum())
    return between / float(((values - around) ** 2).sum())


def within_windows(t_s: Floats, values: Floats, begins: Floats) -> Floats:
    """Sums of squares around the mean of the window of 15 s that begins at each time."""
    centred = values - values.mean()
    zero = np.zeros(1)
    sums = np.concatenate([zero, np.cumsum(centred)])
    squares = np.concatenate([zero, np.cumsum(centred**2)])
    low, high = (np.searchsorted(t_s, edge) for edge in (begins, begins + PERIOD_S))
    count = np.maximum(high - low, 1)
    within: Floats = squares[high] - squares[low] - (sums[high] - sums[low]) ** 2 / count
    return within


def p_value(within: Floats) -> float:
    """P value of the best offset, against offsets that are turned in each period."""
    periods, offsets = within.shape
    random = np.random.default_rng(SEED)
    observed = within.sum(axis=0).min()
    columns = np.arange(offsets)
    as_good = 0
    for _ in range(PERMUTATIONS):
        turned = (columns + random.integers(offsets, size=(periods, 1))) % offsets
        as_good += int(np.take_along_axis(within, turned, axis=1).sum(axis=0).min() <= observed)
    return (1 + as_good) / (1 + PERMUTATIONS)
