"""Captures as other people's analysers read them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import bentpipe
from bentpipe import _native
from conftest import TUNNEL

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe._native import Flow, TcpTotals
    from conftest import Bentpipe


Captured = tuple["Path", "Flow"]


@pytest.fixture
def captured(small: Path, tmp_path: Path) -> Captured:
    """The capture of a lossy download, and the totals of its flow."""
    return capture(small, tmp_path, "flow.0.transport.recovery=sack")


def capture(scenario_file: Path, tmp_path: Path, *sets: str) -> Captured:
    """The capture of a scenario's run, and the totals of its flow."""
    scenario = bentpipe.Scenario.load(scenario_file, list(sets))
    folder = bentpipe.OutputFolder(tmp_path / "out")
    recording = _native.run(scenario, capture=folder)
    folder.save(recording, scenario)
    return tmp_path / "out" / "capture.pcapng", recording.flows[0]


def tcp(flow: Flow) -> TcpTotals:
    """The part of TCP."""
    assert flow.tcp is not None
    return flow.tcp


def output_of(*command: str | Path) -> str:
    """What a program prints; skips the test if the program is not installed."""
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert "PCAP error" not in done.stderr + done.stdout
    return done.stdout


def test_wireshark_sees_each_segment_once(captured: Captured) -> None:
    path, flow = captured
    fields = ["tcp.seq_raw", "tcp.len", "ip.src", "ip.len", "_ws.malformed"]
    arguments = [argument for field in fields for argument in ("-e", field)]
    lines = output_of("tshark", "-r", path, "-T", "fields", *arguments).splitlines()
    packets = [line.split("\t") for line in lines]
    data = [packet for packet in packets if int(packet[1]) > 0]
    assert len(data) == tcp(flow).segments_sent
    assert len(data) - len({packet[0] for packet in data}) == tcp(flow).segments_retransmitted
    assert {packet[2] for packet in data} == {"10.0.0.1"}
    assert all(packet[4] == "" for packet in packets)


def test_wireshark_reads_packets_of_ipv6(small: Path, tmp_path: Path) -> None:
    path, flow = capture(small, tmp_path, "ip=ipv6")
    fields = ["ipv6.src", "ipv6.plen", "tcp.len", "tcp.checksum.status", "_ws.malformed"]
    arguments = [argument for field in fields for argument in ("-e", field)]
    check = ("-o", "tcp.check_checksum:TRUE")
    lines = output_of("tshark", "-r", path, *check, "-T", "fields", *arguments).splitlines()
    packets = [line.split("\t") for line in lines]
    data = [packet for packet in packets if int(packet[2]) > 0]
    assert len(data) == tcp(flow).segments_sent
    assert {packet[0] for packet in data} == {"fd00::1"}
    # A full segment with its TCP header, but without the 40 bytes of IPv6.
    assert max(int(packet[1]) for packet in data) == 1480
    # Data is cut off and cannot be summed; the rest is whole.
    assert {packet[3] for packet in packets if packet[2] == "0"} == {"1"}
    assert all(packet[4] == "" for packet in packets)


@pytest.mark.parametrize(("version", "header"), [("ipv4", 20), ("ipv6", 40)])
def test_wireshark_reads_what_routers_answer_to_long_packets(
    tmp_path: Path, version: str, header: int
) -> None:
    (tmp_path / "tunnel.toml").write_text(TUNNEL)
    scenario = bentpipe.Scenario.load(tmp_path / "tunnel.toml", [f"ip={version}"])
    folder = bentpipe.OutputFolder(tmp_path / "out")
    recording = _native.run(scenario, capture=folder)
    folder.save(recording, scenario)
    path = tmp_path / "out" / "capture.pcapng"
    icmp = {"ipv4": "icmp", "ipv6": "icmpv6"}[version]
    fields = ["ip.src", "ip.dst", "ip.len", f"{icmp}.mtu", f"{icmp}.type"]
    if version == "ipv6":
        fields = ["ipv6.src", "ipv6.dst", "ipv6.plen", f"{icmp}.mtu", f"{icmp}.type"]
    fields += ["tcp.seq", "tcp.srcport", "_ws.malformed", "frame.len"]
    arguments = [argument for field in fields for argument in ("-e", field)]
    # Wireshark has no raw number of a quoted header.
    raw = ("-o", "tcp.relative_sequence_numbers:FALSE")
    lines = output_of("tshark", "-r", path, *raw, "-Y", icmp, "-T", "fields", *arguments)
    messages = [line.split("\t") for line in lines.splitlines()]
    (answered,) = {row["icmp_packets"] for row in recording.table("mtu").to_dicts()} - {0}
    assert len(messages) == answered > 0
    router, sender = {"ipv4": ("10.0.0.2", "10.0.0.1"), "ipv6": ("fd00::2", "fd00::1")}[version]
    for source, destination, length, mtu, kind, sequence, port, malformed, frame in messages:
        # The packet that a message quotes went from the sender to the client.
        assert source.split(",")[0] == router
        assert destination.split(",")[0] == sender
        assert source.split(",")[1] == sender
        # The length of IPv6 is that behind its header.
        counted = header if version == "ipv6" else 0
        assert [int(one) + counted for one in length.split(",")] == [int(frame), 1480 + header]
        assert (mtu, kind) == ("1400", {"ipv4": "3", "ipv6": "2"}[version])
        # In ICMPv6, Wireshark reads no TCP header that is cut off behind the sequence number.
        has_sequence = version == "ipv4"
        assert (bool(sequence), port, malformed) == (has_sequence, "5001", "")


