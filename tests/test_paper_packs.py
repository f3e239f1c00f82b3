"""Packs of reproductions: what each holds, and that it decides all its statements."""

from __future__ import annotations

import gzip
import tomllib
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from bentpipe import BentpipeError, run_many
from bentpipe.reproductions.aliad import experiments as aliad
from bentpipe.reproductions.aliad import response
from bentpipe.reproductions.davoli import recipe
from bentpipe.reproductions.files import Files
from bentpipe.reproductions.leo import measured, paths
from bentpipe.reproductions.luglio import experiments as luglio
from bentpipe.reproductions.plots import Plot
from bentpipe.reproductions.published import Tolerance
from bentpipe.reproductions.reproduction import Job, Reproduction, find
from bentpipe.traces import slots
from reproduced import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe import Recording
    from bentpipe.reproductions import Row


def test_the_adalr_pack_holds_the_published_tables() -> None:
    values = find("adalr").publication.values
    assert values["ftp/no-loss/adalr-sack/undelayed"].printed == 333.4
    assert values["ftp/congestion/newreno/delayed"].printed == 1216.6
    assert values["ftp/rtt/baseline/500-ms"].printed == 470.1
    assert values["errors/goodput/newreno/delayed"].printed == [6, 34]
    assert values["fairness/jain/newreno/delayed"].tolerance == Tolerance(absolute=0.05)
    swapped = values["ftp/no-loss/gain-in-text/adalr/delayed"].removal
    assert swapped is not None
    assert swapped.reason == "contradicted"
    assert "swapped" in swapped.proof
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
    for system, (_, buffer) in luglio.SYSTEMS.items():
        by_system = values[f"fig1/hosts/throughput/westwood/{system}"]
        by_buffer = values[f"fig1/throughput/westwood/{buffer}-kB"]
        assert by_system.printed == by_buffer.printed
        assert by_system.tolerance == by_buffer.tolerance
        assert by_system.statement == by_buffer.statement


def test_the_luglio_pack_differs_between_its_runs_in_what_the_paper_varies_alone() -> None:
    found = find("luglio")
    with resources.as_file(found.folder / "scenarios") as folder:
        files = [tomllib.loads(path.read_text()) for path in folder.iterdir()]
    assert len(files) == 4
    of_profile = {"receive_buffer": "256KiB", "window_scaling": True, "delayed_ack": "off"}
    links, transports = [], []
    for content in files:
        content["link"][1]["forward"].pop("channel")
        links.append(content["link"])
        for flow in content["flow"]:
            transport = flow["transport"]
            assert not ("host" in flow and of_profile.keys() & transport.keys())
            transports.append(transport | of_profile if "host" in flow else transport)
    assert all(link == links[0] for link in links)
    assert all(transport == transports[0] for transport in transports)
    varied = {"controller", "count", "receive_buffer", "initial_ssthresh", "channel", "interval"}
    varied |= {"host", "delayed_ack"}
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
    assert len(rows) == 10 + 2 * (len(found.publication.values) - 10)
    utilisation = "fig2/utilisation/newreno/five-flows@PER"
    assert rows[f"{utilisation} 5e-5 (printed)"].judgement == "contradicted"
    assert rows[f"{utilisation} 1e-2 (inferred)"].judgement == "within"
    assert rows["per/printed/several-flows"].measured == pytest.approx(1.06e-2, rel=0.01)
    for system, (_, buffer) in luglio.SYSTEMS.items():
        for row in ("throughput/westwood", "share-of-limit/newreno", "ratio/newreno-to-westwood"):
            by_system = rows[f"fig1/hosts/{row}/{system}"]
            assert by_system.measured == rows[f"fig1/{row}/{buffer}-kB"].measured
            delayed = rows[f"{by_system.id}@{luglio.DELAYED}"]
            assert delayed.measured is not None
            assert by_system.measured is not None
            assert delayed.measured < by_system.measured
    drawn = found.plots(results)
    assert {"figure-1", "figure-1-hosts", "figure-2-per-1e-2", "ten-flows"} < drawn.keys()
    figure_4 = drawn["figure-4-per-1e-2"]
    assert isinstance(figure_4, Plot)
    stays, comes, leaves = (times for times, _ in figure_4.lines.values())
    assert (stays[0], stays[-1]) == (10, 1000)
    assert (comes[0], comes[-1]) == (510, 1000)
    assert (leaves[0], leaves[-1]) == (10, 500)


def test_the_response_function_of_liad_falls_with_the_rtt_and_that_of_a_liad_hardly() -> None:
    fixed = [response.rate(1e-8, rtt, 2) for rtt in (0.075, 0.6)]
    assert fixed[0] / fixed[1] == pytest.approx(8, rel=1e-6)
    follows = [response.rate(1e-8, t, response.fitted_alpha(t)) for t in (0.075, 0.6)]
    assert fixed[0] == pytest.approx(follows[0])
    assert follows[0] / follows[1] == pytest.approx(1, abs=2e-3)
    # An epoch carries 1 / p segments, at any alpha.
    for alpha in (1.5, 2, 16):
        w_max = response.largest_window(1e-4, alpha)
        assert response.segments(w_max, alpha) == pytest.approx(1e4, rel=1e-6)


