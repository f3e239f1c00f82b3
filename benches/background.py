#!/usr/bin/env python3
"""Terminals in the background against the same terminals with packets.

    background.py [--seeds 16] [--cases base,rain] [--duration 20min]

The scenario is benches/scenarios/beam-background.toml: 20 terminals with packets share a beam with
180 others, which have packets in one run and are in the background in the other one. Both runs have
the same seed, and so the same sessions. The table has the median and the 95th percentile of the
times of the 20's transfers, for each size of file, and by how much the background changes them:
the mean of the paired differences with its 95 % interval. It is written to
out/bench-background.json.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import bentpipe
from bentpipe.beams.groups import answer
from bentpipe.numbers import quantile
from bentpipe.study.significance import paired_test
from engine import ROOT
from side_by_side import OUT

SCENARIO = ROOT / "benches" / "scenarios" / "beam-background.toml"
OTHERS = "beam.spot.group.others"
LOADS = {"30 %": "190s", "60 %": "57s", "90 %": "14s"}
"""Mean pause between large files of a terminal, by the airtime that it leads to."""
GROUPS = ("watched", "others")
EACH = tuple(f"beam.spot.group.{group}" for group in GROUPS)
CASES: dict[str, list[str]] = {
    "base": [],
    "equal-airtime": ["beam.spot.forward.scheduler=equal-airtime"],
    "fifo": [
        "beam.spot.forward.scheduler=fifo",
        "beam.spot.forward.buffer=20MB",
        *(f"{group}.plan=none" for group in EACH),
    ],
    "rain": [f"{OTHERS}.attenuation=6.0"],
    "rain-airtime": [f"{OTHERS}.attenuation=6.0", "beam.spot.forward.scheduler=equal-airtime"],
    "fca": [f"{group}.requests=none" for group in EACH],
    "rbdc": [f"{group}.fca=false" for group in EACH],
    "vbdc": [f"{group}.{key}" for group in EACH for key in ("requests=vbdc", "fca=false")],
    "avbdc": [f"{group}.{key}" for group in EACH for key in ("requests=avbdc", "fca=false")],
    "cra": [f"{group}.{key}" for group in EACH for key in ("requests=none", "cra=32kbit/s")],
}
"""Changes of the scenario, by the name of the case."""


def measure(changes: list[str], seed: int) -> dict[str, Any]:
    """Times of the transfers of the 20 by the name of the flow, and the time of the run."""
    scenario = bentpipe.Scenario.load(SCENARIO, changes)
    started = time.process_time()
    run = bentpipe.run(scenario, seed=seed)
    took_s = time.process_time() - started
    (beam,) = answer(scenario, run.recording).beams
    times: dict[str, list[float]] = {}
    for row in run.recording.table("sessions").to_dicts():
        flow = row["flow"].rpartition(".")[0]
        if row["completed"] and flow.startswith("watched-"):
            times.setdefault(flow.removeprefix("watched-"), []).append(row["duration_s"])
    filled = beam["airtime"] * (1 - beam["padding"])
    return {"times": times, "took_s": took_s, "filled": filled}


def compare(case: str, load: str, duration: str, seeds: int) -> list[dict[str, Any]]:
    """The rows of a case at a load."""
    changes = [f"duration={duration}", *CASES[case]]
    changes += [f"flow.{group}-large.sessions.pause={LOADS[load]}" for group in GROUPS]
    # The comparison also has loads that are rejected otherwise.
    words = [f"{OTHERS}.background={word}" for word in ("false", "unchecked")]
    runs = [[measure([*changes, word], seed) for word in words] for seed in range(1, seeds + 1)]
    rows = []
    for size in ("small", "large"):
        for share in (0.5, 0.95):
            pairs = [
                (quantile(fluid["times"][size], share), quantile(packets["times"][size], share))
                for packets, fluid in runs
            ]
            test = paired_test([(a, b) for a, b in pairs if a is not None and b is not None])
            mean = sum(b for _, b in pairs if b is not None) / len(pairs)
            low, high = test.ci95 or (float("nan"), float("nan"))
            rows.append({
                "case": case,
                "load": load,
                "file": size,
                "quantile": share,
                "transfers": sum(len(packets["times"][size]) for packets, _ in runs),
                "packets_s": mean,
                "difference": (test.difference or 0.0) / mean,
                "low": low / mean,
                "high": high / mean,
                "filled": sum(packets["filled"] for packets, _ in runs) / len(runs),
                "faster": sum(packets["took_s"] for packets, _ in runs)
                / sum(fluid["took_s"] for _, fluid in runs),
            })  # fmt: skip
    return rows


def main() -> int:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--cases", default=",".join(CASES), help="names with commas between them")
    parser.add_argument("--loads", default=",".join(LOADS), help="the same")
    parser.add_argument("--duration", default="20min", help="simulated time of a run")
    options = parser.parse_args()
    rows = []
    print(f"{'case':14} {'load':5} filled file   p  transfers packets s  change %   95 % interval")
    for case in options.cases.split(","):
        for load in options.loads.split(","):
            for row in compare(case, load, options.duration, options.seeds):
                rows.append(row)
                interval = f"{row['low'] * 100:+.1f} to {row['high'] * 100:+.1f}"
                print(
                    f"{case:14} {load:5} {row['filled'] * 100:5.1f}% {row['file']:6}"
                    f" {row['quantile'] * 100:2.0f} {row['transfers']:8} {row['packets_s']:9.3f}"
                    f"  {row['difference'] * 100:+8.1f}   {interval:>14}   {row['faster']:.1f}x",
                    flush=True,
                )
    OUT.mkdir(exist_ok=True)
    (OUT / "bench-background.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
