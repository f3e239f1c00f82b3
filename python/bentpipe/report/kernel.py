"""The part of a run's page on the kernel's emulation and settings."""

from __future__ import annotations

from typing import Any

from bentpipe.numbers import count, decimals, significant
from bentpipe.report.page import Cell, Column, Section, Table, Text, words

MARKS = {"honoured": "good", "reported": "bad"}
VERDICTS = {"honoured": "applied", "reported": "approximated"}
"""Words for readers of the verdicts in the JSON."""


def kernel_summary(kernel: dict[str, Any]) -> str:
    """A sentence on the validity of the run."""
    found = (
        "The run is valid: the emulation was within its tolerance."
        if kernel["valid"]
        else "The run is NOT valid: the emulation exceeded its tolerance."
    )
    return (
        f"It ran in real time on Linux {kernel['release']}. {found} The delay error is at most "
        f"{decimals(kernel['delay_error_p99_ms'], 3)} ms for 99 % of the packets "
        f"({significant(kernel['tolerance_ms'])} ms allowed). "
        f"{count(kernel['lost_packets'])} packets were lost outside the links."
    )


def kernel_section(kernel: dict[str, Any]) -> Section:
    """The accuracy of the emulation, and each setting as applied by the kernel."""
    blocks: list[Any] = [quality_table(kernel)]
    if kernel["rates"]:
        blocks.append(rates_table(kernel["rates"]))
    blocks.append(settings_table(kernel["settings"]))
    told = (
        "Approximated means that the kernel applies another value than the scenario sets. Be "
        "careful when you compare such runs with the simulator."
    )
    return Section("kernel", "Emulation and kernel settings", [*blocks, Text([told])])


def quality_table(kernel: dict[str, Any]) -> Table:
    """Delay errors and losses."""
    columns = [Column("quantity", numeric=False), Column("value"), Column("unit", numeric=False)]
    late = [
        [
            Cell(f"delay error, {name}"),
            Cell(decimals(kernel[key], 3), kernel[key]),
            Cell("ms"),
        ]
        for name, key in (
            ("median", "delay_error_p50_ms"),
            ("99th percentile", "delay_error_p99_ms"),
            ("maximum", "delay_error_max_ms"),
        )
    ]
    counts = [
        [Cell(name), Cell(count(kernel[key]), kernel[key]), Cell("packets")]
        for name, key in (
            ("timed", "timed_packets"),
            ("lost outside the links", "lost_packets"),
            ("not addressed to a host of the scenario", "stray_packets"),
        )
    ]
    return Table("quality", "Accuracy of the emulation", columns, [*late, *counts])


def rates_table(rates: list[dict[str, Any]]) -> Table:
    """Rates of links while they were busy."""
    columns = [
        Column("link", numeric=False),
        Column("direction", numeric=False),
        Column("configured", "Mbit/s"),
        Column("achieved", "Mbit/s"),
    ]
    rows = [
        [
            *words(rate["link"], rate["direction"]),
            *(
                Cell(significant(None if rate[key] is None else rate[key] / 1e6), rate[key])
                for key in ("configured_bps", "achieved_bps")
            ),
        ]
        for rate in rates
    ]
    return Table("rates", "Rate of the last link before each host", columns, rows)


def settings_table(settings: list[dict[str, Any]]) -> Table:
    """Each setting of the scenario and the value that the kernel applies."""
    columns = [
        Column("flow", numeric=False),
        Column("setting", numeric=False),
        Column("verdict", numeric=False, choices=True),
        Column("scenario", numeric=False),
        Column("applied by the kernel", numeric=False),
    ]
    rows = [
        [
            *words(row["flow"], row["setting"]),
            Cell(
                VERDICTS.get(row["verdict"], row["verdict"]),
                verdict=MARKS.get(row["verdict"], "none"),
            ),
            *words(row["asked"], row["kernel"]),
        ]
        for row in settings
    ]
    return Table("settings", "Settings as applied by the kernel", columns, rows)