QUIC = ("--set", "flow.0.transport={ protocol = 'quic' }")


def test_wireshark_decrypts_quic_with_the_key_log(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = bentpipe("run", small, *QUIC, "--out", out, "--pcap", "--keylog", "--qlog")
    assert (done.returncode, done.stderr) == (0, "")
    traces = [f"qlog-0-0-{role}.sqlog" for role in ("client", "server")]
    assert sorted(path.name for path in out.glob("qlog-*")) == traces
    for path in out.glob("qlog-*"):
        records = [json.loads(record) for record in path.read_text().split("\x1e")[1:]]
        assert records[0]["qlog_version"] == "0.3"
        assert {"transport:packet_sent", "transport:packet_received"} <= {
            record["name"] for record in records[1:]
        }
    keys = f"tls.keylog_file:{out / 'tls-keys.log'}"
    fields = ("-T", "fields", "-e", "quic.stream_data", "-e", "_ws.malformed")
    lines = output_of("tshark", "-r", out / "capture.pcapng", "-o", keys, *fields).splitlines()
    data, malformed = zip(*(line.split("\t") for line in lines), strict=True)
    assert sum(len(digits) for digits in data) >= 2 * 300_000
    assert not any(malformed)
    # A later run without them leaves none behind.
    assert bentpipe("run", small, *QUIC, "--out", out).returncode == 0
    assert not [*out.glob("qlog-*"), *out.glob("tls-keys.log")]


@pytest.mark.parametrize("option", ["--keylog", "--qlog"])
def test_logs_of_quic_need_a_flow_with_quic(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, option: str
) -> None:
    done = bentpipe("run", small, "--out", tmp_path / "out", option)
    assert done.returncode == 2
    assert f"{option[2:]}: expected a scenario with a flow" in done.stderr
    assert not (tmp_path / "out").exists()


def test_tcptrace_counts_what_we_count(captured: Captured) -> None:
    path, flow = captured
    report = output_of("tcptrace", "-l", path)

    def senders(name: str) -> int:
        """A count of the side that sends the data, which is the larger one."""
        (row,) = re.findall(rf"{name}: +(\d+) +{name}: +(\d+)", report)
        return max(map(int, row))

    assert "1 TCP connection traced" in report
    assert senders("unique bytes sent") == flow.bytes
    assert senders("actual data pkts") == tcp(flow).segments_sent
    assert senders("rexmt data pkts") == tcp(flow).segments_retransmitted


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_the_page_reads_the_segments_that_wireshark_reads(
    small: Path, tmp_path: Path, version: str
) -> None:
    sets = ("flow.0.transport.recovery=sack", "link.0.channel.per=0.03", f'ip="{version}"')
    path, flow = capture(small, tmp_path, *sets)
    capture_read = _native.read_capture(path)
    (connection,) = capture_read.connections
    assert connection.to_client.repeated_segments == tcp(flow).segments_retransmitted > 0
    (graph,) = _native.capture_graphs(path, [(1, False, 0.0, capture_read.duration_s)])
    assert len(graph.again) == tcp(flow).segments_retransmitted
    assert not graph.reduced
    names = ["frame.time_epoch", "tcp.seq", "tcp.len", "tcp.ack", "tcp.window_size", "tcp.srcport"]
    fields = [argument for field in names for argument in ("-e", field)]
    names = ["tcp.options.sack_le", "tcp.options.sack_re"]
    fields += [argument for field in names for argument in ("-e", field)]
    lines = output_of("tshark", "-r", path, "-T", "fields", *fields).splitlines()
    sent, acks, sacks = [], [], []
    for line in lines:
        at, seq, length, ack, window, port, starts, ends = line.split("\t")
        if int(length):
            sent.append((float(at), int(seq) - 1, int(seq) + int(length) - 1))
        elif port != "5001" and int(seq):
            acks.append((float(at), int(ack) - 1, int(ack) - 1 + int(window)))
            found = zip(starts.split(","), ends.split(","), strict=True) if starts else ()
            sacks += [(float(at), int(a) - 1, int(b) - 1) for a, b in found]
    start = capture_read.started_s
    drawn = [(round(start + at, 6), *rest) for at, *rest in (*graph.sent, *graph.again)]
    assert sorted(drawn) == sorted((round(at, 6), *rest) for at, *rest in sent)
    drawn = [(round(start + at, 6), *rest) for at, *rest in graph.sacks]
    assert drawn == [(round(at, 6), *rest) for at, *rest in sacks]
    steps = [
        (round(start + at, 6), int(acked), int(edge))
        for (at, acked), (_, edge) in zip(graph.acked, graph.edge, strict=True)
    ]
    assert steps == [(round(at, 6), *rest) for at, *rest in acks]
    assert sacks
