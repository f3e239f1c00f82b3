"""`bentpipe trace inspect`: measurements of others, and traces that links read."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import bentpipe as package
from bentpipe.traces import formats, programs, slots
from bentpipe.traces.inspection import inspect
from reproduced import DATA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Bentpipe

START = 1_700_000_000.25
"""Second 20.25 of a minute: 2023-11-14T22:13:20.25Z."""


def data(name: str) -> Path:
    """A file of the folder with the data of others; the test is skipped where it is missing."""
    file = DATA / name
    if not file.exists():
        pytest.skip(f"skipped: {file} is missing (BENTPIPE_DATA names the folder)")
    return file


def inspected(bentpipe: Bentpipe, *arguments: str | Path) -> list[dict[str, Any]]:
    done = bentpipe("trace", "inspect", *map(str, arguments), "--json")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["measurements"]
    return found


def pings(shape: Callable[[np.ndarray], np.ndarray], seconds: int = 600) -> str:
    """Lines of a table of pings, 5 in a second."""
    t = np.arange(seconds * 5) * 0.2
    noise = np.random.default_rng(3).normal(0, 2, len(t))
    rtt = shape(t + START) + noise
    lines = zip(t + START, range(len(t)), rtt, strict=True)
    return "".join(f"{at:.4f}\t{number}\t{value:.2f}\n" for at, number, value in lines)


def jumps(offset: int) -> Callable[[np.ndarray], np.ndarray]:
    """An RTT that changes at a second of each 15 s, by the golden ratio's fractions."""
    return lambda t: 40 + 20 * np.mod(0.618 * np.floor((t - offset) / 15), 1)


@pytest.mark.parametrize(
    ("name", "strength", "others", "spacing_ms", "lost", "quantiles"),
    [
        ("lagos", 0.934, (0.683, 0.892), 220, 0.47, (59, 70, 109, 208, 730)),
        ("seattle", 0.587, (0.387, 0.546), 149, 2.54, (16.7, 24.7, 42.8, 86.6, 345)),
    ],
)
def test_pings_over_starlink_have_their_boundary_at_second_12(
    bentpipe: Bentpipe,
    name: str,
    strength: float,
    others: tuple[float, float],
    spacing_ms: float,
    lost: float,
    quantiles: tuple[float, ...],
) -> None:
    """Shares and figures were computed before by another program (clarkzjw/mmsys24 @bcf33b9)."""
    [found] = inspected(bentpipe, data(f"starlink-ping/{name}.txt.gz"), "--nominal", "100ms")
    [column] = found["columns"]
    boundary = column["slots"]
    assert (boundary["found"], boundary["offset_s"]) == (True, 12)
    assert boundary["strength"] == pytest.approx(strength, abs=0.0006)
    rest = [one for offset, one in enumerate(boundary["strengths"]) if offset != 12]
    assert (min(rest), max(rest)) == pytest.approx(others, abs=0.0006)
    assert boundary["p"] < 0.001
    assert found["spacing"]["median_s"] * 1e3 == pytest.approx(spacing_ms, abs=0.5)
    assert 100 * found["lost"] / found["probes"] == pytest.approx(lost, abs=0.005)
    assert list(column["percentiles"].values()) == pytest.approx(quantiles, rel=0.01)
    assert any("nominal spacing is 100 ms" in text for text in found["cautions"])


def test_iperf3_shows_an_achieved_rate(bentpipe: Bentpipe) -> None:
    """Victoria: 6.763 Mbit/s, 625 of 182,661 segments retransmitted (sheet of the data)."""
    [found] = inspected(bentpipe, data("starlink-uplink/victoria.json.gz"))
    assert (found["kind"], found["start_error_s"], found["direction"]) == ("achieved", 2, "up")
    assert (found["lost"], found["probes"]) == (625, 182_661)
    rate, rtt = found["columns"]
    assert rate["mean"] == pytest.approx(6.763, abs=0.001)
    assert rtt["percentiles"]["p100"] == pytest.approx(231.427)
    assert 'kind = "achieved"' in found["scenario"][-1]
    # Five minutes of a smoothed RTT show no boundary.
    assert not rtt["slots"]["found"]


