#!/usr/bin/env python3
"""Bentpipe compared with ns-3 and ns-2 in one run, and the growth of its own cost.

    side_by_side.py [--quick]        prints tables; writes out/bench.json and out/bench.md

Each figure is the least of several runs, and the simulators take turns, so that a busy moment of
the machine hits all of them. A slow result is no failure. Peers that are not installed are left
out; scripts/peers.sh brings them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import engine
from bentpipe import controllers as controllers_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

SCENARIOS = engine.ROOT / "benches/scenarios"
NS3 = engine.ROOT / ".cache/peers/ns3-download"
NS2 = engine.ROOT / "benches/peers/ns2_download.tcl"
OUT = engine.ROOT / "out"

# As benches/scenarios/geo-download.toml and overshoot.toml; what is not named is the default of
# the peers. ns-3 is spared the counting of segments, which it does by callbacks.
GEO = {"bytes": "50000000", "ssthresh": "65535"}
OVERSHOOT = {
    "bytes": "0",
    "duration": "120",
    "accessDelay": "0ms",
    "delay": "260ms",
    "queue": "433",
    "window": "8388608",
    "initialCwnd": "10",
}
RATES = {"accessRate": "1G{}", "rate": "10M{}", "returnRate": "10M{}"}

MIB = 1 << 20
RTT_S = 0.52


@dataclass
class Figure:
    """The best of the runs of one simulator."""

    process_s: float = float("inf")
    run_s: float = float("inf")
    max_rss_kb: int = 0
    goodput_mbps: float = 0.0
    packet_hops: int | None = None

    def take(self, other: Figure) -> None:
        """Keeps the least times; all else is the same in each run."""
        self.process_s = min(self.process_s, other.process_s)
        self.run_s = min(self.run_s, other.run_s)
        self.max_rss_kb = max(self.max_rss_kb, other.max_rss_kb)
        self.goodput_mbps = other.goodput_mbps
        self.packet_hops = other.packet_hops


@dataclass
class Table:
    """A table with a heading and remarks."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def text(self) -> str:
        """For the terminal."""
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]

        def line(cells: list[str]) -> str:
            first, *rest = zip(cells, widths, strict=True)
            padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
            return "  " + "  ".join(padded)

        rows = [line(self.columns), *map(line, self.rows)]
        return "\n".join([self.title, "", *rows, *(f"  {remark}" for remark in self.remarks), ""])

    def markdown(self) -> str:
        """For out/bench.md."""
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        rows = [f"| {' | '.join(cells)} |" for cells in [self.columns, rule, *self.rows]]
        return "\n".join([f"### {self.title}", "", *rows, "", *self.remarks, ""])


def bentpipe(program: Path, scenario: str, *sets: str) -> Figure:
    """One run of Bentpipe, of a scenario with one flow."""
    outcome = engine.run(program, SCENARIOS / scenario, *sets)
    goodput = outcome.flows[0]["goodput_bps"] / 1e6
    return Figure(
        outcome.process_s, outcome.run_s, outcome.max_rss_kb, goodput, outcome.packet_hops
    )


def peer(command: list[str]) -> Figure:
    """One run of a peer, which prints one line of JSON."""
    started = time.perf_counter()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    process_s = time.perf_counter() - started
    printed = json.loads(done.stdout)
    goodput = printed["goodput_bps"] / 1e6
    return Figure(
        process_s, printed["wall_s"], printed["max_rss_kb"], goodput, printed["packet_hops"]
    )


def ns3(options: dict[str, str]) -> Figure:
    """One run of ns-3."""
    return peer([str(NS3), "--counts=0", *(f"--{key}={value}" for key, value in options.items())])


def ns2(options: dict[str, str]) -> Figure:
    """One run of ns-2."""
    return peer(["ns", str(NS2), *(f"{key}={value}" for key, value in options.items())])


def measure(runs: Iterable[tuple[str, int, Callable[[], Figure]]]) -> dict[str, Figure]:
    """Takes turns until each simulator has had its number of runs."""
    left = [(name, count, run) for name, count, run in runs]
    figures = {name: Figure() for name, _, _ in left}
    while left:
        for name, _, run in left:
            figures[name].take(run())
        left = [(name, count - 1, run) for name, count, run in left if count > 1]
    return figures


