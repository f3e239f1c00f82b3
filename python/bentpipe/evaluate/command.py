"""The command `bentpipe evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bentpipe.compare.candidates import is_own
from bentpipe.compare.folder import run_in_turn, taken
from bentpipe.compare.links import phase_of, phases
from bentpipe.console import nearest, show
from bentpipe.errors import InputError
from bentpipe.evaluate import tables
from bentpipe.evaluate.checklist import CHECKLIST, NOT_COVERED, Item
from bentpipe.evaluate.findings import Finding, findings, sentences
from bentpipe.evaluate.items import QUICK_REPLICATIONS, REPLICATIONS, link_of, planned
from bentpipe.prototypes.spec import listed as controllers_of
from bentpipe.seal import sealed
from bentpipe.stdout import about_to_print
from bentpipe.study.significance import rule
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Report:
    """An item with its findings."""

    item: Item
    found: list[Finding]
    runs: int
    events: dict[str, Any] | None
    """When the events of its links happen; None without events."""


def run_and_print(
    candidate: str,
    baselines: str,
    only: str | None,
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
    chosen = items(only)
    replications = QUICK_REPLICATIONS if quick else REPLICATIONS
    studies = {item.name: planned(item, candidate, against, phase, replications) for item in chosen}
    plan = {"evaluate": candidate, "against": against, "asked": list(studies)}
    folder = taken(out, "evaluate", studies, plan) if out else None
    results = run_in_turn(f"evaluation of {candidate}", studies, folder, workers)
    reports = [
        Report(
            item,
            findings(item, candidate, against, found),
            found.summary["runs"],
            phase_of([link_of(item, phase)]),
        )
        for item, found in zip(chosen, results, strict=False)
    ]
    complete = len(reports) == len(chosen)
    found = tables.to_dict(reports, plan) | {"complete": complete, "command": [*command]}
    summary = sealed(found)
    about_to_print("evaluate", lambda: as_json(summary).decode(), folder)
    if folder:
        save(folder / "evaluate.json", as_json(summary))
        save(folder / "evaluate.md", tables.markdown(reports, candidate, against).encode())
    if as_one_object:
        click.echo(as_json(summary).decode(), nl=False)
    else:
        print_reports(reports, candidate, against)
        if not complete:
            show("Interrupted: items that are missing here are incomplete. Run the same command"
                 " with --out to continue.")  # fmt: skip
        if folder:
            show(f"The studies, evaluate.json and evaluate.md are in {folder}."
                 f" `bentpipe report {folder}` makes a page of them.")  # fmt: skip
    return complete


def baselines_of(candidate: str, baselines: str) -> list[str]:
    """The baselines of the candidate; `InputError` for a controller that does not exist."""
    against = [name for name in controllers_of(baselines) if name != candidate]
    for name in (candidate, *against):
        is_own(name)  # which rejects what does not exist
    if not against:
        raise InputError(f"--against: expected another controller than {candidate}")
    return against


def listed(names: str) -> list[str]:
    """The names in a comma-separated list, each once."""
    return list(dict.fromkeys(name.strip() for name in names.split(",")))


def items(only: str | None) -> list[Item]:
    """All items or those named; `InputError` for an item that does not exist."""
    if only is None:
        return list(CHECKLIST)
    known = {item.name: item for item in CHECKLIST}
    for name in listed(only):
        if name not in known:
            raise InputError(f"there is no item {name!r}{nearest(name, known)}")
    return [known[name] for name in listed(only)]


def print_reports(reports: Sequence[Report], candidate: str, against: Sequence[str]) -> None:
    """Print the findings item by item, then the notes."""
    show(f"{candidate} compared with {', '.join(against)}, by the checklist of RFC 9743 (BCP 133)")
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
    for section, why in NOT_COVERED.items():
        show(f"Not covered: {section} {why}")
