#!/usr/bin/env python3
"""How the timing of ACKs changes the share of Westwood+ with CUBIC, for docs/fidelity.md.

    ack_jitter.py           40 seeds for each jitter of the last hop's ACKs (a minute)
    ack_jitter.py --seeds 5

The scenario is `benches/scenarios/two-flows.toml` at 100 ms, in the simulator only.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import bentpipe

TWO_FLOWS = Path(__file__).resolve().parent / "scenarios" / "two-flows.toml"
SETS = (
    "link.1.delay=40ms",
    "link.1.forward.queue.packets=83",
    "flow.0.controller=westwood-plus",
    'flow.1.controller={ name = "cubic", variant = "linux" }',
    "flow.0.transport.recovery=linux",
    "flow.1.transport.recovery=linux",
)
JITTERS = ("0ms", "0.05ms", "0.1ms", "0.2ms", "0.5ms", "1ms")


def main() -> None:
    """Print a row for each jitter."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40)
    seeds = range(1, 1 + parser.parse_args().seeds)
    print("| jitter | goodput, Mbit/s | standard error | recoveries |")
    print("|---|---:|---:|---:|")
    for jitter in JITTERS:
        scenario = bentpipe.Scenario.load(TWO_FLOWS, [*SETS, f"link.1.backward.jitter={jitter}"])
        flows = [bentpipe.run(scenario, seed=seed).flows.row(0, named=True) for seed in seeds]
        rates = [flow["goodput_bps"] / 1e6 for flow in flows]
        error = statistics.stdev(rates) / len(rates) ** 0.5
        recoveries = statistics.mean(flow["fast_recoveries"] for flow in flows)
        print(f"| {jitter} | {statistics.mean(rates):.2f} | {error:.2f} | {recoveries:.1f} |")


if __name__ == "__main__":
    main()
