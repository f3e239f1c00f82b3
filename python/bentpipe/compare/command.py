"""The command `bentpipe compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.compare import buffers, candidates, counters, links, mechanisms, parts, tables
from bentpipe.compare.folder import run_in_turn, taken
from bentpipe.compare.outcome import Outcome
from bentpipe.compare.verdict import verdicts
from bentpipe.compare.workloads import application, workloads
from bentpipe.console import show
from bentpipe.errors import InputError
from bentpipe.seal import sealed
from bentpipe.stdout import about_to_print
from bentpipe.study.significance import rule
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe.compare.buffers import Choice
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Buffer, Link
    from bentpipe.compare.mechanisms import OnPath
    from bentpipe.compare.parts import Part, Plan
    from bentpipe.compare.transports import Over
    from bentpipe.compare.verdict import Verdict
    from bentpipe.compare.workloads import Application, Workload
    from bentpipe.study import Results, Study


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
) -> bool:
    """Run the studies of all workloads and print the result; true if all runs are complete.

    With `queues`, run one study of controllers and buffers instead. With `on_path`, run each
    workload over each of these mechanisms, and with `over` over each of these transports, and rank
    controllers, transports and mechanisms together. `command` is the command line that repeats it.
    """
    if (on_path or over) and not names:
        names = mechanisms.CONTROLLERS
    controllers = candidates.chosen(names, link)
    left_out = candidates.left_out(names)
    asked = [] if queues else workloads(link)
    made = parts.planned(link, controllers, asked, over, on_path)
    taking_part = controllers if queues else made.candidates
    if not as_one_object:
        print_sentences(made.sentences)
    studies = studies_of(asked, made, replications)
    plan: dict[str, Any] = {
        "compare": link.name,
        "controllers": [candidate.to_dict() for candidate in taking_part],
    }
    if queues:
        studies = {"buffers": buffers.study(link, taking_part, queues, replications)}
    folder = taken(out, "compare", studies, plan) if out else None
    results = run_in_turn(f"controllers on {link.name}", studies, folder, workers)
    complete = len(results) == len(studies)
    whole = outcomes(asked, made, results)
    found = verdicts(whole)
    choice = buffers.choice(link, taking_part, queues, results[0]) if queues and complete else None
    summary = tables.to_dict(link, taking_part, whole, found, left_out, made)
    if choice:
        summary["buffers"] = buffers.to_dict(choice, queues, results[0].summary["runs"])
    summary = sealed(summary | {"complete": complete, "command": [*command]})
    about_to_print("compare", lambda: as_json(summary).decode(), folder)
    if folder:
        text = tables.markdown(link, whole, found, left_out, choice, made.sentences)
        save(folder / "compare.json", as_json(summary))
        save(folder / "compare.md", text.encode())
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


def studies_of(asked: Sequence[Workload], plan: Plan, replications: int) -> dict[str, Study]:
    """One study for each part of each workload, by the name of its folder."""
    return {
        "-".join(filter(None, (workload.name, part.slug))): workload.study(
            part.link, part.candidates, replications, part.link.scenario.seed, part.slug
        )
        for workload in asked
        for part in plan.parts[workload.name]
    }


def outcomes(asked: Sequence[Workload], plan: Plan, results: Sequence[Results]) -> list[Outcome]:
    """The workloads whose studies are all complete. Others are kept for the next time."""
    rest = [*results]
    found = []
    for workload in asked:
        own = plan.parts[workload.name]
        if len(rest) >= len(own):
            found += by_application(workload, own, rest[: len(own)])
        rest = rest[len(own) :]
    return found


def by_application(
    workload: Workload, own: Sequence[Part], results: Sequence[Results]
) -> list[Outcome]:
    """One ranking for each application of the pages; one for all parts of other workloads.

    Pages over HTTP/1.1 and over HTTP/3 are different workloads, so that no ranking has both.
    """
    groups: dict[Application | None, list[tuple[Part, Results]]] = {}
    for part, one in zip(own, results, strict=True):
        key = application(part.link, part.candidates[0].value) if workload.has_pages else None
        groups.setdefault(key, []).append((part, one))
    return [
        Outcome(workload, [p.candidates for p, _ in group], [r for _, r in group], key)
        for key, group in groups.items()
    ]


def print_sentences(sentences: Sequence[str]) -> None:
    """Print each sentence on lines of its own."""
    for sentence in sentences:
        show(sentence)


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
    print_sentences(tables.about_link(link, asked, whole))
    if choice:
        show(buffers.COMPARED)
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
    show("front: no other combination has at least this goodput with at most this p95 RTT"
         " (Pareto front).")  # fmt: skip
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
