#!/usr/bin/env python3
"""Stands for clippy-driver where the tests are compiled once, as on CI.

What Bentpipe depends on is compiled once, with the profile `engine`, for the engine and for the
tests. The crates of the workspace are compiled for the tests as the profile `dev` has it: with
assertions and checks of overflow, and with the optimisation of `profile.dev.package`. Programs of
the tests are not optimised: they are two thirds of what is compiled for the tests.
"""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).resolve().parent.parent / "Cargo.toml"

OPTIMISED = {"arq", "fec"}
"""Programs with long runs of links, whose generic code is compiled in them."""

UNITS = 16
"""Units of code of a crate, as Cargo has them without a profile's setting."""


def optimisation(words: list[str], package: str, dev: dict[str, Any]) -> int:
    """The level of optimisation of a crate of the workspace, by the profile `dev`."""
    if "--test" in words and words[words.index("--crate-name") + 1] not in OPTIMISED:
        return 0
    level: int = dev["package"].get(package, dev)["opt-level"]
    return level


def words_of_compiler(words: list[str]) -> list[str]:
    """The arguments of Cargo for clippy-driver, with the settings of the profile `dev` last."""
    package = os.environ.get("CARGO_PKG_NAME")
    # Cargo also runs it without a crate, for the version of the compiler, and for build scripts.
    if package is None or "build_script_build" in words:
        return words
    dev = tomllib.loads(MANIFEST.read_text())["profile"]["dev"]
    settings = {
        "opt-level": optimisation(words, package, dev),
        "codegen-units": UNITS,
        "debug-assertions": "on",
        "overflow-checks": "on",
    }
    return [*words, *(f"-C{name}={value}" for name, value in settings.items())]


if __name__ == "__main__":
    os.execvp("clippy-driver", ["clippy-driver", *words_of_compiler(sys.argv[1:])])
