"""Words of lines of `tc`, and their units (tc(8)).

A time without a unit is in microseconds, `kbps` is kilobytes per second, and sizes count in powers
of two.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = {"": 1e-6, "us": 1e-6, "usec": 1e-6, "usecs": 1e-6, "ms": 1e-3, "msec": 1e-3}
TIMES |= {"msecs": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0}
RATES = {
    prefix + unit: factor * bits
    for prefix, factor in {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}.items()
    for unit, bits in {"bit": 1, "bps": 8}.items()
} | {"": 8.0}
SIZES = {
    prefix + unit: factor / share
    for prefix, factor in {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}.items()
    for unit, share in {"": 1, "b": 1, "bit": 8}.items()
}
NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([a-z]*)", re.IGNORECASE)
WHOLE = re.compile(r"-?\d+")


class UntranslatableError(ValueError):
    """A word that is no value of tc."""


def quantity(text: str, units: dict[str, float]) -> float:
    """A number with one of `units`."""
    found = NUMBER.fullmatch(text)
    if found is None or found[2].lower() not in units:
        raise UntranslatableError(text)
    return float(found[1]) * units[found[2].lower()]


def share(text: str) -> float:
    """A probability: `25%` or `0.25`."""
    if not is_share(text):
        raise UntranslatableError(text)
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= value <= 1:
        raise UntranslatableError(text)
    return value


def whole(text: str) -> int:
    """A number of packets, or a seed."""
    if re.fullmatch(r"\d+", text) is None:
        raise UntranslatableError(text)
    return int(text)


def is_share(text: str) -> bool:
    """Return true if a word is a probability, which is optional in many places."""
    return re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", text) is not None


def bits(rate: float) -> str:
    """A rate in the notation of scenarios."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if rate >= factor:
            return f"{rate / factor:.10g}{unit}"
    return f"{max(rate, 1):.10g}bit/s"


def milliseconds(seconds: float) -> str:
    """A time in the notation of scenarios."""
    return f"{seconds * 1e3:.10g}ms"


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
