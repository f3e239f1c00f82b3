"""The part of a run's page about mechanisms on the path: totals, and what they did over time.

Each kind of mechanism has a table of totals in the recording, and one of samples with the same name
and `_series`. The headings follow from the names of the columns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from bentpipe.numbers import SCALES, count, on_pages, significant
from bentpipe.plots import line_figure
from bentpipe.plots.timeline import rises
from bentpipe.printing.mechanisms import BY_FLOW, totals_of
from bentpipe.report import legs
from bentpipe.report.page import Cell, Column, Section, Table
from bentpipe.study.quantities import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.plots import Figure
    from bentpipe.plots.timeline import Timeline
    from bentpipe.runs import Run

FIXED = ("flows", "links", "pages", "objects", "flow_series", "link_series")
"""Tables of every recording."""
SERIES = "_series"
TITLES = {
    "aqm": "Active queue management",
    "arq": "Automatic repeat request",
    "fec": "Forward error correction",
    "feedback": "Feedback from routers",
    "demand": "Demand assignment",
    "beams": "Beams",
    "beam_modcods": "Airtime of beams",
    "beam_groups": "Groups of terminals",
    "beam_classes": "Classes of traffic",
    "beam_background": "Terminals in the background",
    "header_compression": "Header compression",
    "impairments": "Reordering and duplication",
    "middlebox": "Middleboxes",
    "mtu": "MTU",
    "tunnel": "Tunnels",
    "path_changes": "Detected changes of the path",
    "tunnel_end": "Outer connections of tunnels",
    "path_mtu": "Path MTU discovery",
    "ack_control": "ACK congestion control",
    "loss_notices": "Explicit loss notices",
    "best_effort": "Best-effort transport",
    "shaper": "Shapers",
    "policer": "Policers",
    "trace": "Traces",
    "proxies": "Split proxies",
    "acm": "Adaptive coding and modulation",
    "call": "Calls",
    "responses": "Responses to messages",
    "speedtest": "Speed tests",
    "switch": "Routers with several paths",
    "video": "Videos",
}
"""Kinds whose name alone says too little."""
COUNTED = ("bytes", "slots")
"""Last words of columns that count something else than packets."""


def mechanisms_section(run: Run, directions: Sequence[str], timeline: Timeline) -> Section:
    """The section; without blocks if the path has no mechanism."""
    of_flows = BY_FLOW if "beams" in run.recording.names else set()
    other = {*FIXED, *legs.TABLES, *of_flows}
    is_of_beam = re.compile("beams?(_|$)")
    names = [
        name for name in run.recording.names if name not in other and not is_of_beam.match(name)
    ]
    blocks: list[Table | Figure] = []
    for name in names:
        if name.endswith(SERIES):
            continue
        title = TITLES.get(name, name.replace("_", " "))
        of_kind = totals_of(run.recording, name)
        blocks.append(totals(name, title, of_kind))
        if name + SERIES in names:
            samples = with_one_name(run.recording.table(name + SERIES))
            is_of_links = samples.columns[0] == "link"
            labels = directions if is_of_links else labels_of(of_kind, samples)
            blocks += figures(name, title, samples, labels, timeline)
    return Section("mechanisms", "Mechanisms on the path", blocks)


def totals(name: str, title: str, table: pl.DataFrame) -> Table:
    """The totals of one kind of mechanism."""
    columns = []
    sizes = []
    for column, kind in table.schema.items():
        label, unit = in_words(column)
        # Of numbers of bytes each is shown, because they are counts.
        size, unit = on_pages(unit, table[column]) if unit == "bit/s" else (1.0, unit)
        columns.append(Column(label, unit, numeric=kind.is_numeric()))
        sizes.append(size)
    rows = [
        [cell(value, size) for value, size in zip(row, sizes, strict=True)]
        for row in table.iter_rows()
    ]
    return Table(f"{name}-table", title, columns, rows)


def with_one_name(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples with one column before the time: the names of their lines are joined."""
    names = samples.columns[: samples.columns.index("t_s")]
    if len(names) == 1:
        return samples
    joined = pl.concat_str(names, separator=", ").alias(names[0])
    return samples.with_columns(joined).drop(names[1:])


def labels_of(table: pl.DataFrame, samples: pl.DataFrame) -> list[str]:
    """Names of the lines of a figure: the texts of each row of totals, where these are its lines.

    Lines without such a row have the number that the samples have.
    """
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    entities = samples[samples.columns[0]]
    are_rows = entities.dtype.is_integer() and entities.n_unique() == table.height
    if not (texts and are_rows):
        return []
    return (
        table.select(pl.concat_str(texts, separator=", ", ignore_nulls=True)).to_series().to_list()
    )


def in_words(column: str) -> tuple[str, str]:
    """The heading of a column and its unit: `max_queue_delay_ms` is `max queue delay` in ms."""
    words, _, suffix = column.rpartition("_")
    if not words or suffix not in UNITS:
        return column.replace("_", " "), ""
    return words.replace("_", " "), UNITS[suffix]


def cell(value: Any, size: float = 1.0) -> Cell:
    """A cell of the table of totals, with a name, a count or another number."""
    if isinstance(value, str):
        return Cell(value)
    if size != 1 and value is not None:
        return Cell(significant(value / size, 4), value)
    return Cell(count(value) if isinstance(value, int) else significant(value, 4), value)


def figures(
    name: str, title: str, samples: pl.DataFrame, names: Sequence[str], timeline: Timeline
) -> list[Figure]:
    """Counts since the previous sample, one figure for each unit, and one for each other column.

    `names` are those of the lines. Columns that are true or false have no figure.
    """
    entity, _, *columns = (column for column, kind in samples.schema.items() if kind != pl.Boolean)
    counted = [column for column in columns if samples.schema[column].is_integer()]
    counts: dict[str, list[pl.DataFrame]] = {}
    for column in counted:
        lines = rises(samples, entity, column).rename({"rise": "y"})
        counts.setdefault(unit_of_count(column), []).append(
            lines_of(lines, names, in_words(column)[0])
        )
    drawn = [
        (
            "counts" if unit == "packets" else unit,
            f"{title}: {unit} since the previous sample",
            unit,
            lines,
        )
        for unit, lines in counts.items()
    ]
    for column in columns:
        if column not in counted:
            label, unit = in_words(column)
            size, unit = on_pages(unit, samples[column]) if unit in SCALES else (1.0, unit)
            values = samples.select(entity, "t_s", y=pl.col(column) / size).drop_nulls()
            y = f"{label} ({unit})" if unit else label
            drawn.append((column, f"{title}: {label}", y, [lines_of(values, names, "")]))
    return [
        line_figure(f"{name}-{what}", heading, "time (s)", y, points, timeline=timeline)
        for what, heading, y, lines in drawn
        if lines and not (points := pl.concat(lines)).is_empty()
    ]


def unit_of_count(column: str) -> str:
    """What a column counts: the last word of `requested_slots` says it."""
    suffix = column.rpartition("_")[2]
    return suffix if suffix in COUNTED else "packets"


def lines_of(table: pl.DataFrame, names: Sequence[str], what: str) -> pl.DataFrame:
    """The points of the lines that are not only zeros. The first column is the entity."""
    entity = table.columns[0]
    moving = table.filter(pl.col("y").abs().max().over(entity) > 0).sort(entity, "t_s")
    who = pl.col(entity).cast(pl.String)
    if names:
        who = pl.col(entity).replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    label = pl.format("{}, {}", pl.lit(what), who) if what else who
    return moving.select(label.alias("series"), x="t_s", y=pl.col("y").cast(pl.Float64))
