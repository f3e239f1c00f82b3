"""The first screen of a study: the answer, one figure, and the variants in order of rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, count
from bentpipe.plots import Point, Spot, interval_figure, tradeoff_figure, with_front
from bentpipe.report.axis import placed
from bentpipe.report.first import HOW_TO_READ, MOST_ROWS, lines_of, rest
from bentpipe.report.page import Cell, Column, First, Table
from bentpipe.study.quantities import better

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.plots import Figure
    from bentpipe.report.axis import Axis
    from bentpipe.report.study import Quantity
    from bentpipe.study.estimates import Estimate

TIMES = ("rtt_ms", "delay_ms", "response_s", "completion_s")
"""Ends of quantities on the x axis: latencies and page load times."""
MOST_PANELS = 8
"""Conditions with a panel of their own; more are drawn over the main quantity only."""

By = dict[int, "Estimate"]
"""The cells of a quantity by the number of their variant."""


def of_study(
    found: Mapping[str, Any],
    axes: Sequence[Axis],
    quantities: Sequence[Quantity],
    about: str,
) -> First | None:
    """The first screen; None for a study of an earlier release, which has no answer.

    A study without a latency to draw goodput against has its main quantity over the conditions.
    """
    answer = found.get("answer")
    if answer is None:
        return None
    lines = lines_of(answer) | {"On": about}
    main = next((one for one in quantities if one.name == answer["quantity"]), None)
    if main is None or not answer["conditions"]:
        return First(lines, None, None)
    best = set(answer["recommended"])
    drawn = tradeoff(answer, axes, quantities, best) or over_conditions(answer, axes, main, best)
    return First(lines, drawn, ranked(answer, axes, [main, *others(main, quantities)], best))


def others(main: Quantity, quantities: Sequence[Quantity]) -> list[Quantity]:
    """The other quantities that have a better direction, or the first one without."""
    rest = [one for one in quantities if one is not main]
    return [one for one in rest if better(one.name)][:2] or rest[:1]


def by_variant(quantity: Quantity) -> By:
    """The cells of a quantity by variant."""
    return {cell.variant: cell for cell in quantity.cells}


def tradeoff(
    answer: Mapping[str, Any],
    axes: Sequence[Axis],
    quantities: Sequence[Quantity],
    best: set[int],
) -> Figure | None:
    """A quantity of which more is better against a time; None if the study lacks one of them."""
    y = next((one for one in quantities if better(one.name) == "higher"), None)
    x = next((one for one in quantities if one.name.rstrip(")").endswith(TIMES)), None)
    conditions = answer["conditions"]
    if x is None or y is None or len(conditions) > MOST_PANELS:
        return None
    across, up = by_variant(x), by_variant(y)
    chosen = chosen_axes(answer, axes)
    spots = []
    for condition in conditions:
        for variant in condition["variants"]:
            one, other = across.get(variant), up.get(variant)
            if one is None or other is None or one.mean is None or other.mean is None:
                continue
            panel = rest_of(one, axes, chosen) if len(conditions) > 1 else None
            spots.append(
                Spot(
                    value_of(one, chosen),
                    one.mean / x.size,
                    other.mean / y.size,
                    *y.ends(other.ci95),
                    is_best=variant in best,
                    panel=panel,
                )
            )
    if not spots:
        return None
    ends = "Ringed: the recommended choice." if best else ""
    return tradeoff_figure(
        "answer",
        f"{y.label} against {x.label}",
        x.title,
        y.title,
        with_front(spots, higher_is_better=True),
        [f"{HOW_TO_READ} {ends}".rstrip()],
    )


def over_conditions(
    answer: Mapping[str, Any], axes: Sequence[Axis], quantity: Quantity, best: set[int]
) -> Figure:
    """The main quantity of each value over a parameter, in panels for all other parameters."""
    chosen = chosen_axes(answer, axes)
    rest = [axis for axis in axes if axis not in chosen and len(axis.values) > 1]
    x, apart = placed(rest) if rest else (chosen[0], [])
    x = x or chosen[0]
    points = []
    for cell in quantity.cells:
        if cell.mean is None:
            continue
        at = cell.parameters[x.path]
        low, high = quantity.ends(cell.ci95)
        points.append(
            Point(
                value_of(cell, chosen) if x is not chosen[0] else quantity.label,
                at if x.numeric else x.text(at),
                cell.mean / quantity.size, low, high, cell.n,
                ", ".join(axis.named(cell.parameters[axis.path]) for axis in apart) or None,
                is_best=cell.variant in best,
            )
        )  # fmt: skip
    panels = list(dict.fromkeys(point.panel for point in points))
    notes = ["Ringed: the recommended choice."] if best else []
    if len(panels) > MOST_PANELS:
        points = [point for point in points if point.panel in panels[:MOST_PANELS]]
        notes.append(f"The first {MOST_PANELS} of {len(panels)} conditions.")
    title = f"{quantity.label}: means with 95 % intervals"
    return interval_figure("answer", title, x.title, quantity.title, points, x.kind, notes=notes)


def chosen_axes(answer: Mapping[str, Any], axes: Sequence[Axis]) -> list[Axis]:
    """The chosen parameter, and those that change together with it."""
    # Studies of earlier releases name the first one only.
    paths = answer.get("parameters", [answer["parameter"]])
    return [next(axis for axis in axes if axis.path == path) for path in paths]


def label_of(chosen: Sequence[Axis]) -> str:
    """The labels of the chosen parameters."""
    first, *others = (axis.label for axis in chosen)
    return f"{first} with {' and '.join(others)}" if others else first


def value_of(cell: Estimate, chosen: Sequence[Axis]) -> str:
    """The values of the chosen parameters in words."""
    first, *others = chosen
    own = first.text(cell.parameters[first.path])
    texts = [axis.named(cell.parameters[axis.path]) for axis in others]
    return f"{own} with {' and '.join(texts)}" if texts else own


def rest_of(cell: Estimate, axes: Sequence[Axis], chosen: Sequence[Axis]) -> str:
    """The condition of a cell: the values of all other parameters."""
    rest = [axis for axis in axes if axis not in chosen and len(axis.values) > 1]
    return ", ".join(axis.named(cell.parameters[axis.path]) for axis in rest)


def ranked(
    answer: Mapping[str, Any],
    axes: Sequence[Axis],
    quantities: Sequence[Quantity],
    best: set[int],
) -> Table:
    """The variants in order of rank, condition by condition; of many only the first ranks."""
    main = quantities[0]
    conditions = answer["conditions"]
    chosen = chosen_axes(answer, axes)
    cells = [by_variant(quantity) for quantity in quantities]
    several = len(conditions) > 1
    has_undefined = any(cell.undefined for cell in cells[0].values())
    whole = sum(len(one["variants"]) for one in conditions)
    each = whole if whole <= MOST_ROWS else max(MOST_ROWS // len(conditions), 1)
    rows: list[list[Cell]] = []
    strong = []
    for condition in conditions:
        for number, variant in enumerate(condition["variants"][:each]):
            if len(rows) == MOST_ROWS or variant not in cells[0]:
                continue
            if variant in best:
                strong.append(len(rows))
            rank = "1" if number < condition["tied"] else f"{number + 1}"
            tied = "=" if rank == "1" and condition["tied"] > 1 else ""
            own = cells[0][variant]
            is_ranked = own.mean is not None
            rows.append([
                *([Cell(rest_of(own, axes, chosen))] if several else []),
                Cell(f"{rank}{tied}", number + 1) if is_ranked else Cell(NONE),
                Cell(value_of(own, chosen)),
                *main.mean_cells(
                    own.mean, own.ci95, own.n, deterministic=own.deterministic
                ),
                *([Cell(count(own.undefined), own.undefined)] if has_undefined else []),
                *(
                    quantity.number_cell(found[variant].mean if variant in found else None)
                    for quantity, found in zip(quantities[1:], cells[1:], strict=True)
                ),
            ])  # fmt: skip
    columns = [
        *([Column("condition", numeric=False)] if several else []),
        Column("rank"),
        Column(label_of(chosen), numeric=False),
        Column(main.label, main.column_unit),
        Column("95 % interval", main.column_unit),
        *([Column("undefined", "runs")] if has_undefined else []),
        *(Column(quantity.label, quantity.column_unit) for quantity in quantities[1:]),
    ]
    notes = " ".join(["= not significantly different from the best.", *rest(len(rows), whole)])
    caption = f"By {main.label}, best first. {notes}"
    return Table("rank", caption, columns, rows, strong=strong, is_short=True)
