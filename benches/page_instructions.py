#!/usr/bin/env python3
"""Instructions of a page, compared with a bulk flow of the same bytes, transport and path.

    page_instructions.py    prints the table; fails if the page costs more than 1.3 times as much

callgrind counts each scenario in full and for a nanosecond. The difference is the cost of the
simulation, without start-up and without reading the scenario. It is divided by the packets and
hops, so that requests and handshakes of a page count as the packets that they are.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

import engine
import instructions

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = str(engine.ROOT / "examples/geo-page.toml")
MOST = 1.3
"""What a page of 100 objects may cost, as a multiple of a download."""
OBJECTS = '{ name = "index", bytes = "30kB" }, { name = "image", bytes = "30kB", count = 99 }'
TRANSPORTS = {
    "TCP": ([], {"HTTP/1.1": "1.1", "HTTP/2": "2"}),
    "QUIC": (['flow.0.transport={ protocol = "quic" }'], {"HTTP/3": "3"}),
}
"""Sets of each transport, and the versions of HTTP over it."""
DOWNLOAD = "flow.0.traffic={ download = '3MB' }"


def page(version: str) -> str:
    """A page of 100 objects, as a set of the scenario."""
    return f'flow.0.traffic={{ page = {{ http = "{version}", objects = [{OBJECTS}] }} }}'


def ratios(program: Path) -> dict[str, tuple[float, float]]:
    """Instructions per packet and hop, and their ratio to those of a download by the transport."""
    found = {}
    for transport, (sets, versions) in TRANSPORTS.items():
        bulk = instructions.per_hop_of(program, SCENARIO, [DOWNLOAD, *sets])
        found[f"{transport} download"] = (bulk, 1.0)
        for name, version in versions.items():
            cost = instructions.per_hop_of(program, SCENARIO, [page(version), *sets])
            found[name] = (cost, cost / bulk)
    return found


def main() -> int:
    """Counts, and compares."""
    if not shutil.which("valgrind"):
        print("page_instructions: valgrind is missing: install Debian's package valgrind")
        return 2
    found = ratios(engine.build("engine"))
    print(f"{'traffic':15}{'per hop':>10}{'ratio':>8}   instructions per packet and hop")
    for name, (cost, ratio) in found.items():
        verdict = f"  MORE THAN {MOST}" if ratio > MOST else ""
        print(f"{name:15}{cost:10.0f}{ratio:8.2f}{verdict}")
    return int(any(ratio > MOST for _, ratio in found.values()))


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main())
