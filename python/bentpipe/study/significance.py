"""Significance of paired differences, for studies, comparisons, evaluations and reproductions.

A difference is tested by a paired t-test. If all pairs have the same difference, its deviation
says nothing, and the exact sign test is used: with n pairs the p value is 2^(1 - n). All
differences that one table or figure shows are a family, whose p values are corrected by the method
of Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6 (1979). So the probability of one or more false findings in a family is at most 5 %.

A variant whose runs are all the same does not depend on the seed: it is deterministic. The
difference of two of them is exact for this scenario, and no test applies.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.numbers import FEWEST, NONE, ends, signed
from bentpipe.study.domains import ANY
from bentpipe.study.statistics import count_variance, is_constant, is_whole, student

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bentpipe.study.domains import Domain

LEVEL = 0.05
"""The probability of a false finding in a family, at most."""
Finding = Literal["significant", "not significant", "deterministic", "too few", "undefined"]
NAMED = 6
"""Deterministic variants that a sentence names, at most."""
ALL_THE_SAME = "nothing depends on the seed, or nothing random happened"
"""The reasons for runs that are all the same. The runs do not show which it is."""
NOT_SIGNIFICANT = "(n.s.)"
"""Follows differences that are not significant."""
DETERMINISTIC = "(det.)"
"""Follows differences of two deterministic variants."""
CONSTANT = "in all"
"""Follows differences that are the same in all pairs."""
Pairs = list[tuple[float, float]]


@dataclass(frozen=True)
class PairedTest:
    """A paired difference and its test, before the correction for its family."""

    n: int
    difference: float | None
    ci95: tuple[float, float] | None
    relative: float | None
    p: float | None
    deterministic: bool
    undefined: int = 0
    """Number of runs without a value that the first has."""
    undefined_against: int = 0
    """The same for the second, under the same seeds."""


def paired_test(pairs: Pairs, *, deterministic: bool = False, domain: Domain = ANY) -> PairedTest:
    """The mean difference of pairs of runs with the same seed, with Student's interval.

    `deterministic` says that the variants of both do not depend on the seed. `domain` has the
    values that the quantity can have. The deviation of counts is at least that of one event in one
    run. The interval ends at the largest difference that two values can have.
    """
    differences = [this - that for this, that in pairs]
    n = len(differences)
    if not differences:
        return PairedTest(0, None, None, None, None, deterministic=deterministic)
    at = statistics.fmean(differences)
    base = statistics.fmean(that for _, that in pairs)
    relative = at / abs(base) if base else None
    if n < FEWEST or deterministic:
        return PairedTest(n, at, None, relative, None, deterministic=deterministic)
    if is_constant(differences) and not (domain.counts and is_whole(differences)):
        p = 1.0 if at == 0 else 2.0 ** (1 - n)
        return PairedTest(n, at, None, relative, p, deterministic=False)
    variance = (
        count_variance(differences) if domain.counts else statistics.variance(differences, at)
    )
    error = math.sqrt(variance / n)
    half = student(n - 1) * error
    # An error that is lost to rounding is not zero.
    p = two_sided(at / max(error, math.ulp(at)), n - 1)
    ci95 = max(at - half, -domain.width), min(at + half, domain.width)
    return PairedTest(n, at, ci95, relative, p, deterministic=False)


def two_sided(t: float, freedom: int) -> float:
    """The p value of a two-sided t-test."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of a family, corrected by the method of Holm."""
    order = sorted(range(len(p_values)), key=lambda number: p_values[number])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        corrected[number] = largest
    return corrected


def decided(family: Iterable[PairedTest]) -> list[dict[str, Any]]:
    """The rows of a family of differences, with corrected p values and findings.

    The keys are those of `summary.json`. `family` is the number of tests.
    """
    tests = list(family)
    tested = [number for number, one in enumerate(tests) if one.p is not None]
    corrected = holm([tests[number].p or 0.0 for number in tested])
    p_holm: dict[int, float] = dict(zip(tested, corrected, strict=True))
    rows = []
    for number, one in enumerate(tests):
        finding = found(one, p_holm.get(number))
        rows.append(
            {
                "n": one.n,
                "difference": one.difference,
                "ci95": one.ci95,
                "relative": one.relative,
                "distinct": finding == "significant",
                "deterministic": one.deterministic,
                "p": one.p,
                "p_holm": p_holm.get(number),
                "family": len(tested),
                "undefined": one.undefined,
                "undefined_against": one.undefined_against,
                "finding": finding,
            }
        )
    return rows


