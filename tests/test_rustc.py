"""The compiler of the tests on CI."""

from __future__ import annotations

import pytest

import rustc

BY_CARGO = ["rustc", "--crate-name", "tcp", "-C", "opt-level=3", "-C", "codegen-units=1"]
PROGRAM = [*BY_CARGO, "--test"]


def settings(words: list[str]) -> dict[str, str]:
    """The settings of a command for the compiler; the last one counts."""
    options = (word.removeprefix("-C") for word in rustc.words_of_compiler(words))
    return dict(option.split("=", 1) for option in options if "=" in option)


@pytest.mark.parametrize(
    ("words", "level"),
    [
        (BY_CARGO, "2"),
        (PROGRAM, "0"),
        (["arq" if word == "tcp" else word for word in PROGRAM], "2"),
    ],
    ids=["library", "tests", "tests-with-long-runs"],
)
def test_crates_are_compiled_for_the_tests_as_in_the_profile_dev(
    monkeypatch: pytest.MonkeyPatch, words: list[str], level: str
) -> None:
    monkeypatch.setenv("CARGO_PKG_NAME", "bentpipe-tcp")
    found = settings(words)
    assert found["opt-level"] == level
    assert found["debug-assertions"] == found["overflow-checks"] == "on"


@pytest.mark.parametrize(
    ("package", "level"), [("bentpipe-scenario", "0"), ("bentpipe-units", "1")]
)
def test_levels_are_those_of_the_manifest(
    monkeypatch: pytest.MonkeyPatch, package: str, level: str
) -> None:
    monkeypatch.setenv("CARGO_PKG_NAME", package)
    assert settings(BY_CARGO)["opt-level"] == level


def test_build_scripts_and_questions_of_cargo_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CARGO_PKG_NAME", "bentpipe-tcp")
    script = ["build_script_build" if word == "tcp" else word for word in BY_CARGO]
    assert rustc.words_of_compiler(script) == script
    monkeypatch.delenv("CARGO_PKG_NAME")
    assert rustc.words_of_compiler(["rustc", "-vV"]) == ["rustc", "-vV"]
