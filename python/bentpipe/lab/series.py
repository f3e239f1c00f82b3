"""Coarse series of a run for the figures of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bentpipe.lab.results import SERIES

if TYPE_CHECKING:
    from bentpipe._native import Recording
    from bentpipe.compare.links import Link

    Values = np.ndarray[Any, Any]

MOST_POINTS = 300
"""Points of a line, at most: two pixels for each on a wide screen."""
WINDOWS = 50
"""Windows of the goodput in a run."""
DIGITS = 4
"""Significant digits of points, which are drawn and not computed with."""


def series(link: Link, recording: Recording) -> dict[str, Any]:
    """The lines of the first flow: times in `t`, and values with the names of `SERIES`."""
    flow = recording.table("flow_series").filter(pl.col("flow") == 0)
    links = recording.table("link_series")
    t = flow["t_s"].to_numpy()
    if not t.size:
        return {"t": [], **{one.id: [] for one in SERIES}, "window_s": 0.0, "leg": ""}
    step = -(-t.size // MOST_POINTS)
    kept = np.arange((t.size - 1) % step, t.size, step)
    route = [of_hop(links, hop.link, hop.direction) for hop in link.hops]
    bottleneck = of_hop(links, link.bottleneck.link, link.bottleneck.direction)
    lost = np.zeros_like(t)
    for one in route:
        lost += at(one, "dropped_packets", t) + at(one, "corrupted_packets", t)
    goodput, window_s = rate(t, flow["delivered_bytes"].to_numpy(), step)
    leg, of_sender = sender(link, recording, flow)
    values: dict[str, Values] = {
        "t": t,
        "goodput": goodput / 1e6,
        "cwnd": at(of_sender, "cwnd_bytes", t) / 1e3,
        "rtt": at(of_sender, "srtt_ms", t),
        "queue": at(bottleneck, "queue_bytes", t) / 1e3,
        "lost": lost,
    }
    shown = {name: rounded(one[kept]) for name, one in values.items()}
    return shown | {"window_s": window_s, "leg": leg}


def sender(link: Link, recording: Recording, flow: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """The series with window and RTT, and the leg that they belong to.

    They are those of the flow. If a gateway splits it, they are those of the leg over the
    bottleneck.
    """
    if "legs_series" not in recording.names:
        return "", flow
    route = link.scenario.explain().flows[0].route
    place = next(n for n, hop in enumerate(link.hops) if hop.link == link.bottleneck.link)
    name = recording.flows[0].flow
    for one in recording.table("legs").filter(pl.col("flow") == name).iter_rows(named=True):
        if route.index(one["from"]) <= place < route.index(one["to"]):
            rows = (pl.col("flow") == 0) & (pl.col("leg") == one["leg"])
            found = recording.table("legs_series").filter(rows)
            return (f"{one['from']} to {one['to']}", found) if found.height else ("", flow)
    return "", flow


def of_hop(links: pl.DataFrame, number: int, direction: str) -> pl.DataFrame:
    """The series of a direction of a link."""
    return links.filter(pl.col("link") == 2 * number + (direction == "backward"))


def at(table: pl.DataFrame, column: str, t: Values) -> Values:
    """Values of a column at these times, each that of the last sample until then, or NaN."""
    times = table["t_s"].to_numpy()
    found = np.searchsorted(times, t + 1e-9, side="right") - 1
    values = table[column].to_numpy()[np.maximum(found, 0)].astype(float)
    known: Values = np.where(found >= 0, values, np.nan)
    return known


def rate(t: Values, delivered: Values, step: int) -> tuple[Values, float]:
    """Mean goodput of the window before each time in bit/s, and the window in seconds.

    The window is a fiftieth of the run, and at least the distance of two points.
    """
    back = max(step, round(t.size / WINDOWS), 1)
    before = np.maximum(np.arange(t.size) - back, 0)
    span = t - t[before]
    moved = delivered.astype(float) - delivered[before]
    values = np.divide(8 * moved, span, out=np.zeros_like(span), where=span > 0)
    return values, float(t[min(back, t.size - 1)] - t[0])


def rounded(values: Values) -> list[float | None]:
    """Numbers with few digits, and None for those that are not known."""
    texts = (f"{one:.{DIGITS}g}" for one in values.tolist())
    return [
        None if text == "nan" else int(text) if text.isdigit() else float(text) for text in texts
    ]
