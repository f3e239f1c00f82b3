"""The largest number of terminals with which users of a group still get what they shall get.

Each seed is searched by itself, by halving the range, so all numbers of terminals meet the same
random numbers. The result is the mean over the seeds with Student's interval. The search takes for
granted that more terminals are never better for a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.beams.groups import answer, written_groups
from bentpipe.errors import BentpipeError, InputError
from bentpipe.numbers import quantile
from bentpipe.study.statistics import student_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe._native import Scenario


@dataclass(frozen=True)
class Quantity:
    """A quantity that can be bounded: a percentile over the users of a group."""

    users: str
    """The values of users: a field of `Experience`."""
    share: float
    """The percentile, from 0 to 1."""
    meaning: str
    in_seconds: bool = True
    at_least: bool = False
    """The bound is the least value, and not the largest one."""


BOUNDS = {
    "page_p95": Quantity("pages_s", 0.95, "95th percentile of page load times in seconds"),
    "page_p50": Quantity("pages_s", 0.5, "median of page load times in seconds"),
    "transfer_p95": Quantity(
        "transfers_s", 0.95, "95th percentile of flow completion times in seconds"
    ),
    "mos_p5": Quantity(
        "mos", 0.05, "5th percentile of the mean opinion scores of calls", False, True
    ),
    "stalls_p95": Quantity("stalls", 0.95, "95th percentile of the stalls of videos", False),
    "stalled_p95": Quantity("stalled_s", 0.95, "95th percentile of the seconds that videos stall"),
}
"""What can be bounded. Pages and transfers that did not end, and videos that did not start, count
as infinitely long."""


@dataclass(frozen=True)
class Bound:
    """A bound: the largest value of a quantity, or the least one of a quantity of quality."""

    quantity: str
    value: float

    def __str__(self) -> str:
        unit = "s" if BOUNDS[self.quantity].in_seconds else ""
        return f"{self.quantity}={self.value:g}{unit}"

    def is_met(self, found: float) -> bool:
        """Returns true if a value that was found is within the bound."""
        return found >= self.value if BOUNDS[self.quantity].at_least else found <= self.value


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
    for number, beam in enumerate(scenario.values().get("beam", [])):
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
        quantity = BOUNDS[bound.quantity]
        values = [] if users is None else getattr(users, quantity.users)
        value = quantile(values, quantity.share)
        if value is None:
            needed = quantity.users.removesuffix("_s")
            message = (
                f"--within {bound}: expected {needed} of group {group}, found none that counts"
            )
            raise InputError(message)
        if not bound.is_met(value):
            unit = " s" if quantity.in_seconds else ""
            found = f"{value:.2f}{unit}" if math.isfinite(value) else "some that did not end"
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
