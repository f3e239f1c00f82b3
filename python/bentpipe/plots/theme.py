"""Colours and looks of every figure. Imports nothing, so that a page without Altair may use it."""

from __future__ import annotations

from typing import Any

PALETTE = (
    "#0072B2",  # blue
    "#E69F00",  # orange
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#D55E00",  # vermillion
    "#56B4E9",  # sky blue
    "#000000",  # black
    "#F0E442",  # yellow, last: it is faint on white
)
"""Colours that the colour-blind tell apart.

Source: M. Okabe, K. Ito, "Color Universal Design" (2008); the order is ours."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
"""With more lines than colours, the colours come again with another dash."""

WIDTH, HEIGHT = 640, 320
"""Pixels of the area between the axes."""

CONFIG: dict[str, Any] = {
    "font": "Helvetica, Arial, sans-serif",
    "range": {"category": list(PALETTE)},
    "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
    "axis": {"gridColor": "#E5E5E5", "domainColor": "#666666", "tickColor": "#666666"},
    "line": {"strokeWidth": 1.5},
    "legend": {"orient": "bottom", "labelLimit": 400, "columns": 4, "title": None},
    "title": {"anchor": "start", "fontWeight": "normal", "fontSize": 13},
}
"""Vega-Lite's `config` of a figure."""


def colour_and_dash(number: int) -> tuple[str, list[int]]:
    """What the line of this number, from 0, looks like."""
    repeats, colour = divmod(number, len(PALETTE))
    return PALETTE[colour], DASHES[repeats % len(DASHES)]
