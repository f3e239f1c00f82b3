"""The commands `bentpipe orbit` and `bentpipe constellations`."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any

import click

import bentpipe
from bentpipe.console import show, table
from bentpipe.errors import OutputError
from bentpipe.numbers import decimals
from bentpipe.orbits.frame import check_suffix, save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bentpipe import OrbitHandover, OrbitSeries

MOST_ROWS = 20
"""Hand-overs and gaps that the terminal lists, at most. `--json` has all of them."""


def compute(file: Path, out: Path | None, figures: Path | None, as_json: bool) -> None:
    """Compute the path of a file, write its series and figures, and print a summary."""
    if out is not None:
        check_suffix(out)
    series = bentpipe.orbit(file)
    written = []
    if out is not None:
        save(series, out)
        written.append(out)
    if figures is not None:
        written += save_figures(series, figures)
    if as_json:
        click.echo(json.dumps(in_json(series, written)))
    else:
        print_series(series, written)


def save_figures(series: OrbitSeries, folder: Path) -> list[Path]:
    """Write the figures as SVG into a folder, and return their names."""
    from bentpipe.orbits.figures import delay_figure, rate_figure, sky_figure
    from bentpipe.orbits.maps import map_figure

    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        figures = [delay_figure(series), sky_figure(series), map_figure(series)]
        if series.rate_bps:
            figures.append(rate_figure(series))
        for figure in figures:
            written.append(folder / f"{figure.name}.svg")
            figure.save(written[-1])
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror}") from error
    return written


def totals(series: OrbitSeries) -> dict[str, Any]:
    """Extremes and means of a series, which are weighted by time."""
    ends = [*series.t_s[1:], series.duration_s]
    rows = zip(series.t_s, ends, series.delay_ms, series.outage, series.elevation_deg, strict=True)
    held = [(end - start, delay, bool(outage), up) for start, end, delay, outage, up in rows]
    with_path = [(time, delay) for time, delay, _, up in held if up is not None]
    time = sum(time for time, _ in with_path)
    delays = [delay for _, delay in with_path]
    rates = {}
    if series.rate_bps:
        times = [end - start for start, end in zip(series.t_s, ends, strict=True)]
        mean = sum(map(operator.mul, times, series.rate_bps)) / sum(times)
        rates = {
            "rate_min_bps": min(series.rate_bps),
            "rate_mean_bps": mean,
            "rate_max_bps": max(series.rate_bps),
            "lost_s": sum(map(operator.mul, times, series.loss_ratio)),
        }
    return rates | {
        "delay_min_ms": min(delays),
        "delay_mean_ms": sum(time * delay for time, delay in with_path) / time,
        "delay_max_ms": max(delays),
        "outage_s": sum(time for time, _, outage, _ in held if outage),
        "handovers": len(series.handovers),
        "handovers_at_ends": sum(one.place != "between" for one in series.handovers),
        "visible_min": min(series.visible),
        "visible_max": max(series.visible),
    }


def in_json(series: OrbitSeries, written: Sequence[Path]) -> dict[str, Any]:
    """The summary, hand-overs and gaps as data."""
    return {
        "satellites": series.satellites,
        "source": series.source,
        "from": series.from_place,
        "to": series.to_places,
        "epoch": series.epoch,
        "duration_s": series.duration_s,
        "totals": totals(series),
        "handovers": [one.to_dict() for one in series.handovers],
        "gaps": [one.to_dict() for one in series.gaps],
        "notes": series.notes,
        "files": [str(path) for path in written],
    }


def print_series(series: OrbitSeries, written: Sequence[Path]) -> None:
    """Print the summary, the hand-overs and the times without a path."""
    found = totals(series)
    to = " or ".join(series.to_places)
    show(f"{series.source}, {series.satellites:,} satellites: {series.from_place} to {to}")
    show(f"from {series.epoch} for {series.duration_s:g} s")
    delays = (found[f"delay_{name}_ms"] for name in ("min", "mean", "max"))
    least, mean, most = (decimals(value, 3) for value in delays)
    show(f"one-way delay {least} to {most} ms, mean {mean} ms")
    show(f"{found['visible_min']} to {found['visible_max']} satellites in sight of the first place")
    at_ends = found["handovers_at_ends"]
    show(f"{found['handovers']} hand-overs, {at_ends} of them of the first or the last satellite")
    show(f"no packet passes for {found['outage_s']:g} s")
    if series.handovers:
        show(handover_table(series.handovers[:MOST_ROWS]))
        rest = len(series.handovers) - MOST_ROWS
        if rest > 0:
            show(f"{rest} more hand-overs are in --json")
    for gap in series.gaps[:MOST_ROWS]:
        show(f"no path from {gap.start_s:g} to {gap.end_s:g} s: {gap.reason}")
    if len(series.gaps) > MOST_ROWS:
        show(f"{len(series.gaps) - MOST_ROWS} more times without a path are in --json")
    for note in series.notes:
        show(f"note: {note}")
    for path in written:
        show(f"{path} written")


def handover_table(handovers: Sequence[OrbitHandover]) -> Any:
    """A table with a row for each hand-over."""
    listed = table(
        "time s", "<where", "<first satellite", "<last satellite", "delay ms", "change ms"
    )
    for one in handovers:
        change = one.delay_after_ms - one.delay_before_ms
        listed.add_row(
            f"{one.t_s:g}",
            one.place,
            one.satellite_after,
            one.to_satellite_after,
            decimals(one.delay_after_ms, 3),
            f"{'+' if change >= 0 else '-'}{decimals(abs(change), 3)}",
        )
    return listed
