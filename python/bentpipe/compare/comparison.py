"""A comparison of congestion controllers as an object: `bentpipe.compare`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bentpipe import _native
from bentpipe.arguments import text, texts, whole
from bentpipe.compare import (
    answer,
    buffers,
    candidates,
    links,
    mechanisms,
    overview,
    parts,
    tables,
)
from bentpipe.compare import transports as of_transports
from bentpipe.compare.folder import run_in_turn, taken
from bentpipe.compare.legs import with_compared
from bentpipe.compare.outcome import Outcome
from bentpipe.compare.starts import in_phase
from bentpipe.compare.verdict import verdicts
from bentpipe.compare.workloads import workloads
from bentpipe.errors import InputError
from bentpipe.seal import sealed
from bentpipe.study.quantities import shown
from bentpipe.study.store import as_json, save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import polars as pl

    from bentpipe import Scenario
    from bentpipe.compare.buffers import Choice
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.folder import Progress
    from bentpipe.compare.links import Buffer, Link
    from bentpipe.compare.mechanisms import OnPath
    from bentpipe.compare.parts import Part, Plan
    from bentpipe.compare.traffic import Application
    from bentpipe.compare.transports import Over
    from bentpipe.compare.verdict import Verdict
    from bentpipe.compare.workloads import Workload
    from bentpipe.study import Results, Study
    from bentpipe.study.answer import Answer


__all__ = ["Comparison"]
"""The classes of results, for the API reference."""


@dataclass(frozen=True)
class Comparison:
    """Congestion controllers ranked on a link. `str` and notebooks show the answer and the table.

    `summary` is the object that `bentpipe compare --json` prints. `complete` is false after Ctrl-C.
    """

    link: Link
    workloads: Sequence[Workload]
    plan: Plan
    candidates: Sequence[Candidate]
    left_out: Mapping[str, str]
    """The controllers that were not compared, and what they need."""
    outcomes: Sequence[Outcome]
    """The rankings of the workloads that are complete."""
    verdicts: Sequence[Verdict]
    choice: Choice | None
    """The recommended controller and queue, if several queues were compared."""
    studies: Mapping[str, Results]
    """The results of the studies by their names."""
    summary: Mapping[str, Any]
    folder: Path | None

    @property
    def complete(self) -> bool:
        """True if all runs are complete."""
        return bool(self.summary["complete"])

    @property
    def answer(self) -> Answer:
        """Three sentences: `choose`, `costs` and `sure`."""
        return answer_of(self.outcomes, self.choice)

    @property
    def labelled(self) -> dict[str, str]:
        """The answer and the link with their labels."""
        return labelled(self.link, self.answer, self.plan)

    @property
    def ranking(self) -> pl.DataFrame:
        """One row for each workload and controller, best first, with means and intervals.

        Values are in `unit`. `tied` is true if the difference from the best is not significant.
        Empty if several queues were compared; `choice` has their combinations.
        """
        import polars as pl

        rows = []
        for outcome in self.outcomes:
            factor, unit = shown(outcome.workload.quantity)
            for place in outcome.places:
                low, high = place.ci95 or (None, None)
                ends = (place.mean, low, high)
                mean, low, high = (None if one is None else one * factor for one in ends)
                row = (outcome.name, place.rank, place.name, outcome.workload.quantity, unit,
                       mean, low, high, place.n, place.tied)  # fmt: skip
                rows.append(row)
        names = {
            "workload": pl.String, "rank": pl.Int64, "controller": pl.String,
            "quantity": pl.String, "unit": pl.String, "mean": pl.Float64, "low": pl.Float64,
            "high": pl.Float64, "n": pl.Int64, "tied": pl.Boolean,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=names, orient="row")

    def to_pandas(self) -> Any:
        """The ranking as a data frame of pandas; `BentpipeError` if pandas is not installed."""
        from bentpipe.frames import to_pandas

        return to_pandas(self.ranking)

    def to_dict(self) -> dict[str, Any]:
        """The object that `bentpipe compare --json` prints."""
        return dict(self.summary)

    def table(self) -> str:
        """The rankings, verdicts and counters as Markdown."""
        return tables.markdown(
            self.link, self.outcomes, self.verdicts, self.left_out, self.choice,
            self.plan.all_sentences,
        )  # fmt: skip

    def blocks(self) -> list[Any]:
        """The tables of the answer, with their legends: texts and tables of Rich."""
        if self.choice:
            return [overview.choice_table(self.choice)]
        if not self.outcomes:
            return []
        found, left_out = overview.text_tables(self.outcomes)
        more = [f"{left_out} more rows: ranking"] if left_out else []
        return [overview.legend(self.outcomes), *found, *more]

    def __str__(self) -> str:
        from bentpipe.shown import as_text

        return as_text(self.labelled, self.blocks())

    def __repr__(self) -> str:
        partial = "" if self.complete else ", partial"
        return f"<Comparison on {self.link.name!r}, {len(self.candidates)} controllers{partial}>"

    def _repr_html_(self) -> str:
        from bentpipe.shown import as_html

        return as_html(f"Controllers on {self.link.name}", self.labelled, self.blocks())


def compare(
    link: str | Scenario | None = None,
    *,
    scenario: Scenario | str | PathLike[str] | None = None,
    controllers: Sequence[str] | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    per: float | None = None,
    queue: str | Sequence[str] | None = None,
    host: str | None = None,
    on_path: Sequence[str] = (),
    transports: Sequence[str] = (),
    workload: Sequence[str] | None = None,
    sets: Sequence[str] = (),
    phase: str | None = None,
    replications: int = 20,
    workers: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Rank congestion controllers on a link, as `bentpipe compare` does (docs/compare.md).

    The link is a built-in one (`"geo-ka"`), changed by `rate`, `rtt`, `per` (packet error rate from
    0 to 1) and `host`, or that of a scenario: an object as `link`, or an object or a file as
    `scenario`. Values are texts as on the command line: `"20Mbit/s"`, `"600ms"`, a queue of
    `"0.5bdp"`. With several queues a bulk flow of each controller runs over each queue.

    `controllers` are names, names with parameters (`"hybla:rtt0=0.05"`) or classes in Python
    (`"mine.py:Mine"`); by default those without special needs. `on_path` and `transports` also run
    each controller over these mechanisms and transports. `workload` are names of workloads, by
    default a bulk flow, pages, competing with NewReno and a fade. `sets` are overrides of the
    scenario. With `out` the studies are kept in this folder, and the same call continues there.

    `progress` is called with the number of finished runs. `InputError` for invalid values, before
    anything runs. Ctrl-C returns the workloads that are complete, with `complete` false.
    """
    for name, value, example in (("rate", rate, "20Mbit/s"), ("rtt", rtt, "600ms")):
        if value is not None:
            text(name, value, f"a text such as {example!r}")
    if host is not None:
        text("host", host, "a text such as 'linux-6.18'")
    whole("replications", replications, 1)
    queue_lengths = [queue] if isinstance(queue, str) else given("queue", queue, "0.5bdp")
    lengths = ",".join(queue_lengths or ())
    overrides = tuple(texts("sets", sets, "duration=30s", least=0))
    names = given("controllers", controllers, "cubic")
    transport_names = texts("transports", transports, "quic", least=0)
    mechanism_names = texts("on_path", on_path, "codel", least=0)
    place: Path | Scenario | None = None
    if isinstance(link, _native.Scenario):
        if scenario is not None:
            raise InputError.of_value(
                "scenario", "none, because link is a scenario", repr(scenario)
            )
        link, scenario = None, link
    elif link is not None:
        text("link", link, "the name of a link such as 'leo', or a Scenario")
    if scenario is not None:
        place = scenario if isinstance(scenario, _native.Scenario) else Path(scenario)
    asked = lengths or None
    found = the_link(link, place, rate, rtt, per, asked, host, overrides, phase)
    queues = found.buffers(lengths) if "," in lengths else []
    if queues and (mechanism_names or transport_names):
        raise InputError("queue: expected one length with on_path or transports, found several")
    over = of_transports.chosen(",".join(transport_names), found) if transport_names else []
    beneath = over[0].link if over else found
    chosen = mechanisms.chosen(",".join(mechanism_names), beneath) if mechanism_names else []
    folder = None if out is None else Path(out)
    return run(
        found, names, replications, workers, folder, queues, chosen, over,
        progress=progress, workload=given("workload", workload, "page"),
    )  # fmt: skip


