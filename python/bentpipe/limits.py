"""Limits that hold flows and legs back, in words for tables and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bentpipe._native import Flow

from bentpipe.numbers import NONE, percent

LIMITS = {
    "limited_by_set_up": "set-up",
    "limited_by_congestion_window": "congestion window",
    "limited_by_receive_window": "receive window",
    "limited_by_send_buffer": "send buffer",
    "limited_by_application": "application",
    "limited_by_recovery": "recovery",
    "limited_by_pacing": "pacing",
}
"""Columns of flows and legs with the share of each limit, and the limit in words."""
LEAST = 0.05
"""The smallest share that a list names, unless it is the largest."""


def shares(of: Callable[[str], float | None]) -> dict[str, float]:
    """The shares that are known, the largest first. `of` returns the value of a column."""
    known = {words: share for column, words in LIMITS.items() if (share := of(column)) is not None}
    return dict(sorted(known.items(), key=lambda item: -item[1]))


def shares_of(flow: Flow) -> dict[str, float]:
    """The shares of a flow that are known, the largest first."""
    return shares(lambda column: getattr(flow, column))


def held_back_by(found: dict[str, float]) -> str:
    """Limits with their share: `send buffer 71 %, congestion window 12 %`."""
    named = [
        f"{words} {percent(share, 2)} %"
        for number, (words, share) in enumerate(found.items())
        if share >= LEAST or (number == 0 and share > 0)
    ]
    if named:
        return ", ".join(named)
    return f"{' or '.join(found)} 0 %" if found else NONE


def is_measured(flows: Iterable[Flow]) -> bool:
    """True if a flow has shares."""
    return any(flow.limited_s is not None for flow in flows)
