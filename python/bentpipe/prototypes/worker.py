"""The program of a process that runs jobs with controllers in Python, for `pool`.

A timer looks for a method that blocks: a call that was under way at one tick and is still under way
much later. A method that never returns to the interpreter is found by a thread of `faulthandler`,
which writes the traceback and ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.prototypes.loading import search, users_traceback
from bentpipe.prototypes.pool import Failure, Setup

if TYPE_CHECKING:
    from types import FrameType

TICKS = 4
"""Looks at the running call within the time after which it has blocked."""


class BlockedError(BaseException):
    """A call has taken too long. No `except Exception` of a controller catches it."""


class Watch:
    """Looks for calls that take longer than `limit_s`."""

    def __init__(self, connection: Connection[Any, Any], limit_s: float, dump: int) -> None:
        self.connection = connection
        self.limit_s = limit_s
        self.dump = dump
        self.call: FrameType | None = None
        self.since = 0.0

    def start(self) -> None:
        """Begin to look."""
        self.arm()
        signal.signal(signal.SIGALRM, self.tick)
        signal.setitimer(signal.ITIMER_REAL, self.limit_s / TICKS, self.limit_s / TICKS)

    def arm(self) -> None:
        """End the process if there is no tick for long."""
        faulthandler.dump_traceback_later(2 * self.limit_s, exit=True, file=self.dump)

    def tick(self, _signal: int, frame: FrameType | None) -> None:
        """Compare the running call with that of the last tick."""
        self.arm()
        call = outermost(frame)
        now = time.monotonic()
        if call is None or call is not self.call:
            self.call, self.since = call, now
            return
        took_s = now - self.since
        if took_s >= 2 * self.limit_s:
            # The controller has caught the exception and goes on.
            self.connection.send(Failure(blocked(took_s)))
            os._exit(1)
        if took_s >= self.limit_s:
            raise BlockedError(blocked(took_s))


def blocked(took_s: float) -> str:
    """The description of a call without end."""
    return f"a method blocks: one call has taken {took_s:.0f} s"


def outermost(frame: FrameType | None) -> FrameType | None:
    """The call of the engine that is under way; None while no Python runs for it."""
    inner = None
    while frame is not None and frame.f_code is not perform.__code__:
        inner, frame = frame, frame.f_back
    return inner if frame is not None else None


def perform(scenario: _native.Scenario, seed: int, controllers: Any) -> _native.Recording:
    """Run one job. The frame of this function marks where the controllers begin."""
    return _native.run(scenario, seed=seed, controllers=controllers)


def described(error: BaseException) -> str:
    """The last line of a traceback, and the traceback of the user's file if there is one."""
    *trace, last = users_traceback(error).splitlines()
    return "\n".join([last.removeprefix("bentpipe.errors."), *trace])


class Jobs:
    """The cases of a setup, ready to run."""

    def __init__(self, setup: Setup) -> None:
        self.folder = setup.folder
        self.quantities = [taken.native() for taken in setup.quantities]
        totals: dict[str, object] = {} if setup.folder else {"record": {}}
        self.cases = [
            (
                case.scenario.with_(totals),
                {flow: setup.makers[name] for flow, name in case.controllers},
            )
            for case in setup.cases
        ]

    def answer(self, number: int, case: int, seed: int) -> tuple[Any, ...]:
        """Run one job: its quantities, wall time and events."""
        scenario, controllers = self.cases[case]
        recording = perform(scenario, seed, controllers)
        if self.folder:
            _native.OutputFolder(self.folder / str(number)).save(recording, scenario)
        values = [quantity.of(recording) for quantity in self.quantities]
        return values, recording.wall_s, recording.events


def main() -> None:
    """Run jobs until there are no more, or the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    try:
        jobs = None
        watch = None
        try:
            setup: Setup = connection.recv()
            for folder in setup.search:
                search(folder)
            jobs = Jobs(setup)
            watch = Watch(connection, setup.blocked_s, int(sys.argv[2]))
        except Exception as error:  # the classes of users, which fail in any way
            problem = Failure(f"it cannot be imported there: {described(error)}")
        while (job := connection.recv()) is not None:
            if jobs is None or watch is None:
                connection.send(problem)
                continue
            watch.start()
            try:
                connection.send(jobs.answer(*job))
            except BlockedError as error:
                connection.send(Failure(f"{error}\n{users_traceback(error)}"))
            except (Exception, SystemExit) as error:
                connection.send(Failure(described(error)))
    except EOFError:
        return


if __name__ == "__main__":
    main()
