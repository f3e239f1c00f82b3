"""`bentpipe rain` as users start it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as package
from bentpipe.durations import NANOSECONDS, seconds
from bentpipe.rain import METHODS, SPINO_DADDA, DiracLognormal, attenuation_exceeded, event

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

EVENT = ["rain", "event", "--peak", "12", "--duration", "20min", "--out", "fade.csv"]


def test_the_statistics_of_a_site(bentpipe: Bentpipe) -> None:
    printed = json.loads(bentpipe("rain", "statistics", "--json").stdout)
    assert printed["site"] == asdict(SPINO_DADDA)
    (row,) = (row for row in printed["exceeded"] if row["percent"] == 0.01)
    assert row["p618_db"] == attenuation_exceeded(SPINO_DADDA, 0.01)
    assert row["dirac_db"] == DiracLognormal.fit(SPINO_DADDA).attenuation_exceeded(0.01)
    assert set(printed["fits"]) == set(METHODS)
    assert "17.31" in bentpipe("rain", "statistics").stdout


def test_options_change_the_site(bentpipe: Bentpipe) -> None:
    done = bentpipe("rain", "statistics", "--json", "--frequency-ghz", "12", "--rain-percent", "4")
    site = json.loads(done.stdout)["site"]
    assert (site["frequency_ghz"], site["rain_percent"], site["elevation_deg"]) == (12.0, 4.0, 31.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_series_is_written(bentpipe: Bentpipe, tmp_path: Path, method: str) -> None:
    arguments = ["--method", method, "--duration", "2h", "--step", "500ms", "--seed", "3"]
    done = bentpipe("rain", "series", *arguments, "--out", "fade.parquet", "--json")
    frame = pl.read_parquet(tmp_path / "fade.parquet")
    expected = METHODS[method].fit(SPINO_DADDA).series(7200.0, 0.5, seed=3)
    assert frame.columns == ["time_s", "attenuation_db"]
    assert frame["time_s"].to_list() == expected.time_s.tolist()
    assert frame["attenuation_db"].to_list() == expected.attenuation_db.tolist()
    assert json.loads(done.stdout)["samples"] == 14_401


def test_an_event_is_written(bentpipe: Bentpipe, tmp_path: Path) -> None:
    done = bentpipe(*EVENT, "--peak-at", "5min", "--seed", "8")
    assert (done.returncode, done.stderr) == (0, "")
    frame = pl.read_csv(tmp_path / "fade.csv")
    fade = event(DiracLognormal.fit(SPINO_DADDA), 12.0, 1200.0, peak_at_s=300.0, seed=8)
    assert frame.columns == ["time_s", "attenuation_db"]
    assert frame["attenuation_db"].to_list() == fade.attenuation_db.tolist()
    assert frame["attenuation_db"][300] == frame["attenuation_db"].max() == 12.0
    assert [path.name for path in tmp_path.iterdir()] == ["fade.csv"]


def test_the_same_seed_gives_the_same_bytes(bentpipe: Bentpipe, tmp_path: Path) -> None:
    written = []
    for seed in ("4", "4", "5"):
        bentpipe(*EVENT, "--seed", seed)
        written.append((tmp_path / "fade.csv").read_bytes())
    assert written[0] == written[1] != written[2]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([*EVENT, "--duration", "20"], "'--duration': expected a time such as"),
        ([*EVENT, "--duration", "20mins"], "unknown unit 'mins'; one of ns, us, ms, s, min, h"),
        ([*EVENT, "--duration", "-20min"], "'--duration': expected a time"),
        ([*EVENT, "--duration", "1.5s"], "--duration: expected a whole number of steps of 1 s"),
        ([*EVENT, "--duration", "1000000h"], "--duration: expected"),
        ([*EVENT, "--step", "0s"], "--step: expected"),
        ([*EVENT, "--peak", "nan"], "--peak: expected a number from 0.01 to 200, found nan"),
        ([*EVENT, "--peak", "high"], "--peak"),
        ([*EVENT, "--peak-at", "20min"], "--peak-at: expected a time within the event"),
        ([*EVENT, "--elevations", "0,20"], "--elevations: expected a number from 5 to 90, found 0"),
        ([*EVENT, "--elevations", "20,95"], "--elevations: expected a number from 5 to 90"),
        ([*EVENT, "--seed", "-1"], "--seed"),
        ([*EVENT, "--method", "dirc"], "'dirac', 'p1853'"),
        ([*EVENT, "--out", "fade.txt"], "--out: expected a file that ends in .csv or .parquet"),
        ([*EVENT, "--out", "absent/fade.csv"], "cannot write absent/fade.csv"),
        ([*EVENT, "--elevation-deg", "2"], "--elevation-deg: expected a number from 5 to 90"),
        ([*EVENT, "--altitude-km", "5"], "--altitude-km: expected less than the rain height"),
        ([*EVENT, "--latitude-deg", "10"], "--altitude-km, --rain-rate-mmh"),
        ([*EVENT, "--longitude-deg", "10"], "--maps"),
        ([*EVENT, "--maps"], "--maps needs --latitude-deg, --longitude-deg and --altitude-km"),
        (["rain", "series", "--out", "fade.csv"], "--duration"),
        (["rain", "statistics", "--rain-percent", "0"], "--rain-percent: expected"),
        (["rain", "statistic"], "statistic"),
    ],
)
def test_wrong_arguments(
    bentpipe: Bentpipe, tmp_path: Path, arguments: list[str], answer: str
) -> None:
    done = bentpipe(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert answer in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_rain_height_follows_from_the_latitude(bentpipe: Bentpipe) -> None:
    place = ["--latitude-deg", "-30", "--altitude-km", "0.1"]
    rain = ["--rain-rate-mmh", "40", "--rain-percent", "5"]
    statistics = ["rain", "statistics", *place, *rain]
    found = json.loads(bentpipe(*statistics, "--json").stdout)
    assert found["site"]["rain_height_km"] == pytest.approx(4.1)
    assert "P.839-2" in found["approximated"]["rain_height_km"]
    assert "rain height 4.10 km, from the latitude" in bentpipe(*statistics).stdout
    assert "rain height 4.10 km" in bentpipe(*EVENT, *place, *rain).stdout
    given = json.loads(bentpipe(*statistics, "--rain-height-km", "4.5", "--json").stdout)
    assert (given["site"]["rain_height_km"], given["approximated"]) == (4.5, {})


def test_there_is_no_rain_height_at_the_poles(bentpipe: Bentpipe) -> None:
    place = ["--latitude-deg", "-89", "--altitude-km", "0.01", "--rain-rate-mmh", "4"]
    done = bentpipe("rain", "statistics", *place, "--rain-percent", "1")
    assert done.returncode == 2
    assert "--rain-height-km: expected a number from 0.1 to 10" in done.stderr


def test_maps_and_rain_of_ones_own_exclude_each_other(bentpipe: Bentpipe) -> None:
    place = ["--latitude-deg", "45.4", "--longitude-deg", "9.5", "--altitude-km", "0.1"]
    done = bentpipe("rain", "statistics", "--maps", *place, "--rain-percent", "5")
    assert done.returncode == 2
    assert "--rain-percent" in done.stderr


@pytest.mark.parametrize("number", ["1", "2.5", "20", "3.75"])
@pytest.mark.parametrize("unit", NANOSECONDS)
def test_times_are_read_as_in_scenarios(small: Path, number: str, unit: str) -> None:
    text = f"{number}{unit}"
    if unit == "ns" and "." in number:
        for reads in (seconds, lambda text: package.Scenario.load(small, [f"duration={text}"])):
            with pytest.raises(ValueError, match="it is no whole number of ns"):
                reads(text)
        return
    scenario = package.Scenario.load(small, [f"duration={text}"])
    assert seconds(text) == scenario.duration_s
