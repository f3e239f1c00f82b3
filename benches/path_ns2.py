#!/usr/bin/env python3
"""XCP and Snoop compared with ns-2: a dumbbell of XCP flows, and a download over a lossy last hop.

    path_ns2.py               prints the tables
    path_ns2.py --stored      the same with the stored results of ns-2
    path_ns2.py --write       makes the tables of docs/agreement.md again, and the results of ns-2
                              in tests/agreement/ns2-path.json; with --stored only the tables

ns-2's sides are `benches/peers/ns2_xcp.tcl` and `ns2_snoop.tcl` (scripts/peers.sh installs ns-2).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import bentpipe as bp

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/agreement.md"
REFERENCE = ROOT / "tests/agreement/ns2-path.json"
BEGIN, END = "<!-- made by benches/path_ns2.py -->\n", "<!-- end of benches/path_ns2.py -->"
MSS = 1460


@dataclass(frozen=True)
class Dumbbell:
    """XCP flows that start one second after the other, and share a link of 20 Mbit/s."""

    name: str
    # One way in ms: the shared link, and the link of each server.
    delay: int
    access: tuple[int, ...]
    # Seconds.
    duration: int
    measure: int


DUMBBELLS = (
    Dumbbell("two flows, 90 ms", 40, (5, 5), 120, 40),
    Dumbbell("five flows, 502 ms", 250, (1, 1, 1, 1, 1), 300, 100),
    Dumbbell("102, 220, 400 ms", 50, (1, 60, 150), 300, 100),
)


@dataclass(frozen=True)
class Lossy:
    """A download whose last hop loses data with probability `per`."""

    per: float
    snoop: bool


ERROR_RATES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05)
DOWNLOADS = tuple(Lossy(per, snoop) for snoop in (False, True) for per in ERROR_RATES)
SEEDS = range(1, 6)


def installed() -> bool:
    """Whether ns-2 can be run."""
    return shutil.which("ns") is not None


def ns2(script: str, **options: Any) -> dict[str, Any]:
    """One run of ns-2, as the dictionary which the script prints."""
    words = [f"{name}={value}" for name, value in options.items()]
    command = ["ns", str(ROOT / "benches/peers" / script), *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def jain(shares: list[float]) -> float:
    """Jain's index of fairness."""
    return float(sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares)))


def xcp_of_ns2(case: Dumbbell) -> dict[str, Any]:
    """Utilisation, fairness, waiting bytes and drops of ns-2."""
    result = ns2(
        "ns2_xcp.tcl",
        delay=f"{case.delay}ms",
        queue=1000,
        access=" ".join(f"{own}ms" for own in case.access),
        duration=case.duration,
        measure=case.measure,
    )
    goodputs = result["goodputs_bps"]
    return {
        # ns-2 counts 40 bytes of headers, and 10 of the timestamps that its XCP needs.
        "utilisation": sum(goodputs) * (MSS + 50) / MSS / 20e6,
        "jain": jain(goodputs),
        "waiting_bytes": fmean(result["waiting_bytes"]),
        "dropped": result["dropped"] + result["dropped_before"],
    }


def xcp(case: Dumbbell) -> dict[str, Any]:
    """The same of Bentpipe."""
    text = f"""
duration = "{case.duration}s"
record = {{ interval = "10ms" }}
[[link]]
between = ["left", "right"]
rate = "20Mbit/s"
delay = "{case.delay}ms"
feedback = "xcp"
queue = {{ packets = 1000 }}
"""
    for number, own in enumerate(case.access):
        text += f"""
[[link]]
between = ["s{number}", "left"]
rate = "100Mbit/s"
delay = "{own}ms"
feedback = "xcp"
queue = {{ packets = 1000 }}
[[flow]]
from = "s{number}"
to = "right"
controller = "xcp"
start = "{number}s"
transport = {{ receive_buffer = "16MB", send_buffer = "16MB", delayed_ack = "off" }}
traffic = {{ bulk = "unlimited" }}
"""
    recording = bp.run(bp.Scenario.parse(text)).recording
    rows = recording.table("flow_series").iter_rows(named=True)
    # Bytes of each flow at the start of the measurement and at the end.
    delivered: dict[int, list[int]] = {}
    for row in rows:
        if row["t_s"] >= case.measure - 1e-9:
            delivered.setdefault(row["flow"], []).append(row["delivered_bytes"])
    seconds = case.duration - case.measure
    goodputs = [8 * (counts[-1] - counts[0]) / seconds for counts in delivered.values()]
    queue = [
        row["queue_bytes"]
        for row in recording.table("link_series").iter_rows(named=True)
        if row["link"] == 0 and row["t_s"] >= case.measure
    ]
    return {
        "utilisation": sum(goodputs) * (MSS + 40) / MSS / 20e6,
        "jain": jain(goodputs),
        "waiting_bytes": fmean(queue),
        "dropped": sum(link.dropped_packets for link in recording.links),
    }


