"""The command `bentpipe papers explain`: all that is known of one statement."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

from bentpipe.console import nearest, show, table
from bentpipe.errors import BentpipeError
from bentpipe.reproductions.judgement import RULE, UNDECIDED, Row
from bentpipe.reproductions.readings import NO_REASON, explain
from bentpipe.reproductions.reproduction import find, names
from bentpipe.reproductions.tables import measured, published, spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from bentpipe.reproductions.published import Statement
    from bentpipe.reproductions.reproduction import Reproduction

SHOWN_RUNS = 6


def locate(identity: str) -> tuple[Reproduction, Statement]:
    """The paper and the statement with an id, or the statement of a row with that id.

    A prefix `PAPER:` chooses the paper.
    """
    paper, colon, name = identity.rpartition(":")
    if colon and paper not in names():
        raise BentpipeError(f"there is no paper {paper!r}{nearest(paper, names())}")
    chosen = [find(one) for one in ([paper] if colon else names())]
    matches = []
    known: list[str] = []
    for reproduction in chosen:
        publication = reproduction.publication
        value = publication.values.get(name.partition("@")[0])
        statement = publication.statements.get(value.statement if value else name)
        known += publication.statements
        if statement:
            matches.append((reproduction, statement))
    if not matches:
        raise BentpipeError(f"there is no statement {name!r}{nearest(name, known)}")
    if len(matches) > 1:
        places = ", ".join(f"{one.name}:{name}" for one, _ in matches)
        raise BentpipeError(f"{name!r} is a statement of several papers; write one of {places}")
    return matches[0]


def gather(identity: str, results: Path | None) -> dict[str, Any]:
    """All that is known of one statement, ready for JSON."""
    reproduction, statement = locate(identity)
    publication = reproduction.publication
    values = [value for value in publication.values.values() if value.statement == statement.id]
    known = explain(reproduction.readings(), statement.id)
    plan = reproduction.plan()
    runs = [
        {"name": name, "scenario": job.scenario, "set": list(job.sets), "seeds": len(job.seeds)}
        for name, job in plan.items()
        if any(fnmatchcase(name, pattern) for pattern in known.runs)
    ]
    found: dict[str, Any] = {
        "paper": reproduction.name,
        "statement": statement.id,
        "kind": statement.kind,
        "quantity": statement.quantity,
        "source": statement.source,
        "removed": asdict(statement.removal) if statement.removal else None,
        "values": [
            {
                "id": value.id,
                "published": value.printed,
                "unit": value.unit,
                "tolerance": asdict(value.tolerance),
                "removed": asdict(value.removal) if value.removal else None,
            }
            for value in values
        ],
        "readings": known.readings,
        "reasons": known.reasons,
        "tried": [asdict(trial) for trial in known.tried],
        "runs": runs,
        "figures": known.figures,
        "judgement": None,
        "verdict": None,
        "rows": [],
    }
    return found | (measured_in(results, reproduction, statement) if results else {})


def measured_in(results: Path, reproduction: Reproduction, statement: Statement) -> dict[str, Any]:
    """The judgement and the rows of a statement in a folder of `papers run --out`."""
    path = results / reproduction.name / "rows.json"
    try:
        (paper, *_) = json.loads(path.read_text(encoding="utf-8"))["papers"]
        (judged,) = [one for one in paper["statements"] if one["id"] == statement.id]
        rows = [row for row in paper["rows"] if row["statement"] == statement.id]
    except (OSError, KeyError, ValueError) as error:
        raise BentpipeError(
            f"{path}: expected the rows of `bentpipe papers run --out {results}` by this version"
        ) from error
    verdict = "undecided" if judged["judgement"] == "undecided" else judged["verdict"]
    return {
        "judgement": judged["judgement"],
        "verdict": verdict,
        "note": judged["note"],
        "rows": rows,
    }


def explain_and_print(identity: str, results: Path | None, as_json: bool) -> None:
    """Print source, reading, alternatives, runs and figure of one statement."""
    found = gather(identity, results)
    if as_json:
        click.echo(json.dumps(found))
        return
    show(f"{found['statement']} ({found['paper']}, {found['kind']}): {found['quantity']}")
    show(f"Source: {found['source']}")
    if found["removed"]:
        show(f"Not counted, {found['removed']['reason']}: {found['removed']['proof']}")
    if found["judgement"]:
        undecided = found["judgement"] == "undecided"
        show(f"Judgement: {UNDECIDED if undecided else found['judgement']}")
    print_values(found)
    if found["rows"]:
        show(RULE)
    print_list("Reading", found["readings"])
    failed = found["verdict"] in ("deviates", "undecided")
    print_list("Reason", found["reasons"] or ([NO_REASON] if failed else []))
    print_list("Tried", [f"{trial['what']}: {trial['result']}" for trial in found["tried"]])
    runs = by_likeness(found["runs"], found["statement"])
    shown = [run_text(run) for run in runs[:SHOWN_RUNS]]
    more = [f"and {len(runs) - SHOWN_RUNS} more"] if len(runs) > SHOWN_RUNS else []
    print_list("Runs", [*shown, *more] or ["none: computed from the paper's equations or numbers"])
    print_list("Figure", found["figures"] or ["none"])


def run_text(run: dict[str, Any]) -> str:
    """A run with its scenario, seeds and overrides."""
    seeds = "1 seed" if run["seeds"] == 1 else f"{run['seeds']} seeds"
    sets = "".join(f" --set {one}" for one in run["set"])
    return f"{run['name']}: {run['scenario']}, {seeds}{',' if sets else ''}{sets}"


def print_values(found: dict[str, Any]) -> None:
    """Print the rows if they were measured, otherwise the published values.

    What decides the statement comes first, then a table for each reason of not being counted.
    """
    own = found["removed"]["reason"] if found["removed"] else ""
    groups: dict[str, list[dict[str, Any]]] = {}
    for held in found["rows"] or found["values"]:
        removed = held["removed"]
        reason = removed["reason"] if isinstance(removed, dict) else removed or ""
        groups.setdefault(reason, []).append(held)
    for reason, listed in sorted(groups.items(), key=lambda group: group[0] != own):
        if reason != own:
            show(f"Not counted, {reason or 'below another statement'}:")
        elif found["rows"] and found["kind"] != "number":
            show(first_quantity(listed))
        show(rows_table(listed) if found["rows"] else values_table(listed))


def first_quantity(listed: Sequence[dict[str, Any]]) -> str:
    """What the first row measures, in full: the table has short names."""
    row = Row(**listed[0])
    unit = "" if row.unit == "1" else f", in {row.unit}"
    return f"First row: {row.quantity}{unit}"


def rows_table(listed: Sequence[dict[str, Any]]) -> Table:
    """Measured rows. Fits 80 columns."""
    rows = [Row(**held) for held in listed]
    made = table("row", "published", "measured", "spread", "<judgement")
    for name, row in zip(shortened([row.id for row in rows]), rows, strict=True):
        made.add_row(name, published(row), measured(row), spread(row), row.judgement)
    return made


def values_table(listed: Sequence[dict[str, Any]]) -> Table:
    """Published values. Fits 80 columns."""
    made = table("value", "published", "<unit")
    names = shortened([value["id"] for value in listed])
    for name, value in zip(names, listed, strict=True):
        printed = value["published"]
        text = " to ".join(map(str, printed)) if isinstance(printed, list) else str(printed)
        made.add_row(name, text, value["unit"])
    return made


def shortened(ids: Sequence[str]) -> list[str]:
    """The ids without the parts at their ends that all of them have; an id alone stays whole."""
    parts = [re.split(r"(?<=/)|(?=@)", name) for name in ids]
    if len(parts) < 2:
        return list(ids)
    start, end = same_parts(parts), same_parts([part[::-1] for part in parts])
    return ["".join(part[start : len(part) - end]).strip("/@") or "".join(part) for part in parts]


def same_parts(parts: Sequence[Sequence[str]]) -> int:
    """The number of first parts that are the same everywhere, all but one of the shortest."""
    alike = (len({one.strip("/") for one in column}) == 1 for column in zip(*parts, strict=False))
    return min(sum(1 for _ in takewhile(bool, alike)), min(map(len, parts)) - 1)


def by_likeness(runs: Sequence[dict[str, Any]], statement: str) -> list[dict[str, Any]]:
    """The runs in order of how many words of their names the statement has in its id."""
    known = words_of(statement)

    def unlike(run: dict[str, Any]) -> tuple[int, int]:
        words = words_of(run["name"])
        return -len(words & known), len(words - known)

    return sorted(runs, key=unlike)


def words_of(identity: str) -> set[str]:
    """The words of an id."""
    return set(re.split(r"[/@,-]+", identity))


def print_list(title: str, lines: list[str]) -> None:
    """Print a title and its lines, if there are any."""
    for number, line in enumerate(lines):
        show(f"{title}: {line}" if number == 0 else f"  {line}")
