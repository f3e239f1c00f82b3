"""How figures look: a palette that colour-blind readers can tell apart, on light and on dark.

The colours are those of Okabe and Ito, "Color Universal Design" (2008). Their order puts first what
contrasts with white and with black; yellow, which white swallows, comes late.
"""

from __future__ import annotations

from typing import Any

OKABE_ITO = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#E69F00",  # orange
    "#56B4E9",  # sky blue
    "#F0E442",  # yellow
    "#000000",  # black
)

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
"""With more series than colours, the colours come again with the next of these."""


LIGHT = ("#1b1f24", "#6a737d", "#e3e6ea")
DARK = ("#e6e8eb", "#9aa4b2", "#343b46")
"""Text, lines beside it, and the grid."""


def theme(dark: bool) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification; the background is left to the page."""
    ink, faint, grid = DARK if dark else LIGHT
    palette = list(OKABE_ITO)
    if dark:
        palette[-1] = ink  # black is not to be seen on black
    return {
        "background": None,
        "font": "sans-serif",
        "range": {"category": palette},
        "view": {"stroke": None},
        "title": {
            "color": ink,
            "anchor": "start",
            "fontSize": 14,
            "fontWeight": 600,
            "subtitleColor": faint,
        },
        "axis": {
            "labelColor": ink,
            "titleColor": ink,
            "titleFontWeight": 500,
            "titlePadding": 8,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "gridColor": grid,
            "domainColor": faint,
            "tickColor": faint,
        },
        "legend": {
            "orient": "bottom",
            "direction": "horizontal",
            "columns": 3,
            "labelColor": ink,
            "labelLimit": 400,
            "symbolStrokeWidth": 2.5,
            "title": None,
        },
        "rule": {"color": ink},
    }
