"""Readings of a paper, read from `readings.toml`: what was assumed, what else was tried, and why.

A `[[reading]]` names the statements that it is about by patterns. Several readings of one statement
add up, in the order of the file.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.resources.abc import Traversable

NO_REASON = "no reason was found"


@dataclass(frozen=True)
class Trial:
    """An alternative reading that was tried, with the numbers that it gives."""

    what: str
    result: str


@dataclass(frozen=True)
class Reading:
    """What is assumed for statements whose ids match `of`.

    `runs` are patterns for the names of jobs, `figure` is the name of the plot. `reason` says why
    the statements are not reproduced, and `tested` what was run to find that out.
    """

    of: Sequence[str]
    reading: str = ""
    runs: Sequence[str] = ()
    figure: str = ""
    reason: str = ""
    tested: str = ""
    tried: Sequence[Trial] = field(default_factory=tuple)

    def matches(self, statement: str) -> bool:
        """True if the reading is about the statement."""
        return any(fnmatchcase(statement, pattern) for pattern in self.of)


@dataclass(frozen=True)
class Explanation:
    """All that is known of one statement, from its readings."""

    readings: list[str]
    runs: list[str]
    figures: list[str]
    reasons: list[str]
    tried: list[Trial]


def read_readings(path: Traversable) -> list[Reading]:
    """Read a `readings.toml`; `ValueError` if it is invalid."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return [reading_of(table) for table in content["reading"]]


def reading_of(table: dict[str, Any]) -> Reading:
    """One `[[reading]]`."""
    unknown = table.keys() - Reading.__annotations__.keys()
    if unknown:
        raise ValueError(f"readings.toml: unknown key {sorted(unknown)[0]!r}")
    if "tested" in table and "reason" not in table:
        raise ValueError(f"readings.toml: {table['of']} has a test but no reason")
    tried = tuple(Trial(**trial) for trial in table.get("tried", []))
    return Reading(**(table | {"tried": tried}))


def explain(readings: Iterable[Reading], statement: str) -> Explanation:
    """Put together what the readings have on one statement."""
    found = [reading for reading in readings if reading.matches(statement)]
    return Explanation(
        readings=[reading.reading for reading in found if reading.reading],
        runs=list(dict.fromkeys(run for reading in found for run in reading.runs)),
        figures=list(dict.fromkeys(reading.figure for reading in found if reading.figure)),
        reasons=[reason_text(reading) for reading in found if reading.reason],
        tried=[trial for reading in found for trial in reading.tried],
    )


def reason_text(reading: Reading) -> str:
    """The reason with its test."""
    tested = f" Tested: {reading.tested}" if reading.tested else ""
    return f"{reading.reason}{tested}"
