"""The figure of all users: runs, studies, comparisons, reproductions and report pages.

A figure is an Altair chart without data, and a table of points. Pages insert the table themselves
and select series with the parameter `shown`. Files and notebooks get `Figure.chart`, which has all.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any

from bentpipe.errors import InputError
from bentpipe.numbers import typeset
from bentpipe.plots.looks import dressed, usual
from bentpipe.plots.theme import DASHES, WIDTH, on_white

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from bentpipe.plots.looks import Look

FORMATS = ("svg", "pdf", "png")
"""Formats of figures for papers."""
LARGEST = {"scale_factor": 20, "ppi": 1440}
"""Largest values of options that set the size of a picture: 20 pixels for each of the figure."""
WRITTEN = (*FORMATS, "html", "json")
"""All formats of figures."""

PIXELS = 2
"""Pixels of a PNG for each of the figure, in one direction."""

PAPER_WIDTHS = {1: 333, 2: 680}
"""Pixels of one and of two columns of a paper: 88 and 180 mm, as most journals have, at 96 dpi."""

PANELS_BESIDE = {1: 2, 2: 4}
"""Panels side by side in one and in two columns of a paper."""

PAPER_PANEL, CORRECTIONS = 110, 8
"""Pixels of the height of a panel in a paper, and the most drawings until its width is right."""

PAPER_HEIGHT, LEGEND_LINE = 200, 20
"""Pixels of the height of a figure in a paper, and of a line of its legend below."""

PIXELS_PER_LETTER = 6.5
"""Mean width of a letter of a label."""

PIXELS_PER_SYMBOL = 40
"""Width of a symbol of a legend, with the space around it and its label."""


@dataclass(frozen=True)
class Figure:
    """A figure with its table `data`, whose column `series` has the names in `series`.

    `chart` is the Altair chart for further changes. `save` writes files without network.
    """

    name: str
    title: str
    description: str
    drawing: Any = field(repr=False)
    """The chart without data: it refers to the data set `points`."""
    data: pl.DataFrame = field(repr=False)
    series: Sequence[str]
    hover: bool = False
    """True if the page searches the nearest point, because a line has thousands."""
    notes: Sequence[str] = field(default_factory=tuple)
    legend_width: int = WIDTH
    """Pixels of the lines of the legend."""
    over_time: bool = False
    """True if the x axis is the time of the run. Pages zoom all such figures together."""
    looks: Sequence[Look] = field(default_factory=tuple, repr=False)
    """The looks of the series on a page; without them, those of a figure that stands alone."""
    has_own_colours: bool = False
    """True if its colours have a meaning of their own, which no page changes."""

    kind = "figure"

    @property
    def specification(self) -> dict[str, Any]:
        """The Vega-Lite specification for pages: without data, colours and title."""
        specification: dict[str, Any] = self.drawing.to_dict()
        specification.pop("config", None)
        return self.in_looks(specification)

    def in_looks(self, specification: dict[str, Any]) -> dict[str, Any]:
        """The specification with the looks of the page, if the figure has some."""
        if not self.looks:
            return specification
        changed: dict[str, Any] = dressed(specification, self.series, self.looks)
        return changed

    @property
    def shown_looks(self) -> Sequence[Look]:
        """The looks of the series, as they are drawn."""
        return self.looks or usual(self.series)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The table by columns for pages. Its `series` is an index into the names.

        Numbers have six digits, which is more than a screen shows, so that pages are small.
        """
        import polars.selectors as cs

        rounded = self.data.with_columns(cs.float().round_sig_figs(6))
        columns: dict[str, list[Any]] = rounded.to_dict(as_series=False)
        columns["series"] = self.data["series"].to_physical().to_list()
        return columns

    @property
    def chart(self) -> Any:
        """The Altair chart with data, title and style."""
        config = on_white()
        config["legend"] = config["legend"] | {
            "columns": legend_columns(self.series, self.legend_width)
        }
        filled = self.drawing.properties(
            title=typeset(self.title), datasets={"points": self.data.to_dicts()}
        )
        return filled.configure(**config)

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification of `chart`."""
        specification: dict[str, Any] = self.chart.to_dict()
        return self.in_looks(specification)

    def properties(self, **changes: Any) -> Figure:
        """The figure with another `title`, `width`, `height` or other property of Altair charts."""
        title = changes.pop("title", self.title)
        drawing = self.drawing.properties(**changes) if changes else self.drawing
        return replace(self, title=title, drawing=drawing)

    def renamed(self, name: str, title: str) -> Figure:
        """The figure with another name and title."""
        return replace(self, name=name, title=title)

    def for_paper(self, columns: int = 1) -> Figure:
        """The figure as wide as one or two columns of a paper: 88 or 180 mm with its axes.

        Lines differ by dashes as well as by colours, for print in black and white.
        `InputError` for other numbers of columns.
        """
        if columns not in PAPER_WIDTHS:
            raise InputError.of_value("columns", "1 or 2", repr(columns))
        if self.is_in_panels:
            return self.panels_for_paper(columns)
        fitting = {"type": "fit", "contains": "padding"}
        width = PAPER_WIDTHS[columns]
        lines = math.ceil(len(self.series) / legend_columns(self.series, width))
        height = PAPER_HEIGHT + LEGEND_LINE * lines
        drawing = dashed(self.drawing, self.series).properties(width=width, height=height)
        fitted = drawing.properties(autosize=fitting)
        return replace(self, title="", drawing=fitted, legend_width=width)

    @property
    def svg(self) -> str:
        """The figure as SVG, with exponents as raised digits that every font has."""
        import vl_convert

        return raised(vl_convert.vegalite_to_svg(self.to_dict()))

    @property
    def is_in_panels(self) -> bool:
        """True if the figure has several panels."""
        import altair as alt

        return isinstance(self.drawing, alt.FacetChart)

    def panels_for_paper(self, columns: int) -> Figure:
        """The figure with as many panels side by side as fit the paper's columns.

        Vega fits no panels to a width, so it is drawn and then corrected.
        """
        width = PAPER_WIDTHS[columns]
        beside = min(self.data["panel"].n_unique(), PANELS_BESIDE[columns])
        figure, inner = self, width // beside - 2 * LEGEND_LINE
        for _ in range(CORRECTIONS):
            drawing = dashed(self.drawing, self.series).properties(columns=beside)
            drawing.spec = drawing.spec.properties(width=inner, height=PAPER_PANEL)
            figure = replace(self, title="", drawing=drawing, legend_width=width)
            drawn = re.search(r'width="([\d.]+)"', figure.svg)
            short = width - float(drawn[1] if drawn else width)
            # Vega draws whole pixels.
            if abs(short) <= 1:
                break
            inner = math.floor(inner + short / beside)
        return figure

    def save(self, fp: str | Path | IO[Any], *arguments: Any, **options: Any) -> None:
        """Write `fp`, a `.svg`, `.png`, `.pdf`, `.html` or `.json` file. Options as in Altair.

        HTML contains its scripts, so that it needs no network, now or later. `InputError` for
        another format, and for a `scale_factor` or `ppi` that no picture can have.
        """
        check_options(fp, *arguments, **options)
        ending = str(fp).rpartition(".")[2] if isinstance(fp, str | PurePath) else ""
        if ending in FORMATS and not arguments and not options:
            Path(str(fp)).write_bytes(in_format(self.svg, ending))
            return
        if "html" in (*arguments, options.get("format"), str(fp).rpartition(".")[2]):
            options = {"inline": True, **options}
        self.chart.save(fp, *arguments, **options)

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        """A picture for notebooks, because Altair's own renderer would download scripts.

        A renderer chosen with `altair.renderers.enable` has priority.
        """
        import altair as alt

        if alt.renderers.active != "default":
            return self.chart._repr_mimebundle_(*arguments, **options)
        return {"image/svg+xml": self.svg}


def check_options(fp: Any, *arguments: Any, **options: Any) -> None:
    """Reject formats and sizes that a figure cannot be saved with; arguments as in Altair."""
    positions = ("format", "override_data_transformer", "scale_factor")
    options |= dict(zip(positions, arguments, strict=False))
    chosen = options.get("format")
    named = chosen if chosen is not None else str(fp).rpartition(".")[2]
    if (chosen is not None or isinstance(fp, str | PurePath)) and named not in WRITTEN:
        expected = f"a figure as {', '.join(WRITTEN)}"
        raise InputError.of_value("fp" if chosen is None else "format", expected, repr(named))
    for name, largest in LARGEST.items():
        size = options.get(name)
        if size is not None and not (isinstance(size, int | float) and 0 < size <= largest):
            raise InputError.of_value(name, f"a number above 0 and at most {largest}", repr(size))


SUPERSCRIPTS = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
RISE = 3.5
"""Pixels by which an exponent is above its line."""
PLAIN = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "\N{MINUS SIGN}0123456789")


def raised(svg: str) -> str:
    """The SVG with raised digits instead of superscript letters, which many fonts lack."""

    def text(found: re.Match[str]) -> str:
        first, *rest = re.split(f"({SUPERSCRIPTS.pattern})", found[1])
        for above, after in zip(rest[::2], rest[1::2], strict=True):
            first += f'<tspan dy="-{RISE}" font-size="8px">{above.translate(PLAIN)}</tspan>'
            first += f'<tspan dy="{RISE}">{after}</tspan>' if after else ""
        return f">{first}</text>"

    return re.sub(r">([^<>]+)</text>", text, svg)


def in_format(svg: str, ending: str) -> bytes:
    """The drawing as a file of one of `FORMATS`."""
    import vl_convert

    if ending == "svg":
        return svg.encode()
    made: bytes = (
        vl_convert.svg_to_pdf(svg) if ending == "pdf" else vl_convert.svg_to_png(svg, scale=PIXELS)
    )
    return made


def dashed(drawing: Any, series: Sequence[str], shaped: bool = False) -> Any:
    """The drawing with another dash for each of its lines, unless the series have shapes."""
    import altair as alt

    if isinstance(drawing, alt.FacetChart):
        facets = drawing.copy()
        facets.spec = dashed(drawing.spec, series, shaped)
        return facets
    if isinstance(drawing, alt.LayerChart):
        changed = drawing.copy()
        shaped = any("shape" in layer.to_dict(validate=False).get("encoding", {})
                     for layer in drawing.layer)  # fmt: skip
        changed.layer = [dashed(layer, series, shaped) for layer in drawing.layer]
        return changed
    mark = getattr(drawing, "mark", None)
    if not isinstance(mark, alt.MarkDef) or mark.type != "line" or shaped or len(series) < 2:
        return drawing
    dashes = [DASHES[number % len(DASHES)] for number in range(len(series))]
    scale = alt.Scale(domain=list(series), range=dashes)
    legend = alt.Legend(symbolType="stroke", symbolSize=300)
    dash = alt.StrokeDash("series:N", scale=scale, legend=legend)
    coloured = drawing.encoding.color.copy()
    coloured.legend = legend
    return drawing.encode(color=coloured, strokeDash=dash)


def legend_columns(series: Sequence[str], width: int = WIDTH) -> int:
    """The number of names side by side that fit below a figure."""
    longest = max(map(len, series), default=0) * PIXELS_PER_LETTER + PIXELS_PER_SYMBOL
    return min(max(int(width // longest), 1), max(len(series), 1))


def save_figures(figures: Sequence[Figure], folder: Path) -> None:
    """Write each figure as SVG, PDF and PNG under its name.

    The figure is drawn once, as SVG, which takes longest; the others are made of that.
    """
    for figure in figures:
        drawn = figure.svg
        for ending in FORMATS:
            (folder / f"{figure.name}.{ending}").write_bytes(in_format(drawn, ending))
