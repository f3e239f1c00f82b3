"""Runs with controllers in Python, in processes of this machine.

Threads would wait for each other, because only one of them runs Python at a time, and a method that
blocks could not be stopped. A process gets one job at a time, so that a failure belongs to a job.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

# cloudpickle copies classes of modules that are not imported, and would copy the base class.
import bentpipe.controller  # noqa: F401
from bentpipe.errors import BentpipeError, InputError
from bentpipe.systems import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bentpipe._native import Scenario
    from bentpipe.prototypes.loading import Maker
    from bentpipe.study.quantities import Taken

BLOCKED_S = 10.0
"""A call of a controller's method that takes longer has blocked."""

Row = tuple[int, list[float | None], float, int]
"""Index of the job, quantities, wall time in seconds, events."""


@dataclass(frozen=True)
class Case:
    """A scenario with the controllers of its flows: names of flows, and names of controllers."""

    scenario: Scenario
    controllers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Setup:
    """The work of a process: its jobs are each the index of a case and a seed.

    With `folder`, whole recordings are saved there by the index of their job; otherwise the
    `quantities` of each run are returned.
    """

    cases: Sequence[Case]
    makers: Mapping[str, Maker]
    quantities: Sequence[Taken] = ()
    folder: Path | None = None
    search: tuple[str, ...] = ()
    blocked_s: float = BLOCKED_S


@dataclass(frozen=True)
class Failure:
    """The end of a run by its controller."""

    description: str
    """What happened, with the traceback of the user's file."""


class RunFailedError(Exception):
    """A run that its controller ended. `job` is the index among the jobs of the call."""

    def __init__(self, job: int, description: str) -> None:
        super().__init__(job, description)
        self.job = job
        self.description = description


class Worker:
    """A process and the connection to it."""

    def __init__(self, packed: bytes) -> None:
        ours, theirs = socket.socketpair()
        # Kept if the process is ended from inside: the place where a method blocks.
        self.dump = tempfile.TemporaryFile()  # noqa: SIM115
        descriptors = (theirs.fileno(), self.dump.fileno())
        command = [sys.executable, "-m", "bentpipe.prototypes.worker", *map(str, descriptors)]
        with theirs:
            # Lines that a controller prints must not mix with the results of this process.
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=descriptors,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                process_group=0,
            )  # fmt: skip
        self.connection: Any = Connection(ours.detach())
        self.job: int | None = None
        self.connection.send_bytes(packed)

    def give(self, job: int | None, content: tuple[int, int, int] | None) -> None:
        """Send a job, or None when there are no more."""
        self.job = job
        self.connection.send(content)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        # A process that lives would print that its connection is lost.
        self.connection.close()
        self.dump.close()

    def death(self) -> str:
        """Why the process ended."""
        status = self.process.wait()
        self.dump.seek(0)
        dumped = self.dump.read().decode(errors="replace").strip()
        if dumped:
            return f"a method blocks\n{dumped}"
        if status < 0:
            return f"its process was ended by {signal.Signals(-status).name}"
        return f"its process ended with status {status}"


def run(
    setup: Setup,
    jobs: Sequence[tuple[int, int]],
    sink: Callable[[list[Row]], object],
    workers: int | None,
) -> None:
    """Run jobs, by default in one process for each core; rows are passed on as they arrive.

    `RunFailedError` if a controller fails. The rows before it have been passed on. `BentpipeError`
    on Windows, where processes get no open descriptors and no alarm finds a method that blocks.
    """
    import cloudpickle

    if sys.platform == "win32":
        raise BentpipeError(
            "many runs with a controller in Python need Linux or macOS; Windows has single runs"
            " with it (`bentpipe.run`), and many runs with all controllers that are compiled"
        )

    asked: Any = workers  # whatever a program gives
    if asked is not None and not (isinstance(asked, int) and asked >= 1):
        raise InputError.of_value("workers", "a whole number of processes from 1", repr(workers))
    packed = cloudpickle.dumps(setup)
    count = min(workers or cores(), len(jobs))
    left = list(reversed(range(len(jobs))))
    with ExitStack() as stack:
        busy: dict[Connection[Any, Any], Worker] = {}
        for _ in range(count):
            worker = Worker(packed)
            stack.callback(worker.end)
            busy[worker.connection] = worker
            next_job(worker, left, jobs)
        while busy:
            rows: list[Row] = []
            failed: RunFailedError | None = None
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                job = worker.job
                assert job is not None
                answer = received(worker)
                if isinstance(answer, Failure):
                    failed = failed or RunFailedError(job, answer.description)
                    continue
                rows.append((job, *answer))
                if not next_job(worker, left, jobs):
                    del busy[worker.connection]
            if rows:
                sink(rows)
            if failed:
                raise failed


def next_job(worker: Worker, left: list[int], jobs: Sequence[tuple[int, int]]) -> bool:
    """Give a worker the next job; false if none is left."""
    if not left:
        worker.give(None, None)
        return False
    job = left.pop()
    try:
        worker.give(job, (job, *jobs[job]))
    except OSError:
        worker.job = job  # the process has died; reading from it says why
    return True


def received(worker: Worker) -> Any:
    """The answer of a worker, or the failure that ended it."""
    try:
        return worker.connection.recv()
    except (EOFError, OSError):
        return Failure(worker.death())
