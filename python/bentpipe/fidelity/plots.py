"""Curves of cwnd on both backends, one panel for each variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.fidelity.tables import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.fidelity.curves import Curve
    from bentpipe.fidelity.experiment import Cell

COLUMNS = 4
KERNEL = "kernel"


def chart(cells: Sequence[Cell], title: str) -> Any:
    """The mean cwnd of each variant over time, in kB."""
    import altair as alt
    import polars as pl

    points = []
    models: dict[str, None] = {KERNEL: None}
    for cell in cells:
        panel = short(cell.parameters)
        points += _points(panel, KERNEL, cell.kernel.cwnd)
        for comparison in cell.comparisons:
            models[comparison.model] = None
            points += _points(panel, comparison.model, comparison.runs.cwnd)
    panels = list(dict.fromkeys(short(cell.parameters) for cell in cells))
    lines = (
        alt.Chart(pl.DataFrame(points))
        .mark_line(strokeWidth=1.2)
        .encode(
            x=alt.X("time:Q", title="time (s)"),
            y=alt.Y("cwnd:Q", title="cwnd (kB)"),
            color=alt.Color(
                "backend:N",
                title=None,
                sort=list(models),
                scale=alt.Scale(domain=list(models), range=["#000000", "#E69F00", "#0072B2"]),
            ),
        )
        .properties(width=190, height=110)
    )
    return (
        lines.facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=COLUMNS)
        .resolve_scale(x="independent", y="independent")
        .properties(title=title)
        .configure_legend(orient="top", labelLimit=400)
    )


def _points(panel: str, backend: str, curve: Curve) -> list[dict[str, Any]]:
    step = max(len(curve.time_s) // 200, 1)
    pairs = zip(curve.time_s[::step], curve.cwnd_bytes[::step], strict=True)
    return [
        {"panel": panel, "backend": backend, "time": float(time), "cwnd": float(cwnd) / 1000}
        for time, cwnd in pairs
    ]
