"""The shaper against tbf of this machine's kernel: real packets over a pair of veth devices."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import bentpipe as bp
from bentpipe import netem

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.alone

RATE, BURST, ETHERNET = 10e6, 32 * 1024, 14
LINE = "tbf rate 10mbit burst 32kb limit 200kb"
PACKETS, PAYLOAD = 120, 1458

RECEIVE = f"""
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
s.bind(("10.77.0.2", 7000))
s.settimeout(10)
print("ready", flush=True)
for _ in range({PACKETS}):
    data, control, _, _ = s.recvmsg(2000, 100)
    seconds, nanos = struct.unpack("ll", control[0][2])
    print(len(data), seconds * 10**9 + nanos, flush=True)
"""
SEND = f"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"x", ("10.77.0.2", 9))  # ARP comes before the burst.
time.sleep(0.3)
for _ in range({PACKETS}):
    s.sendto(b"x" * {PAYLOAD}, ("10.77.0.2", 7000))
"""
SINK = """
import socket, time
s = socket.create_server(("10.77.0.2", 7001))
print("ready", flush=True)
c, _ = s.accept()
total, first = 0, None
while data := c.recv(1 << 16):
    total += len(data)
    first = first or time.monotonic()
    last = time.monotonic()
print(total, last - first, flush=True)
"""
SOURCE = """
import socket, time
s = socket.create_connection(("10.77.0.2", 7001))
end = time.monotonic() + 5
while time.monotonic() < end:
    s.sendall(b"x" * 10000)
s.close()
"""


def run(command: str) -> None:
    subprocess.run(command.split(), check=True, capture_output=True, text=True)


def reason_to_skip() -> str | None:
    """Why this machine cannot run tbf, if it cannot."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [program for program in ("ip", "tc") if shutil.which(program) is None]
    return f"it needs {missing[0]}" if missing else None


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    """Two namespaces with a veth pair, and tbf at the device of the first one."""
    if reason := reason_to_skip():
        print(f"skipped: {reason}", file=sys.stderr)
        pytest.skip(reason)
    names = (f"tbf-a-{os.getpid()}", f"tbf-b-{os.getpid()}")
    try:
        for name in names:
            run(f"ip netns add {name}")
        run(f"ip link add v0 netns {names[0]} type veth peer name v1 netns {names[1]}")
        for number, name in enumerate(names):
            run(f"ip -n {name} addr add 10.77.0.{number + 1}/24 dev v{number}")
            run(f"ip -n {name} link set v{number} up")
        added = subprocess.run(
            f"ip netns exec {names[0]} tc qdisc add dev v0 root {LINE}".split(),
            check=False,
            capture_output=True,
            text=True,
        )
        if added.returncode != 0:
            pytest.skip(f"this kernel has no tbf: {added.stderr.strip()}")
        time.sleep(0.5)
        yield names
    finally:
        for name in names:
            subprocess.run(f"ip netns del {name}".split(), check=False, capture_output=True)


def exchange(hosts: tuple[str, str], receiver: str, sender: str) -> list[list[int | float]]:
    """Lines of numbers that the receiver prints."""
    inside = ["ip", "netns", "exec"]
    with subprocess.Popen(
        [*inside, hosts[1], sys.executable, "-c", receiver], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        subprocess.run([*inside, hosts[0], sys.executable, "-c", sender], check=True)
        lines, _ = process.communicate(timeout=20)
    return [[float(word) for word in line.split()] for line in lines.splitlines()]


def test_a_burst_passes_the_kernels_tbf_as_it_passes_the_formula(hosts: tuple[str, str]) -> None:
    """tc-tbf(8): `burst` bytes at once, and the rest at the rate, of frames with 14 bytes more."""
    rows = exchange(hosts, RECEIVE, SEND)
    frame = PAYLOAD + 28 + ETHERNET
    times = [(nanos - rows[0][1]) / 1e9 for _, nanos in rows]
    assert len(times) == PACKETS
    for number, seen in enumerate(times):
        expected = max(0.0, ((number + 1) * frame - BURST) * 8 / RATE)
        # The bucket: never earlier, apart from the time that the sender takes for its burst.
        assert seen >= expected - 0.003, (number, seen, expected)
    late = [
        seen - max(0.0, ((number + 1) * frame - BURST) * 8 / RATE)
        for number, seen in enumerate(times)
    ]
    assert sorted(late)[len(late) // 2] < 0.003, late


def test_tcp_behind_the_kernels_tbf_has_the_goodput_of_the_imported_line(
    hosts: tuple[str, str],
) -> None:
    ((total, seconds),) = exchange(hosts, SINK, SOURCE)
    kernel = total * 8 / seconds
    toml = netem.imported(f"tc qdisc add dev v0 root {LINE}", "tbf.sh").toml
    toml = toml.replace("[link.forward]\n", f'[link.forward]\noverhead = "{ETHERNET}B"\n')
    toml = re.sub(r'duration = "\d+s"', 'duration = "5s"', toml)
    ours = bp.run(bp.Scenario.parse(toml)).recording.flows[0].goodput_bps
    # Segments of 1448 bytes in frames of 1514; the bucket starts full.
    formula = RATE * 1448 / 1514
    print(f"kernel {kernel:.0f}, simulator {ours:.0f}, formula {formula:.0f}")
    assert kernel == pytest.approx(formula, rel=0.03)
    assert ours == pytest.approx(kernel, rel=0.03)