def given(name: str, values: Sequence[str] | None, example: str) -> list[str] | None:
    """The texts of an argument that may be None."""
    return None if values is None else texts(name, values, example)


def run(
    link: Link,
    names: Sequence[str] | None,
    replications: int,
    workers: int | None,
    out: Path | None,
    queues: Sequence[Buffer] = (),
    on_path: Sequence[OnPath] = (),
    over: Sequence[Over] = (),
    command: Sequence[str] = (),
    progress: Progress | Literal["late"] | None = None,
    workload: Sequence[str] | None = None,
) -> Comparison:
    """Run the studies of all workloads, and keep them in the folder `out`.

    With `queues`, run one study of controllers and buffers instead. With `on_path`, run each
    workload over each of these mechanisms, and with `over` over each of these transports, and rank
    controllers, transports and mechanisms together.
    """
    if (on_path or over) and not names:
        names = mechanisms.CONTROLLERS
    if queues and workload:
        raise InputError("--workload: not used with several lengths of --queue, which compare one"
                         " bulk flow; leave one out")  # fmt: skip
    controllers = candidates.chosen(names, link)
    left_out = candidates.left_out(names)
    asked = [] if queues else workloads(link, workload)
    made = parts.planned(link, controllers, asked, over, on_path)
    taking_part = controllers if queues else made.candidates
    studies = studies_of(asked, made, replications)
    plan: dict[str, Any] = {
        "compare": link.name,
        "controllers": [candidate.to_dict() for candidate in taking_part],
    }
    if queues:
        studies = {"buffers": buffers.study(link, taking_part, queues, replications)}
    folder = taken(out, "compare", studies, plan) if out else None
    results = run_in_turn(f"controllers on {link.name}", studies, folder, workers, progress)
    complete = len(results) == len(studies)
    whole = outcomes(asked, made, results)
    found = verdicts(whole)
    choice = buffers.choice(link, taking_part, queues, results[0]) if queues and complete else None
    summary = tables.to_dict(link, taking_part, whole, found, left_out, made)
    if choice:
        summary["buffers"] = buffers.to_dict(choice, queues, results[0].summary["runs"])
    lines = labelled(link, answer_of(whole, choice), made)
    summary["answer"] = {key.lower(): line for key, line in lines.items()} | {
        "recommended": [] if choice else answer.recommended(whole)
    }
    summary = sealed(summary | {"complete": complete, "command": [*command]})
    if folder:
        text = tables.markdown(link, whole, found, left_out, choice, made.all_sentences)
        save(folder / "compare.json", as_json(summary))
        save(folder / "compare.md", text.encode())
    return Comparison(
        link=link,
        workloads=asked or [buffers.BULK],
        plan=made,
        candidates=taking_part,
        left_out=left_out,
        outcomes=whole,
        verdicts=found,
        choice=choice,
        studies=dict(zip(studies, results, strict=False)),
        summary=summary,
        folder=folder,
    )


