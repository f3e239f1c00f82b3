"""The page of a study: means with intervals over the parameters, and significant differences."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bentpipe.errors import BentpipeError
from bentpipe.numbers import count, percent, plain, typeset
from bentpipe.plots import Point, interval_figure
from bentpipe.plots.theme import PALETTE
from bentpipe.report import queues, study_first
from bentpipe.report.axis import Axis, is_number, placed
from bentpipe.report.page import Cell, Column, Details, Page, Section, Table, Text
from bentpipe.report.scenarios import explained, scenario_section
from bentpipe.report.shown import Shown
from bentpipe.report.source import read_json, read_text
from bentpipe.study.estimates import Difference, Estimate
from bentpipe.study.quantities import heading
from bentpipe.study.significance import LEFT_OUT, deterministic_sentence, of_pairs, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bentpipe.plots import Figure
    from bentpipe.plots.marks import XKind

    Rows = Sequence[Estimate] | Sequence[Difference]

FEW = 6
"""Up to this number, the summary lists comparisons one by one."""

MOST_PANELS = 12


def study_page(folder: Path) -> Page:
    """The page of a folder of `bentpipe study --out`."""
    plan = read_json(folder / "study.json", "bentpipe", "title", "parameters", "quantities")
    if not (folder / "summary.json").exists():
        raise BentpipeError(
            f"{folder} has no results yet: summary.json is missing; the same `bentpipe study` "
            "command with --out continues the study and writes it"
        )
    keys = ("scenario", "runs", "complete", "cells", "comparisons")
    found = read_json(folder / "summary.json", *keys)
    if found.get("digest", plan.get("digest")) != plan.get("digest"):
        raise BentpipeError(f"{folder / 'summary.json'}: expected the summary of this study, found"
                            " that of another; the same study command writes it again")  # fmt: skip
    axes = [axis_of(folder, row) for row in plan["parameters"]]
    quantities = [Quantity(row, found) for row in plan["quantities"]]
    sections = [section(number, quantity, axes) for number, quantity in enumerate(quantities)]
    sections.append(made_by(folder, plan))
    return Page(
        title=plan["title"],
        subtitle=f"A study of {count(found['runs'])} runs of {found['scenario']}",
        version=plan["bentpipe"],
        summary=summary(found, axes, quantities),
        sections=sections,
        warnings=study_warnings(found, quantities, axes),
        first=study_first.of_study(found, axes, quantities, varied_sentence(found, axes)),
        things=[axis.text(value) for axis in axes if not axis.numeric for value in axis.values],
    )


# ---------------------------------------------------------------------------- what was measured


def axis_of(folder: Path, row: dict[str, Any]) -> Axis:
    """A parameter of the plan; queues with their sizes, if these are known."""
    values = row["values"]
    words = {}
    if row["path"].endswith(queues.PATH):
        sizes = queues.of_study(folder)
        found = dict(zip(map(str, values), map(queues.size, sizes), strict=False))
        words = {value: size for value, size in found.items() if size}
    return Axis(row["path"], row["label"], row["unit"], values, words)


class Quantity(Shown):
    """A quantity with its cells and comparisons, in a suitable unit."""

    def __init__(self, row: dict[str, Any], found: dict[str, Any]) -> None:
        name = row["name"]
        self.cells = [Estimate.read(c) for c in found["cells"] if c["quantity"] == name]
        self.comparisons = [
            Difference.read(c) for c in found["comparisons"] if c["quantity"] == name
        ]
        means = [cell.mean for cell in self.cells]
        label = row["label"] if row["label"] not in (None, "", name) else heading(name)
        super().__init__(name, label, row["unit"], means)


# ------------------------------------------------------------------------------------- summary


def summary(
    found: dict[str, Any], axes: Sequence[Axis], quantities: Sequence[Quantity]
) -> list[str]:
    """The parameters and the results, in sentences."""
    lines = [varied_sentence(found, axes)]
    lines += [line for line in (range_sentence(q, axes) for q in quantities) if line]
    lines += comparison_sentences(quantities, axes)
    return lines


def varied_sentence(found: dict[str, Any], axes: Sequence[Axis]) -> str:
    """A sentence on the parameters and their values."""
    if not axes:
        return f"The scenario {found['scenario']} ran {count(found['runs'])} times."
    over = "; ".join(f"{axis.label} over {values_described(axis)}" for axis in axes)
    met = "" if found.get("seeds_matter") is False else " All variants ran with the same seeds."
    return f"The scenario {found['scenario']} ran {count(found['runs'])} times, with {over}.{met}"


def values_described(axis: Axis) -> str:
    """The values, or their number and range if they are many numbers."""
    unit = f" {axis.unit}" if axis.unit else ""
    if axis.numeric and len(axis.values) > FEW:
        first, last = plain(axis.values[0]), plain(axis.values[-1])
        return f"{len(axis.values)} values from {first} to {last}{unit}"
    values = (plain(v) if is_number(v) else typeset(str(v)) for v in axis.values)
    return ", ".join(values) + unit


def range_sentence(quantity: Quantity, axes: Sequence[Axis]) -> str:
    """A sentence on the lowest and the highest mean of a quantity."""
    known = [(cell.mean, cell) for cell in quantity.cells if cell.mean is not None]
    if not known:
        return ""
    low, high = (end(known, key=lambda one: one[0]) for end in (min, max))
    if low is high:
        return f"{quantity.label}: {quantity.text(low[0])} on average."
    ends = (f"{quantity.text(at)} ({where(c.parameters, axes)})" for at, c in (low, high))
    return f"{quantity.label}: from {' to '.join(ends)}."


def comparison_sentences(quantities: Sequence[Quantity], axes: Sequence[Axis]) -> list[str]:
    """Sentences on the number of significant differences, and on each if they are few."""
    pairs = [(quantity, row) for quantity in quantities for row in quantity.comparisons]
    if not pairs:
        return []
    sure = sum(row.distinct for _, row in pairs)
    exact = sum(row.words == "deterministic" for _, row in pairs)
    tested = sum(row.words in ("significant", "not significant") for _, row in pairs)
    lines = []
    if tested:
        lines.append(
            f"{count(sure)} of {count(tested)} differences between variants are significant. "
            f"{rule('the study', pairs[0][1].family)}"
        )
    if exact:
        lines.append(
            f"{count(exact)} differences are between deterministic variants: they are exact, and "
            "no test applies."
        )
    if len(pairs) <= FEW:
        lines += [difference_sentence(quantity, row, axes) for quantity, row in pairs]
    return lines


def difference_sentence(quantity: Quantity, row: Difference, axes: Sequence[Axis]) -> str:
    """One difference in words."""
    rest = where(row.parameters, axes)
    place = f", {rest}" if row.parameters else ""
    pair = f"{where(row.of, axes)} compared with {where(row.against, axes)}{place}"
    if row.difference is None:
        return f"{quantity.label}, {pair}: no pair of runs to compare."
    by = "" if row.relative is None else f" ({percent(row.relative)} %)"
    of = of_pairs(vars(row))
    return f"{quantity.label}, {pair}: {quantity.text(row.difference)}{by}, {row.words}{of}."


def where(parameters: dict[str, Any], axes: Sequence[Axis]) -> str:
    """Values of parameters in words."""
    described = [axis.text(parameters[axis.path]) for axis in axes if axis.path in parameters]
    return ", ".join(described)


def deterministic(quantities: Sequence[Quantity], axes: Sequence[Axis]) -> tuple[list[str], int]:
    """The deterministic variants in words, and the number of all variants."""
    cells = {cell.variant: cell for quantity in quantities for cell in quantity.cells}
    fixed = [where(cell.parameters, axes) for cell in cells.values() if cell.deterministic]
    return fixed, len(cells)


def study_warnings(
    found: dict[str, Any], quantities: Sequence[Quantity], axes: Sequence[Axis]
) -> list[str]:
    """Warnings that affect the interpretation of the numbers."""
    warnings = []
    if not found["complete"]:
        warnings.append("The study was interrupted. The page shows the runs until then.")
    if described := deterministic_sentence(*deterministic(quantities, axes)):
        warnings.append(described)
    stopping = found.get("stopping")
    if found["complete"] and stopping and stopping["wide"]:
        warnings.append(
            f"{count(len(stopping['wide']))} variants reached the maximum or the budget before the "
            f"95 % interval of {stopping['quantity']} was as narrow as required, "
            f"{percent(stopping['relative_half_width'])} % of the mean to either side."
        )
    for quantity in quantities:
        undefined = sum(cell.undefined for cell in quantity.cells)
        if undefined:
            warnings.append(
                f"{quantity.label} is undefined in {count(undefined)} runs, for example because a "
                "download did not complete. Means are over the other runs."
            )
    if any(of_pairs(vars(row)) for quantity in quantities for row in quantity.comparisons):
        warnings.append(LEFT_OUT)
    return warnings


# -------------------------------------------------------------------------- figures and tables


def section(number: int, quantity: Quantity, axes: Sequence[Axis]) -> Section:
    """A quantity over the parameters."""
    name = f"quantity-{number}"
    blocks: list[Text | Table | Details | Figure] = [
        *cells_figures(name, quantity, axes),
        cells_table(name, quantity, axes),
    ]
    if quantity.comparisons:
        blocks += [
            differences_figure(name, quantity, axes),
            differences_table(name, quantity, axes),
        ]
    return Section(name, quantity.label, blocks)


def outer(axes: Sequence[Axis], compared: set[str]) -> list[Axis]:
    """The parameters with a figure for each of their values, so that series stay readable.

    Values that are compared are in the same figure if possible.
    """
    _, others = placed(axes)
    apart: list[Axis] = []
    others = [axis for axis in others if len(axis.values) > 1]
    by_size = sorted(others, key=lambda axis: (axis.path in compared, len(axis.values)))
    while len(others) > 1 and math.prod(len(axis.values) for axis in others) > len(PALETTE):
        apart.append(by_size.pop(0))
        others = [axis for axis in others if axis is not apart[-1]]
    return apart


def cells_figures(name: str, quantity: Quantity, axes: Sequence[Axis]) -> list[Figure]:
    """Means with intervals: one figure, or one for each combination of `outer` values."""
    apart = outer(axes, {path for row in quantity.comparisons for path in row.of})
    inner = [axis for axis in axes if axis not in apart]
    groups: dict[str, list[Estimate]] = {}
    for cell in quantity.cells:
        groups.setdefault(where(cell.parameters, apart), []).append(cell)
    kept = list(groups.items())[:MOST_PANELS]
    ends = common_ends(quantity) if len(groups) > 1 else None
    figures = [
        cells_figure(
            f"{name}-{number}" if place else name, quantity, cells, inner, place, ends=ends
        )
        for number, (place, cells) in enumerate(kept)
    ]
    if len(groups) > MOST_PANELS:
        note = f"The first {MOST_PANELS} of {len(groups)} combinations are drawn."
        figures[-1] = replace(figures[-1], notes=(*figures[-1].notes, note))
    return figures


def common_ends(quantity: Quantity) -> tuple[float, float] | None:
    """The ends of the y axis that figures of one quantity share, so that they can be compared."""
    values = [
        end / quantity.size
        for cell in quantity.cells
        if cell.mean is not None
        for end in (cell.mean, *(cell.ci95 or ()))
    ]
    return (min(values), max(values)) if values and min(values) < max(values) else None


def points(
    quantity: Quantity,
    rows: Rows,
    axes: Sequence[Axis],
    series_of: Callable[..., str],
) -> tuple[list[Point], str, XKind]:
    """The points of a figure, with the title and the kind of its x axis."""
    x, others = placed(axes)
    made = []
    for row in rows:
        if row.value is None:
            continue
        low, high = quantity.ends(row.ci95)
        at = row.parameters[x.path] if x else ""
        at = at if x and x.numeric else str(at)
        series = series_of(row, others)
        made.append(Point(series, at, row.value / quantity.size, low, high, row.n))
    return made, x.title if x else "", x.kind if x else "nominal"


def cells_figure(
    name: str,
    quantity: Quantity,
    cells: Sequence[Estimate],
    axes: Sequence[Axis],
    place: str,
    ends: tuple[float, float] | None = None,
) -> Figure:
    """Means with intervals. `place` names the values that all of them share.

    The y axis has these `ends`.
    """

    def series(row: Estimate, others: Sequence[Axis]) -> str:
        return where(row.parameters, others) or quantity.label

    drawn, x, kind = points(quantity, cells, axes, series)
    title = f"{quantity.label}{', ' if place else ''}{place}: means with 95 % intervals"
    return interval_figure(f"{name}-means", title, x, quantity.title, drawn, kind, y_ends=ends)


def differences_figure(name: str, quantity: Quantity, axes: Sequence[Axis]) -> Figure:
    """Paired differences with intervals, and the zero line."""
    compared = {path for row in quantity.comparisons for path in row.of}
    rest = [axis for axis in axes if axis.path not in compared]

    def series(row: Difference, others: Sequence[Axis]) -> str:
        pair = f"{where(row.of, axes)} minus {where(row.against, axes)}"
        return ", ".join(filter(None, [pair, where(row.parameters, others)]))

    drawn, x, kind = points(quantity, quantity.comparisons, rest, series)
    title = f"{quantity.label}: paired differences with 95 % intervals"
    y = f"difference of {quantity.title}"
    return interval_figure(f"{name}-differences", title, x, y, drawn, kind, zero=True)


METHODS = {
    "student": "Student",
    "logit": "Student on the logit scale",
    "wilson": "Wilson",
    "bootstrap": "the bootstrap",
    "count": "the score of counts",
}
"""Kinds of intervals in words."""


def cells_table(name: str, quantity: Quantity, axes: Sequence[Axis]) -> Table:
    """The table of means."""
    unit = quantity.column_unit
    asked = sorted({key for cell in quantity.cells for key in cell.percentiles}, key=float)
    columns = [
        *parameter_columns(axes),
        Column("mean", unit),
        Column("95 % interval", unit),
        Column("median", unit),
        *(Column(f"percentile {key}", unit) for key in asked),
        Column("runs"),
    ]
    rows = [
        [
            *parameter_cells(cell.parameters, axes),
            *quantity.mean_cells(cell.mean, cell.ci95, cell.n, deterministic=cell.deterministic),
            quantity.number_cell(cell.median),
            *(quantity.number_cell(cell.percentiles.get(key)) for key in asked),
            Cell(count(cell.n), cell.n),
        ]
        for cell in quantity.cells
    ]
    kinds = sorted({cell.interval for cell in quantity.cells})
    methods = " and ".join(METHODS.get(kind, kind) for kind in kinds)
    caption = f"{quantity.label}: means; intervals by {methods}"
    return Table(f"{name}-cells", caption, columns, rows)


def differences_table(name: str, quantity: Quantity, axes: Sequence[Axis]) -> Table:
    """The table of paired differences."""
    compared = {path for row in quantity.comparisons for path in row.of}
    rest = [axis for axis in axes if axis.path not in compared]
    unit = quantity.column_unit
    columns = [
        Column("compared", numeric=False),
        *parameter_columns(rest),
        Column("difference", unit),
        Column("95 % interval", unit),
        Column("relative", "%"),
        Column("pairs"),
        Column("finding", numeric=False, choices=True),
    ]
    rows = [
        [
            Cell(f"{where(row.of, axes)} minus {where(row.against, axes)}"),
            *parameter_cells(row.parameters, rest),
            *quantity.mean_cells(row.difference, row.ci95, row.n, deterministic=row.deterministic),
            Cell(percent(row.relative), row.relative),
            Cell(count(row.n), row.n),
            Cell(f"{row.words}{of_pairs(vars(row))}"),
        ]
        for row in quantity.comparisons
    ]
    caption = f"{quantity.label}: paired differences (same seed)"
    return Table(f"{name}-differences-table", caption, columns, rows)


def parameter_columns(axes: Sequence[Axis]) -> list[Column]:
    """A column for each parameter."""
    return [
        Column(axis.label, axis.unit or "", numeric=axis.numeric, choices=not axis.numeric)
        for axis in axes
    ]


def parameter_cells(parameters: dict[str, Any], axes: Sequence[Axis]) -> list[Cell]:
    """The values of parameters."""
    values = [parameters[axis.path] for axis in axes]
    return [Cell(plain(v), v) if is_number(v) else Cell(str(v)) for v in values]


def made_by(folder: Path, plan: dict[str, Any]) -> Section:
    """The study file, the scenario, the version and the command."""
    study, scenario = folder / "study.toml", folder / "scenario.toml"
    command = ["bentpipe", "study", "study.toml", "--out", "DIR"]
    made = scenario_section(scenario, plan["bentpipe"], command, explained(scenario))
    text = read_text(study)
    if not text:
        # A program made the study, so there is no file to run.
        kept = [block for block in made.blocks if getattr(block, "title", "") != "Command"]
        return Section(made.name, made.title, kept[1:])
    return Section(
        made.name,
        made.title,
        [*made.blocks[:2], Details("Study", text, copy=True), *made.blocks[2:]],
    )
