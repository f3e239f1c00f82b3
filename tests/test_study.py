"""Studies: plans, intervals, rows on the disk, and that who runs them makes no difference."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import bentpipe as bp
from bentpipe.study import Base, Comparison, Parameter, Quantity, Replications, Study
from bentpipe.study import statistics as of
from bentpipe.study.domains import ANY, COUNTS, Domain
from bentpipe.study.intervals import around
from bentpipe.study.parameters import log_spaced, spaced
from bentpipe.study.quantities import Taken, parse
from bentpipe.study.significance import decided, paired_test
from bentpipe.study.stopping import is_narrow
from bentpipe.study.store import Store
from conftest import EXAMPLES, SMALL, STUDY

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe


FADE = """\
scenario = "fade.toml"
quantity = [{ name = "flow.goodput_bps" }]
replications = { count = 2 }
"""

UNTIL_NARROW = """\
quantity = "flow.completion_s"
relative_half_width = 0.08
minimum = 4
round = 3
maximum = 40
"""


def without_wall_time(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop("wall_s")


def test_all_combinations_run_under_the_same_seeds(file: Path) -> None:
    rows = Study.load(file).run().rows
    assert rows["run"].to_list() == list(range(80))
    variants = rows.group_by("flow.0.controller", "link.0.delay").agg(pl.col("seed").sort())
    assert variants.height == 4
    assert all(seeds == list(range(1, 21)) for seeds in variants["seed"].to_list())


def test_a_row_is_what_a_run_alone_gives(file: Path) -> None:
    row = Study.load(file).run().rows.row(70, named=True)
    sets = [
        f"flow.0.controller={row['flow.0.controller']}",
        f"link.0.delay={row['link.0.delay']}ms",
    ]
    scenario = bp.Scenario.load(file.parent / "small.toml", sets)
    alone = bp.run(scenario, seed=row["seed"])
    assert row["flow.completion_s"] == alone.flows["completion_s"][0]
    assert row["link.server-client.forward.utilisation"] == alone.links["utilisation"][0]
    assert row["events"] == alone.events
    assert (row["bentpipe"], row["scenario"]) == (bp.__version__, "small")


@pytest.mark.parametrize("replications", ["count = 20", UNTIL_NARROW])
def test_the_outcome_does_not_hang_on_the_number_of_workers(
    file: Path, tmp_path: Path, replications: str
) -> None:
    file.write_text(STUDY.replace("count = 20", replications))
    study = Study.load(file)
    results = [study.run(out=tmp_path / str(workers), workers=workers) for workers in (1, 2, 7)]
    first, *others = [(tmp_path / name / "summary.json").read_bytes() for name in "127"]
    assert others == [first, first]
    for result in results[1:]:
        assert without_wall_time(result.rows).equals(without_wall_time(results[0].rows))
    assert json.loads(first) == json.loads(json.dumps(results[0].summary))


def test_sequential_stopping_ends_where_the_interval_is_narrow(file: Path) -> None:
    file.write_text(STUDY.replace("count = 20", UNTIL_NARROW))
    results = Study.load(file).run()
    counts = set()
    for cell in results.cells:
        if cell.quantity == "flow.completion_s":
            assert cell.mean
            assert cell.ci95
            n, half = cell.n, max(cell.ci95[1] - cell.mean, cell.mean - cell.ci95[0])
            assert n == 40 or half <= 0.08 * cell.mean
            assert n == 40 or (n - 4) % 3 == 0
            before = results.rows.filter(pl.col("variant") == cell.variant)[: n - 3]
            if n > 4 and n != 40:
                assert not is_narrow(before["flow.completion_s"].to_list(), 0.08, Domain(0))
            counts.add(n)
    assert len(counts) > 1


def test_no_event_in_a_few_runs_does_not_end_a_variant(file: Path) -> None:
    """The interval that tables show decides, and that of no timeout has a width."""
    until = UNTIL_NARROW.replace("completion_s", "timeouts")
    file.write_text(STUDY.replace("count = 20", until).replace("completion_s", "timeouts"))
    random = SMALL.replace("channel = { per = 0.01 }", 'jitter = "2ms"')
    file.with_name("small.toml").write_text(random)
    results = Study.load(file).run()
    timeouts = [one for one in results.cells if one.quantity == "flow.timeouts"]
    none = [one for one in timeouts if one.mean == 0 and not one.deterministic]
    assert none
    for cell in none:
        assert cell.n == 40
        assert cell.ci95
        assert cell.ci95[1] > 0
        assert cell.variant in results.summary["stopping"]["wide"]


def test_a_deterministic_variant_ends_after_the_first_round(file: Path, tmp_path: Path) -> None:
    file.write_text(STUDY.replace("count = 20", UNTIL_NARROW.replace("completion_s", "timeouts"))
                    .replace("completion_s", "timeouts"))  # fmt: skip
    (tmp_path / "small.toml").write_text(SMALL.replace("per = 0.01", "per = 0"))
    results = Study.load(file).run()
    assert {cell.n for cell in results.cells} == {4}
    assert results.summary["stopping"]["wide"] == []


def test_the_interval_that_is_shown_decides_when_it_is_narrow() -> None:
    assert not is_narrow([1.0, 1.0], 0.5, ANY), "too few for an interval"
    assert is_narrow([1.0, 1.0, 1.0], 0.01, Domain(0)), "the same in all runs"
    assert not is_narrow([0.0] * 20, 0.5, COUNTS), "no event in 20 runs"
    assert is_narrow([0.0] * 20, 0.5, COUNTS, deterministic=True)
    assert not is_narrow([1.0] * 10, 0.1, Domain(0, 1, successes=True)), "10 of 10"
    values = [1.0, 2.0, 3.0, 2.0]
    low, high = around(values, Domain(0)) or (0.0, 0.0)
    larger = max(high - 2, 2 - low) / 2
    assert is_narrow(values, larger + 1e-9, Domain(0))
    assert not is_narrow(values, larger - 1e-9, Domain(0))


def test_a_budget_bounds_the_runs(file: Path) -> None:
    wide = "quantity = 'flow.completion_s'\nrelative_half_width = 1e-9\nbudget = 50"
    file.write_text(STUDY.replace("count = 20", wide))
    results = Study.load(file).run()
    assert results.complete
    assert results.rows["run"].to_list() == list(range(50))


def test_ranges_keep_their_unit() -> None:
    assert spaced("10ms", "250ms", step="80ms", count=None) == ("10ms", "90ms", "170ms", "250ms")
    assert spaced(0.1, 0.4, step=0.1, count=None) == (0.1, 0.2, 0.3, 0.4)
    assert spaced(10, 0, step=None, count=3) == (10, 5, 0)
    assert log_spaced(1e-7, 1e-4, 4) == (1e-7, 1e-6, 1e-5, 1e-4)
    assert log_spaced("1Mbit/s", "100Mbit/s", 3) == ("1Mbit/s", "10Mbit/s", "100Mbit/s")
    for wrong in [("10ms", "1s", "10ms"), ("10ms", "90ms", "-5ms"), ("10ms", "90ms", "5s")]:
        with pytest.raises(ValueError, match="expected"):
            spaced(wrong[0], wrong[1], step=wrong[2], count=None)


def test_values_of_one_unit_are_numbers_in_tables() -> None:
    assert Parameter("a", "a", ("10ms", "1.5ms")).plain == (10, 1.5)
    assert Parameter("a", "a", ("10ms", "1.5ms")).unit == "ms"
    mixed = Parameter("a", "a", ("10ms", "1s"))
    assert (mixed.unit, mixed.plain) == (None, ("10ms", "1s"))
    assert Parameter("a", "a", ("reno", "10ms")).plain == ("reno", "10ms")
    assert Parameter("on", "a.b", (True, False)).set(0) == "a.b=true"


def test_names_of_quantities_have_parts() -> None:
    assert parse("jain_index") == Taken("run", "jain_index")
    assert parse("flow.goodput_bps") == Taken("flows", "goodput_bps")
    assert parse("p95(page.web.response_s)") == Taken("pages", "response_s", "web", None, "p95")
    assert parse("link.forward.utilisation") == Taken("links", "utilisation", None, "forward")
    named = parse("max(link.a-b.c.backward.max_queue_bytes)")
    assert named == Taken("links", "max_queue_bytes", "a-b.c", "backward", "max")
    units = {"flow.goodput_bps": "bit/s", "flow.completion_s": "s", "jain_index": "1",
             "jain(flow.goodput_bps)": "1", "flow.bytes": "B", "flow.srtt_ms": "ms"}  # fmt: skip
    for name, unit in units.items():
        assert Quantity(name).unit == unit


def difference(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """A difference that is a family of its own."""
    row: dict[str, Any] = decided([paired_test(pairs)])[0]
    return row


def test_differences_are_those_of_pairs() -> None:
    # Pairs differ by 1 to 3, whatever the values themselves do: t = 4.302653 for 2 degrees.
    row = difference([(101.0, 100.0), (12.0, 10.0), (1003.0, 1000.0)])
    assert (row["n"], row["difference"], row["distinct"]) == (3, 2.0, False)
    assert row["ci95"] == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), rel=1e-6)
    assert row["relative"] == pytest.approx(2 / 370)
    assert difference([(2.0, 1.0), (4.0, 1.0)])["distinct"] is False
    # The same difference in all pairs: the sign test needs seven of them.
    assert difference([(2.0, 1.0), (3.0, 2.0), (4.0, 3.0)])["distinct"] is False
    assert difference([(n + 1.5, n) for n in range(7)])["distinct"] is True
    assert difference([(2.0, 1.0), (3.0, 2.0)])["distinct"] is False  # two are too few
    assert difference([(2.0, 1.0)])["ci95"] is None
    assert difference([])["n"] == 0


def test_the_bootstrap_is_near_student_and_the_same_each_time() -> None:
    values = [float(10 + (7 * n) % 11) for n in range(60)]
    student = of.mean(values)
    low, high = of.bootstrap(values, (1, 2))
    assert (low, high) == of.bootstrap(values, (1, 2))
    assert (low, high) != of.bootstrap(values, (1, 3))
    assert high - low == pytest.approx(2 * (student.ci95 or 0), rel=0.1)
    assert of.bootstrap([3.0, 3.0], (0,)) == (3.0, 3.0)
    assert of.percentile([4.0, 1.0, 2.0, 3.0], 90) == pytest.approx(3.7)


def test_a_download_that_does_not_complete_is_told(bentpipe: Bentpipe, file: Path) -> None:
    scenario = file.parent / "small.toml"
    scenario.write_text(SMALL.replace('"60s"', '"4s"'))
    done = bentpipe("study", file)
    assert done.returncode == 0
    assert "undefined" in done.stdout
    cells = Study.load(file).run().cells
    times = [cell for cell in cells if cell.quantity == "flow.completion_s"]
    assert sum(cell.undefined for cell in times) > 0
    assert all(cell.n + cell.undefined == 20 for cell in times)


def test_counters_of_mechanisms_are_quantities(small: Path) -> None:
    repeats, frames = "sum(arq.repeated_frames)", "arq.server-client.forward.frames"
    procedures = ("none", "go-back-n", "selective-repeat")
    results = Study.make(
        name="repeats",
        scenario=small,
        parameters=[Parameter("arq", "link.0.arq", procedures)],
        quantities=[repeats, frames],
        replications=Replications(count=5),
        comparisons=[Comparison("arq", "go-back-n")],
    ).run()
    found = {(cell.parameters["link.0.arq"], cell.quantity): cell for cell in results.cells}
    # Without ARQ there are no frames to count. Go-back-N repeats more than what was lost.
    assert [found["none", one].undefined for one in (repeats, frames)] == [5, 5]
    back, selective = (found[one, repeats].mean or 0 for one in procedures[1:])
    assert back > selective > 0
    run = bp.run(bp.Scenario.load(small, ["link.0.arq=go-back-n"]), seed=1)
    arq = run.table("arq")
    row = results.rows.filter(seed=1).filter(pl.col("link.0.arq") == "go-back-n")
    assert row[repeats].to_list() == [arq["repeated_frames"].sum()]
    assert row[frames].to_list() == [arq.filter(direction="forward")["frames"][0]]
    assert {one: Quantity(one).unit for one in (repeats, frames)} == {
        repeats: "frames",
        frames: "frames",
    }


def test_parameters_can_go_together(file: Path) -> None:
    file.write_text(STUDY.replace("[parameters]", 'zip = [["controller", "delay"]]\n[parameters]'))
    results = Study.load(file).run()
    pairs = [tuple(variant.parameters.values()) for variant in results.study.variants]
    assert pairs == [("newreno", 100), ("hybla", 200)]
    row = results.comparisons[0]
    assert row.parameters == {}
    assert row.against == {"flow.0.controller": "newreno", "link.0.delay": 100}


def test_a_program_makes_a_study_of_several_scenarios(tmp_path: Path) -> None:
    bases = {
        "near": Base.of(SMALL.replace("250ms", "20ms"), "near.toml"),
        "far": Base.of(SMALL, "far.toml"),
    }
    study = Study.make(
        name="distance",
        scenario=bases,
        quantities=[Quantity("flow.completion_s")],
        replications=Replications(count=5, seed=100),
        comparisons=[Comparison("scenario", "near")],
    )
    results = study.run(out=tmp_path / "out")
    assert (tmp_path / "out" / "scenario-1" / "scenario.toml").read_text() == SMALL
    assert set(results.rows["scenario"]) == {"near", "far"}
    assert sorted(set(results.rows["seed"])) == [100, 101, 102, 103, 104]
    (row,) = results.comparisons
    assert row.distinct
    assert row.difference is not None
    assert row.difference > 0


def test_files_of_the_scenario_are_kept_with_it(tmp_path: Path) -> None:
    text = (EXAMPLES / "fade.toml").read_text()
    (tmp_path / "fade.toml").write_text(text.replace('"900s"', '"60s"'))
    (tmp_path / "fade.csv").write_bytes((EXAMPLES / "fade.csv").read_bytes())
    (tmp_path / "study.toml").write_text(FADE)
    out = tmp_path / "out"
    assert Study.load(tmp_path / "study.toml").run(out=out).complete
    assert (out / "fade.csv").read_bytes() == (EXAMPLES / "fade.csv").read_bytes()
    assert bp.Scenario.load(out / "scenario.toml").name == "fade"
    calmer = (tmp_path / "fade.csv").read_text().replace("\n20,0.00", "\n20,0.01")
    (tmp_path / "fade.csv").write_text(calmer)
    with pytest.raises(bp.OutputError, match="scenarios"):
        Study.load(tmp_path / "study.toml").run(out=out)


def test_a_finished_study_is_one_part_that_others_can_read(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = Study.load(file).run(out=out).rows
    assert [path.name for path in (out / "rows").iterdir()] == ["part-00000000.parquet"]
    pattern = str(out / "rows" / "*.parquet")
    assert pl.read_parquet(pattern).equals(rows)
    found = (
        duckdb.connect()
        .execute(f'select count(*), avg("flow.completion_s") from read_parquet({pattern!r})')
        .fetchone()
    )
    assert found is not None
    assert found[0] == 80
    assert found[1] == pytest.approx(rows["flow.completion_s"].mean())
    assert (out / "study.toml").read_text() == STUDY.replace("small.toml", "scenario.toml")
    assert Study.load(out / "study.toml").run().rows.drop("wall_s").equals(rows.drop("wall_s"))
    assert (out / "scenario.toml").read_text() == SMALL
    # Cut short between the first and the last file.
    (out / "study.toml").unlink()
    Study.load(file).run(out=out)
    assert (out / "study.toml").is_file()


def test_a_study_goes_on_with_more_replications_and_other_questions(
    file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    few = Study.load(file).run(out=out)
    more = STUDY.replace("count = 20", "count = 25").replace("[5, 95]", "[50]")
    file.write_text(more)
    calls: list[int] = []
    grown = Study.load(file).run(out=out, progress=calls.append)
    assert calls[0] > few.rows.height, "what was there is not run again"
    assert grown.rows.height == 100
    assert without_wall_time(grown.rows).equals(without_wall_time(Study.load(file).run().rows))
    assert "[50]" in (out / "study.toml").read_text()
    # And back: what there is too much of does not count.
    file.write_text(STUDY)
    again = Study.load(file).run(out=out)
    assert again.rows.equals(few.rows)
    assert again.summary == few.summary


def test_runs_that_do_not_depend_on_the_seed_are_told(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    assert Study.load(file).run().summary["seeds_matter"] is True
    (tmp_path / "small.toml").write_text(SMALL.replace("per = 0.01", "per = 0"))
    done = bentpipe("study", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert "All 4 variants are deterministic: every run is the same" in " ".join(
        done.stdout.split()
    )


def test_variants_that_end_before_they_are_narrow_are_told(bentpipe: Bentpipe, file: Path) -> None:
    stop = "quantity = 'flow.completion_s'\nrelative_half_width = 0.001\nmaximum = 10"
    file.write_text(STUDY.replace("count = 20", stop))
    assert Study.load(file).run().summary["stopping"]["wide"] == [0, 1, 2, 3]
    done = bentpipe("study", file)
    assert "4 of 4 variants reached the maximum or the budget" in done.stdout
    file.write_text(STUDY.replace("count = 20", stop.replace("0.001", "0.9")))
    assert "reached the maximum" not in bentpipe("study", file).stdout


def test_rows_that_are_no_numbers_are_refused(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = Study.load(file).run(out=out).rows
    part = out / "rows/part-00000000.parquet"
    rows.with_columns(pl.lit(float("nan")).alias("flow.completion_s")).write_parquet(part)
    with pytest.raises(bp.OutputError, match="no numbers"):
        Study.load(file).run(out=out)


def test_a_program_names_scenarios_files_and_quantities(file: Path, tmp_path: Path) -> None:
    plan = {"quantities": ["flow.completion_s"], "replications": Replications(count=2)}
    scenario = bp.Scenario.load(tmp_path / "small.toml")
    rows = [
        Study.make(name="made", scenario=one, **plan).run().rows  # type: ignore[arg-type]
        for one in (scenario, tmp_path / "small.toml", str(tmp_path / "small.toml"))
    ]
    assert all(without_wall_time(other).equals(without_wall_time(rows[0])) for other in rows)
    with pytest.raises(bp.StudyError) as caught:
        Study.make(name="made", scenario=3, **plan)  # type: ignore[arg-type]
    assert [(one.path, one.found) for one in caught.value.errors] == [("scenario", "3")]


@pytest.mark.alone
def test_ten_thousand_rows_open_in_under_a_second(file: Path, tmp_path: Path) -> None:
    file.write_text(STUDY.replace("count = 20", "count = 2500"))
    study = Study.load(file)
    with Store(tmp_path / "out", study) as store:
        # As they come from a long study: in many parts.
        for first in range(0, 2500, 125):
            replications = range(first, first + 125)
            store.add([(v, r, [1.0, None], 0.1, 9) for r in replications for v in range(4)])
        store.compact()
    start = time.perf_counter()
    rows = pl.read_parquet(tmp_path / "out" / "rows" / "*.parquet")
    assert time.perf_counter() - start < 1
    assert rows["run"].to_list() == list(range(10_000))
    assert rows["link.server-client.forward.utilisation"].null_count() == 10_000


def test_a_study_that_was_killed_goes_on_and_ends_the_same(file: Path, tmp_path: Path) -> None:
    # Two seconds on a fast machine: the first rows are kept after one.
    longer = SMALL.replace("300kB", "80MB").replace("60s", "3000s")
    (file.parent / "small.toml").write_text(longer)
    file.write_text(STUDY.replace("count = 20", "count = 50"))
    out, whole = tmp_path / "out", tmp_path / "whole"
    command = [sys.executable, "-m", "bentpipe", "study", str(file), "--workers", "1"]
    with subprocess.Popen([*command, "--out", str(out)]) as process:
        deadline = time.monotonic() + 30
        while not list(out.glob("rows/part-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    kept = pl.read_parquet(out / "rows" / "*.parquet")
    assert 0 < kept.height < 200
    assert not (out / "summary.json").exists()
    # A move that was cut short.
    (out / "rows" / ".part-00000099.parquet.tmp").write_bytes(b"PAR1")
    study = Study.load(file)
    rows = study.run(out=out).rows
    assert kept.sort("run").equals(rows.filter(pl.col("run").is_in(kept["run"].implode())))
    again = study.run(out=whole)
    assert without_wall_time(again.rows).equals(without_wall_time(rows))
    assert (out / "summary.json").read_bytes() == (whole / "summary.json").read_bytes()
    assert len(list((out / "rows").iterdir())) == 1


def test_ctrl_c_keeps_what_is_finished(file: Path, tmp_path: Path) -> None:
    # Longer than the first rows are on their way.
    (file.parent / "small.toml").write_text(SMALL.replace("300kB", "3MB").replace("60s", "300s"))
    file.write_text(STUDY.replace("count = 20", "count = 50"))
    study, out = Study.load(file), tmp_path / "out"

    def interrupt(done: int) -> None:
        if done >= 7:
            signal.raise_signal(signal.SIGINT)

    results = study.run(out=out, workers=1, progress=interrupt)
    assert not results.complete
    assert 7 <= results.rows.height < 200
    assert json.loads((out / "summary.json").read_text())["complete"] is False
    calls: list[int] = []
    assert study.run(out=out, progress=calls.append).complete
    assert calls[0] > results.rows.height
    # A finished study runs nothing.
    calls.clear()
    assert study.run(out=out, progress=calls.append).complete
    assert not calls


def test_rows_that_are_there_twice_count_once(file: Path, tmp_path: Path) -> None:
    # As after a kill between the part that holds all and the removal of the others.
    study, out = Study.load(file), tmp_path / "out"
    results = study.run(out=out)
    part = out / "rows" / "part-00000000.parquet"
    part.with_name("part-00000001.parquet").write_bytes(part.read_bytes())
    assert study.run(out=out).rows.equals(results.rows)
    assert len(list((out / "rows").iterdir())) == 1


def test_another_study_is_refused_with_what_differs(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert bentpipe("study", file, "--out", out).returncode == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    changes: list[tuple[str, str, str, str]] = [
        ("study.toml", STUDY, STUDY.replace("count = 20", "count = 20\nseed = 7"), "replications"),
        ("study.toml", STUDY, STUDY.replace("hybla", "vegas"), "vegas"),
        ("small.toml", SMALL, SMALL.replace("300kB", "301kB"), "scenarios"),
    ]
    for name, right, wrong, answer in changes:
        (file.parent / name).write_text(wrong)
        done = bentpipe("study", file, "--out", out)
        assert (done.returncode, done.stdout) == (2, "")
        assert answer in done.stderr
        (file.parent / name).write_text(right)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    description = json.loads((out / "study.json").read_text())
    description |= {"bentpipe": "0.0.1", "digest": "other"}
    (out / "study.json").write_text(json.dumps(description))
    done = bentpipe("study", file, "--out", out)
    assert '"0.0.1" there' in done.stderr


def test_foreign_and_unreadable_folders_are_refused(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    assert bentpipe("study", file, "--out", foreign).returncode == 2
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]
    done = bentpipe("study", file, "--out", file / "below")
    assert (done.returncode, "cannot write" in done.stderr) == (2, True)
    out = tmp_path / "out"
    assert bentpipe("study", file, "--out", out).returncode == 0
    part = out / "rows" / "part-00000000.parquet"
    part.write_bytes(b"no parquet")
    done = bentpipe("study", file, "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert "part-00000000.parquet" in done.stderr
    assert part.read_bytes() == b"no parquet"


def test_two_processes_do_not_share_a_folder(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    with Store(tmp_path / "out", Study.load(file)):
        done = bentpipe("study", file, "--out", tmp_path / "out")
    assert (done.returncode, "another process" in done.stderr) == (2, True)


def test_the_command_prints_a_table_or_the_summary(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    done = bentpipe("study", file)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("newreno", "95 % interval", "80 runs of 4 variants"):
        assert word in done.stdout
    assert "p95" in bentpipe("study", file, "--verbose").stdout
    done = bentpipe("study", file, "--json", "--out", tmp_path / "out")
    assert done.stdout == (tmp_path / "out" / "summary.json").read_text()
    summary: dict[str, Any] = json.loads(done.stdout)
    assert (summary["study"], summary["runs"], summary["complete"]) == ("study", 80, True)
    assert len(summary["cells"]) == 8
    assert len(summary["comparisons"]) == 4
