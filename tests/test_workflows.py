"""The workflows for a forge: what they may contain, and what a linter of their security says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github"
COMMANDS = Path(sys.executable).parent


def output(*command: str) -> str:
    """Output of a linter, whose exit status must be 0."""
    program = str(COMMANDS / command[0])
    done = subprocess.run(
        [program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "file", sorted((FOLDER / "workflows").iterdir()), ids=lambda path: path.stem
)
def test_a_workflow_has_the_form_that_the_forge_takes(file: Path) -> None:
    output("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(file))


def test_workflows_have_no_known_weakness() -> None:
    assert "No findings to report" in output("zizmor", "--offline", ".github")


def test_the_forge_runs_what_everybody_runs() -> None:
    text = (FOLDER / "workflows/test.yml").read_text(encoding="utf-8")
    assert "run: .ci/run" in text
    assert "exec make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")
