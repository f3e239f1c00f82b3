#!/usr/bin/env python3
"""The kernel backend compared with Mahimahi's mm-delay and mm-link: rate and delay error.

    emulators.py [--quick]        prints a table; writes out/emulators.md

Both carry the same programs (benches/peers/across.sh: iperf3 and ping) over a link of 250 ms one
way, in network namespaces. Needs root, iperf3 and ping; what is missing is said. Mahimahi is found
in PATH or .cache/peers/mahimahi (benches/peers/README.md shows how to build it), and left out
where it is not.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import engine
from side_by_side import Table

ACROSS = engine.ROOT / "benches/peers/across.sh"
SCENARIO = engine.ROOT / "benches/scenarios/geo-emulated.toml"
MAHIMAHI = engine.ROOT / ".cache/peers/mahimahi"
DELAY_MS = 250
PACKET_BITS = 1500 * 8
RATES = (100, 600)
SERVERS = (
    "iperf3 -s -p 5201 >/dev/null 2>&1 & servers=$!\n"
    'iperf3 -s -p 5202 >/dev/null 2>&1 & servers="$servers $!"\n'
    f'python3 {engine.ROOT}/benches/peers/echo.py serve 5203 & servers="$servers $!"\n'
)
NOBODY = 65534


@dataclass(frozen=True)
class Measured:
    """Measurements of programs on the far side of an emulator; delay errors in milliseconds."""

    tcp_mbps: float
    udp_lost: float
    p50: float
    p99: float
    largest: float


def read(folder: Path) -> Measured:
    """Results of across.sh."""
    tcp = json.loads((folder / "tcp.json").read_text())["end"]["sum_received"]
    udp = json.loads((folder / "udp.json").read_text())["end"]["sum"]
    times = (folder / "echo.txt").read_text().split()
    errors = sorted(float(time) - 2 * DELAY_MS for time in times)
    return Measured(
        tcp["bits_per_second"] / 1e6,
        udp["lost_percent"],
        statistics.median(errors),
        errors[int(len(errors) * 0.99)],
        errors[-1],
    )


def bentpipe(mbit: int, folder: Path) -> Measured:
    """Across the kernel backend."""
    serve = f"{SERVERS} wait"
    command = [
        sys.executable, "-m", "bentpipe", "shell", str(SCENARIO),
        "--set", f"link.0.rate={mbit}Mbit/s", "--host", "client", "--serve", "server", serve,
        "--", "sh", str(ACROSS), "server", str(mbit), str(folder),
    ]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return read(folder)


def mahimahi(mbit: int, folder: Path) -> Measured:
    """Across mm-delay and mm-link, which want to be started by somebody else than root."""
    trace = folder / "trace"
    trace.write_text(opportunities(mbit))
    os.chown(folder, NOBODY, NOBODY)
    delay, link, sysctl = (tool(name) for name in ("mm-delay", "mm-link", "sysctl"))
    # Namespaces begin without forwarding, and mm-link runs in that of mm-delay.
    inner = (
        f"{sysctl} -qw net.ipv4.ip_forward=1; host=$MAHIMAHI_BASE; "
        f"exec {link} {trace} {trace} -- sh {ACROSS} $host {mbit} {folder}"
    )
    script = (
        "ip link set lo up; sysctl -qw net.ipv4.ip_forward=1\n"
        f"{SERVERS}"
        f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups {delay} {DELAY_MS} "
        'sh -c "$0"; status=$?\nkill $servers; exit $status'
    )
    command = ["unshare", "--net", "sh", "-c", script, inner]
    environment = os.environ | {"USER": "nobody", "HOME": str(folder)}
    subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    return read(folder)


def opportunities(mbit: int) -> str:
    """A second of mm-link's trace: the millisecond of each packet that may leave."""
    packets = mbit * 1_000_000 // PACKET_BITS
    return "".join(f"{number * 1000 // packets + 1}\n" for number in range(packets))


def tool(name: str) -> str | None:
    """A program of Mahimahi, or the copy of sysctl with its rights."""
    own = MAHIMAHI / name
    return str(own) if own.exists() else shutil.which(name) if name != "sysctl" else None


def main() -> int:
    """Measure by turns and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the first rate")
    quick = parser.parse_args().quick
    missing = [name for name in ("iperf3", "ping", "unshare") if shutil.which(name) is None]
    if os.geteuid() != 0:
        missing.append("root")
    if missing:
        print(f"skipped: emulators.py needs {', '.join(missing)}")
        return 0
    emulators = {"kernel backend": bentpipe}
    if all(tool(name) for name in ("mm-delay", "mm-link", "sysctl")):
        emulators["mm-delay mm-link"] = mahimahi
    else:
        print("without Mahimahi: not found")
    table = Table(
        "A link of 250 ms one way",
        ["emulator", "link Mbit/s", "TCP Mbit/s", "UDP lost %", "late ms p50", "p99", "max"],
        remarks=["late: round trips competing with UDP at half of the rate, above 500 ms"],
    )
    for rate in RATES[:1] if quick else RATES:
        for name, run in emulators.items():
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                seen = run(rate, Path(folder))
            cells = [seen.tcp_mbps, seen.udp_lost, seen.p50, seen.p99, seen.largest]
            table.rows.append([name, str(rate), *(f"{cell:.2f}" for cell in cells)])
    print(table.text())
    (engine.ROOT / "out").mkdir(exist_ok=True)
    (engine.ROOT / "out/emulators.md").write_text(table.markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
