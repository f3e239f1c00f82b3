#!/usr/bin/env python3
"""Stands for clippy-driver where the tests are compiled once, as on CI.

The programs of the tests are compiled without optimisation: they are two thirds of what is compiled
for the tests. The libraries that they use are optimised.
"""

from __future__ import annotations

import os
import sys

OPTIMISED = {"arq", "engines", "fec", "runs"}
"""Programs with long runs in networks, whose generic code is compiled in them."""


def words_of_compiler(words: list[str]) -> list[str]:
    """The arguments of Cargo for clippy-driver, without optimisation for programs of tests."""
    if "--test" not in words or words[words.index("--crate-name") + 1] in OPTIMISED:
        return words
    return ["opt-level=0" if word.startswith("opt-level=") else word for word in words]


if __name__ == "__main__":
    # Cargo also runs it without a crate, for the version of the compiler.
    os.execvp("clippy-driver", ["clippy-driver", *words_of_compiler(sys.argv[1:])])
