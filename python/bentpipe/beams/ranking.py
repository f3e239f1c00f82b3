"""Controllers and mechanisms for the flows of a group of terminals, ranked over a beam.

The other flows of the scenario stay as they are, so the beam keeps its load. Each candidate runs
with the same seeds, and meets the same sessions, weather and random access. The statistics are
those of comparisons on links: paired differences, corrected by the method of Holm.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.beams.folder import Kept
from bentpipe.beams.groups import answer, chosen_group, entries, entry_of
from bentpipe.beams.search import BOUNDS
from bentpipe.beams.variants import chosen, with_controller
from bentpipe.compare.candidates import (
    NEEDED_ROUTERS,
    NEEDED_SETTINGS,
    NONE,
    REFERENCES,
    is_own,
    needed,
)
from bentpipe.compare.ranking import ranked
from bentpipe.errors import InputError
from bentpipe.names import flow_name, flow_names
from bentpipe.numbers import ends, quantile, scaled
from bentpipe.prototypes import Spec
from bentpipe.seal import sealed
from bentpipe.study import significance
from bentpipe.study.plan import hashed
from bentpipe.study.scenarios import Base
from bentpipe.study.significance import is_deterministic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bentpipe._native import Recording, Scenario
    from bentpipe.beams.variants import AtBeam
    from bentpipe.compare.ranking import Place, Runs

BASELINE = "cubic"
"""The controller that others are compared with."""
DEFAULT = (*REFERENCES, "bbr", "hybla")
"""The controllers of a comparison by default."""
GOODPUT = {
    "goodput_p5": (0.05, "5th percentile over the bulk flows of their goodput in Mbit/s"),
    "goodput_p50": (0.5, "median over the bulk flows of their goodput in Mbit/s"),
}
"""Quantities of flows that send until the run ends."""


@dataclass(frozen=True)
class Ranking:
    """Controllers by one quantity of a group, the best first."""

    quantity: str
    meaning: str
    unit: str
    higher_is_better: bool
    baseline: str
    places: list[Place]


@dataclass(frozen=True)
class Rankings:
    """Controllers for the flows of a group."""

    compare: str
    """The name of the scenario."""
    scenario: str
    """A digest of the scenario with its files."""
    candidates: list[str]
    group: str
    flows: list[str]
    """The flows whose controller was replaced."""
    others: list[str]
    """The flows that kept theirs."""
    proxies: list[str]
    """The nodes whose split proxies send over the beam with the controller that is compared."""
    notes: list[str]
    """What mechanisms replace."""
    seeds: list[int]
    rankings: list[Ranking]
    command: list[str]
    """The command that repeats it; empty without one."""

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON, with the version, the sentences above the rankings and a checksum."""
        described = {"bentpipe": bentpipe.__version__, "sentences": sentences(self)}
        return sealed(described | asdict(self))


def chosen_controllers(names: Sequence[str] | None) -> list[str]:
    """The controllers to compare, with the baselines; `InputError` for one that does not exist."""
    wanted = list(dict.fromkeys([*REFERENCES, *names])) if names else list(DEFAULT)
    for name in wanted:
        is_own(name, "--controllers")
        if Spec.parse(name).in_python:
            message = f"--controllers: expected controllers of Bentpipe over a beam, found {name}"
            raise InputError(message)
    return wanted


def needs(names: Iterable[str]) -> Iterator[str]:
    """Sentences on controllers that depend on routers or on settings of the path."""
    for name in names:
        spec = Spec.parse(name)
        if spec.target in NEEDED_ROUTERS:
            yield f"{name} needs {needed(spec)}, and has the routers of the scenario."
        elif spec.target in NEEDED_SETTINGS and not spec.parameters:
            (entry,) = (one for one in bentpipe.controllers() if one.name == spec.target)
            had = {one.name: one.default for one in entry.parameters}
            yield (
                f"{name} needs {needed(spec)}, and has its defaults,"
                f" {had['rate']} Mbit/s and {had['rtt']} ms."
                f" `--controllers {name}:rate=R,rtt=T` sets them."
            )


