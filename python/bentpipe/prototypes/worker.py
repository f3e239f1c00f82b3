"""The program of a process that runs jobs with controllers in Python, for `pool`."""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from bentpipe import _native
from bentpipe.prototypes.loading import described, search, users_traceback
from bentpipe.prototypes.pool import Failure, Setup
from bentpipe.prototypes.watch import BlockedError, Watch, perform


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
        recording = perform(_native.run, scenario, seed=seed, controllers=controllers)
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
            watch = Watch(
                setup.blocked_s, int(sys.argv[2]), lambda text: connection.send(Failure(text))
            )
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
    except (EOFError, ConnectionError):
        return  # The other end has gone, perhaps without having read the last answer.


if __name__ == "__main__":
    main()
