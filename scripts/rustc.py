#!/usr/bin/env python3
"""Stands for clippy-driver where the tests are compiled once, as on CI.

The programs of the tests are compiled without optimisation. They are two thirds of what the tests
compile, and what they test is optimised where it is a library. A crate's own tests are in one
program with all of its code: those of `SLOW` would run for longer than it takes to optimise them.
"""

from __future__ import annotations

import os
import sys

SLOW: frozenset[str] = frozenset()
"""Names of programs that are optimised as the libraries are."""


def words_of_compiler(words: list[str]) -> list[str]:
    """The words for clippy-driver, of those that Cargo has for it."""
    if "--test" not in words or words[words.index("--crate-name") + 1] in SLOW:
        return words
    return ["opt-level=0" if word == "opt-level=1" else word for word in words]


if __name__ == "__main__":
    # Cargo also runs it without a crate, for the version of the compiler.
    os.execvp("clippy-driver", ["clippy-driver", *words_of_compiler(sys.argv[1:])])
