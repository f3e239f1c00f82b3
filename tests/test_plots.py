"""Figures of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import bentpipe as bp
from bentpipe.plots import theme
from bentpipe.plots.figure import thinned
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("plots")

FIGURES = {
    "cwnd": "congestion window (kB)",
    "goodput": "goodput (Mbit/s)",
    "rtt": "smoothed RTT (ms)",
    "queue": "queue (kB)",
}


@pytest.fixture(scope="module")
def run() -> bp.Run:
    changes = {"record.interval": "100ms", "duration": "30s"}
    return bp.run(bp.Scenario.load(EXAMPLES / "fairness-six-rtts.toml").with_(changes))


def points(chart: Any) -> pl.DataFrame:
    (values,) = chart.to_dict()["datasets"].values()
    return pl.DataFrame(values)


@pytest.mark.parametrize(("name", "unit"), FIGURES.items())
def test_every_axis_has_a_unit(run: bp.Run, name: str, unit: str) -> None:
    drawn = getattr(run.plot, name)().to_dict()
    assert drawn["encoding"]["x"]["title"] == "time (s)"
    assert drawn["encoding"]["y"]["title"] == unit


def test_every_flow_has_its_line_and_colour(run: bp.Run) -> None:
    chart = run.plot.cwnd().to_dict()
    scale = chart["encoding"]["color"]["scale"]
    assert scale["domain"] == run.flows["flow"].to_list()
    assert scale["range"] == list(theme.PALETTE[:6])


def test_lines_beyond_the_palette_differ_by_their_dash() -> None:
    looks = [theme.colour_and_dash(number) for number in range(32)]
    assert len({(colour, tuple(dash)) for colour, dash in looks}) == 32


def test_the_window_in_the_figure_is_the_one_of_the_series(run: bp.Run) -> None:
    drawn = points(run.plot.cwnd()).filter(pl.col("line") == "rtt-25")
    series = run.series.filter(pl.col("flow") == 0)
    assert drawn["y"].max() == series["cwnd_bytes"].max() / 1000  # type: ignore[operator]
    assert drawn["t_s"].max() == series["t_s"].max()


def test_the_mean_of_the_goodput_is_that_of_the_totals(run: bp.Run) -> None:
    for window_s in (None, 1.0, 3.0):
        drawn = points(run.plot.goodput(window_s=window_s))
        means = drawn.group_by("line").agg(pl.col("y").mean()).sort("line")
        totals = run.flows.select("flow", pl.col("bytes") * 8e-6 / 30).sort("flow")
        for shown, total in zip(means["y"], totals["bytes"], strict=True):
            assert shown == pytest.approx(total, rel=0.02)


def test_goodput_needs_a_window(run: bp.Run) -> None:
    with pytest.raises(ValueError, match="window_s"):
        run.plot.goodput(window_s=0)


def test_thinning_keeps_the_peaks() -> None:
    times = [float(t) for t in range(100_000)]
    heights = [float(t % 1000 == 7) for t in range(100_000)]
    frame = pl.DataFrame({"line": [0] * 100_000, "t_s": times, "y": heights})
    thin = thinned(frame)
    assert thin.height < 2000
    assert thin["y"].sum() == 100
    assert thin["t_s"].is_sorted()


def test_a_run_without_series_says_what_to_ask_for() -> None:
    run = bp.run(bp.Scenario.load(EXAMPLES / "geo-download.toml"))
    with pytest.raises(bp.SeriesError, match=r"record\.interval"):
        run.plot.cwnd()


@pytest.mark.parametrize(
    ("ending", "begin"),
    [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>")],
)
def test_a_figure_is_saved_and_needs_no_network(
    run: bp.Run, tmp_path: Path, ending: str, begin: bytes
) -> None:
    path = tmp_path / f"figure.{ending}"
    run.plot.cwnd().properties(title="windows").save(path)
    content = path.read_bytes()
    assert content.startswith(begin)
    assert b"https://cdn" not in content
