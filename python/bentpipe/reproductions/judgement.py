"""Judgements: a published value compared with a measured one, and the statements that they decide.

The bound is the published value with its tolerance, or the published range. Two intervals are
compared with it. The 95 % interval of the measured mean shows what the model does: if it is inside
the bound, the value is reproduced, however wide the spread is. The spread shows what the paper may
have seen: 95 % of all means of as many runs as the paper made, of single runs if it made one. Only
if even the spread is outside the bound, the value is not reproduced. Otherwise it is undecided. The
rule is not symmetric, because papers state means and few state their spread: a value of theirs may
be off by the chance of its runs, and that must not count against it. Runs without randomness have
intervals of zero width, and are never undecided.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from bentpipe.reproductions.published import UNJUDGED, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bentpipe.reproductions.published import Publication, Removal, Statement, Value
    from bentpipe.study.statistics import Mean

Verdict = Literal["reproduced", "deviates", "not comparable"]
Judgement = Literal[
    "reproduced",
    "not reproduced",
    "within",
    "outside",
    "agrees",
    "disagrees",
    "undecided",
    "contradicted",
    "not judged",
]
"""The first six are pairs of a word and its negation, for numbers, ranges and words."""

WORDS: dict[Kind, tuple[Judgement, Judgement]] = {
    "number": ("reproduced", "not reproduced"),
    "range": ("within", "outside"),
    "words": ("agrees", "disagrees"),
}
UNDECIDED = (
    "undecided: the interval of the mean is not inside the bound, and the spread is not outside it"
)
RULE = (
    "The bound is the published value with its tolerance, or the published range. A value is"
    " reproduced, within or agrees if the 95 % interval of the measured mean is inside the bound,"
    " also if single runs are outside. It is not reproduced, outside or disagrees only if the"
    " spread is outside, too: 95 % of all means of as many runs as the paper made. Otherwise it is"
    " undecided. So a contradiction takes more than an agreement."
)
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Measured:
    """A measured value for the published value `id`.

    `case` names one of several measurements for one published value. `note` is the known reason of
    a deviation. `mean` is None if the value could not be measured, and `note` gives the reason.
    """

    id: str
    mean: Mean | None
    case: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A published value compared with a measured one. The field names are the JSON names.

    `deviation` is the relative deviation from the published value, or from the nearer end of a
    published range (0 inside the range). `tolerance` is the largest deviation that counts as
    reproduced. Both are absolute if the published value is
    zero. `spread` is the half width of the interval for as many runs as the paper made. A row with
    `removed` does not decide its statement, for the reason that `proof` gives.
    """

    id: str
    quantity: str
    unit: str
    published: float | list[float] | None
    measured: float | None
    ci95: float | None
    deviation: float | None
    tolerance: float | None
    verdict: Verdict
    note: str
    kind: Kind = "number"
    judgement: Judgement = "not judged"
    spread: float | None = None
    statement: str = ""
    removed: str = ""
    proof: str = ""


@dataclass(frozen=True)
class Judged:
    """A statement with its judgement. The field names are the JSON names.

    `rows` are the ids of the rows that decide it, and `below` those that do not.
    """

    id: str
    kind: Kind
    quantity: str
    source: str
    judgement: Judgement
    verdict: Verdict
    note: str
    removed: str = ""
    proof: str = ""
    rows: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    @property
    def counted(self) -> bool:
        """True if the statement is in the counts of the summary."""
        return not self.removed


def judge(value: Value, measured: Measured, repetitions: int = 1) -> Row:
    """Compare a value with the mean of our runs; `repetitions` is the number of the paper's."""
    at, ci95 = (measured.mean.value, measured.mean.ci95) if measured.mean else (None, None)
    removal = value.removed(measured.case)
    judgement: Judgement = "not judged"
    deviation = tolerance = spread = None
    if at is not None and value.low is not None and value.high is not None:
        assert measured.mean is not None
        spread = spread_of(measured.mean, repetitions)
        nearest = min(max(at, value.low), value.high)
        deviation = (at - nearest) / abs(nearest) if nearest else at - nearest
        if removal is None or removal.reason not in UNJUDGED:
            allowed = value.tolerance.around(nearest)
            tolerance = allowed / abs(nearest) if nearest else allowed
            judgement = compare(value, at, (ci95 or 0.0, spread or 0.0))
    if removal is not None and removal.reason == "contradicted":
        judgement = "contradicted"
    return Row(
        id=f"{value.id}@{measured.case}" if measured.case else value.id,
        quantity=f"{value.quantity}, {measured.case}" if measured.case else value.quantity,
        unit=value.unit,
        published=value.printed,
        measured=at,
        ci95=ci95,
        deviation=deviation,
        tolerance=tolerance,
        verdict=verdict_of(judgement),
        note="; ".join(filter(None, (reason_of(judgement, removal), measured.note))),
        kind=value.kind,
        judgement=judgement,
        spread=spread,
        statement=value.statement,
        removed=removal.reason if removal else "",
        proof=removal.proof if removal else "",
    )


