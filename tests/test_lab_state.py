"""The live page: controls of scenarios, lessons, and what is saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bentpipe as bp
from bentpipe.compare import links
from bentpipe.compare.links import Link
from bentpipe.lab.applications import APPLICATIONS, BEAM
from bentpipe.lab.controls import controls, meaning
from bentpipe.lab.lessons import PREDICTIONS, lesson
from bentpipe.lab.server import Server, shown
from bentpipe.lab.state import State, initial
from bentpipe.study.quantities import Quantity
from conftest import EXAMPLES
from lab_client import PRESET, Client, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    server = Server(initial(None, (), None, None))
    yield Client(server)
    server.close()


# -------------------------------------------------------------------------------------- controls


SCENARIOS = sorted(path for path in EXAMPLES.glob("*.toml") if not path.name.startswith("study-"))


MOST_CONTROLS = "openbach-mix"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.nightly] if path.stem == MOST_CONTROLS else [])
        for path in SCENARIOS
    ],
    ids=lambda path: path.stem,
)
def test_every_value_of_every_control_fits_and_has_an_effect(path: Path) -> None:
    scenario = bp.Scenario.load(path)
    state = initial(path, (), None, None)
    found = state.source.controls
    of_file, settings = scenario.to_toml(), meaning(scenario)
    # Links before terminals in the background take no keys of one direction.
    has_background = path.stem == "beam-background"
    expected = {"duration"} if has_background else {"duration", "rate", "queue"}
    assert expected <= {one.id for one in found}
    delays_of_a_trace = path.stem == "path-hints"
    assert ("delay" in {one.id for one in found}) != (delays_of_a_trace or has_background)
    for control in found:
        assert sum(one.value is None for one in control.options) == 1
        assert len({one.text for one in control.options}) == len(control.options), control.id
        for option in control.options:
            if option.value is None:
                continue
            if control.id == "queue":  # a length in BDP changes with the rate and the delay
                continue
            changed = State(state.source, {control.id: option.value}, ("cubic",)).scenario
            if control.group == BEAM:  # explained in sentences, not in settings
                assert changed.to_toml() != of_file, (control.id, option)
                continue
            assert meaning(changed) != settings, (control.id, option)


LINK = """\
name = "odd"
duration = "5s"

[[link]]
between = ["server", "client"]
{link}

