"""Every command of the README, run as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The code blocks of the README in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


COMMANDS = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like the project's, so that nothing is written into the project."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("command", [line for line in COMMANDS if not line.startswith("make")])
def test_commands(command: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("make")])
def test_make_targets(command: str) -> None:
    # These run the tests themselves, so here only what they would do.
    subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("program", blocks("python"))
def test_programs(program: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README))
def test_links(target: str) -> None:
    assert (ROOT / target).exists()