def spread_of(mean: Mean, repetitions: int) -> float | None:
    """Half width of the 95 % interval for the mean of `repetitions` new runs.

    With n runs of ours and the standard deviation s it is t s sqrt(1 / repetitions + 1 / n): the
    prediction interval of a mean, by which a replication is compared with one published result
    (Patil, Peng, Leek, Perspectives on Psychological Science 11(4), 2016).
    """
    if mean.ci95 is None:
        return None
    return mean.ci95 * math.sqrt(1 + mean.runs / repetitions)


def compare(value: Value, at: float, widths: tuple[float, float]) -> Judgement:
    """Compare the intervals around `at` with the published value and its tolerance."""
    assert value.low is not None
    assert value.high is not None
    low = value.low - value.tolerance.around(value.low)
    high = value.high + value.tolerance.around(value.high)
    return in_bounds(value.kind, at, widths, (low, high), value.possible)


def in_bounds(
    kind: Kind,
    at: float,
    widths: tuple[float, float],
    bounds: tuple[float, float],
    possible: tuple[float, float] = (-math.inf, math.inf),
) -> Judgement:
    """Compare two intervals around `at`, as far as their values are possible, with bounds.

    `widths` are the half widths of the interval of the mean and of the spread.
    """
    yes, no = WORDS[kind]
    low, high = bounds
    mean, spread = (
        (min(max(at - width, possible[0]), at), max(min(at + width, possible[1]), at))
        for width in widths
    )
    if low <= mean[0] and mean[1] <= high:
        return yes
    if spread[1] < low or spread[0] > high:
        return no
    return "undecided"


def reason_of(judgement: Judgement, removal: Removal | None) -> str:
    """Why there is no verdict, if there is none."""
    if judgement == "undecided":
        return UNDECIDED
    return removal.proof if removal and removal.reason in UNJUDGED else ""


def verdict_of(judgement: Judgement) -> Verdict:
    """The verdict of a judgement."""
    if judgement in ("reproduced", "within", "agrees"):
        return "reproduced"
    if judgement in ("not reproduced", "outside", "disagrees"):
        return "deviates"
    return "not comparable"


def statements(publication: Publication, rows: Sequence[Row]) -> list[Judged]:
    """All statements with their judgements, in the order of the paper."""
    by_statement: dict[str, list[Row]] = {name: [] for name in publication.statements}
    for row in rows:
        by_statement[row.statement].append(row)
    return [
        judge_statement(publication, statement, by_statement[name])
        for name, statement in publication.statements.items()
    ]


def judge_statement(publication: Publication, statement: Statement, rows: Sequence[Row]) -> Judged:
    """Judge a statement by the rows that decide it. All of them must come out."""
    own = statement.removal.reason if statement.removal else ""
    deciding = [row for row in rows if row.removed == own and not is_below(publication, row)]
    judgement = combine(statement.kind, [row.judgement for row in deciding])
    if statement.ends and judgement not in ("not judged", "contradicted"):
        reached = [end_reached(publication, statement, deciding, end) for end in statement.ends]
        judgement = combine(statement.kind, [judgement, *reached])
    notes = [row.note for row in deciding if row.judgement == judgement and row.note]
    return Judged(
        id=statement.id,
        kind=statement.kind,
        quantity=statement.quantity,
        source=statement.source,
        judgement=judgement,
        verdict=verdict_of(judgement),
        note="; ".join(dict.fromkeys(notes)),
        removed=own,
        proof=statement.removal.proof if statement.removal else "",
        rows=[row.id for row in deciding],
        below=[row.id for row in rows if row not in deciding],
    )


def is_below(publication: Publication, row: Row) -> bool:
    """True if the row belongs to a value below the statement, or to a case that does not decide."""
    identity, _, case = row.id.partition("@")
    value = publication.values[identity]
    return value.below or case in value.cases


