"""Progress of long runs: drawn on a terminal, after a second, on stderr only."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from test_interrupt import FOREVER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone


PATIENCE_S = 30
"""For a busy machine, on which the command takes long to start."""


def stderr_on_a_terminal(*arguments: str, until: str | None = None) -> str:
    """What the command draws on a terminal until its end, or until Ctrl-C after this text."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bentpipe", *arguments]
    drawn = ""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        last = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < last and (until is None or until not in drawn):
                if select.select([ours], [], [], 0.1)[0]:
                    drawn += os.read(ours, 4096).decode()
        except OSError:  # how Linux tells that the other end is closed
            pass
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE_S)
    os.close(ours)
    return drawn


def test_a_long_run_shows_progress(small: Path) -> None:
    sets = [argument for override in FOREVER for argument in ("--set", override)]
    drawn = stderr_on_a_terminal("run", str(small), *sets, until="%")
    assert "small" in drawn
    assert "%" in drawn


def test_a_short_run_shows_nothing(small: Path) -> None:
    assert stderr_on_a_terminal("run", str(small)) == ""
