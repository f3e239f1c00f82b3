"""The command `bentpipe capture`: captures of runs, of the kernel, and files that are none."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import struct
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bentpipe import CaptureError, OutputFolder, Scenario, _native
from bentpipe.captures import tables

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bentpipe

FLAGS = {
    "retransmissions": "retransmission",
    "fast_retransmissions": "fast_retransmission",
    "spurious_retransmissions": "spurious_retransmission",
    "out_of_order": "out_of_order",
    "gaps": "lost_segment",
    "window_full": "window_full",
    "zero_window_probes": "zero_window_probe",
    "keep_alives": "keep_alive",
}
"""Keys of a direction, and Wireshark's fields of packets of its sender."""

OF_RECEIVER = {
    "duplicate_acks": "duplicate_ack",
    "unseen_acks": "ack_lost_segment",
    "zero_windows": "zero_window",
}
"""Keys of a direction, and Wireshark's fields of packets of its receiver."""

SERVER = """\
import socket
with socket.create_server(("", 7000)) as listening:
    connection, _ = listening.accept()
    connection.sendall(bytes(3_000_000))
    connection.close()
    connection, _ = listening.accept()
"""

CLIENT = """\
import socket, subprocess, sys, time
arguments = ["tcpdump", "-Z", "root", "-U", "-i", "any", "-s", "128", "-w", "client.pcap", "tcp"]
dump = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
while "listening" not in dump.stderr.readline():
    pass
for attempt in range(200):
    try:
        connection = socket.create_connection(("server", 7000))
        break
    except OSError:
        time.sleep(0.05)
while connection.recv(1 << 16):
    pass
connection.close()
time.sleep(2)
dump.terminate()
dump.wait()
"""


def need(program: str) -> None:
    """Skip the test if the program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def capture_of(scenario_file: Path, folder: Path, *sets: str) -> Path:
    """The capture of a run in the simulator."""
    scenario = Scenario.load(scenario_file, list(sets))
    output = OutputFolder(folder)
    output.save(_native.run(scenario, capture=output), scenario)
    return folder / "capture.pcapng"


def tsharks(path: Path) -> dict[int, dict[tuple[int, str], Any]]:
    """Counts of Wireshark's fields, for each connection and port of the sender, and RTTs in µs."""
    need("tshark")
    names = ["tcp.stream", "tcp.srcport", "tcp.analysis.ack_rtt", "tcp.len"]
    fields = [*FLAGS.values(), *OF_RECEIVER.values()]
    wanted = [*names, *(f"tcp.analysis.{field}" for field in fields)]
    arguments = [word for name in wanted for word in ("-e", name)]
    command = ["tshark", "-n", "-r", str(path), "-Y", "tcp", "-T", "fields", "-E",
               "occurrence=f", *arguments]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[int, dict[tuple[int, str], Any]] = {}
    for line in done.stdout.splitlines():
        stream, port, rtt, _, *flags = line.split("\t")
        one = found.setdefault(int(stream) + 1, {})
        for field, flag in zip(fields, flags, strict=True):
            key = (int(port), field)
            one[key] = one.get(key, 0) + bool(flag)
        if rtt:
            one.setdefault((int(port), "rtt_us"), []).append(float(rtt) * 1e6)
    return found


def check_against_tshark(path: Path) -> _native.Capture:
    """Compare all counts; each RTT here is one of tshark's."""
    capture = _native.read_capture(path)
    theirs = tsharks(path)
    assert len(theirs) == len(capture.connections)
    for one in capture.connections:
        of_stream = theirs[one.number]
        ports = [int(end.rpartition(":")[2]) for end in (one.client, one.server)]
        for data, (sender, receiver) in (
            (one.to_server, ports),
            (one.to_client, ports[::-1]),
        ):
            for key, field in FLAGS.items():
                assert getattr(data, key) == of_stream.get((sender, field), 0), (one.number, key)
            for key, field in OF_RECEIVER.items():
                assert getattr(data, key) == of_stream.get((receiver, field), 0), (one.number, key)
            to_server = data == one.to_server
            requests = [(one.number, to_server, 0.0, capture.duration_s + 1)]
            (graph,) = _native.capture_graphs(path, requests)
            of_theirs = {round(rtt) for rtt in of_stream.get((receiver, "rtt_us"), ())}
            wrong = [
                rtt for _, rtt in graph.rtt
                if rtt and not {round(rtt * 1e3) + off for off in (-1, 0, 1)} & of_theirs
            ]  # fmt: skip
            assert not wrong
    return capture


