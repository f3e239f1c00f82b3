"""Reproductions: what is published, and how a measured value is judged."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from bentpipe import run_many
from bentpipe.reproductions.aliad import experiments as aliad
from bentpipe.reproductions.aliad import response
from bentpipe.reproductions.davoli import recipe
from bentpipe.reproductions.plots import Bars, Plot, save_plot
from bentpipe.reproductions.published import Tolerance, Value, read
from bentpipe.reproductions.reproduction import Job, Measured, find, judge, names
from bentpipe.study.statistics import Mean, gains, mean, savings
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe import Recording
    from conftest import Bentpipe


def published(
    low: float | None,
    high: float | None = None,
    tolerance: Tolerance | None = None,
    why_not: str = "",
) -> Value:
    return Value(
        id="a/b",
        quantity="a",
        unit="s",
        low=low,
        high=low if high is None else high,
        tolerance=tolerance or Tolerance(),
        source="",
        not_comparable=why_not,
    )


@pytest.mark.parametrize(
    ("value", "measured", "verdict", "deviation"),
    [
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(109), "reproduced", 0.09),
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(111), "deviates", 0.11),
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(89), "deviates", -0.11),
        (published(100, tolerance=Tolerance(relative=0.1)), Mean(112, 2.5), "deviates", 0.12),
        (published(0.9, tolerance=Tolerance(absolute=0.03)), Mean(0.92), "reproduced", 1 / 45),
        (published(10, 20), Mean(15), "reproduced", 0.0),
        (published(10, 20), Mean(21), "deviates", 0.05),
        (published(10, 20, Tolerance(absolute=1)), Mean(9.5), "reproduced", -0.05),
        (published(100, why_not="unknown"), Mean(100), "not comparable", 0.0),
        (published(100), None, "not comparable", None),
        (published(None), Mean(1), "not comparable", None),
    ],
)
def test_verdicts(
    value: Value, measured: Mean | None, verdict: str, deviation: float | None
) -> None:
    row = judge(value, Measured("a/b", measured, note="why"))
    assert row.verdict == verdict
    assert row.deviation == (None if deviation is None else pytest.approx(deviation))
    assert row.note.endswith("why")


def test_the_case_of_a_measurement_is_part_of_its_id() -> None:
    row = judge(published(10, 20), Measured("a/b", Mean(11), case="BER 1e-6"))
    assert (row.id, row.published) == ("a/b@BER 1e-6", [10, 20])


def test_the_interval_is_students() -> None:
    # n = 10, s = 3.02765, t = 2.26216 (any table of Student's distribution).
    result = mean([float(n) for n in range(1, 11)])
    assert result.value == 5.5
    assert result.ci95 == pytest.approx(2.262157 * 3.0276504 / math.sqrt(10), rel=1e-6)


def test_a_single_value_has_no_interval_and_equal_values_have_none_to_speak_of() -> None:
    assert mean([4.0]) == Mean(4.0, None)
    assert mean([4.0, 4.0]) == Mean(4.0, 0.0)
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_gains_and_savings_pair_the_seeds() -> None:
    assert gains([12.0, 10.0], [10.0, 20.0]) == pytest.approx([20.0, -50.0])
    assert savings([8.0], [10.0]) == pytest.approx([20.0])
    with pytest.raises(ValueError, match="longer"):
        gains([1.0], [1.0, 2.0])


def test_every_pack_can_be_read_and_every_scenario_of_its_plan_is_right() -> None:
    for name in names():
        found = find(name)
        assert found.publication.values
        found.jobs(found.plan())


def test_the_adalr_pack_holds_the_published_tables() -> None:
    values = find("adalr").publication.values
    assert values["ftp/no-loss/adalr-sack/undelayed"].printed == 333.4
    assert values["ftp/congestion/newreno/delayed"].printed == 1216.6
    assert values["ftp/rtt/baseline/500-ms"].printed == 470.1
    assert values["errors/goodput/newreno/delayed"].printed == [6, 34]
    assert values["fairness/jain/newreno/delayed"].tolerance == Tolerance(absolute=0.05)
    assert "swapped" in values["ftp/no-loss/gain-in-text/adalr/delayed"].not_comparable
    ratio = values["ftp/no-loss/ratio/sack/delayed"].printed
    assert ratio == pytest.approx(360.6 / 470.1, abs=5e-4)


def test_the_luglio_pack_holds_what_the_text_prints() -> None:
    values = find("luglio").publication.values
    assert values["ten/throughput/newreno/ten-flows"].printed == 280
    assert values["ten/wasted/newreno/ten-flows"].printed == 1200
    assert values["fig2/utilisation/newreno/five-flows"].printed == [0, 0.4]
    assert values["fig3/loss/newreno/together"].printed == 90
    for buffer, rate in ((64, 64 * 1024 * 8e-3), (128, 128 * 1024 * 8e-3), (256, 4000 * 0.508)):
        limit = values[f"fig1/throughput/westwood/{buffer}-kB"].printed
        assert limit == pytest.approx(rate / 0.508, abs=0.1)


def test_the_luglio_pack_differs_between_its_runs_in_what_the_paper_varies_alone() -> None:
    found = find("luglio")
    with resources.as_file(found.folder / "scenarios") as folder:
        files = [tomllib.loads(path.read_text()) for path in folder.iterdir()]
    assert len(files) == 3
    links, transports = [], []
    for content in files:
        content["link"][1]["forward"].pop("channel")
        links.append(content["link"])
        transports += [flow["transport"] for flow in content["flow"]]
    assert all(link == links[0] for link in links)
    assert all(transport == transports[0] for transport in transports)
    varied = {"controller", "count", "receive_buffer", "initial_ssthresh", "channel", "interval"}
    for job in found.plan().values():
        assert len(job.seeds) >= 10
        assert {text.split("=")[0].rsplit(".")[-1] for text in job.sets} <= varied


def test_the_luglio_pack_decides_every_value_at_both_error_rates() -> None:
    found = find("luglio")
    short = {name: Job(job.scenario, job.sets, (1, 2)) for name, job in found.plan().items()}
    names, jobs = found.jobs(short)
    results: dict[str, list[Recording]] = {name: [] for name in short}
    for name, run in zip(names, run_many(jobs), strict=True):
        results[name].append(run.recording)
    rows = {row.id: row for row in found.rows(results, complete=True)}
    assert all(row.ci95 is not None and row.verdict != "not comparable" for row in rows.values())
    assert len(rows) == 9 + 2 * (len(found.publication.values) - 9)
    utilisation = "fig2/utilisation/newreno/five-flows@PER"
    assert rows[f"{utilisation} 5e-5 (printed)"].verdict == "deviates"
    assert rows[f"{utilisation} 1e-2 (inferred)"].verdict == "reproduced"
    drawn = found.plots(results)
    assert {"figure-1", "figure-2-per-1e-2", "ten-flows"} < drawn.keys()
    figure_4 = drawn["figure-4-per-1e-2"]
    assert isinstance(figure_4, Plot)
    stays, comes, leaves = (times for times, _ in figure_4.lines.values())
    assert (stays[0], stays[-1]) == (10, 1000)
    assert (comes[0], comes[-1]) == (510, 1000)
    assert (leaves[0], leaves[-1]) == (10, 500)


def test_the_response_function_of_liad_falls_with_the_rtt_and_that_of_a_liad_hardly() -> None:
    fixed = [response.rate(1e-8, rtt, 2) for rtt in (0.075, 0.6)]
    assert fixed[0] / fixed[1] == pytest.approx(8, rel=1e-6)
    follows = [response.rate(1e-8, t, response.exponential_alpha(t)) for t in (0.075, 0.6)]
    assert fixed[0] == pytest.approx(follows[0])
    assert 1 < follows[0] / follows[1] < 1.2
    # An epoch carries 1 / p segments, at any alpha.
    for alpha in (1.5, 2, 16):
        w_max = response.largest_window(1e-4, alpha)
        assert response.segments(w_max, alpha) == pytest.approx(1e4, rel=1e-6)


def test_the_a_liad_pack_decides_every_statement_with_one_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = find("aliad")
    readings = {text for job in found.plan().values() for text in job.sets if '"aliad"' in text}
    assert len({text.partition("=")[2] for text in readings}) == 1
    monkeypatch.setattr(aliad, "SEEDS", (1, 2))
    plan = {name: Job(job.scenario, job.sets, job.seeds[:2]) for name, job in found.plan().items()}
    names, jobs = found.jobs(plan)
    results: dict[str, list[Recording]] = {name: [] for name in plan}
    for name, run in zip(names, run_many(jobs), strict=True):
        results[name].append(run.recording)
    rows = {row.id: row for row in found.rows(results, complete=True)}
    assert len(rows) == len(found.publication.values)
    assert all(row.measured is not None for row in rows.values())
    assert rows["fig7/drops/aliad/30-s"].verdict == "reproduced"
    drawn = found.plots(results)
    assert {name.split("-")[0] for name in drawn} == {"fig1", *(f"fig{n}" for n in range(5, 14))}


def test_the_fades_of_the_davoli_pack_are_what_its_recipe_makes(tmp_path: Path) -> None:
    recipe.main(tmp_path)
    scenarios = find("davoli").folder / "scenarios"
    for fade in recipe.FADES:
        name = f"{fade.name}.csv"
        assert (tmp_path / name).read_bytes() == (scenarios / name).read_bytes()


def test_the_severe_fade_of_the_davoli_pack_loses_the_signal_at_400_s_for_100_s() -> None:
    for fade in recipe.FADES:
        deep = [sample > 3.76 for sample in recipe.attenuation(fade) for _ in range(recipe.HOLD_S)]
        assert len(deep) == 900
        assert deep.index(True) in range(400, 403) if fade.lost else True not in deep
        assert (sum(deep) > 100) == (fade.lost is not None)


def test_the_davoli_pack_decides_every_statement_over_five_and_over_all_repetitions() -> None:
    found = find("davoli")
    plan = found.plan()
    assert all(len(job.seeds) == 20 for job in plan.values())
    short = {name: Job(job.scenario, job.sets, (1, 2)) for name, job in plan.items()}
    names, jobs = found.jobs(short)
    results: dict[str, list[Recording]] = {name: [] for name in short}
    for name, run in zip(names, run_many(jobs), strict=True):
        results[name].append(run.recording)
    rows = {row.id: row for row in found.rows(results, complete=True)}
    assert len(rows) == 2 * len(found.publication.values)
    assert all(row.measured is not None for row in rows.values())
    best = rows["one/goodput/best-other-to-ck-stp/pattern-A@20 repetitions"]
    assert best.verdict == "reproduced"
    figure = found.plots(results)["pattern-b-1"]
    assert isinstance(figure, Plot)
    times, rates = figure.lines["CK-STP"]
    assert (times[0], times[-1]) == (5, 895)
    assert max(rates[45:55]) == 0, "the demodulator has lost the signal"


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("tolerance = { relative = 0.1 }\nnot_comparable = 'x'", "either"),
        ("", "either"),
        ("tolerance = { relative = 0.1 }\n[[table]]\nid = 'a'\nquantity = 'q'\nunit = 's'\n"
         "source = 's'\ncolumns = ['c']\ntolerance = {}\n[table.rows]\nr = [1]", "twice"),
    ],
)  # fmt: skip
def test_published_values_are_checked(tmp_path: Path, table: str, problem: str) -> None:
    path = tmp_path / "published.toml"
    head = "title = 't'\nauthors = 'a'\n[[table]]\nid = 'a'\nquantity = 'q'\nunit = 's'\n"
    rows = "rows = { r = [1] }\nsource = 's'\ncolumns = ['c']\n"
    path.write_text(head + rows + table)
    with pytest.raises(ValueError, match=problem):
        read(path)


def test_plots_need_neither_network_nor_browser(tmp_path: Path) -> None:
    times = [float(t) for t in range(5000)]
    plot = Plot("cwnd", "time (s)", "segments", {"newreno": (times, times)}, y_range=(0, 5000))
    save_plot(plot, tmp_path / "cwnd")
    assert (tmp_path / "cwnd.svg").read_text().startswith("<svg")
    assert (tmp_path / "cwnd.png").read_bytes().startswith(b"\x89PNG")


def test_bars_are_drawn_in_groups_with_their_intervals(tmp_path: Path) -> None:
    bars = {"newreno": {"64 kB": Mean(10, 1), "128 kB": Mean(12)}, "limit": {"64 kB": Mean(20)}}
    save_plot(Bars("throughput", "buffer", "kbit/s", bars), tmp_path / "bars")
    drawn = (tmp_path / "bars.svg").read_text()
    assert all(text in drawn for text in ("64 kB", "128 kB", "newreno", "limit"))
    assert "series: newreno; 95 % interval from: 9; to: 11" in drawn
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "bars.pdf").read_bytes().startswith(b"%PDF")


def test_papers_are_listed(bentpipe: Bentpipe) -> None:
    papers = json.loads(bentpipe("papers", "list", "--json").stdout)["papers"]
    values = {paper["paper"]: paper["values"] for paper in papers}
    assert values["adalr"] > 100
    assert values["luglio"] > 20
    assert values["davoli"] > 30
    assert values["aliad"] > 60
    listed = bentpipe("papers", "list").stdout
    assert all(name in listed for name in values)


def test_the_readme_has_the_verdicts_that_the_packs_give() -> None:
    command = [sys.executable, "-m", "bentpipe", "papers", "run", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    found = []
    for paper in json.loads(done.stdout)["papers"]:
        verdicts = Counter(row["verdict"] for row in paper["rows"])
        counts = [verdicts[key] for key in ("reproduced", "deviates", "not comparable")]
        found.append([len(paper["rows"]), *counts])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.split("| reproduction | comparisons |")[1].split("\n\n")[0]
    rows = [line.split("|")[2:6] for line in table.splitlines()[2:]]
    assert sorted([int(cell) for cell in row] for row in rows) == sorted(found)
