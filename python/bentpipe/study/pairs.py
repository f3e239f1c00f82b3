"""Runs of two variants with the same seeds: their pairs, their test, and the order of a ranking."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bentpipe.study.domains import ANY
from bentpipe.study.significance import paired_test

if TYPE_CHECKING:
    from bentpipe.study.domains import Domain
    from bentpipe.study.significance import PairedTest

Runs = Mapping[int, float | None]
"""The values of one variant by replication; None where the quantity is undefined."""


def paired(these: Runs, those: Runs) -> list[tuple[float, float]]:
    """The values of replications in which both are defined."""
    pairs = []
    for replication in sorted(these.keys() & those.keys()):
        this, that = these[replication], those[replication]
        if this is not None and that is not None:
            pairs.append((this, that))
    return pairs


def compared_runs(
    these: Runs, those: Runs, *, deterministic: bool = False, domain: Domain = ANY
) -> PairedTest:
    """The test of two variants, with the numbers of runs in which each has no value."""
    test = paired_test(paired(these, those), deterministic=deterministic, domain=domain)
    lacks, lacks_against = (
        sum(runs[replication] is None for replication in these.keys() & those.keys())
        for runs in (these, those)
    )
    return replace(test, undefined=lacks, undefined_against=lacks_against)


def defined(runs: Runs) -> list[float]:
    """The values that are defined."""
    return [value for value in runs.values() if value is not None]


def undefined(runs: Runs) -> int:
    """The number of runs without a value."""
    return len(runs) - len(defined(runs))


def mean(runs: Runs) -> float | None:
    """The mean of the values that are defined; None without any."""
    values = defined(runs)
    return statistics.fmean(values) if values else None


def order_of(runs: Runs, *, higher_is_better: bool) -> tuple[int, float]:
    """The key that sorts a ranking: fewer undefined values first, then the better mean.

    A download that never completed has no completion time, and the mean over the other downloads
    would be too good.
    """
    at = mean(runs)
    return undefined(runs), float("inf") if at is None else -at if higher_is_better else at
