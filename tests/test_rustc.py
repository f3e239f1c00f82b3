"""The compiler of the tests on CI."""

from __future__ import annotations

import rustc

LIBRARY = ["rustc", "--crate-name", "tcp", "--crate-type", "lib", "-C", "opt-level=1"]
TESTS = ["rustc", "--crate-name", "tcp", "--test", "-C", "opt-level=2"]


def test_programs_of_tests_are_not_optimised() -> None:
    assert rustc.words_of_compiler(TESTS) == [*TESTS[:-1], "opt-level=0"]


def test_libraries_and_programs_with_long_runs_are_optimised() -> None:
    long_runs = ["engines" if word == "tcp" else word for word in TESTS]
    for words in (LIBRARY, long_runs, ["rustc", "-vV"]):
        assert rustc.words_of_compiler(words) == words
