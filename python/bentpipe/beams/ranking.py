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
from bentpipe.beams.groups import answer, chosen_group, entries, entry_of, quantile
from bentpipe.beams.search import BOUNDS
from bentpipe.beams.variants import chosen, with_controller
from bentpipe.compare.candidates import NONE, REFERENCES, is_own
from bentpipe.compare.ranking import ranked
from bentpipe.errors import InputError
from bentpipe.prototypes import Spec
from bentpipe.study.significance import is_deterministic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe._native import Recording, Scenario
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
    higher_is_better: bool
    places: list[Place]


@dataclass(frozen=True)
class Rankings:
    """Controllers for the flows of a group."""

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

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return asdict(self)


def chosen_controllers(names: Sequence[str] | None) -> list[str]:
    """The controllers to compare, with the baselines; `InputError` for one that does not exist."""
    wanted = list(dict.fromkeys([*REFERENCES, *names])) if names else list(DEFAULT)
    for name in wanted:
        is_own(name)
        if Spec.parse(name).in_python:
            message = f"--controllers: expected controllers of Bentpipe over a beam, found {name}"
            raise InputError(message)
    return wanted


def compare(
    scenario: Scenario,
    group: str | None = None,
    controllers: Sequence[str] | None = None,
    replications: int = 20,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
    on_path: str | None = None,
) -> Rankings:
    """Rank the controllers of the flows of a group over a beam.

    `on_path` lists mechanisms, with commas: every controller runs over the beam as it is and over
    each of them, and the candidate `cubic + pepsal` is a controller with a mechanism.

    Raises InputError for a scenario without a beam, a group without flows over streams,
    controllers that do not exist, and mechanisms that have no place at the beam.
    """
    plain = scenario.without_mixes()
    name = chosen_group(plain, group)
    own, others = split(plain, name)
    mechanisms = chosen(on_path, plain, name)
    variants: dict[str, Scenario] = {}
    proxies: dict[str, None] = {}
    for at in mechanisms:
        for controller in chosen_controllers(controllers):
            variant, of_proxies = with_controller(at, name, own, controller)
            proxies |= dict.fromkeys(of_proxies)
            variants[controller if at.name == NONE else f"{controller} + {at.name}"] = variant
    wanted = list(variants)
    seeds = [plain.seed + number for number in range(replications)]
    found: dict[str, dict[str, Runs]] = {}
    with ThreadPoolExecutor(workers) as pool:
        jobs = {
            pool.submit(measured, variant, seed, name): (one, number)
            for number, seed in enumerate(seeds)
            for one, variant in variants.items()
        }
        for done, job in enumerate(as_completed(jobs), 1):
            one, number = jobs[job]
            for quantity, value in job.result().items():
                found.setdefault(quantity, {}).setdefault(one, {})[number] = value
            if progress:
                progress(done / len(jobs))
    if not found:
        message = f"--group: expected pages, videos, calls or transfers of {name}, found none"
        raise InputError(message)
    # Runs end in any order.
    by_run = {quantity: {one: dict(sorted(values[one].items())) for one in wanted if one in values}
              for quantity, values in found.items()}  # fmt: skip
    fixed = [
        one
        for one in wanted
        if is_deterministic(runs[one] for runs in by_run.values() if one in runs)
    ]
    rankings = [
        Ranking(
            quantity,
            meaning(quantity),
            higher_is_better(quantity),
            ranked(
                by_run[quantity],
                higher_is_better=higher_is_better(quantity),
                baseline=BASELINE,
                fixed=fixed,
            ),
        )
        for quantity in (*BOUNDS, *GOODPUT)
        if quantity in by_run
    ]
    numbers = plain.values()["flow"]
    return Rankings(
        name,
        [flow_name(numbers, number) for number in own],
        [flow_name(numbers, number) for number in others],
        list(proxies),
        [note for at in mechanisms for note in at.notes],
        seeds,
        rankings,
    )


def flow_name(flows: Sequence[dict[str, Any]], number: int) -> str:
    """The name of a `[[flow]]`."""
    return str(flows[number].get("name", f"flow-{number}"))


def split(scenario: Scenario, group: str) -> tuple[list[int], list[int]]:
    """The numbers of the flows over streams of a group, and those of all other flows."""
    known = entries(scenario)
    own: list[int] = []
    others: list[int] = []
    for number, flow in enumerate(scenario.values()["flow"]):
        entry = known.get(flow.get("name", f"flow-{number}"))
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


def higher_is_better(quantity: str) -> bool:
    """Returns true if larger values are better."""
    return quantity in GOODPUT or BOUNDS[quantity].at_least
