"""Flows of beams for the terminal: one row for all copies of a `[[flow]]`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from bentpipe.beams.groups import finite, quantile
from bentpipe.console import table
from bentpipe.numbers import decimals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from bentpipe._native import Flow

SHARES = (0.05, 0.5, 0.95)


def stem(flow: str) -> str:
    """The name of the `[[flow]]` of a copy."""
    name, _, copy = flow.rpartition(".")
    return name if name and copy.isdigit() else flow


def flow_groups(flows: Iterable[Flow]) -> Table:
    """A table with quantiles over the copies of each `[[flow]]`."""
    found: dict[str, list[Flow]] = defaultdict(list)
    for flow in flows:
        found[stem(flow.flow)].append(flow)
    listed = table(
        "<flow", "<controller", "flows", "ended", "data MB", "Mbit/s p5", "p50", "p95",
        "FCT s p50", "p95", "RTT ms p50",
    )  # fmt: skip
    for name, copies in found.items():
        rates = [copy.goodput_bps / 1e6 for copy in copies]
        times = [copy.completion_s for copy in copies if copy.completion_s is not None]
        rtts = [copy.median_rtt_ms for copy in copies if copy.median_rtt_ms is not None]
        listed.add_row(
            name,
            "/".join(sorted({copy.controller for copy in copies})),
            str(len(copies)),
            str(len(times)),
            decimals(sum(copy.bytes for copy in copies) / 1e6, 2),
            *(decimals(finite(quantile(rates, share)), 3) for share in SHARES),
            *(decimals(finite(quantile(times, share)), 2) for share in SHARES[1:]),
            decimals(finite(quantile(rtts, 0.5)), 1),
        )
    return listed
