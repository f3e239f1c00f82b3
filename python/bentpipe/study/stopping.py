"""Sequential stopping: whether a variant needs more replications."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from bentpipe.numbers import FEWEST
from bentpipe.study.intervals import around
from bentpipe.study.pairs import defined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.study.domains import Domain
    from bentpipe.study.plan import Study


def is_narrow(
    values: Sequence[float],
    relative: float,
    domain: Domain,
    *,
    deterministic: bool = False,
    seed: Sequence[int] | None = None,
) -> bool:
    """True if the larger half of the interval that tables show is at most this part of the mean.

    Values without an interval, because they are the same in all runs, need no more of them. Counts
    and shares of successes have one then: no timeout in ten runs does not show that there are none.
    """
    if len(values) < FEWEST:
        return False
    found = around(values, domain, deterministic=deterministic, seed=seed)
    if found is None:
        return True
    mean = statistics.fmean(values)
    return max(found[1] - mean, mean - found[0]) <= relative * abs(mean)


def is_enough(
    study: Study, variant: int, runs: Mapping[int, float | None], *, deterministic: bool
) -> bool:
    """True if the stopping rule of a study asks for no more replications of a variant.

    `runs` are the values of its quantity by replication.
    """
    plan = study.replications
    if plan.relative_half_width is None:
        return True
    number = next(n for n, one in enumerate(study.quantities) if one.name == plan.quantity)
    quantity = study.quantities[number]
    return is_narrow(
        defined(runs),
        plan.relative_half_width,
        quantity.domain(study.variants[variant].scenario),
        deterministic=deterministic,
        seed=quantity.seed(variant, number),
    )
