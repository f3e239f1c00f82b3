"""Marks on the time axis of figures: events, loss of signal, lost and retransmitted data.

All figures over time of a page have the same marks, so that a change of cwnd is seen with its
cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.plots.theme import SAME, WORSE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LOSSES = {"queue drop": WORSE, "corrupted": "#AE8703", "retransmission": "#B16B8F"}
"""Kinds of marks at the upper edge, from the top, with their colours."""

COLOURS = {WORSE: "red", "#AE8703": "ochre", "#B16B8F": "purple"}

SHADE, EVENT = WORSE, SAME
ROW_PIXELS = 6
"""Height of a row of marks at the upper edge."""

MOST_MARKS = 400
"""Maximum number of marks of one kind: more would touch each other."""

MOST_EVENTS = 200
"""Maximum number of events that are drawn and listed."""


@dataclass(frozen=True)
class Timeline:
    """What is marked between 0 and `end_s`. All times are in seconds.

    `losses` are times by the keys of `LOSSES`, `events` are times with words, and `silences` are
    times without signal or transmission, from and to.
    """

    end_s: float
    losses: dict[str, list[float]]
    events: Sequence[tuple[float, str]]
    silences: Sequence[tuple[float, float]]

    @property
    def is_empty(self) -> bool:
        """True if nothing is marked."""
        return not (any(self.losses.values()) or self.events or self.silences)

    def with_events(self, events: Iterable[tuple[float, str]]) -> Timeline:
        """The timeline with more events."""
        return replace(self, events=sorted([*self.events, *events]))

    def legend(self) -> str:
        """A sentence on the marks that there are."""
        rows = [f"{name} ({COLOURS[LOSSES[name]]})" for name in LOSSES if self.losses.get(name)]
        words = [
            f"Ticks at the upper edge, from the top: {', '.join(rows)}." if rows else "",
            "Dashed lines: events." if self.events else "",
            "Shaded: no signal, or an outage." if self.silences else "",
        ]
        return " ".join(filter(None, ["All figures have the same marks.", *words]))

    def layers(self) -> list[Any]:
        """Charts of the marks, without a scale of y."""
        import altair as alt

        x = alt.X("x:Q")
        layers: list[Any] = []
        if self.silences:
            spans = [{"x": start, "x2": end} for start, end in self.silences]
            layers.append(
                alt.Chart(alt.InlineData(values=spans))
                .mark_rect(color=SHADE, opacity=0.18, clip=True)
                .encode(x=x, x2="x2:Q")
            )
        if self.events:
            lines = [{"x": at, "event": text} for at, text in self.events[:MOST_EVENTS]]
            layers.append(
                alt.Chart(alt.InlineData(values=lines))
                .mark_rule(color=EVENT, opacity=0.6, strokeDash=[3, 3], clip=True)
                .encode(x=x, tooltip=[alt.Tooltip("x:Q", title="time (s)"), "event:N"])
            )
        rows = [name for name in LOSSES if self.losses.get(name)]
        for row, name in enumerate(rows):
            ticks = [{"x": at} for at in self.losses[name]]
            layers.append(
                alt.Chart(alt.InlineData(values=ticks))
                .mark_tick(
                    color=LOSSES[name], orient="vertical", size=ROW_PIXELS - 1, thickness=1.2,
                    clip=True,
                )
                .encode(x=x, y=alt.value(ROW_PIXELS * row + ROW_PIXELS // 2))
            )  # fmt: skip
        return layers


def spread(times: Iterable[float], end_s: float) -> list[float]:
    """The times, at most one in each of `MOST_MARKS` equal parts of the axis."""
    parts: dict[int, float] = {}
    for at in times:
        parts.setdefault(int(at / end_s * MOST_MARKS) if end_s > 0 else 0, at)
    return list(parts.values())


def rises(table: pl.DataFrame, entity: str, column: str) -> pl.DataFrame:
    """By how much a counter of each entity rose until each time: `entity`, `t_s` and `rise`."""
    counted = pl.col(column).cast(pl.Int64)
    return table.select(
        entity, "t_s", rise=counted.diff().over(entity).fill_null(counted.first().over(entity))
    )
