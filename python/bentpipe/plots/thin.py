"""Reduction of the points of a line without a visible change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

POINTS = 1600
"""Number of points: four for each two pixels of width."""


def thin(xs: Sequence[float], ys: Sequence[float], points: int = POINTS) -> NDArray[np.intp]:
    """Indices of the points to draw: the first, last, lowest and highest of each interval of x.

    A line through them covers the same pixels. A line through every n-th point would lose peaks.
    `xs` must increase. All indices are returned if there are at most `points`.

    Source: U. Jugel and others, "M4: a visualization-oriented time series data aggregation", VLDB
    2014.
    """
    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if len(x) <= points:
        return np.arange(len(x))
    borders = np.searchsorted(x, np.linspace(x[0], x[-1], max(points // 4, 1) + 1)[1:-1])
    parts = [part for part in np.split(np.arange(len(x)), borders) if len(part)]
    kept = [(p[0], p[-1], p[y[p].argmin()], p[y[p].argmax()]) for p in parts]
    return np.unique(np.array(kept, dtype=np.intp))