@pytest.mark.parametrize("offset", [3, 12])
def test_a_boundary_is_found_where_it_is(bentpipe: Bentpipe, tmp_path: Path, offset: int) -> None:
    (tmp_path / "pings.txt").write_text(pings(jumps(offset)), encoding="utf-8")
    [found] = inspected(bentpipe, "pings.txt")
    boundary = found["columns"][0]["slots"]
    assert (boundary["found"], boundary["offset_s"]) == (True, offset)
    shown = bentpipe("trace", "inspect", "pings.txt").stdout
    seconds = ", ".join(str(second) for second in range(offset, 60, 15))
    assert f"second {offset} of 15 (UTC seconds {seconds})" in shown


def wave(t: np.ndarray) -> np.ndarray:
    return 50 + 20 * np.sin(2 * np.pi * t / 97)


def walk(t: np.ndarray) -> np.ndarray:
    return 100 + np.cumsum(np.random.default_rng(8).normal(0, 1, len(t)))


def other_period(t: np.ndarray) -> np.ndarray:
    return 40 + 20 * np.mod(0.618 * np.floor(t / 11), 1)


@pytest.mark.parametrize("shape", [wave, walk, other_period, np.zeros_like])
def test_a_trace_without_slots_has_none(
    bentpipe: Bentpipe, tmp_path: Path, shape: Callable[[np.ndarray], np.ndarray]
) -> None:
    """A high share of explained variance is no slot: a slow wave has one at each offset."""
    (tmp_path / "pings.txt").write_text(pings(shape), encoding="utf-8")
    [found] = inspected(bentpipe, "pings.txt")
    boundary = found["columns"][0]["slots"]
    assert not boundary["found"]
    assert boundary["p"] > 0.01
    assert "no slots of 15 s" in bentpipe("trace", "inspect", "pings.txt").stdout


def test_false_slots_are_rare() -> None:
    """At most 1 % of traces without slots have some: here none of 60 with correlated noise."""
    random = np.random.default_rng(11)
    t = np.asarray(np.arange(3000) * 0.2, dtype=np.float64)
    false = 0
    for _ in range(60):
        x = np.convolve(random.normal(size=3000 + 20), np.ones(20), "valid")[:3000]
        found = slots.find(t, np.asarray(x, dtype=np.float64))
        assert not isinstance(found, str)
        false += found.found
    assert false <= 2


def test_short_and_coarse_series_have_no_test() -> None:
    short = slots.find(np.arange(0, 60, 0.2), np.arange(300.0))
    assert short == "the series has 2 complete periods of 15 s, and the test needs 8"
    coarse = slots.find(np.arange(0, 6000, 5.0), np.arange(1200.0))
    assert coarse == "the median spacing of the values is above 3 s"
    equal = slots.find(np.arange(0, 600, 0.2), np.ones(3000))
    assert equal == "all values are equal"
    assert slots.find(np.zeros(1), np.ones(1)) == "the series has 1 value, and the test needs 2"
    lost = slots.find(np.arange(3.0), np.full(3, np.nan))
    assert lost == "the series has no values, and the test needs 2"


