"""Published values of a paper, read from `published.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


@dataclass(frozen=True)
class Tolerance:
    """Tolerated deviation: a fraction of the published value, and an amount in its unit."""

    relative: float = 0.0
    absolute: float = 0.0

    def around(self, value: float) -> float:
        """The tolerated deviation from `value`, in its unit."""
        return self.relative * abs(value) + self.absolute


@dataclass(frozen=True)
class Value:
    """One published value or range. `low` and `high` are equal for a value, None for words."""

    id: str
    quantity: str
    unit: str
    low: float | None
    high: float | None
    tolerance: Tolerance
    source: str
    not_comparable: str

    @property
    def printed(self) -> float | list[float] | None:
        """The value, the ends of the range, or None."""
        if self.low is None or self.high is None:
            return None
        return self.low if self.low == self.high else [self.low, self.high]


@dataclass(frozen=True)
class Publication:
    """A paper with all its published values, in the order of its file."""

    title: str
    authors: str
    values: dict[str, Value] = field(default_factory=dict)


def read(path: Traversable) -> Publication:
    """Read a `published.toml`; `ValueError` if it is invalid."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    publication = Publication(content["title"], content["authors"])
    for table in content["table"]:
        for value in values_of(table, content.get("labels", {})):
            if value.id in publication.values:
                raise ValueError(f"{value.id}: expected each value once, found it twice")
            publication.values[value.id] = value
    return publication


def values_of(table: dict[str, Any], labels: dict[str, str]) -> list[Value]:
    """The values of one `[[table]]`."""
    if ("tolerance" in table) == ("not_comparable" in table):
        raise ValueError(f"{table['id']} needs either a tolerance or the reason for having none")
    values = []
    for row, cells in table["rows"].items():
        for column, cell in zip(table["columns"], cells, strict=True):
            low, high = ends(cell)
            names = [table["quantity"], labels.get(row, row), labels.get(column, column)]
            values.append(
                Value(
                    id="/".join([table["id"], row, column]).replace(" ", "-"),
                    quantity=", ".join(names),
                    unit=table["unit"],
                    low=low,
                    high=high,
                    tolerance=Tolerance(**table.get("tolerance", {})),
                    source=table["source"],
                    not_comparable=table.get("not_comparable", ""),
                )
            )
    return values


def ends(cell: float | list[float] | str) -> tuple[float | None, float | None]:
    """Both ends of a value or a range; None for words."""
    if isinstance(cell, str):
        return None, None
    if isinstance(cell, list):
        low, high = cell
        return low, high
    return cell, cell
