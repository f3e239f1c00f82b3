"""The command `bentpipe trace inspect`."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from bentpipe.console import show, show_labelled, table
from bentpipe.numbers import decimals, significant
from bentpipe.traces import export, formats
from bentpipe.traces.inspection import cautions, default_out, inspect, is_direct, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bentpipe.traces.inspection import Column, Inspection
    from bentpipe.traces.measurement import Measurement
    from bentpipe.traces.slots import Slots

MOST_GAPS = 5
"""Gaps that the terminal lists, the longest first. `--json` has all of them."""
SECONDS_OF_MINUTE = 60


def run(
    file: Path,
    *,
    name: str | None,
    columns: Mapping[str, str],
    nominal_s: float | None,
    direction: str | None,
    gaps: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Read a file, print its inspection, and write its trace."""
    measurements = formats.read(file, name, columns)
    if out is not None:
        chosen = export.chosen(measurements, direction)
        export.save(chosen, gaps, out)
    elif direction is not None:
        measurements = [export.chosen(measurements, direction)]
    found = [(one, inspect(one, nominal_s)) for one in measurements]
    if as_json:
        click.echo(json.dumps(in_json(file, found, out), allow_nan=False, default=str))
        return
    for measurement, inspection in found:
        print_inspection(file, measurement, inspection)
    shown = export.chosen(measurements, direction) if out is not None else measurements[0]
    if out is None and not is_direct(shown):
        show(f"write the trace: {writing(file, found)}")
    show("use in a scenario:")
    show("\n".join(f"  {line}" for line in suggestion(shown, file, out)))
    if out is not None:
        show(f"{out} written")


def writing(file: Path, found: Sequence[tuple[Measurement, Inspection]]) -> str:
    """The command that writes the trace of a file."""
    words = ["bentpipe trace inspect", shlex.quote(str(file)), "--out", default_out(file)]
    if found[0][1].gaps:
        words.append("--gaps hold")
    if len(found) > 1 and found[0][1].direction:
        words.append("--direction up")
    return " ".join(words)


def in_json(
    file: Path, found: Sequence[tuple[Measurement, Inspection]], out: Path | None
) -> dict[str, Any]:
    """All inspections as data."""
    return {
        "file": str(file),
        "measurements": [
            without_nan(inspection.to_dict())
            | {
                "cautions": cautions(measurement, inspection),
                "scenario": suggestion(measurement, file, out),
            }
            for measurement, inspection in found
        ],
        "files": [] if out is None else [str(out)],
    }


def without_nan(value: Any) -> Any:
    """The same data with None in the place of NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and value != value else value


def print_inspection(file: Path, measurement: Measurement, found: Inspection) -> None:
    """Print spacing, gaps, loss, values and slots of one direction."""
    way = f", {found.direction}" if found.direction else ""
    show(f"{file}: {found.format}{way}, {found.rows:,} rows in {significant(found.duration_s)} s")
    lines = {"start": start_text(found), "spacing": spacing_text(found)}
    if not found.changes:
        lines["gaps"] = gaps_text(found)
    if found.probes and found.lost is not None:
        what = "retransmitted" if found.kind == "achieved" else "lost"
        share = decimals(100 * found.lost / found.probes, 2)
        lines[what] = f"{found.lost:,} of {found.probes:,} ({share} %)"
    if found.kind is not None:
        lines["rate"] = f'kind = "{found.kind}"'
    show_labelled(lines)
    show(value_table(found.columns))
    for column in found.columns:
        if column.slots is not None or column.name not in ("outage", "loss_percent"):
            show(f"{column.name}: {slots_text(column, found)}")
    for text in (*cautions(measurement, found), *found.notes):
        show(f"note: {text}")


def start_text(found: Inspection) -> str:
    """The date and time of the first value."""
    if found.start is None:
        return "not in the file"
    error = f", known to within {found.start_error_s:g} s" if found.start_error_s else ""
    return f"{found.start}{error}"


def spacing_text(found: Inspection) -> str:
    """The spacing in ms, nominal and true."""
    spacing = found.spacing
    nominal = f"nominal {milliseconds(spacing.nominal_s)}, " if spacing.nominal_s else ""
    if spacing.median_s != spacing.median_s:
        return f"{nominal}one row"
    what = " between changes" if found.changes else ""
    return (
        f"{nominal}median {milliseconds(spacing.median_s)}, mean {milliseconds(spacing.mean_s)},"
        f" 95 % below {milliseconds(spacing.p95_s)},"
        f" longest {milliseconds(spacing.longest_s)}{what}"
    )


def milliseconds(seconds: float) -> str:
    """A time in ms with four significant digits."""
    return f"{significant(1e3 * seconds)} ms"


def gaps_text(found: Inspection) -> str:
    """Number, sum and the longest of the gaps."""
    if not found.gaps:
        return "none (times of at least three medians)"
    longest = sorted(found.gaps, key=lambda gap: gap.start_s - gap.end_s)[:MOST_GAPS]
    listed = ", ".join(
        f"{significant(gap.end_s - gap.start_s, 3)} s at {decimals(gap.start_s, 1)} s"
        for gap in longest
    )
    share = decimals(100 * found.gap_s / found.duration_s, 2)
    return (
        f"{len(found.gaps):,} of at least three medians, {significant(found.gap_s)} s in all"
        f" ({share} % of the time); longest: {listed}"
    )


def value_table(columns: Sequence[Column]) -> Any:
    """A table with a row for each column."""
    made = table("column", "min", "5 %", "median", "95 %", "max", "mean")
    for column in columns:
        values = [*column.percentiles.values(), column.mean]
        made.add_row(column.name, *(significant(value) for value in values))
    return made


def slots_text(column: Column, found: Inspection) -> str:
    """The boundary of slots in words."""
    if column.slots is None:
        return f"no test for slots: {column.no_test}"
    slots: Slots = column.slots
    others = [one for offset, one in enumerate(slots.strengths) if offset != slots.offset_s]
    shares = (
        f"their means explain {percent(slots.strength)} of the variance,"
        f" {percent(min(others))} to {percent(max(others))} with other boundaries"
        f" (p = {significant(slots.p, 2)}, {slots.periods} periods)"
    )
    if not slots.found:
        return f"no slots of 15 s; the best boundary is second {slots.offset_s} of 15: {shares}"
    if found.start is None:
        where = f"{slots.offset_s} s after the first row"
    else:
        seconds = [str(second) for second in range(slots.offset_s, SECONDS_OF_MINUTE, 15)]
        where = f"second {slots.offset_s} of 15 (UTC seconds {', '.join(seconds)})"
        if found.start_error_s:
            where += f", known to within {found.start_error_s:g} s"
    return f"slots of 15 s with the boundary at {where}: {shares}"


def percent(share: float) -> str:
    """A share in per cent with one decimal."""
    return f"{decimals(100 * share, 1)} %"