PING = """\
PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[1700000000.100000] 64 bytes from 192.0.2.1: icmp_seq=65534 ttl=63 time=47.1 ms
[1700000000.200000] 64 bytes from 192.0.2.1: icmp_seq=65535 ttl=63 time=31.9 ms
[1700000000.201000] 64 bytes from 192.0.2.1: icmp_seq=65535 ttl=63 time=32.0 ms (DUP!)
[1700000000.400000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=63 time=40.0 ms
[1700000000.500000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=63 time=41.0 ms

--- 192.0.2.1 ping statistics ---
"""
LENS = """\
timestamp,rtt,uplink,downlink
1705744800616897349,0,0,-1
1705744800626565141,120.1,72.4,47.7
1705744800636737402,110.0,62.3,47.7
"""
LEOVIZ = """\
timestamp,hardwareVersion,sinr,popPingLatencyMs,downlinkThroughputBps,uplinkThroughputBps
1748560813.33,hp1,0,78.5,1373919.8,360013.8
1748560814.53,hp1,0,74.7,2373919.8,460013.8
1748560815.53,hp1,0,70.7,3373919.8,560013.8
"""
LEOEM = """\
1$[-1, 750, 1011, -2]$4$[0.001, 0.002, 0.003]$0.006
2$NULL
3$[-1, 751, 1011, -2]$4$[0.001, 0.002, 0.004]$0.007
"""
ACHIEVED = "26.5,48.1,83.8,88.3,0\n26.5,54.3,87.7,83.5,100\n20.5,50.1,88.5,85.8,200\n"
IRTT = {
    "version": {"irtt": "0.9.1"},
    "config": {"params": {"interval": 10_000_000}},
    "round_trips": [
        {"lost": "false", "timestamps": {"client": {"send": {"wall": 1_700_000_000_000_000_000}}},
         "delay": {"rtt": 50_000_000, "send": 30_000_000, "receive": 20_000_000}},
        {"lost": "true", "timestamps": {"client": {"send": {"wall": 1_700_000_000_101_000_000}}}},
        {"lost": "false", "timestamps": {"client": {"send": {"wall": 1_700_000_000_202_000_000}}},
         "delay": {"rtt": 60_000_000, "send": 35_000_000, "receive": 25_000_000}},
    ],
}  # fmt: skip


Case = tuple[str, str, list[tuple[str, str, float]], int | None]
FORMS: list[Case] = [
        (PING, "ping", [("", "rtt_ms", 40.0)], 1),
        (LENS, "lens-csv", [("", "rtt_ms", 115.05), ("up", "delay_ms", 67.35),
                            ("down", "delay_ms", 47.7)], 1),
        (LEOVIZ, "leoviz-status", [("", "rtt_ms", 74.6333), ("down", "achieved_mbps", 2.3739198),
                                   ("up", "achieved_mbps", 0.4600138)], None),
        (LEOEM, "leoem", [("", "delay_ms", 6.3333)], None),
        (ACHIEVED, "achieved-csv", [("up", "achieved_mbps", 24.5),
                                    ("down", "achieved_mbps", 50.8333)], None),
        (json.dumps(IRTT), "irtt", [("", "rtt_ms", 55.0), ("up", "delay_ms", 32.5),
                                    ("down", "delay_ms", 22.5)], 1),
        ("t_s,achieved_mbps\n0,5\n1,7\n", "columns", [("", "achieved_mbps", 6.0)], None),
        ("1\n1\n2\n4\n", "deliveries", [("", "rate_mbps", 12.0)], None),
        ("12\n12\n16\n8\n", "delays", [("", "delay_ms", 12.0)], None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "columns", "lost"), FORMS)
def test_forms_are_recognised_and_read(
    tmp_path: Path, text: str, name: str, columns: list[tuple[str, str, float]], lost: int | None
) -> None:
    file = tmp_path / "measured"
    file.write_text(text, encoding="utf-8")
    found = [inspect(one) for one in formats.read(file, None, {})]
    assert {one.format for one in found} == {name}
    means = [(one.direction, one.columns[0].name, one.columns[0].mean) for one in found]
    assert [mean[:2] for mean in means] == [column[:2] for column in columns]
    assert [mean[2] for mean in means] == pytest.approx([column[2] for column in columns], abs=1e-4)
    assert found[0].lost == lost


UNANSWERED = """\
[1700000001.100000] no answer yet for icmp_seq=3
From 192.0.2.9 icmp_seq=4 Destination Host Unreachable
"""
STATISTICS = "10 packets transmitted, {} received, +1 errors, 80% packet loss, time 9012ms\n"


@pytest.mark.parametrize(
    ("more", "probes", "lost", "note"),
    [
        ("", 2, 0, "between the first and the last reply: statistics of ping are missing"),
        (UNANSWERED, 7, 5, "between the first and the last numbered line: statistics of ping are"),
        (UNANSWERED + STATISTICS.format(2), 10, 8, None),
        (STATISTICS.format(2), 10, 8, None),
        # The beginning of the file is missing.
        (STATISTICS.format(5), 2, 0, "statistics of ping count 5 replies and the file has 2"),
    ],
)
def test_ping_counts_probes_without_a_reply(
    tmp_path: Path, more: str, probes: int, lost: int, note: str | None
) -> None:
    file = tmp_path / "ping"
    replies = "\n".join(PING.splitlines()[:3]) + "\n"
    file.write_text(replies + more, encoding="utf-8")
    [found] = [inspect(one) for one in formats.read(file, None, {})]
    assert (found.probes, found.lost, found.rows) == (probes, lost, 2)
    assert [(note or "") in one for one in found.notes] == [True] * (note is not None)


