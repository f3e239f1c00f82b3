"""The study of hints on a measured path: benches/measured-hints, with LeoReplayer's files."""

from __future__ import annotations

import gzip
import shutil
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from conftest import ROOT
from test_traces import data

if TYPE_CHECKING:
    from pathlib import Path

STUDY = ROOT / "benches" / "measured-hints"
NONE, EXACT = '{ source = "none" }', '{ source = "clock" }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The study with its data, as docs/path-hints.md says."""
    for name in ("scenario.toml", "study.toml"):
        shutil.copy(STUDY / name, tmp_path)
    for name in ("bw", "delay"):
        packed = data(f"leoreplayer/{name}_example.txt.gz").read_bytes()
        (tmp_path / f"{name}.txt").write_bytes(gzip.decompress(packed))
    return tmp_path


def goodputs(folder: Path, controller: str, hints: str) -> list[float]:
    """Goodput in Mbit/s of four seeds."""
    sets = [f"flow.0.controller={controller}", f"flow.0.path_hints={hints}"]
    scenario = bp.Scenario.load(folder / "scenario.toml", sets)
    runs = bp.run_many([(scenario, seed) for seed in range(1, 5)])
    return [run.flows["goodput_bps"][0] / 1e6 for run in runs]


def test_a_wrapper_without_hints_is_its_base(folder: Path) -> None:
    cubic = goodputs(folder, '"cubic"', NONE)
    assert goodputs(folder, '"satcp"', NONE) == cubic == goodputs(folder, '"starquic"', NONE)
    assert goodputs(folder, '"cubic"', EXACT) == cubic


@pytest.mark.parametrize("controller", ["satcp", "leocc"])
def test_exact_hints_gain_with_each_seed(folder: Path, controller: str) -> None:
    without, exact = (goodputs(folder, f'"{controller}"', hints) for hints in (NONE, EXACT))
    gains = [one - other for one, other in zip(exact, without, strict=True)]
    assert min(gains) > 0, gains


def test_hints_fall_on_the_measured_hand_overs(folder: Path) -> None:
    """Each 15 s the delay is above 30 ms for some samples of 10 ms: within 150 ms of a hint."""
    delays = [int(text) for text in (folder / "delay.txt").read_text().split()]
    peaks = [number / 100 for number, delay in enumerate(delays) if delay > 30]
    assert {round((at - 8.73) / 15) for at in peaks} == set(range(8))
    assert all(abs((at - 8.73 + 7.5) % 15 - 7.5) < 0.15 for at in peaks), peaks


def test_a_gap_of_45_ms_detects_each_hand_over_and_nothing_else(folder: Path) -> None:
    """A detection comes up to a round trip of 60 ms after the delays, which are within 150 ms."""
    sets = ["flow.0.controller='leocc'", "flow.0.path_hints={ source = 'detector' }"]
    run = bp.run(bp.Scenario.load(folder / "scenario.toml", sets), seed=1)
    times = run.table("path_changes_series")["t_s"].to_list()
    assert [round((time - 8.73) / 15) for time in times] == list(range(8)), times
    assert all(-0.15 < (time - 8.73 + 7.5) % 15 - 7.5 < 0.21 for time in times), times
