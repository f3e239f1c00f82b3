"""The command `bentpipe papers explain`: all that is known of one statement."""

from __future__ import annotations

import json
from dataclasses import asdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from bentpipe.console import nearest, show, table
from bentpipe.errors import BentpipeError
from bentpipe.reproductions.judgement import Row
from bentpipe.reproductions.readings import NO_REASON, explain
from bentpipe.reproductions.reproduction import find, names
from bentpipe.reproductions.tables import measured, published

if TYPE_CHECKING:
    from pathlib import Path

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
        show(f"Judgement: {found['judgement']}" + (f" ({found['note']})" if found["note"] else ""))
    print_values(found)
    print_list("Reading", found["readings"])
    failed = found["verdict"] in ("deviates", "undecided")
    print_list("Reason", found["reasons"] or ([NO_REASON] if failed else []))
    print_list("Tried", [f"{trial['what']}: {trial['result']}" for trial in found["tried"]])
    runs = found["runs"]
    shown = [
        f"{run['name']}: {run['scenario']}, {run['seeds']} "
        f"{'seed' if run['seeds'] == 1 else 'seeds'}, --set {' --set '.join(run['set'])}"
        for run in runs[:SHOWN_RUNS]
    ]
    more = [f"and {len(runs) - SHOWN_RUNS} more"] if len(runs) > SHOWN_RUNS else []
    print_list("Runs", [*shown, *more] or ["none: computed from the paper's equations or numbers"])
    print_list("Figure", found["figures"] or ["none"])


def print_values(found: dict[str, Any]) -> None:
    """Print the rows if they were measured, otherwise the published values."""
    if found["rows"]:
        listed = table("row", "published", "measured", "<judgement", "<not counted")
        for held in found["rows"]:
            row = Row(**held)
            listed.add_row(row.id, published(row), measured(row), row.judgement, row.removed)
    else:
        listed = table("value", "published", "<unit", "<not counted")
        for value in found["values"]:
            printed = value["published"]
            text = " to ".join(map(str, printed)) if isinstance(printed, list) else str(printed)
            removed = value["removed"]
            listed.add_row(value["id"], text, value["unit"], removed["reason"] if removed else "")
    show(listed)


def print_list(title: str, lines: list[str]) -> None:
    """Print a title and its lines, if there are any."""
    for number, line in enumerate(lines):
        show(f"{title}: {line}" if number == 0 else f"  {line}")
