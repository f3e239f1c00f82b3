"""Measured paths and connections: `trace` and `replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, Completed, Duration, cli, json_option

if TYPE_CHECKING:
    from pathlib import Path


class Pair(click.ParamType[tuple[str, str]]):
    """Option type of a column and its name in a log."""

    name = "column"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Read `rtt_ms=RTT [ms]`, or fail."""
        ours, separator, theirs = value.partition("=")
        if not (ours and separator and theirs):
            self.fail(f"expected COLUMN=NAME such as rtt_ms=RTT, found {value!r}", param, ctx)
        return ours, theirs


@cli.group()
def trace() -> None:
    """Show what a measurement of a path has, and make a trace of it."""


@trace.command()
@click.argument("file", type=FILE)
@click.option("--format", "name", type=Completed("trace format"), metavar="FORMAT",
              help="Form of FILE; by default that of its content.")  # fmt: skip
@click.option("--column", "columns", type=Pair(), multiple=True, metavar="COLUMN=NAME",
              help="Column of a log of another program, such as 'rtt_ms=RTT [ms]'.")  # fmt: skip
@click.option("--nominal", type=Duration(), metavar="TIME",
              help="Spacing that the values should have, such as 100ms.")  # fmt: skip
@click.option("--direction", type=click.Choice(["up", "down"]),
              help="Direction, for files that have both.")  # fmt: skip
@click.option("--out", type=FILE, help="Write a trace to this file, .csv or .parquet.")
@click.option("--gaps", type=click.Choice(["hold", "outage"]),
              help="With --out: the value before a gap holds, or a gap is an outage.")  # fmt: skip
@json_option
def inspect(
    file: Path,
    name: str | None,
    columns: tuple[tuple[str, str], ...],
    nominal: float | None,
    direction: str | None,
    out: Path | None,
    gaps: str | None,
    as_json: bool,
) -> None:
    """Show spacing, gaps, loss, slots of 15 s and values of the measurement FILE.

    FILE is the output of ping, iperf3 or IRTT, a file of LEOViz, LENS, LeoEM or
    Starlink-5G-emulator, or a trace that a link reads. Gaps are never filled without --gaps.
    """
    from bentpipe.cli.root import once, refuse
    from bentpipe.traces.command import run

    once("--column ", [ours for ours, _ in columns])
    if gaps is not None and out is None:
        refuse("--gaps: only used with --out")
    if nominal == 0:
        refuse("--nominal: expected a time above 0s, found 0s")
    run(
        file,
        name=name,
        columns=dict(columns),
        nominal_s=nominal,
        direction=direction,
        gaps=gaps,
        out=out,
        as_json=as_json,
    )


@cli.group()
def replay() -> None:
    """Drive controllers with measured connections."""


@replay.command()
@click.argument("file", type=FILE)
@click.option(
    "--controller",
    "controllers",
    type=Completed("controller"),
    multiple=True,
    default=("cubic",),
    show_default=True,
    metavar="NAME",
    help="Controller, also with parameters as cubic:c=0.8; several are possible.",
)
@click.option("--out", type=FILE, help="Write the windows to this file, .csv or .parquet.")
@json_option
def cwnd(file: Path, controllers: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Compare a controller's window with that of a TCP sender in FILE, JSON of iperf3.

    The controller gets the losses and RTTs of FILE. The capacity of the path is not needed.
    """
    from bentpipe.replays.command import run

    run(file, controllers, out, as_json)
