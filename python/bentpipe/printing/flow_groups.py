"""Flows of beams and their legs for the terminal: one row for all copies of a `[[flow]]`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from bentpipe.console import table
from bentpipe.frames import rows_of
from bentpipe.names import group_of
from bentpipe.numbers import decimals, finite, quantile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import polars as pl
    from rich.table import Table

    from bentpipe._native import Flow, Recording

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


HOST = "host of "
"""The host behind a terminal with a proxy has this before the name of the terminal."""

LEG_HEADINGS = (
    "<flow", "<leg", "<controller", "legs", "data MB", "sent", "retransmitted", "timeouts",
    "RTT ms p50", "p95", "held MB",
)  # fmt: skip
"""The columns of `leg_groups`. Those with names begin with `<`."""


def groups_of(recording: Recording) -> set[str]:
    """The names of the groups of terminals."""
    return {row["group"] for row in rows_of(recording, "beam_groups")}


def place(node: str, groups: Collection[str]) -> str:
    """The group of a terminal or of the host behind it; another node itself."""
    host = node.removeprefix(HOST)
    group = group_of(host, groups)
    return node if group is None else node.replace(host, group)


LARGEST = (
    "max_open_connections", "opened_s", "max_queue_bytes", "window_bytes", "srtt_s",
)  # fmt: skip
"""Columns of tables with rows for terminals of which a group has the largest value."""
KINDS = ("middlebox", "counter", "protocol", "mtu_bytes", "controller")
"""Columns whose different values keep rows of a group apart."""
PLACES = ("node", "from", "to")
"""Columns with names of nodes."""
OF_TERMINALS = ("proxies", "middlebox", "tunnel", "tunnel_end")
"""Tables with rows for terminals."""


def one_per_group(recording: Recording, name: str) -> pl.DataFrame:
    """One of `OF_TERMINALS` with one row for all terminals of a group.

    Counts are sums. Other values, such as the most connections that are open at the same time, are
    those of the terminal with the largest one. The number of a tunnel is that of the first one.
    """
    import polars as pl

    table, groups = recording.table(name), groups_of(recording)
    places = [column for column in PLACES if column in table.columns]
    kinds = [column for column in KINDS if column in table.columns]
    largest = [column for column in LARGEST if column in table.columns]
    first = [column for column in ("tunnel",) if column in table.columns]
    known = {*places, *kinds, *largest, *first}
    counts = [column for column in table.columns if column not in known]
    named = [
        pl.Series(column, [place(node, groups) for node in table[column]]) for column in places
    ]
    by_group = table.with_columns(named).group_by(places + kinds, maintain_order=True)
    found = by_group.agg(pl.col(counts).sum(), pl.col(largest).max(), pl.col(first).min())
    return found.select(table.columns)


def leg_groups(recording: Recording) -> list[tuple[str, ...]]:
    """Rows with totals and quantiles over the copies of each leg of each `[[flow]]`."""
    groups = groups_of(recording)
    found: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(recording, "legs"):
        ends = f"{place(row['from'], groups)} -> {place(row['to'], groups)}"
        found[stem(row["flow"]), ends, row["controller"]].append(row)
    counts = ("segments_sent", "segments_retransmitted", "timeouts")
    rows = []
    for names, legs in found.items():
        rtts = [leg["srtt_ms"] for leg in legs if leg["srtt_ms"] is not None]
        held = sum(leg["held_bytes"] + leg["discarded_bytes"] for leg in legs)
        rows.append((
            *names,
            str(len(legs)),
            decimals(sum(leg["bytes"] for leg in legs) / 1e6, 2),
            *(decimals(sum(leg[count] for leg in legs), 0) for count in counts),
            *(decimals(finite(quantile(rtts, share)), 1) for share in SHARES[1:]),
            decimals(held / 1e6, 2),
        ))  # fmt: skip
    return rows
