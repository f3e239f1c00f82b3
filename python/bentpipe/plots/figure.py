"""The figure of all users: runs, studies, comparisons, reproductions and report pages.

A figure is an Altair chart without data, and a table of points. Pages insert the table themselves
and select series with the parameter `shown`. Files and notebooks get `Figure.chart`, which has all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

from bentpipe.errors import InputError
from bentpipe.plots.theme import DASHES, WIDTH, on_white

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

FORMATS = ("svg", "pdf", "png")
"""Formats of figures for papers."""

PIXELS = 2
"""Pixels of a PNG for each of the figure, in one direction."""

PAPER_WIDTHS = {1: 333, 2: 680}
"""Pixels of one and of two columns of a paper: 88 and 180 mm, as most journals have, at 96 dpi."""

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

    kind = "figure"

    @property
    def specification(self) -> dict[str, Any]:
        """The Vega-Lite specification for pages: without data, colours and title."""
        specification: dict[str, Any] = self.drawing.to_dict()
        specification.pop("config", None)
        return specification

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
            title=self.title, datasets={"points": self.data.to_dicts()}
        )
        return filled.configure(**config)

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification of `chart`."""
        specification: dict[str, Any] = self.chart.to_dict()
        return specification

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
        fitting = {"type": "fit", "contains": "padding"}
        width = PAPER_WIDTHS[columns]
        lines = math.ceil(len(self.series) / legend_columns(self.series, width))
        height = PAPER_HEIGHT + LEGEND_LINE * lines
        drawing = dashed(self.drawing, self.series).properties(width=width, height=height)
        fitted = drawing.properties(autosize=fitting)
        return replace(self, title="", drawing=fitted, legend_width=width)

    def save(self, fp: str | Path | IO[Any], *arguments: Any, **options: Any) -> None:
        """Write `fp`, a `.svg`, `.png`, `.pdf`, `.html` or `.json` file. Options as in Altair.

        HTML contains its scripts, so that it needs no network, now or later.
        """
        if "html" in (*arguments, options.get("format"), str(fp).rpartition(".")[2]):
            options = {"inline": True, **options}
        self.chart.save(fp, *arguments, **options)

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        """A picture for notebooks, because Altair's own renderer would download scripts.

        A renderer chosen with `altair.renderers.enable` has priority.
        """
        import altair as alt
        import vl_convert

        if alt.renderers.active != "default":
            return self.chart._repr_mimebundle_(*arguments, **options)
        return {"image/svg+xml": vl_convert.vegalite_to_svg(self.to_dict())}


def dashed(drawing: Any, series: Sequence[str], shaped: bool = False) -> Any:
    """The drawing with another dash for each of its lines, unless the series have shapes."""
    import altair as alt

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
    import vl_convert

    for figure in figures:
        svg: str = vl_convert.vegalite_to_svg(figure.to_dict())
        drawn = {
            "svg": svg.encode(),
            "pdf": vl_convert.svg_to_pdf(svg),
            "png": vl_convert.svg_to_png(svg, scale=PIXELS),
        }
        for ending in FORMATS:
            (folder / f"{figure.name}.{ending}").write_bytes(drawn[ending])