def replies(*numbers: int, at: float) -> str:
    """Lines of `ping -D` with these sequence numbers."""
    line = "[{:.6f}] 64 bytes from 192.0.2.1: icmp_seq={} ttl=64 time=40.0 ms\n"
    return "".join(line.format(at + number, number) for number in numbers)


def statistics(sent: int, received: int) -> str:
    """The statistics at the end of a run of ping."""
    return f"{sent} packets transmitted, {received} received, time 2003ms\n"


HEAD = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n"
FIRST = HEAD + replies(1, 2, 3, at=1.7e9)
SECOND = HEAD + replies(1, 3, 4, at=1.7e9 + 60)


@pytest.mark.parametrize(
    ("text", "probes", "lost", "note"),
    [
        (FIRST + statistics(3, 3) + SECOND + statistics(4, 3), 7, 1, None),
        (FIRST + statistics(3, 3) + SECOND, 7, 1, "last reply of each run: statistics of ping are"),
        (FIRST + SECOND + statistics(5, 3), 8, 2, "statistics of ping are missing"),
        (FIRST + statistics(9, 9) + SECOND + statistics(5, 3), 8, 2, "count 9 replies and"),
        (HEAD + statistics(4, 0) + SECOND + statistics(4, 3), 8, 5, None),
        (HEAD + statistics(4, 1) + SECOND + statistics(4, 3), 4, 1, "count 1 replies and"),
    ],
)  # fmt: skip
def test_runs_of_ping_in_one_file_are_counted_each(
    tmp_path: Path, text: str, probes: int, lost: int, note: str | None
) -> None:
    file = tmp_path / "ping"
    file.write_text(text, encoding="utf-8")
    [found] = [inspect(one) for one in formats.read(file, None, {})]
    assert (found.probes, found.lost) == (probes, lost)
    assert [(note or "") in one for one in found.notes] == [True] * (note is not None)


