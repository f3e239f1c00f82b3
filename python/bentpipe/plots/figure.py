"""Line figures over time, in the theme, from one data frame."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import altair as alt
import polars as pl

from bentpipe.plots import theme
from bentpipe.plots.thin import thin

if TYPE_CHECKING:
    from pathlib import Path


class Figure(alt.Chart):
    """An Altair chart that is self-contained when saved. It needs no network, now or later."""

    def save(self, fp: str | Path | IO[Any], *arguments: Any, **options: Any) -> None:
        """Write `fp`, a `.svg`, `.png`, `.pdf`, `.html` or `.json` file. Options as in Altair."""
        if "html" in (*arguments, options.get("format"), str(fp).rpartition(".")[2]):
            options = {"inline": True, **options}
        super().save(fp, *arguments, **options)

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        """A picture for notebooks, because Altair's own renderer would download scripts.

        A renderer chosen with `altair.renderers.enable` has priority.
        """
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **options)
        import vl_convert

        return {"image/svg+xml": vl_convert.vegalite_to_svg(self.to_json())}


def lines(frame: pl.DataFrame, *, title: str, y: str, names: list[str], step: bool) -> Figure:
    """Lines of `frame`, which has `line` (an index into `names`), `t_s` and `y`.

    With `step`, a value is constant until the next one. Otherwise values are joined by lines.
    """
    shown = [name for number, name in enumerate(names) if number in set(frame["line"])]
    looks = [theme.colour_and_dash(number) for number in range(len(shown))]
    points = thinned(frame).with_columns(
        pl.col("line").replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    )
    legend = alt.Legend() if len(shown) > 1 else None
    colours, dashes = [colour for colour, _ in looks], [dash for _, dash in looks]
    chart = (
        Figure({"values": points.to_dicts()}, title=title)
        .mark_line(interpolate="step-after" if step else "linear", clip=True)
        .encode(
            x=alt.X("t_s:Q", title="time (s)"),
            y=alt.Y("y:Q", title=y),
            color=alt.Color(
                "line:N", sort=shown, legend=legend, scale=alt.Scale(domain=shown, range=colours)
            ),
            strokeDash=alt.StrokeDash(
                "line:N", sort=shown, legend=legend, scale=alt.Scale(domain=shown, range=dashes)
            ),
            tooltip=[
                alt.Tooltip("line:N", title="line"),
                alt.Tooltip("t_s:Q", title="time (s)", format=".3f"),
                alt.Tooltip("y:Q", title=y, format=".4~f"),
            ],
        )
        .properties(width=theme.WIDTH, height=theme.HEIGHT)
    )
    configured: Figure = chart.configure(**theme.on_white())
    return configured


def thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """The points of each line to show, in the order of time."""
    lines = frame.select("line", "t_s", "y").drop_nulls().sort("line", "t_s", maintain_order=True)
    kept = [
        line[thin(line["t_s"].to_list(), line["y"].to_list())]
        for line in lines.partition_by("line", maintain_order=True)
    ]
    return pl.concat(kept) if kept else lines
