#!/usr/bin/env python3
"""Recomputes the goodputs of ns-3 and ns-2 with which the agreement tests compare.

    make_reference.py ns3|ns3-controllers|ns2             all runs, two at a time; writes the file
    make_reference.py ns3|ns3-controllers|ns2 --check 4   four entries of the file again, compared

Needs scripts/peers.sh to have run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from statistics import fmean
from typing import TYPE_CHECKING, Any

from controllers import NS3_CONTROLLERS
from peers import ERROR_RATES, NS2, NS3, SEEDS, Entry

if TYPE_CHECKING:
    from peers import Peer

PEERS = {"ns3": NS3, "ns3-controllers": NS3_CONTROLLERS, "ns2": NS2}
KEPT = ("goodput_bps", "completion_s", "segments_sent", "segments_retransmitted", "timeouts")


def make(peer: Peer) -> None:
    """All runs."""
    # Without errors nothing is random, and one run says all.
    series = [(v, p, list(SEEDS) if p else [1]) for v in peer.variants for p in ERROR_RATES]
    entries = [Entry(v, p, run) for v, p, runs in series for run in runs]
    results = iter(peer.downloads(entries))
    stored: list[dict[str, Any]] = []
    for variant, per, runs in series:
        taken = [next(results) for _ in runs]
        one = {name: [result[name] for result in taken] for name in KEPT}
        stored.append({peer.axis: variant, "per": per, "runs": runs} | one)
        mean = fmean(one["goodput_bps"]) / 1e3
        print(f"{variant:13} PER {per:<7g} {len(runs):3} runs, mean {mean:8.1f} kbit/s")
    reference = {"simulator": peer.name, "note": peer.note} | peer.settings
    peer.file.write_text(json.dumps(reference | {"series": stored}, indent=1) + "\n")


def check(peer: Peer, count: int) -> int:
    """The number of entries, of `count` taken at random, that differ from the stored file."""
    if not peer.has_same_settings:
        sys.exit("make_reference: the stored file has other parameters; make it again")
    stored = [
        (Entry(one[peer.axis], one["per"], run), one["goodput_bps"][i])
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
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--check", type=int, metavar="N", help="verify N stored entries instead")
    arguments = parser.parse_args()
    peer = PEERS[arguments.peer]
    if not peer.installed:
        sys.exit(f"make_reference: {peer.name} is not installed; run scripts/peers.sh first")
    if arguments.check:
        return int(check(peer, arguments.check) > 0)
    make(peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
