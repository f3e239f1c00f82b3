"""The command `bentpipe cite`."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from bentpipe.cite.bibtex import Entry
from bentpipe.cite.library import Thing, cited, entry, library, software
from bentpipe.cite.methods import RECONSTRUCTED, TOOL, paragraph
from bentpipe.cite.used import controllers
from bentpipe.cite.work import read
from bentpipe.console import late_progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bentpipe.cite.work import Work

WIDTH = 100
"""Columns of comments in the file."""


def print_citations(path: Path, as_json: bool, only_methods: bool) -> None:
    """Print the bibliography with the methods paragraph as a comment, or one of both."""
    with late_progress(f"reading {path.name}", None):
        work = read(path)
    entries = bibliography(work)
    if as_json:
        found = {
            "bentpipe": work.version,
            "kind": work.kind,
            "methods": paragraph(work),
            "without": dict(without(work.things)),
            "notes": work.notes,
            "entries": [{"key": e.key, "type": e.kind, **e.fields} for e in entries],
            "bibtex": "\n".join(map(str, entries)),
        }
        click.echo(json.dumps(found))
    elif only_methods:
        click.echo(paragraph(work))
    else:
        click.echo(text(work, entries))


def text(work: Work, entries: list[Entry]) -> str:
    """A file of BibTeX. Lines with a percent sign are comments."""
    lines = [comment(f"Methods: {paragraph(work)}")]
    reasons = [*without(work.things)]
    if reasons:
        lines += ["%", *(comment(f"Without an entry: {label}: {why}") for label, why in reasons)]
    lines += [comment(f"Left out: {note}") for note in work.notes]
    return "\n".join([*lines, "", "\n\n".join(map(str, entries))])


def comment(sentence: str) -> str:
    """A text as lines of a comment. An at sign would begin an entry."""
    plain = sentence.replace("@", "(at)")
    wrapped = textwrap.wrap(plain, WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"% {line}" for line in wrapped)


def bibliography(work: Work) -> list[Entry]:
    """The entries: the tool first, the others by their keys."""
    tool = Entry(TOOL, "misc", library()["tool"] | {"version": work.version})
    found: dict[str, Entry] = {}
    notes: dict[str, dict[str, None]] = {}
    for thing in sorted(work.things, key=lambda one: (one.label, one.status)):
        keys = cited(thing)
        for key in keys if isinstance(keys, list) else ():
            made = entry(key)
            found[made.key] = made
            if thing.status == RECONSTRUCTED and key in library()["entries"]:
                sentence = f"Bentpipe's {thing.label} is reconstructed: some of its rules are"
                notes.setdefault(made.key, {})[f"{sentence} a choice of Bentpipe"] = None
        if thing.implementation:
            made = software(thing.implementation)
            found[made.key] = made
    for kind in {kind for part in work.parts for kind in part.intervals}:
        keys = cited(Thing("methods", kind))
        found |= {key: entry(key) for key in keys or ()}
    if any(part.compared for part in work.parts):
        found["holm1979"] = entry("holm1979")
    with_notes = {
        key: replace(one, fields={**one.fields, "note": ". ".join(notes[key])})
        if key in notes
        else one
        for key, one in found.items()
    }
    return [tool, *(with_notes[key] for key in sorted(with_notes))]


def without(things: set[Thing]) -> Iterator[tuple[str, str]]:
    """The things without an entry, and why."""
    for thing in sorted(things, key=lambda one: one.label):
        found = cited(thing)
        if thing.kind == "python":
            yield thing.label, "a controller of your own"
        elif thing.kind == "series":
            yield (
                f"series of attenuation {thing.name}",
                "the file does not name its origin. If it is a measurement, cite that; the entries"
                " of rain models are those of `bentpipe rain`",
            )
        elif isinstance(found, str):
            yield thing.label, found
        elif found is None:
            # Of a crate of the user, which the bibliography cannot know.
            yield thing.label, source_of(thing)


def source_of(thing: Thing) -> str:
    """The source that the registry names for a thing, in words."""
    known = controllers() if thing.kind == "controllers" else {}
    named = known[thing.name].source if thing.name in known else ""
    return f"its source is {named}" if named else "the bibliography does not have it"
