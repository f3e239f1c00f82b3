#!/usr/bin/env python3
"""Recomputes the goodputs of ns-3 and ns-2 with which the agreement tests compare.

    make_reference.py ns3|ns2                 all runs, two at a time; writes the file
    make_reference.py ns3|ns2 --check 4       runs four entries of the file again and compares

Needs scripts/peers.sh to have run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from statistics import fmean
from typing import TYPE_CHECKING, Any

from peers import ERROR_RATES, NS2, NS3, RECOVERIES, SEEDS, Entry

if TYPE_CHECKING:
    from peers import Peer

KEPT = ("goodput_bps", "completion_s", "segments_sent", "segments_retransmitted", "timeouts")


def make(peer: Peer) -> None:
    """All runs."""
    # Without errors nothing is random, and one run says all.
    series = [(r, p, list(SEEDS) if p else [1]) for r in RECOVERIES for p in ERROR_RATES]
    entries = [Entry(r, p, run) for r, p, runs in series for run in runs]
    results = iter(peer.downloads(entries))
    stored: list[dict[str, Any]] = []
    for recovery, per, runs in series:
        taken = [next(results) for _ in runs]
        one = {name: [result[name] for result in taken] for name in KEPT}
        stored.append({"recovery": recovery, "per": per, "runs": runs} | one)
        mean = fmean(one["goodput_bps"]) / 1e3
        print(f"{recovery:8} PER {per:<7g} {len(runs):3} runs, mean {mean:8.1f} kbit/s")
    reference = {"simulator": peer.name, "note": peer.note, "parameters": peer.parameters}
    peer.file.write_text(json.dumps(reference | {"series": stored}, indent=1) + "\n")


def check(peer: Peer, count: int) -> int:
    """The number of entries, of `count` taken at random, that differ from the stored file."""
    if peer.reference["parameters"] != peer.parameters:
        sys.exit("make_reference: the stored file has other parameters; make it again")
    stored = [
        (Entry(one["recovery"], one["per"], run), one["goodput_bps"][i])
        for one in peer.reference["series"]
        for i, run in enumerate(one["runs"])
    ]
    chosen = random.sample(stored, min(count, len(stored)))
    results = peer.downloads([entry for entry, _ in chosen])
    different = 0
    for (entry, expected), result in zip(chosen, results, strict=True):
        same = abs(result["goodput_bps"] - expected) <= 1e-9 * expected
        different += not same
        verdict = "" if same else "  DIFFERENT"
        print(f"{entry}: stored {expected}, now {result['goodput_bps']}{verdict}")
    return different


def main() -> int:
    """Makes or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("peer", choices=["ns3", "ns2"])
    parser.add_argument("--check", type=int, metavar="N", help="verify N stored entries instead")
    arguments = parser.parse_args()
    peer = {"ns3": NS3, "ns2": NS2}[arguments.peer]
    if not peer.installed:
        sys.exit(f"make_reference: {peer.name} is not installed; run scripts/peers.sh first")
    if arguments.check:
        return int(check(peer, arguments.check) > 0)
    make(peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