[[flow]]
from = "server"
to = "client"
{flow}
"""
RATE = 'rate = "1Mbit/s"\ndelay = '
FLOW = 'controller = "cubic"\ntraffic = { download = "1MB" }'


@pytest.mark.parametrize(
    ("link", "flow"),
    [
        (f'{RATE}"0s"', FLOW),
        (f'{RATE}"10ms"\nqueue = {{ time = "100ms" }}', FLOW),
        (f'{RATE}"10ms"\nqueue = {{ bdp = 2 }}', FLOW),
        ('rate = "10bit/s"\ndelay = "10s"', FLOW),
        ('rate = "300Gbit/s"\ndelay = "1us"', FLOW),
        (f'{RATE}"10ms"', f'{FLOW}\nstart = "6s"'),
        (f'{RATE}"10ms"', f"{FLOW}\ncount = 3"),
        (f'{RATE}"10ms"', f'{FLOW}\nhost = "linux-6.12"'),
        (f'{RATE}"10ms"', FLOW.replace('"cubic"', '{ name = "hybla", rtt0 = 0.05 }')),
    ],
)
def test_odd_scenarios_have_a_page(client: Client, tmp_path: Path, link: str, flow: str) -> None:
    text = LINK.format(link=link, flow=flow)
    (tmp_path / "odd.toml").write_text(text)
    state = initial(tmp_path / "odd.toml", (), None, None)
    assert state.controllers[0] in ("cubic", "hybla:rtt0=0.05")
    lines = client.run(state.to_json())
    assert len(of_kind(lines, "result")) == len(state.controllers)
    for control in state.source.controls:
        assert len(control.options) > 1


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_page_of_an_example_has_a_path_and_controllers_that_fit(path: Path) -> None:
    found, runs = shown(initial(path, (), None, None))
    assert runs
    assert not found["failed"]
    assert len(found["path"]["links"]) == len(found["path"]["nodes"]) - 1


def values_of(state: State, name: str) -> list[Any]:
    control = next(one for one in state.source.controls if one.id == name)
    return [one.value for one in control.options]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate", "5Mbit/s"), ("return_rate", "100kbit/s"), ("delay", "50ms"), ("loss", "0.01"),
        ("queue", "0.1"), ("host_from", "none"), ("host_to", "linux-2.4"), ("window", "64KiB"),
        ("recovery", "newreno"), ("mechanism", "codel"), ("proxy", "pepsal"), ("outage", "5s"),
        ("tunnel", "wireguard"), ("fade", True), ("duration", "30s"),
    ],
)  # fmt: skip
def test_every_control_of_a_preset_changes_the_run(name: str, value: Any) -> None:
    plain = State.of_json({"preset": "geo-ku", "controllers": ["cubic"]}, Path("x.toml"))
    assert value in values_of(plain, name)
    assert {one.id for one in plain.source.controls} == {
        "rate", "return_rate", "delay", "loss", "queue", "host_from", "host_to", "window",
        "recovery", "mechanism", "proxy", "tunnel", "outage", "fade", "duration",
    }  # fmt: skip
    moved = State(plain.source, {name: value}, ("cubic",))
    before, after = (bp.run(one.of_controller("cubic")).digest() for one in (plain, moved))
    assert before != after


def test_controls_without_an_effect_are_not_shown() -> None:
    def names(file: str) -> set[str]:
        return {one.id for one in controls(bp.Scenario.load(EXAMPLES / file))}

    # A flow over SCTP has no profiles, recovery of TCP or proxy; QUIC has a window.
    assert not {"host_from", "recovery", "window", "proxy"} & names("sctp-two-paths.toml")
    assert "window" in names("quic-and-tcp.toml")
    assert not {"host_from", "recovery", "proxy"} & names("quic-and-tcp.toml")
    # A modem has a signal, and no error rate beside it; the fade is its own.
    assert "signal" in names("fade.toml")
    assert not {"loss", "fade"} & names("fade.toml")
    # Events can be left out where there are some.
    assert "no_events" in names("handover.toml")
    assert "no_events" not in names("lossy-geo.toml")
    # Without window scaling, larger buffers change nothing.
    state = initial(EXAMPLES / "geo-download.toml", (), None, None)
    assert values_of(state, "window") == ["16KiB", "32KiB", None]


@pytest.mark.parametrize("name", links.presets())
def test_all_presets_have_controls_and_run(client: Client, name: str) -> None:
    lines = client.run({"preset": name, "controllers": ["cubic"], "values": {"duration": "5s"}})
    assert of_kind(lines, "result")
    assert "bentpipe/compare" not in json.dumps(lines)


def test_several_controls_together_give_a_valid_file(tmp_path: Path) -> None:
    values = {"rate": "5Mbit/s", "queue": "0.5", "proxy": "pepsal", "mechanism": "ack-filter",
              "outage": "1s", "host_from": "none", "window": "64KiB", "fade": True}  # fmt: skip
    state = State.of_json(PRESET | {"values": values}, Path("x.toml"))
    (tmp_path / "saved.toml").write_text(state.toml)
    saved = bp.Scenario.load(tmp_path / "saved.toml")
    assert bp.run(saved).digest() == bp.run(state.scenario).digest()
    assert saved.duration_s == 120


EVENTS = LINK.replace("5s", "60s", 1).format(
    link=f"""{RATE}"300ms"
