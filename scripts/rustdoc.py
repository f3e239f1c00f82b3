#!/usr/bin/env python3
"""Stands for rustdoc in `cargo test --doc`: also makes the pages of each crate, warnings denied.

`cargo doc` would check all that the crates depend on once more. Their libraries are compiled for
the tests already, and serve the pages as they serve the examples. The pages of crate NAME are in
target/doc/NAME. With one folder for all crates, rustdoc would write the search index of all of them
again with each crate.
"""

from __future__ import annotations

import subprocess
import sys

PAGES = ("--document-private-items", "--deny=warnings")
OF_PYTHON = "python"
"""The crate of the bindings. Its examples are in Python."""

OF_EXAMPLES = {"--test": 1, "--test-run-directory": 2, "--error-format": 2}
"""Options that rustdoc takes for examples only, or takes otherwise, and their numbers of words."""


def crate(words: list[str]) -> str:
    """The name of the crate that the words are about."""
    return words[words.index("--crate-name") + 1]


def for_pages(words: list[str]) -> list[str]:
    """The words that make the pages of a crate, of those that run its examples."""
    folder = f"--out-dir=target/doc/{crate(words)}"
    kept = []
    while words:
        taken = OF_EXAMPLES.get(words[0], 0)
        kept += words[:1] if not taken else []
        words = words[max(taken, 1) :]
    return [*kept, *PAGES, folder]


def main() -> int:
    """Make the pages, then run the examples."""
    words = sys.argv[1:]
    if "--test" in words:
        status = subprocess.call(["rustdoc", *for_pages(words)])
        if status or crate(words) == OF_PYTHON:
            return status
    return subprocess.call(["rustdoc", *words])


if __name__ == "__main__":
    sys.exit(main())
