"""Starts of runs within an orbit, and the option `--phase` of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe.compare import fade, tables
from bentpipe.compare.comparison import the_link
from bentpipe.compare.workloads import named
from bentpipe.errors import InputError
from conftest import EXAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.compare.links import Link
    from conftest import Bentpipe

BULK = named("bulk")
ORBIT = """
constellation = "starlink-550"
epoch = "2026-11-27T12:00:00Z"
duration = "3min"
from = "Paris"
to = "Frankfurt"
[[place]]
name = "Frankfurt"
latitude_deg = 50.11
longitude_deg = 8.68
"""
FOLLOWED = """
duration = "20s"
[[link]]
between = ["server", "terminal"]
rate = "5Mbit/s"
KEYS
[[flow]]
from = "server"
to = "terminal"
controller = "cubic"
traffic = { bulk = "unlimited" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an orbit, and a trace of rates that is as long, and one that is not."""
    (tmp_path / "leo.toml").write_text(ORBIT)
    (tmp_path / "rates.csv").write_text("t_s,rate_mbps\n0,5\n90,4\n")
    (tmp_path / "short.csv").write_text("t_s,rate_mbps\n0,5\n30,4\n")
    return tmp_path


def following(folder: Path, keys: str, phase: str | None = None, *sets: str) -> Link:
    """The link of a scenario with these keys, as `bentpipe compare` takes it."""
    file = folder / "path.toml"
    file.write_text(FOLLOWED.replace("KEYS", keys))
    return the_link(None, file, None, None, None, None, None, sets, phase)


def starts(link: Link) -> set[float]:
    """The starts of three seeds in the series, in seconds."""
    scenario = BULK.scenario(link)
    found = set()
    for seed in (1, 2, 3):
        values = scenario.with_({"seed": seed}).explain().links[0].settings
        (trace,) = (one.value for one in values if one.name == "trace")
        found.add(trace["start_s"])
    return found


MOVED = "Traces and orbits: each seed begins at another time of the series."
STILL = "Orbits: all seeds begin at the start of the series"
KINDS = {
    "a link's orbit": 'orbit = "leo.toml"',
    "a trace's": 'trace = { orbit = "leo.toml" }',
    "one of each direction": 'forward.orbit = "leo.toml"\nbackward.orbit = "leo.toml"',
}


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_begin_at_other_times_of_an_orbit(kind: str, folder: Path) -> None:
    for phase in (None, "random"):
        link = following(folder, KINDS[kind], phase)
        assert len(starts(link)) == 3
        assert MOVED in tables.about_link(link, [BULK])
    link = following(folder, KINDS[kind], "fixed")
    assert starts(link) == {0.0}
    assert f"{STILL} (--phase fixed)." in tables.about_link(link, [BULK])
    # The runs differ, and not only the figures before them.
    moved = BULK.scenario(following(folder, KINDS[kind])).with_({"duration": "5s"})
    assert len({bp.run(moved, seed=seed).flows["min_rtt_ms"][0] for seed in (1, 2, 3)}) == 3


def test_the_header_says_that_a_mean_is_of_more_than_a_run(folder: Path) -> None:
    link = following(folder, KINDS["a link's orbit"])
    assert "(means of traces of 180 s, of which a run has a part; one way" in tables.described(link)


@pytest.mark.parametrize(
    ("keys", "sets", "reason"),
    [
        (KINDS["a link's orbit"], ["duration=3min"], "an orbit ends with the run"),
        ('orbit = "leo.toml"\ntrace = "rates.csv"', [], "has both a trace and an orbit"),
        (
            'forward.orbit = "leo.toml"\nbackward = { delay = "9ms", trace = "short.csv" }',
            [],
            "different lengths",
        ),
        (
            'orbit = "leo.toml"\n[[link]]\nbetween = ["terminal", "lan"]\ndelay = "1ms"\n'
            'trace = "short.csv"',
            ["flow.0.to=lan"],
            "different lengths",
        ),
    ],
)
def test_orbits_that_cannot_begin_elsewhere_say_why(
    keys: str, sets: list[str], reason: str, folder: Path
) -> None:
    link = following(folder, keys, None, *sets)
    (said,) = (one for one in tables.about_link(link, [BULK]) if one.startswith(STILL))
    assert reason in said
    assert starts(link) == {0.0}
    with pytest.raises(InputError, match=f"--phase random: .*{reason}"):
        following(folder, keys, "random", *sets)


def test_an_orbit_moves_with_a_trace_of_the_same_length(folder: Path) -> None:
    keys = 'orbit = "leo.toml"\n[[link]]\nbetween = ["terminal", "lan"]\ndelay = "1ms"\n'
    link = following(folder, f'{keys}trace = "rates.csv"', None, "flow.0.to=lan")
    assert len({series["start_s"] for series in link.series}) == 1
    assert len(starts(link)) == 3


def test_what_a_scenario_has_itself_stays_without_the_option(folder: Path) -> None:
    keys = 'trace = { orbit = "leo.toml", phase = "fixed" }'
    link = following(folder, keys)
    assert starts(link) == {0.0}
    assert f"{STILL} (`trace.phase`)." in tables.about_link(link, [BULK])
    assert len(starts(following(folder, keys, "random"))) == 3
    # So does the date at which runs start.
    epoch = "epoch=2026-11-27T12:01:00Z"
    link = following(folder, KINDS["a link's orbit"], None, epoch)
    assert starts(link) == {0.0}
    assert any("has an `epoch`" in one for one in tables.about_link(link, [BULK]))
    assert len(starts(following(folder, KINDS["a link's orbit"], "random", epoch))) == 3


def test_the_phase_of_a_built_in_link_can_be_fixed() -> None:
    links = [
        the_link("leo-starlink", None, None, None, None, None, None, ("duration=20s",), phase)
        for phase in (None, "random", "fixed")
    ]
    assert [{one["start_s"] > 0 for one in link.series} for link in links] == [
        {True},
        {True},
        {False},
    ]


@pytest.mark.parametrize("phase", ["random", "fixed"])
def test_a_phase_without_an_effect_is_refused(phase: str, bentpipe: Bentpipe) -> None:
    for where in (("--scenario", EXAMPLES / "split-proxy.toml"), ("--link", "geo-ka")):
        done = bentpipe("compare", *where, "--phase", phase)
        assert done.returncode == 2
        assert "--phase: no effect" in done.stderr


def test_a_low_orbit_has_no_weather_of_a_measurement(folder: Path) -> None:
    for phase in (None, "fixed"):
        said = fade.planned(following(folder, KINDS["a link's orbit"], phase)).sentence
        assert "a satellite in a medium or geostationary orbit" in said
