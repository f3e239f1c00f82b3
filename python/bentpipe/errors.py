"""Exceptions that Bentpipe raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Recording
    from bentpipe.runs import Run


class BentpipeError(Exception):
    """Base class of all errors that the caller can correct."""


class InputError(BentpipeError, ValueError):
    """Invalid input, in a file or in arguments.

    `message` lists every error: its place, the expected value, the value found, the nearest valid
    name. `file` and `line` (from 1) are the place of the first error, or None.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message, file, line)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return self.message


class ScenarioError(InputError):
    """Invalid scenario."""


class StudyError(InputError):
    """Invalid study."""


class RecordingError(InputError):
    """A folder that has no recording, or a recording that cannot be read.

    `file` is the folder or the invalid file in it. `line` (from 1) is the place in a text file.
    """


class ClusterError(BentpipeError, RuntimeError):
    """A cluster that is not available, has another version, or was lost. Finished runs are kept."""


class SeriesError(BentpipeError, LookupError):
    """A figure of a series that the run did not record. The message names the missing setting."""


class ControllerError(BentpipeError, ValueError):
    """A controller in Python that no flow can use, or that violates the interface."""


class OutputError(BentpipeError, OSError):
    """An output folder that cannot be used."""


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

    `recordings` has one entry for each job: its recording or None. A single run that was stopped
    has a recording with `partial` set. With `bentpipe.run` this is also the attribute `run`.
    """

    def __init__(self, recordings: Sequence[Recording | None]) -> None:
        super().__init__("interrupted")
        self.recordings = recordings
        self.run: Run | None = None
