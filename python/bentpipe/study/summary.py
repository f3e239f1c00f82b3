"""Summary of the rows of a study: means with intervals, and paired differences.

The summary depends on the rows only, not on their order. `summary.json` of a study is the same,
byte for byte, for any number of workers.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.numbers import FEWEST
from bentpipe.study.estimates import Difference, Estimate
from bentpipe.study.significance import PairedTest, decided, is_deterministic, paired_test
from bentpipe.study.statistics import (
    bootstrap,
    count_interval,
    is_narrow,
    log_interval,
    percentile,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from bentpipe.study.parameters import Value
    from bentpipe.study.plan import Comparison, Study, Variant
    from bentpipe.study.quantities import Quantity

Values = dict[int, dict[int, float | None]]
"""Values of one quantity, by variant and replication."""


def summarise(study: Study, rows: pl.DataFrame, complete: bool) -> dict[str, Any]:
    """The object that `bentpipe study --json` prints."""
    found = {quantity.name: values_of(rows, quantity.name) for quantity in study.quantities}
    names = list(study.bases)
    fixed = deterministic(study, found)
    cells = [
        estimate(variant, quantity, number, found[quantity.name][variant.number], fixed)
        for variant in study.variants
        for number, quantity in enumerate(study.quantities)
    ]
    pairs = [
        one
        for comparison in study.comparisons
        for quantity in study.quantities
        if not comparison.quantities or quantity.name in comparison.quantities
        for one in compared(study, comparison, quantity, found[quantity.name], fixed)
    ]
    rows_of = decided(one for _, one in pairs)
    comparisons = [
        Difference(**about, **row) for (about, _), row in zip(pairs, rows_of, strict=True)
    ]
    return {
        "study": study.name,
        "digest": study.description["digest"],
        "bentpipe": _native.version(),
        "scenario": study.variants[0].scenario.name if len(names) == 1 else ", ".join(names),
        "runs": rows.height,
        "complete": complete,
        "seeds_matter": seeds_matter(found),
        "deterministic": sorted(fixed),
        "stopping": stopping(study, found),
        "cells": [asdict(cell) for cell in cells],
        "comparisons": [asdict(row) for row in comparisons],
    }


def seeds_matter(found: dict[str, Values]) -> bool | None:
    """True if any two runs of a variant differ; None if each variant has one run.

    If they do not differ, nothing in the scenario is random, and intervals have no meaning.
    """
    several = [runs for values in found.values() for runs in values.values() if len(runs) > 1]
    return any(len(set(runs.values())) > 1 for runs in several) if several else None


def deterministic(study: Study, found: dict[str, Values]) -> set[int]:
    """The numbers of the variants whose runs are all the same."""
    numbers = (variant.number for variant in study.variants)
    return {n for n in numbers if is_deterministic(values[n] for values in found.values())}


def stopping(study: Study, found: dict[str, Values]) -> dict[str, Any] | None:
    """The variants that sequential stopping ended before their interval was narrow enough."""
    plan = study.replications
    if plan.quantity is None or plan.relative_half_width is None:
        return None
    wide = []
    for variant in study.variants:
        runs = found[plan.quantity][variant.number].values()
        values = [value for value in runs if value is not None]
        if not is_narrow(values, plan.relative_half_width):
            wide.append(variant.number)
    return {
        "quantity": plan.quantity,
        "relative_half_width": plan.relative_half_width,
        "wide": wide,
    }


def values_of(rows: pl.DataFrame, name: str) -> Values:
    """The values of a quantity, in the order of the runs."""
    found: Values = defaultdict(dict)
    columns = rows.select("variant", "replication", name)
    for variant, replication, value in columns.iter_rows():
        found[variant][replication] = value
    return found


def estimate(
    variant: Variant,
    quantity: Quantity,
    number: int,
    runs: dict[int, float | None],
    fixed: Collection[int],
) -> Estimate:
    """Mean, interval and percentiles of a quantity in one variant; `fixed` are deterministic."""
    values = [value for value in runs.values() if value is not None]
    is_fixed = variant.number in fixed
    ci95 = around(values, counts=quantity.is_count, deterministic=is_fixed)
    if quantity.interval == "bootstrap" and ci95 is not None:
        # A fixed seed, so that the interval is reproducible.
        ci95 = bootstrap(values, (variant.number, number))
    return Estimate(
        variant=variant.number,
        parameters=variant.parameters,
        quantity=quantity.name,
        unit=quantity.unit,
        n=len(values),
        undefined=len(runs) - len(values),
        mean=statistics.fmean(values) if values else None,
        ci95=ci95,
        interval=quantity.kind_of_interval,
        deterministic=is_fixed,
        median=percentile(values, 50) if values else None,
        percentiles={
            f"{percent:g}": percentile(values, percent) if values else None
            for percent in quantity.percentiles
        },
    )


def around(
    values: list[float], *, counts: bool = False, deterministic: bool = False
) -> tuple[float, float] | None:
    """The 95 % interval of the mean; None for fewer than three values, and for constant ones.

    Counts that are the same in all runs have one, unless the variant is deterministic.
    """
    if len(values) < FEWEST or deterministic:
        return None
    if counts:
        return count_interval(values)
    return None if min(values) == max(values) else log_interval(values)


def compared(
    study: Study,
    comparison: Comparison,
    quantity: Quantity,
    found: Values,
    fixed: Collection[int],
) -> list[tuple[dict[str, Any], PairedTest]]:
    """The differences of each value of the parameter from the baseline, other values equal.

    Each has the fields of `Difference` that say what is compared, and its test.
    """
    parameter = next(p for p in study.parameters if p.label == comparison.parameter)
    baseline = parameter.plain[parameter.values.index(comparison.baseline)]
    together = next((group for group in study.zips if parameter.label in group), (parameter.label,))
    moved = {p.path for p in study.parameters if p.label in together}

    def rest(variant: Variant) -> dict[str, Value]:
        return {path: v for path, v in variant.parameters.items() if path not in moved}

    def is_baseline(variant: Variant) -> bool:
        return repr(variant.parameters[parameter.path]) == repr(baseline)

    against = {repr(rest(v)): v for v in study.variants if is_baseline(v)}
    rows = []
    for variant in study.variants:
        if is_baseline(variant):
            continue
        other = against[repr(rest(variant))]
        pairs = paired(found[variant.number], found[other.number])
        about = {
            "quantity": quantity.name,
            "unit": quantity.unit,
            "parameters": rest(variant),
            "of": {path: variant.parameters[path] for path in sorted(moved)},
            "against": {path: other.parameters[path] for path in sorted(moved)},
        }
        both_fixed = variant.number in fixed and other.number in fixed
        tested = paired_test(pairs, deterministic=both_fixed, counts=quantity.is_count)
        rows.append((about, tested))
    return rows


def paired(
    these: dict[int, float | None], those: dict[int, float | None]
) -> list[tuple[float, float]]:
    """The values of replications in which both are defined."""
    pairs = []
    for replication in sorted(these.keys() & those.keys()):
        this, that = these[replication], those[replication]
        if this is not None and that is not None:
            pairs.append((this, that))
    return pairs
