"""Exceptions that Bentpipe raises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from bentpipe._native import Recording
    from bentpipe.runs import Run


ISSUES = "https://github.com/bentpipe/bentpipe/issues"


class BentpipeError(Exception):
    """Base class of all errors that the caller can correct."""


@dataclass(frozen=True)
class Problem:
    """One error of a file, an override or a value of a program."""

    path: str
    """Path in the scenario or study: `link[0].forward.queue`; empty for the whole."""
    expected: str
    found: str
    reason: str | None = None
    """The reason why the value is invalid."""
    suggestion: str | None = None
    """The nearest valid name or value."""
    file: str | None = None
    line: int | None = None
    """Line of the file, or row of a table, from 1."""
    column: int | None = None
    """Column in characters, from 1."""
    set: str | None = None
    """The override as it was written: `--set PATH=VALUE`, or `with PATH=VALUE` in a program."""
    message: str = ""
    """The whole message as text, with the line of the file."""

    def below(self, place: str) -> str:
        """The message in one line, without the beginning `place` of its path."""
        reason = f": {self.reason}" if self.reason else ""
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        path = self.path.removeprefix(place)
        return f"{path}: expected {self.expected}, found {self.found}{reason}{hint}"


class InputError(BentpipeError, ValueError):
    """Invalid input, in a file or in arguments.

    `message` lists every error: its place, the expected value, the value found, the nearest valid
    name. `errors` has the same as data, in the order of the file. `file` and `line` (from 1) are
    the place of the first error, or None.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        errors: Sequence[Problem] = (),
    ) -> None:
        super().__init__(message, file, line, errors)
        self.message = message
        self.file = file
        self.line = line
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return self.message

    @classmethod
    def of_value(cls, path: str, expected: str, found: str) -> Self:
        """The error of one value of a program, at `path` or of the argument of that name."""
        message = f"{path}: expected {expected}, found {found}"
        problem = Problem(path=path, expected=expected, found=found, message=message)
        return cls(message, errors=[problem])


class ScenarioError(InputError):
    """Invalid scenario."""


class StudyError(InputError):
    """Invalid study."""


class OrbitError(InputError):
    """Invalid file of `bentpipe orbit`, or one whose places have no path."""


class TraceError(InputError):
    """A file without a trace or measurement, or one that cannot be used in this way."""


class CaptureError(InputError):
    """A file that cannot be read, is no capture, or has no packets of TCP. `file` is its name."""


class RecordingError(InputError):
    """A folder that has no recording, or a recording that cannot be read.

    `file` is the folder or the invalid file in it. `line` (from 1) is the place in a text file.
    """


class ClusterError(BentpipeError, RuntimeError):
    """A cluster that is not available, has another version, or was lost. Finished runs are kept."""


class SeriesError(BentpipeError, LookupError):
    """A figure of a series that the run did not record. The message names the missing setting."""


class ControllerError(BentpipeError, ValueError):
    """A controller in Python that no flow can use, that violates the interface, or that failed.

    If it failed in one of many runs, `run` is the number of that run, from 0, and `seed` its seed.
    `finished` is the number of finished runs that were kept. After `run_many`, `runs` has for each
    job its run, or None if it was not completed.
    """

    run: int | None = None
    seed: int | None = None
    finished: int | None = None
    runs: Sequence[Run | None] = ()


class OutputError(BentpipeError, OSError):
    """An output folder that cannot be used.

    `recording` is the result of a run whose capture could not be written.
    """

    recording: Recording | None = None


class EngineError(RuntimeError):
    """A defect of Bentpipe: its engine has panicked. Please report the message with the scenario.

    Runs that were under way are lost; the engine itself can still be used.
    """

    __slots__ = ()  # the layout of the class that PyO3 raises, which gets this one as its base

    def __init__(self, panic: str) -> None:
        from bentpipe import _native

        place = _native._panic() or "an unknown place"
        super().__init__(
            f"a defect of Bentpipe {_native.version()}: {' '.join(panic.split())} ({place});"
            f" please report it with the command and the scenario at {ISSUES}"
        )


class KernelError(BentpipeError, RuntimeError):
    """A run that this machine's kernel does not support. The message names what is missing."""


class RainError(BentpipeError, ValueError):
    """A value that the rain models reject.

    `parameter` is the name of the argument or field. `expected` describes the valid values.
    """

    def __init__(self, parameter: str, expected: str, found: object) -> None:
        super().__init__(parameter, expected, found)
        self.parameter = parameter
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.parameter}: expected {self.expected}, found {self.found}"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run, with the results completed until then.

    `runs` has one entry for each job: its run, or None if it was not completed. A single run that
    was stopped has `partial` set and is also the attribute `run`. `recordings` has the same runs as
    recordings.
    """

    def __init__(self, recordings: Sequence[Recording | None]) -> None:
        super().__init__("interrupted")
        self.recordings = recordings
        self.runs: Sequence[Run | None] = []
        self.run: Run | None = None