event = [{{ at = "15s", delay = "350ms" }}, {{ at = "24s", outage = "200ms" }}]""",
    flow=FLOW,
)
"""A link with an event at 40 % of the run, and one before."""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [("15s", None), ("24s", "200ms"), ("24.000000001s", "10s")]),
        ({"no_events": True}, [("24s", "10s")]),
        ({"duration": "30s"}, [("12s", "10s"), ("15s", None), ("24s", "200ms")]),
        ({"fade": True}, [("15s", None), ("24s", "200ms"), ("48s", "10s")]),
        ({"fade": True, "no_events": True}, [("48s", "10s")]),
    ],
)
def test_an_outage_has_its_time_and_place_with_other_controls(
    values: dict[str, Any], expected: list[tuple[str, str | None]]
) -> None:
    plain = State.of_json({"toml": EVENTS, "controllers": ["cubic"]}, Path("x.toml"))
    changed = State(plain.source, values | {"outage": "10s"}, ("cubic",)).scenario
    events = Link("", changed).document["link"][0]["event"]
    assert [(one["at"], one.get("outage")) for one in events] == expected
    (control,) = (one for one in plain.source.controls if one.id == "outage")
    assert control.help == "server-client forward, once, after 40% of the run"


def test_the_help_of_an_outage_names_a_random_phase() -> None:
    text = EVENTS.replace('name = "odd"', 'name = "odd"\nphase = "random"')
    state = State.of_json({"toml": text, "controllers": ["cubic"]}, Path("x.toml"))
    (control,) = (one for one in state.source.controls if one.id == "outage")
    assert control.help.endswith("or later by the random phase of the scenario")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("geo-page", {"page_site", "page_http", "page_tls", "page_resumption", "page_dns"}),
        ("geo-experience", {"call_codec", "video_rule", "video_buffer", "speedtest_connections"}),
        (
            "beam-rain",
            {"beam_scheduler", "beam_carriers", "beam_terminals_0", "beam_attenuation_1"},
        ),
        ("lossy-geo", set()),
    ],
)
def test_applications_and_beams_have_controls_that_change_the_run(
    file: str, expected: set[str]
) -> None:
    path = EXAMPLES / f"{file}.toml"
    state = initial(path, (), ["cubic"], None)
    found = [one for one in state.source.controls if one.group in (APPLICATIONS, BEAM)]
    assert expected <= {one.id for one in found}
    assert bool(expected) == bool(found)
    short = {} if file == "geo-experience" else {"duration": "10s"}
    plain = bp.run(state.source.scenario.with_(short)).digest()
    for control in found:
        if control.id in expected:
            value = next(one.value for one in control.options[::-1] if one.value is not None)
            moved = State(state.source, {control.id: value}, ("cubic",)).scenario
            assert bp.run(moved.with_(short)).digest() != plain, (control.id, value)


ORBIT = """\
constellation = "starlink-550"
epoch = "2026-11-27T12:00:00Z"
duration = "2min"
from = "here"
to = "there"
choice = "highest"
when = "slot"

[[place]]
name = "here"
track = "ship.csv"

[[place]]
name = "there"
latitude_deg = 50.11
longitude_deg = 8.68
"""
SHIP = "t_s,latitude_deg,longitude_deg\n0,48.8,2.3\n3600,49.0,2.4\n"
OVER_ORBIT = """\
epoch = "2026-11-27T12:00:00Z"
duration = "60s"

