"""`bentpipe orbit` and `bentpipe constellations` as users start them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as package
from bentpipe._native import orbit_columns, orbit_schema
from bentpipe.orbits.figures import delay_figure, sky_figure
from bentpipe.orbits.frame import frame

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

ORBIT = """\
constellation = "starlink-550"
epoch = 2026-11-27T12:00:00Z
duration = "2min"
step = "1s"
from = "Paris"
to = "Frankfurt"
choice = "highest"
when = "slot"
outage = "100ms"

[[place]]
name = "Frankfurt"
latitude_deg = 50.11
longitude_deg = 8.68
"""
HYPATIA = """\
constellation = "hypatia-kuiper-630"
epoch = 2000-01-01T00:00:00Z
duration = "200s"
step = "100ms"
from = "Manila"
to = "Saint Petersburg"
relay = "lasers"
"""
SCENARIO = """\
duration = "60s"

[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
trace = {trace}

[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = {{ download = "20MB" }}
"""


@pytest.fixture
def orbit(tmp_path: Path) -> package.OrbitSeries:
    """The series of `ORBIT`, whose file is in the folder of the test."""
    (tmp_path / "orbit.toml").write_text(ORBIT, encoding="utf-8")
    return package.orbit(tmp_path / "orbit.toml")


@pytest.mark.usefixtures("orbit")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_series_runs_as_a_trace(bentpipe: Bentpipe, tmp_path: Path, suffix: str) -> None:
    done = bentpipe("orbit", "orbit.toml", "--out", f"path.{suffix}")
    assert (done.returncode, done.stderr) == (0, "")
    read = pl.read_csv if suffix == "csv" else pl.read_parquet
    saved = read(tmp_path / f"path.{suffix}")
    assert saved.columns == orbit_columns()
    assert saved["t_s"][0] == 0.0
    scenarios = {"file": f'"path.{suffix}"', "fly": '{ orbit = "orbit.toml" }'}
    runs = []
    for name, trace in scenarios.items():
        (tmp_path / f"{name}.toml").write_text(SCENARIO.format(trace=trace), encoding="utf-8")
        runs.append(package.run(package.Scenario.load(tmp_path / f"{name}.toml"), seed=1))
    first, second = (run.flows.drop("wall_s", strict=False) for run in runs)
    assert first.equals(second)
    assert first["completion_s"][0] > 8.0
    # The path decides: another one gives another time.
    other = ORBIT.replace('to = "Frankfurt"', 'to = "Moscow"\nrelay = "lasers"')
    (tmp_path / "orbit.toml").write_text(other, encoding="utf-8")
    third = package.run(package.Scenario.load(tmp_path / "fly.toml"), seed=1)
    assert third.flows["completion_s"][0] != first["completion_s"][0]


def test_rows_describe_the_path(orbit: package.OrbitSeries) -> None:
    table = frame(orbit)
    assert table.height == len(orbit.t_s) > 120
    assert orbit.satellites == 1584
    up = table.filter(pl.col("satellite").is_not_null())
    assert up["elevation_deg"].min() >= 25.0  # type: ignore[operator]
    assert set(up["to"]) == {"Frankfurt"}
    # A bent pipe: one satellite, and the way up is at least its altitude.
    assert (up["satellite"] == up["to_satellite"]).all()
    assert up["delay_ms"].min() > 2 * 550 / 299.792458  # type: ignore[operator]
    silent = table.filter(pl.col("outage") == 1)
    assert silent["t_s"].to_list() == [one.t_s for one in orbit.handovers if one.outage_s > 0]
    assert all(one.outage_s == 0.1 for one in orbit.handovers)


def test_the_same_file_gives_the_same_bytes(bentpipe: Bentpipe, tmp_path: Path) -> None:
    written = []
    for rule in ("random", "random", "highest"):
        text = ORBIT.replace('"highest"', f'"{rule}"')
        (tmp_path / "orbit.toml").write_text(text, encoding="utf-8")
        assert bentpipe("orbit", "orbit.toml", "--out", "path.csv").returncode == 0
        written.append((tmp_path / "path.csv").read_bytes())
    assert written[0] == written[1] != written[2]


def test_hypatia_as_a_command(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """Numbers of Hypatia's golden files (snkas/hypatia @0ac531c): an RTT, and times."""
    (tmp_path / "orbit.toml").write_text(HYPATIA, encoding="utf-8")
    done = bentpipe("orbit", "orbit.toml", "--json")
    printed = json.loads(done.stdout)
    totals = printed["totals"]
    assert math.isclose(2 * totals["delay_min_ms"], 69.4120, abs_tol=0.001)
    (gap,) = printed["gaps"]
    # The bound of the distance decides the end, which is one step later in the files.
    assert (gap["start_s"], gap["end_s"]) == (155.4, 165.1)
    assert gap["reason"].startswith("Saint Petersburg sees no satellite: kuiper-630/")
    assert "km beyond the longest distance of 1260.0 km" in gap["reason"]
    times = [one["t_s"] for one in printed["handovers"]]
    assert times == [3.2, 139.5, 150.1, 165.1, 178.8]
    text = bentpipe("orbit", "orbit.toml").stdout
    assert "no path from 155.4 to 165.1 s: Saint Petersburg sees no satellite" in text


def test_figures_show_delays_and_the_sky(
    bentpipe: Bentpipe, tmp_path: Path, orbit: package.OrbitSeries
) -> None:
    done = bentpipe("orbit", "orbit.toml", "--figures", "figures", "--json")
    assert json.loads(done.stdout)["files"] == ["figures/delay.svg", "figures/sky.svg"]
    for name in ("delay", "sky"):
        assert "</svg>" in (tmp_path / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    delay = delay_figure(orbit)
    assert delay.data["y"].max() == max(orbit.delay_ms)
    events = json.dumps(delay.specification)
    assert all(one.satellite_after in events for one in orbit.handovers)
    sky = sky_figure(orbit).data
    # The distance from the middle is 90 degrees less the elevation, and north is at the top.
    row = sky.row(0, named=True)
    assert math.isclose(math.hypot(row["x"], row["y"]), 90 - row["elevation_deg"])
    assert math.isclose(math.degrees(math.atan2(row["x"], row["y"])) % 360, row["azimuth_deg"])
    points = sky.filter(pl.col("series").cast(pl.String) == "hand-over")
    assert points["t_s"].to_list() == [one.t_s for one in orbit.handovers]


def test_constellations_are_listed_with_their_sources(bentpipe: Bentpipe) -> None:
    listed = json.loads(bentpipe("constellations", "--json").stdout)["constellations"]
    totals = {one["name"]: one["satellites"] for one in listed}
    assert (totals["starlink"], totals["kuiper"], totals["oneweb"]) == (4408, 3236, 588)
    assert all(one["source"] and one["certainty"] for one in listed)
    assert "starlink-550" in bentpipe("constellations").stdout
    described = bentpipe("constellations", "o3b-mpower").stdout
    assert "reconstructed" in described
    assert "from memory" in described
    wrong = bentpipe("constellations", "starlink550")
    assert wrong.returncode == 2
    assert "did you mean 'starlink-550'" in wrong.stderr


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ("starlink-550", "starlink-55O", "orbit.toml:1:17: constellation: expected the name of a"),
        ('"Paris"', '"Pariss"', 'found "Pariss"'),
        ("2min", "2m", "orbit.toml:3:12: duration: expected a time"),
        ('duration = "2min"', 'durations = "2min"', "did you mean"),
        ("50.11", "89.9", "Frankfurt sees no satellite: starlink-550/"),
        ('constellation = "starlink-550"', 'elements = "no.tle"', "found no such file"),
    ],
)
def test_bad_input_writes_nothing(
    bentpipe: Bentpipe, tmp_path: Path, old: str, new: str, answer: str
) -> None:
    assert old in ORBIT
    (tmp_path / "orbit.toml").write_text(ORBIT.replace(old, new), encoding="utf-8")
    done = bentpipe("orbit", "orbit.toml", "--out", "path.csv", "--figures", "figures")
    assert done.returncode == 2
    assert answer in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["orbit.toml"]


@pytest.mark.usefixtures("orbit")
def test_the_file_of_the_series_is_csv_or_parquet(bentpipe: Bentpipe) -> None:
    done = bentpipe("orbit", "orbit.toml", "--out", "path.txt")
    assert done.returncode == 2
    assert "--out: expected a file that ends in .csv or .parquet, found path.txt" in done.stderr


def test_errors_of_an_orbit_in_a_scenario_have_its_place(tmp_path: Path) -> None:
    (tmp_path / "orbit.toml").write_text(ORBIT.replace("Paris", "Pariss"), encoding="utf-8")
    text = SCENARIO.format(trace='{ orbit = "orbit.toml" }')
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    with pytest.raises(package.ScenarioError) as caught:
        package.Scenario.load(tmp_path / "run.toml")
    assert f"{tmp_path / 'orbit.toml'}:5:8: link[0].trace.orbit: expected the name" in str(
        caught.value
    )


def test_the_schema_has_all_keys() -> None:
    keys = json.loads(orbit_schema())["properties"]
    assert {"constellation", "walker", "elements", "epoch", "relay", "choice"} <= set(keys)


ELEMENTS = """\
1 00001U 26001A   26331.50000000  .00000000  00000-0  00000-0 0  9990
2 00001   0.0100 120.0000 0001000   0.0000   0.0000  1.00270000    16
"""
"""A satellite above the equator, high enough to stay in sight. Its values are chosen here."""


def checked(elements: str) -> str:
    """Two-line elements with their checksums (digits, and one for a minus, modulo 10)."""
    lines = [line[:68] for line in elements.splitlines()]
    sums = [sum(int(c) if c.isdigit() else c == "-" for c in line) % 10 for line in lines]
    return "".join(f"{line}{number}\n" for line, number in zip(lines, sums, strict=True))


def test_a_saved_run_has_the_elements_of_its_orbit(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "sky.tle").write_text(checked(ELEMENTS), encoding="utf-8")
    (tmp_path / "sky.toml").write_text(
        'elements = "sky.tle"\nepoch = 2026-11-27T12:00:00Z\nduration = "1h"\nstep = "5s"\n'
        'range_km = 50000\nfrom = "Istanbul"\nto = "Nairobi"\n',
        encoding="utf-8",
    )
    scenario = SCENARIO.replace("trace = {trace}", 'orbit = "sky.toml"').format()
    (tmp_path / "a.toml").write_text(scenario, encoding="utf-8")
    assert bentpipe("run", "a.toml", "--out", "first").returncode == 0
    assert (tmp_path / "first" / "input-0.tle").read_text() == checked(ELEMENTS)
    for name in ("sky.tle", "sky.toml", "a.toml"):
        (tmp_path / name).unlink()
    again = bentpipe("run", "first/scenario.toml", "--out", "second")
    assert again.returncode == 0, again.stderr
    first, second = (package.Recording.load(tmp_path / name) for name in ("first", "second"))
    assert first.flows[0].to_dict() == second.flows[0].to_dict()
    # The delay is that of the satellite: more than 2 x 35,000 km in each direction.
    rtt = first.flows[0].min_rtt_ms
    assert rtt is not None
    assert rtt > 450


def test_the_epoch_of_a_scenario_decides_the_delay(tmp_path: Path) -> None:
    """A low orbit moves in ten minutes."""
    (tmp_path / "orbit.toml").write_text(ORBIT.replace("2min", "20min"), encoding="utf-8")
    link = {"between": ["a", "b"], "rate": "5Mbit/s", "orbit": str(tmp_path / "orbit.toml")}
    flow = {"from": "a", "to": "b", "controller": "cubic", "traffic": {"download": "100kB"}}
    times = [
        package.run(
            package.Scenario.build(
                name="flight", duration="30s", link=[link], flow=[flow], epoch=f"2026-11-27T{time}Z"
            ),
            seed=1,
        ).flows["completion_s"][0]
        for time in ("12:00:00", "12:10:00")
    ]
    assert times[0] != times[1]
    plain = package.Scenario.build(name="flight", duration="30s", link=[link], flow=[flow])
    assert package.run(plain, seed=1).flows["completion_s"][0] == times[0]
