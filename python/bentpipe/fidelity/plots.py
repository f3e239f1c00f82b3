"""Curves of cwnd on both backends, one panel for each variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.fidelity.tables import short
from bentpipe.plots import Figure, line_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.fidelity.curves import Curve
    from bentpipe.fidelity.experiment import Cell

KERNEL = "kernel"


def figure(cells: Sequence[Cell], title: str) -> Figure:
    """The mean cwnd of each variant over time, in kB."""
    curves = [
        _points(short(cell.parameters), name, curve)
        for cell in cells
        for name, curve in (
            (KERNEL, cell.kernel.cwnd),
            *((comparison.model, comparison.runs.cwnd) for comparison in cell.comparisons),
        )
    ]
    return line_figure("fidelity", title, "time (s)", "cwnd (kB)", pl.concat(curves))


def _points(panel: str, backend: str, curve: Curve) -> pl.DataFrame:
    return pl.DataFrame({"x": curve.time_s, "y": curve.cwnd_bytes}).select(
        panel=pl.lit(panel),
        series=pl.lit(backend),
        x=pl.col("x").cast(pl.Float64),
        y=pl.col("y").cast(pl.Float64) / 1000,
    )
