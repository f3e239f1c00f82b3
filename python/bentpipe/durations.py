"""Times with their unit as in the scenario language: `250ms`, `20min`, `1.5h`."""

from __future__ import annotations

import re
from decimal import Decimal

NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
MOST_ROUNDING = Decimal("1e-3")
"""Largest relative error of rounding to nanoseconds, as in the scenario language."""
QUANTITY = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Zµ]*)\s*")
EXPECTED = 'a time such as "20min"'


def seconds(text: str) -> float:
    """The time in seconds, rounded to nanoseconds. `ValueError` if it is not a time."""
    match = QUANTITY.fullmatch(text)
    if not match:
        raise ValueError(f"expected {EXPECTED}, found {text!r}")
    units = ", ".join(NANOSECONDS)
    number, unit = match.groups()
    if unit not in NANOSECONDS:
        reason = f"unknown unit {unit!r}" if unit else "the unit is missing"
        raise ValueError(f"expected {EXPECTED}, found {text!r}: {reason}; one of {units}")
    # Rounded as in scenarios: half a nanosecond is one.
    exact = Decimal(number) * NANOSECONDS[unit]
    whole = int(exact + Decimal("0.5"))
    if abs(exact - whole) > MOST_ROUNDING * exact:
        raise ValueError(f"expected {EXPECTED}, found {text!r}: it is no whole number of ns")
    return whole / 1e9
