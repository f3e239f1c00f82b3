"""The command `bentpipe compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.compare import buffers, candidates, counters, overview, tables
from bentpipe.compare.comparison import run
from bentpipe.compare.folder import LATE
from bentpipe.console import few, show, show_labelled
from bentpipe.stdout import about_to_print
from bentpipe.study.significance import rule
from bentpipe.study.store import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe.compare.buffers import Choice
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.comparison import Comparison
    from bentpipe.compare.links import Buffer, Link
    from bentpipe.compare.mechanisms import OnPath
    from bentpipe.compare.outcome import Outcome
    from bentpipe.compare.transports import Over
    from bentpipe.compare.verdict import Verdict

FRONT = (
    "front: no other combination has at least this goodput with at most this p95 RTT"
    " (Pareto front)."
)
"""What the column `front` means."""


def run_and_print(
    link: Link,
    names: Sequence[str] | None,
    replications: int,
    workers: int | None,
    out: Path | None,
    as_one_object: bool,
    command: Sequence[str],
    queues: Sequence[Buffer] = (),
    on_path: Sequence[OnPath] = (),
    over: Sequence[Over] = (),
    verbose: bool = False,
    workload: Sequence[str] | None = None,
) -> bool:
    """Run the studies of all workloads and print the result; true if all runs are complete.

    Arguments are those of `comparison.run`. `command` is the command line that repeats it.
    """
    found = run(
        link,
        names,
        replications,
        workers,
        out,
        queues,
        on_path,
        over,
        command,
        progress=LATE,
        workload=workload,
    )
    about_to_print("compare", lambda: as_json(found.summary).decode(), out)
    if as_one_object:
        click.echo(as_json(found.summary).decode(), nl=False)
        return found.complete
    print_answer(found)
    if verbose:
        print_all(found.outcomes, found.verdicts, found.choice)
    else:
        print_overview(found.outcomes, found.choice)
    show("")
    show(tables.windows(link, found.workloads))
    print_sentences([*found.plan.sentences,
                     *tables.about_link(link, found.workloads, found.outcomes)])  # fmt: skip
    if found.choice:
        show(buffers.COMPARED)
    print_notes(found.left_out, found.candidates, ranked=bool(found.outcomes))
    if not found.complete:
        show("Interrupted: workloads that are missing here are incomplete. Run the same"
             " command with --out to continue.")  # fmt: skip
    show(where_the_rest_is(found.folder, verbose))
    return found.complete


def where_the_rest_is(folder: Path | None, verbose: bool) -> str:
    """The last sentence: the folder, the page and the options that have the rest."""
    rest = "" if verbose else " --verbose: all rankings, counters and verdicts. --json: all."
    if folder is None:
        return f"--out DIR keeps the studies; `bentpipe report DIR` makes a page of them.{rest}"
    return (
        f"The studies, compare.json and compare.md are in {folder}."
        f" `bentpipe report {folder}` makes a page of them.{rest}"
    )


def print_sentences(sentences: Sequence[str]) -> None:
    """Print each sentence on lines of its own."""
    for sentence in sentences:
        show(sentence)


def print_answer(found: Comparison) -> None:
    """Print three lines: the choice, its cost, and how sure it is; and the link they are about."""
    show_labelled(found.labelled)


def print_overview(whole: Sequence[Outcome], choice: Choice | None) -> None:
    """Print one table of all workloads, and the counters that differ from the baseline."""
    if choice:
        show("")
        show(overview.choice_table(choice))
        print_left_out(len(choice.combinations) - overview.MOST_ROWS)
        for name in choice.undefined:
            show(f"Without a defined goodput and RTT in every run: {name}.")
        show(FRONT)
    if whole:
        show("")
        show(overview.legend(whole))
        parts, left_out = overview.text_tables(whole)
        for one in parts:
            show(one)
        print_left_out(left_out)
        print_sentences([note for outcome in whole for note in tables.notes_on(outcome)])
        listed, more = overview.different(whole[0].counted)
        if listed:
            show(f"\nCounters with a difference from the baseline, {whole[0].title.lower()}")
            print_sentences([f"  {line}" for line in listed])
            if more:
                show(f"  {more} more: --verbose, --json")


def print_left_out(rows: int) -> None:
    """Print how many rows a table leaves out, if any."""
    if rows > 0:
        show(f"{rows} more rows: --verbose, --json")


def print_all(whole: Sequence[Outcome], found: Sequence[Verdict], choice: Choice | None) -> None:
    """Print the rankings, the counters, the verdicts, and the choice of a buffer."""
    for outcome in whole:
        show(f"\n{outcome.title}", tables.text_table(outcome))
        print_sentences(tables.notes_on(outcome))
    print_counters(whole)
    print_sentences([verdict.sentence for verdict in found])
    if choice:
        show("\nControllers and buffers, one bulk flow", buffers.text_table(choice))
        print_choice(choice)


def print_counters(whole: Sequence[Outcome]) -> None:
    """Print the counters of the mechanisms on the path in the first workload, if there are any."""
    if not (whole and whole[0].counted):
        return
    title = whole[0].title
    for on_path, listed in counters.text_tables(whole[0].counted).items():
        mechanism = "the path as it is" if on_path == candidates.NONE else on_path
        show(f"\nCounters of {mechanism}, {title[0].lower()}{title[1:]}", listed)
    show("minus baseline: paired difference from the baseline over the same mechanism. --json,"
         " compare.md and the page also have the counters of the other workloads, and those that"
         " are zero.")  # fmt: skip


def print_choice(choice: Choice) -> None:
    """Print the recommendation of controller and buffer, and how to read the table."""
    for name in choice.undefined:
        show(f"Without a defined goodput and RTT in every run: {name}.")
    show(FRONT)
    show(choice.sentence)


def print_notes(
    left_out: Mapping[str, str], taking_part: Sequence[Candidate], *, ranked: bool
) -> None:
    """Print notes on the controllers that were compared or left out."""
    if ranked:
        show(f"= and (n.s.): not significantly different. {rule('a ranking')}")
    for candidate in taking_part:
        if candidate.asks:
            show(f"* {candidate.name} needs {candidate.asks}")
    for reason in dict.fromkeys(left_out.values()):
        names = few(name for name, other in left_out.items() if other == reason)
        show(f"Left out unless --controllers names them: {names}. They need {reason}.")
