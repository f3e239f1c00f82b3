"""The page of performance, without counting anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import images
import performance_page

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "benches" / "performance.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False
    )


def test_the_tables_of_the_page_are_those_of_its_numbers() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stdout


def test_an_unknown_section_is_an_error_before_anything_is_counted() -> None:
    done = run("controlers")
    assert done.returncode == 2
    assert "found controlers" in done.stderr


def test_a_goal_above_its_aim_falls_short() -> None:
    results = json.loads((ROOT / "docs" / "performance.json").read_text())
    results["recoveries"]["found"] |= {"sack": 1000.0, "linux": 1400.0}
    verdicts = {goal.name: goal.row()[-1] for goal in performance_page.goals(results)}
    assert verdicts['`recovery = "linux"`'] == "reached"
    results["recoveries"]["found"]["linux"] = 1401.0
    verdicts = {goal.name: goal.row()[-1] for goal in performance_page.goals(results)}
    assert verdicts['`recovery = "linux"`'] == "falls short"
    assert verdicts["plain download"] in ("reached", "falls short")


def test_the_largest_ratio_counts_for_the_goal_of_controllers() -> None:
    rows = [
        {"name": "reno", "no loss": 1000.0},
        {"name": "slow", "no loss": 2500.0},
        {"name": "fast", "no loss": 900.0},
    ]
    assert performance_page.worst(rows, "no loss") == 2.5


def test_the_figure_of_the_page_is_that_of_its_numbers(tmp_path: Path) -> None:
    results = json.loads((ROOT / "docs" / "performance.json").read_text())
    performance_page.figure(results["growth"]["found"]).save(tmp_path / "performance.svg")
    drawn, kept = (
        images.plain((folder / "performance.svg").read_text())
        for folder in (tmp_path, images.FOLDER)
    )
    assert drawn == kept, "run `make profile`"
