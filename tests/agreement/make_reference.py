#!/usr/bin/env python3
"""Recomputes ns3-reference.json, the goodputs of ns-3 with which the agreement test compares.

    make_reference.py                 all runs, two at a time; writes the file
    make_reference.py --check 4       runs four entries of the stored file again and compares

Needs scripts/peers.sh to have run.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / ".cache/peers/ns3-download"
REFERENCE = Path(__file__).resolve().with_name("ns3-reference.json")

# The GEO download with a window that fills the link. The initial threshold keeps slow start from
# flooding the queue: what ns-3 does after hundreds of losses in one window is not RFC 6582.
PARAMETERS = {
    "bytes": 20_000_000,
    "mss": 1460,
    "window": 1 << 20,
    "windowScaling": 1,
    "initialCwnd": 2,
    "ssthresh": 65535,
    "delack": 2,
    "delackTimeout": 0.2,
    "prr": 0,
    "controller": "NewReno",
    "timestamps": 0,
    "minRto": 1.0,
    "initialRto": 1.0,
    "accessRate": "10Mbps",
    "accessDelay": "10ms",
    "rate": "2Mbps",
    "returnRate": "2Mbps",
    "delay": "250ms",
    "queue": 100,
    "perBack": 0.0,
    "seed": 1,
    "duration": 20000,
}
RECOVERIES = ("newreno", "sack")
ERROR_RATES = (0.0, 1e-4, 1e-3, 1e-2)
# Runs of one seed are disjoint substreams of ns-3's generator; seeds 1, 2, 3... are not: they put
# the generator into proportional states.
RUNS = range(1, 21)
# Stored with the figures, for whoever reads only those.
NOTE = (
    "newreno: a run with timeouts is no reference for RFC 6582. After a timeout ns-3 without SACK "
    "keeps segments marked lost and retransmits what has arrived; see benches/peers/README.md. "
    "That is run 3 at PER 1e-3 and every run with timeouts at 1e-2."
)
KEPT = ("goodput_bps", "completion_s", "segments_sent", "segments_retransmitted", "timeouts")


Entry = tuple[str, float, int]
"""Recovery, packet error rate, number of the run."""


def download(entry: Entry) -> dict[str, Any]:
    """One run, as the dictionary which the scenario prints."""
    recovery, per, run = entry
    options = PARAMETERS | {"recovery": recovery, "per": per, "run": run}
    command = [str(PROGRAM), *(f"--{name}={value}" for name, value in options.items())]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    result: dict[str, Any] = json.loads(output)
    if not result["completed"]:
        raise RuntimeError(f"not completed: {' '.join(command)}")
    return result


def run_all(entries: list[Entry]) -> list[dict[str, Any]]:
    # Two at most: the machine is shared.
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(download, entries))


def make() -> None:
    # Without errors nothing is random, and one run says all.
    series = [(r, p, list(RUNS) if p else [1]) for r in RECOVERIES for p in ERROR_RATES]
    results = iter(run_all([(r, p, run) for r, p, runs in series for run in runs]))
    reference: dict[str, Any] = {
        "simulator": "ns-3.44",
        "note": NOTE,
        "parameters": PARAMETERS,
        "series": [],
    }
    for recovery, per, runs in series:
        taken = [next(results) for _ in runs]
        reference["series"].append(
            {"recovery": recovery, "per": per, "runs": runs}
            | {name: [result[name] for result in taken] for name in KEPT}
        )
    REFERENCE.write_text(json.dumps(reference, indent=1) + "\n")
    for one in reference["series"]:
        mean = sum(one["goodput_bps"]) / len(one["runs"])
        series_name = f"{one['recovery']:8} PER {one['per']:<7g}"
        print(f"{series_name} {len(one['runs']):3} runs, mean {mean / 1e3:8.1f} kbit/s")


def check(count: int) -> int:
    """The number of entries, of `count` taken at random, that differ from the stored file."""
    reference = json.loads(REFERENCE.read_text())
    if reference["parameters"] != PARAMETERS:
        sys.exit("make_reference: the stored file has other parameters; make it again")
    stored = [
        ((one["recovery"], one["per"], run), one["goodput_bps"][i])
        for one in reference["series"]
        for i, run in enumerate(one["runs"])
    ]
    chosen = random.sample(stored, min(count, len(stored)))
    different = 0
    results = run_all([entry for entry, _ in chosen])
    for (entry, expected), result in zip(chosen, results, strict=True):
        same = abs(result["goodput_bps"] - expected) <= 1e-9 * expected
        different += not same
        mark = "" if same else "  DIFFERENT"
        print(f"{entry}: stored {expected}, now {result['goodput_bps']}{mark}")
    return different


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", type=int, metavar="N", help="verify N stored entries instead")
    arguments = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit("make_reference: no ns-3 scenario; run scripts/peers.sh first")
    if arguments.check:
        sys.exit(1 if check(arguments.check) else 0)
    make()


if __name__ == "__main__":
    main()
