"""`bentpipe orbit` and `bentpipe constellations` as users start them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import polars as pl
import pytest

import bentpipe as package
from bentpipe._native import orbit_columns, orbit_schema
from bentpipe.cite.used import of_scenario
from bentpipe.orbits.figures import delay_figure, rate_figure, sky_figure
from bentpipe.orbits.frame import frame
from bentpipe.orbits.maps import HOP, PLACE, WAY, map_figure
from bentpipe.rain import SPINO_DADDA, DiracLognormal, at_elevations, event
from bentpipe.study.scenarios import Base

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


SIGNAL = """
[signal]
es_n0 = 13
modem = { name = "dvb-s2x", bandwidth = 60e6, delay = "50ms" }
attenuation = "rain.csv"
"""
RAIN = ("rain", "event", "--peak", "12", "--duration", "2min", "--seed", "1", "--out", "rain.csv")
ELEVATIONS = ("--elevations", "20,25,30,40,60,90")
FLIGHT = """\
utc,latitude_deg,longitude_deg,altitude_ft
2026-11-27T12:00:00Z,48.85,2.35,0
2026-11-27T12:02:00Z,48.70,2.25,6000
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
    of_signal = ("rate_bps", "loss_ratio", "rain_db", "es_n0_db", "modcod")
    assert saved.columns == [name for name in orbit_columns() if name not in of_signal]
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
    assert json.loads(done.stdout)["files"] == [
        f"figures/{name}.svg" for name in ("delay", "sky", "map")
    ]
    for name in ("delay", "sky", "map"):
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


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_saved_series_with_a_signal_runs_like_the_orbit(
    bentpipe: Bentpipe, tmp_path: Path, suffix: str
) -> None:
    assert bentpipe(*RAIN, *ELEVATIONS).returncode == 0
    (tmp_path / "orbit.toml").write_text(ORBIT + SIGNAL, encoding="utf-8")
    done = bentpipe("orbit", "orbit.toml", "--out", f"path.{suffix}", "--json")
    totals = json.loads(done.stdout)["totals"]
    assert 0 < totals["rate_min_bps"] < totals["rate_mean_bps"] < totals["rate_max_bps"]
    read = pl.read_csv if suffix == "csv" else pl.read_parquet
    saved = read(tmp_path / f"path.{suffix}")
    assert saved.columns == orbit_columns()
    # The rain takes more than the distance, and the rate follows it.
    deepest = saved.row(saved["rain_db"].arg_max() or 0, named=True)
    assert deepest["rate_bps"] < 0.6 * saved["rate_bps"][0]
    assert saved["es_n0_db"].min() == deepest["es_n0_db"]
    runs = []
    for name, trace in {"file": f'"path.{suffix}"', "fly": '{ orbit = "orbit.toml" }'}.items():
        text = SCENARIO.format(trace=trace).replace('rate = "20Mbit/s"\n', "")
        text = text.replace('download = "20MB"', 'bulk = "unlimited"')
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        runs.append(package.run(package.Scenario.load(tmp_path / f"{name}.toml"), seed=1))
    first, second = (run.flows.drop("wall_s", strict=False) for run in runs)
    assert first.equals(second)
    explained = bentpipe("explain", "fly.toml").stdout
    assert "the rate follows the signal: Es/N0 from" in " ".join(explained.split())


