"""A page as HTML that needs nothing but a browser."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from bentpipe.plots.theme import DASHES, theme

if TYPE_CHECKING:
    from bentpipe.plots.vega import Figure
    from bentpipe.report.page import Page

GENERATOR = '<meta name="generator" content="bentpipe report">'
"""Stands at the head of every page of ours, so that it is known for one."""


EVERYTHING: Any = None
"""The snippet for which vl-convert bundles all of Vega, though its stub has no such."""


def html(page: Page) -> str:
    """The whole page. Equal pages give equal text: it holds no date."""
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
        # The libraries only when there is something to draw.
        libraries=vl_convert.javascript_bundle(EVERYTHING) if figures else "",
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
    )


def for_script(figure: Figure, config: dict[str, Any]) -> dict[str, Any]:
    """What the page's script needs of a figure."""
    palette = config["range"]["category"]
    return {
        "title": figure.title,
        "specification": figure.specification,
        "data": figure.data,
        "series": figure.series,
        "colours": [palette[n % len(palette)] for n in range(len(figure.series))],
        "dashes": [DASHES[n // len(palette)] for n in range(len(figure.series))],
        "hover": figure.hover,
    }


def embedded(content: object) -> str:
    """JSON that can stand in a script element, whatever names it holds."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def page_config(config: dict[str, Any]) -> dict[str, Any]:
    """The page has legends of its own, which fit narrow screens and can be used by keyboard."""
    return config | {"legend": {"disable": True}, "autosize": {"type": "fit-x", "resize": True}}


def in_variables(
    light: dict[str, Any], dark: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """One config in which every colour that differs is a CSS variable, and their two values.

    So figures change with the page and are light on paper, without being drawn again.
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
