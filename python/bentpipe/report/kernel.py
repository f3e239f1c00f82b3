"""What the page of a run on a real kernel says of the emulation and of the settings."""

from __future__ import annotations

from typing import Any

from bentpipe.numbers import count, decimals, significant
from bentpipe.report.page import Cell, Column, Section, Table, Text, words

MARKS = {"honoured": "good", "reported": "bad"}


def kernel_summary(kernel: dict[str, Any]) -> str:
    """Whether the network was emulated well enough."""
    found = (
        "The run is valid: the network was emulated within its tolerance."
        if kernel["valid"]
        else "The run is NOT valid: the network was emulated worse than it may be."
    )
    return (
        f"It ran in real time on Linux {kernel['release']}. {found} 99 of 100 packets were at most "
        f"{decimals(kernel['delay_error_p99_ms'], 3)} ms late "
        f"({significant(kernel['tolerance_ms'])} ms are allowed), and "
        f"{count(kernel['lost_packets'])} packets were lost outside the links."
    )


def kernel_section(kernel: dict[str, Any]) -> Section:
    """How well the network was emulated, and what the kernel made of each setting."""
    blocks: list[Any] = [quality_table(kernel)]
    if kernel["rates"]:
        blocks.append(rates_table(kernel["rates"]))
    blocks.append(settings_table(kernel["settings"]))
    told = (
        "Reported means that the kernel does something else than the scenario asks for; compare "
        "such runs with the simulator with care."
    )
    return Section("kernel", "Emulation and kernel settings", [*blocks, Text([told])])


def quality_table(kernel: dict[str, Any]) -> Table:
    """Lateness and losses."""
    columns = [Column("quantity", numeric=False), Column("value"), Column("unit", numeric=False)]
    late = [
        [
            Cell(f"lateness of packets, {name}"),
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
            ("for no host of the scenario", "stray_packets"),
        )
    ]
    return Table("quality", "Quality of the emulation", columns, [*late, *counts])


def rates_table(rates: list[dict[str, Any]]) -> Table:
    """Rates of links while they were never idle."""
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
    """What became of each setting."""
    columns = [
        Column("flow", numeric=False),
        Column("setting", numeric=False),
        Column("verdict", numeric=False, choices=True),
        Column("asked", numeric=False),
        Column("what the kernel does", numeric=False),
    ]
    rows = [
        [
            *words(row["flow"], row["setting"]),
            Cell(row["verdict"], verdict=MARKS.get(row["verdict"], "none")),
            *words(row["asked"], row["kernel"]),
        ]
        for row in settings
    ]
    return Table("settings", "What the kernel made of the settings", columns, rows)
