"""The part of a run's page about beams: groups and classes, airtime, slots, delays, weather."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.beams.groups import calls
from bentpipe.frames import rows_of
from bentpipe.numbers import count, on_pages, quantile, significant
from bentpipe.plots import Figure, Tile, grid_figure, line_figure
from bentpipe.printing.flow_groups import stem
from bentpipe.report.mechanisms import TITLES, totals
from bentpipe.report.page import Cell, Column, Section, Table, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import Flow, Recording
    from bentpipe.plots.timeline import Timeline
    from bentpipe.runs import Run

TABLES = ("beams", "beam_groups", "beam_background", "beam_classes", "beam_modcods")
"""Tables of beams that the page shows. That of terminals has a row for each, and is a figure."""

SLOTS = {
    "cra_used_slots": "constant rate (CRA), used",
    "rate_slots": "requested rate (RBDC)",
    "volume_slots": "requested volume (VBDC)",
    "fca_used_slots": "free capacity (FCA), used",
    "random_decoded": "random access, decoded",
}
"""Categories of slots with their names in the figure."""

RECORD = (
    "No series were recorded, so there are no figures of the beam over time. Run the scenario "
    "again with --set record.interval=1s to record airtime and slots every second."
)
PLACE = re.compile(r"cell_(\d+)_(\d+)")
"""Names of cells that `bentpipe rain cells` writes: row and column."""


def has_beams(recording: Recording) -> bool:
    """Returns true if the run has a beam."""
    return "beams" in recording.names


def beams_section(run: Run, timeline: Timeline) -> Section:
    """The section; without blocks in a run without beams."""
    recording = run.recording
    if not has_beams(recording):
        return Section("beams", "Beams", [])
    blocks: list[Any] = [
        totals(name, TITLES[name], recording.table(name))
        for name in TABLES
        if name in recording.names
    ]
    quality = quality_table(recording)
    blocks += [quality] if quality else []
    drawn = [
        *over_time(recording, timeline),
        delays_figure(recording),
        map_figure(recording),
    ]
    if "beam_series" not in recording.names:
        blocks.append(Text([RECORD]))
    return Section("beams", "Beams", [*blocks, *(one for one in drawn if one)])


def quality_table(recording: Recording) -> Table | None:
    """Quality of calls and videos of each `[[flow]]`: of the worst 5 %, and the median."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for flow, mos in calls(recording):
        found.setdefault((stem(flow), "MOS of calls", ""), []).append(mos)
    for row in rows_of(recording, "video"):
        name = stem(row["flow"])
        found.setdefault((name, "stalls of videos", ""), []).append(-row["stalls"])
        found.setdefault((name, "stalled time of videos", "s"), []).append(-row["stalled_s"])
    columns = [
        Column("flow", numeric=False),
        Column("quantity", numeric=False),
        Column("unit", numeric=False),
        Column("users"),
        Column("worst 5 %"),
        Column("median"),
    ]
    rows = []
    for (name, what, unit), values in found.items():
        # The fewest stalls are best: their signs are turned.
        ends = [abs(quantile(values, share) or 0.0) for share in (0.05, 0.5)]
        shown = [Cell(significant(end, 3), end) for end in ends]
        users = Cell(count(len(values)), len(values))
        rows.append([Cell(name), Cell(what), Cell(unit), users, *shown])
    return Table("quality-table", "Calls and videos", columns, rows) if rows else None


def over_time(recording: Recording, timeline: Timeline) -> list[Figure]:
    """Airtime by modulation and code, and slots by category, of each beam."""
    drawn = []
    for beam in recording.table("beams")["beam"]:
        of_beam = pl.col("beam") == beam
        if "beam_modcod_series" in recording.names:
            points = airtimes(recording, beam)
            title = f"Airtime of {beam} by modulation and code"
            drawn.append(line_figure(f"airtime-{beam}", title, "time (s)", "airtime (%)", points,
                                     timeline=timeline))  # fmt: skip
        if "beam_series" in recording.names:
            rows = recording.table("beam_series").filter(of_beam)
            used = [column for column in SLOTS if rows[column].sum()]
            if not used:
                continue
            numbers = [pl.col(column).cast(pl.Float64) for column in used]
            points = pl.concat([
                rows.select(series=pl.lit(SLOTS[column]), x="t_s", y=number)
                for column, number in zip(used, numbers, strict=True)
            ])  # fmt: skip
            title = f"Slots of {beam} by category since the previous sample"
            drawn.append(line_figure(f"slots-{beam}", title, "time (s)", "slots", points,
                                     timeline=timeline))  # fmt: skip
    return drawn


