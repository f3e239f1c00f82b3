"""The command `bentpipe experience`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe._native import Scenario
from bentpipe.compare.folder import LATE
from bentpipe.console import show, show_labelled
from bentpipe.experience import tables
from bentpipe.experience.plan import planned
from bentpipe.experience.results import run
from bentpipe.stdout import about_to_print
from bentpipe.study.store import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run_and_print(
    file: Path,
    sets: Sequence[str],
    alone: bool,
    replications: int,
    workers: int | None,
    out: Path | None,
    as_one_object: bool,
    command: Sequence[str],
) -> bool:
    """Run the seeds and print the figures; true if all runs are complete.

    `command` is the command line that repeats it.
    """
    plan = planned(Scenario.load(file, tuple(sets)), alone=alone)
    found = run(plan, replications, workers, out, command, progress=LATE)
    about_to_print("experience", lambda: as_json(found.summary).decode(), out)
    if as_one_object:
        click.echo(as_json(found.summary).decode(), nl=False)
        return found.complete
    show_labelled(found.labelled)
    show("")
    for note in plan.notes:
        show(note)
    if found.reports:
        show(tables.figures_table(found.reports))
        show_labelled(tables.limits(found.reports))
        show("")
    for source in tables.sources(found.reports):
        show(source)
    if not found.complete:
        show("Interrupted. Run the same command with --out to continue.")
    elif out is None:
        show("--out DIR keeps the study; `bentpipe report DIR` makes a page of it.")
    else:
        show(f"The study, experience.json and experience.md are in {out}."
             f" `bentpipe report {out}` makes a page of them.")  # fmt: skip
    return found.complete
