"""The examples and the quick-start notebook run as they are."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import notebook
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def test_there_are_examples() -> None:
    assert len(SCRIPTS) >= 3


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs_and_leaves_its_figures(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(script), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    text = script.read_text(encoding="utf-8")
    figures = list(tmp_path.glob("*.svg"))
    assert bool(figures) == ("svg" in text)
    for figure in figures:
        assert figure.read_text(encoding="utf-8").startswith("<svg")
        # The head of each example names the figures that it writes.
        assert figure.stem.split("-")[0] in text


@pytest.mark.parametrize("path", notebook.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_outputs_of_today(path: Path) -> None:
    stored = notebook.read(path)
    today = notebook.outputs(notebook.executed(path))
    assert notebook.outputs(stored) == today, "run scripts/notebook.py"
    shown = [output for cell in notebook.outputs(stored) for output in cell]
    figures = [output for output in shown if "image/svg+xml" in output.get("data", {})]
    assert len(figures) >= 2
    assert not any(output["output_type"] == "error" for output in shown)
    if path.stem == "quickstart":
        assert any("did you mean" in output.get("text", "") for output in shown)
