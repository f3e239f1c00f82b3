"""A page as self-contained HTML."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import typeset
from bentpipe.plots.looks import ranges
from bentpipe.plots.theme import PAIRS, theme
from bentpipe.report.vega import vega

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from bentpipe.plots import Figure
    from bentpipe.report.page import Page

GENERATOR = '<meta name="generator" content="bentpipe report">'
"""Element in the head of every report, by which a report is recognised."""


CODE = re.compile(r"`([^`]+)`")
"""Commands and keys in sentences."""


def html(page: Page) -> str:
    """The HTML of the page. Equal pages give equal text, because it has no date."""
    import jinja2

    folder = resources.files("bentpipe.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["typeset"] = prose
    config, colours = in_variables(theme(dark=False), theme(dark=True))
    colours |= {variable(light): (light, dark) for light, dark in PAIRS.items()}
    figures = {figure.name: for_script(figure) for figure in page.figures}
    return environment.get_template("page.html").render(
        page=page,
        generator=GENERATOR,
        colours=colours,
        figures=embedded(figures),
        themes=embedded(
            {
                "page": page_config(config),
                "file": theme(dark=False),
                "light": {name: pair[0] for name, pair in colours.items()},
            }
        ),
        # Include the libraries only if there are figures.
        libraries=vega() if figures else "",
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
    )


def prose(text: str) -> Markup:
    """Text of a page: with typographic signs, and what is between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(CODE.sub(r"<code>\1</code>", str(escape(typeset(text)))))


def for_script(figure: Figure) -> dict[str, Any]:
    """The data of a figure for the script of the page."""
    specification = figure.specification
    looks = scales_of(specification, figure.series) or ranges(figure.shown_looks)
    return {
        "title": figure.title,
        "specification": in_pairs(specification),
        "data": figure.columns,
        "series": figure.series,
        "colours": in_pairs(looks["color"]),
        "dashes": looks.get("strokeDash") or [[1, 0]] * len(figure.series),
        "shapes": looks.get("shape", []),
        "hover": figure.hover,
        "over_time": figure.over_time,
    }


def scales_of(node: Any, series: Sequence[str]) -> dict[str, Any]:
    """The ranges of the scales of series in a specification, by the name of their channel."""
    found: dict[str, Any] = {}
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if key in ("color", "shape", "strokeDash") and isinstance(value, dict):
            scale = value.get("scale") or {}
            if scale.get("domain") == list(series) and "range" in scale:
                found.setdefault(str(key), scale["range"])
        elif isinstance(value, dict | list):
            found = scales_of(value, series) | found
    return found


def in_pairs(node: Any) -> Any:
    """The specification with variables for the colours that differ on a dark page.

    Scales of numbers keep their colours, because a variable has no value to interpolate.
    """
    if isinstance(node, str):
        return f"var({variable(node)})" if node in PAIRS else node
    if isinstance(node, list):
        return [in_pairs(each) for each in node]
    if not isinstance(node, dict):
        return node
    numbers = isinstance(node.get("domain"), list) and all(
        isinstance(end, int | float) for end in node["domain"]
    )
    return {
        key: value if numbers and key == "range" else in_pairs(value) for key, value in node.items()
    }


def variable(colour: str) -> str:
    """The name of the variable of a colour of marks."""
    return f"--mark-{colour[1:].lower()}"


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
