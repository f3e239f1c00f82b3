"""The commands `bentpipe papers list` and `bentpipe papers run`; `explain` is in `explaining`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from bentpipe.console import late_progress, lines_of, nearest, show, show_labelled, table
from bentpipe.errors import BentpipeError
from bentpipe.folders import writable
from bentpipe.reproductions.overview import print_overview
from bentpipe.reproductions.reproduction import Reproduction, find, names, save
from bentpipe.reproductions.tables import print_outcome, summary_table
from bentpipe.stdout import about_to_print

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.reproductions.reproduction import Outcome


MOST_LINES = 3
"""Lines of a statement in a table, on average. With more, each begins on a line of its own."""


def print_list(as_json: bool) -> None:
    """Print name, title and number of published values of each paper."""
    found = [find(name) for name in names()]
    if as_json:
        papers = [
            {
                "paper": reproduction.name,
                "title": reproduction.publication.title,
                "authors": reproduction.publication.authors,
                "values": len(reproduction.publication.values),
                "statements": len(reproduction.publication.statements),
            }
            for reproduction in found
        ]
        click.echo(json.dumps({"papers": papers}))
        return
    listed = table("paper", "<title", "<authors", "statements", "values")
    for reproduction in found:
        publication = reproduction.publication
        listed.add_row(
            reproduction.name,
            publication.title,
            publication.authors,
            str(len(publication.statements)),
            str(len(publication.values)),
        )
    show(listed)


def print_statements(name: str, as_json: bool) -> None:
    """Print id, kind, quantity and source of each statement of a paper."""
    reproduction = choose(name)
    found = list(reproduction.publication.statements.values())
    if as_json:
        statements = [
            {"id": one.id, "kind": one.kind, "quantity": one.quantity, "source": one.source}
            for one in found
        ]
        click.echo(json.dumps({"paper": reproduction.name, "statements": statements}))
        return
    listed = table("<statement", "<kind", "<quantity", "<source")
    for one in found:
        listed.add_row(one.id, one.kind, one.quantity, one.source)
    height = lines_of(listed)
    if height is not None and height <= MOST_LINES * len(found):
        show(listed)
    else:
        for one in found:
            show(one.id)
            show_labelled({"": f"{one.kind}: {one.quantity}. {one.source}"})
    show(f"bentpipe papers explain {found[0].id}")


def run_and_print(
    chosen_names: Sequence[str],
    workers: int | None,
    out: Path | None,
    as_json: bool,
    full: bool = False,
    verbose: bool = False,
    data: Path | None = None,
) -> bool:
    """Run papers in turn, print and save their rows; true if all are complete.

    With `full`, run the larger set of papers that have one. `data` is a folder with measured files,
    for papers that read some. Raises `BentpipeError` for an unknown paper, if none has a larger set
    or reads files, or if one is missing, and `OutputError` for a folder that cannot be written, all
    before anything runs.
    """
    chosen = with_files([choose(name) for name in chosen_names or names()], data)
    check_full(full, chosen)
    folders = {
        reproduction.name: writable(out / reproduction.name) for reproduction in chosen if out
    }
    outcomes = []
    for reproduction in chosen:
        plan = reproduction.possible(reproduction.plan(full))
        total = sum(len(job.seeds) for job in plan.values())
        with late_progress(reproduction.name, total) as progress:
            keep = folders.get(reproduction.name) if full and reproduction.has_full else None
            outcome = reproduction.run(
                workers, progress, full, keep and keep / "runs", announce=announce
            )
        outcomes.append(outcome)
        about_to_print("papers", lambda: as_object(outcomes))
        if not as_json:
            (print_outcome if verbose else print_overview)(outcome)
        if reproduction.name in folders:
            with late_progress(f"plots of {reproduction.name}", None):
                save(outcome, folders[reproduction.name])
        if not outcome.complete:
            break
    if as_json:
        click.echo(as_object(outcomes))
        return all(outcome.complete for outcome in outcomes)
    if len(outcomes) > 1:
        show(summary_table([(one.reproduction.name, one.summary) for one in outcomes]))
    rest = "" if verbose else "--verbose: all values, notes and rankings. --json: all."
    where = f"Tables and plots are in {out}." if out else "--out DIR keeps tables and plots."
    show(f"{where} `bentpipe papers explain ID`: one statement. {rest}".rstrip())
    return all(outcome.complete for outcome in outcomes)


def check_full(full: bool, chosen: Sequence[Reproduction]) -> None:
    """Raise `BentpipeError` for `full` if none of the papers has a larger set of runs."""
    if full and not any(reproduction.has_full for reproduction in chosen):
        larger = ", ".join(name for name in names() if find(name).has_full)
        raise BentpipeError(f"--full: none of these has a larger set of runs; {larger} has")


def with_files(chosen: Sequence[Reproduction], folder: Path | None) -> list[Reproduction]:
    """The reproductions with the folder of measured files, for those that read some.

    `BentpipeError` if none of them does, or if a file is missing.
    """
    if folder is None:
        return list(chosen)
    if not any(one.files.sources for one in chosen):
        reading = ", ".join(name for name in names() if find(name).files.sources)
        raise BentpipeError(f"--data: none of these reads measured files; {reading} does")
    return [one.with_files(folder) if one.files.sources else one for one in chosen]


def announce(sentence: str) -> None:
    """Print a sentence before a long run. It is no result, so it goes to stderr."""
    click.echo(sentence, err=True)


def as_object(outcomes: Sequence[Outcome]) -> str:
    """The object that `papers run --json` prints."""
    return json.dumps({"papers": [outcome.to_dict() for outcome in outcomes]})


def choose(name: str) -> Reproduction:
    """The reproduction called `name`, or an error with the nearest name."""
    try:
        return find(name)
    except KeyError:
        raise BentpipeError(f"there is no paper {name!r}{nearest(name, names())}") from None
