"""The waterfall of a load: a bar for each object, from the time at which it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.plots.figure import Figure
from bentpipe.plots.marks import colour

if TYPE_CHECKING:
    from bentpipe.runs import Run

PHASES = {
    "before the request": ("known_s", "request_s"),
    "until the first byte": ("request_s", "first_byte_s"),
    "transfer": ("first_byte_s", "done_s"),
    "computing": ("done_s", "computed_s"),
}
"""Parts of a bar, with the columns of `page_objects` at which they begin and end."""
MOST_OBJECTS = 120
"""Maximum number of bars."""
BAR_PIXELS = 11


def waterfalls(run: Run) -> list[Figure]:
    """The waterfall of the first load of each flow with pages."""
    if "page_objects" not in run.recording.names:
        return []
    objects = run.recording.table("page_objects").filter(pl.col("page") == 0)
    flows = objects["flow"].unique(maintain_order=True).to_list()
    return [waterfall(flow, objects.filter(pl.col("flow") == flow)) for flow in flows]


def waterfall(flow: str, objects: pl.DataFrame) -> Figure:
    """The waterfall of a load of a flow."""
    import altair as alt

    shown = objects.filter(pl.col("known_s").is_not_nan()).sort("known_s", maintain_order=True)
    missing = objects.height - min(shown.height, MOST_OBJECTS)
    shown = shown.head(MOST_OBJECTS).with_row_index("place")
    data = bars(shown)
    names = list(PHASES)
    labels = shown["object"].to_list()
    row = alt.Y(
        "place:O",
        title=None,
        axis=alt.Axis(labelExpr=f"{labels!r}[datum.value]", labelLimit=170, ticks=False),
    )
    details = [
        alt.Tooltip("object:N"),
        alt.Tooltip("series:N", title="part"),
        alt.Tooltip("begin:Q", title="from (s)", format=".3f"),
        alt.Tooltip("end:Q", title="to (s)", format=".3f"),
    ]
    chart = (
        alt.Chart(alt.NamedData("points"))
        .mark_bar(height=BAR_PIXELS - 3)
        .encode(
            x=alt.X("begin:Q", title="time (s)"),
            x2="end:Q",
            y=row,
            tooltip=details,
            **colour(names),
        )
        .properties(height=BAR_PIXELS * max(shown.height, 1))
    )
    notes = ["First load of the flow. Objects in the order in which they were needed."]
    if missing:
        notes.append(
            f"{missing} objects were not needed before the end of the run, or are left out."
        )
    title = f"Waterfall of {flow}"
    text = f"Waterfall of a page: {shown.height} objects, each a bar from need to computation."
    return Figure(f"waterfall-{flow}", title, text, chart, data, names, False, notes)


def bars(shown: pl.DataFrame) -> pl.DataFrame:
    """The parts of all bars: place, object, begin, end and the part as `series`."""
    parts = [
        shown.select(
            "place",
            "object",
            begin=pl.col(begin),
            end=pl.col(end),
            series=pl.lit(part).cast(pl.Enum(list(PHASES))),
        )
        for part, (begin, end) in PHASES.items()
    ]
    every = pl.concat(parts)
    known = pl.col("begin").is_not_nan() & pl.col("end").is_not_nan()
    return every.filter(known & (pl.col("end") > pl.col("begin")))
