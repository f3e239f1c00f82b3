"""The program of `bentpipe proxy`, which is written in Rust and works without Python."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bentpipe.errors import BentpipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "bentpipe-proxy"
SOURCES = Path(__file__).resolve().parents[2]
BUILT = ("engine", "release", "debug")
"""Folders of cargo's `target`, the fastest program first."""


def program() -> Path:
    """Return the path of the program. `BentpipeError` explains how to get it."""
    places = [Path(sysconfig.get_path("scripts")) / NAME]
    if found := shutil.which(NAME):
        places.append(Path(found))
    if (SOURCES / "crates/proxy").exists():
        places += [SOURCES / "target" / folder / NAME for folder in BUILT]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    message = (
        f"the program {NAME} is not installed: run `make proxy` in the sources of Bentpipe, or "
        "`cargo install --locked --path crates/proxy`, which puts it into ~/.cargo/bin"
    )
    raise BentpipeError(message)


def execute(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the program."""
    path = program()
    sys.stdout.flush()
    os.execv(path, [NAME, *arguments])
