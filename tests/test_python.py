"""The Python interface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import bentpipe
from bentpipe import _native
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_engine_is_compiled_for_speed() -> None:
    assert bentpipe.build_profile() == "release"


def test_a_scenario_tells_what_it_is(small: Path) -> None:
    scenario = bentpipe.Scenario.load(small, ["seed=9"])
    assert (scenario.name, scenario.seed, scenario.duration_s) == ("small", 9, 60.0)


def test_a_wrong_scenario_says_where(small: Path) -> None:
    small.write_text(small.read_text().replace("newreno", "nevreno"))
    with pytest.raises(bentpipe.ScenarioError, match="newreno") as caught:
        bentpipe.Scenario.load(small)
    assert (caught.value.file, caught.value.line) == (str(small), 13)


def test_recordings_do_not_depend_on_the_number_of_workers(small: Path) -> None:
    scenario = bentpipe.Scenario.load(small)
    jobs = [(scenario, seed) for seed in range(8)]
    done: list[int] = []
    one = bentpipe.run_many(jobs, workers=1, progress=done.append)
    three = bentpipe.run_many(jobs, workers=3)
    single = [bentpipe.run(scenario, seed=seed) for seed in range(8)]
    digests = [[recording.digest() for recording in runs] for runs in (one, three, single)]
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests[0])) > 1
    assert done == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_scenario_has_its_own_seed(small: Path) -> None:
    scenario = bentpipe.Scenario.load(small, ["seed=5"])
    (recording,) = bentpipe.run_many([(scenario, None)])
    assert recording.seed == bentpipe.run(scenario).seed == 5


def test_totals_are_a_dictionary_and_tables_are_data_frames(small: Path) -> None:
    recording = _native.run(bentpipe.Scenario.load(small))
    assert recording.to_dict() == json.loads(recording.to_json())
    (flow,) = recording.to_dict()["flows"]
    (typed,) = recording.flows
    assert typed.tcp is not None
    assert flow == {
        name: value
        for name, value in (typed.to_dict() | typed.tcp.to_dict()).items()
        if name
        not in (
            "tcp",
            "quic",
            "stp",
            "xtp",
            "sctp",
            "udp",
            "pages",
            "offered_bytes",
            "burst_completion_s",
        )
    }
    assert (recording.kernel, recording.backend) == (None, "simulator")
    assert recording.table("flows")["bytes"].to_list() == [300_000]
    series = recording.table("flow_series")
    assert series["t_s"].is_sorted()
    assert series["delivered_bytes"].is_sorted()
    with pytest.raises(KeyError):
        recording.table("fishes")


def test_a_folder_takes_one_recording(small: Path, tmp_path: Path) -> None:
    scenario = bentpipe.Scenario.load(small)
    folder = bentpipe.OutputFolder(tmp_path / "out")
    folder.save(_native.run(scenario, capture=folder), scenario)
    assert (tmp_path / "out" / "capture.pcapng").stat().st_size > 0
    with pytest.raises(ValueError, match="already"):
        folder.save(_native.run(scenario), scenario)


def test_an_unused_folder_leaves_nothing(tmp_path: Path) -> None:
    folder = bentpipe.OutputFolder(tmp_path / "out")
    assert (tmp_path / "out").exists()
    del folder
    assert not (tmp_path / "out").exists()


def test_the_schema_is_json() -> None:
    assert {"link", "flow"} <= json.loads(bentpipe.schema())["properties"].keys()


def test_the_reference_in_the_docs_is_the_one_of_the_engine() -> None:
    # Run `make generated`.
    assert (ROOT / "docs" / "scenario.md").read_text() == bentpipe.reference()
