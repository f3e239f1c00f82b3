#!/usr/bin/env python3
"""Instructions per packet of STP, XTP and SCTP, and of TCP on the same links.

    transport_instructions.py   prints the table; fails if a protocol costs more than 3 times TCP

The scenario is the download of `instructions.py` over two links, hosts included, with a receive
buffer of 200 kB. A packet is one with data, with all that returns for it. A hop is a packet of any
kind on its way through a link. TCP acknowledges every second packet, and the others a few times in
each round trip, so TCP has more hops for each packet.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import engine
import instructions

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = "geo-download.toml"
BUFFER = 'receive_buffer = "200kB"'
WINDOW = f"mss = 1460, {BUFFER}"
# The same rate for those that have one.
RATE = '{ rate = "1.9Mbit/s" }'
# Name, controller, and settings of the transport.
PROTOCOLS = {
    "tcp": ("newreno", f'{{ recovery = "sack", timestamps = false, {WINDOW} }}'),
    "stp": ("newreno", f'{{ protocol = "stp", {WINDOW} }}'),
    "stp, rate": ("newreno", f'{{ protocol = "stp", stp = {RATE}, {WINDOW} }}'),
    "xtp": ("none", f'{{ protocol = "xtp", {WINDOW} }}'),
    "xtp, rate": ("none", f'{{ protocol = "xtp", xtp = {RATE}, {WINDOW} }}'),
    # Its default `mss` makes packets of 1500 bytes, as that of the others does.
    "sctp": ("none", f'{{ protocol = "sctp", {BUFFER} }}'),
}
ERROR_RATES = [0.0, 1e-3, 1e-2]
MOST = 3.0


@dataclass(frozen=True)
class Cost:
    """Instructions of a protocol."""

    per_packet: float
    per_hop: float


def cost(program: Path, protocol: str, per: float) -> Cost:
    """Instructions of a download with this packet error rate at the bottleneck."""
    controller, transport = PROTOCOLS[protocol]
    sets = ["flow.0.traffic.download=4MB", f"flow.0.controller={controller}"]
    sets += [f"flow.0.transport={transport}", f"link.1.forward.channel={{per={per}}}"]
    per_hop = instructions.per_hop_of(program, SCENARIO, sets)
    outcome = engine.run(program, instructions.SCENARIOS / SCENARIO, *sets)
    (flow,) = outcome.flows
    return Cost(per_hop * outcome.packet_hops / flow["segments_sent"], per_hop)


def main() -> int:
    """Prints the table, and compares with the limit."""
    if not shutil.which("valgrind"):
        print("transport_instructions: valgrind is missing: install Debian's package valgrind")
        return 2
    program = engine.build("engine")
    cases = [(protocol, per) for per in ERROR_RATES for protocol in PROTOCOLS]
    with ThreadPoolExecutor(max_workers=2) as pool:
        costs = list(pool.map(lambda case: cost(program, *case), cases))
    known = dict(zip(cases, costs, strict=True))
    print(f"{'instructions':24}{'per data packet':>20}{'per hop':>20}")
    worst = 0.0
    for (protocol, per), found in known.items():
        tcp = known["tcp", per]
        line = f"{protocol + f', PER {per:g}':24}"
        for own, base in ((found.per_packet, tcp.per_packet), (found.per_hop, tcp.per_hop)):
            worst = max(worst, own / base)
            line += f"{f'{own:.0f} = {own / base:.2f} x':>20}"
        print(line)
    if worst > MOST:
        print(f"More than {MOST:g} times TCP: {worst:.2f}")
    return int(worst > MOST)


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main())
