"""Numbers for readers: significant digits, separated thousands, suitable units, quantiles."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NONE = "\N{EN DASH}"

TOO_FEW = "too few"
"""In place of an interval of one or two values."""
FEWEST = 3
"""The fewest values with an interval. Student's factor for two values is 12.7: it says nothing."""
CONSTANT = "constant"
"""In place of an interval of a deterministic variant."""
SAME_IN_ALL = "same in all runs"
"""In place of an interval of values that are the same although the runs are random."""

ROUNDING = 1e-9
"""Relative size up to which a difference is the rounding of a subtraction."""

SCALES = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
}
"""For each unit the larger ones, with their size in it."""

COMMON = {"bit/s": (1e-6, "Mbit/s")}
"""For units, the factor to and the name of the one that all tables in the terminal use."""


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


SUPERSCRIPTS = str.maketrans("-0123456789\N{MINUS SIGN}", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
EXPONENT = re.compile(r"(?<![\w/.^])(\d+(?:\.\d+)?)[eE]([-+\N{MINUS SIGN}]?\d+)(?![\w/])")
SMALL = 1e-3
"""Numbers below it have a power of ten in figures and on pages: 10⁻⁵ and not 0.00001."""


def typeset(text: str) -> str:
    """The text with powers of ten: `1e-05` becomes 10⁻⁵.

    Numbers in identifiers and paths are left as they are.
    """

    def power(found: re.Match[str]) -> str:
        exponent = found[2].replace("\N{MINUS SIGN}", "-")
        ten = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
        mantissa = found[1].rstrip("0").rstrip(".") if "." in found[1] else found[1]
        return ten if mantissa == "1" else f"{mantissa} \N{MULTIPLICATION SIGN} {ten}"

    return EXPONENT.sub(power, text)


def plain(value: float) -> str:
    """A number of a parameter with its digits, small ones with a power of ten: 0.01, 10⁻⁵."""
    if value and abs(value) < SMALL:
        mantissa, exponent = f"{value:e}".split("e")
        return typeset(f"{float(mantissa):g}e{exponent}")
    return f"{value:g}"


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
    places = places_of((high - low) / 2)
    if places is None:
        return significant(mean), f"{significant(low)} to {significant(high)}"
    return decimals(mean, places), f"{decimals(low, places)} to {decimals(high, places)}"


def without_rounding(value: float, scale: float) -> float:
    """The value, or 0 if it is the rounding of a subtraction of numbers as large as `scale`."""
    return 0.0 if abs(value) <= ROUNDING * abs(scale) else value


def places_of(half_width: float) -> int | None:
    """The decimals of two significant digits of an interval; None if it is (almost) zero."""
    if half_width <= 0:
        return None
    places = max(1 - math.floor(math.log10(half_width)), 0)
    return places if places <= 8 else None


def plus_minus(mean: float | None, ci95: float | None, *, sign: bool = False) -> str:
    """A mean ± the half width of its interval, with the digits that the width justifies."""
    if mean is None or not math.isfinite(mean):
        return NONE
    ci95 = None if ci95 is None else without_rounding(ci95, mean)
    places = None if ci95 is None else places_of(ci95)
    text = significant(mean) if places is None else decimals(mean, places)
    half = "" if ci95 is None else significant(ci95) if places is None else decimals(ci95, places)
    plus = "+" if sign and mean > 0 else ""
    return f"{plus}{text}" + (f" \N{PLUS-MINUS SIGN}{half}" if half else "")


def scale(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """The size and name of the unit in which the largest of `values` has one to three digits."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    for size, name in SCALES.get(unit, ()):
        if largest >= size:
            return size, name
    return 1.0, unit


def on_pages(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """The size and name of the unit of tables and figures of pages: rates as in the terminal."""
    factor, name = common(unit)
    return (1 / factor, name) if name != unit else scale(unit, values)


def common(unit: str) -> tuple[float, str]:
    """The factor to the unit that all tables in the terminal use, and its name."""
    return COMMON.get(unit, (1.0, unit))


def amount(value: float | None, unit: str, digits: int = 3) -> str:
    """A value with a suitable unit."""
    if value is None:
        return NONE
    size, name = scale(unit, [value])
    return f"{significant(value / size, digits)} {name}"


def signed(value: float | None, digits: int = 4, places: int | None = None) -> str:
    """A difference with its sign, and `digits` significant digits or `places` decimals."""
    text = significant(value, digits) if places is None else decimals(value, places)
    rounded_to_zero = places is not None and float(f"{value or 0:.{places}f}") == 0
    return f"+{text}" if value is not None and value > 0 and not rounded_to_zero else text


def ends(
    interval: Sequence[float] | None,
    factor: float = 1.0,
    form: Callable[[float], str] = significant,
    n: int = 0,
    *,
    deterministic: bool = False,
) -> str:
    """Both ends of an interval, each times `factor`; the reason if `n` values have none."""
    if interval is None:
        return missing_interval(n, deterministic=deterministic)
    low, high = interval
    return f"{form(low * factor)} to {form(high * factor)}"


def missing_interval(n: int, *, deterministic: bool = False) -> str:
    """The reason why `n` values have no interval, in its place.

    `deterministic` says that no value of the variant depends on the seed.
    """
    if n < FEWEST:
        return TOO_FEW if n else NONE
    return CONSTANT if deterministic else SAME_IN_ALL


def scaled(value: float | None, factor: float = 1.0, digits: int = 4) -> str:
    """A value times `factor` with `digits` significant digits."""
    return significant(None if value is None else value * factor, digits)


def finite(value: float | None) -> float | None:
    """The value, or None for one that no number stands for in JSON."""
    return value if value is not None and math.isfinite(value) else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest of `values` that at least this share of them does not exceed; None of none."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else None