[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
{orbit}

[[flow]]
from = "server"
to = "client"
controller = "leocc"
traffic = { bulk = "unlimited" }
"""


@pytest.fixture(params=["file", "table", "trace", "direction"])
def over_orbit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A scenario with an orbit in each way to write it."""
    (tmp_path / "ship.csv").write_text(SHIP)
    (tmp_path / "orbit").mkdir()
    (tmp_path / "orbit" / "ship.csv").write_text(SHIP)
    (tmp_path / "orbit" / "leo.toml").write_text(ORBIT)
    tables = ORBIT.replace("[[place]]", "[[link.orbit.place]]")
    written = {
        "file": 'orbit = "orbit/leo.toml"',
        "table": f"[link.orbit]\n{tables}",
        "trace": 'trace = { orbit = "orbit/leo.toml" }',
        "direction": "".join(
            f"[link.{one}]\norbit = 'orbit/leo.toml'\n" for one in ("forward", "backward")
        ),
    }
    file = tmp_path / "over.toml"
    file.write_text(OVER_ORBIT.replace("{orbit}", written[request.param]))
    return file


def moved_runs(state: State, names: set[str]) -> Iterator[tuple[str, bool]]:
    """Each of these controls, and true if its last value changes the run."""
    plain = bp.run(state.scenario).digest()
    for control in state.source.controls:
        if control.id in names:
            value = next(one.value for one in control.options[::-1] if one.value is not None)
            moved = State(state.source, {control.id: value}, state.controllers).scenario
            yield control.id, bp.run(moved).digest() != plain


def test_an_orbit_has_controls_that_change_the_run(over_orbit: Path) -> None:
    state = initial(over_orbit, (), ["leocc"], None)
    orbit = {"orbit_relay", "orbit_choice", "orbit_when", "orbit_outage", "orbit_elevation"}
    expected = {*orbit, "path_hints"}
    assert dict(moved_runs(state, expected)) == dict.fromkeys(expected, True)


def test_switches_and_hints_have_controls_that_change_the_run() -> None:
    state = initial(EXAMPLES / "geo-and-leo.toml", (), ["cubic"], None)
    assert dict(moved_runs(state, {"switch"})) == {"switch": True}
    assert values_of(state, "switch") == [None, "outages", "bfd", "leo", "geo"]
    # Without an epoch there is no time of day.
    assert "clock" not in values_of(state, "path_hints")
    state = initial(EXAMPLES / "path-hints.toml", (), ["satcp"], None)
    assert dict(moved_runs(state, {"path_hints"})) == {"path_hints": True}
    # The scenario has exact hints itself.
    values = set(values_of(state, "path_hints"))
    assert {"none", "clock"} < values
    assert "schedule" not in values


def test_figures_of_applications_are_those_of_experience(client: Client) -> None:
    text = (EXAMPLES / "geo-experience.toml").read_text(encoding="utf-8")
    lines = client.run({"toml": text, "controllers": ["none"], "seed": 3})
    (tables,) = of_kind(lines, "tables")
    rows = {one["label"]: one for one in tables["differences"]["rows"]}
    scenario = bp.Scenario.parse(text).with_(seed=3)
    run = bp.run(scenario)
    for label, name, digits in (
        ("call: MOS", "min(call.call.mos)", 1.0),
        ("video: mean bit rate", "video.video.mean_bitrate_bps", 1e-6),
        ("speedtest: download", "speedtest.speedtest.download_bps", 1e-6),
    ):
        value = Quantity(name).taken.native().of(run.recording)
        assert value is not None
        assert float(rows[label]["cells"][0]["text"]) == pytest.approx(value * digits, rel=1e-3)
    assert rows["speedtest: download"]["unit"] == "Mbit/s"


def test_groups_of_a_beam_have_rows(client: Client) -> None:
    text = (EXAMPLES / "beam-rain.toml").read_text(encoding="utf-8")
    state = {"toml": text, "controllers": ["cubic"], "values": {"duration": "20s"}}
    (tables,) = of_kind(client.run(state), "tables")
    rows = {one["label"]: one for one in tables["differences"]["rows"]}
    run = bp.run(State.of_json(state, Path("x.toml")).of_controller("cubic"))
    for group in ("clear", "rain"):
        (row,) = (
            one
            for one in run.recording.table("beam_groups").to_dicts()
            if (one["group"], one["direction"]) == (group, "forward")
        )
        text = rows[f"{group}: median rate of a terminal"]["cells"][0]["text"]
        assert float(text) == pytest.approx(row["p50_rate_bps"] / 1e6, rel=1e-3)


# -------------------------------------------------------------------------------------- lessons


def test_predictions_cover_all_ratios_once() -> None:
    ends = [(one.least, one.most) for one in PREDICTIONS]
    assert ends[0][0] == 0
    assert ends[-1][1] == float("inf")
    assert [most for _, most in ends[:-1]] == [least for least, _ in ends[1:]]


RIGHT = {
    "window": 4, "slow-start": 0, "bufferbloat": 4, "fade": 0, "rtt-unfairness": 4,
    "thin-return": 0, "handover": 3, "proxy": 4, "quic-proxy": 0, "aqm-target": 0,
    "default-hosts": 0, "controller": 4,
}  # fmt: skip
"""The numbers of the predictions that come true; the texts of the lessons explain them."""


def test_there_are_twelve_lessons_without_their_answers(client: Client) -> None:
    found = json.loads(client.ask("GET", "lessons").content)
    assert [one["id"] for one in found["lessons"]] == list(RIGHT)
    assert len(found["predictions"]) == 5
    for one in found["lessons"]:
        assert not {"why", "right"} & one.keys()


@pytest.mark.parametrize("name", RIGHT)
def test_the_runs_of_a_lesson_answer_it(client: Client, name: str) -> None:
    content = {"page": "lesson", "lesson": name}
    answer = json.loads(client.ask("POST", "lessons", content).content)
    assert PREDICTIONS[answer["right"]].least <= answer["ratio"]
    assert answer["right"] == RIGHT[name], answer["measured"]
    one = lesson(name)
    values = []
    for side in (one.before, one.after):
        run = bp.run(side.state.of_controller(side.state.controllers[0]))
        totals = {"goodput": "goodput_bps", "p95_rtt": "p95_rtt_ms", "completion": "completion_s"}
        values.append(run.flows[totals[one.metric.id]][0])
    assert answer["ratio"] == pytest.approx(values[1] / values[0])
    if one.control:
        assert one.control in {control.id for control in one.before.state.source.controls}


def test_a_lesson_that_does_not_exist_names_the_nearest(client: Client) -> None:
    answer = client.ask("POST", "lessons", {"page": "x", "lesson": "fades"})
    assert answer.status == 404
    assert b"did you mean 'fade'?" in answer.content
