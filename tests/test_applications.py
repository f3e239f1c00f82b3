"""Calls, messages, videos and speed tests from the command line and from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe import p1203
from bentpipe.study.quantities import Quantity

if TYPE_CHECKING:
    from conftest import Bentpipe

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/geo-experience.toml"
BOTH = """
duration = "8s"

[[link]]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "{delay}"
queue = {{ packets = 200 }}
channel = {{ per = {per} }}

[[flow]]
name = "call"
from = "server"
to = "client"
transport = {{ protocol = "udp" }}
traffic = {{ call = {{ duration = "3s" }} }}

[[flow]]
name = "messages"
from = "server"
to = "client"
start = "3s"
transport = {{ protocol = "udp" }}
traffic = {{ messages = {{ count = 60 }} }}
"""


def cell(recording: bp.Recording, table: str, column: str) -> float:
    """The first cell of a column."""
    return float(recording.table(table)[column][0])


@pytest.fixture(scope="module")
def example() -> bp.Run:
    """A run of the example."""
    return bp.run(bp.Scenario.load(EXAMPLE))


def test_every_figure_of_the_example_is_printed(bentpipe: Bentpipe) -> None:
    done = bentpipe("run", str(EXAMPLE))
    assert done.returncode == 0, done.stderr
    for heading in ("MOS without echo", "> 150 ms %", "response p50 ms", "window restarts"):
        assert heading in done.stdout, heading


def test_a_delay_that_keeps_mos_below_4_is_a_warning(bentpipe: Bentpipe) -> None:
    done = bentpipe("explain", str(EXAMPLE))
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "speech takes at least 320ms from mouth to ear" in words
    assert "MOS is at most 3.66 with the default echo and 3.88 without" in words


def test_the_input_of_p1203_has_the_segments_and_the_stalls(example: bp.Run) -> None:
    found = p1203.report(example, "video")
    segments = found["I13"]["segments"]
    assert len(segments) == 15
    assert [one["start"] for one in segments] == [4.0 * n for n in range(15)]
    assert {one["duration"] for one in segments} == {4.0}
    assert {one["bitrate"] for one in segments} <= {300, 750, 1200, 2500, 4300}
    start_up = cell(example.recording, "video", "start_up_s")
    assert found["I23"]["stalling"][0] == [0, start_up]
    assert segments[0]["resolution"] == "640x360"
    assert json.loads(json.dumps(found)) == found
    with pytest.raises(ValueError, match="expected the name of a flow with a video"):
        p1203.report(example, "call")


def test_a_study_keeps_what_people_experience() -> None:
    units = {
        "call.mos": "1",
        "call.forward.loss": "1",
        "p95(responses.p99_response_ms)": "ms",
        "video.stalled_s": "s",
        "speedtest.responsiveness_rpm": "1/min",
    }
    assert {name: Quantity(name).unit for name in units} == units


@pytest.mark.real_time
@pytest.mark.skipif(bool(bp.kernel_missing()), reason=str(bp.kernel_missing()))
@pytest.mark.parametrize("delay", ["50ms", "280ms"])
@pytest.mark.parametrize("per", [0, 1e-3])
def test_both_backends_carry_the_same_call_and_messages(delay: str, per: float) -> None:
    scenario = bp.Scenario.parse(BOTH.format(delay=delay, per=per))
    simulated = bp.run(scenario).recording
    kernel = bp.run(scenario, backend="kernel").recording
    for table, column in (
        ("call", "mean_delay_ms"),
        ("call", "mouth_to_ear_ms"),
        ("call", "mos"),
        ("messages", "p50_delay_ms"),
        ("responses", "p50_response_ms"),
    ):
        expected, found = (cell(one, table, column) for one in (simulated, kernel))
        assert found == pytest.approx(expected, rel=0.05), (table, column)


STREAMS = """
duration = "60s"

[[link]]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "25ms"
queue = {{ bdp = 2 }}

[[flow]]
from = "server"
to = "client"
controller = "cubic"
transport = {{ recovery = "linux", delayed_ack = "linux" }}
traffic = {{ {} }}
"""
VIDEO = 'video = { length = "12s", segment = "2s", rule = "bola-e" }'
TEST = 'speedtest = { duration = "4s", warm_up = "2s", idle = "2s", pause = "1s", connections = 4 }'


@pytest.mark.real_time
@pytest.mark.skipif(bool(bp.kernel_missing()), reason=str(bp.kernel_missing()))
@pytest.mark.parametrize(
    ("traffic", "table", "columns"),
    [
        (VIDEO, "video", ("start_up_s", "mean_bitrate_bps", "played_s")),
        (TEST, "speedtest", ("download_bps", "upload_bps", "idle_latency_ms")),
    ],
    ids=["video", "speedtest"],
)
def test_both_backends_play_the_same_video_and_measure_the_same_rates(
    traffic: str, table: str, columns: tuple[str, ...]
) -> None:
    scenario = bp.Scenario.parse(STREAMS.format(traffic))
    simulated = bp.run(scenario).recording
    kernel = bp.run(scenario, backend="kernel").recording
    for column in columns:
        expected, found = (cell(one, table, column) for one in (simulated, kernel))
        assert found == pytest.approx(expected, rel=0.05), column
