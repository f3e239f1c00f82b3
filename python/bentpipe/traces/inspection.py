"""An inspection of a measurement: spacing, gaps, loss, slots, values, and how a link can use it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.traces import slots
from bentpipe.traces.measurement import GAP

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.traces.measurement import Floats, Measurement

QUANTILES = (0, 5, 50, 95, 100)
"""Percentiles of values."""
GRID_S = 0.1
"""Spacing of values of a step function for the test for slots."""
EQUAL = 0.05
"""The part of the median by which the distances of rows of a log may differ."""
MOSTLY = 0.9
"""The share of rows at such distances from which on a table counts as a log."""
OFF = 1.1
"""A median spacing that differs from the nominal one by more than this factor is reported."""
NO_VALUES = ("outage", "loss_percent")
"""Columns of which there is no test for slots."""
MINUTE_S = 60


@dataclass(frozen=True)
class Spacing:
    """Times between values in s, NaN if there is one value only."""

    nominal_s: float | None
    """The one that the file states, or that `--nominal` gives."""
    median_s: float
    mean_s: float
    p95_s: float
    longest_s: float


@dataclass(frozen=True)
class Gap:
    """A time between two values of at least three times the median."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Column:
    """The values of a column."""

    name: str
    """Name with its unit, as columns of traces have it."""
    percentiles: dict[str, float]
    """Minimum (p0), percentiles 5, 50 and 95, and maximum (p100), of the values."""
    mean: float
    slots: slots.Slots | None
    """The boundary between slots; None without a test."""
    no_test: str | None
    """Why there is no test for slots."""


@dataclass(frozen=True)
class Inspection:
    """All that `bentpipe trace inspect` shows of one direction of a file."""

    format: str
    direction: str
    rows: int
    start: str | None
    """Date and time of the first value in UTC."""
    start_error_s: float
    duration_s: float
    changes: bool
    """True if rows are changes of a step function. Their spacing has no gaps then."""
    spacing: Spacing
    gaps: tuple[Gap, ...]
    probes: int | None
    lost: int | None
    kind: str | None
    """`achieved` or `capacity` for rates."""
    columns: tuple[Column, ...]
    notes: tuple[str, ...]

    @property
    def gap_s(self) -> float:
        """Sum of all gaps."""
        return sum(gap.end_s - gap.start_s for gap in self.gaps)

    def to_dict(self) -> dict[str, Any]:
        """Its attributes as data."""
        return asdict(self)


def gaps_of(measurement: Measurement) -> tuple[Gap, ...]:
    """The gaps between the values of a measurement.

    A step function has none, unless it is a table whose rows have equal distances, as a log has.
    """
    times = times_with_values(measurement)
    steps = np.diff(times)
    if not len(steps) or (measurement.holds and not is_log(measurement, steps)):
        return ()
    places = np.flatnonzero(steps > GAP * np.median(steps))
    return tuple(Gap(float(times[at]), float(times[at + 1])) for at in places)


def is_log(measurement: Measurement, steps: Floats) -> bool:
    """True for a table of columns that has a row at equal distances, but for some."""
    if measurement.format != "columns":
        return False
    return bool(np.mean(np.abs(steps / np.median(steps) - 1) < EQUAL) >= MOSTLY)


def times_with_values(measurement: Measurement) -> Floats:
    """Times at which some column has a value: a row of lost probes is part of a gap."""
    present = [np.isfinite(values) for values in measurement.columns.values()]
    times: Floats = measurement.t_s[np.any(present, axis=0)]
    return times


def inspect(measurement: Measurement, nominal_s: float | None = None) -> Inspection:
    """Inspect a measurement. `nominal_s` is the spacing that it should have."""
    steps = np.diff(measurement.t_s)
    if not len(steps):
        steps = np.array([np.nan])
    start = measurement.start
    kind = "achieved" if measurement.achieved else None
    if "rate_mbps" in measurement.columns:
        kind = "capacity"
    return Inspection(
        format=measurement.format,
        direction=measurement.direction,
        rows=len(measurement.t_s),
        start=None if start is None else utc(start),
        start_error_s=measurement.start_error_s,
        duration_s=measurement.lasts_s or float(measurement.t_s[-1]),
        changes=measurement.holds,
        spacing=Spacing(
            nominal_s=measurement.nominal_s if nominal_s is None else nominal_s,
            median_s=float(np.median(steps)),
            mean_s=float(steps.mean()),
            p95_s=float(np.percentile(steps, 95)),
            longest_s=float(steps.max()),
        ),
        gaps=gaps_of(measurement),
        probes=measurement.probes,
        lost=measurement.lost,
        kind=kind,
        columns=tuple(column(measurement, name) for name in measurement.columns),
        notes=measurement.notes,
    )


