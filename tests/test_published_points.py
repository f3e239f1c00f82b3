"""Published values in the figures of reproductions: as points where the paper prints numbers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe.numbers import typeset
from bentpipe.reproductions.adalr import experiments as adalr
from bentpipe.reproductions.luglio import experiments as luglio
from bentpipe.reproductions.plots import Bars, Plot, as_data, figure, published_points
from bentpipe.reproductions.reproduction import find
from bentpipe.study.statistics import Mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.reproductions.reproduction import Plan


def ran(paper: str, plan: Plan) -> Mapping[str, Any]:
    """The results of some jobs of a paper, each with one seed."""
    few = {name: type(job)(job.scenario, job.sets, job.seeds[:1]) for name, job in plan.items()}
    return find(paper).results(few, None, None)


def points_of(drawn: Bars | Plot) -> list[tuple[str, Any, float, float]]:
    """The published points that the figure of saved plots has."""
    held = json.loads(json.dumps(as_data(drawn)))
    specification = figure("name", held).specification
    found = [
        (row["series"], row["x"], row["low"], row["high"])
        for rows in specification["datasets"].values()
        for row in rows
        if "high" in row
    ]
    assert {name for name, *_ in found} <= set(map(typeset, drawn_series(drawn)))
    return found


def drawn_series(drawn: Bars | Plot) -> list[str]:
    """The names of the lines or bars."""
    return list(drawn.bars if isinstance(drawn, Bars) else drawn.lines)


def test_download_times_over_the_rtt_have_those_of_the_thesis() -> None:
    plan = {name: job for name, job in adalr.plan().items() if name.startswith("rtt/")}
    found = points_of(adalr._plot_over_rtt(ran("adalr", plan)))
    values = find("adalr").publication.values
    expected = [values[f"ftp/rtt/baseline/{rtt}-ms"].printed for rtt in adalr.RTTS]
    assert [(x, low) for _, x, low, _ in found] == list(zip(adalr.RTTS, expected, strict=True))
    assert (found[0][2], found[-1][2]) == (251.8, 470.1)
    assert all(low == high for _, _, low, high in found)


def test_figure_3_has_what_the_text_prints() -> None:
    wanted = ("together/", "ten/newreno/")
    plan = {name: job for name, job in luglio.plan().items() if name.startswith(wanted)}
    results = ran("luglio", plan)
    per, label = next(iter(luglio.PERS.items()))
    found = points_of(luglio._figure_3(results, per, label))
    newreno, westwood = luglio.LABELS["newreno"], luglio.LABELS["westwood"]
    assert sorted(found) == sorted([
        (newreno, "five of each kind", 190, 190),
        (westwood, "five of each kind", 610, 610),
        (newreno, "ten New Reno", 280, 280),
    ])  # fmt: skip
    ten = points_of(luglio._figure_ten(results))
    assert len(ten) == 10 * len(luglio.PERS)


def test_a_range_has_both_ends() -> None:
    ids = {"New Reno": {"utilisation": "fig2/utilisation/newreno/five-flows"}}
    found = published_points("luglio", ids)
    assert found == {"New Reno": [("utilisation", 0, 0.4)]}
    bars = Bars("Figure", "", "share", {"New Reno": {"utilisation": Mean(0.3)}}, found)
    assert points_of(bars) == [("New Reno", "utilisation", 0, 0.4)]
    drawn = figure("bars", as_data(bars))
    assert "Open diamonds: published values." in drawn.notes
    assert drawn.svg.count('aria-roledescription="point"') == 2


def test_units_of_the_paper_are_those_of_the_figure() -> None:
    ids = {"NewReno": {25: "fairness/newreno/25-ms"}}
    ((_, low, high),) = published_points("adalr", ids, 1e-3)["NewReno"]
    assert low == high == pytest.approx(322.418)


def test_a_value_that_the_paper_does_not_print_is_no_point() -> None:
    with pytest.raises(KeyError):
        published_points("luglio", {"New Reno": {"a": "fig9/none"}})


@pytest.mark.parametrize("paper", ["adalr", "aliad", "leo", "luglio", "quic"])
def test_packs_with_numbers_have_figures_with_them(paper: str) -> None:
    text = (find(paper).folder / "experiments.py").read_text(encoding="utf-8")
    assert re.search(rf'published_points\("{paper}", ', text)