@pytest.mark.nightly
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
    best = rows["one/goodput/newreno-to-ck-stp/pattern-A@20 repetitions"]
    assert best.verdict == "reproduced"
    figure = found.plots(results)["pattern-b-1"]
    assert isinstance(figure, Plot)
    times, rates = figure.lines["CK-STP"]
    assert (times[0], times[-1]) == (5, 895)
    assert max(rates[45:55]) == 0, "the demodulator has lost the signal"


def few_rows_of_leo(found: Reproduction) -> tuple[dict[str, Row], dict[str, list[Recording]]]:
    """Rows and runs of the pack of low orbits with two seeds, one for the emulation with netem."""
    plan = {
        name: Job(job.scenario, job.sets, job.seeds[: 1 if "netem" in name else 2], job.files)
        for name, job in found.possible(found.plan()).items()
    }
    results = found.results(plan)
    assert len(results) == len(plan)
    return {row.id: row for row in found.rows(results, complete=True)}, results


def test_without_files_the_pack_of_low_orbits_names_those_that_its_rows_need() -> None:
    found = find("leo")
    rows, results = few_rows_of_leo(found)
    assert all(name.startswith("netem/") for name in results)
    needing = {name: row for name, row in rows.items() if "--data" in row.note}
    assert {name.partition("/")[0] for name in needing} == {
        "samples", "paths", "window", "other-rules", "leoreplayer", "slots", "hints", "hints-base",
    }  # fmt: skip
    assert all(row.measured is None and row.judgement == "not judged" for row in needing.values())
    assert "starlink-ping/seattle.txt" in rows["slots/seattle/p"].note
    assert "leoreplayer/bw_example.txt" in rows["hints/leocc/gain"].note
    rest = [row for name, row in rows.items() if name not in needing]
    assert all(row.measured is not None for row in rest if row.removed != "not comparable")
    assert rows["switches/manila-dalian/125.9-s"].measured == 125_900
    assert rows["rtt/manila-dalian/first"].measured == pytest.approx(29.423138, abs=1e-3)
    assert {"netem", "rtt"} == found.plots(results).keys()


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is missing (BENTPIPE_DATA names the folder)")
def test_with_files_the_pack_of_low_orbits_decides_every_statement() -> None:
    found = find("leo").with_files(DATA)
    rows, results = few_rows_of_leo(found)
    assert len(results) == len(found.plan())
    judged = [row for row in rows.values() if row.removed != "not comparable"]
    assert all(row.measured is not None for row in judged)
    for name in paths.PAIRS:
        assert rows[f"samples/{name}/error"].verdict == "reproduced"
        assert rows[f"paths/{name}/differ@{paths.SHORTER}"].measured == 0
    assert all(rows[f"other-rules/{name}/missed"].measured for name in measured.OTHER_RULES)
    assert rows["slots/lagos/offset"].measured == rows["slots/seattle/offset"].measured == 12


def test_a_path_of_hypatia_holds_until_the_next_line() -> None:
    text = "0,1173-184-183-1241\n200000000,Unreachable\n300000000,1173-5-1241\n"
    assert paths.golden_ways(text, 5) == [(184, 183, 1)] * 2 + [None] + [(5, 5, 0)] * 2
    assert paths.number("kuiper-630/5.14") == 184


def test_the_synthetic_series_has_slots_once_they_are_added() -> None:
    t_s, rtt_ms = measured.synthetic()
    assert not measured.tested(slots.find(t_s, rtt_ms)).found
    level = 10 * ((t_s - 12) // 15 * 0.618 % 1)
    found = measured.tested(slots.find(t_s, rtt_ms + level))
    assert (found.found, found.offset_s) == (True, 12)


def test_a_measured_file_may_be_packed_and_a_wrong_name_is_no_file(tmp_path: Path) -> None:
    sources = {"a/b.txt": "somewhere", "a/c.txt": "elsewhere"}
    files = Files(sources, tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.txt.gz").write_bytes(gzip.compress(b"1\n2\n"))
    assert files.text("a/b.txt") == "1\n2\n"
    assert files.missing(sources) == ["a/c.txt"]
    assert "a/c.txt" in files.note(sources)
    with pytest.raises(BentpipeError, match="elsewhere"):
        Files(sources).in_folder(tmp_path)
    with pytest.raises(KeyError):
        files.path("a/d.txt")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/one.toml").touch()
    with files.beside(tmp_path / "scenarios", ["a/b.txt"]) as folder:
        assert (folder / "one.toml").exists()
        assert (folder / "a/b.txt").read_text() == "1\n2\n"
    assert not folder.exists()
