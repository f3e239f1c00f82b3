"""Findings of an item: the candidate compared with each baseline, in numbers and in words.

RFC 9743 sets no thresholds, and this module adds none. A finding is `better`, `worse` or `not
distinguishable`, by a paired test that is corrected for all differences of the item. Between runs
that do not depend on the seed it is `deterministic`.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.evaluate.items import labels_of, names_of
from bentpipe.numbers import FEWEST
from bentpipe.study.intervals import around
from bentpipe.study.pairs import defined, paired
from bentpipe.study.quantities import domain_of
from bentpipe.study.significance import (
    NOT_SIGNIFICANT,
    decided,
    finding_of,
    paired_test,
    text,
)
from bentpipe.study.summary import values_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from bentpipe.evaluate.checklist import Item, Measure
    from bentpipe.study import Results
    from bentpipe.study.domains import Domain
    from bentpipe.study.significance import PairedTest

Word = Literal["better", "worse", "not distinguishable", "deterministic", "undefined"]
SHOWN = {"not distinguishable": "not significant"}
"""Findings whose words for readers differ from those of the JSON."""


@dataclass(frozen=True)
class Against:
    """The candidate against one baseline. The field names are the JSON names."""

    baseline: str
    mean: float | None
    mean_ci95: tuple[float, float] | None
    n: int
    difference: float | None
    ci95: tuple[float, float] | None
    relative: float | None
    finding: Word
    p: float | None = None
    p_holm: float | None = None
    family: int = 0


@dataclass(frozen=True)
class Finding:
    """One quantity in one case. The field names are the JSON names."""

    case: str
    quantity: str
    label: str
    unit: str
    higher_is_better: bool
    n: int
    undefined: int
    mean: float | None
    ci95: tuple[float, float] | None
    against: list[Against]
    deterministic: bool = False
    """True if all runs of the candidate are the same in this case."""


def word(row: Mapping[str, Any], *, higher_is_better: bool) -> Word:
    """The finding of a paired difference, candidate minus baseline."""
    finding = finding_of(row)
    if finding == "undefined":
        return "undefined"
    if finding == "deterministic":
        return "deterministic"
    if finding != "significant":
        return "not distinguishable"
    return "better" if (row["difference"] > 0) == higher_is_better else "worse"


TESTED = {"better": "significant", "worse": "significant", "not distinguishable": "not significant"}
"""Findings of items as those of the test behind them."""


def shown_difference(row: Mapping[str, Any], factor: float = 1.0) -> str:
    """The interval of a difference for a table in which the finding has a column of its own."""
    finding = TESTED.get(row["finding"], row["finding"])
    if finding == "not significant" and row["n"] < FEWEST:
        finding = "too few"
    return text({**row, "finding": finding}, factor).removesuffix(NOT_SIGNIFICANT).rstrip()


Runs = dict[int, float | None]
"""The values of one controller in one case, by replication."""


def findings(item: Item, candidate: str, against: Sequence[str], results: Results) -> list[Finding]:
    """All quantities in all cases, case by case. The differences of an item are one family."""
    names, labels = names_of(item, candidate, against), labels_of(item)
    values = {one.quantity: values_of(results.rows, one.quantity) for one in item.measures}
    units = {one.name: one.unit for one in results.study.quantities}
    variants = results.study.variants
    exact = set(results.summary["deterministic"])
    cases = []
    tests: list[PairedTest] = []
    # Variants are sorted by controller, and then by case.
    for case, label in enumerate(labels):
        number = {name: i * len(labels) + case for i, name in enumerate(names)}
        fixed = {name for name, at in number.items() if at in exact}
        for measure in item.measures:
            runs = {name: values[measure.quantity][at] for name, at in number.items()}
            # All controllers of a case have the same flows.
            domain = domain_of(measure.quantity, variants[number[candidate]].scenario)
            tests += [
                paired_test(
                    paired(runs[candidate], others),
                    deterministic={candidate, name} <= fixed,
                    domain=domain,
                )
                for name, others in runs.items()
                if name != candidate
            ]
            cases.append((label, measure, runs, fixed, domain))
    rows = iter(decided(tests))
    return [
        finding(label, measure, units[measure.quantity], candidate, runs, fixed, domain, rows)
        for label, measure, runs, fixed, domain in cases
    ]


def finding(
    label: str,
    measure: Measure,
    unit: str,
    candidate: str,
    runs: Mapping[str, Runs],
    fixed: Collection[str],
    domain: Domain,
    rows: Iterator[Mapping[str, Any]],
) -> Finding:
    """One quantity in one case; `rows` has the differences from the baselines next."""
    own = defined(runs[candidate])
    return Finding(
        case=label,
        quantity=measure.quantity,
        label=measure.label,
        unit=unit,
        higher_is_better=measure.higher_is_better,
        n=len(own),
        undefined=len(runs[candidate]) - len(own),
        mean=statistics.fmean(own) if own else None,
        ci95=around(own, domain, deterministic=candidate in fixed),
        against=[
            compared(name, others, measure, next(rows), domain, is_fixed=name in fixed)
            for name, others in runs.items()
            if name != candidate
        ],
        deterministic=candidate in fixed,
    )


def compared(
    name: str,
    others: Runs,
    measure: Measure,
    row: Mapping[str, Any],
    domain: Domain,
    *,
    is_fixed: bool,
) -> Against:
    """The candidate compared with a baseline, by pairs of runs with the same seed."""
    there = defined(others)
    return Against(
        baseline=name,
        mean=statistics.fmean(there) if there else None,
        mean_ci95=around(there, domain, deterministic=is_fixed),
        n=row["n"],
        difference=row["difference"],
        ci95=row["ci95"],
        relative=row["relative"],
        finding=word(row, higher_is_better=measure.higher_is_better),
        p=row["p"],
        p_holm=row["p_holm"],
        family=row["family"],
    )


def sentences(found: Sequence[Finding]) -> list[str]:
    """One sentence for each baseline: the quantities that are better or worse, with the cases."""
    baselines = list(dict.fromkeys(row.baseline for one in found for row in one.against))
    return [sentence(baseline, found) for baseline in baselines]


def sentence(baseline: str, found: Sequence[Finding]) -> str:
    """The sentence for one baseline."""
    described: dict[Word, list[str]] = {
        "better": [], "worse": [], "deterministic": [], "undefined": [],
    }  # fmt: skip
    cases = len({one.case for one in found})
    for label in dict.fromkeys(one.label for one in found):
        rows = [
            (one.case, row)
            for one in found
            if one.label == label
            for row in one.against
            if row.baseline == baseline
        ]
        for kind, listed in described.items():
            of_kind = [(case, row) for case, row in rows if row.finding == kind]
            if of_kind:
                listed.append(f"{label} {changes(of_kind, cases)}")
    parts = [f"{kind}: {'; '.join(listed)}" for kind, listed in described.items() if listed]
    if not parts:
        return f"Compared with {baseline}: no significant difference"
    return f"Compared with {baseline}: {'. '.join(parts)}"


def changes(rows: Sequence[tuple[str, Against]], cases: int) -> str:
    """The relative differences, with the case if there are several."""
    described = []
    for case, row in rows:
        where = f" ({case})" if cases > 1 else ""
        described.append(f"{size(row)}{where}")
    return ", ".join(described)


MANY_TIMES = 2.0
"""Relative differences from this size on are shown as multiples instead of percent."""


def size(row: Against) -> str:
    """The difference in percent or as a multiple of the baseline; absolute if that is zero."""
    if row.difference is None:
        return "(no pair of runs)"
    if row.relative is None:
        return f"{row.difference:+.3g}"
    if row.relative >= MANY_TIMES:
        return f"{1 + row.relative:.3g} times"
    return f"{row.relative * 100:+.3g} %"
