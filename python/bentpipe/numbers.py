"""Formatting of numbers for readers: significant digits, separated thousands, suitable units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NONE = "\N{EN DASH}"

SCALES = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
}
"""For each unit the larger ones, with their size in it."""


def significant(value: float | None, digits: int = 4) -> str:
    """A number with `digits` significant digits. Digits before the point are never cut off."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return minus(f"{float(mantissa):g}e{int(exponent)}")
    return decimals(value, max(digits - 1 - size, 0))


def decimals(value: float | None, places: int) -> str:
    """A number with `places` decimals."""
    if value is None or not math.isfinite(value):
        return NONE
    return minus(f"{value:,.{places}f}")


def minus(text: str) -> str:
    """The text with a typographic minus sign, which is as wide as a plus."""
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def count(value: float | None) -> str:
    """A whole number."""
    return decimals(value, 0)


def percent(share: float | None, digits: int = 3) -> str:
    """A share of one in percent, without the percent sign."""
    return NONE if share is None else significant(share * 100, digits)


def with_interval(mean: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """A mean and its interval, with as many digits as the width of the interval justifies."""
    if mean is None or not math.isfinite(mean):
        return NONE, NONE
    if low is None or high is None:
        return significant(mean), NONE
    width = (high - low) / 2
    if width <= 0:
        return significant(mean), f"{significant(low)} to {significant(high)}"
    places = max(1 - math.floor(math.log10(width)), 0)
    if places > 8:
        return significant(mean), f"{significant(low)} to {significant(high)}"
    return decimals(mean, places), f"{decimals(low, places)} to {decimals(high, places)}"


def scale(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """The size and name of the unit in which the largest of `values` has one to three digits."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    for size, name in SCALES.get(unit, ()):
        if largest >= size:
            return size, name
    return 1.0, unit


def amount(value: float | None, unit: str, digits: int = 3) -> str:
    """A value with a suitable unit."""
    if value is None:
        return NONE
    size, name = scale(unit, [value])
    return f"{significant(value / size, digits)} {name}"


def signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign and `digits` significant digits."""
    text = significant(value, digits)
    return f"+{text}" if value is not None and value > 0 else text


def ends(
    interval: Sequence[float] | None,
    factor: float = 1.0,
    form: Callable[[float], str] = significant,
) -> str:
    """Both ends of an interval, each times `factor`."""
    if interval is None:
        return NONE
    low, high = interval
    return f"{form(low * factor)} to {form(high * factor)}"


def scaled(value: float | None, factor: float = 1.0, digits: int = 4) -> str:
    """A value times `factor` with `digits` significant digits."""
    return significant(None if value is None else value * factor, digits)
