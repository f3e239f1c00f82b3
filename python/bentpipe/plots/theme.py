"""Colours and style of all figures. It imports nothing, so that pages without Altair can use it."""

from __future__ import annotations

from typing import Any

PALETTE = (
    "#0072B2",  # blue
    "#AE8703",  # ochre
    "#019859",  # green
    "#B16B8F",  # mauve
    "#5B2613",  # brown
    "#0A84F6",  # bright blue
    "#1B1F24",  # black
    "#745701",  # olive
)
"""Colours of series on white, with a contrast of at least 3.

Readers with deuteranopia or protanopia can distinguish them. They follow M. Okabe, K. Ito, "Color
Universal Design" (2008), whose orange, sky blue and yellow are too faint for lines on white."""

DARK_PALETTE = (
    "#5DB1FF",
    "#E69F00",
    "#00C48C",
    "#F64FBA",
    "#F46D55",
    "#84D2F7",
    "#E6E8EB",
    "#F5E94A",
)
"""The same series on a dark page."""

BEST, SAME, WORSE = "#0072B2", "#5B6570", "#C24D00"
"""Colours of judgements on white. Green is not among them, so that it never means worse."""

FIXED = {BEST: "#5DB1FF", SAME: "#A3ADBA", WORSE: "#FF9A57"}
"""Colours with a fixed meaning on white, with those on a dark page."""

PAIRS = dict(zip(PALETTE, DARK_PALETTE, strict=True)) | FIXED
"""For each colour of a mark on white that on a dark page."""

BACKGROUNDS = {"light": ("#ffffff", "#f6f7f9"), "dark": ("#14171c", "#1d2128")}
"""Colours of a page and of its panels."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
"""With more lines than colours, the colours repeat with another dash."""

SHAPES = (
    "circle",
    "square",
    "cross",
    "diamond",
    "triangle-up",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
"""Shapes of points. With more series than colours, the colours repeat with another shape."""

WIDTH, HEIGHT = 640, 320
"""Pixels of the area between the axes."""


LIGHT = ("#1b1f24", "#6a737d", "#e3e6ea")
DARK = ("#e6e8eb", "#9aa4b2", "#343b46")
"""Colours of text, of axes, and of the grid."""


def theme(dark: bool) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification; the background is left to the page."""
    ink, faint, grid = DARK if dark else LIGHT
    palette = list(DARK_PALETTE if dark else PALETTE)
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
        "header": {"labelColor": ink, "titleColor": ink, "labelFontSize": 11},
        "rule": {"color": ink},
    }


def on_white() -> dict[str, Any]:
    """The `config` of figures that stand alone, in files and papers."""
    return theme(dark=False) | {"background": "white"}
