"""The command `bentpipe evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.compare.events import phases
from bentpipe.compare.folder import LATE
from bentpipe.console import show, show_labelled
from bentpipe.evaluate import tables
from bentpipe.evaluate.checklist import method, not_covered
from bentpipe.evaluate.evaluation import baselines_of, items_of, run
from bentpipe.evaluate.findings import sentences
from bentpipe.prototypes.spec import items
from bentpipe.stdout import about_to_print
from bentpipe.study.significance import rule
from bentpipe.study.store import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.evaluate.checklist import Item
    from bentpipe.evaluate.evaluation import Report


def run_and_print(
    candidate: str,
    baselines: str,
    only: str | None,
    workload: str | None,
    phase: str,
    quick: bool,
    workers: int | None,
    out: Path | None,
    as_one_object: bool,
    command: Sequence[str],
) -> bool:
    """Run the checklist and print the findings; true if all items are complete.

    `command` is the command line that repeats it.
    """
    against = baselines_of(candidate, baselines)
    chosen = items_of(
        None if only is None else items("--items", only),
        None if workload is None else items("--workload", workload),
    )
    found = run(candidate, against, chosen, phase, quick, workers, out, command, progress=LATE)
    about_to_print("evaluate", lambda: as_json(found.summary).decode(), out)
    if as_one_object:
        click.echo(as_json(found.summary).decode(), nl=False)
        return found.complete
    show_labelled(found.labelled)
    show("")
    print_reports(found.reports, found.title, chosen)
    if not found.complete:
        show("Interrupted: items that are missing here are incomplete. Run the same command"
             " with --out to continue.")  # fmt: skip
    if out:
        show(f"The studies, evaluate.json and evaluate.md are in {out}."
             f" `bentpipe report {out}` makes a page of them.")  # fmt: skip
    return found.complete


def print_reports(reports: Sequence[Report], title: str, chosen: Sequence[Item]) -> None:
    """Print the findings item by item, then the notes."""
    show(f"{title}, {method(item.section for item in chosen)}")
    for report in reports:
        show(f"\n{report.item.section} {report.item.title}")
        if report.item.note:
            show(report.item.note)
        for phase in phases(report.events):
            show(phase)
        show(tables.text_table(report.found))
        for sentence in sentences(report.found):
            show(sentence)
    show(f"\nThe RFC sets no thresholds. {rule('an item')}")
    for section, why in not_covered(chosen).items():
        show(f"Not covered: {section} {why}")
