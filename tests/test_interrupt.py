"""Ctrl-C: exit status 130, and what was completed is kept, marked as partial."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import bentpipe
from bentpipe.reproductions.reproduction import find, save

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone

FOREVER = ("duration=80000h", 'flow.0.traffic={bulk="unlimited"}', "record.interval=1h")


def test_a_run_leaves_a_partial_recording(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sets = [argument for override in FOREVER for argument in ("--set", override)]
    command = [sys.executable, "-m", "bentpipe", "run", str(small), "--json", *sets]
    with subprocess.Popen(
        [*command, "--out", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(200):  # the folder is made just before the run
            if folder.exists():
                break
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")
    recording = json.loads(output)
    assert recording["partial"] is True
    assert recording["flows"][0]["bytes"] > 0
    assert json.loads((folder / "recording.json").read_text()) == recording


def interrupt_after(seconds: float) -> None:
    """Ctrl-C for this process."""
    threading.Timer(seconds, signal.raise_signal, [signal.SIGINT]).start()


def test_a_program_gets_the_partial_recording(small: Path) -> None:
    scenario = bentpipe.Scenario.load(small, FOREVER)
    interrupt_after(0.3)
    with pytest.raises(bentpipe.Interrupted) as caught:
        bentpipe.run(scenario)
    (recording,) = caught.value.recordings
    assert recording is not None
    assert recording.partial
    assert caught.value.run is not None
    assert caught.value.run.partial


def test_of_many_runs_the_finished_ones_are_kept(small: Path) -> None:
    short, forever = bentpipe.Scenario.load(small), bentpipe.Scenario.load(small, FOREVER)
    interrupt_after(0.5)
    with pytest.raises(bentpipe.Interrupted) as caught:
        bentpipe.run_many([(short, 1), (short, 2), (forever, 1)], workers=2)
    first, second, third = caught.value.runs
    assert first is not None
    assert second is not None
    assert (first.seed, second.seed) == (1, 2)
    assert third is None


def test_an_exception_in_the_callback_ends_the_run(small: Path) -> None:
    def fail(fraction: float) -> None:
        raise LookupError(str(fraction))

    with pytest.raises(LookupError):
        bentpipe.run(bentpipe.Scenario.load(small, FOREVER), progress=fail)


def test_of_a_paper_the_measured_rows_are_kept(tmp_path: Path) -> None:
    def interrupt(done: int) -> None:
        if done == 40:
            signal.raise_signal(signal.SIGINT)

    outcome = find("adalr").run(workers=1, progress=interrupt)
    assert not outcome.complete
    assert outcome.to_dict()["partial"] is True
    rows = {row.id: row for row in outcome.rows}
    assert rows["ftp/no-loss/sack/delayed"].measured is not None
    assert rows["both/goodput/sack/delayed"].note == "not measured"
    save(outcome, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "plots.json",
        "rows.json",
        "rows.txt",
    ]
    assert "partial" in (tmp_path / "rows.txt").read_text()