def found(one: PairedTest, p_holm: float | None) -> Finding:
    """The finding of a difference with this corrected p value."""
    if one.difference is None:
        return "undefined"
    if one.deterministic:
        return "deterministic"
    if p_holm is None:
        return "too few"
    return "significant" if p_holm < LEVEL else "not significant"


def finding_of(row: Mapping[str, Any]) -> Finding:
    """The finding of a row; results of earlier releases only say if it is significant."""
    known: Finding | None = row.get("finding")
    if known is not None:
        return known
    if row["difference"] is None:
        return "undefined"
    if row["ci95"] is None:
        return "too few"
    return "significant" if row["distinct"] else "not significant"


def is_significant(row: Mapping[str, Any]) -> bool:
    """True if a difference is significant."""
    return finding_of(row) == "significant"


def is_tied(row: Mapping[str, Any]) -> bool:
    """True if a difference says nothing: it is not significant, or exactly zero.

    A variant that has no value in more of the runs is worse in them, so it is not tied.
    """
    if lacks_of(row)[0] != lacks_of(row)[1]:
        return False
    finding = finding_of(row)
    if finding == "deterministic":
        return bool(row["difference"] == 0)
    return not is_significant(row)


def lacks_of(row: Mapping[str, Any]) -> tuple[int, int]:
    """The numbers of runs in which each of the two has no value; not in earlier releases."""
    return row.get("undefined", 0), row.get("undefined_against", 0)


def of_pairs(row: Mapping[str, Any]) -> str:
    """A mark after a difference that leaves out runs without a value; empty if it has all runs."""
    n = row["n"]
    return f" [{n} pair{'' if n == 1 else 's'}]" if n and any(lacks_of(row)) else ""


LEFT_OUT = (
    "[n pairs]: the difference leaves out the seeds at which one of both has no value. A variant"
    " that fails in difficult runs looks better than it is."
)
"""The meaning of the mark of `of_pairs`."""


def is_deterministic(quantities: Iterable[Mapping[int, float | None]]) -> bool:
    """True if no quantity of a variant depends on the seed; its values are by replication.

    A quantity that is undefined in all runs shows nothing: a download that never completes may
    lose other packets in each run.
    """
    values = [list(runs.values()) for runs in quantities]
    several = [runs for runs in values if len(runs) > 1 and runs != [None] * len(runs)]
    return bool(several) and all(len(set(runs)) == 1 for runs in several)


def text(row: Mapping[str, Any] | None, factor: float = 1.0) -> str:
    """A difference for a table: its interval, or the difference if it has none, and the finding."""
    if row is None or row["difference"] is None:
        return NONE
    finding = finding_of(row)
    if finding == "too few":
        return f"{ends(row['ci95'], factor, signed, row['n'])}{of_pairs(row)}"
    if row["ci95"] is None:
        kind = DETERMINISTIC if finding == "deterministic" else CONSTANT
        shown = f"{signed(row['difference'] * factor)} {kind}"
    else:
        shown = ends(row["ci95"], factor, signed, row["n"])
    mark = f" {NOT_SIGNIFICANT}" if finding == "not significant" else ""
    return f"{shown}{mark}{of_pairs(row)}"


def rule(family: str, number: int | None = None) -> str:
    """How significance was decided, for the reader of a table, figure or page."""
    of = "" if number is None else f"{number} "
    corrected = f", corrected for all {of}differences of {family} together (Holm)"
    return (
        "A difference is significant if its paired t-test rejects zero at 5 %"
        f"{'' if number == 1 else corrected}. Intervals of 95 % are each for itself, so a"
        " difference whose interval excludes zero need not be significant."
    )


def deterministic_sentence(names: Sequence[str], number: int) -> str:
    """The variants of `number` that are deterministic, and the consequence; empty if none are."""
    if not names:
        return ""
    if len(names) == number:
        who = f"All {number} variants are" if number > 1 else "The variant is"
    else:
        more = len(names) - NAMED
        who = ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
        who += " are" if len(names) > 1 else " is"
    return (
        f"{who} deterministic: every run is the same, because {ALL_THE_SAME}. Such values have no"
        " interval. Differences between them (det.) are exact for these runs, and no significance:"
        " a small change of the scenario may change them (docs/traps.md)."
    )
