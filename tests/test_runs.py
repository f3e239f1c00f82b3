"""Runs in Python: frames, folders, threads."""

from __future__ import annotations

import json
import shutil
import threading
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as bp
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe


@pytest.fixture
def scenario(small: Path) -> bp.Scenario:
    return bp.Scenario.load(small)


def test_a_run_has_frames_and_says_what_it_was(scenario: bp.Scenario) -> None:
    run = bp.run(scenario, seed=3)
    assert (run.name, run.seed, run.backend, run.partial) == ("small", 3, "simulator", False)
    assert run.version == bp.version()
    assert run.kernel is None
    assert run.scenario is scenario
    assert run.flows["bytes"].to_list() == [300_000]
    assert run.links.height == 2
    assert run.series["t_s"].is_sorted()
    assert run.series.columns == run.flow_series.columns
    assert run.to_dict()["jain_index"] == run.jain_index == 1.0
    assert run.recording.digest() == run.digest()


def test_frames_are_those_of_the_files(bentpipe: Bentpipe, small: Path, tmp_path: Path) -> None:
    bentpipe("run", small, "--out", tmp_path / "out")
    run = bp.run(bp.Scenario.load(small))
    for name in ("flows", "links", "flow_series", "link_series"):
        saved = pl.read_parquet(tmp_path / "out" / f"{name}.parquet")
        assert getattr(run, name).equals(saved, null_equal=True)
        assert getattr(run, name).schema == saved.schema


def test_what_was_not_recorded_is_empty_with_its_columns(scenario: bp.Scenario) -> None:
    web = bp.Scenario.load(EXAMPLES / "geo-web.toml", ["duration=100s"])
    run = bp.run(web)
    assert run.series.is_empty()
    assert run.series.columns == bp.run(scenario).series.columns
    assert bp.run(scenario).pages.columns == run.pages.columns
    assert run.pages.height > 0
    assert run.objects.height == 16 * run.pages.height


def test_series_are_not_copied(scenario: bp.Scenario) -> None:
    def starts(frame: pl.DataFrame) -> list[int]:
        """Where the numbers of each column without nulls begin in memory."""
        columns = [column for column in frame if not column.null_count()]
        arrays = [column.to_numpy(allow_copy=False) for column in columns]
        return [array.__array_interface__["data"][0] for array in arrays]

    recording = bp.run(scenario).recording
    for name, columns in (("flow_series", 9), ("link_series", 7)):
        first, second = recording.table(name), recording.table(name)
        assert starts(first) == starts(second)
        assert len(set(starts(first))) == columns


def test_a_frame_outlives_its_run(scenario: bp.Scenario) -> None:
    series = bp.run(scenario).series
    expected = bp.run(scenario).series
    for seed in range(20):
        bp.run(scenario, seed=seed)
    assert series.equals(expected)


def test_a_saved_run_is_loaded_as_it_was(scenario: bp.Scenario, tmp_path: Path) -> None:
    run = bp.run(scenario.with_({"flow.0.controller": "cubic"}), seed=5)
    run.save(tmp_path / "out")
    loaded = bp.load(tmp_path / "out")
    assert loaded == run
    assert loaded.to_dict() == run.to_dict()
    assert loaded.series.equals(run.series, null_equal=True)
    assert loaded != bp.run(scenario, seed=5)
    assert loaded.scenario.seed == 5
    assert bp.run(loaded.scenario) == run