def test_deliveries_of_the_last_millisecond_count(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """The values are those of `bentpipe explain`: 100 packets of 1500 B in 20 ms."""
    (tmp_path / "down").write_text("10\n" + "20\n" * 99, encoding="utf-8")
    [found] = inspected(bentpipe, "down", "--out", "down.csv")
    [rate, outage] = found["columns"]
    assert rate["mean"] == pytest.approx(60)
    assert rate["percentiles"]["p100"] == 1188
    assert outage["mean"] == pytest.approx(0.9)
    table = pl.read_csv(tmp_path / "down.csv")
    # The last row of a trace lasts as long as the one before it: until 20 ms.
    assert table["t_s"].to_list() == [0.0, 0.001, 0.01, 0.011, 0.0155]
    [again] = inspected(bentpipe, "down.csv")
    assert again["duration_s"] == pytest.approx(0.02)
    assert again["columns"][0]["mean"] == pytest.approx(60)


@pytest.mark.parametrize(
    ("text", "rates"),
    [("1\n1\n", [24]), ("5\n", [12, 0]), ("0\n3\n3\n5\n", [24, 0, 24, 0]), ("1\n2\n", [12, 12])],
)
def test_the_end_of_deliveries_is_the_beginning_of_the_next_round(
    tmp_path: Path, text: str, rates: list[float]
) -> None:
    file = tmp_path / "down"
    file.write_text(text, encoding="utf-8")
    [found] = formats.read(file, "deliveries", {})
    assert found.columns["rate_mbps"].tolist() == rates
    assert inspect(found).rows == len(rates)


def iperf3(**changed: Any) -> str:
    """A report of iperf3 with three intervals; `changed` replaces values of the second one."""
    rows = []
    for at in (0, 1, 2):
        times = {"start": at, "end": at + 1, "bits_per_second": 8e6}
        row = times | {"rtt": 50_000, "snd_cwnd": 14_480, "retransmits": 0}
        row |= changed if at == 1 else {}
        rows.append({"streams": [row], "sum": row})
    start = {"version": "iperf 3.9", "tcp_mss_default": 1448, "test_start": {"protocol": "TCP"}}
    start["timestamp"] = {"timesecs": 1_700_000_000}
    return json.dumps({"start": start, "intervals": rows})


def test_intervals_in_another_order_last_as_long(tmp_path: Path) -> None:
    report = json.loads(iperf3())
    report["intervals"].reverse()
    (tmp_path / "report").write_text(json.dumps(report), encoding="utf-8")
    [found] = formats.read(tmp_path / "report", None, {})
    assert inspect(found).duration_s == 3
    assert found.nominal_s == 1


@pytest.mark.parametrize("value", [-1, "x", None, 10**30, float("nan"), True])
@pytest.mark.parametrize("key", ["start", "end", "bits_per_second", "rtt"])
def test_wrong_numbers_of_iperf3_have_their_place(tmp_path: Path, key: str, value: object) -> None:
    file = tmp_path / "report"
    file.write_text(iperf3(**{key: value}), encoding="utf-8")
    place = rf"intervals\[1\]\.(sum|streams\[0\])\.{key}, found"
    with pytest.raises(package.TraceError, match=rf"a number from 0 to 1e\+15 in {place}"):
        formats.read(file, None, {})


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        ([None], r"an object in intervals\[1\].streams\[0\], found none"),
        ([5], r"an object in intervals\[1\].streams\[0\], found 5"),
        ({"a": 1}, r"a list in intervals\[1\].streams, found {'a': 1}"),
        ("ab", r"a list in intervals\[1\].streams, found 'ab'"),
    ],
)
def test_wrong_streams_of_iperf3_have_their_place(
    tmp_path: Path, streams: object, expected: str
) -> None:
    report = json.loads(iperf3())
    report["intervals"][1]["streams"] = streams
    text = json.dumps(report)
    (tmp_path / "report").write_text(text, encoding="utf-8")
    with pytest.raises(package.TraceError, match=f"expected {expected}"):
        formats.read(tmp_path / "report", None, {})
    with pytest.raises(package.TraceError, match=f"expected {expected}"):
        programs.sender(tmp_path / "report", text)


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (None, "an object in end, found none"),
        ([1], r"an object in end, found \[1\]"),
        ({"sum_sent": None}, "an object in end.sum_sent, found none"),
        ({"sum_sent": {"bytes": "x", "retransmits": 1}}, "a number .* in end.sum_sent.bytes"),
        ({"sum_sent": {"bytes": 1, "retransmits": []}}, "a number .* in end.sum_sent.retransmits"),
    ],
)
def test_wrong_totals_of_iperf3_have_their_place(
    tmp_path: Path, end: object, expected: str
) -> None:
    text = json.dumps(json.loads(iperf3()) | {"end": end})
    (tmp_path / "report").write_text(text, encoding="utf-8")
    with pytest.raises(package.TraceError, match=f"expected {expected}"):
        formats.read(tmp_path / "report", None, {})


def test_lost_packets_of_iperf3_can_be_fewer_than_none(tmp_path: Path) -> None:
    report = json.loads(iperf3()) | {"end": {"sum": {"packets": 9, "lost_packets": -1}}}
    report["start"]["test_start"]["protocol"] = "UDP"
    (tmp_path / "report").write_text(json.dumps(report), encoding="utf-8")
    [found] = formats.read(tmp_path / "report", None, {})
    assert (found.probes, found.lost) == (9, -1)


def test_wrong_delays_of_irtt_are_refused(tmp_path: Path) -> None:
    report = json.loads(json.dumps(IRTT))
    report["round_trips"][0]["delay"] = None
    (tmp_path / "report").write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(package.TraceError, match="expected round trips of IRTT with"):
        formats.read(tmp_path / "report", None, {})


