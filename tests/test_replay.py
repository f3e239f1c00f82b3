"""`bentpipe replay cwnd` with the windows of Linux's CUBIC over Starlink."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from test_traces import data

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

LIMITS = {"victoria": (2.0, 1.0), "seychelles": (7.0, 3.0)}
"""Bounds of the error of growth and of the median error of peaks, in per cent."""
OTHERS = ("reno", "cubic:c=0.8", "cubic:c=0.2", "cubic:reno_friendly=off")
"""Rules that the sender did not have."""


def replayed(bentpipe: Bentpipe, file: Path, *controllers: str) -> list[dict[str, Any]]:
    named = [word for name in controllers for word in ("--controller", name)]
    done = bentpipe("replay", "cwnd", str(file), *named, "--json")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["replays"]
    return found


def is_within(name: str, found: dict[str, Any]) -> bool:
    growth, peak = LIMITS[name]
    error, median = found["growth_error_percent"], found["peak_error_percent"]["p50"]
    return bool(abs(error) <= growth and abs(median) <= peak)


@pytest.mark.parametrize("name", LIMITS)
def test_cubic_is_that_of_the_sender(bentpipe: Bentpipe, name: str) -> None:
    """Growth of 2,476 and 2,855 segments was computed before by another program.

    It counts each fall as a loss. Here falls in a recovery are one loss, which takes a segment or
    three from the sum (clarkzjw/mmsys24-starlink-livestreaming-data @bcf33b9).
    """
    [found] = replayed(bentpipe, data(f"starlink-uplink/{name}.json.gz"), "cubic")
    assert is_within(name, found), found
    assert (found["variant"], found["measured_controller"]) == ("linux", "cubic")
    growth = {"victoria": 2476, "seychelles": 2855}[name]
    assert found["measured_growth"] == pytest.approx(growth, abs=3)
    assert found["timeouts"] == {"victoria": 0, "seychelles": 3}[name]


@pytest.mark.parametrize("controller", OTHERS)
def test_another_rule_fails_a_file(bentpipe: Bentpipe, controller: str) -> None:
    files = {name: data(f"starlink-uplink/{name}.json.gz") for name in LIMITS}
    within = [
        is_within(name, replayed(bentpipe, file, controller)[0]) for name, file in files.items()
    ]
    assert not all(within)


def test_the_rule_of_rfc_9438_is_not_that_of_linux(bentpipe: Bentpipe) -> None:
    """Section 4.3 grows by a segment per RTT above the window of the loss. Linux does not."""
    file = data("starlink-uplink/victoria.json.gz")
    [found] = replayed(bentpipe, file, "cubic:variant=original")
    assert found["variant"] == "original"
    assert found["growth_error_percent"] > 20


def report(windows: list[int], **changed: Any) -> str:
    """A report of iperf3 with these windows in segments, each 100 ms."""
    intervals = []
    for number, window in enumerate(windows):
        times = {"start": number / 10, "end": (number + 1) / 10, "bits_per_second": 1e6}
        stream = {**times, "snd_cwnd": window * 1000, "rtt": 50_000, "retransmits": 0}
        intervals.append({"streams": [stream], "sum": times})
    start = {
        "version": "iperf 3.9",
        "system_info": "FreeBSD host 14.1",
        "tcp_mss_default": 1000,
        "timestamp": {"timesecs": 1_700_000_000},
        "test_start": {"protocol": "TCP", "reverse": 0},
    }
    return json.dumps({"start": start, "intervals": intervals, **changed})


TEETH = [40, *range(20, 41, 2), *range(20, 41, 2), *range(20, 41, 2)]


def test_reno_grows_by_a_segment_per_round_trip(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """Two segments in 100 ms with an RTT of 50 ms (RFC 5681 section 3.1)."""
    (tmp_path / "reno.json").write_text(report(TEETH), encoding="utf-8")
    [found] = replayed(bentpipe, tmp_path / "reno.json", "reno")
    assert (found["variant"], found["variant_from"], found["epochs"]) == ("original", None, 2)
    assert found["measured_growth"] == 40.0
    assert found["growth_error_percent"] == pytest.approx(0, abs=7)
    arguments = ("--controller", "reno", "--controller", "hybla", "--out", "windows.csv")
    done = bentpipe("replay", "cwnd", "reno.json", *arguments)
    assert done.returncode == 0, done.stderr
    saved = pl.read_csv(tmp_path / "windows.csv")
    assert saved.columns == ["t_s", "rtt_ms", "retransmits", "measured", "reno", "hybla"]
    assert saved["measured"].to_list() == TEETH
    assert saved["reno"][:2].to_list() == [None, 20.0]


@pytest.mark.parametrize(
    ("text", "controller", "expected"),
    [
        (report(TEETH), "cubik", 'found "cubik"; did you mean "cubic"?'),
        (report(TEETH), "cubic:c=-1", "expected a number from 0.001 to 1000, found -1"),
        (report(TEETH), "bbr", "a.json: bbr needs delivery rates and the times of segments"),
        (report(TEETH), "mine.py:Mine", "expected a controller of the registry"),
        (report(list(range(10, 40))), "reno", "expected a window that falls at least twice"),
        ("{}", "reno", "expected a JSON report of iperf3"),
        ('{"iperf ": 1, "error": "refused"}', "reno", "a report of iperf3 without an error"),
        (report(TEETH).replace("snd_cwnd", "other"), "reno", "with snd_cwnd, found a receiver"),
        (report(TEETH).replace('"rtt": 50000', '"rtt": 0'), "reno", "expected an RTT above 0"),
    ],
)  # fmt: skip
def test_wrong_input(
    bentpipe: Bentpipe, tmp_path: Path, text: str, controller: str, expected: str
) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    done = bentpipe("replay", "cwnd", "a.json", "--controller", controller)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
