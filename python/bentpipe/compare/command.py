"""The command `bentpipe compare`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from bentpipe.compare import buffers, candidates, counters, links, mechanisms, tables
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

    from bentpipe.compare.buffers import Choice
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Buffer, Link
    from bentpipe.compare.mechanisms import OnPath
    from bentpipe.compare.verdict import Verdict
    from bentpipe.compare.workloads import Workload


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
) -> bool:
    """Run the studies of all workloads and print the result; true if all runs are complete.

    With `queues`, run one study of controllers and buffers instead. With `on_path`, run each
    workload over each of these mechanisms, and rank controllers and mechanisms together. `command`
    is the command line that repeats it.
    """
    if on_path and not names:
        names = mechanisms.CONTROLLERS
    controllers = candidates.chosen(names, link)
    left_out = candidates.left_out(names)
    taking_part = mechanisms.combined(controllers, on_path) if on_path else controllers
    asked = [] if queues else workloads(link)
    seed = link.scenario.seed
    studies = {
        f"{w.name}{one.slug and f'-{one.slug}'}": w.study(
            one.on(link), controllers, replications, seed, one.slug
        )
        for w in asked
        for one in on_path or [mechanisms.AS_IT_IS]
    }
    plan: dict[str, Any] = {
        "compare": link.name,
        "controllers": [asdict(candidate) for candidate in taking_part],
    }
    if queues:
        studies = {"buffers": buffers.study(link, taking_part, queues, replications)}
    folder = taken(out, "compare", studies, plan) if out else None
    results = run_in_turn(f"controllers on {link.name}", studies, folder, workers)
    complete = len(results) == len(studies)
    # An interrupted workload is kept for the next time, and not judged.
    each = len(on_path) or 1
    whole = [
        Outcome(workload, taking_part, results[first : first + each])
        for number, workload in enumerate(asked)
        if (first := number * each) + each <= len(results)
    ]
    found = verdicts(whole)
    choice = buffers.choice(link, taking_part, queues, results[0]) if queues and complete else None
    summary = tables.to_dict(link, taking_part, whole, found, left_out)
    if choice:
        summary["buffers"] = buffers.to_dict(choice, queues, results[0].summary["runs"])
    summary = sealed(summary | {"complete": complete, "command": [*command]})
    about_to_print("compare", lambda: as_json(summary).decode(), folder)
    if folder:
        save(folder / "compare.json", as_json(summary))
        save(folder / "compare.md", tables.markdown(link, whole, found, left_out, choice).encode())
    if as_one_object:
        click.echo(as_json(summary).decode(), nl=False)
        return complete
    print_all(link, asked or [buffers.BULK], whole, found, choice)
    print_notes(left_out, taking_part, ranked=bool(whole))
    if not complete:
        show("Interrupted: workloads that are missing here are incomplete. Run the same"
             " command with --out to continue.")  # fmt: skip
    if folder:
        show(f"The studies, compare.json and compare.md are in {folder}."
             f" `bentpipe report {folder}` makes a page of them.")  # fmt: skip
    return complete


def print_all(
    link: Link,
    asked: Sequence[Workload],
    whole: Sequence[Outcome],
    found: Sequence[Verdict],
    choice: Choice | None,
) -> None:
    """Print the link, the rankings with the verdicts, and the choice of a buffer."""
    show(f"{link.name}: {tables.described(link)}")
    show(tables.windows(link, asked))
    for line in (*links.phases(tables.events_of(link, asked)), *links.fades(link)):
        show(line)
    if choice:
        show(buffers.COMPARED)
    for outcome in whole:
        show(f"\n{outcome.workload.title}", tables.text_table(outcome))
    print_counters(whole)
    for verdict in found:
        show(verdict.sentence)
    if choice:
        show("\nControllers and buffers, one bulk flow", buffers.text_table(choice))
        print_choice(choice)


def print_counters(whole: Sequence[Outcome]) -> None:
    """Print the counters of the mechanisms on the path in the first workload, if there are any."""
    if not (whole and whole[0].counted):
        return
    title = whole[0].workload.title
    for on_path, listed in counters.text_tables(whole[0].counted).items():
        mechanism = "the path as it is" if on_path == mechanisms.NONE else on_path
        show(f"\nCounters of {mechanism}, {title[0].lower()}{title[1:]}", listed)
    show("minus baseline: paired difference from the baseline over the same mechanism. --json,"
         " compare.md and the page also have the counters of the other workloads, and those that"
         " are zero.")  # fmt: skip


def print_choice(choice: Choice) -> None:
    """Print the recommendation of controller and buffer, and how to read the table."""
    for name in choice.undefined:
        show(f"Without a defined goodput and RTT in every run: {name}.")
    show("front: no other combination has at least this goodput with at most this p95 RTT"
         " (Pareto front).")  # fmt: skip
    show(choice.sentence)


def print_notes(
    left_out: Mapping[str, str], taking_part: Sequence[Candidate], *, ranked: bool
) -> None:
    """Print notes on the controllers that were compared or left out."""
    if ranked:
        show("= not significantly different from the best: the 95 % interval of the paired"
             " difference includes zero. Expect 1 of 20 comparisons to be significant by"
             " chance.")  # fmt: skip
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
    phase: str | None,
) -> Link:
    """The link that the options describe."""
    if (name is None) == (scenario is None):
        known = ", ".join(links.presets())
        raise InputError(f"expected --link NAME or --scenario FILE; links are {known}")
    several = queue is not None and "," in queue
    if scenario is None:
        own = None if several else queue
        made = links.of_preset(str(name), rate=rate, rtt=rtt, per=per, queue=own, sets=sets)
        return made.in_phase(phase)
    if any(option is not None for option in (rate, rtt, per)):
        raise InputError("--rate, --rtt and --per change a --link;"
                         " change a scenario with --set")  # fmt: skip
    link = links.of_scenario(scenario, sets)
    if queue is not None and not several:
        link = link.with_queue(queue)
    return link.in_phase(phase)
