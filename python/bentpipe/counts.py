"""Counts that flows with any transport protocol have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe._native import (
        Flow,
        QuicTotals,
        Recording,
        SctpTotals,
        StpTotals,
        TcpTotals,
        XtpTotals,
    )


def packets(flow: Flow) -> TcpTotals | QuicTotals | StpTotals | XtpTotals | SctpTotals | None:
    """The totals of the flow's protocol with packets of data and retransmissions.

    Flows of datagrams retransmit nothing and have none.
    """
    return flow.tcp or flow.quic or flow.stp or flow.xtp or flow.sctp


def timers(flow: Flow) -> TcpTotals | QuicTotals | SctpTotals | None:
    """The totals of the flow's protocol if it has retransmission or probe timeouts."""
    return flow.tcp or flow.quic or flow.sctp


def has_other_protocols(flows: Iterable[Flow]) -> bool:
    """Whether a flow has another protocol than TCP, so that tables name it."""
    return any(flow.protocol != "tcp" for flow in flows)


def fairness(recording: Recording) -> float | None:
    """The Jain index of several flows. That of a single one is 1 and says nothing."""
    return recording.jain_index if len(recording.flows) > 1 else None
