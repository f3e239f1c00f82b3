"""Quantities: the results of a run that a study keeps, by readable names.

flow.goodput_bps                 mean over all flows
flow.download.completion_s       of the flow `download`, and its copies if it has a `count`
p95(page.response_s)             95th percentile over all completed pages
link.gateway-client.forward.utilisation
jain(flow.web-*.goodput_bps)     `*` stands for anything
jain_index                       of all flows
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from bentpipe import _native
from bentpipe.console import nearest

TABLES = {"flow": "flows", "link": "links", "page": "pages", "object": "objects"}
DIRECTIONS = ("forward", "backward", "forwarding")
AGGREGATES = ("mean", "sum", "min", "max", "median", "jain", "p5", "p95")
CALL = re.compile(r"\s*(\w[\w.]*)\s*\((.*)\)\s*")
PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")

UNITS = {"s": "s", "ms": "ms", "bps": "bit/s", "bytes": "B", "packets": "packets"}
WHOLE_NAMES = {
    "bytes": "B",
    "segments_sent": "segments",
    "segments_retransmitted": "segments",
    "timeouts": "timeouts",
    "fast_recoveries": "recoveries",
}

Interval = Literal["student", "bootstrap"]


@dataclass(frozen=True)
class Taken:
    """The parts of a quantity's name: where to find its value."""

    table: str
    column: str
    name: str | None = None
    direction: str | None = None
    aggregate: str = "mean"

    def native(self) -> _native.Quantity:
        """The same for the engine."""
        return _native.Quantity(
            self.table,
            self.column,
            name=self.name,
            direction=self.direction,
            aggregate=self.aggregate,
        )


@dataclass(frozen=True)
class Quantity:
    """A quantity with its label, percentiles and kind of interval.

    `ValueError` if there is no quantity of that name.
    """

    name: str
    label: str = ""
    percentiles: tuple[float, ...] = ()
    interval: Interval = "student"

    def __post_init__(self) -> None:
        parse(self.name)
        if self.interval not in get_args(Interval):
            raise ValueError(f"interval: expected student or bootstrap, found {self.interval!r}")
        asked: tuple[object, ...] = self.percentiles
        for percent in asked:
            if not isinstance(percent, int | float) or not 0 <= percent <= 100:
                raise ValueError(f"percentiles: expected numbers from 0 to 100, found {percent!r}")

    @property
    def taken(self) -> Taken:
        """The parts of the name."""
        return parse(self.name)

    @property
    def unit(self) -> str:
        """The unit at the end of the name; "1" for shares and indices."""
        taken = self.taken
        if taken.aggregate == "jain":
            return "1"
        by_suffix = UNITS.get(taken.column.rpartition("_")[2], "1")
        return WHOLE_NAMES.get(taken.column, by_suffix)


def parse(text: str) -> Taken:
    """The parts of a quantity's name; `ValueError` with the nearest valid name."""
    call = CALL.fullmatch(text)
    aggregate, inner = (call[1], call[2].strip()) if call else ("mean", text.strip())
    percentile = PERCENTILE.fullmatch(aggregate)
    known = aggregate in AGGREGATES or (percentile and float(percentile[1]) <= 100)
    if not known:
        hint = nearest(aggregate, AGGREGATES)
        raise ValueError(
            f"expected a quantity, found {text!r}: nothing is called {aggregate}{hint}"
        )
    columns = _native.number_columns()
    table, *rest = inner.split(".")
    if not rest:
        if table in columns["run"] and not call:
            return Taken("run", table)
        names = columns["run"] + [f"flow.{column}" for column in columns["flows"]]
        raise ValueError(f"expected a quantity, found {text!r}{nearest(table, names)}")
    if table not in TABLES:
        hint = nearest(table, TABLES)
        raise ValueError(f"expected a quantity, found {text!r}: no table {table!r}{hint}")
    *middle, column = rest
    if column not in columns[TABLES[table]]:
        hint = nearest(column, columns[TABLES[table]])
        raise ValueError(f"expected a quantity, found {text!r}: no column {column!r}{hint}")
    direction = middle.pop() if table == "link" and middle and middle[-1] in DIRECTIONS else None
    return Taken(TABLES[table], column, ".".join(middle) or None, direction, aggregate)
