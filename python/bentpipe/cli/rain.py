"""Attenuation by rain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bentpipe.cli.root import FILE, Duration, cli, json_option, seed_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SITE_OPTIONS = {
    "latitude-deg": "Latitude of the station, north positive.",
    "longitude-deg": "Longitude of the station; only with --maps.",
    "altitude-km": "Altitude of the station above the sea.",
    "elevation-deg": "Elevation of the satellite.",
    "frequency-ghz": "Frequency of the carrier.",
    "tilt-deg": "Tilt of the polarisation to the horizontal; 45 for circular.",
    "rain-rate-mmh": "Rain rate exceeded 0.01 % of the year.",
    "rain-height-km": "Rain height above the sea; by default from the latitude (P.839-2).",
    "rain-percent": "Share of the time in which it rains.",
}


def site_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a site, which the command gets by their names as `site`."""
    maps = click.option(
        "--maps", is_flag=True, help="Read the rain statistics from the maps of the ITU-R."
    )
    command = maps(command)
    for name, text in reversed(SITE_OPTIONS.items()):
        command = click.option(f"--{name}", type=float, metavar="NUMBER", help=text)(command)
    return command


def series_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that all series of attenuation have in common."""
    method = click.option(
        "--method",
        type=click.Choice(["dirac", "p1853"]),
        default="dirac",
        show_default=True,
        help="Dirac and lognormal (dirac), or ITU-R P.1853-1.",
    )
    elevations = click.option(
        "--elevations",
        metavar="A,B,...",
        help="Write a column for each of these elevations, such as 25,40,60,90, for the signal of "
        "a path over satellites (bentpipe orbit).",
    )
    return method(elevations(file_options("1s")(command)))


def file_options(step: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of all files of attenuation, with samples every `step` by default."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in (
            site_options,
            json_option,
            click.option(
                "--out", type=FILE, required=True, help="File to write, .csv or .parquet."
            ),
            seed_option,
            click.option(
                "--step",
                type=Duration(),
                default=step,
                show_default=True,
                help="Time between samples.",
            ),
            click.option(
                "--duration",
                type=Duration(),
                required=True,
                help="Time from the first to the last sample.",
            ),
        ):
            command = option(command)
        return command

    return decorate


@cli.group()
def rain() -> None:
    """Rain attenuation of a site: statistics, and time series for the channel of a link.

    The default site is Spino d'Adda in the Po valley: 45.4 degrees north, 19.77 GHz, 31 degrees of
    elevation. Options change it. If you change the latitude, also give the altitude, the rain rate
    and the share of rainy time.
    """


@rain.command("statistics")
@site_options
@json_option
def rain_statistics(as_json: bool, **site: Any) -> None:
    """Print the attenuation exceeded for a share of the year, by P.618 and by the series."""
    from bentpipe.rain.command import print_statistics

    print_statistics(site, as_json)


@rain.command("series")
@series_options
def rain_series(
    method: str,
    elevations: str | None,
    duration: float,
    step: float,
    seed: int,
    out: Path,
    as_json: bool,
    **site: Any,
) -> None:
    """Write a stationary series. Most hours of it are dry."""
    from bentpipe.rain.command import Output, write_series

    write_series(site, method, duration, step, seed, Output(out, elevations, as_json))


@rain.command("event")
@click.option("--peak", type=float, required=True, metavar="DB", help="Maximum attenuation in dB.")
@click.option("--peak-at", type=Duration(), help="Time of the maximum; by default the middle.")
@series_options
def rain_event(
    peak: float,
    peak_at: float | None,
    method: str,
    elevations: str | None,
    duration: float,
    step: float,
    seed: int,
    out: Path,
    as_json: bool,
    **site: Any,
) -> None:
    """Write one rain event with a given peak and duration."""
    from bentpipe.rain.command import Output, write_event

    output = Output(out, elevations, as_json)
    write_event(site, peak, peak_at, method, duration, step, seed, output)


@rain.command("cells")
@click.option("--rows", type=int, default=8, show_default=True, help="Rows of the grid.")
@click.option("--columns", type=int, default=8, show_default=True, help="Columns of the grid.")
@click.option(
    "--spacing-km", type=float, default=25.0, show_default=True, help="Distance of neighbours."
)
@click.option(
    "--least-rain",
    type=float,
    default=0.0,
    metavar="SHARE",
    help="Draw windows until one has rain in this share of all cells and times.",
)
@file_options("10s")
def rain_cells(
    rows: int,
    columns: int,
    spacing_km: float,
    least_rain: float,
    duration: float,
    step: float,
    seed: int,
    out: Path,
    as_json: bool,
    **site: Any,
) -> None:
    """Write correlated series for a grid of weather cells: the rain over a beam.

    Cells near each other have rain together (ITU-R P.1853-2, from one open implementation). The
    file has one column for each cell. All cells have the climate of the site.
    """
    from bentpipe.rain.command import write_cells

    grid = {"rows": rows, "columns": columns, "spacing_km": spacing_km}
    write_cells(site, grid, least_rain, duration, step, seed, out, as_json)
