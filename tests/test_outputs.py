"""Files, processes and output: nothing is lost, mixed or silently wrong."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as bp
from bentpipe import _native
from bentpipe.console import show, table
from bentpipe.report.command import page_of
from bentpipe.report.source import recognise
from bentpipe.reproductions.reproduction import Outcome, find, save
from bentpipe.study import Study
from bentpipe.study.store import Store
from conftest import EXAMPLES, SMALL, STUDY
from test_interrupt import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Bentpipe

COMMAND = (sys.executable, "-m", "bentpipe")
LONGER = ("--set", "flow.0.traffic.download=6MB", "--set", "duration=1000s")
FOREVER_SETS = tuple(word for one in FOREVER for word in ("--set", one))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own that takes 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small disk: not root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refusal."""
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def within(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---------------------------------------------------------------------------------- several runs


def test_two_runs_into_one_folder_never_mix(small: Path, tmp_path: Path) -> None:
    scenario = bp.Scenario.load(small, [one for one in LONGER if one != "--set"])
    digests = {seed: bp.run(scenario, seed=seed).digest() for seed in (1, 2, 3)}
    out = tmp_path / "out"
    for pcap in ((), ("--pcap",)) * 2:
        running = [
            subprocess.Popen(
                [*COMMAND, "run", small, *LONGER, "--seed", str(seed), "--out", out, *pcap],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for seed in digests
        ]  # fmt: skip
        ended = [(one.communicate(timeout=60)[1], one.returncode) for one in running]
        assert 0 in {status for _, status in ended}
        for stderr, status in ended:
            assert status == 0 or "another run is writing into the folder" in stderr
        run = bp.load(out)
        assert run.digest() == digests[run.seed]
        assert [status for _, status in ended][run.seed - 1] == 0
        for part in out.glob("*.parquet"):
            assert pl.read_parquet_metadata(part)["bentpipe.seed"] == str(run.seed)
        assert {name for name in within(out) if name.startswith(".")} == set()
        assert (out / "capture.pcapng").exists() == bool(pcap)


# --------------------------------------------------------------------------------------- damage


def test_a_panic_is_an_ordinary_exception_of_one_line() -> None:
    with pytest.raises(bp.EngineError) as caught:
        _native._panic("left: 1\nright: 2")
    assert isinstance(caught.value, Exception)
    told = str(caught.value)
    assert "left: 1 right: 2 (crates/python/src/panics.rs:" in told
    assert "please report it" in told
    assert "\n" not in told


def test_a_panic_of_a_command_is_one_line(tmp_path: Path) -> None:
    panic = (
        "import sys; from bentpipe import _native, cli; from bentpipe.cli import running\n"
        "_native.schema = lambda: _native._panic('planted')\n"
        "import bentpipe; bentpipe.Scenario = None\n"
        "running.explain.callback = lambda **_: _native.schema()\n"
        "sys.argv = ['bentpipe', 'explain', 'x']; cli.main()"
    )
    environment = os.environ | {"RUST_BACKTRACE": "1"}
    command = [sys.executable, "-c", panic]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "planted" in done.stderr


def test_a_damaged_parquet_file_is_an_error_with_its_name(small: Path, tmp_path: Path) -> None:
    run = bp.run(bp.Scenario.load(small))
    run.save(tmp_path / "out")
    part = tmp_path / "out" / "flow_series.parquet"
    whole = part.read_bytes()
    chance = random.Random(13)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[-chance.randrange(1, 1500)] ^= 1 << chance.randrange(8)
        part.write_bytes(damaged)
        with pytest.raises(bp.RecordingError, match=r"flow_series\.parquet"):
            bp.load(tmp_path / "out")
    (tmp_path / "out" / "SHA256SUMS").unlink()
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[-chance.randrange(1, 1500)] ^= 1 << chance.randrange(8)
        part.write_bytes(damaged)
        with suppress(bp.RecordingError):
            assert bp.load(tmp_path / "out") == run


def test_a_damaged_fade_is_an_error_with_its_name(tmp_path: Path) -> None:
    times = pl.DataFrame({"t": [float(t) for t in range(901)], "dB": [1.0] * 901})
    text = (EXAMPLES / "fade.toml").read_text().replace("fade.csv", "fade.parquet")
    (tmp_path / "fade.toml").write_text(text)
    fade = tmp_path / "fade.parquet"
    times.write_parquet(fade)
    bp.Scenario.load(tmp_path / "fade.toml")
    whole = fade.read_bytes()
    for place in range(1, 500):
        damaged = bytearray(whole)
        damaged[-place] ^= 1
        fade.write_bytes(damaged)
        told = ["fade.parquet"]
        try:
            bp.Scenario.load(tmp_path / "fade.toml")
        except bp.ScenarioError as error:
            told = str(error).split(":")
        assert any("fade.parquet" in word for word in told)


@pytest.mark.parametrize("compression", ["gzip", "brotli", "lz4", "snappy", "zstd"])
def test_parquet_of_polars_is_read_however_it_is_compressed(
    tmp_path: Path, compression: str
) -> None:
    text = (EXAMPLES / "fade.toml").read_text().replace("fade.csv", "fade.parquet")
    (tmp_path / "fade.toml").write_text(text)
    times = pl.DataFrame({"t": [float(t) for t in range(901)], "dB": [1.0] * 901})
    times.write_parquet(tmp_path / "fade.parquet", compression=compression)  # type: ignore[arg-type]
    bp.Scenario.load(tmp_path / "fade.toml")


def test_the_digest_is_in_the_recording_and_damage_is_refused_by_load_and_report(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    bentpipe("run", small, "--out", out)
    bentpipe("run", small, "--seed", "2", "--out", other)
    assert json.loads((out / "recording.json").read_text())["digest"] == bp.load(out).digest()
    for name in sorted(within(out)):
        before = (out / name).read_bytes()
        shutil.copy(other / name, out / name)
        with pytest.raises(bp.RecordingError):
            bp.load(out)
        with pytest.raises(bp.RecordingError):
            page_of(recognise(out))
        (out / name).write_bytes(before)
    assert bp.load(out).seed == 1
    assert page_of(recognise(out)).title == "small"


def test_a_damaged_part_of_a_study_says_what_is_safe_to_delete(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    study, out = Study.load(file), tmp_path / "out"
    rows = study.run(out=out).rows
    part = out / "rows" / "part-00000000.parquet"
    whole = part.read_bytes()

    def changed() -> None:
        rows.with_columns(pl.col("flow.completion_s") + 1e-9).write_parquet(part)

    def of_another_study() -> None:
        file.write_text(STUDY.replace("count = 20", "count = 20\nseed = 7"))
        Study.load(file).run(out=tmp_path / "other")
        file.write_text(STUDY)
        shutil.copy(tmp_path / "other" / "rows" / part.name, part)

    def one_bit() -> None:
        damaged = bytearray(whole)
        damaged[len(whole) // 2] ^= 1
        part.write_bytes(damaged)

    for damage in (changed, of_another_study, one_bit, lambda: part.write_bytes(whole[:-9])):
        damage()
        told = refused(bentpipe("study", file, "--out", out))
        assert str(part) in told
        assert "safe to delete" in told
    part.unlink()
    again = study.run(out=out).rows
    assert again.drop("wall_s").equals(rows.drop("wall_s"))


def test_files_of_a_study_that_were_changed_are_not_reported(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    Study.load(file).run(out=out)
    assert page_of(recognise(out)).title == "Small"
    for name in ("summary.json", "study.json"):
        text = (out / name).read_text()
        (out / name).write_text(text.replace("20", "21", 1))
        assert name in refused(bentpipe("report", out))
        (out / name).write_text(text)
    file.write_text(STUDY.replace("count = 20", "count = 20\nseed = 7"))
    Study.load(file).run(out=tmp_path / "other")
    shutil.copy(tmp_path / "other" / "summary.json", out)
    with pytest.raises(bp.errors.BentpipeError, match="that of another"):
        page_of(recognise(out))


# --------------------------------------------------------------------------------------- stdout


def piped(command: list[str], folder: Path, where: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose stdout is full, closed, or a pipe that nobody reads."""
    line = {"full": '"$@" >/dev/full', "closed": '"$@" >&-', "pipe": '"$@" | true'}[where]
    shell = ["bash", "-c", f"set -o pipefail; {line}", "bash", *COMMAND, *command]
    return subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("where", ["full", "closed"])
def test_a_result_that_cannot_be_printed_is_saved(
    file: Path, small: Path, tmp_path: Path, where: str
) -> None:
    commands = (["run", small.name], ["run", small.name, "--json"], ["study", file.name])
    for command in commands:
        told = refused(piped(command, tmp_path, where))
        assert "stdout" in told
        if where == "closed":  # known before anything runs
            assert "saved" not in told
            continue
        assert "; the result was saved to " in told
        (result,) = tmp_path.glob("bentpipe-*.json")
        assert str(result) in told
        found = json.loads(result.read_text())
        if command[0] == "run":
            assert found["digest"] == bp.run(bp.Scenario.load(small)).digest()
        else:
            assert found["runs"] == 80
        result.unlink()
    told = refused(piped(["run", small.name, "--out", "out"], tmp_path, where))
    assert where == "closed" or "; the result is in out" in told
    for command in (["controllers"], ["--help"], ["explain", small.name, "--json"]):
        assert "stdout" in refused(piped(command, tmp_path, where))


def test_a_reader_that_has_enough_leaves_no_file_and_no_error(
    file: Path, small: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    for command in (
        ["run", small.name],
        ["run", small.name, "--json"],
        ["study", file.name],
        ["controllers"],
        ["--help"],
    ):
        done = piped(command, tmp_path, "pipe")
        assert (done.returncode, done.stderr) == (0, ""), command
    assert sorted(tmp_path.iterdir()) == before
    piped(["run", small.name, "--out", "out"], tmp_path, "pipe")
    assert (tmp_path / "out/flows.parquet").exists()


# -------------------------------------------------------------------------------------- signals


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_and_a_study_end_with_what_they_have(
    small: Path, file: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    command = [*COMMAND, "run", str(small), *FOREVER_SETS, "--out", str(out)]
    status, stderr = ended_by(number, command, lambda: out.exists())
    assert (status, stderr) == (130, "")
    assert bp.load(out).partial
    small.write_text(SMALL.replace("300kB", "40MB").replace("60s", "1000s"))
    file.write_text(STUDY.replace("count = 20", "count = 500"))
    out = tmp_path / "study"
    command = [*COMMAND, "study", str(file), "--out", str(out), "--workers", "1"]
    status, stderr = ended_by(number, command, lambda: any(out.glob("rows/*.parquet")))
    assert (status, stderr) == (130, "")
    assert json.loads((out / "summary.json").read_text())["complete"] is False


def ended_by(
    number: signal.Signals, command: list[str], is_ready: Callable[[], bool]
) -> tuple[int, str]:
    """Exit status and stderr of a command that a signal ends while it works."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 30
        while not is_ready() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    return process.returncode, stderr


@pytest.mark.alone
def test_ctrl_c_in_the_first_second_says_nothing_more(small: Path, file: Path) -> None:
    chance = random.Random(13)
    commands = ([*COMMAND, "run", str(small), *FOREVER_SETS], [*COMMAND, "study", str(file)])
    for number in range(12):
        with subprocess.Popen(
            commands[number % 2], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            wait_for_engine(process.pid)
            time.sleep(chance.uniform(0, 0.6))
            process.send_signal(signal.SIGTERM if number % 3 == 2 else signal.SIGINT)
            _, stderr = process.communicate(timeout=30)
        # The study may have come to its end.
        assert process.returncode in ((130,) if number % 2 == 0 else (130, 0)), stderr
        assert stderr in ("", "bentpipe: interrupted\n")


def test_a_signal_to_an_ending_interpreter_leaves_the_exit_status() -> None:
    code = """
import os, signal, sys
sys.argv = ["bentpipe"]
import bentpipe.signals

class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)

late = Late()
sys.exit(5)
"""
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, check=False).returncode == 5


def test_an_interrupted_string_leaves_the_exit_status(tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text("""
import sys
sys.argv = ["bentpipe"]
import bentpipe.signals

try:
    exec("raise KeyboardInterrupt")
except KeyboardInterrupt:
    sys.exit(130)
""")
    command = [sys.executable, "-m", "ending"]
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode == 130


def wait_for_engine(process: int) -> None:
    """Wait until a process begins to load the engine: what is before that is Python itself."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with open(f"/proc/{process}/maps", encoding="utf-8") as maps:  # noqa: PTH123
            if "_native" in maps.read():
                return


# ------------------------------------------------------------------------------------ full disks


def test_a_full_disk_loses_no_result(
    bentpipe: Bentpipe, small: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    expected = bp.run(bp.Scenario.load(small, ["record.interval=1ms"])).digest()
    dense = ("--set", "record.interval=1ms")
    for options in (dense, (*dense, "--pcap")):
        told = refused(bentpipe("run", small, *options, "--out", small_disk / "out"))
        assert "No space left on device" in told
        assert "; the result was saved to " in told
        place = told.strip().rpartition(" ")[2]
        assert bp.load(place).digest() == expected
        assert within(small_disk) == set(), "what was begun is removed"


def test_a_study_on_a_full_disk_leaves_whole_parts_and_goes_on(
    bentpipe: Bentpipe, file: Path, small_disk: Path
) -> None:
    file.write_text(STUDY.replace("count = 20", "count = 3000"))
    out = small_disk / "out"
    told = refused(bentpipe("study", file, "--out", out))
    assert "No space left on device" in told
    assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")]
    with Store(out, Study.load(file)) as store:
        store.rows()
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    again = bentpipe("study", file, "--out", out, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["runs"] == 12_000


def test_a_paper_and_a_report_on_a_full_disk_leave_what_was_there(
    bentpipe: Bentpipe, small: Path, small_disk: Path
) -> None:
    paper, run = small_disk / "paper", small_disk / "out"
    paper.mkdir()
    reproduction = find("adalr")
    outcome = Outcome(reproduction, reproduction.rows({}, complete=False), {}, complete=False)
    assert bentpipe("run", small, "--out", run).returncode == 0
    (small_disk / "rest").write_bytes(bytes(16 << 10))
    before = within(run)
    with pytest.raises(bp.OutputError, match="No space left"):
        save(outcome, paper)
    assert within(paper) == set()
    assert "No space left" in refused(bentpipe("report", run))
    assert within(run) == before
    assert bp.load(run).seed == 1


# ---------------------------------------------------------------------------------------- others


def test_the_folder_of_a_study_that_is_being_made_is_recognised(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".study.json.tmp").write_text("{")
    handle = os.open(out, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    assert "another process is running the study" in refused(bentpipe("study", file, "--out", out))
    os.close(handle)
    assert bentpipe("study", file, "--out", out).returncode == 0


def test_tables_keep_their_values_at_20_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    ours, theirs = pty.openpty()
    listed = table("flow", *(f"column {number}" for number in range(8)))
    rows = [[f"{number}.{row}234567" for number in range(9)] for row in range(2)]
    for row in rows:
        listed.add_row(*row)
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        show("a title", listed)
        terminal.flush()
        drawn = os.read(ours, 1 << 16).decode()
    os.close(ours)
    for value in (cell for row in rows for cell in row):
        assert value in drawn
    assert max(map(len, drawn.split("\r\n"))) <= 20
