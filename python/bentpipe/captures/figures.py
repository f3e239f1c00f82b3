"""Figures of captured connections: time-sequence graph, RTT, data in flight, goodput."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bentpipe.numbers import amount, scale
from bentpipe.plots import line_figure, sequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import CapturedConnection
    from bentpipe.captures.traces import Shown
    from bentpipe.plots import Figure

FAR = 3.0
"""A window that is always larger than the data in flight by this factor is left out."""
INTERVALS = 100
"""Intervals of the goodput."""


def ends(connection: CapturedConnection, *, to_server: bool) -> str:
    """Sender and receiver of a direction."""
    client, server = connection.client, connection.server
    return f"{client} to {server}" if to_server else f"{server} to {client}"


def figures(name: str, title: str, shown: Sequence[Shown]) -> list[Figure]:
    """The figures of a connection, or of several that are compared."""
    labelled = len(shown) > 1
    traces = [one.trace(labelled=labelled) for one in shown]
    made = [sequence.whole(name, f"Time-sequence graph, {title}", traces, None)]
    for number, one in enumerate(shown):
        if one.around is None:
            continue
        source = f" of the {one.taken.label}" if labelled else ""
        words = f"Time-sequence graph around the first retransmission{source}, {title}"
        trace = sequence.Trace(one.around, one.connection.start_s)
        around = sequence.detail(
            f"{name}-loss" + (f"-{number + 1}" if number else ""), words, trace
        )
        made += [around] if around else []
    return [*made, *lines(name, title, shown)]


def lines(name: str, title: str, shown: Sequence[Shown]) -> list[Figure]:
    """The figures of RTT, data in flight and goodput over time."""
    several = len(shown) > 1

    def series(what: str, one: Shown) -> str:
        return f"{what}, {one.taken.label}" if several else what

    rtt = [points(series("RTT", one), one, one.whole.rtt) for one in shown]
    flight, notes = [], []
    for one in shown:
        window, largest = one.whole.window, max((at[1] for at in one.whole.flight), default=0.0)
        # The window of the SYN is not scaled and limits nothing.
        lowest = min((value for at, value in window[1:]), default=0.0)
        flight.append(points(series("in flight", one), one, one.whole.flight))
        if lowest > FAR * largest:
            bound = amount(lowest, "B")
            notes.append(f"The {series('window', one)} is left out: it is always above {bound}.")
        else:
            flight.append(points(series("window", one), one, window))
    goodput = [points(series("goodput", one), one, rates(one)) for one in shown]
    made = [line_figure(f"{name}-rtt", f"RTT from data to its ACK, {title}", "time (s)",
                        "RTT (ms)", pl.concat(rtt))] if any(map(len, rtt)) else []  # fmt: skip
    for end, words, unit, found, said in (
        ("flight", "Data in flight and advertised window", "B", flight, notes),
        ("goodput", "Goodput", "bit/s", goodput, ()),
    ):
        table = pl.concat(found)
        if table.is_empty():
            continue
        size, label = scale(unit, table["y"])
        y = f"{'data' if unit == 'B' else 'goodput'} ({label})"
        made.append(line_figure(f"{name}-{end}", f"{words}, {title}", "time (s)", y,
                                table.with_columns(pl.col("y") / size), notes=said))  # fmt: skip
    return made


def points(series: str, one: Shown, found: Sequence[tuple[float, float]]) -> pl.DataFrame:
    """A table for `line_figure`, in times since the first packet of the connection."""
    schema = {"x": pl.Float64, "y": pl.Float64}
    table = pl.DataFrame(list(found), schema=schema, orient="row")
    return table.select(pl.col("x") - one.connection.start_s, "y", series=pl.lit(series))


def rates(one: Shown) -> list[tuple[float, float]]:
    """The acknowledged data of each interval, in bit/s."""
    start, length = one.connection.start_s, one.connection.duration_s
    if not one.whole.acked or length <= 0:
        return []
    step = length / INTERVALS
    acked = iter(one.whole.acked)
    found, value, before, following = [], 0.0, 0.0, next(acked, None)
    for number in range(1, INTERVALS + 1):
        end = start + number * step
        while following is not None and following[0] <= end:
            value = max(value, following[1])
            following = next(acked, None)
        found.append((end, (value - before) * 8 / step))
        before = value
    return found
