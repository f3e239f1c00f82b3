"""The commands `bentpipe rain statistics`, `series`, `event` and `cells`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from bentpipe.console import show, table
from bentpipe.errors import BentpipeError, RainError
from bentpipe.numbers import decimals
from bentpipe.prototypes.spec import items
from bentpipe.rain.cells import Grid, cells
from bentpipe.rain.elevations import at_elevations
from bentpipe.rain.event import event
from bentpipe.rain.series import check_suffix
from bentpipe.rain.site import SPINO_DADDA, Site, rain_height_km
from bentpipe.rain.statistics import TABLE_PERCENT, attenuation_exceeded
from bentpipe.rain.synthesis import METHODS, DiracLognormal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bentpipe.rain.elevations import Elevations
    from bentpipe.rain.series import Series
    from bentpipe.rain.synthesis import Synthesis

    Options = Mapping[str, Any]

RAIN = ("rain_rate_mmh", "rain_height_km", "rain_percent")
FROM_LATITUDE = "from the latitude (ITU-R P.839-2)"
OPTIONS = {
    "duration_s": "--duration",
    "step_s": "--step",
    "peak_db": "--peak",
    "peak_at_s": "--peak-at",
    "path": "--out",
}
"""Options whose names differ from those of the argument or field."""


@dataclass(frozen=True)
class Output:
    """The file of a series, its elevations as the option has them, and the form of the summary."""

    path: Path
    elevations: str | None
    as_json: bool


def print_statistics(options: Options, as_json: bool) -> None:
    """Print the site and its exceeded attenuation, by P.618 and by the series of both methods."""
    with named_as_options():
        site = site_from(options)
        methods = {name: method.fit(site) for name, method in METHODS.items()}
        rows = [
            {"percent": percent, "p618_db": attenuation_exceeded(site, percent)}
            | {f"{name}_db": fit.attenuation_exceeded(percent) for name, fit in methods.items()}
            for percent in TABLE_PERCENT
        ]
    fits = {name: {"m": fit.m, "sigma": fit.sigma} for name, fit in methods.items()}
    if as_json:
        source = {"rain_height_km": FROM_LATITUDE} if height_is_approximated(options) else {}
        found = {"site": asdict(site), "approximated": source, "fits": fits, "exceeded": rows}
        click.echo(json.dumps(found))
        return
    print_approximation(site, options)
    show(", ".join(f"{name} {value:g}" for name, value in asdict(site).items()))
    listed = table("% of the time", "P.618 dB", *(f"{name} series dB" for name in methods))
    for row in rows:
        percent, *attenuations = row.values()
        listed.add_row(f"{percent:g}", *(decimals(value, 2) for value in attenuations))
    show(listed)


def write_series(
    options: Options, method: str, duration: float, step: float, seed: int, output: Output
) -> None:
    """Write a stationary series and print a summary."""
    with named_as_options():
        check_suffix(output.path)
        elevations = degrees(output.elevations)
        site = site_from(options)
        series = METHODS[method].fit(site).series(duration, step, seed=seed)
        save(series, site, METHODS[method], output, elevations)
    if not output.as_json:
        print_approximation(site, options)


def write_event(
    options: Options,
    peak: float,
    peak_at: float | None,
    method: str,
    duration: float,
    step: float,
    seed: int,
    output: Output,
) -> None:
    """Write an event and print a summary."""
    with named_as_options():
        check_suffix(output.path)
        elevations = degrees(output.elevations)
        site = site_from(options)
        series = event(
            METHODS[method].fit(site), peak, duration, step, peak_at_s=peak_at, seed=seed
        )
        save(series, site, METHODS[method], output, elevations)
    if not output.as_json:
        print_approximation(site, options)


def write_cells(
    options: Options,
    grid: Mapping[str, Any],
    least_rain: float,
    duration: float,
    step: float,
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Write the series of a grid of weather cells and print a summary."""
    with named_as_options():
        check_suffix(out)
        method = DiracLognormal.fit(site_from(options))
        found = cells(method, Grid(**grid), duration, step, seed=seed, least_rain=least_rain)
    found.save(out)
    attenuation = found.attenuation_db
    samples, count = attenuation.shape
    held = {
        "file": str(out),
        "cells": count,
        "samples": samples,
        "peak_db": float(attenuation.max()),
        "rain_share": found.rain_share,
        "most_cells_in_rain": int((attenuation > 0).sum(axis=1).max()),
        "draws": found.draws,
    }
    if as_json:
        click.echo(json.dumps(held))
        return
    click.echo(
        f"{out}: {count} cells, {samples:,} samples, peak {held['peak_db']:.2f} dB, rain in "
        f"{found.rain_share:.1%} of all cells and times, in at most "
        f"{held['most_cells_in_rain']} cells at once"
    )
    if least_rain > 0:
        windows = "window" if found.draws == 1 else "windows"
        click.echo(f"{found.draws} {windows} of {duration:g} s drawn until one had this rain")
    print_approximation(site_from(options), options)