def airtimes(recording: Recording, beam: str) -> pl.DataFrame:
    """Points of the airtime of each modulation and code: zero where it was not in use."""
    rows = recording.table("beam_modcod_series").filter(pl.col("beam") == beam)
    times = recording.table("beam_series").filter(pl.col("beam") == beam).select("t_s")
    whole = times.join(rows.select("modcod").unique(maintain_order=True), how="cross")
    joined = whole.join(rows.select("t_s", "modcod", "airtime"), on=["t_s", "modcod"], how="left")
    points = joined.select(series="modcod", x="t_s", y=pl.col("airtime").fill_null(0.0) * 100)
    return points.sort("series", "x")


def delays_figure(recording: Recording) -> Figure | None:
    """Mean delays of terminals: the share of terminals that each delay is not below."""
    rows = recording.table("beam_terminals").filter(pl.col("packets") > 0)
    if rows.height < 2:
        return None
    lines = []
    for (direction,), part in rows.group_by("direction", maintain_order=True):
        sorted_delays = part["mean_delay_ms"].sort()
        share = [100 * (place + 1) / part.height for place in range(part.height)]
        lines.append(pl.DataFrame({"series": [str(direction)] * part.height,
                                   "x": sorted_delays, "y": share}))  # fmt: skip
    title = "Terminals by their mean delay in the queue"
    return line_figure(
        "terminal-delays", title, "mean delay (ms)", "terminals with at most this delay (%)",
        pl.concat(lines), step=True,
    )  # fmt: skip


def map_figure(recording: Recording) -> Figure | None:
    """The attenuation of all weather cells when it was deepest on average."""
    if "beam_cell_series" not in recording.names:
        return None
    rows = recording.table("beam_cell_series").unique(["t_s", "cell"], maintain_order=True)
    means = rows.group_by("t_s", maintain_order=True).agg(pl.col("attenuation_db").mean())
    deepest = means.sort("attenuation_db", descending=True, maintain_order=True)["t_s"][0]
    cells = rows.filter(pl.col("t_s") == deepest)
    largest = max(max(cells["attenuation_db"]), 1e-9)
    tiles = []
    for cell, attenuation, modcod in cells.select("cell", "attenuation_db", "modcod").iter_rows():
        found = PLACE.fullmatch(cell)
        row, column = found.groups() if found else ("", cell)
        score = 1 - 2 * max(attenuation, 0.0) / largest
        tiles.append((int(row or 0), int(column) if found else 0,
                      Tile(row, column, score, f"{attenuation:.1f}"), modcod))  # fmt: skip
    tiles.sort(key=lambda tile: tile[:2])
    title = f"Attenuation of the weather cells in dB at {significant(deepest)} s"
    notes = ["The time is that of the largest mean attenuation. Blue cells are clear."]
    return grid_figure("cells", title, "column", "row", [one[2] for one in tiles], notes)


def flow_groups_table(flows: Sequence[Flow]) -> Table:
    """Quantiles over the copies of each `[[flow]]`: a beam has thousands of flows."""
    speed, unit = on_pages("bit/s", (flow.goodput_bps for flow in flows))
    columns = [
        Column("flow", numeric=False),
        Column("controller", numeric=False),
        Column("flows"),
        Column("ended"),
        *(Column(f"goodput {share}", unit) for share in ("p5", "p50", "p95")),
        *(Column(f"FCT {share}", "s") for share in ("p50", "p95")),
    ]
    groups: dict[str, list[Flow]] = {}
    for flow in flows:
        groups.setdefault(stem(flow.flow), []).append(flow)
    rows = []
    for name, copies in groups.items():
        rates = pl.Series([copy.goodput_bps for copy in copies], dtype=pl.Float64)
        times = pl.Series([copy.completion_s for copy in copies], dtype=pl.Float64).drop_nulls()
        values = [rates.quantile(share, "nearest") for share in (0.05, 0.5, 0.95)]
        ends = [times.quantile(share, "nearest") for share in (0.5, 0.95)]
        rows.append([
            Cell(name),
            Cell("/".join(sorted({copy.controller for copy in copies}))),
            Cell(count(len(copies)), len(copies)),
            Cell(count(len(times)), len(times)),
            *(Cell(significant(None if one is None else one / speed), one) for one in values),
            *(Cell(significant(one), one) for one in ends),
        ])  # fmt: skip
    return Table("flows-table", "Flows, by the copies of each entry", columns, rows)
