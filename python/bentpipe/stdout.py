"""The stdout of the command line: where it cannot be written, one line on stderr and no loss.

A full disk or a closed pipe would otherwise be a traceback, or nothing at all where Python flushes
its buffer only at the end of the process.
"""

from __future__ import annotations

import io
import itertools
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bentpipe._native import Recording, Scenario

CLOSED = "stdout is closed; expected a terminal, a file or a pipe (/dev/null for no output)"


class StdoutError(Exception):
    """Stdout cannot be written.

    No `OSError`, because Rich and Click end the process on some of them.
    """


class ReaderEndedError(StdoutError):
    """The reader of a pipe has ended, as `head` does when it has enough: nothing is lost."""


class Stdout(io.FileIO):
    """The descriptor of stdout, with errors of its own."""

    def write(self, data: Any) -> int:
        """Write bytes; `StdoutError` if the system does not take them."""
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise ReaderEndedError(error.strerror) from error
        except OSError as error:
            raise StdoutError(error.strerror) from error


def guard() -> None:
    """Let `sys.stdout` raise `StdoutError`."""
    usual = sys.stdout
    if usual is not sys.__stdout__ or not isinstance(usual, io.TextIOWrapper):
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(Stdout(usual.fileno(), "w", closefd=False)),
        encoding=usual.encoding,
        errors=usual.errors,
        line_buffering=usual.line_buffering,
    )


def discard() -> None:
    """Let what is still in buffers go nowhere, so that the end of the process does not fail too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


@dataclass(frozen=True)
class Result:
    """The result of a command: a name for its file, and its JSON as `--json` prints it."""

    name: str
    json: Callable[[], str]
    folder: Path | None = None
    """The folder that has it already."""


_results: list[Result] = []


def about_to_print(name: str, json: Callable[[], str], folder: Path | None = None) -> None:
    """Remember a result until it is printed, in place of the earlier one."""
    _results[:] = [Result(name, json, folder)]


def told_saved() -> str:
    """Save the result that could not be printed, and say where; empty if there is none."""
    if not _results:
        return ""
    (result,) = _results
    if result.folder:
        return f"; the result is in {result.folder}"
    try:
        return f"; the result was saved to {saved(result)}"
    except OSError as error:
        return f"; the result is lost: {error}"


def saved(result: Result) -> Path:
    """Write a result to a new file, here or in the folder of temporary files."""
    import tempfile

    content = result.json().rstrip("\n").encode() + b"\n"
    reasons = []
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        place = unused(folder, f"bentpipe-{result.name}")
        try:
            with place.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            place.unlink(missing_ok=True)
            reasons.append(f"cannot write {place}: {error.strerror}")
        else:
            return place
    raise OSError("; ".join(reasons))


def unused(folder: Path, name: str) -> Path:
    """A JSON file of this name, or with a number, that does not exist."""
    numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    places = (folder / f"{name}{number}.json" for number in numbers)
    return next(place for place in places if not place.exists())


def save_elsewhere(recording: Recording, scenario: Scenario) -> str:
    """Save a recording whose folder cannot be written, and say where."""
    import tempfile

    from bentpipe._native import OutputFolder

    name = f"{recording.scenario}-seed-{recording.seed}"
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"bentpipe-{name}-"))
        OutputFolder(folder).save(recording, scenario)
    except (OSError, OutputError):
        about_to_print(name, recording.to_json)
        return told_saved()
    return f"; the result was saved to {folder}"