def test_a_run_of_the_command_line_is_loaded(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    sets = ["--set", "flow.0.controller=adalr", "--seed", "4"]
    bentpipe("run", small, "--out", tmp_path / "out", *sets)
    run = bp.load(tmp_path / "out")
    assert run == bp.run(bp.Scenario.load(small, ["flow.0.controller=adalr"]), seed=4)
    assert bp.run(run.scenario) == run


def test_a_saved_run_takes_its_fade_with_it(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("fade.toml", "fade.csv"):
        shutil.copy(EXAMPLES / name, here)
    run = bp.run(bp.Scenario.load(here / "fade.toml"))
    run.save(here / "out")
    (here / "out").rename(tmp_path / "there")
    shutil.rmtree(here)
    loaded = bp.load(tmp_path / "there")
    assert loaded == run
    assert bp.run(loaded.scenario) == run
    # A second save replaces the first, from its own copy.
    loaded.save(tmp_path / "there")
    assert bp.run(bp.load(tmp_path / "there").scenario) == run


def test_a_foreign_folder_is_neither_loaded_nor_overwritten(
    scenario: bp.Scenario, tmp_path: Path
) -> None:
    with pytest.raises(bp.RecordingError, match="nothing of that name") as caught:
        bp.load(tmp_path / "no")
    assert caught.value.file == str(tmp_path / "no")
    with pytest.raises(bp.RecordingError, match=r"found a folder without recording\.json"):
        bp.load(tmp_path)
    run = bp.run(scenario)
    with pytest.raises(bp.OutputError, match=r"small\.toml"):
        run.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
    run.save(tmp_path, force=True)
    assert bp.load(tmp_path) == run


def test_a_recording_that_cannot_be_read_says_where(scenario: bp.Scenario, tmp_path: Path) -> None:
    bp.run(scenario).save(tmp_path / "out")
    recording = tmp_path / "out" / "recording.json"
    totals = json.loads(recording.read_text())
    totals["seed"] = "seven"
    recording.write_text(json.dumps(totals, indent=2))
    with pytest.raises(bp.RecordingError, match="seven") as caught:
        bp.load(tmp_path / "out")
    assert (caught.value.file, caught.value.line) == (str(recording), 4)


@pytest.mark.alone
def test_other_threads_work_while_a_run_runs(scenario: bp.Scenario) -> None:
    long = scenario.with_({"duration": "200h", "flow.0.traffic": {"bulk": "unlimited"}})
    runs: list[bp.Run] = []
    thread = threading.Thread(target=lambda: runs.append(bp.run(long)))
    last, longest = time.perf_counter(), 0.0
    thread.start()
    while thread.is_alive():
        now = time.perf_counter()
        last, longest = now, max(longest, now - last)
        time.sleep(0.001)
    # A thread that had to wait for the interpreter would stand still for the whole run.
    assert runs[0].wall_s > 0.3
    assert longest < runs[0].wall_s / 2


def test_progress_comes_to_its_end(scenario: bp.Scenario) -> None:
    long = scenario.with_({"duration": "200h", "flow.0.traffic": {"bulk": "unlimited"}})
    heard: list[float] = []
    bp.run(long, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] > 0.9


def test_an_unknown_backend_is_refused(scenario: bp.Scenario) -> None:
    with pytest.raises(ValueError, match="backend") as caught:
        bp.run(scenario, backend="moon")  # type: ignore[arg-type]
    assert only(caught.value).found == "'moon'"


def only(error: BaseException) -> bp.errors.Problem:
    """The one problem of an error, whose text is the same."""
    assert isinstance(error, bp.errors.InputError)
    (problem,) = error.errors
    assert problem.message == str(error)
    return problem


@pytest.mark.parametrize(
    ("arguments", "name", "found"),
    [
        ({"seed": -1}, "seed", "-1"),
        ({"seed": 2**64}, "seed", str(2**64)),
        ({"seed": "1"}, "seed", "'1'"),
        ({"progress": 5}, "progress", "5"),
    ],
)
def test_a_wrong_argument_is_named(
    scenario: bp.Scenario, arguments: dict[str, object], name: str, found: str
) -> None:
    with pytest.raises(bp.errors.InputError) as caught:
        bp.run(scenario, **arguments)  # type: ignore[arg-type]
    problem = only(caught.value)
    assert (problem.path, problem.found) == (name, found)
    if name == "seed":
        assert problem.expected == f"a whole number from 0 to {2**64 - 1}"


@pytest.mark.parametrize("workers", [0, -1, "two"])
def test_a_wrong_number_of_workers_is_named(scenario: bp.Scenario, workers: int) -> None:
    with pytest.raises(bp.errors.InputError) as caught:
        bp.run_many([(scenario, 1)], workers=workers)
    problem = only(caught.value)
    assert (problem.path, problem.found) == ("workers", repr(workers))
