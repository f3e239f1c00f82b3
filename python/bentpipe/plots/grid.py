"""A grid of coloured cells with their texts: what is better or worse than a reference, where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from bentpipe.plots.figure import Figure
from bentpipe.plots.marks import PIXELS_PER_LINE, finished
from bentpipe.plots.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

PIXELS_PER_ROW = 19
WORSE, SAME, BETTER = "#EE9A5E", "#F3F3F3", "#7DB8E0"
"""Colours that colour-blind readers can distinguish, with a contrast of 4.5 to their texts."""
INK = LIGHT[0]
SERIES = "cells"


@dataclass(frozen=True)
class Tile:
    """A cell: its score from -1 (worse) over 0 (the same) to 1 (better), and its text."""

    row: str
    column: str
    score: float
    text: str


def grid_figure(
    name: str, title: str, x: str, y: str, tiles: Sequence[Tile], notes: Sequence[str] = ()
) -> Figure:
    """Rows and columns in the order of the tiles. Colours have the same meaning in every grid."""
    import altair as alt

    schema = {"y": pl.String, "x": pl.String, "score": pl.Float64, "text": pl.String}
    rows = [(tile.row, tile.column, min(max(tile.score, -1), 1), tile.text) for tile in tiles]
    data = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        series=pl.lit(SERIES).cast(pl.Enum([SERIES]))
    )
    columns = data["x"].unique(maintain_order=True).to_list()
    lines = data["y"].unique(maintain_order=True).to_list()
    # Labels of two lines grow downwards, so they need the height of a line more.
    top = alt.Axis(
        orient="top",
        labelAngle=0,
        labelLimit=90,
        labelExpr="split(datum.label, ', ')",
        labelPadding=PIXELS_PER_LINE + 3,
        ticks=False,
        domain=False,
    )
    left = alt.Axis(labelLimit=240, ticks=False, domain=False)
    base = alt.Chart(alt.NamedData("points")).encode(
        x=alt.X("x:N", title=x or None, sort=columns, axis=top),
        y=alt.Y("y:N", title=y or None, sort=lines, axis=left),
    )
    scale = alt.Scale(domain=[-1, 0, 1], range=[WORSE, SAME, BETTER])
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=alt.Color("score:Q", scale=scale, legend=None),
        tooltip=[alt.Tooltip("y:N", title=y), alt.Tooltip("x:N", title=x), "text:N"],
    )
    # The same on a dark page, because the cells are light there too.
    texts = base.mark_text(fontSize=10, color=INK.lower()).encode(text="text:N")
    text = f"Grid of {len(lines)} rows and {len(columns)} columns: {title}. Blue is better."
    height = PIXELS_PER_ROW * max(len(lines), 3)
    drawing = finished(alt.layer(cells, texts), zoom=False, height=height)
    return Figure(name, title, text, drawing, data, [SERIES], False, tuple(notes))
