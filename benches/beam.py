#!/usr/bin/env python3
"""The busy hour of a beam with a thousand households on one core.

    beam.py [--duration 1h] [--set PATH=VALUE...]   prints a table; writes out/bench-beam.json

The scenario is benches/scenarios/beam-busy-hour.toml. The time is that of the processor for the
run, without reading the scenario and without tables. Memory is the largest of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import bentpipe
from engine import ROOT
from side_by_side import OUT, machine

AIM_S = 120
"""Processor time of an hour, at most."""


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
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
