"""Things that Windows, macOS and Linux do differently."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LOCK = ".bentpipe-lock"
"""The file that is the lock of a folder on Windows. It stays there."""


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if sys.platform == "win32":
    import msvcrt

    def lock(folder: Path) -> int:
        """Lock a folder until the descriptor is closed or the process ends.

        Windows locks no folders, so the lock is a file in the folder. `BlockingIOError` if another
        process has it.
        """
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            os.close(handle)
            raise BlockingIOError from error
        return handle

    def sync(folder: Path) -> None:
        """Do nothing: Windows has no such call for a folder."""

else:
    import fcntl

    def lock(folder: Path) -> int:
        """Lock a folder until the descriptor is closed or the process ends.

        `BlockingIOError` if another process has it.
        """
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise
        return handle

    def sync(folder: Path) -> None:
        """Flush the names of a folder to the disk."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
