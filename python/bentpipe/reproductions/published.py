"""Published values of a paper, read from `published.toml`, and the statements that they decide."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.resources.abc import Traversable

Kind = Literal["number", "range", "words"]
"""The three columns of the summary."""

Reason = Literal[
    "repeats",
    "derived",
    "unpublished",
    "trivial",
    "calibration",
    "contradicted",
    "not comparable",
]
"""Why a row is not counted. All of them need a proof.

- repeats: the paper prints the result of the same run again, in another quantity.
- derived: computed from other published values; the paper does not print it.
- unpublished: a measurement of ours that the paper does not have, or another reading of it.
- trivial: any system would give the published value.
- calibration: a constant was set with this value.
- contradicted: the paper contradicts itself here.
- not comparable: the paper does not describe the experiment.
"""

ENDS = {"low": 0, "high": 1}

UNJUDGED: tuple[Reason, ...] = ("contradicted", "not comparable")
"""Rows with these reasons have no judgement. The others are judged, but not counted."""


@dataclass(frozen=True)
class Removal:
    """The reason why a row is not counted, and its proof."""

    reason: Reason
    proof: str


@dataclass(frozen=True)
class Tolerance:
    """Tolerated deviation: a fraction of the published value, and an amount in its unit."""

    relative: float = 0.0
    absolute: float = 0.0

    def around(self, value: float) -> float:
        """The tolerated deviation from `value`, in its unit."""
        return self.relative * abs(value) + self.absolute


@dataclass(frozen=True)
class Value:
    """One published value or range. `low` and `high` are equal for a value, None for words.

    `statement` is the id of the statement that it belongs to. It decides that statement unless
    `below` is set: then it is listed below it. `cases` are the cases of a measurement that do not
    decide. `possible` are the smallest and the largest value that can be measured at all.
    """

    id: str
    quantity: str
    unit: str
    low: float | None
    high: float | None
    tolerance: Tolerance
    source: str
    kind: Kind
    statement: str
    below: bool = False
    removal: Removal | None = None
    cases: Mapping[str, Removal] = field(default_factory=dict)
    possible: tuple[float, float] = (float("-inf"), float("inf"))

    @property
    def printed(self) -> float | list[float] | None:
        """The value, the ends of the range, or None."""
        if self.low is None or self.high is None:
            return None
        return self.low if self.low == self.high else [self.low, self.high]

    def removed(self, case: str) -> Removal | None:
        """Why the measurement of `case` does not decide the statement, or None if it does."""
        return self.cases.get(case) or self.removal


@dataclass(frozen=True)
class Statement:
    """The unit that is counted: a sentence, a number, a row of a table, or a range.

    `ends`: the measured cases must also reach these ends of the range (0 the low, 1 the high one),
    such as the smallest and the largest saving over all bit error rates. `removal`: why it is not
    counted.
    """

    id: str
    kind: Kind
    quantity: str
    source: str
    ends: tuple[int, ...] = ()
    removal: Removal | None = None


@dataclass(frozen=True)
class Publication:
    """A paper with all its published values, in the order of its file.

    `repetitions`: the number of runs behind each published value. The spread of as many runs is
    what a measured mean is compared with. `short` is a short title for tables. `conditions` are
    columns of which the README has a table. `files` are measured files that are not in the package,
    with their sources.
    """

    title: str
    authors: str
    repetitions: int = 1
    short: str = ""
    conditions: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    statements: dict[str, Statement] = field(default_factory=dict)


def read(path: Traversable) -> Publication:
    """Read a `published.toml`; `ValueError` if it is invalid."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    publication = Publication(
        title=content["title"],
        authors=content["authors"],
        repetitions=content.get("repetitions", 1),
        short=content.get("short", ""),
        conditions=content.get("conditions", ()),
        files=content.get("files", {}),
    )
    for table in content["table"]:
        for value in values_of(table, content.get("labels", {})):
            if value.id in publication.values:
                raise ValueError(f"{value.id}: expected each value once, found it twice")
            publication.values[value.id] = value
            if value.statement not in publication.statements and not value.below:
                publication.statements[value.statement] = statement_of(table, value)
    for value in publication.values.values():
        if value.statement not in publication.statements:
            raise ValueError(f"{value.id}: there is no statement {value.statement!r}")
    return publication


def statement_of(table: dict[str, Any], first: Value) -> Statement:
    """The statement whose first value is `first`."""
    quantity = first.quantity if first.id == first.statement else table["quantity"]
    return Statement(
        id=first.statement,
        kind=first.kind,
        quantity=table.get("says", quantity),
        source=table["source"],
        ends=tuple(ENDS[name] for name in table.get("ends", [])),
        removal=first.removal,
    )


def values_of(table: dict[str, Any], labels: dict[str, str]) -> list[Value]:
    """The values of one `[[table]]`."""
    removal = removal_of(table["removed"]) if "removed" in table else None
    unjudged = removal is not None and removal.reason in UNJUDGED
    if ("tolerance" in table) == unjudged:
        raise ValueError(f"{table['id']} needs either a tolerance or the reason for having none")
    if "below" in table and removal is None:
        raise ValueError(f"{table['id']} is below another statement and needs the reason")
    shared = Value(
        id="",
        quantity="",
        unit=table["unit"],
        low=None,
        high=None,
        tolerance=Tolerance(**table.get("tolerance", {})),
        source=table["source"],
        kind=one_of(table["kind"], get_args(Kind), table["id"]),
        statement="",
        below="below" in table,
        removal=removal,
        cases={name: removal_of(removed) for name, removed in table.get("cases", {}).items()},
        possible=tuple(table.get("possible", Value.possible)),
    )
    values = []
    for row, cells in table["rows"].items():
        for column, cell in zip(table["columns"], cells, strict=True):
            low, high = ends(cell)
            identity = "/".join([table["id"], row, column]).replace(" ", "-")
            names = [table["quantity"], labels.get(row, row), labels.get(column, column)]
            of = table.get("below", table.get("statement", "{table}/{row}/{column}"))
            value = replace(
                shared,
                id=identity,
                quantity=", ".join(names),
                low=low,
                high=high,
                statement=of.format(table=table["id"], row=row, column=column).replace(" ", "-"),
            )
            values.append(value)
    return values


def removal_of(removed: dict[str, str]) -> Removal:
    """`{ as = REASON, proof = TEXT }`."""
    reason: Reason = one_of(removed["as"], get_args(Reason), "removed.as")
    return Removal(reason, removed["proof"])


def one_of(word: str, allowed: tuple[Any, ...], where: str) -> Any:
    """`word`, if it is allowed."""
    if word not in allowed:
        raise ValueError(f"{where}: expected one of {', '.join(allowed)}, found {word!r}")
    return word


def ends(cell: float | list[float] | str) -> tuple[float | None, float | None]:
    """Both ends of a value or a range; None for words."""
    if isinstance(cell, str):
        return None, None
    if isinstance(cell, list):
        low, high = cell
        return low, high
    return cell, cell
