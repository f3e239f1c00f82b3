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
from bentpipe.study.estimates import Difference, Estimate
from bentpipe.study.intervals import around, method
from bentpipe.study.pairs import defined
from bentpipe.study.ranking import Family, compared, family, moved_with, rest_of
from bentpipe.study.significance import is_deterministic
from bentpipe.study.statistics import percentile
from bentpipe.study.stopping import is_enough

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import polars as pl

    from bentpipe.study.plan import Study, Variant
    from bentpipe.study.quantities import Quantity

Values = dict[int, dict[int, float | None]]
"""Values of one quantity, by variant and replication."""

EVENTS = "events"
"""The column of rows with the numbers of events."""


def summarise(study: Study, rows: pl.DataFrame, complete: bool) -> dict[str, Any]:
    """The object that `bentpipe study --json` prints."""
    found = {quantity.name: values_of(rows, quantity.name) for quantity in study.quantities}
    names = list(study.bases)
    events = values_of(rows, EVENTS)
    numbers = (variant.number for variant in study.variants)
    fixed = deterministic(numbers, found, events)
    cells = [
        estimate(variant, quantity, number, found[quantity.name][variant.number], fixed)
        for variant in study.variants
        for number, quantity in enumerate(study.quantities)
    ]
    comparisons = differences(study, family(study, found, fixed))
    return {
        "study": study.name,
        "digest": study.description["digest"],
        "bentpipe": _native.version(),
        "scenario": study.variants[0].scenario.name if len(names) == 1 else ", ".join(names),
        "runs": rows.height,
        "complete": complete,
        "seeds_matter": seeds_matter(found | {"events": events}),
        "deterministic": sorted(fixed),
        "stopping": stopping(study, found, fixed),
        "cells": [asdict(cell) for cell in cells],
        "comparisons": [asdict(row) for row in comparisons],
    }


def seeds_matter(found: dict[str, Values]) -> bool | None:
    """True if any two runs of a variant differ; None if no variant has two runs with a value.

    If they do not differ, nothing depends on the seed, or nothing random happened. Then intervals
    have no meaning.
    """
    several = [
        runs
        for values in found.values()
        for runs in values.values()
        if len(runs) > 1 and defined(runs)
    ]
    return any(len(set(runs.values())) > 1 for runs in several) if several else None


def deterministic(numbers: Iterable[int], found: dict[str, Values], events: Values) -> set[int]:
    """Those of the variants with these numbers whose runs are all the same.

    They have values that are the same, and as many events. A download can be incomplete in all runs
    although each has lost other packets.
    """
    return {
        n
        for n in numbers
        if is_deterministic(values[n] for values in found.values())
        and is_deterministic([events[n]])
    }


def stopping(
    study: Study, found: dict[str, Values], fixed: Collection[int]
) -> dict[str, Any] | None:
    """The variants that sequential stopping ended before their interval was narrow enough."""
    plan = study.replications
    if plan.quantity is None:
        return None
    runs = found[plan.quantity]
    wide = [
        one.number
        for one in study.variants
        if not is_enough(study, one.number, runs[one.number], deterministic=one.number in fixed)
    ]
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
    values = defined(runs)
    is_fixed = variant.number in fixed
    domain = quantity.domain(variant.scenario)
    seed = quantity.seed(variant.number, number)
    return Estimate(
        variant=variant.number,
        parameters=variant.parameters,
        quantity=quantity.name,
        unit=quantity.unit,
        n=len(values),
        undefined=len(runs) - len(values),
        mean=statistics.fmean(values) if values else None,
        ci95=around(values, domain, deterministic=is_fixed, seed=seed),
        interval=method(values, domain, resampled=seed is not None),
        deterministic=is_fixed,
        median=percentile(values, 50) if values else None,
        percentiles={
            f"{percent:g}": percentile(values, percent) if values else None
            for percent in quantity.percentiles
        },
    )


def differences(study: Study, tests: Family) -> list[Difference]:
    """The differences of each value of a compared parameter from its baseline, other values equal.

    `tests` are those of the family of the study.
    """
    made = []
    for comparison in study.comparisons:
        parameter = next(p for p in study.parameters if p.label == comparison.parameter)
        moved = sorted(moved_with(study, parameter))
        for quantity in study.quantities:
            if comparison.quantities and quantity.name not in comparison.quantities:
                continue
            for this, that in compared(study, comparison):
                made.append(
                    Difference(
                        quantity=quantity.name,
                        unit=quantity.unit,
                        parameters=rest_of(study, parameter, this),
                        of={path: this.parameters[path] for path in moved},
                        against={path: that.parameters[path] for path in moved},
                        **tests[quantity.name, this.number, that.number],
                    )
                )
    return made