def utc(seconds: float) -> str:
    """A Unix time as a date and time, as the key `epoch` has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def column(measurement: Measurement, name: str) -> Column:
    """Inspect the values of a column."""
    values = measurement.columns[name]
    present = values[np.isfinite(values)]
    found: slots.Slots | str = "it has no test"
    if name not in NO_VALUES:
        found = find_slots(measurement, values)
    weights = np.ones(len(present))
    if measurement.holds:
        ends = np.append(measurement.t_s[1:], measurement.lasts_s or measurement.t_s[-1])
        weights = (ends - measurement.t_s)[np.isfinite(values)]
    percentiles = zip(QUANTILES, quantiles(present, weights), strict=True)
    return Column(
        name=name,
        percentiles={f"p{q}": value for q, value in percentiles},
        mean=float(np.average(present, weights=weights)) if weights.any() else np.nan,
        slots=None if isinstance(found, str) else found,
        no_test=found if isinstance(found, str) else None,
    )


def quantiles(values: Floats, weights: Floats) -> list[float]:
    """Percentiles of values: those of the time for a step function, whose weights are times."""
    if not weights.any():
        return [np.nan] * len(QUANTILES)
    if (weights == weights[0]).all():
        return [float(value) for value in np.percentile(values, QUANTILES)]
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, np.array(QUANTILES) / 100 * below[-1])
    return [float(values[order][min(place, len(values) - 1)]) for place in places]


def find_slots(measurement: Measurement, values: Floats) -> slots.Slots | str:
    """Find slots. Times count from a full minute if the file has its start."""
    times = measurement.t_s
    if measurement.holds:
        grid = np.arange(0.0, measurement.lasts_s or times[-1], GRID_S)
        values = values[np.searchsorted(times, grid, side="right") - 1]
        times = grid
    return slots.find(times + (measurement.start or 0.0) % MINUTE_S, values)


def is_direct(measurement: Measurement) -> bool:
    """Return true if the key `trace` of a link reads the file itself."""
    return measurement.holds


def default_out(file: Path) -> str:
    """A name for the trace of a file: `lagos.trace.csv` of `lagos.txt.gz`."""
    return f"{file.name.partition('.')[0]}.trace.csv"


def suggestion(measurement: Measurement, file: Path, out: Path | None) -> list[str]:
    """Lines of a scenario that use a file, and the command that writes it."""
    lines = []
    if measurement.start is not None:
        lines.append(f'epoch = "{utc(measurement.start)}"')
    rate = {"rate_mbps", "achieved_mbps"} & measurement.columns.keys()
    delay = {"rtt_ms", "delay_ms"} & measurement.columns.keys()
    lines += ["[[link]]", 'between = ["server", "client"]']
    if not rate:
        lines.append('rate = "50Mbit/s"  # not in the file: choose one')
    if not delay:
        lines.append('delay = "20ms"  # not in the file: choose one')
    key = measurement.format if measurement.format in ("deliveries", "delays") else "file"
    named = out or (file if is_direct(measurement) else default_out(file))
    kind = ', kind = "achieved"' if measurement.achieved else ""
    lines.append(f'trace = {{ {key} = "{named}"{kind} }}')
    return lines


def cautions(measurement: Measurement, found: Inspection) -> list[str]:
    """What a user has to know before the values are those of a link."""
    texts = []
    nominal, median = found.spacing.nominal_s, found.spacing.median_s
    if nominal and not found.changes and not nominal / OFF < median < nominal * OFF:
        texts.append(
            f"the nominal spacing is {nominal * 1e3:g} ms, and the median is {median * 1e3:.0f} ms"
        )
    if measurement.achieved:
        texts.append(
            "a flow has achieved these rates; the capacity is at least as large and not measured"
        )
    if measurement.format in ("ping", "ping-table", "irtt", "lens-csv"):
        texts.append("probes show the delay beside a flow, and not the delay in its queue")
    if "rtt_ms" in measurement.columns:
        texts.append("each direction of a link takes half of the RTT")
    if measurement.lost and not measurement.achieved:
        texts.append("lost probes have no value; a link loses packets by its `channel`")
    if found.gaps:
        texts.append("gaps are not filled: --out requires --gaps hold or --gaps outage")
    return texts
