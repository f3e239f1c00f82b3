"""The conditions of links that change during a run: rates, delays and outages of their traces.

A trace is read from the file in the folder of the run. It starts at the time that the recording
has, which a random phase moves, and is repeated if it loops.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.plots import line_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe._native import Recording
    from bentpipe.plots import Figure
    from bentpipe.plots.timeline import Timeline

RATES = {"rate_bps": 1.0, "rate_kbps": 1e3, "rate_mbps": 1e6}
DELAYS = {
    "delay_s": 1e3, "delay_ms": 1.0, "delay_us": 1e-3,
    "rtt_s": 5e2, "rtt_ms": 0.5, "rtt_us": 5e-4,
}  # fmt: skip
"""Columns with the factor to bit/s and to ms of one way."""
TIMES = {"t_s": 1.0, "t_ms": 1e-3, "t_us": 1e-6}
DELIVERED_BITS = 1500 * 8
"""Bits of a delivery of Mahimahi."""
DELIVERY_S = 0.5
"""Interval over which deliveries become a rate."""
DELAY_STEP_S = 0.01
"""Step of `delays` without another one."""


@dataclass(frozen=True)
class Trace:
    """The conditions of one direction over the run: columns `t_s`, `rate_bps`, `delay_ms`, `out`.

    Columns are null where the trace does not set them.
    """

    name: str
    table: pl.DataFrame

    def is_of(self, link: str) -> bool:
        """True for a direction of this link."""
        return self.name == f"{link} (forward)"

    def outages(self, end_s: float) -> list[tuple[float, float]]:
        """Times of outages, from and to."""
        found: list[tuple[float, float]] = []
        times = [*self.table["t_s"], end_s]
        for start, end, out in zip(times, times[1:], self.table["out"], strict=False):
            if not out or start >= end_s:
                continue
            if found and found[-1][1] == start:
                found[-1] = (found[-1][0], min(end, end_s))
            else:
                found.append((start, min(end, end_s)))
        return found


def traces_of(folder: Path, recording: Recording, end_s: float) -> list[Trace]:
    """The traces of all directions of links; those whose files cannot be read are left out."""
    if "trace" not in recording.names:
        return []
    starts = {
        (row["link"], row["direction"]): row["start_s"]
        for row in recording.table("trace").iter_rows(named=True)
    }
    try:
        links = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))["link"]
    except (OSError, ValueError, KeyError):
        return []
    found: list[Trace] = []
    for number, link in enumerate(links):
        for side, direction in enumerate(("forward", "backward")):
            setting = link.get(direction, {}).get("trace", link.get("trace"))
            if not setting:
                continue
            place = recording.links[2 * number + side]
            try:
                rows = read(folder, {"file": setting} if isinstance(setting, str) else setting)
            except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
                continue
            start = starts.get((place.link, place.direction), 0.0)
            loops = isinstance(setting, dict) and bool(setting.get("loop"))
            name = f"{place.link} ({place.direction})"
            table = placed(rows, start, end_s, loops=loops)
            if side and found and found[-1].is_of(place.link) and found[-1].table.equals(table):
                # One line for both directions, because one would hide the other.
                found[-1] = Trace(f"{place.link} (both directions)", table)
            else:
                found.append(Trace(name, table))
    return found


def read(folder: Path, setting: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of a trace with the columns of `Trace`, from time zero."""
    parts = []
    if "file" in setting:
        parts.append(log(folder / setting["file"], setting.get("columns") or {}))
    if "deliveries" in setting:
        parts.append(deliveries(numbers(folder / setting["deliveries"])))
    if "delays" in setting:
        step = seconds(setting["step"]) if "step" in setting else DELAY_STEP_S
        values = numbers(folder / setting["delays"])
        times = [number * step for number in range(len(values))]
        parts.append(pl.DataFrame({"t_s": times, "delay_ms": values}))
    wanted = {"t_s": pl.Float64, "rate_bps": pl.Float64, "delay_ms": pl.Float64, "out": pl.Boolean}
    whole = [
        part.select(
            (pl.col(name) if name in part.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in wanted.items()
        )
        for part in parts
    ]
    merged = pl.concat(whole).sort("t_s", maintain_order=True)
    filled = merged.with_columns(pl.col("rate_bps", "delay_ms", "out").forward_fill())
    return filled.with_columns(pl.col("out").fill_null(value=False))


def log(path: Path, columns: Mapping[str, str]) -> pl.DataFrame:
    """A file with named columns, in the units of `Trace`. Values that are missing are repeated."""
    parquet = path.suffix == ".parquet"
    table = pl.read_parquet(path) if parquet else pl.read_csv(path, infer_schema_length=None)
    table = table.rename({theirs: ours for ours, theirs in columns.items() if theirs != ours})
    clock = next(name for name in TIMES if name in table.columns)
    if table[clock].dtype == pl.String:
        times = pl.col(clock).str.to_datetime(strict=False, time_zone="UTC").dt.epoch("us") / 1e6
    else:
        times = pl.col(clock).cast(pl.Float64) * TIMES[clock]
    table = table.with_columns(t_s=times).drop_nulls("t_s")
    table = table.with_columns(pl.col("t_s") - pl.col("t_s").first())
    made = []
    for kinds, name in ((RATES, "rate_bps"), (DELAYS, "delay_ms")):
        own = next((kind for kind in kinds if kind in table.columns), None)
        if own:
            made.append((pl.col(own).cast(pl.Float64, strict=False) * kinds[own]).alias(name))
    silent = pl.lit(value=False)
    if "outage" in table.columns:
        silent = pl.col("outage").cast(pl.Float64, strict=False).forward_fill() > 0
    chosen = table.select("t_s", *made, out=silent)
    filled = chosen.with_columns(pl.exclude("t_s").forward_fill())
    if "rate_bps" in filled.columns:
        filled = filled.with_columns(out=pl.col("out") | (pl.col("rate_bps") == 0))
    return filled


def deliveries(times_ms: Sequence[float]) -> pl.DataFrame:
    """The rate of deliveries in each `DELIVERY_S`."""
    bins = int(max(times_ms) / 1e3 / DELIVERY_S) + 1
    counts = [0] * bins
    for at in times_ms:
        counts[int(at / 1e3 / DELIVERY_S)] += 1
    rates = [count * DELIVERED_BITS / DELIVERY_S for count in counts]
    return pl.DataFrame({"t_s": [DELIVERY_S * n for n in range(bins)], "rate_bps": rates})


def numbers(path: Path) -> list[float]:
    """A number on each line."""
    return [float(line) for line in path.read_text(encoding="utf-8").split()]


def seconds(text: str) -> float:
    """A time of a scenario in seconds."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6), ("min", 60.0), ("s", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    raise ValueError(text)


def placed(rows: pl.DataFrame, start: float, end_s: float, *, loops: bool) -> pl.DataFrame:
    """The rows at the times of the run, the row that holds at its start at time zero."""
    length = float(rows["t_s"].to_numpy().max()) + typical_step(rows)
    turns = int((start + end_s) // length) + 1 if loops else 1
    whole = pl.concat(
        [rows.with_columns(pl.col("t_s") + length * turn - start) for turn in range(turns)]
    )
    before = whole.filter(pl.col("t_s") <= 0).tail(1).with_columns(t_s=pl.lit(0.0))
    during = whole.filter((pl.col("t_s") > 0) & (pl.col("t_s") < end_s))
    return pl.concat([before, during])


def typical_step(rows: pl.DataFrame) -> float:
    """The median of the steps, which the last row of a log lasts too."""
    steps = rows["t_s"].diff().drop_nulls()
    return float(steps.median() or 0.0) if len(steps) else 0.0  # type: ignore[arg-type]


def weak_signals(recording: Recording, end_s: float) -> list[tuple[float, float]]:
    """Times at which a modem has a signal below the threshold of what it sends, by its samples."""
    if "acm_series" not in recording.names:
        return []
    found: list[tuple[float, float]] = []
    samples = recording.table("acm_series").sort("link", "t_s")
    for _, rows in samples.group_by("link", maintain_order=True):
        weak = rows.with_columns(
            is_weak=pl.col("es_n0_db") < pl.col("threshold_db"),
            end_s=pl.col("t_s").shift(-1).fill_null(end_s),
        ).filter("is_weak")
        for start, end in weak.select("t_s", "end_s").iter_rows():
            if found and found[-1][1] == start:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
    return found


def figures(traces: Sequence[Trace], timeline: Timeline) -> list[Figure]:
    """The rate in Mbit/s and the delay in ms of each direction with a trace."""
    drawn = []
    for name, title, y, column, size in (
        ("trace-rate", "Rate of links with a trace", "rate (Mbit/s)", "rate_bps", 1e6),
        ("trace-delay", "One-way delay of links with a trace", "delay (ms)", "delay_ms", 1.0),
    ):
        lines = [
            extended(one.table, column, timeline.end_s).select(
                x="t_s", y=pl.col(column) / size, series=pl.lit(one.name)
            )
            for one in traces
            if one.table[column].is_not_null().any()
        ]
        if lines:
            points = pl.concat(lines)
            drawn.append(
                line_figure(name, title, "time (s)", y, points, step=True, timeline=timeline)
            )
    return drawn


def extended(table: pl.DataFrame, column: str, end_s: float) -> pl.DataFrame:
    """The rows, of which the last one holds until the end of the run."""
    rows = table.select("t_s", column).drop_nulls()
    return pl.concat([rows, rows.tail(1).with_columns(t_s=pl.lit(end_s))])
