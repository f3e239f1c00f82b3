"""One series of several runs in one figure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from bentpipe.errors import InputError
from bentpipe.plots.lines import line_figure
from bentpipe.plots.runs import Plots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.plots.figure import Figure
    from bentpipe.runs import Run

Series = Literal["cwnd", "rtt", "goodput", "queue"]


def plot(
    runs: Sequence[Run], series: Series = "cwnd", *, labels: Sequence[str] | None = None
) -> Figure:
    """Lines of several runs over a common time axis: `bp.plot([a, b], "cwnd")`.

    `series` is the name of a figure of `run.plot`. The label of a run is what distinguishes it: its
    scenario, its seed or its controllers; `labels` are others. `InputError` for other series or no
    runs, `SeriesError` if a run has recorded no series.
    """
    if series not in get_args(Series):
        expected = ", ".join(get_args(Series))
        raise InputError.of_value("series", f"one of {expected}", repr(series))
    if not runs:
        raise InputError.of_value("runs", "at least one run", "none")
    if labels is None:
        labels = distinguishing(runs)
    elif len(labels) != len(runs) or len(set(labels)) != len(labels):
        raise InputError.of_value("labels", "a different label for each run", repr(list(labels)))
    figures: list[Figure] = [getattr(Plots(run), series)() for run in runs]
    several = any(len(figure.series) > 1 for figure in figures)
    tables = [
        figure.data.with_columns(
            series=pl.format("{} {}", pl.lit(label), pl.col("series").cast(pl.String))
            if several
            else pl.lit(label)
        )
        for label, figure in zip(labels, figures, strict=True)
    ]
    first = figures[0]
    title = ", ".join(dict.fromkeys(run.name for run in runs))
    y = first.description.removeprefix("Line figure: ").partition(" over ")[0]
    drawn = line_figure(
        f"{series}-of-{len(runs)}-runs", title, "time (s)", y, pl.concat(tables),
        step=series != "goodput",
    )  # fmt: skip
    return replace(drawn, notes=tuple(dict.fromkeys((*first.notes, *drawn.notes))))


def distinguishing(runs: Sequence[Run]) -> list[str]:
    """What differs between runs: names, controllers, seeds; numbers if nothing does."""
    parts = [
        [run.name for run in runs],
        [", ".join(run.flows["controller"].unique(maintain_order=True)) for run in runs],
        [f"seed {run.seed}" for run in runs],
    ]
    varying = [part for part in parts if len(set(part)) > 1]
    labels = [", ".join(words) for words in zip(*varying, strict=True)] or [""] * len(runs)
    if len(set(labels)) == len(labels):
        return labels
    return [f"{label} ({number})".strip() for number, label in enumerate(labels, 1)]