@pytest.mark.parametrize(
    "sets",
    [
        ["flow.0.transport.recovery=sack", "link.0.channel.per=0.03"],
        ["flow.0.transport.recovery=linux", "link.0.channel.per=0.05", "ip=ipv6"],
        ["flow.0.transport.receive_buffer=20kB", "link.0.channel.per=0"],
    ],
)
def test_a_run_has_the_counts_of_tshark(small: Path, tmp_path: Path, sets: list[str]) -> None:
    path = capture_of(small, tmp_path / "out", *sets)
    need("editcap")
    # Wireshark takes a SYN at the time 0 for none.
    moved = tmp_path / "moved.pcapng"
    subprocess.run(["editcap", "-t", "1000000", str(path), str(moved)], check=True)
    capture = check_against_tshark(moved)
    data = capture.connections[0].to_client
    assert data.bytes == 300_000
    if "receive_buffer" in sets[0]:
        assert data.window_limited_s is not None
        assert data.window_limited_s > 0.5 * capture.duration_s
    else:
        assert data.repeated_segments > 0


def test_tcptrace_agrees_on_a_run(small: Path, tmp_path: Path) -> None:
    need("tcptrace")
    path = capture_of(small, tmp_path / "out", "flow.0.transport.recovery=sack")
    compare_with_tcptrace(path, _native.read_capture(path))


def compare_with_tcptrace(path: Path, capture: _native.Capture) -> None:
    """Compare data, retransmissions, RTTs and the longest gap of the main direction."""
    command = ["tcptrace", "-lr", "-n", str(path)]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def value(name: str) -> float:
        """The value of the side that sends more data, which is that with larger counts."""
        rows = re.findall(rf"{name}: +([\d.]+) *\w* +{name}: +([\d.]+)", report)
        return float(rows[0][side])

    one = capture.connections[0]
    data = max(one.to_server, one.to_client, key=lambda data: data.bytes)
    sent = re.findall(r"unique bytes sent: +(\d+) +unique bytes sent: +(\d+)", report)[0]
    side = int(int(sent[1]) > int(sent[0]))
    assert value("unique bytes sent") == data.bytes
    assert value("actual data pkts") == data.data_segments
    assert value("rexmt data pkts") == data.repeated_segments
    # The SYN/ACK is a sample of tcptrace, and that of the handshake here.
    shaken = one.client_rtt_ms if side else one.server_rtt_ms
    assert shaken is not None
    assert data.min_rtt_ms is not None
    least = min(data.min_rtt_ms, shaken)
    assert value("RTT min") == pytest.approx(least, rel=0.01, abs=0.1)
    # tcptrace also drops samples after repairs that were acknowledged before.
    assert value("RTT samples") <= data.rtt_samples + 1
    if data.repeated_segments < 0.02 * data.data_segments:
        assert value("RTT samples") >= data.rtt_samples
    assert value("idletime max") == pytest.approx(data.longest_gap_s * 1e3, rel=0.01, abs=0.1)


