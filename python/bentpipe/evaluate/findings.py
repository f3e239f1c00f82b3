"""Findings of an item: the candidate compared with each baseline, in numbers and in words.

RFC 9743 sets no thresholds, and this module adds none. A finding is `better`, `worse` or `not
distinguishable`, by the paired 95 % interval of the difference.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bentpipe.evaluate.items import labels_of, names_of
from bentpipe.study.summary import around, difference, paired, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.evaluate.checklist import Item, Measure
    from bentpipe.study import Results

Word = Literal["better", "worse", "not distinguishable", "undefined"]
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


def word(row: Mapping[str, Any], *, higher_is_better: bool) -> Word:
    """The finding of a paired difference, candidate minus baseline."""
    if row["difference"] is None:
        return "undefined"
    if not row["distinct"]:
        return "not distinguishable"
    return "better" if (row["difference"] > 0) == higher_is_better else "worse"


def findings(item: Item, candidate: str, against: Sequence[str], results: Results) -> list[Finding]:
    """All quantities in all cases, case by case."""
    names, labels = names_of(item, candidate, against), labels_of(item)
    found = []
    # Variants are sorted by controller, and then by case.
    for case, label in enumerate(labels):
        for measure in item.measures:
            values = values_of(results.rows, measure.quantity)
            runs = {n: values[i * len(labels) + case] for i, n in enumerate(names)}
            unit = next(q.unit for q in results.study.quantities if q.name == measure.quantity)
            found.append(finding(label, measure, unit, candidate, runs))
    return found


def finding(
    label: str,
    measure: Measure,
    unit: str,
    candidate: str,
    runs: Mapping[str, dict[int, float | None]],
) -> Finding:
    """One quantity in one case."""
    own = [value for value in runs[candidate].values() if value is not None]
    return Finding(
        case=label,
        quantity=measure.quantity,
        label=measure.label,
        unit=unit,
        higher_is_better=measure.higher_is_better,
        n=len(own),
        undefined=len(runs[candidate]) - len(own),
        mean=statistics.fmean(own) if own else None,
        ci95=around(own),
        against=[
            compared(name, runs[candidate], others, measure)
            for name, others in runs.items()
            if name != candidate
        ],
    )


def compared(
    name: str,
    own: dict[int, float | None],
    others: dict[int, float | None],
    measure: Measure,
) -> Against:
    """The candidate compared with a baseline, by pairs of runs with the same seed."""
    row = difference(paired(own, others))
    there = [value for value in others.values() if value is not None]
    return Against(
        baseline=name,
        mean=statistics.fmean(there) if there else None,
        mean_ci95=around(there),
        n=row["n"],
        difference=row["difference"],
        ci95=row["ci95"],
        relative=row["relative"],
        finding=word(row, higher_is_better=measure.higher_is_better),
    )


def sentences(found: Sequence[Finding]) -> list[str]:
    """One sentence for each baseline: the quantities that are better or worse, with the cases."""
    baselines = list(dict.fromkeys(row.baseline for one in found for row in one.against))
    return [sentence(baseline, found) for baseline in baselines]


def sentence(baseline: str, found: Sequence[Finding]) -> str:
    """The sentence for one baseline."""
    described: dict[Word, list[str]] = {"better": [], "worse": [], "undefined": []}
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