def test_rain_of_several_elevations(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """The column of the site's own elevation is the series without the option."""
    wide = ("--elevations", "20,31,60,90")
    done = bentpipe(*RAIN, *wide)
    assert "peak by elevation: " in done.stdout
    assert "12.00 dB at 31 degrees" in done.stdout
    table = pl.read_csv(tmp_path / "rain.csv")
    assert table.columns == ["time_s", *(f"elevation_{one}_db" for one in (20, 31, 60, 90))]
    assert bentpipe(*RAIN).returncode == 0
    own = pl.read_csv(tmp_path / "rain.csv")
    difference = (table["elevation_31_db"] - own["attenuation_db"]).abs().max()
    assert isinstance(difference, float)
    assert difference < 1e-9
    wet = table.filter(pl.col("elevation_31_db") > 0)
    assert (wet["elevation_20_db"] > wet["elevation_31_db"]).all()
    assert (wet["elevation_31_db"] > wet["elevation_90_db"]).all()
    for text, expected in (
        ("20,x", "numbers with commas"),
        ("30,20", "that increase"),
        ("2,9", "5 to 90"),
    ):
        failed = bentpipe(*RAIN, "--elevations", text)
        assert failed.returncode == 2
        assert expected in failed.stderr


def test_a_map_has_places_and_ways(tmp_path: Path) -> None:
    (tmp_path / "flight.csv").write_text(FLIGHT, encoding="utf-8")
    text = ORBIT.replace("Paris", "flight") + '[[place]]\nname = "flight"\ntrack = "flight.csv"\n'
    (tmp_path / "orbit.toml").write_text(text, encoding="utf-8")
    series = package.orbit(tmp_path / "orbit.toml")
    figure = map_figure(series)
    assert set(figure.data.filter(pl.col("series") == PLACE)["name"]) == {"flight", "Frankfurt"}
    way = figure.data.filter(pl.col("series") == WAY)
    assert (way["y"][0], way["x"][0]) == (48.85, 2.35)
    assert way["y"].is_sorted(descending=True)
    assert series.from_altitude_km[0] == 0.0
    # Satellites in sight above 25 degrees are within 10 degrees of arc of the place.
    hops = figure.data.filter(pl.col("series") == HOP)
    low, high = hops.select(low=pl.col("y").min(), high=pl.col("y").max()).row(0)
    assert 0 < high - low < 20


def test_the_map_goes_on_over_the_date_line(tmp_path: Path) -> None:
    text = ORBIT.replace('"Paris"', '"Suva"').replace("latitude_deg = 50.11", "latitude_deg = -14")
    text = text.replace("longitude_deg = 8.68", "longitude_deg = -172")
    text += '[[place]]\nname = "Suva"\nlatitude_deg = -18.1\nlongitude_deg = 178.4\n'
    (tmp_path / "orbit.toml").write_text(text, encoding="utf-8")
    data = map_figure(package.orbit(tmp_path / "orbit.toml")).data
    x = data.filter(pl.col("series") == PLACE)["x"].to_list()
    assert x == pytest.approx([178.4, 188.0])
    steps = data.filter(pl.col("series") == "ground track of a satellite in use")
    steps = steps.select(pl.col("x").diff().over("line").abs().max())
    assert steps.item() < 5


def test_the_figure_of_a_rate_is_that_of_the_rows(bentpipe: Bentpipe, tmp_path: Path) -> None:
    assert bentpipe(*RAIN, *ELEVATIONS).returncode == 0
    (tmp_path / "orbit.toml").write_text(ORBIT + SIGNAL, encoding="utf-8")
    series = package.orbit(tmp_path / "orbit.toml")
    figure = rate_figure(series)
    assert figure.data["y"].max() == max(series.rate_bps) / 1e6
    assert figure.data["y"].min() == min(series.rate_bps) / 1e6


def test_the_signal_of_an_orbit_is_cited(tmp_path: Path) -> None:
    """Its modem and its rain, in a table and in a file."""
    fade = event(DiracLognormal.fit(SPINO_DADDA), 6.0, 60.0, seed=1)
    at_elevations(fade, SPINO_DADDA, DiracLognormal, [10, 90]).save(tmp_path / "rain.csv")
    orbit = {
        "geostationary": [20],
        "from": "Istanbul",
        "to": "Nairobi",
        "step": "5s",
        "epoch": "2026-11-27T12:00:00Z",
        "minimum_elevation_deg": 10,
        "signal": {
            "es_n0": 12,
            "modem": {"name": "dvb-s2x"},
            "attenuation": str(tmp_path / "rain.csv"),
        },
    }
    link = {"between": ["a", "b"], "orbit": orbit}
    flow = {"from": "a", "to": "b", "controller": "reno", "traffic": {"bulk": "unlimited"}}
    table = package.Scenario.build(duration="60s", link=[link], flow=[flow])
    orbit["signal"]["attenuation"] = "rain.csv"  # type: ignore[index]
    words = [f"{key} = {json.dumps(value)}" for key, value in orbit.items() if key != "signal"]
    words += [
        'duration = "60s"',
        '[signal]\nes_n0 = 12\nmodem = "dvb-s2x"\nattenuation = "rain.csv"',
    ]
    (tmp_path / "orbit.toml").write_text("\n".join(words), encoding="utf-8")
    link = {"between": ["a", "b"], "orbit": str(tmp_path / "orbit.toml")}
    file = package.Scenario.build(duration="60s", link=[link], flow=[flow])
    for scenario in (table, file):
        names = {thing.name for thing in of_scenario(scenario)}
        assert {"orbit", "dvb-s2x"} <= names
        assert any("dirac" in name for name in names), names


def test_a_comparison_takes_the_files_that_an_orbit_names(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    assert bentpipe(*RAIN, *ELEVATIONS).returncode == 0
    (tmp_path / "orbit.toml").write_text(ORBIT + SIGNAL, encoding="utf-8")
    text = SCENARIO.format(trace='{ orbit = "orbit.toml" }')
    text = text.replace('rate = "50Mbit/s"\n', "").replace("20MB", "1MB")
    (tmp_path / "path.toml").write_text(text, encoding="utf-8")
    done = bentpipe(
        "compare", "--scenario", "path.toml", "--controllers", "cubic,hybla",
        "--workload", "bulk", "--replications", "2", "--set", "duration=20s",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    # A study can be moved: it has all files.
    files = Base.read(tmp_path / "path.toml").files
    assert list(files) == ["path.toml", "orbit.toml", "rain.csv"]


@pytest.mark.real_time
@pytest.mark.usefixtures("for_kernel")
def test_the_kernel_backend_has_the_delays_and_outages_of_an_orbit(tmp_path: Path) -> None:
    (tmp_path / "leo.toml").write_text(ORBIT)
    # Eight seconds around the hand-over at the second 42, at which no packet passes for 100 ms.
    (tmp_path / "over.toml").write_text("""\
duration = "8s"
epoch = 2026-11-27T12:00:38Z

[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
orbit = "leo.toml"

[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { messages = { request = "100B", answer = "100B", interval = "20ms" } }
""")
    scenario = package.Scenario.load(tmp_path / "over.toml")
    found = {}
    for backend in ("simulator", "kernel"):
        run = package.run(scenario, backend=backend)
        if run.kernel:
            assert run.kernel.delay_error_p99_ms < 1
        found[backend] = run.table("responses").to_dicts()[0]
    # The kernel adds the time of two processes that wake up.
    for column, within in (("min", 1), ("p50", 2), ("max", 15)):
        pair = [found[backend][f"{column}_response_ms"] for backend in ("simulator", "kernel")]
        assert pair[0] == pytest.approx(pair[1], abs=within), column
    # A message has two ways of 4 or 5 ms, and those of the outage wait for its end.
    assert 8 < found["kernel"]["min_response_ms"] < 11
    assert 90 < found["kernel"]["max_response_ms"] < 130
