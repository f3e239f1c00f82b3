"""A page as self-contained HTML."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from bentpipe.plots.theme import DASHES, theme

if TYPE_CHECKING:
    from bentpipe.plots import Figure
    from bentpipe.report.page import Page

GENERATOR = '<meta name="generator" content="bentpipe report">'
"""Element in the head of every report, by which a report is recognised."""


EVERYTHING: Any = None
"""The snippet for which vl-convert bundles all of Vega, though its stub has no such."""


def html(page: Page) -> str:
    """The HTML of the page. Equal pages give equal text, because it has no date."""
    import jinja2
    import vl_convert

    folder = resources.files("bentpipe.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    config, colours = in_variables(theme(dark=False), theme(dark=True))
    figures = {figure.name: for_script(figure, config) for figure in page.figures}
    return environment.get_template("page.html").render(
        page=page,
        generator=GENERATOR,
        colours=colours,
        figures=embedded(figures),
        themes=embedded({"page": page_config(config), "file": theme(dark=False)}),
        # Include the libraries only if there are figures.
        libraries=vl_convert.javascript_bundle(EVERYTHING) if figures else "",
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
    )


def for_script(figure: Figure, config: dict[str, Any]) -> dict[str, Any]:
    """The data of a figure for the script of the page."""
    palette = config["range"]["category"]
    return {
        "title": figure.title,
        "specification": figure.specification,
        "data": figure.columns,
        "series": figure.series,
        "colours": [palette[n % len(palette)] for n in range(len(figure.series))],
        "dashes": [DASHES[n // len(palette)] for n in range(len(figure.series))],
        "hover": figure.hover,
        "over_time": figure.over_time,
    }


def embedded(content: object) -> str:
    """JSON that is safe inside a script element, for any names in it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def page_config(config: dict[str, Any]) -> dict[str, Any]:
    """Hide Vega's legends. The page has its own, for narrow screens and keyboards."""
    return config | {"legend": {"disable": True}, "autosize": {"type": "fit-x", "resize": True}}


def in_variables(
    light: dict[str, Any], dark: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """One config in which every colour that differs is a CSS variable, and their two values.

    So figures follow the theme of the page and are light on paper, without drawing them again.
    """
    colours: dict[str, tuple[str, str]] = {}

    def merged(a: Any, b: Any) -> Any:
        if isinstance(a, dict):
            return {key: merged(a[key], b[key]) for key in a}
        if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            return [merged(*pair) for pair in zip(a, b, strict=True)]
        if a == b:
            return a
        known = {pair: name for name, pair in colours.items()}
        name = known.get((a, b)) or f"--figure-{len(colours)}"
        colours[name] = (a, b)
        return f"var({name})"

    return merged(light, dark), colours
