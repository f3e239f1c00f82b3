"""Domains: the values that a quantity can have, which decide the interval of its mean.

The columns with bounds are declared here and nowhere else. Not every quantity with the unit 1 is
bounded by 1: `burst_ratio`, `reward` and `ack_control.ratio` are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bentpipe.limits import LIMITS

Range = tuple[float, float]
"""The smallest and the largest value of a quantity."""


@dataclass(frozen=True)
class Domain:
    """The values that a quantity can have in a run.

    `counts`: they are numbers of events. `successes`: a single flow or session has the value 1 or
    0, so that a mean over runs is a share of successes.
    """

    low: float = -math.inf
    high: float = math.inf
    counts: bool = False
    successes: bool = False

    @property
    def is_bounded(self) -> bool:
        """True if both the smallest and the largest value are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def width(self) -> float:
        """The largest absolute difference of two values."""
        return self.high - self.low


ANY = Domain()
"""No value is excluded."""
COUNTS = Domain(counts=True)
"""Numbers of events."""

SHARE: Range = (0.0, 1.0)
SUCCESSES = frozenset({"completed", "aborted"})
"""Columns with 1 or 0 for each flow or session."""
INDICES = frozenset({"jain_index", "jain"})
"""Columns with Jain's index of n values, which is from 1 / n to 1."""
RANGES: dict[str, Range] = {
    **dict.fromkeys(("utilisation", "airtime", "padding", "loss", "stall_ratio"), SHARE),
    **dict.fromkeys(("above_100ms", "above_150ms", "above_300ms", "above_deadline"), SHARE),
    **dict.fromkeys((*SUCCESSES, *INDICES, *LIMITS), SHARE),
    **dict.fromkeys(("rating", "rating_without_echo"), (0.0, 100.0)),
    **dict.fromkeys(("mos", "mos_without_echo"), (1.0, 4.5)),
}
"""The smallest and the largest value of each bounded column. Ratings and MOS: ITU-T G.107."""


def domain(column: str, aggregate: str, *, counts: bool, number: int = 0) -> Domain:
    """The domain of an aggregate of the values of a column.

    `counts` says that it is a number of events. `number` is the largest number of values that are
    aggregated, or 0 if it is not known. Then a sum has no upper bound, and the lower bound of
    Jain's index is 0.
    """
    if counts:
        return COUNTS
    if aggregate == "jain" or column in INDICES:
        # Each value of a column of indices is of as many flows; other aggregates stay within.
        return Domain(1 / number if number else 0.0, 1.0)
    found = RANGES.get(column)
    if found is None:
        return ANY
    low, high = found
    if aggregate == "sum":
        return Domain(min(low, 0.0), number * high) if number else ANY
    return Domain(low, high, successes=column in SUCCESSES)
