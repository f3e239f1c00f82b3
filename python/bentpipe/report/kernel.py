"""The part of a run's page on the kernel's emulation and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bentpipe.numbers import NONE, count, decimals, scaled, significant
from bentpipe.report.page import Cell, Column, Section, Table, Text, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe._native import KernelQuality, KernelSetting, LinkRate

MARKS = {"applied": "good", "approximated": "bad"}


def kernel_summary(kernel: KernelQuality) -> str:
    """A sentence on the validity of the run."""
    ran = f"It ran in real time on Linux {kernel.release}."
    lost = f"{count(kernel.lost_packets)} packets were lost outside the links."
    if not kernel.timed_packets:
        return f"{ran} No packet crossed a link, so its accuracy is unknown. {lost}"
    found = (
        "The run is valid: the emulation was within its tolerance."
        if kernel.valid
        else "The run is NOT valid: the emulation exceeded its tolerance."
    )
    return (
        f"{ran} {found} The delay error is at most "
        f"{decimals(kernel.delay_error_p99_ms, 3)} ms for 99 % of the packets "
        f"({significant(kernel.tolerance_ms)} ms allowed). {lost}"
    )


def kernel_section(kernel: KernelQuality) -> Section:
    """The accuracy of the emulation, and each setting as applied by the kernel."""
    blocks: list[Any] = [quality_table(kernel)]
    if kernel.rates:
        blocks.append(rates_table(kernel.rates))
    blocks.append(settings_table(kernel.settings))
    described = (
        "Approximated means that the kernel applies another value than the scenario sets. Be "
        "careful when you compare such runs with the simulator."
    )
    return Section("kernel", "Emulation and kernel settings", [*blocks, Text([described])])


def quality_table(kernel: KernelQuality) -> Table:
    """Delay errors and losses."""
    columns = [Column("quantity", numeric=False), Column("value"), Column("unit", numeric=False)]
    late = [
        [
            Cell(f"delay error, {name}"),
            Cell(decimals(value, 3), value) if kernel.timed_packets else Cell(NONE),
            Cell("ms"),
        ]
        for name, value in (
            ("median", kernel.delay_error_p50_ms),
            ("99th percentile", kernel.delay_error_p99_ms),
            ("maximum", kernel.delay_error_max_ms),
        )
    ]
    counts = [
        [Cell(name), Cell(count(value), value), Cell("packets")]
        for name, value in (
            ("timed", kernel.timed_packets),
            ("lost outside the links", kernel.lost_packets),
            ("not addressed to a host of the scenario", kernel.stray_packets),
        )
    ]
    return Table("quality", "Accuracy of the emulation", columns, [*late, *counts])


def rates_table(rates: Sequence[LinkRate]) -> Table:
    """Rates of links while they were busy."""
    columns = [
        Column("link", numeric=False),
        Column("direction", numeric=False),
        Column("configured", "Mbit/s"),
        Column("achieved", "Mbit/s"),
    ]
    rows = [
        [
            *words(rate.link, rate.direction),
            *(
                Cell(scaled(value, 1e-6), value)
                for value in (rate.configured_bps, rate.achieved_bps)
            ),
        ]
        for rate in rates
    ]
    return Table("rates", "Rate of the last link before each host", columns, rows)


def settings_table(settings: Sequence[KernelSetting]) -> Table:
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
            *words(row.flow, row.setting),
            Cell(
                row.verdict,
                verdict=MARKS.get(row.verdict, "none"),
            ),
            *words(row.asked, row.kernel),
        ]
        for row in settings
    ]
    return Table("settings", "Settings as applied by the kernel", columns, rows)
