"""The largest number of terminals with which users of a group still get what they shall get.

Each seed is searched by itself, by halving the range, so all numbers of terminals meet the same
random numbers. The result is the mean over the seeds with Student's interval. The search takes for
granted that more terminals are never better for a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.beams.groups import answer, quantile, written_groups
from bentpipe.errors import BentpipeError, InputError
from bentpipe.study.statistics import student_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe._native import Scenario

BOUNDS = {
    "page_p95": "95th percentile of page load times of the group, in seconds",
    "page_p50": "median of page load times of the group, in seconds",
    "transfer_p95": "95th percentile of flow completion times of the group, in seconds",
}
"""What can be bounded. Pages that did not end count as infinitely long."""


@dataclass(frozen=True)
class Bound:
    """An upper bound."""

    quantity: str
    most: float

    def __str__(self) -> str:
        return f"{self.quantity}={self.most:g}s"


@dataclass(frozen=True)
class Found:
    """The largest numbers of terminals."""

    group: str
    bounds: list[str]
    by_seed: dict[int, int]
    mean: float
    low: float | None
    """Lower end of the 95 % interval of the mean; None with one seed."""
    high: float | None
    at_most: bool
    """Every seed met all bounds with the largest number of the range: there may be more."""


class NeverMetError(BentpipeError):
    """A bound that is not met with the smallest number of terminals."""


def place_of(scenario: Scenario, group: str) -> str:
    """The path of the number of terminals of a group."""
    import tomllib

    for number, beam in enumerate(tomllib.loads(scenario.to_toml()).get("beam", [])):
        for place, one in enumerate(beam["group"]):
            if one["name"] == group:
                return f"beam.{number}.group.{place}.terminals"
    names = ", ".join(one["name"] for one in written_groups(scenario))
    message = f"--group: expected one of {names}, found {group}"
    raise InputError(message)


def broken(scenario: Scenario, seed: int, group: str, bounds: Sequence[Bound]) -> str | None:
    """The first bound that a run does not meet, with the value that was found."""
    import bentpipe

    users = answer(scenario, bentpipe.run(scenario, seed=seed).recording).users.get(group)
    for bound in bounds:
        what, _, share = bound.quantity.rpartition("_p")
        values = [] if users is None else getattr(users, f"{what}s_s")
        value = quantile(values, float(share) / 100)
        if value is None:
            message = f"--within {bound}: expected {what}s of group {group}, found none that counts"
            raise InputError(message)
        if value > bound.most:
            found = f"{value:.2f} s" if math.isfinite(value) else f"{what}s that did not end"
            return f"{bound}: {found}"
    return None


def find_terminals(
    scenario: Scenario,
    group: str,
    bounds: Sequence[Bound],
    limits: tuple[int, int],
    seeds: Sequence[int],
    progress: Callable[[float], None] | None = None,
) -> Found:
    """Search the largest number of terminals of a group with which all bounds are met.

    Raises NeverMetError if a seed does not meet a bound with the smallest number.
    """
    place = place_of(scenario, group)
    largest = {}
    for done, seed in enumerate(seeds):
        low, high = limits
        failed = broken(scenario.with_({place: low}), seed, group, bounds)
        if failed:
            message = f"with {low} terminals of {group} and seed {seed}, never met: {failed}"
            raise NeverMetError(message)
        if broken(scenario.with_({place: high}), seed, group, bounds) is None:
            low = high
        while high - low > 1:
            middle = (low + high) // 2
            if broken(scenario.with_({place: middle}), seed, group, bounds) is None:
                low = middle
            else:
                high = middle
        largest[seed] = low
        if progress:
            progress((done + 1) / len(seeds))
    numbers = list(largest.values())
    ends = student_interval(numbers) if len(numbers) > 1 else (None, None)
    return Found(
        group=group,
        bounds=[str(bound) for bound in bounds],
        by_seed=largest,
        mean=sum(numbers) / len(numbers),
        low=ends[0],
        high=ends[1],
        at_most=all(number == limits[1] for number in numbers),
    )
