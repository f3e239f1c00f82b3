"""The page of performance, without counting anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import bentpipe
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
        {"name": "reno", "no loss": 1000.0, "losses": 1000.0},
        {"name": "slow", "no loss": 2500.0, "losses": 3000.0},
        {"name": "fast", "no loss": 900.0, "losses": 900.0},
        {"name": performance_page.FULL, "losses": 1500.0},
    ]
    goals = performance_page.goals_of_controllers(rows)
    assert [goal.measured for goal in goals] == [2.5, 3.0, 2.0]
    assert {goal.name.split(",")[0] for goal in goals} == {"costliest of 3 controllers"}


def test_all_controllers_of_the_registry_were_counted() -> None:
    results = json.loads((ROOT / "docs" / "performance.json").read_text())
    counted = {row["name"] for row in results["controllers"]["found"]}
    known = {entry.name for entry in bentpipe.controllers()}
    assert counted == known | {performance_page.FULL}, "make profile SECTIONS=controllers"


def test_the_figure_of_the_page_is_that_of_its_numbers(tmp_path: Path) -> None:
    results = json.loads((ROOT / "docs" / "performance.json").read_text())
    performance_page.figure(results["growth"]["found"]).save(tmp_path / "performance.svg")
    drawn, kept = (
        images.plain((folder / "performance.svg").read_text())
        for folder in (tmp_path, images.FOLDER)
    )
    assert drawn == kept, "run `make profile`"
