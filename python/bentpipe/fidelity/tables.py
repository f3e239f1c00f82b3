"""The comparison as text tables, as Markdown and as JSON."""

from __future__ import annotations

import statistics
import tomllib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bentpipe.console import table
from bentpipe.numbers import NONE, count, decimals, plus_minus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from bentpipe.fidelity.experiment import Cell, Comparison, Experiment, Parameters, Runs
    from bentpipe.study.statistics import Mean

HEADINGS = (
    "variant", "simulator", "goodput kbit/s", "kernel kbit/s", "difference %", "FCT s", "kernel s",
    "retransmitted %", "kernel %", "cwnd distance %",
)  # fmt: skip

QUANTITIES = {"goodput_bps": 1e-3, "completion_s": 1.0, "resent": 100.0}


def text_table(cells: Sequence[Cell]) -> Table:
    """The comparison as a table for the terminal."""
    listed = table(HEADINGS[0], f"<{HEADINGS[1]}", *HEADINGS[2:])
    for row in rows(cells):
        listed.add_row(*row)
    return listed


def markdown(cells: Sequence[Cell]) -> str:
    """The comparison as a Markdown table."""
    lines = [HEADINGS, ("---", "---", *["---:"] * (len(HEADINGS) - 2)), *rows(cells)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    """One row for each variant and model."""
    return [
        _row(cell, comparison, first=number == 0)
        for cell in cells
        for number, comparison in enumerate(cell.comparisons)
    ]


def _row(cell: Cell, comparison: Comparison, *, first: bool) -> tuple[str, ...]:
    pairs = [
        _mean(runs.mean_of(name), scale)
        for name, scale in QUANTITIES.items()
        for runs in (comparison.runs, cell.kernel)
    ]
    name = short(cell.parameters) + (f" ({cell.invalid} invalid)" if cell.invalid else "")
    distance = comparison.cwnd_distance
    return (
        name if first else "",
        comparison.model,
        *pairs[:2],
        _mean(comparison.goodput_difference, sign=True),
        *pairs[2:],
        count(distance),
    )


def short(parameters: Parameters) -> str:
    """The values, with the last part of the path for numbers."""
    return ", ".join(_short(path, value) for path, value in parameters.items()) or "as written"


def _short(path: str, value: str) -> str:
    if value.startswith("{"):
        inline = tomllib.loads(f"value = {value}")["value"]
        return str(inline.get("name", value))
    plain = value.strip('"')
    return plain if plain[:1].isalpha() else f"{path.rsplit('.', 1)[-1]} {plain}"


def _mean(found: Mean | None, scale: float = 1.0, *, sign: bool = False) -> str:
    if found is None:
        return NONE
    half = None if found.ci95 is None else found.ci95 * scale
    return plus_minus(found.value * scale, half, sign=sign)


def summary(cells: Sequence[Cell]) -> list[str]:
    """One sentence for each model on the difference of its goodput from the kernel's."""
    return [
        f"{row['model']}: goodput differs by {decimals(row['median'], 1)} % in the median and by "
        f"{decimals(row['largest'], 1)} % at most ({row['where']}). "
        f"{row['within']} of {row['cells']} variants differ by at most 10 %."
        for row in totals(cells)
    ]


def totals(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """For each model the median and the largest absolute difference of goodput, in percent."""
    models: dict[str, dict[str, float]] = {}
    for cell in cells:
        for comparison in cell.comparisons:
            found = comparison.goodput_difference
            if found is not None:
                sizes = models.setdefault(comparison.model, {})
                sizes[short(cell.parameters)] = abs(found.value)
    return [
        {
            "model": model,
            "cells": len(sizes),
            "median": statistics.median(sizes.values()),
            "largest": max(sizes.values()),
            "where": max(sizes, key=lambda name: sizes[name]),
            "within": sum(size <= 10 for size in sizes.values()),
        }
        for model, sizes in models.items()
    ]


def to_dict(experiment: Experiment, scenario: str, cells: Sequence[Cell]) -> dict[str, Any]:
    """The object that `--json` prints; differences and distances in percent of the kernel."""
    return {
        "scenario": scenario,
        "seeds": list(experiment.seeds),
        "models": {name: list(sets) for name, sets in experiment.models.items()},
        "cells": [_cell(cell) for cell in cells],
        "summary": totals(cells),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    compared = [
        {
            "model": comparison.model,
            "simulator": _runs(comparison.runs),
            "goodput_difference": _pair(comparison.goodput_difference),
            "completion_difference": _pair(comparison.completion_difference),
            "cwnd_distance": comparison.cwnd_distance,
        }
        for comparison in cell.comparisons
    ]
    return {
        "parameters": cell.parameters,
        "invalid": cell.invalid,
        "kernel": _runs(cell.kernel),
        "models": compared,
    }


def _runs(runs: Runs) -> dict[str, Any]:
    names = {"resent": "retransmitted_share"}
    return {names.get(name, name): _pair(runs.mean_of(name)) for name in QUANTITIES}


def _pair(found: Mean | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    as_dict = asdict(found)
    return {"mean": as_dict["value"], "ci95": as_dict["ci95"]}
