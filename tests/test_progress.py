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

from conftest import ROOT
from test_interrupt import FOREVER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone


PATIENCE_S = 30
"""For a busy machine, on which the command takes long to start."""


def stderr_on_a_terminal(
    *arguments: str, until: str | None = None, program: tuple[str, ...] = ("-m", "bentpipe")
) -> str:
    """What the command draws on a terminal until its end, or until Ctrl-C after this text."""
    ours, theirs = pty.openpty()
    command = [sys.executable, *program, *arguments]
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


SILENT = """
import time
from bentpipe.console import late_progress
with late_progress("silent", {total}):
    time.sleep({seconds})
"""


@pytest.mark.parametrize("total", [None, 100])
def test_work_that_reports_nothing_is_drawn_within_two_seconds(total: int | None) -> None:
    program = ("-c", SILENT.format(total=total, seconds=2))
    assert "silent" in stderr_on_a_terminal(program=program)
    assert stderr_on_a_terminal(program=("-c", SILENT.format(total=total, seconds=0.5))) == ""


def test_a_report_shows_that_it_works(small: Path) -> None:
    """Pages of many figures take several seconds, in which no part reports."""
    out = small.parent / "out"
    subprocess.run([sys.executable, "-m", "bentpipe", "run", str(small), "--out", str(out)],
                   check=True, capture_output=True)  # fmt: skip
    slow = (
        "import sys, time; from bentpipe import cli; from bentpipe.report import command\n"
        "page = command.page_of\n"
        "command.page_of = lambda source: (time.sleep(2), page(source))[1]\n"
        f"sys.argv = ['bentpipe', 'report', {str(out)!r}]; cli.main()"
    )
    assert "page" in stderr_on_a_terminal(program=("-c", slow))


def test_plots_of_a_paper_show_that_they_are_made(tmp_path: Path) -> None:
    slow = (
        "import sys, time; from bentpipe import cli; from bentpipe.reproductions import command\n"
        "class Done:\n"
        "    complete, statements, rows, rankings = True, [], [], []\n"
        "    to_dict = dict\n"
        "command.Reproduction.run = lambda *_, **__: Done()\n"
        "command.save = lambda *_: time.sleep(2)\n"
        f"sys.argv = 'bentpipe papers run davoli --json --out'.split() + [{str(tmp_path)!r}]\n"
        "cli.main()"
    )
    assert "plots of davoli" in stderr_on_a_terminal(program=("-c", slow))


@pytest.mark.parametrize(("seconds", "said"), [(3, True), (0, False)])
def test_the_set_up_of_packages_says_that_it_works(
    seconds: int, said: bool, tmp_path: Path
) -> None:
    """`make proxy` and others begin with it, and uv is quiet."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "set-up.sh").write_bytes((ROOT / "scripts/set-up.sh").read_bytes())
    for name, text in (("uv.sh", f"sleep {seconds}; exit 7"), ("system-packages.sh", "true")):
        (scripts / name).write_text(f"#!/bin/sh\n{text}\n")
        (scripts / name).chmod(0o755)
    start = time.monotonic()
    with subprocess.Popen(
        ["/bin/sh", "scripts/set-up.sh", "packages"], cwd=tmp_path, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        took = time.monotonic() - start
        assert process.wait() == 7
    assert ("setting up packages" in line) == said
    assert took < 2.5
