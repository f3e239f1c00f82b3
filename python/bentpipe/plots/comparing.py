"""One series of several runs in one figure: as lines, in panels, or as means with bands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from bentpipe.errors import InputError
from bentpipe.plots.lines import band_figure, line_figure
from bentpipe.plots.looks import MOST_SERIES
from bentpipe.plots.marks import MOST_COLOURS, check_distinguishable
from bentpipe.plots.runs import Plots
from bentpipe.plots.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.plots.figure import Figure
    from bentpipe.runs import Run

BAND_POINTS = 400
"""Times at which the runs of a band are compared."""

Series = Literal["cwnd", "rtt", "goodput", "queue"]


def plot(
    runs: Sequence[Run],
    series: Series = "cwnd",
    *,
    flow: str | None = None,
    labels: Sequence[str] | None = None,
    band: bool = False,
    panels: bool = False,
    end_s: float | None = None,
) -> Figure:
    """Lines of several runs over a common time axis: `bp.plot([a, b], "cwnd")`.

    `series` is the name of a figure of `run.plot`. With `flow`, only the lines of the flow of this
    name are drawn. The label of a run is what distinguishes it: its scenario, its seed or its
    controllers; `labels` are others.

    With `band`, runs that differ only in their seed are one line, their mean, in a band from the
    lowest to the highest of them. So are runs with equal `labels`. With `panels`, each label has a
    panel with the same scales. The axis of time is that of the samples, or ends at `end_s`.
    `InputError` for other series, for no runs, for both options, and for a `flow` that a run does
    not have, or with the series `queue`, which is that of links;
    `SeriesError` if a run has recorded no series.
    """
    if series not in get_args(Series):
        expected = ", ".join(get_args(Series))
        raise InputError.of_value("series", f"one of {expected}", repr(series))
    if not runs:
        raise InputError.of_value("runs", "at least one run", "none")
    if band and panels:
        raise InputError.of_value("panels", "one of band and panels", "both")
    if labels is None:
        labels = distinguishing(runs, seeds=not band)
    elif len(labels) != len(runs) or (len(set(labels)) != len(labels) and not band):
        raise InputError.of_value("labels", "a different label for each run", repr(list(labels)))
    if flow is not None and series == "queue":
        raise InputError.of_value("flow", "a series of flows: cwnd, rtt or goodput", "queue")
    figures: list[Figure] = [getattr(Plots(run, flow), series)() for run in runs]
    several = any(len(figure.series) > 1 for figure in figures)
    title = ", ".join(dict.fromkeys(run.name for run in runs))
    y = figures[0].description.removeprefix("Line figure: ").partition(" over ")[0]
    tables = []
    for number, (label, figure) in enumerate(zip(labels, figures, strict=True)):
        own = pl.col("series").cast(pl.String)
        named = pl.format("{} {}", pl.lit(label), own) if several else pl.lit(label)
        if panels:
            named = own if several else pl.lit(series)
        table = figure.data.with_columns(series=named, run=number)
        tables.append(table.with_columns(panel=pl.lit(label)) if panels else table)
    points = pl.concat(tables)
    check_distinguishable(
        points["series"].unique(maintain_order=True).to_list(),
        "panels=True has a panel for each run, or give fewer runs",
        MOST_COLOURS if band else MOST_SERIES,
    )
    name = f"{series}-of-{len(runs)}-runs"
    if band:
        return band_figure(name, title, "time (s)", y, over_runs(points))
    drawn = line_figure(
        name, title, "time (s)", y, points.drop("run"), step=series != "goodput", common=True,
        timeline=None if end_s is None else Timeline(end_s, {}, (), ()),
    )  # fmt: skip
    return replace(drawn, notes=tuple(dict.fromkeys((*figures[0].notes, *drawn.notes))))


def over_runs(points: pl.DataFrame) -> pl.DataFrame:
    """Mean, lowest and highest of the runs of each series at `BAND_POINTS` common times.

    Between two samples of a run, its value is on the line through both. Times before its first
    sample or after its last are left out.
    """
    tables = []
    for (name,), rows in points.group_by("series", maintain_order=True):
        single = [run.sort("x") for _, run in rows.group_by("run", maintain_order=True)]
        times = np.linspace(rows["x"].min(), rows["x"].max(), BAND_POINTS)  # type: ignore[arg-type]
        values = np.array([
            np.interp(times, run["x"], run["y"], left=np.nan, right=np.nan) for run in single
        ])  # fmt: skip
        known = ~np.isnan(values).all(axis=0)
        values = values[:, known]
        tables.append(
            pl.DataFrame({
                "x": times[known],
                "y": np.nanmean(values, axis=0),
                "low": np.nanmin(values, axis=0),
                "high": np.nanmax(values, axis=0),
                "n": (~np.isnan(values)).sum(axis=0),
            }).with_columns(series=pl.lit(name))
        )  # fmt: skip
    return pl.concat(tables)


def distinguishing(runs: Sequence[Run], *, seeds: bool = True) -> list[str]:
    """What differs between runs: names, controllers, seeds; numbers if nothing does.

    Without `seeds`, runs that differ only in their seed have one label.
    """
    parts = [
        [run.name for run in runs],
        [", ".join(run.flows["controller"].unique(maintain_order=True)) for run in runs],
    ]
    if seeds:
        parts.append([f"seed {run.seed}" for run in runs])
    varying = [part for part in parts if len(set(part)) > 1]
    labels = [", ".join(words) for words in zip(*varying, strict=True)] or [""] * len(runs)
    if not seeds:
        return [label or ", ".join(parts[1][:1]) for label in labels]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label} ({number})".strip() for number, label in enumerate(labels, 1)]
