"""The command line answers at once: what is slow to import is imported only when it is used."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from bentpipe.cli import cli
from bentpipe.cli.groups import Commands, summary

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "altair",
    "numpy",
    "pandas",
    "polars",
    "scipy",
    "vl_convert",
    "jinja2",
    "typer",
    "distributed",
}


def modules_of(*arguments: str, environment: dict[str, str] | None = None) -> set[str]:
    """Modules that the command imports."""
    command = [sys.executable, "-X", "importtime", "-m", "bentpipe", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | (environment or {})
    )
    lines = done.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if "|" in line}


def imported_by(*arguments: str) -> set[str]:
    """Top-level modules that the command imports."""
    return {module.partition(".")[0] for module in modules_of(*arguments)}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["controllers"],
        ["path"],
        ["papers", "list"],
        ["rain", "event", "--help"],
        ["study", "--help"],
        ["new", "--help"],
        ["completion", "bash"],
    ],
)
def test_nothing_heavy_is_imported(arguments: list[str]) -> None:
    assert not imported_by(*arguments) & HEAVY


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--help"], {}),
        ([], {"_BENTPIPE_COMPLETE": "zsh_complete", "COMP_WORDS": "bentpipe ", "COMP_CWORD": "1"}),
    ],
    ids=["help", "completion"],
)
def test_the_list_of_commands_imports_none_of_them(
    arguments: list[str], environment: dict[str, str]
) -> None:
    found = modules_of(*arguments, environment=environment)
    assert "bentpipe.cli.groups" in found
    assert not {f"bentpipe.cli.{name}" for name in Commands.modules.values()} & found


def test_completion_has_the_summaries_of_the_commands() -> None:
    items = cli.shell_complete(click.Context(cli), "co")
    assert {item.value: item.help for item in items} == {
        name: summary(one) for name, one in cli.subcommands().items() if name.startswith("co")
    }


def test_a_run_imports_nothing_heavy(small: Path) -> None:
    assert not imported_by("run", str(small)) & HEAVY


def test_a_run_for_scripts_draws_no_tables(small: Path) -> None:
    assert not imported_by("run", "--json", str(small)) & (HEAVY | {"rich"})


def test_the_package_imports_only_the_engine_and_its_errors() -> None:
    code = "import sys, bentpipe; print(*sorted(m for m in sys.modules if 'bentpipe.' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["bentpipe._native", "bentpipe.errors", "bentpipe.signals"]


def test_all_names_of_the_package_are_found_and_listed() -> None:
    import bentpipe

    assert set(bentpipe.__all__) <= set(dir(bentpipe))
    assert all(hasattr(bentpipe, name) for name in bentpipe.__all__)


@pytest.mark.parametrize("package", ["compare", "evaluate", "new", "prototypes", "study", "steps"])
def test_a_package_can_be_imported_first(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import bentpipe.{package}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
