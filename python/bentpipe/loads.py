"""Loads of pages: the parts of their critical path, in words for tables and pages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bentpipe.limits import held_back_by
from bentpipe.numbers import decimals

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

PARTS = {
    "round_trip_s": "requests",
    "transfer_s": "transfer",
    "connect_s": "connections",
    "tls_s": "TLS",
    "dns_s": "DNS",
    "queue_s": "waiting for a connection",
    "server_s": "servers",
    "compute_s": "computing",
    "delay_s": "delays of the page",
}
"""Columns of `page_loads` with the parts of the critical path, and the parts in words."""

HEADINGS = ("<flow", "loads", "load s", "byte index s", "round trips", "<critical path")
"""Columns of the table of flows with pages."""


def by_flow(loads: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The complete loads of each flow with pages, in the order of the flows."""
    for (flow,), rows in loads.group_by("flow", maintain_order=True):
        yield str(flow), rows.filter(rows["load_s"].is_not_nan() & rows["load_s"].is_not_null())


def critical_path(loads: pl.DataFrame) -> str:
    """The shares of the parts of complete loads, the largest first."""
    whole = math.fsum(loads["load_s"])
    if not whole:
        return held_back_by({})
    shares = {words: math.fsum(loads[column]) / whole for column, words in PARTS.items()}
    return held_back_by(dict(sorted(shares.items(), key=lambda item: -item[1])))


def median(values: pl.Series) -> Any:
    """The median of a column; None without rows."""
    return values.median() if len(values) else None


def rows(loads: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    """A row for each flow with pages: medians over its complete loads."""
    for flow, complete in by_flow(loads):
        every = loads.filter(loads["flow"] == flow).height
        count = str(every) if complete.height == every else f"{complete.height} of {every}"
        yield (
            flow,
            count,
            decimals(median(complete["load_s"]), 2),
            decimals(median(complete["byte_index_s"]), 2),
            decimals(median(complete["round_trips"]), 0),
            critical_path(complete),
        )
