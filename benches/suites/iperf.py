"""An unmodified iperf3 between two namespaces, compared with a download on the simulator.

The hosts are those of `hosts.toml`, with every setting at its default. Both backends send for the
same time. The kernel names its limit by `TCP_INFO` as `ss` prints it: the shares of the receive
window and of the send buffer. The share of the send buffer stays zero where bursts fill it, so
samples with less in flight than cwnd and nothing that waits count for it too.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.numbers import decimals, signed
from suites.hosts import HOSTS, path

if TYPE_CHECKING:
    from collections.abc import Mapping

TIME_S = 30
"""Time for which both send."""
WRITE = "1280KiB"
"""Ten writes of 128 KiB: iperf3 looks whether the socket takes more after as many."""
SAMPLES_S = 0.1
HALF = 0.5
"""A limit is named if it holds for this share of the time."""

REAL_TIME_S = 35
"""Real time of one path."""

LIMITS = ("congestion window", "receive window", "send buffer")


@dataclass(frozen=True)
class Route:
    """A path, with the overrides of its scenario and its round trip in seconds."""

    overrides: Mapping[str, str]
    rtt_s: float


PATHS = {
    "10 Mbit/s, 100 ms": Route(path(10, 100), 0.1),
    "50 Mbit/s, 600 ms": Route(path(50, 600), 0.6),
    "100 Mbit/s, 600 ms": Route(path(100, 600), 0.6),
    "50 Mbit/s, 600 ms, `tcp_rmem` 1 MiB": Route(
        path(50, 600) | {"flow.0.transport.receive_buffer": '{ max = "1MiB" }'}, 0.6
    ),
}


@dataclass(frozen=True)
class Found:
    """Goodput in bits per second, the limit, and the shares by which it is named."""

    goodput_bps: float
    limit: str
    shares: Mapping[str, float]


def simulated(on: Route, time_s: int = TIME_S) -> Found:
    """The download on the simulator, counted from the first byte that arrives."""
    duration = time_s + 2 * on.rtt_s
    sets = [
        *_overrides(on),
        f'flow.0.traffic={{ download = "10GB", write = "{WRITE}" }}',
        "flow.0.transport.nagle=true",
        f"duration={duration}s",
    ]
    scenario = _native.Scenario.load(HOSTS, sets)
    flow = _native.run_many([(scenario, 1)])[0].flows[0]
    shares = {
        "congestion window": flow.limited_by_congestion_window or 0.0,
        "receive window": flow.limited_by_receive_window or 0.0,
        "send buffer": flow.limited_by_send_buffer or 0.0,
    }
    limit = max(LIMITS, key=lambda name: shares[name])
    return Found(8 * flow.bytes / time_s, limit, shares)


def measured(on: Route, time_s: int = TIME_S) -> Found:
    """The same with iperf3 across the links of the scenario, whose server sends."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        watch = (
            f"iperf3 -s >/dev/null & while sleep {SAMPLES_S}; do "
            f"ss -tinHO state established '( sport = :5201 )'; done >{shlex.quote(str(samples))}"
        )
        sets = [part for one in _overrides(on) for part in ("--set", one)]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "bentpipe", "shell", str(HOSTS), *sets),
                *("--serve", "server", watch, "--", "sh", "-c"),
                f"sleep 1; iperf3 -c server -R -t {time_s} -C cubic --json",
            ],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        lines = samples.read_text().splitlines()
    received = json.loads(done.stdout)["end"]["sum_received"]
    return named(8 * received["bytes"] / time_s, lines)


def named(goodput: float, lines: list[str]) -> Found:
    """The limit of the connection with most data, by the samples of it."""
    sent = {line: _number(line, "bytes_sent") for line in lines}
    port = _peer(max(lines, key=lambda line: sent[line]))
    own = [line for line in lines if _peer(line) == port]
    busy = max(_number(own[-1], "busy"), 1.0)
    full = [_fills_buffer(line) for line in own]
    shares = {
        "receive window": _number(own[-1], "rwnd_limited") / busy,
        "send buffer": max(_number(own[-1], "sndbuf_limited") / busy, statistics.fmean(full)),
    }
    limit = max(shares, key=lambda name: shares[name])
    return Found(goodput, limit if shares[limit] >= HALF else "congestion window", shares)


def _fills_buffer(line: str) -> bool:
    """Returns true if the window has room, and no full segment waits for it."""
    has_room = _number(line, "unacked") < _number(line, "cwnd")
    return has_room and _number(line, "notsent") < _number(line, "mss")


def _peer(line: str) -> str:
    """Address and port of the other end in a line of `ss` without its state."""
    return line.split()[3]


def _number(line: str, name: str) -> float:
    found = re.search(rf"\b{name}:(\d+)", line)
    return float(found[1]) if found else 0.0


def _overrides(on: Route) -> list[str]:
    return [f"{path}={value}" for path, value in on.overrides.items()]


def real_time_s() -> float:
    """Real time of all paths. Exits if iperf3 or ss is missing."""
    if lacking := [name for name in ("iperf3", "ss") if shutil.which(name) is None]:
        sys.exit(f"{' and '.join(lacking)} missing: Debian packages iperf3 and iproute2")
    return REAL_TIME_S * len(PATHS)


def run() -> dict[str, Any]:
    """Goodput and limit on all paths, for the results."""
    rows = []
    for name, on in PATHS.items():
        kernel, simulator = measured(on), simulated(on)
        rows.append({"path": name, "kernel": asdict(kernel), "simulator": asdict(simulator)})
    return {"rows": rows}


def table(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "| path | kernel Mbit/s | simulator Mbit/s | difference % | limit of the kernel | "
        "limit of the simulator |",
        "|---|---:|---:|---:|---|---|",
    ]
    for row in found["rows"]:
        kernel, simulator = row["kernel"], row["simulator"]
        difference = 100 * (simulator["goodput_bps"] / kernel["goodput_bps"] - 1)
        lines.append(
            f"| {row['path']} | {decimals(kernel['goodput_bps'] / 1e6, 1)} "
            f"| {decimals(simulator['goodput_bps'] / 1e6, 1)} "
            f"| {signed(round(difference, 1) + 0.0, places=1)} "
            f"| {limit_text(kernel)} | {limit_text(simulator)} |"
        )
    lines += ["", f"{found['date']}, commit {found['commit']}, Linux {found['kernel']}."]
    return "\n".join(lines)


def limit_text(found: dict[str, Any]) -> str:
    """A limit with its share, if that was measured."""
    limit = str(found["limit"])
    share = found["shares"].get(limit)
    return limit + ("" if share is None else f", {decimals(100 * share, 0)} %")
