"""Folders of results: created, and checked before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path


def writable(folder: Path) -> Path:
    """Create the folder, and check that it can be written; `OutputError` if it cannot."""
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def unwritable(folder: Path, error: OSError) -> OutputError:
    """The error for a folder that the system does not let us write to."""
    if isinstance(error, OutputError):
        return error
    return OutputError(f"cannot write to {folder}: {error.strerror}")
