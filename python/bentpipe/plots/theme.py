"""Colours and style of all figures. It imports nothing, so that pages without Altair can use it."""

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
"""Colours that colour-blind readers can distinguish.

Source: M. Okabe, K. Ito, "Color Universal Design" (2008); the order is ours."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
"""With more lines than colours, the colours repeat with another dash."""

WIDTH, HEIGHT = 640, 320
"""Pixels of the area between the axes."""


LIGHT = ("#1b1f24", "#6a737d", "#e3e6ea")
DARK = ("#e6e8eb", "#9aa4b2", "#343b46")
"""Colours of text, of axes, and of the grid."""


def theme(dark: bool) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification; the background is left to the page."""
    ink, faint, grid = DARK if dark else LIGHT
    palette = list(PALETTE)
    if dark:
        palette = [ink if colour == "#000000" else colour for colour in palette]  # black on black
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


def on_white() -> dict[str, Any]:
    """The `config` of figures that stand alone, in files and papers."""
    return theme(dark=False) | {"background": "white"}
