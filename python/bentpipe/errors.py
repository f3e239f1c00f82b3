"""What can go wrong, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Recording
    from bentpipe.runs import Run


class BentpipeError(Exception):
    """Every error that is the caller's to mend."""


class InputError(BentpipeError, ValueError):
    """A file, or what stands for one, that cannot be right.

    `message` tells everything that is wrong: where, what was expected, what was found, the nearest
    valid name. `file` and `line` (counted from 1) are those of the first error, if it has a place.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message, file, line)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return self.message


class ScenarioError(InputError):
    """A scenario that cannot be right."""


class StudyError(InputError):
    """A study that cannot be right."""


class RecordingError(InputError):
    """A folder that is not that of a recording, or holds one that cannot be read.

    `file` is the folder or the file in it that is wrong; `line` (from 1) where, if it is a text.
    """


class ClusterError(BentpipeError, RuntimeError):
    """A cluster that is not there, has another version, or was lost; finished runs are kept."""


class SeriesError(BentpipeError, LookupError):
    """A figure of what the run did not record; says what to ask for."""


class ControllerError(BentpipeError, ValueError):
    """A controller in Python that cannot be given to a flow, or does what none may."""


class OutputError(BentpipeError, OSError):
    """An output folder that cannot be used."""


class KernelError(BentpipeError, RuntimeError):
    """What the running kernel cannot do, or cannot be given; says what is missing."""


class RainError(BentpipeError, ValueError):
    """A value that the rain models do not take.

    `parameter` is its name, as the argument or field is called; `expected` says what may stand
    there.
    """

    def __init__(self, parameter: str, expected: str, found: object) -> None:
        super().__init__(parameter, expected, found)
        self.parameter = parameter
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.parameter}: expected {self.expected}, found {self.found}"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run, with what was completed until then.

    `recordings` has one entry for each job: its recording or None. The recording of a single run
    that was stopped on its way is there and has `partial` set; of `bentpipe.run`, it is also `run`.
    """

    def __init__(self, recordings: Sequence[Recording | None]) -> None:
        super().__init__("interrupted")
        self.recordings = recordings
        self.run: Run | None = None
