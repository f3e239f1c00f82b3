"""A quantity as shown on a page: its label, and a suitable unit for its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import SCALES, missing_interval, scale, significant, with_interval
from bentpipe.report.page import Cell
from bentpipe.study.quantities import shown, unit_beside
from bentpipe.study.significance import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHARES = ("utilisation", "completed")
"""Quantities without a unit that are shares. They are shown in percent."""


def in_tables(name: str, unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """The size and name of the unit of a quantity in the tables of the terminal.

    Other values have the unit in which the largest has one to three digits.
    """
    try:
        factor, known = shown(name)
    except ValueError:
        return scale(unit, values) if unit in SCALES else (1.0, unit)
    return (1 / factor, known) if known != unit else (1.0, unit)


class Shown:
    """A quantity whose values are divided by `size` to be in `unit`."""

    def __init__(
        self, name: str, label: str, unit: str, values: Iterable[float | None] = ()
    ) -> None:
        self.name = name
        self.label = label
        if unit == "1" and name.rpartition(".")[2] in SHARES:
            self.size, self.unit = 0.01, "%"
        else:
            self.size, self.unit = in_tables(name, unit, values)

    @property
    def title(self) -> str:
        """The title of an axis, with the unit unless the label names it; (1) for plain numbers."""
        named = self.unit != "1" and not self.column_unit
        return self.label if named else f"{self.label} ({self.unit})"

    @property
    def column_unit(self) -> str:
        """The unit in the header of a table; empty if the label names it."""
        return unit_beside(self.label, self.unit)

    def text(self, value: float) -> str:
        """A value with its unit."""
        return f"{significant(value / self.size, 3)} {self.column_unit}".rstrip()

    def scaled(self, value: float | None) -> float | None:
        """A value in the unit."""
        return None if value is None else value / self.size

    def ends(self, interval: Iterable[float] | None) -> tuple[float | None, float | None]:
        """The ends of an interval in the unit."""
        if interval is None:
            return None, None
        low, high = interval
        return low / self.size, high / self.size

    def mean_cells(
        self, mean: float | None, ci95: Any, n: int = 0, *, deterministic: bool = False
    ) -> list[Cell]:
        """A mean of `n` values and its interval, with significant digits."""
        low, high = self.ends(ci95)
        value = self.scaled(mean)
        described, interval = with_interval(value, low, high)
        if ci95 is None:
            interval = missing_interval(n, deterministic=deterministic)
        return [Cell(described, value), Cell(interval, low)]

    def difference_cell(self, row: Mapping[str, Any] | None) -> Cell:
        """A paired difference with its finding, as in the tables of the terminal."""
        low = self.ends(row["ci95"])[0] if row else None
        return Cell(text(row, 1 / self.size), low)

    def number_cell(self, value: float | None) -> Cell:
        """A number in the unit."""
        scaled = self.scaled(value)
        return Cell(significant(scaled), scaled)
