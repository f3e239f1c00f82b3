"""The table of a run's page with what held the flows back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bentpipe.limits import LIMITS, is_measured, shares_of
from bentpipe.numbers import percent, significant
from bentpipe.report.page import Cell, Column, Table, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe._native import Flow

ABOUT = (
    "The time of a flow is that of its set-up, and from the first written to the last acknowledged "
    "byte, over all its connections. Each instant belongs to one limit."
)
ABOUT_KERNEL = (
    "The kernel measures the time with data to send or to be acknowledged, and how much of it the "
    "receive window and the send buffer limited."
)


def limit_blocks(
    flows: Sequence[Flow],
    on_kernel: bool,
    legs: Mapping[str, Callable[[str], float | None]] | None = None,
) -> list[Text | Table]:
    """The time of each flow and the share of each limit; nothing if none measures them.

    `legs` are those of split flows by their names, with their values by column.
    """
    legs = legs or {}
    if not is_measured(flows) and not legs:
        return []
    columns = [Column("flow", numeric=False), Column("time", "s")]
    columns += [Column(words, "%") for words in LIMITS.values()]
    rows = []
    named: dict[str, Callable[[str], float | None]] = {
        flow.flow: partial(getattr, flow) for flow in flows if flow.limited_s is not None
    }
    for name, of in (named | dict(legs)).items():
        shares = [Cell(percent(of(column), 3), of(column)) for column in LIMITS]
        rows.append([Cell(name), Cell(significant(of("limited_s")), of("limited_s")), *shares])
    table = Table("limits-table", "What held each flow back: share of its time", columns, rows)
    return [Text([ABOUT_KERNEL if on_kernel else ABOUT]), table]


def limit_sentence(flow: Flow) -> str:
    """The largest share of a flow; empty if some are not known."""
    found = shares_of(flow)
    if len(found) < len(LIMITS):
        return ""
    words, share = next(iter(found.items()))
    article = "" if words in ("pacing", "recovery") else "the "
    return f" It was held back by {article}{words} for {percent(share)} % of its time."