@pytest.mark.parametrize("value", [-1, "x", 10**30])
@pytest.mark.parametrize("key", ["snd_cwnd", "retransmits"])
def test_wrong_windows_of_iperf3_have_their_place(
    bentpipe: Bentpipe, tmp_path: Path, key: str, value: object
) -> None:
    (tmp_path / "report").write_text(iperf3(**{key: value}), encoding="utf-8")
    done = bentpipe("replay", "cwnd", "report", "--controller", "reno")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"in intervals[1].streams[0].{key}, found {value!r}" in done.stderr


def test_every_form_is_read_by_a_test() -> None:
    read = {name for _, name, _, _ in FORMS}
    by_data = {"ping-table", "iperf3"}
    assert read | by_data == {one.name for one in formats.FORMATS}


def test_a_gap_is_filled_only_as_the_user_says(bentpipe: Bentpipe, tmp_path: Path) -> None:
    lines = [
        f"{1_700_000_000 + t / 10}\t{t}\t{40 + t % 3}\n" for t in [*range(50), *range(90, 140)]
    ]
    (tmp_path / "pings.txt").write_text("".join(lines), encoding="utf-8")
    [found] = inspected(bentpipe, "pings.txt")
    [gap] = found["gaps"]
    assert (gap["start_s"], gap["end_s"]) == pytest.approx((4.9, 9.0))
    refused = bentpipe("trace", "inspect", "pings.txt", "--out", "path.csv")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "expected --gaps hold or --gaps outage, because the file has 1 gaps" in refused.stderr
    assert not (tmp_path / "path.csv").exists()
    outages = {}
    for rule in ("hold", "outage"):
        arguments = ("trace", "inspect", "pings.txt", "--out", "path.csv", "--gaps", rule)
        assert bentpipe(*arguments).returncode == 0
        table = pl.read_csv(tmp_path / "path.csv")
        outages[rule] = (
            table.filter(pl.col("outage") == 1)["t_s"].to_list() if "outage" in table else []
        )
        scenario = package.Scenario.build(
            name="path", duration="10s",
            link=[{"between": ["a", "b"], "rate": "5Mbit/s", "trace": str(tmp_path / "path.csv")}],
            flow=[{"from": "a", "to": "b", "controller": "cubic", "traffic": {"download": "1MB"}}],
        )  # fmt: skip
        assert package.run(scenario, seed=1).flows["completion_s"][0] > 1.0
    assert outages == {"hold": [], "outage": [4.9]}


