"""A forked command prints the same, and has the same exit status, as `python -m bentpipe`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from forks import Forks, started

if TYPE_CHECKING:
    from pathlib import Path

UNREADABLE = "run missing.toml"


@pytest.mark.parametrize(
    "arguments",
    ["--version", "run --help", UNREADABLE, "explain small.toml", "explain small.toml --json"],
)
def test_a_forked_command_prints_and_ends_as_one_that_is_started(
    forks: Forks, small: Path, arguments: str
) -> None:
    words = arguments.split()
    environment = os.environ | {"COLUMNS": "90", "NO_COLOR": "1"}
    of_own = started(words, small.parent, environment, timeout=60)
    forked = forks.run(words, small.parent, environment, timeout=60)
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        of_own.returncode,
        of_own.stdout,
        of_own.stderr,
    )
    assert of_own.returncode == (2 if arguments == UNREADABLE else 0)


def test_a_forked_command_leaves_the_next_one_nothing(forks: Forks, small: Path) -> None:
    narrow, wide = (os.environ | {"COLUMNS": columns} for columns in ("60", "120"))
    words = ["run", "--help"]
    first, changed, again = (
        forks.run(words, small.parent, environment, timeout=60).stdout
        for environment in (narrow, wide, narrow)
    )
    assert first == again != changed


def test_a_command_that_does_not_end_has_no_status_for_the_next_one(small: Path) -> None:
    forks = Forks()
    environment = dict(os.environ)
    assert forks.run(["--version"], small.parent, environment, timeout=60).returncode == 0
    with pytest.raises(TimeoutError):
        forks.run(["run", str(small)], small.parent, environment, timeout=0.001)
    with pytest.raises(OSError, match=r"Broken pipe|Connection reset"):
        forks.run(["--version"], small.parent, environment, timeout=60)
    forks.close()