def combine(kind: Kind, parts: Iterable[Judgement]) -> Judgement:
    """The judgement of several parts: one that fails decides, then one that is undecided."""
    yes, no = WORDS[kind]
    found = set(parts)
    for judgement in ("contradicted", no, "not judged", "undecided"):
        if judgement in found:
            return judgement
    return yes if found else "not judged"


def end_reached(
    publication: Publication, statement: Statement, rows: Sequence[Row], end: int
) -> Judgement:
    """Compare the smallest (`end` 0) or the largest measured value with that end of the range."""
    measured = [row for row in rows if row.measured is not None]
    if not measured:
        return "not judged"
    pick = min if end == 0 else max
    row = pick(measured, key=lambda row: row.measured or 0.0)
    assert row.measured is not None
    assert isinstance(row.published, list)
    printed = row.published[end]
    allowed = publication.values[row.id.partition("@")[0]].tolerance.around(printed)
    bounds = (printed - allowed, printed + allowed)
    widths = (row.ci95 or 0.0, row.spread or 0.0)
    return in_bounds(statement.kind, row.measured, widths, bounds)


# ------------------------------------------------------------------------------------ summaries

COLUMNS: tuple[Kind, ...] = get_args(Kind)
HEADINGS: dict[Kind, str] = {
    "number": "numbers",
    "range": "ranges",
    "words": "statements in words",
}


@dataclass(frozen=True)
class Counts:
    """Numbers of judgements of one kind: its word, its negation, undecided, and all others."""

    kind: Kind
    yes: int
    no: int
    undecided: int
    unjudged: int = 0

    @property
    def judged(self) -> int:
        """The number of those that could be decided."""
        return self.yes + self.no

    @property
    def total(self) -> int:
        """The number of all but those without a judgement."""
        return self.judged + self.undecided

    def __str__(self) -> str:
        text = f"{self.yes} of {self.judged}"
        return f"{text}, {self.undecided} undecided" if self.undecided else text

    def to_dict(self) -> dict[str, int]:
        """The counts, with the words of the kind as keys."""
        yes, no = WORDS[self.kind]
        return {yes: self.yes, no: self.no, "undecided": self.undecided}


def counts(kind: Kind, judgements: Iterable[Judgement]) -> Counts:
    """Count the judgements of one kind."""
    yes, no = WORDS[kind]
    found = Counter(judgements)
    undecided = found.pop("undecided", 0)
    return Counts(kind, found.pop(yes, 0), found.pop(no, 0), undecided, found.total())


@dataclass(frozen=True)
class Summary:
    """The counts of a paper.

    `statements`: those that are counted. `calibrated`: with the statements that a constant was set
    with. `rows`: every row that has a judgement, counted or not. `contradicted`: statements that
    the paper itself contradicts. `removed`: the number of rows that are not counted, by reason.
    """

    statements: dict[Kind, Counts]
    calibrated: dict[Kind, Counts]
    rows: dict[Kind, Counts]
    contradicted: int
    not_comparable: int
    removed: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The summary of `papers run --json`."""
        return {
            "statements": {kind: one.to_dict() for kind, one in self.statements.items()},
            "with_calibration": {kind: one.to_dict() for kind, one in self.calibrated.items()},
            "rows": {kind: one.to_dict() for kind, one in self.rows.items()},
            "contradicted": self.contradicted,
            "not_comparable": self.not_comparable,
            "removed_rows": self.removed,
        }


def summarise(judged: Sequence[Judged], rows: Sequence[Row]) -> Summary:
    """Count statements and rows."""
    calibrated = [one for one in judged if one.counted or one.removed == "calibration"]

    def of(chosen: Iterable[Judged], kind: Kind) -> Counts:
        return counts(kind, [one.judgement for one in chosen if one.kind == kind])

    return Summary(
        statements={kind: of((one for one in judged if one.counted), kind) for kind in COLUMNS},
        calibrated={kind: of(calibrated, kind) for kind in COLUMNS},
        rows={
            kind: counts(kind, [row.judgement for row in rows if row.kind == kind])
            for kind in COLUMNS
        },
        contradicted=sum(one.judgement == "contradicted" for one in judged),
        not_comparable=sum(one.removed == "not comparable" for one in judged),
        removed=dict(Counter(row.removed for row in rows if row.removed)),
    )