def test_a_log_of_columns_has_gaps_and_a_table_of_changes_has_none(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    rows = "".join(f"{t},{40 + t % 3}\n" for t in [*range(30), *range(50, 80)])
    (tmp_path / "log.csv").write_text(f"t_s,rtt_ms\n{rows}", encoding="utf-8")
    [found] = inspected(bentpipe, "log.csv")
    assert [(gap["start_s"], gap["end_s"]) for gap in found["gaps"]] == [(29.0, 50.0)]
    refused = bentpipe("trace", "inspect", "log.csv", "--out", "path.csv")
    assert refused.returncode == 2
    assert "expected --gaps hold or --gaps outage" in refused.stderr
    done = bentpipe("trace", "inspect", "log.csv", "--out", "path.csv", "--gaps", "outage")
    assert done.returncode == 0, done.stderr
    table = pl.read_csv(tmp_path / "path.csv")
    assert table.filter(pl.col("outage") == 1)["t_s"].to_list() == [29.0]
    changes = "t_s,delay_ms\n0,20\n1,25\n30,20\n31,30\n90,20\n"
    (tmp_path / "changes.csv").write_text(changes, encoding="utf-8")
    [found] = inspected(bentpipe, "changes.csv")
    assert found["gaps"] == []


SCENARIO = """\
duration = "1s"

[[link]]
between = ["a", "b"]
delay = "10ms"
trace = {trace}

[[flow]]
from = "a"
to = "b"
controller = "cubic"
traffic = {{ bulk = "unlimited" }}
"""


@pytest.mark.parametrize(
    ("columns", "trace", "warned"),
    [
        ("t_s,rate_mbps", '"path.csv"', False),
        ("t_s,achieved_mbps", '"path.csv"', True),
        ("t_s,rate_mbps", '{ file = "path.csv", kind = "achieved" }', True),
        ("t_s,rate_mbps", '{ file = "path.csv", kind = "capacity" }', False),
    ],
)
def test_an_achieved_rate_is_warned_about(
    bentpipe: Bentpipe, tmp_path: Path, columns: str, trace: str, warned: bool
) -> None:
    (tmp_path / "path.csv").write_text(f"{columns}\n0,5\n1,7\n", encoding="utf-8")
    (tmp_path / "a.toml").write_text(SCENARIO.format(trace=trace), encoding="utf-8")
    done = bentpipe("explain", "a.toml", "--json")
    assert done.returncode == 0, done.stderr
    kinds = {one["kind"] for one in json.loads(done.stdout)["warnings"]}
    assert ("achieved_rate" in kinds) == warned


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (None, (), "nothing.txt: expected a file with a measurement, found no such file"),
        ("hello\n", (), "expected a file in one of the formats ping, ping-table,"),
        (PING, ("--format", "pong"), "found 'pong'; did you mean 'ping'?"),
        ("64 bytes from 1: icmp_seq=1 ttl=63 time=4 ms\n", (), "expected times before replies"),
        ("1700000000.5\t1\t4\n1700000000.6\tx\t4\n", (), "nothing.txt:2: expected 3 numbers"),
        (LEOEM.replace("0.006", "0.016"), (), "nothing.txt:1: expected a sum of 0.006"),
        ("t_s,rtt_ms\n0,fast\n", (), "nothing.txt:2: expected a delay"),
        ("t_s,rtt_ms\n0,5\n1,6\n", ("--direction", "up"), "--direction: expected none"),
        (ACHIEVED, ("--out", "a.csv"), "--out: expected --direction up or down, found none"),
        (ACHIEVED, ("--out", "a.txt", "--direction", "up"), "in .csv or .parquet, found a.txt"),
        (ACHIEVED, ("--gaps", "hold"), "--gaps: only used with --out"),
        ("a,b\n0,5\n1,6\n", ("--column", "t_s=a", "--column", "rtt_ms=c"), "a column \"c\" for"),
        ("a,b\n0,5\n1,6\n", ("--column", "t_s"), "expected COLUMN=NAME"),
        ("a,b\n0,5\n1,6\n", ("--column", "t_s=a", "--column", "rtt_ms=a", "--column", "rtt_ms=b"),
         "--column rtt_ms: expected one value, found 2"),
        ("timestamp,rtt\n", (), "expected at least 2 values, found 0"),
        (ACHIEVED, ("--nominal", "0s"), "--nominal: expected a time above 0s, found 0s"),
        (ACHIEVED.replace("26.5", "-9"), (), "achieved_mbps of at least 0, and finite, found -9"),
        (json.dumps(IRTT).replace("50000000", "-5000000"), (), "rtt_ms of at least 0, and finite"),
        (json.dumps(IRTT).replace("30000000", "-5000000"), ("--out", "a.csv", "--direction", "up"),
         "--out: expected delays of at least 0 ms, found -5 ms"),
        (PING.replace("17000", "999917000"), (), "expected Unix times in s, before the year"),
        ('{"start": {"version": "iperf 3.9"}}', (), "expected intervals with a sum, found none"),
    ],
)  # fmt: skip
def test_wrong_files_and_options(
    bentpipe: Bentpipe, tmp_path: Path, text: str | None, arguments: tuple[str, ...], expected: str
) -> None:
    if text is not None:
        (tmp_path / "nothing.txt").write_text(text, encoding="utf-8")
    done = bentpipe("trace", "inspect", "nothing.txt", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_traces_that_a_scenario_reads_are_not_compressed(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    (tmp_path / "delays.gz").write_bytes(gzip.compress(b"12\n16\n8\n"))
    done = bentpipe("trace", "inspect", "delays.gz")
    assert done.returncode == 2
    assert "expected delays without gzip" in done.stderr


def test_columns_of_a_log_have_names(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("when,RTT [ms]\n5,40\n6,44\n8,60\n", encoding="utf-8")
    arguments = ("log.csv", "--column", "t_s=when", "--column", "rtt_ms=RTT [ms]")
    [found] = inspected(bentpipe, *arguments)
    # Half of the RTT, from the first row on.
    assert found["columns"][0]["percentiles"]["p100"] == 30.0
    assert found["duration_s"] == 5.0
