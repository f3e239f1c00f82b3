"""The files of the page, and the colours that its figures have in common with reports."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

SUFFIXES = (".html", ".js", ".css")


@cache
def files() -> dict[str, Traversable]:
    """The files of the page by their names, with the style of reports and the charts."""
    folders = [
        resources.files("bentpipe.lab") / "page",
        resources.files("bentpipe.lab") / "page/uplot",
    ]
    found = {
        one.name: one
        for folder in folders
        for one in folder.iterdir()
        if one.name.endswith(SUFFIXES)
    }
    return found | {"style.css": resources.files("bentpipe.report") / "templates/style.css"}


def looks() -> dict[str, Any]:
    """Colours of lines, axes and grids on light and dark pages, and dashes."""
    from bentpipe.plots.theme import DARK, DARK_PALETTE, DASHES, LIGHT, PALETTE

    return {
        "palettes": {"light": PALETTE, "dark": DARK_PALETTE},
        "inks": {"light": LIGHT, "dark": DARK},
        "dashes": DASHES,
    }