def compare(title: str, figures: dict[str, Figure]) -> Table:
    """Bentpipe's figures, and those of its peers as multiples."""
    columns = ["simulator", "process ms", "run ms", "RSS MB", "Mbit/s", "process x", "run x"]
    table = Table(title, columns)
    ours = next(iter(figures.values()))
    for name, figure in figures.items():
        ratios = [figure.process_s / ours.process_s, figure.run_s / ours.run_s]
        table.rows.append(
            [
                name,
                f"{figure.process_s * 1e3:.1f}",
                f"{figure.run_s * 1e3:.1f}",
                f"{figure.max_rss_kb / 1024:.1f}",
                f"{figure.goodput_mbps:.3f}",
                *(f"{ratio:.1f}" for ratio in ratios),
            ]
        )
    if ours.packet_hops:
        hops = ours.packet_hops
        table.remarks.append(
            f"Bentpipe: {hops} packet-hops, {ours.run_s / hops * 1e9:.1f} ns each."
        )
    return table


def download(program: Path, rounds: int) -> tuple[Table, Any]:
    """(a) The GEO download."""
    runs = [("Bentpipe", 5 * rounds, lambda: bentpipe(program, "geo-download.toml"))]
    if NS3.exists():
        runs.append(("ns-3.44", rounds, lambda: ns3(GEO)))
    if shutil.which("ns"):
        runs.append(("ns-2.35", 2 * rounds, lambda: ns2(GEO)))
    figures = measure(runs)
    title = "(a) GEO download: 50 MB, window 65,535 bytes, delayed ACK"
    return compare(title, figures), {name: vars(figure) for name, figure in figures.items()}