def compare(
    scenario: Scenario,
    group: str | None = None,
    controllers: Sequence[str] | None = None,
    replications: int = 20,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
    on_path: str | None = None,
    out: Path | None = None,
    command: Sequence[str] = (),
) -> Rankings:
    """Rank the controllers of the flows of a group over a beam.

    `on_path` lists mechanisms, with commas: every controller runs over the beam as it is and over
    each of them, and the candidate `cubic + pepsal` is a controller with a mechanism. `out` is a
    folder that keeps the runs and the rankings. Runs that it has are not repeated. `command` is the
    command line that repeats all.

    Raises InputError for a scenario without a beam, a group without flows over streams,
    controllers that do not exist, and mechanisms that have no place at the beam, and OutputError
    for a folder that cannot be written or has other results.
    """
    plain = scenario.without_mixes()
    name = chosen_group(plain, group)
    own, others = split(plain, name)
    mechanisms = chosen(on_path, plain, name)
    named = chosen_controllers(controllers)
    variants, proxies = candidates_of(mechanisms, name, own, named)
    digest = hashed(Base.made(plain).files)
    plan = {"scenario": digest, "group": name, "candidates": list(variants)}
    kept = Kept(out, plain, variants, plan)
    seeds = [plain.seed + number for number in range(replications)]
    found = values_of(variants, seeds, name, kept, workers, progress)
    if not found:
        message = f"--group: expected pages, videos, calls or transfers of {name}, found none"
        raise InputError(message)
    names = flow_names(plain.values()["flow"])
    rankings = Rankings(
        plain.name,
        digest,
        list(variants),
        name,
        [names[number] for number in own],
        [names[number] for number in others],
        proxies,
        [*(note for at in mechanisms for note in at.notes), *needs(named)],
        seeds,
        rankings_of(found),
        list(command),
    )
    kept.finish(rankings.to_dict(), markdown(rankings))
    return rankings


PLUS = " + "
"""Stands between the controller and the mechanism of a candidate."""


def candidates_of(
    mechanisms: Sequence[AtBeam], group: str, flows: Sequence[int], controllers: Sequence[str]
) -> tuple[dict[str, Scenario], list[str]]:
    """The scenario of each candidate by its name, and the proxies that send with its controller."""
    variants: dict[str, Scenario] = {}
    proxies: dict[str, None] = {}
    for at in mechanisms:
        for controller in controllers:
            variant, of_proxies = with_controller(at, group, flows, controller)
            proxies |= dict.fromkeys(of_proxies)
            variants[controller if at.name == NONE else f"{controller}{PLUS}{at.name}"] = variant
    return variants, list(proxies)


def candidates_again(plain: Scenario, group: str, names: Sequence[str]) -> list[Scenario]:
    """The scenarios of candidates, from the names that a comparison has given them."""
    parts = [name.partition(PLUS) for name in names]
    on_path = ",".join(dict.fromkeys(mechanism for _, _, mechanism in parts if mechanism))
    own, _ = split(plain, group)
    controllers = list(dict.fromkeys(controller for controller, _, _ in parts))
    mechanisms = chosen(on_path or None, plain, group)
    return list(candidates_of(mechanisms, group, own, controllers)[0].values())


def values_of(
    variants: Mapping[str, Scenario],
    seeds: Sequence[int],
    group: str,
    kept: Kept,
    workers: int | None,
    progress: Callable[[float], None] | None,
) -> dict[str, dict[str, Runs]]:
    """The values of all runs by quantity, candidate and replication. Kept runs are read."""
    by_run: dict[tuple[int, str], dict[str, float | None]] = {}
    with ThreadPoolExecutor(workers) as pool:
        jobs = {}
        for number, seed in enumerate(seeds):
            for one, variant in variants.items():
                if (values := kept.of(one, seed)) is None:
                    jobs[pool.submit(measured, variant, seed, group)] = (number, one)
                else:
                    by_run[number, one] = values
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                number, one = jobs[job]
                by_run[number, one] = job.result()
                kept.add(one, seeds[number], job.result())
                if progress:
                    progress(done / len(jobs))
        except BaseException:
            # Ctrl-C, or an error: runs that have not begun do not begin.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    found: dict[str, dict[str, Runs]] = {}
    # Runs end in any order.
    for number, _ in enumerate(seeds):
        for one in variants:
            for quantity, value in by_run[number, one].items():
                found.setdefault(quantity, {}).setdefault(one, {})[number] = value
    return found


