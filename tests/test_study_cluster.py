"""Studies on a Dask cluster of separate processes, one of which dies half-way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import distributed
import pytest

import bentpipe as bp
from bentpipe.study import Study, cluster
from conftest import SMALL, STUDY
from test_study import without_wall_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Bentpipe

# Dask warns of what it does itself, and of connections that the death of a worker cuts.
pytestmark = pytest.mark.filterwarnings("ignore")

OTHER_VERSION = """\
import bentpipe._native, bentpipe
bentpipe._native.version = lambda: "0.0.1"
"""


def dask(*arguments: str, preload: str | None = None, log: Path) -> subprocess.Popen[bytes]:
    """One process of the cluster."""
    command = [sys.executable, "-m", "dask", *arguments]
    if preload:
        command += ["--preload", preload]
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output)


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.stack = stack
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"
        options = ["--no-dashboard", "--port", "0", "--scheduler-file", str(self.file)]
        self.scheduler = self.started(dask("scheduler", *options, log=folder / "scheduler.log"))
        self.address = json.loads(read_when_there(self.file))["address"]

    def started(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        def end() -> None:
            process.kill()
            process.wait()

        self.stack.callback(end)
        return process

    def add_worker(self, preload: str | None = None) -> None:
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--scheduler-file"]
        folder = ["--local-directory", str(self.folder)]
        log = self.folder / "worker.log"
        process = dask("worker", *options, str(self.file), *folder, preload=preload, log=log)
        self.workers.append(self.started(process))

    def wait_for_worker(self) -> None:
        """Wait for the first worker, on a busy machine longer than a study does."""
        make: Any = distributed.Client
        with make(self.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)


def read_when_there(path: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith("}"):
            return text
        time.sleep(0.05)
    raise TimeoutError(path)


@contextmanager
def a_cluster(folder: Path) -> Iterator[Cluster]:
    folder.mkdir()
    with ExitStack() as stack:
        yield Cluster(stack, folder)


@pytest.fixture
def file(small: Path) -> Path:
    """A study of 400 runs in some hundred batches, amid which a worker can die."""
    small.write_text(SMALL.replace("300kB", "8MB").replace("60s", "1000s"))
    path = small.parent / "study.toml"
    path.write_text(STUDY.replace("count = 20", "count = 100"))
    return path


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that half-way is not after the last batch."""
    monkeypatch.setattr(cluster, "BATCH_S", 0.05)
    # On a busy machine a worker takes longer to start.
    monkeypatch.setattr(cluster, "TIMEOUT_S", 60.0)


@pytest.mark.parametrize("dask_tries_again", [True, False])
def test_the_death_of_a_worker_loses_and_repeats_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dask_tries_again: bool
) -> None:
    if not dask_tries_again:  # then we do
        monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    study = Study.load(file)
    with a_cluster(tmp_path / "dask") as machines:
        machines.add_worker()
        machines.add_worker()
        dead: list[int] = []

        def kill_one(done: int) -> None:
            if done > 100 and not dead:
                victim = machines.workers[0]
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                dead.append(done)

        there = study.run(out=tmp_path / "there", cluster=machines.address, progress=kill_one)
        assert machines.workers[1].poll() is None
    assert 100 < dead[0] < 400
    assert there.rows["run"].to_list() == list(range(400))
    here = study.run(out=tmp_path / "here")
    assert without_wall_time(here.rows).equals(without_wall_time(there.rows))
    first, second = [(tmp_path / name / "summary.json").read_bytes() for name in ("here", "there")]
    assert first == second


def test_the_death_of_the_scheduler_keeps_what_is_finished(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, out = Study.load(file), tmp_path / "out"
    with a_cluster(tmp_path / "dask") as machines:
        machines.add_worker()
        machines.wait_for_worker()
        # Dask tries as long to connect again.
        monkeypatch.setattr(cluster, "TIMEOUT_S", 5.0)

        def kill(done: int) -> None:
            if done > 50:
                machines.scheduler.kill()
                machines.scheduler.wait()

        with pytest.raises(bp.ClusterError, match="finished runs are kept"):
            study.run(out=out, cluster=machines.address, progress=kill)
    calls: list[int] = []
    assert study.run(out=out, progress=calls.append).rows.height == 400
    assert calls[0] > 50


def test_a_study_goes_on_elsewhere(file: Path, tmp_path: Path) -> None:
    study, out = Study.load(file), tmp_path / "out"

    def interrupt(done: int) -> None:
        if done > 50:
            signal.raise_signal(signal.SIGINT)

    assert not study.run(out=out, progress=interrupt).complete
    with a_cluster(tmp_path / "dask") as machines:
        machines.add_worker()
        assert study.run(out=out, cluster=machines.address).rows.height == 400


def test_another_version_on_a_worker_is_refused(file: Path, tmp_path: Path) -> None:
    preload = tmp_path / "older.py"
    preload.write_text(OTHER_VERSION)
    with a_cluster(tmp_path / "dask") as machines:
        machines.add_worker(preload=str(preload))
        with pytest.raises(bp.ClusterError, match=r"has Bentpipe 0\.0\.1; expected"):
            Study.load(file).run(out=tmp_path / "out", cluster=machines.address)
    assert not (tmp_path / "out").exists()


@contextmanager
def listening(says: bytes) -> Iterator[str]:
    """A service that is no scheduler: it says something to whoever comes, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(says)
                    kept.append(connection)

        kept: list[socket.socket] = []
        threading.Thread(target=answer, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        for connection in kept:
            connection.close()


def test_a_cluster_that_is_not_there_is_told(
    bentpipe: Bentpipe, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    for wrong in (address, "nonsense://here"):
        done = bentpipe("study", file, "--cluster", wrong, "--out", tmp_path / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"no scheduler answers at {wrong}" in done.stderr
        assert "Traceback" not in done.stderr
    done = bentpipe("study", file, "--cluster", "tls://127.0.0.1:8786", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs certificates" in done.stderr
    assert done.stderr.count("\n") == 1
    for says in (b"", b"SSH-2.0-OpenSSH_9.2\r\n"):
        with listening(says) as place:
            done = bentpipe("study", file, "--cluster", place, "--out", tmp_path / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"no scheduler answers at {place}" in done.stderr
        assert "Traceback" not in done.stderr
    blocker = tmp_path / "without" / "distributed"
    blocker.mkdir(parents=True)
    (blocker / "__init__.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", os.fspath(blocker.parent))
    done = bentpipe("study", file, "--cluster", address)
    assert (done.returncode, "bentpipe[cluster]" in done.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
