"""Figures of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.arguments import text
from bentpipe.console import nearest
from bentpipe.errors import InputError, SeriesError
from bentpipe.plots.lines import line_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.plots.figure import Figure
    from bentpipe.runs import Run

MOST_WINDOWS = 200
"""Maximum number of windows of a goodput figure, unless the caller chooses a window."""


class Plots:
    """Figures of a run's series. Each method returns a `Figure`.

    `figure.save("name.svg")` accepts the suffixes svg, png, pdf, html and json. It needs no
    network. `figure.chart` is the Altair chart.
    A run without series raises `SeriesError`, which names the missing setting.
    """

    def __init__(self, run: Run, flow: str | None = None) -> None:
        """Keep the run. With `flow`, figures of flows have that one; `InputError` if none has it.

        A figure of the queue has all links.
        """
        self._run = run
        names = run.flows["flow"].to_list()
        if flow is not None and text("flow", flow, "the name of a flow") not in names:
            raise InputError(f"flow: the run has no flow {flow!r}{nearest(flow, names)}")
        self._flow = None if flow is None else names.index(flow)

    def cwnd(self) -> Figure:
        """Congestion window of each flow in kB over time in s."""
        return self._flows("cwnd", "congestion window (kB)", pl.col("cwnd_bytes") / 1000)

    def rtt(self) -> Figure:
        """Smoothed round-trip time of each flow in ms over time in s (srtt of RFC 6298)."""
        return self._flows("rtt", "smoothed RTT (ms)", pl.col("srtt_ms"))

    def goodput(self, *, window_s: float | None = None) -> Figure:
        """Goodput of each flow in Mbit/s over time in s: bytes delivered to the application.

        Each point is the mean of the `window_s` seconds before it. By default that is the sampling
        interval, or a 200th of the time shown if this is longer. `InputError` if it is longer than
        the series.
        """
        series = self._flow_series()
        window = _window(series) if window_s is None else _checked(window_s, series)
        points = _goodput(series, window)
        names = self._run.flows["flow"].to_list()
        return self._lines("goodput", "goodput (Mbit/s)", points, names, step=False)

    def queue(self) -> Figure:
        """Queue of each direction of a link, in kB over time in s.

        Directions whose queue is always empty are left out, unless all are empty.
        """
        series = self._recorded(self._run.link_series)
        used = series.filter(pl.col("queue_bytes").max().over("link") > 0)
        links = self._run.links.select(pl.concat_str("link", "direction", separator=" "))
        points = _points(used if used.height else series, "link", pl.col("queue_bytes") / 1000)
        return self._lines("queue", "queue (kB)", points, links.to_series().to_list(), step=True)

    def _flows(self, name: str, y: str, value: pl.Expr) -> Figure:
        points = _points(self._flow_series(), "flow", value)
        return self._lines(name, y, points, self._run.flows["flow"].to_list(), step=True)

    def _lines(
        self, name: str, y: str, points: pl.DataFrame, names: Sequence[str], *, step: bool
    ) -> Figure:
        """Lines over time. The `series` of the points are indices into `names`."""
        named = points.sort("series", "x", maintain_order=True).with_columns(
            pl.col("series").replace_strict(dict(enumerate(names)), return_dtype=pl.String)
        )
        return line_figure(name, self._title(), "time (s)", y, named, step=step)

    def _flow_series(self) -> pl.DataFrame:
        series = self._recorded(self._run.flow_series)
        return series if self._flow is None else series.filter(pl.col("flow") == self._flow)

    def _recorded(self, series: pl.DataFrame) -> pl.DataFrame:
        if series.is_empty():
            ask = 'scenario.with_({"record.interval": "100ms"})'
            raise SeriesError(f"{self._run!r} has no such series; record one with {ask}")
        return series

    def _title(self) -> str:
        return f"{self._run.name}, seed {self._run.seed}"


def _points(series: pl.DataFrame, line: str, value: pl.Expr) -> pl.DataFrame:
    return series.select(pl.col(line).alias("series"), pl.col("t_s").alias("x"), value.alias("y"))


def _window(series: pl.DataFrame) -> float:
    """The window in seconds: a whole number of sampling intervals, so that it ends at a sample."""
    steps = series.select(pl.col("t_s").diff().over("flow")).to_series().drop_nulls()
    steps = steps.filter(steps > 0)
    if steps.is_empty():
        return 1.0
    step = float(np.median(steps.to_numpy()))
    shown = float(np.ptp(series["t_s"].to_numpy()))
    return max(1, round(shown / MOST_WINDOWS / step)) * step


def _checked(window_s: Any, series: pl.DataFrame) -> float:
    """The window that a program gives; `InputError` if no flow has a series of this length."""
    spans = series.group_by("flow").agg(pl.col("t_s").max() - pl.col("t_s").min())["t_s"]
    longest = float(np.max(spans.to_numpy()))
    if not isinstance(window_s, int | float) or not 0 < window_s <= longest:
        expected = f"a number above 0, and at most the {longest:g} s of the series"
        raise InputError.of_value("window_s", expected, repr(window_s))
    return float(window_s)


def _goodput(series: pl.DataFrame, window: float) -> pl.DataFrame:
    """Goodput of each window, from the bytes delivered at its end and at the previous end."""
    last = series.group_by("flow").agg(pl.col("t_s").first().alias("start"), pl.col("t_s").last())
    edges = last.select(
        "flow",
        pl.int_ranges(
            0, ((pl.col("t_s") - pl.col("start")) / window).round(6).floor().cast(pl.Int64) + 1
        )
        .list.eval(pl.element() * window)
        .alias("t_s"),
        "start",
    ).explode("t_s")
    # Times are sums of the interval: those that should be equal differ in the last digits.
    edges = edges.with_columns((pl.col("t_s") + pl.col("start")).alias("t_s")).sort("t_s")
    delivered = series.select("flow", "t_s", pl.col("delivered_bytes").cast(pl.Int64)).sort("t_s")
    shifted = delivered.with_columns(pl.col("t_s") - 1e-6 * window)
    joined = edges.join_asof(shifted, on="t_s", by="flow", check_sortedness=False)
    return (
        joined.sort("flow", "t_s")
        .with_columns((pl.col("delivered_bytes").diff().over("flow") * 8e-6 / window).alias("y"))
        .rename({"flow": "series", "t_s": "x"})
    )
