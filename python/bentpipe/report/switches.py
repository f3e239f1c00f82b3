"""Moves of routers with several paths, as events of a run's page."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentpipe.explanation import Explanation
    from bentpipe.runs import Run


def moves(run: Run, explanation: Explanation | None, delay_s: float) -> list[tuple[float, str]]:
    """Times in seconds at which packets move to another path, with words.

    Moves at known times are those of the scenario, `delay_s` later. Others are at the first sample
    after them, if there are samples.
    """
    routers: dict[tuple[float, str], list[str]] = defaultdict(list)
    known: set[str] = set()
    for switch in explanation.switches if explanation else ():
        for router, known_moves in zip(switch["between"], switch["moves"] or (), strict=False):
            known.add(router)
            for move in known_moves:
                routers[move["at_s"] + delay_s, move["via"]].append(router)
    for router, at, via in sampled(run):
        if router not in known:
            routers[at, via].append(router)
    return [
        (at, f"{' and '.join(names)}: {'moves' if len(names) == 1 else 'move'} to {via}")
        for (at, via), names in sorted(routers.items()) if at < run.simulated_s
    ]  # fmt: skip


def sampled(run: Run) -> Iterator[tuple[str, float, str]]:
    """Router, time of the sample and path of each move that the series shows."""
    if "switch_series" not in run.recording.names:
        return
    totals = run.recording.table("switch")
    begins = pl.col("carries") & ~pl.col("carries").shift(1).over("path")
    found = run.recording.table("switch_series").sort("path", "t_s").filter(begins)
    for path, at in found.select("path", "t_s").iter_rows():
        yield totals["router"][path], at, totals["via"][path]
