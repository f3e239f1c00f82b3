"""Fewer points for the same picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

POINTS = 1000
"""About as many as a figure has pixels across."""


def thin(xs: Sequence[float], ys: Sequence[float], points: int = POINTS) -> NDArray[np.intp]:
    """Indices of the points to draw: both ends, and the lowest and highest of each stretch of x.

    No peak and no dip is lost, which every n-th point would lose. `xs` must rise. All indices are
    given when there are no more than `points`.
    """
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if len(x) <= points:
        return np.arange(len(x))
    stretches = max(points // 2, 1)
    borders = np.searchsorted(x, np.linspace(x[0], x[-1], stretches + 1)[1:-1])
    kept = [0, len(x) - 1]
    for part in np.split(np.arange(len(x)), borders):
        if len(part):
            kept += [part[y[part].argmin()], part[y[part].argmax()]]
    return np.unique(np.array(kept, dtype=np.intp))
