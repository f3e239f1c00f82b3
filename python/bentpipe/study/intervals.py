"""The interval of a mean: the method that fits the values that a quantity can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.numbers import FEWEST
from bentpipe.study.domains import ANY
from bentpipe.study.statistics import (
    bootstrap,
    count_interval,
    is_binary,
    is_constant,
    log_interval,
    logit_interval,
    wilson_interval,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.study.domains import Domain


def method(values: Sequence[float], domain: Domain, *, resampled: bool = False) -> str:
    """The method of the interval of a mean: a key of `cite.methods.INTERVALS`.

    `resampled` asks for the bootstrap. Resamples of values that are all the same are the same, so
    counts and shares of successes have the interval of their kind then.
    """
    if resampled and not is_constant(values or [0.0]):
        return "bootstrap"
    if domain.counts:
        return "count"
    if domain.successes and is_binary(values):
        return "wilson"
    if resampled:
        return "bootstrap"
    return "logit" if domain.is_bounded else "student"


def around(
    values: Sequence[float],
    domain: Domain = ANY,
    *,
    deterministic: bool = False,
    seed: Sequence[int] | None = None,
) -> tuple[float, float] | None:
    """The 95 % interval of the mean, within the bounds of the quantity.

    None for fewer than three values, for those of a deterministic variant, and for values that are
    all the same and show no spread: only counts and shares of successes have an interval then. With
    a `seed` it is by the bootstrap.
    """
    if len(values) < FEWEST or deterministic:
        return None
    kind = method(values, domain, resampled=seed is not None)
    if kind == "count":
        return count_interval(values)
    if kind == "wilson":
        return wilson_interval(values)
    if is_constant(values):
        return None
    if kind == "bootstrap":
        return bootstrap(values, seed or ())
    if kind == "logit":
        return logit_interval(values, domain.low, domain.high)
    return log_interval(values)
