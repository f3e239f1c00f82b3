"""A measurement as the columns of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bentpipe.errors import BentpipeError
from bentpipe.tables import SUFFIXES, save_table
from bentpipe.traces.inspection import gaps_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe.traces.measurement import Measurement

DIGITS = 6
"""Decimals of times in s: Unix times are known to less than a microsecond."""


def chosen(measurements: Sequence[Measurement], direction: str | None) -> Measurement:
    """The measurement of a direction; `BentpipeError` if it is needed or not there."""
    known = {one.direction: one for one in measurements}
    named = [name for name in known if name]
    if direction is None:
        if len(measurements) > 1 and "" not in known:
            raise BentpipeError(f"--out: expected --direction {' or '.join(named)}, found none")
        return known.get("", measurements[0])
    if direction not in known:
        expected = f"one of {', '.join(named)}" if named else "none, as the file has one direction"
        raise BentpipeError(f"--direction: expected {expected}, found {direction}")
    return known[direction]


def table(measurement: Measurement, gaps: str | None) -> pl.DataFrame:
    """The columns of a trace. Rows without a value are left out.

    `gaps` says what holds in a gap: `hold`, the value before it, or `outage`. `BentpipeError` if
    there are gaps and it is None.
    """
    found = gaps_of(measurement)
    if found and gaps is None:
        longest = max(gap.end_s - gap.start_s for gap in found)
        raise BentpipeError(
            "--out: expected --gaps hold or --gaps outage, because the file has"
            f" {len(found):,} gaps, the longest of {longest:.3g} s"
        )
    columns = {"t_s": np.round(measurement.t_s, DIGITS), **measurement.columns}
    frame = pl.DataFrame(columns).fill_nan(None).drop_nulls()
    if not frame.height:
        raise BentpipeError("--out: expected a file with values, found lost probes only")
    if found and gaps == "outage":
        begins = pl.Series(np.round([gap.start_s for gap in found], DIGITS))
        silent = pl.col("t_s").is_in(begins.implode()).cast(pl.Int64)
        frame = frame.with_columns(outage=pl.max_horizontal(silent, *existing(frame)))
    elif "outage" in frame.columns:
        frame = frame.with_columns(pl.col("outage").cast(pl.Int64))
    frame = ended(frame, measurement)
    return frame.with_columns((pl.col("t_s") - pl.col("t_s").first()).round(DIGITS))


def ended(frame: pl.DataFrame, measurement: Measurement) -> pl.DataFrame:
    """The rows of a step function.

    With an additional row if the last value would otherwise end at another time. The last row of a
    trace lasts as long as the one before it.
    """
    if not measurement.holds or measurement.lasts_s is None:
        return frame
    end, last = measurement.lasts_s, frame["t_s"][-1]
    step = last - frame["t_s"][-2] if frame.height > 1 else 0.0
    if abs(last + step - end) < 10**-DIGITS:
        return frame
    return pl.concat([frame, frame.tail(1).with_columns(t_s=pl.lit((last + end) / 2))])


def existing(frame: pl.DataFrame) -> list[pl.Expr]:
    """The column of outages, if there is one."""
    return [pl.col("outage").cast(pl.Int64)] if "outage" in frame.columns else []


def save(measurement: Measurement, gaps: str | None, target: Path) -> None:
    """Write the columns as CSV or Parquet. `BentpipeError` if no link can have them."""
    if target.suffix not in SUFFIXES:
        raise BentpipeError(
            f"--out: expected a file that ends in {' or '.join(SUFFIXES)}, found {target}"
        )
    delays = measurement.columns.get("delay_ms")
    if delays is not None and (least := float(np.nanmin(delays, initial=0.0))) < 0:
        raise BentpipeError(
            f"--out: expected delays of at least 0 ms, found {least:.4g} ms;"
            " are the clocks of both ends synchronised?"
        )
    save_table(table(measurement, gaps), target)
