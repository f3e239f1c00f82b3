"""Figures of a run."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.fidelity.curves import Curve
from bentpipe.fidelity.plots import figure as fidelity_figure
from bentpipe.plots import (
    Figure,
    Point,
    as_points,
    bar_figure,
    interval_figure,
    line_figure,
    ranking_figure,
    theme,
)
from bentpipe.plots.lines import thinned
from conftest import EXAMPLES
from svg_text import collisions, drawn_texts

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize(("name", "unit"), FIGURES.items())
def test_every_axis_has_a_unit(run: bp.Run, name: str, unit: str) -> None:
    drawn = getattr(run.plot, name)().to_dict()
    assert drawn["encoding"]["x"]["title"] == "time (s)"
    assert drawn["encoding"]["y"]["title"] == unit


def test_every_flow_has_its_line_and_colour(run: bp.Run) -> None:
    chart = run.plot.cwnd().to_dict()
    scale = chart["encoding"]["color"]["scale"]
    assert scale["domain"] == run.flows["flow"].to_list()
    assert chart["config"]["range"]["category"] == list(theme.PALETTE)


def test_a_figure_of_runs_can_have_one_flow(run: bp.Run) -> None:
    names = run.flows["flow"].to_list()
    for series in ("cwnd", "rtt", "goodput"):
        figure = bp.plot([run, run], series, flow=names[-1], labels=["a", "b"])
        assert list(figure.series) == ["a", "b"]
        alone = getattr(run.plot, series)().data.filter(series=names[-1])
        half = figure.data.filter(series="a")
        assert half["y"].max() == alone["y"].max()
    with pytest.raises(bp.InputError, match="did you mean"):
        bp.plot([run], flow=f"{names[0]}x")
    with pytest.raises(bp.InputError, match="flow: expected the name of a flow, found 5"):
        bp.plot([run], flow=5)  # type: ignore[arg-type]
    with pytest.raises(bp.InputError, match="flow: expected a series of flows"):
        bp.plot([run], "queue", flow=names[0])


def test_lines_beyond_the_palette_differ_by_their_dash() -> None:
    lines = {f"line {number}": ([0, 1], [number, number]) for number in range(32)}
    encoding = line_figure("many", "32 lines", "x", "y", as_points(lines)).to_dict()["encoding"]
    dashes = encoding["strokeDash"]["scale"]["range"]
    colours = [theme.PALETTE[number % len(theme.PALETTE)] for number in range(32)]
    assert len(set(zip(colours, map(tuple, dashes), strict=True))) == 32


def test_the_window_in_the_figure_is_the_one_of_the_series(run: bp.Run) -> None:
    drawn = run.plot.cwnd().data.filter(pl.col("series") == "rtt-25")
    series = run.series.filter(pl.col("flow") == 0)
    assert drawn["y"].max() == series["cwnd_bytes"].max() / 1000  # type: ignore[operator]
    assert drawn["x"].max() == series["t_s"].max()


def test_the_mean_of_the_goodput_is_that_of_the_totals(run: bp.Run) -> None:
    for window_s in (None, 1.0, 3.0):
        drawn = run.plot.goodput(window_s=window_s).data
        means = drawn.group_by("series").agg(pl.col("y").mean())
        totals = dict(run.flows.select("flow", pl.col("bytes") * 8e-6 / 30).iter_rows())
        assert dict(means.iter_rows()) == pytest.approx(totals, rel=0.02)


def test_goodput_needs_a_window(run: bp.Run) -> None:
    with pytest.raises(ValueError, match="window_s"):
        run.plot.goodput(window_s=0)


def test_thinning_keeps_the_peaks() -> None:
    times = [float(t) for t in range(100_000)]
    heights = [float(t % 1000 == 7) for t in range(100_000)]
    frame = pl.DataFrame({"series": ["one"] * 100_000, "x": times, "y": heights})
    thin = thinned(frame, ["series"])
    assert thin.height < 2000
    assert thin["y"].sum() == 100
    assert thin["x"].is_sorted()
    assert (thin["x"].min(), thin["x"].max()) == (0, 99_999)


def test_each_line_is_thinned_on_its_own() -> None:
    long = pl.DataFrame({"series": "long", "x": range(5000), "y": [0.0] * 5000})
    short = pl.DataFrame({"series": "short", "x": range(1000), "y": [0.0] * 1000})
    lengths = thinned(pl.concat([long, short]), ["series"], 1000)["series"].value_counts()
    assert dict(lengths.iter_rows()) == {"long": 500, "short": 1000}


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


NAMES = ("newreno", "cubic", "hybla", "a receiver buffer with a long name")


def bars(groups: int) -> Figure:
    points = [
        Point(series, f"{NAMES[n % 4]} {n}", 10.0 + n, 9.0, 20.0 + n)
        for n in range(groups)
        for series in ("as published", "measured")
    ]
    return bar_figure("bars", "Bars", "buffer", "goodput (kbit/s)", points)


def means(kind: Any, groups: int) -> Figure:
    at = [10.0**-n for n in range(groups)] if kind == "log" else [n * 1e5 for n in range(groups)]
    points = [Point("cubic", x if kind != "nominal" else f"{x}", 1e6, 0, 2e6) for x in at]
    return interval_figure("means", "Means", "PER", "goodput (kbit/s)", points, kind)


def ranking(names: int) -> Figure:
    points = [Point("mean", f"{NAMES[n % 4]} {n}", 1e5 * n, 0, 1e6) for n in range(names)]
    return ranking_figure("ranking", "Ranking", "goodput (kbit/s)", points)


def panels(parameters: list[dict[str, str]]) -> Figure:
    curve = Curve(np.linspace(0, 60, 100), np.linspace(0, 3e6, 100))
    runs = SimpleNamespace(cwnd=curve)
    models = [SimpleNamespace(model=name, runs=runs) for name in ("as written", "recovery linux")]
    cells: Any = [
        SimpleNamespace(parameters=p, kernel=runs, comparisons=models) for p in parameters
    ]
    return fidelity_figure(cells, "geo-fidelity")


def many_lines() -> Figure:
    lines = {f"{NAMES[n % 4]} {n}": ([0.0, 3e5], [0.0, n * 1e6]) for n in range(20)}
    return line_figure("lines", "Lines", "time (s)", "cwnd (kB)", as_points(lines))


def test_colours_of_findings_do_not_depend_on_their_order() -> None:
    findings = ["best", "equal", "worse"]
    for order in (findings, ["worse", "best"]):
        points = [Point(finding, finding, 1.0, 0.9, 1.1) for finding in order]
        colours = dict(zip(findings, ("#0072B2", "#5B6570", "#C24D00"), strict=True))
        figure = ranking_figure("ranking", "Ranking", "goodput", points, series=colours)
        assert figure.has_own_colours
        text = json.dumps(figure.to_dict())
        domains = re.findall(r'"domain": (\[.*?\])', text)
        assert [json.loads(domain) for domain in domains] == [findings] * 3


@pytest.mark.parametrize(("largest", "label"), [(1e-7, "10⁻⁷"), (1e-2, "0.010")])
def test_small_values_on_an_axis_have_an_exponent(
    tmp_path: Path, largest: float, label: str
) -> None:
    points = [Point("cubic", x * largest, 1.0, 0.9, 1.1) for x in (0.1, 0.5, 1.0)]
    path = tmp_path / "figure.svg"
    interval_figure("means", "Means", "BER", "goodput", points, "linear").save(path)
    assert label in {text.text for text in drawn_texts(path.read_text())}


LONG = {
    "flow.0.transport.receive_buffer": "128kB",
    "link.0.channel.per": "1e-4",
    "link.0.rate": "20Mbit/s",
}
DRAWN: dict[str, tuple[Any, ...]] = {
    **{f"{count} groups of bars": (bars, count) for count in (2, 5, 6, 16, 30, 45, 60, 120)},
    **{f"{kind} axis": (means, kind, 9) for kind in ("linear", "log", "nominal")},
    "ranking": (ranking, 24),
    "panels": (
        panels,
        [{"flow.0.controller": '"cubic"', "link.0.per": f"1e-{n}"} for n in range(9)],
    ),
    "panels with long names": (panels, [LONG | {"link.0.delay": f"{n}ms"} for n in range(6)]),
    "many lines": (many_lines,),
}


@pytest.mark.parametrize("name", DRAWN)
def test_labels_do_not_collide(tmp_path: Path, name: str) -> None:
    function, *arguments = DRAWN[name]
    path = tmp_path / "figure.svg"
    function(*arguments).save(path)
    texts = drawn_texts(path.read_text())
    assert len(texts) > 8
    assert collisions(texts) == []


@pytest.mark.parametrize("name", FIGURES)
def test_labels_of_a_run_do_not_collide(run: bp.Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "figure.svg"
    getattr(run.plot, name)().save(path)
    texts = drawn_texts(path.read_text())
    assert {"time (s)", "rtt-25"} - {text.text for text in texts} <= {"rtt-25"}
    assert collisions(texts) == []


def test_a_figure_has_an_altair_chart_for_further_changes(run: bp.Run) -> None:
    chart = run.plot.cwnd().chart.configure_axis(labelFontSize=20)
    assert chart.to_dict()["config"]["axis"]["labelFontSize"] == 20
    assert run.plot.cwnd().properties(width=300).to_dict()["width"] == 300