def test_the_kernels_tcp_has_the_counts_of_tshark(
    bentpipe: Bentpipe, for_kernel: Path, tmp_path: Path
) -> None:
    need("tcpdump")
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    dump = "tcpdump -Z root -U -i any -y LINUX_SLL -s 128 -w server.pcap tcp 2>/dev/null"
    serve = f"cd {tmp_path} && ({dump} & exec {sys.executable} server.py)"
    sets = ["link.0.channel.per=0.01", "link.0.delay=30ms", "link.0.rate=10Mbit/s"]
    done = bentpipe(
        "shell", for_kernel, *(word for one in sets for word in ("--set", one)),
        "--serve", "server", serve, "--", "sh", "-c",
        f"cd {tmp_path} && exec {sys.executable} client.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sender = check_against_tshark(tmp_path / "server.pcap")
    receiver = check_against_tshark(tmp_path / "client.pcap")
    for capture in (sender, receiver):
        assert capture.connections[-1].to_client.bytes == 3_000_000
    sent, received = sender.connections[-1], receiver.connections[-1]
    # Lost segments are seen twice at the sender, and once at the receiver.
    assert sent.to_client.repeated_segments > 0
    assert received.to_client.filled_gaps > 0
    assert (sent.captured_at, received.captured_at) == ("server", "client")
    assert sent.to_client.min_rtt_ms == pytest.approx(60, abs=5)
    assert received.to_client.missed_rtt_ms == pytest.approx(60, abs=5)
    if shutil.which("tcptrace") and len(sender.connections) == 1:
        compare_with_tcptrace(tmp_path / "server.pcap", sender)


def test_json_page_and_figures_beside_a_run(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    path = capture_of(small, tmp_path / "out", "flow.0.transport.recovery=sack")
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    done = bentpipe(
        "capture", path, "--beside", small, "--set", "link.0.channel.per=0.05", "--seed", "2",
        "--out", page, "--figures", figures, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["connections"][0]["to_client"]["bytes"] == 300_000
    assert found["beside"]["source"] == "simulation"
    assert found["beside"]["connections"][0]["to_client"]["repeated_segments"] > 0
    text = page.read_text()
    assert "segment, capture" in text
    assert "acknowledged, simulation" in text
    assert "RTT, simulation" in text
    assert (figures / "connection-1.svg").is_file()
    # The folder of the run is another way to name its capture.
    done = bentpipe("capture", path, "--beside", tmp_path / "out")
    assert re.search(r"^ recording +0.300 ", done.stdout, re.MULTILINE)


def test_tables_name_what_they_leave_out(bentpipe: Bentpipe, small: Path, tmp_path: Path) -> None:
    path = capture_of(small, tmp_path / "out", "flow.0.count=4")
    done = bentpipe("capture", path, "--top", "2")
    assert "2 connections are not shown (--top 4 shows all)" in done.stdout
    done = bentpipe("capture", path, "--connection", "3")
    assert "3 to client" in done.stdout
    assert "1 to client" not in done.stdout
    done = bentpipe("capture", path, "--connection", "5")
    assert done.returncode == 2
    assert "--connection: expected a number from 1 to 4, found 5" in done.stderr


def without_handshake(content: bytes) -> bytes:
    """A pcapng without its first three packets."""
    kept, at, left = b"", 0, 3
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        is_packet = kind == 6
        if not is_packet or left == 0:
            kept += content[at : at + length]
        left -= is_packet and left > 0
        at += length
    return kept


def test_without_a_syn_no_end_is_the_client(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    path, page = tmp_path / "mid.pcapng", tmp_path / "page.html"
    path.write_bytes(without_handshake(capture_of(small, tmp_path / "out").read_bytes()))
    done = bentpipe("capture", path, "--out", page)
    assert done.returncode == 0, done.stderr
    first = _native.read_capture(path).connections[0].client
    note = "Without a SYN, client and server are unknown. The first end is"
    assert f"1: {note} {first}, which sent the first captured packet." in done.stdout
    assert note in page.read_text()
    above = done.stdout.partition("\n1: ")[0]
    for word in ("client", "server"):
        assert word not in above, "neither an end, nor a direction, nor the place of the capture"
    assert re.search(r"^ 1 to (first|second) ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ("reset by client", "reset by the first end"),
        ("reset by server", "reset by the second end"),
        ("half-closed", "half-closed"),
    ],
)
def test_a_reset_without_a_syn_names_the_end(found: str, shown: str) -> None:
    connection: Any = SimpleNamespace(client_known=False, end=found)
    assert tables.end(connection) == shown
    connection.client_known = True
    assert tables.end(connection) == found


def test_a_cut_capture_gives_what_is_there(bentpipe: Bentpipe, small: Path, tmp_path: Path) -> None:
    content = capture_of(small, tmp_path / "out").read_bytes()
    path = tmp_path / "cut.pcapng"
    path.write_bytes(content[: len(content) // 2])
    done = bentpipe("capture", path)
    assert done.returncode == 0
    assert "1 to client" in done.stdout
    packets = _native.read_capture(path).packets
    warning = f"warning: {path}: packet {packets + 1}: expected a whole packet, found the end of"
    assert warning in done.stderr
    packed = tmp_path / "whole.pcapng.gz"
    packed.write_bytes(gzip.compress(content))
    assert _native.read_capture(packed).packets > packets


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "expected a capture in pcapng or pcap, found an empty file"),
        (b"t_s,rtt_ms\n", "found a text that begins with"),
        (b"\x28\xb5\x2f\xfd....", "compressed with zstd; decompress it with `zstd -d`"),
        (b"\xd4\xc3\xb2\xa1\x02", "packet 1: expected a whole packet, found the end of the file"),
        (None, "cannot read"),
    ],
)
def test_files_that_are_no_captures_are_bad_input(
    bentpipe: Bentpipe, tmp_path: Path, content: bytes | None, told: str
) -> None:
    path = tmp_path / "given.pcap"
    if content is not None:
        path.write_bytes(content)
    done = bentpipe("capture", path, "--json")
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert told in done.stderr
    assert json.loads(done.stdout)["errors"][0]["message"]
    with pytest.raises(CaptureError) as raised:
        _native.read_capture(path)
    assert raised.value.file == str(path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "link.0.delay=1ms"], "--set: expected a scenario at --beside, found none"),
        (["--beside", "."], "--beside: expected a folder with capture.pcapng"),
        (["--beside", "other.toml"], "other.toml"),
        (["--out", "page.txt"], "expected FILE.html for --out"),
    ],
)
def test_options_that_do_not_fit_are_bad_input(
    bentpipe: Bentpipe, small: Path, tmp_path: Path, arguments: list[str], told: str
) -> None:
    path = capture_of(small, tmp_path / "out")
    done = bentpipe("capture", path, *arguments)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_a_scenario_without_tcp_cannot_be_compared(
    bentpipe: Bentpipe, small: Path, tmp_path: Path
) -> None:
    path = capture_of(small, tmp_path / "out")
    quic = "flow.0.transport={ protocol = 'quic' }"
    done = bentpipe("capture", path, "--beside", small, "--set", quic)
    assert done.returncode == 2
    assert "--beside: expected a scenario with TCP" in done.stderr
