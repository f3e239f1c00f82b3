"""The commands `bentpipe papers list` and `bentpipe papers run`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from bentpipe.console import late_progress, nearest, show, table
from bentpipe.errors import BentpipeError, OutputError
from bentpipe.papers import pack as packs
from bentpipe.papers.tables import print_outcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def print_list(as_json: bool) -> None:
    """Print name, title and number of published values of each paper."""
    found = [packs.pack(name) for name in packs.names()]
    if as_json:
        papers = [
            {
                "paper": pack.name,
                "title": pack.publication.title,
                "authors": pack.publication.authors,
                "values": len(pack.publication.values),
            }
            for pack in found
        ]
        click.echo(json.dumps({"papers": papers}))
        return
    listed = table("paper", "<title", "<authors", "values")
    for pack in found:
        publication = pack.publication
        listed.add_row(
            pack.name, publication.title, publication.authors, str(len(publication.values))
        )
    show(listed)


def run_and_print(
    names: Sequence[str], workers: int | None, out: Path | None, as_json: bool
) -> bool:
    """Run papers one after the other, print and save their rows; whether all were completed.

    Raises `BentpipeError` for a name that is no paper and `OutputError` for a folder that cannot
    be written, both before anything runs.
    """
    chosen = [choose(name) for name in names or packs.names()]
    folders = {pack.name: writable(out / pack.name) for pack in chosen if out}
    outcomes = []
    for pack in chosen:
        total = sum(len(job.seeds) for job in pack.plan().values())
        with late_progress(pack.name, total) as progress:
            outcome = pack.run(workers, progress)
        outcomes.append(outcome)
        if not as_json:
            print_outcome(outcome)
        if pack.name in folders:
            packs.save(outcome, folders[pack.name])
        if not outcome.complete:
            break
    if as_json:
        click.echo(json.dumps({"papers": [outcome.to_dict() for outcome in outcomes]}))
    elif out:
        show(f"tables and plots are in {out}")
    return all(outcome.complete for outcome in outcomes)


def choose(name: str) -> packs.Pack:
    """The pack of that name, or an error with the nearest one."""
    try:
        return packs.pack(name)
    except KeyError:
        raise BentpipeError(f"there is no paper {name!r}{nearest(name, packs.names())}") from None


def writable(folder: Path) -> Path:
    """Make the folder and try it out before the runs."""
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}") from error
    return folder
