"""Measures the trials of other readings, for the numbers in the texts of `readings.toml`.

    python -m bentpipe.reproductions.trials [--data DIR] [PAPER...]

`trials` of a reproduction's module `experiments` has for each trial the jobs of the plan that it
changes. The command runs the plan and then each trial, with all seeds, and writes `trials.json` of
the reproduction. That takes minutes. Reproductions that read measured files need their folder, with
`--data`. The file also has the judgements of the present reading; when these change, the trials are
measured again (a test demands it). `readme` updates the numbers of the present reading alone.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.reproductions.command import with_files
from bentpipe.reproductions.judgement import COLUMNS, statements, summarise
from bentpipe.reproductions.readings import PRESENT, TRIALS
from bentpipe.reproductions.reproduction import find, names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.reproductions.judgement import Judged, Row
    from bentpipe.reproductions.reproduction import Reproduction

REPEATED = ("repeats", "derived")

DIGITS = 6
"""Significant digits of the numbers in the file."""


def measure(reproduction: Reproduction) -> dict[str, dict[str, Any]]:
    """Run the present reading and all trials, and return what each of them measures."""
    plan = reproduction.plan()
    present = reproduction.results(plan)
    rows = reproduction.rows(present, complete=True)
    judged = statements(reproduction.publication, rows)
    found = {PRESENT: numbers(judged, rows)}
    found[PRESENT]["judgements"] = {one.id: one.judgement for one in judged}
    for name, changed in reproduction.trials().items():
        unknown = changed.keys() - plan.keys()
        if unknown:
            raise ValueError(f"{reproduction.name}: {name} changes no job: {sorted(unknown)}")
        results = present | reproduction.results(changed)
        rows = reproduction.rows(results, complete=True)
        trial = numbers(statements(reproduction.publication, rows), rows)
        same = found[PRESENT]["rows"]
        trial["rows"] = {row: held for row, held in trial["rows"].items() if same[row] != held}
        found[name] = trial
    return found


def numbers(judged: Sequence[Judged], rows: Sequence[Row]) -> dict[str, Any]:
    """The counts of statements, and the measured values of the rows that repeat no other."""
    counted = summarise(judged, rows).statements
    return {
        "counts": {kind: str(counted[kind]) for kind in COLUMNS},
        "rows": {
            row.id: mean_of(row)
            for row in rows
            if row.measured is not None and row.removed not in REPEATED
        },
    }


def mean_of(row: Row) -> list[float]:
    """The measured mean, and the half width of its interval if it has one."""
    held = (row.measured, row.ci95 or None)
    return [float(f"{value:.{DIGITS}g}") for value in held if value is not None]


def as_text(found: Mapping[str, dict[str, Any]]) -> str:
    """JSON with a line for each part of a trial."""
    trials = []
    for name, trial in found.items():
        parts = ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(part)}" for key, part in trial.items()
        )
        trials.append(f" {json.dumps(name)}: {{\n{parts}\n }}")
    return "{\n" + ",\n".join(trials) + "\n}\n"


def main(chosen: Sequence[str], data: Path | None) -> None:
    """Measure and write the numbers of the chosen reproductions, by default of all.

    `BentpipeError` without the folder of measured files that one of them reads.
    """
    found = [find(name) for name in chosen or names()]
    if data is None and (reading := [one.name for one in found if one.files.sources]):
        raise BentpipeError(f"--data: expected the folder with the files of {', '.join(reading)}")
    for one in with_files(found, data):
        text = as_text(measure(one))
        (Path(__file__).parent / one.name / TRIALS).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    arguments = ArgumentParser(prog="python -m bentpipe.reproductions.trials")
    arguments.add_argument("papers", nargs="*")
    arguments.add_argument("--data", type=Path)
    given = arguments.parse_args()
    main(given.papers, given.data)