def save(
    series: Series,
    site: Site,
    method: type[Synthesis],
    output: Output,
    elevations: Sequence[float] | None,
) -> None:
    """Write the file, and print its name and a summary."""
    out = output.path
    saved: Series | Elevations = series
    peaks = {}
    if elevations is not None:
        saved = at_elevations(series, site, method, elevations)
        peaks = {one: float(level.max()) for one, level in saved.attenuation_db.items()}
    saved.save(out)
    attenuation = series.attenuation_db
    samples, peak = len(attenuation), float(attenuation.max())
    rain = float((attenuation > 0).mean())
    if output.as_json:
        held: dict[str, Any] = {
            "file": str(out), "samples": samples, "peak_db": peak, "rain_share": rain,
        }  # fmt: skip
        if peaks:
            held["elevations"] = [
                {"elevation_deg": one, "peak_db": peak} for one, peak in peaks.items()
            ]
        click.echo(json.dumps(held))
        return
    click.echo(f"{out}: {samples:,} samples, peak {peak:.2f} dB, rain in {rain:.1%} of them")
    if peaks:
        listed = ", ".join(f"{peak:.2f} dB at {one:g} degrees" for one, peak in peaks.items())
        click.echo(f"peak by elevation: {listed}")


def degrees(text: str | None) -> list[float] | None:
    """The elevations of an option, None without it; `RainError` if one is no number."""
    if text is None:
        return None
    parts = items("--elevations", text)
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise RainError("elevations", "numbers with commas between them", repr(text)) from None


def site_from(options: Options) -> Site:
    """The site that the options describe.

    The rain of one place is never combined with the latitude of another, so both must be given.
    """
    given = {name: value for name, value in options.items() if value is not None}
    maps, longitude = given.pop("maps"), given.pop("longitude_deg", None)
    if maps:
        place = {"latitude_deg", "altitude_km"} - given.keys()
        if place or longitude is None:
            raise BentpipeError("--maps needs --latitude-deg, --longitude-deg and --altitude-km")
        if given.keys() & set(RAIN):
            raise BentpipeError(f"--maps gives what {listed_options(RAIN)} would; leave one out")
        link = {
            name: getattr(SPINO_DADDA, name)
            for name in ("elevation_deg", "frequency_ghz", "tilt_deg")
        }
        return Site.from_maps(longitude_deg=longitude, **(link | given))
    if longitude is not None:
        raise BentpipeError("--longitude-deg is only used with --maps")
    needed = ("altitude_km", "rain_rate_mmh", "rain_percent")
    missing = [name for name in needed if name not in given]
    if "latitude_deg" in given:
        if missing:
            raise BentpipeError(
                f"--latitude-deg names another place, so its {listed_options(missing)} must be "
                "given too; or --maps reads its rain from the ITU-R's maps"
            )
        if height_is_approximated(options):
            given["rain_height_km"] = rain_height_km(given["latitude_deg"])
    return replace(SPINO_DADDA, **given)


def height_is_approximated(options: Options) -> bool:
    """Return true if the rain height follows from the latitude, because no option gives it."""
    other_place = options["latitude_deg"] is not None and not options["maps"]
    return other_place and options["rain_height_km"] is None


def print_approximation(site: Site, options: Options) -> None:
    """Print the rain height and its source if no option gave it."""
    if height_is_approximated(options):
        height = f"{site.rain_height_km:.2f}"
        click.echo(f"rain height {height} km, {FROM_LATITUDE}; --rain-height-km gives another")


@contextmanager
def named_as_options() -> Iterator[None]:
    """Turn errors of the models into errors that name the option instead of the argument."""
    try:
        yield
    except RainError as error:
        option = OPTIONS.get(error.parameter) or option_of(error.parameter)
        raise BentpipeError(f"{option}: expected {error.expected}, found {error.found}") from error


def option_of(name: str) -> str:
    """The option for a field of a site."""
    return f"--{name.replace('_', '-')}"


def listed_options(names: tuple[str, ...] | list[str]) -> str:
    """Options in a sentence."""
    return ", ".join(map(option_of, names))