def rankings_of(found: Mapping[str, Mapping[str, Runs]]) -> list[Ranking]:
    """The ranking of each quantity."""
    # In the order of the first quantity, in which all candidates are that have values.
    names = dict.fromkeys(one for runs in found.values() for one in runs)
    fixed = [
        one
        for one in names
        if is_deterministic(runs[one] for runs in found.values() if one in runs)
    ]
    return [
        Ranking(
            quantity,
            meaning(quantity),
            unit(quantity),
            higher_is_better(quantity),
            BASELINE,
            ranked(
                found[quantity],
                higher_is_better=higher_is_better(quantity),
                baseline=BASELINE,
                fixed=fixed,
            ),
        )
        for quantity in (*BOUNDS, *GOODPUT)
        if quantity in found
    ]


HEADINGS = ("rank", "<controller", "mean", "95 % interval", "minus best", "minus cubic")
"""Columns of a ranking; `<` is for one that is aligned to the left."""


def cells(place: Place) -> list[str]:
    """A row of a ranking."""
    undefined = f" ({place.undefined} undefined)" if place.undefined else ""
    return [
        place.rank_text,
        place.name,
        f"{scaled(place.mean)}{undefined}",
        ends(place.ci95, n=place.n, deterministic=place.deterministic),
        "best" if place.is_best else significance.text(place.against_best),
        significance.text(place.against_baseline),
    ]


def sentences(found: Rankings) -> list[str]:
    """What was compared, and what changed with it."""
    rest = f"; {', '.join(found.others)} unchanged" if found.others else ""
    lines = [
        f"Controllers of {', '.join(found.flows)} at {found.group}{rest}. {len(found.seeds)} seeds."
    ]
    if found.proxies:
        lines.append(
            f"The split proxies of {', '.join(found.proxies)} send over the beam with the"
            " controller that is compared, to all groups."
        )
    return [*lines, *found.notes]


def markdown(found: Rankings) -> str:
    """The rankings as Markdown."""
    lines = [f"# Controllers over the beam of {found.compare}"]
    lines += [line for sentence in sentences(found) for line in ("", sentence)]
    for ranking in found.rankings:
        heads = [heading.lstrip("<") for heading in HEADINGS]
        lines += ["", f"## {ranking.quantity}", "", f"{ranking.meaning}.", ""]
        lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        lines += [f"| {' | '.join(cells(place))} |" for place in ranking.places]
    return "\n".join([*lines, "", significance.rule("a ranking")]) + "\n"


def split(scenario: Scenario, group: str) -> tuple[list[int], list[int]]:
    """The numbers of the flows over streams of a group, and those of all other flows."""
    known = entries(scenario)
    own: list[int] = []
    others: list[int] = []
    for number, flow in enumerate(scenario.values()["flow"]):
        entry = known.get(flow_name(flow, number))
        is_stream = flow.get("transport", {}).get("protocol", "tcp") != "udp"
        (own if entry and entry.group == group and is_stream else others).append(number)
    if not own:
        message = f"--group: expected a group with flows over TCP or QUIC, found {group}"
        raise InputError(message)
    return own, others


def measured(scenario: Scenario, seed: int, group: str) -> dict[str, float | None]:
    """The quantities of a group in a run; None for a value that is infinite."""
    recording = bentpipe.run(scenario, seed=seed).recording
    users = answer(scenario, recording).users.get(group)
    found: dict[str, float | None] = {}
    for name, quantity in BOUNDS.items():
        values = [] if users is None else getattr(users, quantity.users)
        if (value := quantile(values, quantity.share)) is not None:
            found[name] = value if math.isfinite(value) else None
    rates = goodputs(scenario, recording, group)
    for name, (share, _) in GOODPUT.items():
        if (value := quantile(rates, share)) is not None:
            found[name] = value
    return found


def goodputs(scenario: Scenario, recording: Recording, group: str) -> list[float]:
    """The goodput in Mbit/s of each flow of a group that sends until the run ends."""
    known = entries(scenario)
    return [
        flow.goodput_bps / 1e6
        for flow in recording.flows
        if (entry := entry_of(flow.flow, known)) and entry.group == group and entry.is_endless
    ]


def meaning(quantity: str) -> str:
    """A quantity in words."""
    return GOODPUT[quantity][1] if quantity in GOODPUT else BOUNDS[quantity].meaning


def unit(quantity: str) -> str:
    """The unit of a quantity; 1 for a plain number."""
    if quantity in GOODPUT:
        return "Mbit/s"
    return "s" if BOUNDS[quantity].in_seconds else "1"


def higher_is_better(quantity: str) -> bool:
    """Returns true if larger values are better."""
    return quantity in GOODPUT or BOUNDS[quantity].at_least
