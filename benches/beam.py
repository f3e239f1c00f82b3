#!/usr/bin/env python3
"""The busy hour of a beam with a thousand households on one core, and the cost of more terminals.

    beam.py [--duration 1h] [--set PATH=VALUE...]   prints tables; writes out/bench-beam.json

The busy hour is benches/scenarios/beam-busy-hour.toml. The time is that of the processor for the
run, without reading the scenario and without tables. Memory is the largest of the process.

Then the downloads of benches/scenarios/beam-terminals.toml come to 100, 1,000 and 10,000
terminals, in turn. Loads differ by chance, so the cost is that of a gigabit over the carrier.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

import bentpipe
from engine import ROOT
from side_by_side import OUT, machine

AIM_S = 120
"""Processor time of an hour, at most."""


TERMINALS = (100, 1_000, 10_000)
MOST_RATIO = 2.0
"""Cost with the most terminals as a multiple of that with the fewest, at most."""
CYCLE_S = 0.32
"""Seconds from one download of a terminal to the next, for each terminal: 3.1 begin in a second."""
LENGTH_S = 25.0
"""Seconds of a session of the scenario."""
ROUNDS = 3


def scenario_of(terminals: int) -> bentpipe.Scenario:
    """The same downloads, divided among the terminals."""
    return bentpipe.Scenario.load(
        ROOT / "benches" / "scenarios" / "beam-terminals.toml",
        [
            f"beam.0.group.0.terminals={terminals}",
            f"flow.0.sessions.pause={terminals * CYCLE_S - LENGTH_S}s",
        ],
    )


def cost_of(scenario: bentpipe.Scenario) -> tuple[float, float]:
    """Simulated seconds for a second of the processor, and its time for a gigabit."""
    started = time.process_time()
    run = bentpipe.run(scenario)
    took_s = time.process_time() - started
    (beam,) = run.recording.table("beams").to_dicts()
    gigabits = beam["forward_bps"] * scenario.duration_s / 1e9
    return scenario.duration_s / took_s, took_s / gigabits


def by_terminals() -> list[dict[str, float]]:
    """The medians of interleaved runs for each number of terminals."""
    scenarios = {number: scenario_of(number) for number in TERMINALS}
    found: dict[int, list[tuple[float, float]]] = {number: [] for number in TERMINALS}
    for _ in range(ROUNDS):
        for number, scenario in scenarios.items():
            found[number].append(cost_of(scenario))
    return [
        {
            "terminals": number,
            "simulated_per_s": statistics.median(speed for speed, _ in runs),
            "s_per_gigabit": statistics.median(cost for _, cost in runs),
        }
        for number, runs in found.items()
    ]


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--duration", default="1h", help="simulated time")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    arguments = parser.parse_args()
    scenario = bentpipe.Scenario.load(
        ROOT / "benches" / "scenarios" / "beam-busy-hour.toml",
        [f"duration={arguments.duration}", *arguments.set],
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    run = bentpipe.run(scenario)
    took_s = time.process_time() - started
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (beam,) = run.recording.table("beams").to_dicts()
    used = sum(beam[f"{one}_used_slots"] for one in ("cra", "rate", "volume", "fca"))
    found = {
        "machine": machine(),
        "simulated_s": scenario.duration_s,
        "processor_s": took_s,
        "forward_mbps": beam["forward_bps"] / 1e6,
        "airtime": beam["airtime"],
        "used_slots": used / beam["slots"],
        "sessions": run.recording.table("sessions").height,
        "memory_mb": (after - before) / 1024,
    }
    rows = by_terminals()
    found["by_terminals"] = rows
    OUT.mkdir(exist_ok=True)
    (OUT / "bench-beam.json").write_text(json.dumps(found, indent=1) + "\n")
    print(f"{scenario.duration_s:.0f} s of a beam with {beam['terminals']} households")
    print(f"processor time     {took_s:8.1f} s, aim for an hour: {AIM_S} s")
    print(f"simulated per s    {scenario.duration_s / took_s:8.1f} s")
    print(
        f"forward            {found['forward_mbps']:8.1f} Mbit/s, {beam['airtime']:.1%} of airtime"
    )
    print(f"used return slots  {found['used_slots']:8.1%}")
    print(f"sessions           {found['sessions']:8}")
    print(f"memory             {found['memory_mb']:8.1f} MB")
    print()
    print("terminals  simulated per s  processor time for a gigabit")
    for row in rows:
        print(
            f"{row['terminals']:9,}  {row['simulated_per_s']:15.1f}"
            f"  {row['s_per_gigabit'] * 1e3:10.1f} ms"
        )
    ratio = rows[-1]["s_per_gigabit"] / rows[0]["s_per_gigabit"]
    print(f"The most terminals cost {ratio:.2f} times the fewest, aim {MOST_RATIO:.0f}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
