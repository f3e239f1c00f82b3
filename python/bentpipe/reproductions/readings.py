"""Readings of a paper, read from `readings.toml`: what was assumed, what else was tried, and why.

A `[[reading]]` names the statements that it is about by patterns. Several readings of one statement
add up, in the order of the file. The numbers in their texts are placeholders, which `trials.json`
fills. `python -m bentpipe.reproductions.trials` measures these:

- `{ROW}`: what the present reading measures for a row,
- `{TRIAL|ROW}`: what a trial measures,
- `{TRIAL|PATTERN}`: the smallest and the largest value of the rows that match,
- `{#KIND}` or `{TRIAL|#KIND}`: the count of the statements of a kind, such as "16 of 40".
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, plus_minus, significant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.resources.abc import Traversable

NO_REASON = "no reason was found"

TRIALS = "trials.json"
PRESENT = "present"
"""The name of the present reading among the trials."""

PLACEHOLDER = re.compile(r"\{(?:([^{}|]+)\|)?([^{}|]+)\}")


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


@dataclass(frozen=True)
class Numbers:
    """What the present reading and the trials measured, for the placeholders of the texts.

    `rows` has for each trial its rows with mean and half width of the 95 % interval, if they differ
    from those of the present reading, and `counts` the count of statements of each kind.
    """

    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    counts: dict[str, dict[str, str]] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        """The text with numbers for its placeholders, or a dash where one was not measured."""
        return PLACEHOLDER.sub(lambda found: self.number(found[2], found[1] or PRESENT), text)

    def number(self, name: str, trial: str) -> str:
        """The number of one placeholder."""
        if name.startswith("#"):
            text, _, undecided = self.counts.get(trial, {}).get(name[1:], NONE).partition(", ")
            return f"{text} (and {undecided})" if undecided else text
        if trial not in self.rows:
            return NONE
        rows = self.rows.get(PRESENT, {}) | self.rows[trial]
        found = [rows[name]] if name in rows else matching(rows, name)
        if len(found) == 1:
            (value, *ci95), *_ = found
            return plus_minus(value, ci95[0] if ci95 else None).replace("\N{PLUS-MINUS SIGN}", "± ")
        if not found:
            return NONE
        values = [value for value, *_ in found]
        ends = [significant(end(values), 3) for end in (min, max)]
        return " to ".join(dict.fromkeys(ends))


def matching(rows: dict[str, list[float]], pattern: str) -> list[list[float]]:
    """The values of all rows whose id matches the pattern."""
    return [value for name, value in rows.items() if fnmatchcase(name, pattern)]


def numbers_of(trials: Mapping[str, Mapping[str, Any]]) -> Numbers:
    """The numbers of the content of a `trials.json`."""
    return Numbers(
        rows={name: trial["rows"] for name, trial in trials.items()},
        counts={name: trial["counts"] for name, trial in trials.items()},
    )


def read_trials(folder: Traversable) -> dict[str, dict[str, Any]]:
    """The content of `trials.json`; nothing if the trials were not measured yet."""
    path = folder / TRIALS
    if not path.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def read_readings(folder: Traversable, numbers: Numbers | None = None) -> list[Reading]:
    """Read the `readings.toml` of a reproduction; `ValueError` if it is invalid.

    `numbers` are those of its `trials.json` by default.
    """
    content = tomllib.loads((folder / "readings.toml").read_text(encoding="utf-8"))
    numbers = numbers or numbers_of(read_trials(folder))
    return [reading_of(table, numbers) for table in content["reading"]]


def reading_of(table: dict[str, Any], numbers: Numbers) -> Reading:
    """One `[[reading]]`."""
    unknown = table.keys() - Reading.__annotations__.keys()
    if unknown:
        raise ValueError(f"readings.toml: unknown key {sorted(unknown)[0]!r}")
    if "tested" in table and "reason" not in table:
        raise ValueError(f"readings.toml: {table['of']} has a test but no reason")
    texts: dict[str, Any] = {
        key: numbers.fill(table[key]) for key in ("reading", "reason", "tested") if key in table
    }
    tried = tuple(
        Trial(trial["what"], numbers.fill(trial["result"])) for trial in table.get("tried", [])
    )
    return Reading(**(table | texts | {"tried": tried}))


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
