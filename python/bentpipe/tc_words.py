"""Words of lines of `tc`, and their units (tc(8), lib/utils*.c of iproute2).

Units are read in any case. A time without a unit is in microseconds, a rate in bits per second, a
size in bytes, and a percentage may lack its `%`. `kbps` is kilobytes per second; sizes count in
powers of two.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TIMES = {"": 1e-6, "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "ms": 1e-3, "msec": 1e-3}
TIMES |= {"msecs": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0}
RATES = {"": 1.0} | {
    prefix + unit: factor * bits
    for unit, bits in {"bit": 1.0, "bps": 8.0}.items()
    for prefix, factor in {
        "": 1.0,
        "k": 1e3,
        "ki": 2.0**10,
        "m": 1e6,
        "mi": 2.0**20,
        "g": 1e9,
        "gi": 2.0**30,
        "t": 1e12,
        "ti": 2.0**40,
    }.items()
}
SIZES = {"": 1.0, "b": 1.0} | {
    prefix + unit: factor / share
    for prefix, factor in {"k": 2.0**10, "m": 2.0**20, "g": 2.0**30}.items()
    for unit, share in {"": 1, "b": 1, "bit": 8}.items()
}
PLAIN = r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
NUMBER = re.compile(rf"({PLAIN})([a-z]*)", re.IGNORECASE)
PERCENTAGE = re.compile(rf"({PLAIN})%?", re.IGNORECASE)
LARGEST = 2.0**64
"""Largest value of tc, whose numbers have 64 bits. So products of two are finite."""
WHOLE = re.compile(r"-?\d+")


class UntranslatableError(ValueError):
    """A word that is no value of tc."""


def quantity(text: str, units: dict[str, float]) -> float:
    """A number with one of `units`."""
    found = NUMBER.fullmatch(text)
    if found is None or found[2].lower() not in units:
        named = ", ".join(unit for unit in units if unit)
        raise UntranslatableError(f"{text}; units are {named}")
    value = float(found[1]) * units[found[2].lower()]
    if value > LARGEST:
        raise UntranslatableError(f"{text}, which is more than tc can count")
    return value


def share(text: str) -> float:
    """A probability from a percentage: tc reads `25%` and `25` alike."""
    found = PERCENTAGE.fullmatch(text)
    if found is None:
        raise UntranslatableError(text)
    value = float(found[1]) / 100
    if value > 1:
        raise UntranslatableError(f"{text}, which is more than 100 %")
    return value


def whole(text: str) -> int:
    """A number of packets, or a seed."""
    if re.fullmatch(r"\d+", text) is None:
        raise UntranslatableError(text)
    return int(text)


def is_share(text: str) -> bool:
    """Return true if a word is a probability, which is optional in many places."""
    return PERCENTAGE.fullmatch(text) is not None


def bits(rate: float) -> str:
    """A rate in the notation of scenarios."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if rate >= factor:
            return f"{rate / factor:.10g}{unit}"
    return f"{max(rate, 1):.10g}bit/s"


def milliseconds(seconds: float) -> str:
    """A time in the notation of scenarios."""
    return f"{seconds * 1e3:.10g}ms"


OBJECTS = ("qdisc", "class", "filter", "actions")
ACTIONS = ("add", "change", "replace", "link", "delete", "list", "show")
"""Objects and their actions. Of several with the same first letters, tc has the first one."""


def in_full(words: list[str]) -> list[str]:
    """The words of a command, with its object and its action in full: tc reads `q a` too."""
    for at, pair in enumerate(pairwise(words)):
        thing, action = map(completed, pair, (OBJECTS, ACTIONS))
        if thing and action:
            return [*words[:at], thing, action, *words[at + 2 :]]
    return words


def completed(word: str, names: Sequence[str]) -> str | None:
    """The first of the names that begins with a word."""
    return next((name for name in names if word and name.startswith(word)), None)


class Words:
    """The words of a line, one after the other."""

    def __init__(self, words: list[str]) -> None:
        self.left = words
        self.taken: list[str] = []

    def next(self) -> str:
        """The next word."""
        if not self.left:
            raise UntranslatableError("the end of the line")
        self.taken.append(self.left[0])
        return self.left.pop(0)

    def optional(self, fits: Callable[[str], bool]) -> str | None:
        """The next word if it fits."""
        return self.next() if self.left and fits(self.left[0]) else None

    def shares(self) -> list[float]:
        """All probabilities that follow."""
        found = []
        while (word := self.optional(is_share)) is not None:
            found.append(share(word))
        return found
