"""Commands that tests fork are those that users start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from forks import started

if TYPE_CHECKING:
    from pathlib import Path

    from forks import Forks

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
