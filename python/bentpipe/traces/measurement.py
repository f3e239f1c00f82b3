"""A measurement of a path: times, and values by the names that columns of traces have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import Problem, TraceError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GAP = 3.0
"""Multiple of the median spacing from which a time between two values is a gap."""


@dataclass(frozen=True)
class Measurement:
    """Values over time in one direction, or of the round trip."""

    format: str
    """Name of the form of the file."""
    t_s: Floats
    """Times since the first value, increasing."""
    columns: dict[str, Floats]
    """Values by the name of their column, NaN where a probe was lost."""
    direction: str = ""
    """`up` or `down`, if the file has both directions."""
    start: float | None = None
    """Unix time of the first value; None if the file does not have it."""
    start_error_s: float = 0.0
    """The start is known to within this time."""
    nominal_s: float | None = None
    """Time between values that the file states."""
    probes: int | None = None
    """Probes or packets that were sent; None if the file does not count them."""
    lost: int | None = None
    """Those of them that were lost or retransmitted."""
    holds: bool = False
    """True if rows are changes, and each value holds until the next one, as in traces of links."""
    lasts_s: float | None = None
    """Time from the first value to the end of the last one, if the file states it."""
    notes: tuple[str, ...] = field(default=())
    """How the file was read."""

    @property
    def achieved(self) -> bool:
        """True if a rate is what a flow has achieved, and not the capacity."""
        return "achieved_mbps" in self.columns


def fault(file: Path, expected: str, found: str, line: int | None = None) -> TraceError:
    """The error of a file that has another content."""
    place = f"{file}:{line}" if line else f"{file}"
    message = f"{place}: expected {expected}, found {found}"
    problem = Problem("", expected, found, file=str(file), line=line, message=message)
    return TraceError(message, str(file), line, (problem,))


def ordered(times: Floats, columns: dict[str, Floats]) -> tuple[Floats, dict[str, Floats], int]:
    """Times that increase, their values, and the number of values that were left out.

    Values are sorted by time. Of several at the same time, the first one stays.
    """
    unique, places = np.unique(times, return_index=True)
    left_out = len(times) - len(unique)
    return unique, {name: values[places] for name, values in columns.items()}, left_out


def left_out_note(number: int) -> tuple[str, ...]:
    """The remark about values at the same time."""
    return (f"leaves out {number:,} values at the time of another one",) if number else ()
