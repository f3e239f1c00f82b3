"""Bands of several seeds: lines with their ranges, and paired differences with significance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.lab import results
from bentpipe.lab.results import METRICS, SERIES, Metric, written
from bentpipe.lab.series import rounded
from bentpipe.study.significance import (
    CONSTANT,
    DETERMINISTIC,
    NOT_SIGNIFICANT,
    decided,
    finding_of,
    is_deterministic,
    paired_test,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POINTS = 150
"""Points of a line with a band."""

GOODPUT = METRICS[0]
PAIRED = "Below them are 95 % intervals of the paired differences from the first controller."
MARKS = {
    NOT_SIGNIFICANT: f"{NOT_SIGNIFICANT}: not significant, with Holm's correction for all"
    " differences of the table.",
    DETERMINISTIC: f"{DETERMINISTIC}: nothing in the runs of both controllers depends on the seed."
    " The difference is exact for these runs, and there is no test.",
    CONSTANT: f"{CONSTANT}: the difference is the same under all seeds.",
}
"""The marks of differences and their meanings."""

Found = dict[str, list[dict[str, Any]]]
"""The results of each controller, in the order of the seeds."""


def lines(found: Found) -> dict[str, Any]:
    """For each controller and figure the median and the range over seeds, on common times."""
    end_s = max(one["simulated_s"] for runs in found.values() for one in runs)
    t = np.linspace(0.0, end_s, POINTS)
    return {
        name: {"t": rounded(t), **{one.id: band(runs, one.id, t) for one in SERIES}}
        for name, runs in found.items()
    }


def band(runs: Sequence[Mapping[str, Any]], figure: str, t: Any) -> dict[str, Any]:
    """The median, lowest and highest value of runs at times; None where no run has a value."""
    values = np.array([at(one["series"]["t"], one["series"][figure], t) for one in runs])
    some = np.isfinite(values).any(axis=0)
    columns = {"mid": np.full(t.size, np.nan), "low": np.full(t.size, np.nan),
               "high": np.full(t.size, np.nan)}  # fmt: skip
    if some.any():
        known = values[:, some]
        columns["mid"][some] = np.nanmedian(known, axis=0)
        columns["low"][some] = np.nanmin(known, axis=0)
        columns["high"][some] = np.nanmax(known, axis=0)
    return {name: rounded(one) for name, one in columns.items()}


def at(times: Sequence[float], values: Sequence[float | None], t: Any) -> Any:
    """Values at times `t`, each the last one until then; none after the end of the run."""
    if not times:
        return np.full(t.size, np.nan)
    known = np.array([np.nan if one is None else one for one in values], dtype=float)
    place = np.searchsorted(np.array(times), t + 1e-9, side="right") - 1
    found = np.where(place >= 0, known[np.maximum(place, 0)], np.nan)
    step = t[1] - t[0]
    return np.where(t <= times[-1] + step, found, np.nan)


def table(found: Found, known: Sequence[Metric] = METRICS) -> dict[str, Any]:
    """Rows of means over controllers, with the paired differences from the first controller.

    All differences of the table are one family.
    """
    names = list(found)
    metrics = [one for one in known if all(complete(runs, one) for runs in found.values())]
    fixed = {
        name: is_deterministic(
            {n: run["totals"][one.id] for n, run in enumerate(runs)} for one in metrics
        )
        for name, runs in found.items()
    }
    tests = [
        paired_test(
            list(zip(values(found[name], one), values(found[names[0]], one), strict=True)),
            deterministic=fixed[name] and fixed[names[0]],
            domain=one.domain,
        )
        for one in metrics
        for name in names[1:]
    ]
    rows = iter(decided(tests))
    return {
        "columns": names,
        "rows": [
            {
                "label": one.label,
                "unit": one.unit,
                "cells": [
                    cell(one, values(found[name], one), None if name == names[0] else next(rows))
                    for name in names
                ],
            }
            for one in metrics
        ],
    }


def limits(found: Found) -> dict[str, Any]:
    """Shares of the time by limit, of each controller or of its legs: means over seeds."""
    return results.limits({
        name: {"limits": {leg: mean_shares([one["limits"][leg] for one in runs])
                          for leg in runs[0]["limits"]}}
        for name, runs in found.items()
    })  # fmt: skip


def mean_shares(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean share of each limit, over the runs that know it."""
    names = dict.fromkeys(name for one in runs for name in one)
    known = {name: [one[name] for one in runs if name in one] for name in names}
    return {name: sum(own) / len(own) for name, own in known.items()}


def summary(found: Found) -> str:
    """A sentence with the mean goodput of each controller, and what the figures show."""
    means = {
        name: {"totals": {"goodput": sum(values(runs, GOODPUT)) / len(runs)}}
        for name, runs in found.items()
    }
    seeds = len(next(iter(found.values())))
    return (
        f"Means over {seeds} seeds. {results.summary(means, list(means))} Lines are medians, and"
        " bands go from the lowest to the highest seed."
    )


def note(shown: Mapping[str, Any], seeds: int) -> str:
    """Sentences on the numbers of a table over seeds, and on the marks that are in it."""
    cells = [one.get("difference", "") for row in shown["rows"] for one in row["cells"]]
    is_compared = len(shown["columns"]) > 1
    return " ".join(
        [
            f"Means over {seeds} seeds.",
            *([PAIRED] if is_compared else []),
            *(words for mark, words in MARKS.items() if any(one.endswith(mark) for one in cells)),
        ]
    )


def values(runs: Sequence[Mapping[str, Any]], metric: Metric) -> list[float]:
    """The values of a metric in all runs."""
    return [run["totals"][metric.id] for run in runs]


def complete(runs: Sequence[Mapping[str, Any]], metric: Metric) -> bool:
    """True if every run has a value of a metric."""
    return all(run["totals"][metric.id] is not None for run in runs)


def cell(metric: Metric, found: Sequence[float], row: Mapping[str, Any] | None) -> dict[str, Any]:
    """A mean, and the interval of its difference from the first controller."""
    mean = sum(found) / len(found)
    shown: dict[str, Any] = {"text": written(metric, mean)}
    if row is None:
        return shown
    shown["difference"] = text(row)
    if finding_of(row) == "significant" and metric.better is not None:
        shown["is_better"] = metric.is_better(row["difference"])
    return shown
