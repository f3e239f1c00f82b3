"""The page of a comparison over a beam: a ranking and its figure for each quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import count
from bentpipe.report.page import Details, Page, Section
from bentpipe.report.rankings import Ranking
from bentpipe.report.scenarios import made_with
from bentpipe.report.source import read_text
from bentpipe.study.significance import is_tied, rule

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ("bentpipe", "compare", "candidates", "sentences", "seeds", "rankings", "command")
"""Keys of `compare.json` of a comparison over a beam."""


def beam_rankings_page(folder: Path, found: dict[str, Any]) -> Page:
    """The page of a folder of `bentpipe compare --out` over a beam."""
    rankings = [ranking_of(one, len(found["seeds"])) for one in found["rankings"]]
    runs = len(found["candidates"]) * len(found["seeds"])
    written = read_text(folder / "scenario" / "scenario.toml")
    details = Details("Scenario", written, copy=True)
    command = [*made_with(found["bentpipe"], found["command"]), details]
    return Page(
        title=f"Controllers over the beam of {found['compare']}",
        subtitle=f"{count(len(found['candidates']))} candidates in {count(runs)} runs",
        version=found["bentpipe"],
        summary=[*found["sentences"], f"All met the same random numbers. {rule('a ranking')}"],
        sections=[
            *(ranking.section() for ranking in rankings),
            Section("scenario", "Scenario and version", command),
        ],
        things=found["candidates"],
    )


def ranking_of(row: dict[str, Any], runs: int) -> Ranking:
    """A ranking in the form of those of workloads."""
    places = [
        place
        | {
            "controller": place["name"],
            "tied_with_best": place["against_best"] is not None and is_tied(place["against_best"]),
        }
        for place in row["places"]
    ]
    return Ranking(
        {
            "workload": row["quantity"],
            "title": row["meaning"][0].upper() + row["meaning"][1:],
            "runs": runs,
            "baseline": row["baseline"],
            "higher_is_better": row["higher_is_better"],
            "ranking": places,
            "quantity": row["quantity"],
            "label": row["quantity"],
            "unit": row["unit"],
            "also": (),
        },
        [],
    )
