"""Progress of long runs: drawn on a terminal, after a second, on stderr only."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from test_interrupt import FOREVER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone


def stderr_on_a_terminal(*arguments: str, seconds: float) -> str:
    """What the command draws on a terminal until Ctrl-C after so many seconds or its end."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "bentpipe", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
    os.close(theirs)
    drawn = b""
    try:
        while part := os.read(ours, 4096):
            drawn += part
    except OSError:  # how Linux tells that the other end is closed
        pass
    os.close(ours)
    return drawn.decode()


def test_a_long_run_shows_progress(small: Path) -> None:
    sets = [argument for override in FOREVER for argument in ("--set", override)]
    drawn = stderr_on_a_terminal("run", str(small), *sets, seconds=2.5)
    assert "small" in drawn
    assert "%" in drawn


def test_a_short_run_shows_nothing(small: Path) -> None:
    assert stderr_on_a_terminal("run", str(small), seconds=30) == ""