def overshoot(program: Path, rounds: int) -> tuple[Table, Any]:
    """(b) Slow start overshoots by hundreds of segments."""

    def rates(unit: str) -> dict[str, str]:
        return OVERSHOOT | {key: rate.format(unit) for key, rate in RATES.items()}

    runs = [("Bentpipe", 5 * rounds, lambda: bentpipe(program, "overshoot.toml"))]
    if NS3.exists():
        options = rates("bps") | {"windowScaling": "1"}
        runs.append(("ns-3.44", max(1, rounds // 2), lambda: ns3(options)))
    if shutil.which("ns"):
        runs.append(("ns-2.35", rounds, lambda: ns2(rates("b"))))
    figures = measure(runs)
    title = "(b) Overshoot: 120 s NewReno + SACK, 10 Mbit/s, 520 ms, window 8 MiB, queue 433"
    table = compare(title, figures)
    table.remarks.append("The goodput hangs on how each leaves the first overshoot.")
    return table, {name: vars(figure) for name, figure in figures.items()}


def idle_bytes(program: Path, *sets: str) -> float:
    """Memory of one idle flow.

    The difference of the peaks of two runs, which differ in nothing but the number of flows. Both
    have many: below some thousand flows the peak is that of reading the scenario.
    """
    few, many = 10_000, 20_000
    scenario = SCENARIOS / "shared-bottleneck.toml"
    peaks = [
        engine.run(program, scenario, f"flow.0.count={count}", *sets).max_rss_kb
        for count in (few, many)
    ]
    return (peaks[1] - peaks[0]) * 1024 / (many - few)


def flows(program: Path, rounds: int) -> tuple[Table, Any]:
    """(c) More and more flows through one bottleneck."""
    table = Table(
        "(c) Flows through one bottleneck: 100 Mbit/s, 502 ms, 100 s",
        ["flows", "packet-hops", "run ms", "ns per hop", "growth"],
    )
    found: dict[str, Any] = {"ns_per_hop": {}}
    first = 0.0
    for count in (1, 10, 100, 1000, 10_000):
        outcomes = [
            engine.run(program, SCENARIOS / "shared-bottleneck.toml", f"flow.0.count={count}")
            for _ in range(rounds)
        ]
        run_s, hops = min(outcome.run_s for outcome in outcomes), outcomes[0].packet_hops
        cost = run_s / hops * 1e9
        first = first or cost
        found["ns_per_hop"][count] = cost
        row = [
            f"{count:,}",
            f"{hops:,}",
            f"{run_s * 1e3:.0f}",
            f"{cost:.1f}",
            f"{cost / first:.2f}",
        ]
        table.rows.append(row)
    found["bytes_per_unstarted_flow"] = idle_bytes(program, "duration=1s", "flow.0.start=900s")
    # One byte each: the connections stand and have nothing left to do.
    found["bytes_per_idle_connection"] = idle_bytes(program, "flow.0.traffic={download='1B'}")
    table.remarks += [
        f"Memory per flow that has not started: {found['bytes_per_unstarted_flow']:.0f} bytes;"
        f" with an open, idle connection: {found['bytes_per_idle_connection']:.0f} bytes.",
        "(Peak memory with 20,000 flows less that with 10,000, over 10,000. It holds the scenario,"
        " both ends of the connection, and the record that is printed.)",
    ]
    return table, found


def windows(program: Path, rounds: int) -> tuple[Table, Any]:
    """(d) Twice the window, again and again."""
    table = Table(
        "(d) Doubling the window: ns per data segment, 520 ms",
        ["window MiB", "no loss", "overshoot", "retransmitted"],
    )
    found = {}
    for mib in (1, 2, 4, 8, 16, 32, 64):
        window = f"flow.0.transport.receive_buffer={mib}MiB"
        # The second: half the window fills the link, a quarter the queue, the rest is lost.
        losing = [
            f"link.0.rate={int(mib * MIB * 8 / 2 / RTT_S)}bit/s",
            f"link.0.queue={{bytes='{mib * MIB // 4}B'}}",
            f"flow.0.traffic.bulk={16 * mib}MiB",
        ]
        # The second transfer is in proportion to the window; enough of them to be measured.
        cases = [(["flow.0.traffic.bulk=512MiB"], "1..1"), (losing, f"1..{64 // mib}")]
        costs, repeated = [], 0.0
        for sets, seeds in cases:
            outcomes = [
                engine.run(program, SCENARIOS / "window.toml", window, *sets, seeds=seeds)
                for _ in range(rounds)
            ]
            sent = sum(flow["segments_sent"] for flow in outcomes[0].flows)
            repeated = sum(flow["segments_retransmitted"] for flow in outcomes[0].flows) / sent
            costs.append(min(outcome.run_s for outcome in outcomes) / sent * 1e9)
        found[mib] = {"no_loss": costs[0], "overshoot": costs[1], "retransmitted": repeated}
        table.rows.append([str(mib), *(f"{cost:.0f}" for cost in costs), f"{repeated:.1%}"])
    return table, found


def controllers(program: Path, rounds: int) -> tuple[Table, Any]:
    """(e) What each controller costs."""
    table = Table(
        "(e) Controllers: 120 s of GEO, 10 Mbit/s, PER 1e-3, window 8 MiB",
        ["controller", "run ms", "segments", "ns per segment", "Mbit/s"],
    )
    found = {}
    for entry in controllers_known():
        name = entry.name
        outcomes = [
            engine.run(program, SCENARIOS / "controller.toml", f"flow.0.controller={name}")
            for _ in range(rounds)
        ]
        run_s, flow = min(outcome.run_s for outcome in outcomes), outcomes[0].flows[0]
        segments = flow["segments_sent"]
        found[name] = {"run_s": run_s, "segments": segments, "goodput_bps": flow["goodput_bps"]}
        row = [
            name,
            f"{run_s * 1e3:.1f}",
            f"{segments:,}",
            f"{run_s / segments * 1e9:.0f}",
            f"{flow['goodput_bps'] / 1e6:.2f}",
        ]
        table.rows.append(row)
    return table, found


def machine() -> dict[str, Any]:
    """Conditions of the figures, in addition to the programs."""
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return {
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "load": os.getloadavg()[0],
        "rustc": rustc.stdout.strip(),
    }


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, rougher figures")
    rounds = 2 if parser.parse_args().quick else 6
    program = engine.build()
    if not NS3.exists():
        print("ns-3 is not installed (scripts/peers.sh): left out", file=sys.stderr)
    if not shutil.which("ns"):
        print("ns-2 is not installed (scripts/peers.sh): left out", file=sys.stderr)
    results: dict[str, Any] = {"machine": machine()}
    tables = []
    for name, part in [
        ("download", download),
        ("overshoot", overshoot),
        ("flows", flows),
        ("windows", windows),
        ("controllers", controllers),
    ]:
        table, results[name] = part(program, rounds)
        tables.append(table)
        print(table.text(), flush=True)
    load = os.getloadavg()[0]
    if load > 1.5:
        # A short run finds a quiet moment more easily than a long one does.
        print(f"The machine is busy (load {load:.1f}): ratios flatter the shorter runs.\n")
    OUT.mkdir(exist_ok=True)
    (OUT / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
    (OUT / "bench.md").write_text("\n".join(table.markdown() for table in tables))
    print(f"written: {OUT / 'bench.json'} and bench.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
