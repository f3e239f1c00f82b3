"""Traces of links, in the forms that the key `trace` of a scenario reads.

The engine reads them. A trace is a step function: each value holds until the next one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bentpipe._native import read_trace
from bentpipe.traces.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe._native import TraceRows
    from bentpipe.traces.measurement import Floats

PARQUET = b"PAR1"
TIME = re.compile(r"(^|,)\"?t_(s|ms|us)\"?(,|\s*$)")
NUMBER = re.compile(r"\d+(\.\d+)?")
DELAY_STEP_S = 0.01
"""Time between two delays of LeoReplayer."""
DELIVERY_S = 0.001
"""Time of a row of deliveries."""


def is_columns(head: str) -> bool:
    """Return true for a header with a column of times, and for Parquet."""
    first = next((line for line in head.splitlines() if line and not line.startswith("#")), "")
    return head.startswith(PARQUET.decode()) or bool(TIME.search(first))


def numbers(head: str) -> list[str]:
    """The lines of a text with one number in each; empty for any other text."""
    # The last line of the beginning of a file may be cut.
    lines = [line.strip() for line in head[: head.rfind("\n") + 1].splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return lines if all(NUMBER.fullmatch(line) for line in lines) else []


def is_deliveries(head: str) -> bool:
    """Return true for whole numbers that never fall, as times of deliveries are."""
    found = numbers(head)
    if not found or any("." in line for line in found):
        return False
    times = [int(line) for line in found]
    return times == sorted(times) and times[0] < times[-1]


def is_delays(head: str) -> bool:
    """Return true for other numbers, one in each line."""
    return bool(numbers(head))


def columns(file: Path, _text: str) -> Sequence[Measurement]:
    """Read columns with the names of this project."""
    return [of_rows("columns", read_trace(file, "columns"))]


def named(file: Path, names: Mapping[str, str]) -> Sequence[Measurement]:
    """Read columns of a log of another program."""
    return [of_rows("columns", read_trace(file, "columns", dict(names)))]


def deliveries(file: Path, _text: str) -> Sequence[Measurement]:
    """Read a delivery trace of Mahimahi. Its rate is that of each millisecond.

    The end of the trace is the beginning of its next round, so the deliveries of the last
    millisecond count in the first one.
    """
    rows = read_trace(file, "deliveries")
    found = of_rows("deliveries", rows, nominal_s=DELIVERY_S)
    times, rates = found.t_s, found.columns["rate_mbps"].copy()
    if len(times) < 2 or times[-1] < rows.lasts_s:
        return [found]
    last = rates[-1]
    times, rates = times[:-1], rates[:-1]
    ends = times[1] if len(times) > 1 else rows.lasts_s
    if rates[0] == 0 and ends > 1.5 * DELIVERY_S:
        times, rates = np.insert(times, 1, DELIVERY_S), np.insert(rates, 1, 0.0)
    rates[0] += last
    columns = {"rate_mbps": rates}
    if not rates.all():
        columns["outage"] = (rates == 0).astype(float)
    return [replace(found, t_s=times, columns=columns)]


def delays(file: Path, _text: str) -> Sequence[Measurement]:
    """Read delays of LeoReplayer. Rows whose delay is that of the row before are left out."""
    return [of_rows("delays", read_trace(file, "delays"), nominal_s=DELAY_STEP_S)]


READERS = (columns, deliveries, delays)
"""The engine reads the files of these itself."""


def of_rows(format_name: str, rows: TraceRows, nominal_s: float | None = None) -> Measurement:
    """The rows of the engine as a measurement. A rate is zero in an outage."""
    silent = held_numbers(rows.outage_s, zero=True) > 0
    found: dict[str, Floats] = {}
    if any(rate is not None for rate in rows.rate_bps):
        rate = "achieved_mbps" if rows.achieved else "rate_mbps"
        found[rate] = np.where(silent, 0.0, held_numbers(rows.rate_bps) / 1e6)
    if any(delay is not None for delay in rows.delay_ms):
        found["delay_ms"] = held_numbers(rows.delay_ms)
    if any(loss is not None for loss in rows.loss_ratio):
        found["loss_percent"] = held_numbers(rows.loss_ratio) * 100
    if silent.any():
        found["outage"] = silent.astype(float)
    return Measurement(
        format=format_name,
        t_s=np.array(rows.t_s),
        columns=found,
        nominal_s=nominal_s,
        holds=True,
        lasts_s=rows.lasts_s,
        notes=tuple(rows.notes),
    )


def held_numbers(values: Sequence[float | None], *, zero: bool = False) -> Floats:
    """Values where None is the value before, or zero."""
    last = 0.0 if zero else np.nan
    held = np.empty(len(values))
    for place, value in enumerate(values):
        if value is not None:
            last = value
        elif zero:
            last = 0.0
        held[place] = last
    return held
