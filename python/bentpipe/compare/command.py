"""The command `bentpipe compare`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from bentpipe.compare import candidates, links, tables
from bentpipe.compare.folder import run_in_turn, taken
from bentpipe.compare.outcome import Outcome
from bentpipe.compare.verdict import verdicts
from bentpipe.compare.workloads import workloads
from bentpipe.console import show
from bentpipe.errors import InputError
from bentpipe.seal import sealed
from bentpipe.stdout import about_to_print
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Link


def run_and_print(
    link: Link,
    names: Sequence[str] | None,
    replications: int,
    workers: int | None,
    out: Path | None,
    as_one_object: bool,
    command: Sequence[str],
) -> bool:
    """Run the studies of all workloads and print the result; true if all runs are complete.

    `command` is the command line that repeats it.
    """
    taking_part = candidates.chosen(names, link)
    left_out = candidates.left_out(names)
    asked = workloads(link)
    seed = link.scenario.seed
    studies = {w.name: w.study(link, taking_part, replications, seed) for w in asked}
    plan = {"compare": link.name, "controllers": [asdict(c) for c in taking_part]}
    folder = taken(out, "compare", studies, plan) if out else None
    results = run_in_turn(f"controllers on {link.name}", studies, folder, workers)
    # An interrupted workload is kept for the next time, and not judged.
    whole = [Outcome(w, taking_part, r) for w, r in zip(asked, results, strict=False)]
    found = verdicts(whole)
    complete = len(whole) == len(asked)
    summary = tables.to_dict(link, taking_part, whole, found, left_out)
    summary = sealed(summary | {"complete": complete, "command": [*command]})
    about_to_print("compare", lambda: as_json(summary).decode(), folder)
    if folder:
        save(folder / "compare.json", as_json(summary))
        save(folder / "compare.md", tables.markdown(link, whole, found, left_out).encode())
    if as_one_object:
        click.echo(as_json(summary).decode(), nl=False)
    else:
        show(f"{link.name}: {tables.described(link)}")
        show(tables.windows(link, whole))
        for outcome in whole:
            show(f"\n{outcome.workload.title}", tables.text_table(outcome))
        for verdict in found:
            show(verdict.sentence)
        print_notes(left_out, taking_part)
        if not complete:
            show("Interrupted: workloads that are missing here are incomplete. Run the same"
                 " command with --out to continue.")  # fmt: skip
        if folder:
            show(f"The studies, compare.json and compare.md are in {folder}."
                 f" `bentpipe report {folder}` makes a page of them.")  # fmt: skip
    return complete


def print_notes(left_out: Mapping[str, str], taking_part: Sequence[Candidate]) -> None:
    """Print notes on the controllers that were compared or left out."""
    show("= not significantly different from the best: the 95 % interval of the paired difference"
         " includes zero. Expect 1 of 20 comparisons to be significant by chance.")  # fmt: skip
    for candidate in taking_part:
        if candidate.asks:
            show(f"* {candidate.name} needs {candidate.asks}")
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, other in left_out.items() if other == reason)
        show(f"Left out unless --controllers names them: {names}. They need {reason}.")


def the_link(
    name: str | None,
    scenario: Path | None,
    rate: str | None,
    rtt: str | None,
    per: float | None,
    queue: str | None,
    sets: tuple[str, ...],
) -> Link:
    """The link that the options describe."""
    if (name is None) == (scenario is None):
        known = ", ".join(links.presets())
        raise InputError(f"expected --link NAME or --scenario FILE; links are {known}")
    if scenario is None:
        return links.of_preset(str(name), rate=rate, rtt=rtt, per=per, queue=queue, sets=sets)
    if any(option is not None for option in (rate, rtt, per, queue)):
        raise InputError("--rate, --rtt, --per and --queue change a --link;"
                         " change a scenario with --set")  # fmt: skip
    return links.of_scenario(scenario, sets)
