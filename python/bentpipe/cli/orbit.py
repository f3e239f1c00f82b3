"""Paths over satellites that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bentpipe.cli.root import FILE, cli, json_option

if TYPE_CHECKING:
    from pathlib import Path


@cli.command("orbit")
@click.argument("file", type=FILE)
@click.option("--out", type=FILE, help="Write the series to this file, .csv or .parquet.")
@click.option(
    "--figures",
    type=FILE,
    metavar="DIR",
    help="Write delay.svg, sky.svg and map.svg into this folder, and rate.svg with a signal.",
)
@json_option
def compute_orbit(file: Path, out: Path | None, figures: Path | None, as_json: bool) -> None:
    """Compute delay, elevation, outages and hand-overs of a path over satellites.

    FILE is TOML with satellites, places, a time and rules: see docs/orbit.md. The series that --out
    writes is a trace that a link of a scenario reads.
    """
    from bentpipe.orbits.command import compute

    compute(file, out, figures, as_json)
