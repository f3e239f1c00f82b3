"""Plots of a reproduction: lines, bars and grids, and their figures in files and on pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe.plots import Figure
    from bentpipe.study.statistics import Mean


PublishedPoint = tuple[float | str, float, float]
"""A published value: its x, and both ends of its range, which are equal for a number."""


@dataclass(frozen=True)
class Plot:
    """Lines over a common x axis: name of the line -> its x and y values."""

    title: str
    x: str
    y: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    y_range: tuple[float, float] | None = None
    published: Mapping[str, Sequence[PublishedPoint]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bars:
    """Groups of bars: name of a bar's series -> its mean in each group, with its interval."""

    title: str
    x: str
    y: str
    bars: Mapping[str, Mapping[str, Mean]]
    published: Mapping[str, Sequence[PublishedPoint]] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """Coloured cells by row and column: a score from -1 (worse) to 1 (better), and a text."""

    title: str
    x: str
    y: str
    cells: Mapping[str, Mapping[str, tuple[float, str]]]
    notes: Sequence[str] = ()


def published_points(
    paper: str, ids: Mapping[str, Mapping[Any, str]], factor: float = 1.0
) -> dict[str, list[PublishedPoint]]:
    """The published values with these ids, by the line or bars and x that they belong to.

    `factor` is that from the unit of the paper to the one of the plot. `KeyError` for an id that
    the paper does not have, `ValueError` for one that is no number.
    """
    from importlib import resources

    from bentpipe.reproductions.published import read

    values = read(resources.files("bentpipe.reproductions") / paper / "published.toml").values
    found: dict[str, list[PublishedPoint]] = {}
    for name, places in ids.items():
        for x, identifier in places.items():
            value = values[identifier]
            if value.low is None or value.high is None:
                raise ValueError(f"{identifier}: expected a number, found words")
            found.setdefault(name, []).append((x, value.low * factor, value.high * factor))
    return found


AnyPlot = Plot | Bars | Grid


def as_data(plot: AnyPlot) -> dict[str, Any]:
    """All points of the plot, ready for JSON."""
    held: dict[str, Any] = {"title": plot.title, "x": plot.x, "y": plot.y}
    if not isinstance(plot, Grid) and plot.published:
        held["published"] = {name: [*map(list, found)] for name, found in plot.published.items()}
    if isinstance(plot, Plot):
        lines = {name: {"x": list(xs), "y": list(ys)} for name, (xs, ys) in plot.lines.items()}
        return held | {"kind": "lines", "y_range": plot.y_range, "lines": lines}
    if isinstance(plot, Grid):
        cells = {
            row: {x: list(cell) for x, cell in line.items()} for row, line in plot.cells.items()
        }
        return held | {"kind": "grid", "cells": cells, "notes": list(plot.notes)}
    bars = {
        name: {group: [mean.value, mean.ci95] for group, mean in means.items()}
        for name, means in plot.bars.items()
    }
    return held | {"kind": "bars", "bars": bars}


def figure(name: str, held: Mapping[str, Any]) -> Figure:
    """The figure of the data from `as_data`."""
    from bentpipe.plots import (
        Point,
        Tile,
        as_points,
        bar_figure,
        grid_figure,
        line_figure,
    )

    title, x, y = held["title"], held["x"], held["y"]
    if held["kind"] == "lines":
        lines = {label: (line["x"], line["y"]) for label, line in held["lines"].items()}
        return line_figure(
            name, title, x, y, as_points(lines), y_range=held["y_range"],
            published=held.get("published"),
        )  # fmt: skip
    if held["kind"] == "grid":
        tiles = [
            Tile(row, column, score, text)
            for row, line in held["cells"].items()
            for column, (score, text) in line.items()
        ]
        return grid_figure(name, title, x, y, tiles, held["notes"])
    points = [
        Point(label, group, mean, mean - (ci95 or 0), mean + (ci95 or 0))
        for label, groups in held["bars"].items()
        for group, (mean, ci95) in groups.items()
    ]
    return bar_figure(name, title, x, y, points, published=held.get("published"))


def save_plot(plot: AnyPlot, path: Path) -> None:
    """Write `path` as `.svg`, `.pdf` and `.png`, without network or browser."""
    from bentpipe.plots import save_figures

    save_figures([figure(path.name, as_data(plot))], path.parent)