def answer_of(whole: Sequence[Outcome], choice: Choice | None) -> Answer:
    """The choice of a controller, or of a controller and a queue."""
    return answer.of_choice(choice) if choice else answer.answer(whole)


def labelled(link: Link, found: Answer, plan: Plan) -> dict[str, str]:
    """An answer and the link that it is about, with their labels."""
    on = f"{link.name}: {tables.described(link)}, {tables.host(link)}"
    on += f"; {plan.split}" if plan.split else ""
    on += f"; mechanisms of --on-path: {plan.places}" if plan.places else ""
    return {"Choose": found.choose, "Costs": found.costs, "Sure": found.sure, "On": on}


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
        of = workload.application
        key = of(part.link, part.candidates[0].value) if of else None
        groups.setdefault(key, []).append((part, one))
    return [
        Outcome(workload, [p.candidates for p, _ in group], [r for _, r in group], key)
        for key, group in groups.items()
    ]


def the_link(
    name: str | None,
    scenario: Path | Scenario | None,
    rate: str | None,
    rtt: str | None,
    per: float | None,
    queue: str | None,
    hosts: str | None,
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
        made = links.of_preset(
            str(name), rate=rate, rtt=rtt, per=per, queue=own, hosts=hosts, sets=sets
        )
        return with_compared(in_phase(made, phase), sets)
    if any(option is not None for option in (rate, rtt, per)):
        raise InputError("--rate, --rtt and --per change a --link;"
                         " change a scenario with --set")  # fmt: skip
    if hosts is not None:
        raise InputError("--host changes a --link; change a scenario with --set flow.0.host=NAME")
    if isinstance(scenario, Path):
        link = links.of_scenario(scenario, sets)
    else:
        link = links.of_object(scenario, sets)
    if queue is not None and not several:
        link = link.with_queue(queue)
    return with_compared(in_phase(link, phase), sets)
