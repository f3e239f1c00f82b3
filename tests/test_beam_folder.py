"""`bentpipe compare --out` over a beam: what the folder keeps, its page, and its citations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.beams import ranking
from bentpipe.errors import OutputError
from test_beam import BEAM

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

SHORT = ("--set", "duration=15s")
OPTIONS = ("--controllers", "hybla", "--replications", "2", *SHORT)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The scenario in a file."""
    path = tmp_path / "beam.toml"
    path.write_text(BEAM)
    return path


def values_of_runs(folder: Path) -> list[Any]:
    """The values of all runs in a folder, in any order."""
    runs = json.loads((folder / "runs.json").read_text())["runs"]
    return [values for seeds in runs.values() for values in seeds.values()]


def test_a_folder_keeps_the_runs_the_rankings_and_the_scenario(
    bentpipe: Bentpipe, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ranked"
    done = bentpipe("compare", "--scenario", file, *OPTIONS, "--out", "ranked")
    assert done.returncode == 0, done.stderr
    assert "`bentpipe report ranked`" in done.stdout
    assert {one.name for one in out.iterdir()} == {
        "runs.json",
        "compare.json",
        "compare.md",
        "scenario",
    }
    assert len(values_of_runs(out)) == 6
    again = bentpipe("compare", "--scenario", file, *OPTIONS, "--json")
    kept = json.loads((out / "compare.json").read_text())
    printed = json.loads(again.stdout)
    # The command is that of each call; the rest is the same bytes.
    assert printed["rankings"] == kept["rankings"]
    assert "| rank | controller | mean |" in (out / "compare.md").read_text()
    assert bp.Scenario.load(out / "scenario/scenario.toml", []).seed == 1

    page = tmp_path / "page.html"
    assert bentpipe("report", out, "--out", page).returncode == 0
    written = page.read_text()
    for text in ("page_p95", "95th percentile of page load times", "hybla", "2 seeds"):
        assert text in written
    cited = bentpipe("cite", out)
    assert cited.returncode == 0, cited.stderr
    said = cited.stdout.replace("\n% ", " ")
    for text in ("Hybla", "CUBIC", "over the beam of beam. 3 variants had 2 replications"):
        assert text in said, said


def test_runs_of_an_earlier_command_are_not_repeated(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = bp.Scenario.load(file, ["duration=15s"])
    out = tmp_path / "ranked"
    seeds: list[int] = []
    measured = ranking.measured

    def counted(variant: bp.Scenario, seed: int, group: str) -> dict[str, float | None]:
        seeds.append(seed)
        return measured(variant, seed, group)

    monkeypatch.setattr(ranking, "measured", counted)
    first = ranking.compare(scenario, controllers=["hybla"], replications=2, out=out)
    assert sorted(seeds) == [1, 1, 1, 2, 2, 2]
    more = ranking.compare(scenario, controllers=["hybla"], replications=3, out=out)
    assert sorted(seeds[6:]) == [3, 3, 3]
    seeds.clear()
    fresh = ranking.compare(scenario, controllers=["hybla"], replications=3)
    assert more.rankings == fresh.rankings != first.rankings


def test_a_comparison_that_was_interrupted_keeps_its_finished_runs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = bp.Scenario.load(file, ["duration=15s"])
    out = tmp_path / "ranked"
    measured = ranking.measured

    def interrupted(variant: bp.Scenario, seed: int, group: str) -> dict[str, float | None]:
        if seed == 2:
            raise KeyboardInterrupt
        return measured(variant, seed, group)

    monkeypatch.setattr(ranking, "measured", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ranking.compare(scenario, controllers=["hybla"], replications=2, workers=1, out=out)
    assert len(values_of_runs(out)) == 3
    assert not (out / "compare.json").exists()


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (
            "controllers",
            "has results of another command; .*\\n  candidates: the folder lacks bbr; "
            "the folder also has hybla$",
        ),
        ("scenario", "has results of another command; .*\\n  scenario: not the same$"),
        ("damage", "is damaged, or was changed"),
        ("file", "has another file, notes.txt"),
    ],
)
def test_a_folder_of_something_else_is_refused(
    change: str, answer: str, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "ranked"
    short = bp.Scenario.load(file, ["duration=15s"])
    ranking.compare(short, controllers=["hybla"], replications=1, out=out)
    scenario, controllers = short, ["hybla"]
    if change == "controllers":
        controllers = ["bbr"]
    elif change == "scenario":
        scenario = bp.Scenario.load(file, ["duration=16s"])
    elif change == "damage":
        runs = (out / "runs.json").read_text()
        (out / "runs.json").write_text(runs.replace("page_p95", "page_p96", 1))
    else:
        (out / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=answer):
        ranking.compare(scenario, controllers=controllers, replications=1, out=out)