def download_of_ns2(case: Lossy) -> float:
    """Mean goodput of ns-2 in kbit/s."""
    seeds = SEEDS if case.per > 0 else SEEDS[:1]
    runs = [ns2("ns2_snoop.tcl", per=case.per, snoop=int(case.snoop), seed=s) for s in seeds]
    return fmean(run["goodput_bps"] for run in runs) / 1e3


def download(case: Lossy) -> float:
    """The same of Bentpipe. The MAC of ns-2's local networks adds 64 bytes to a packet."""
    middlebox = '[[node]]\nname = "gateway"\nmiddlebox = { name = "snoop" }' if case.snoop else ""
    scenario = bp.Scenario.parse(f"""
duration = "310s"
record = {{ interval = "10s" }}
[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "100ms"
queue = {{ packets = 1000 }}
[[link]]
between = ["gateway", "client"]
rate = "2Mbit/s"
delay = "5ms"
queue = {{ packets = 1000 }}
overhead = "64B"
forward = {{ channel = {{ per = {case.per} }} }}
{middlebox}
[[flow]]
from = "server"
to = "client"
controller = "newreno"
traffic = {{ bulk = "unlimited" }}
[flow.transport]
recovery = "newreno"
timestamps = false
mss = {MSS}
receive_buffer = "{50 * MSS}B"
initial_window = 2
delayed_ack = "off"
window_validation = false
rto = {{ initial = "1s", min = "1s" }}
""")
    goodputs = []
    for seed in SEEDS if case.per > 0 else SEEDS[:1]:
        series = bp.run(scenario, seed=seed).recording.table("flow_series")
        at = {round(row["t_s"]): row["delivered_bytes"] for row in series.iter_rows(named=True)}
        goodputs.append((at[310] - at[10]) * 8 / 300 / 1e3)
    return fmean(goodputs)


def reference() -> dict[str, Any]:
    """Results of ns-2 now."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return {
            "xcp": [asdict(case) | xcp_of_ns2(case) for case in DUMBBELLS],
            "snoop": [
                asdict(case) | {"goodput_kbps": goodput}
                for case, goodput in zip(
                    DOWNLOADS, pool.map(download_of_ns2, DOWNLOADS), strict=True
                )
            ],
        }


def tables(stored: dict[str, Any]) -> str:
    """Both tables in Markdown."""
    lines = [
        "| XCP | simulator | utilisation | Jain | waiting, bytes | dropped |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for case, theirs in zip(DUMBBELLS, stored["xcp"], strict=True):
        for name, one in (("Bentpipe", xcp(case)), ("ns-2", theirs)):
            lines.append(
                f"| {case.name} | {name} | {one['utilisation']:.3f} | {one['jain']:.4f} "
                f"| {one['waiting_bytes']:.0f} | {one['dropped']} |"
            )
    lines += [
        "",
        "| gateway | PER | Bentpipe, kbit/s | ns-2, kbit/s | difference |",
        "|---|---:|---:|---:|---:|",
    ]
    for lossy, theirs in zip(DOWNLOADS, stored["snoop"], strict=True):
        ours, other = download(lossy), theirs["goodput_kbps"]
        lines.append(
            f"| {'Snoop' if lossy.snoop else 'none'} | {lossy.per:g} | {ours:.0f} | {other:.0f} "
            f"| {(ours / other - 1) * 100:+.1f} % |"
        )
    return "\n".join(lines)


def main() -> None:
    """Runs both and prints or writes the tables."""
    parser = argparse.ArgumentParser(description="XCP and Snoop compared with ns-2")
    parser.add_argument("--write", action="store_true", help="write docs and reference")
    parser.add_argument("--stored", action="store_true", help="do not run ns-2")
    arguments = parser.parse_args()
    if not (arguments.stored or installed()):
        sys.exit("ns-2 is not installed (scripts/peers.sh); --stored has its results")
    stored = json.loads(REFERENCE.read_text()) if arguments.stored else reference()
    if arguments.write:
        REFERENCE.write_text(json.dumps(stored, indent=1) + "\n")
    text = tables(stored)
    print(text)
    if not arguments.write:
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    main()
