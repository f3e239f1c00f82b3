#!/usr/bin/env python3
"""Instructions per packet of a link with active queue management or ARQ, and of a plain link.

    link_instructions.py        prints the table

Two scenarios. "link" is one link on its own (`crates/simulator/examples/one_link.rs`): all
mechanisms get the same packets, and no host does any work. A hop is a packet on its way through the
link, in either direction. ARQ adds status frames and repeats, so the table also has instructions
per frame. "run" is the download of `instructions.py`, hosts included, with the mechanism at the
bottleneck. Factors are those to the plain link with the same packet error rate.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import engine
import instructions

if TYPE_CHECKING:
    from pathlib import Path

PACKETS = 5000
# Long, because reading the scenario costs some thousand instructions more or less each time.
DOWNLOAD = ["flow.0.traffic.download=8MB"]
PLAIN = "plain"
MECHANISMS = [
    *[(name, 0.0) for name in (PLAIN, "drop-tail", "codel", "dualpi2", "fq-codel", "pie", "red")],
    *[(name, 0.0) for name in ("go-back-n", "selective-repeat")],
    *[(name, per) for per in (1e-3, 1e-2) for name in (PLAIN, "go-back-n", "selective-repeat")],
]


@dataclass(frozen=True)
class Cost:
    """Instructions of a link."""

    per_hop: float
    per_frame: float
    # `None` where no key of a scenario selects the mechanism.
    per_hop_of_run: float | None


def on_link(program: Path, mechanism: str, per: float) -> tuple[float, float]:
    """Instructions per hop and per frame of the link on its own."""
    command = [str(program), mechanism, str(per)]
    full, empty = (instructions.count([*command, str(sent)]) for sent in (PACKETS, 0))
    done = subprocess.run([*command, str(PACKETS)], check=True, stdout=subprocess.PIPE)
    carried = json.loads(done.stdout)
    return (full - empty) / carried["hops"], (full - empty) / carried["frames"]


def in_run(program: Path, mechanism: str, per: float) -> float | None:
    """Instructions per packet-hop of a download over a link with the mechanism."""
    key = "arq" if mechanism in ("go-back-n", "selective-repeat") else "aqm"
    if mechanism == "drop-tail":
        return None
    sets = [*DOWNLOAD, f"link.1.forward.channel={{per={per}}}"]
    sets += [] if mechanism == PLAIN else [f"link.1.forward.{key}={mechanism}"]
    return instructions.per_hop_of(program, "geo-download.toml", sets)


def cost(link: Path, run: Path, mechanism: str, per: float) -> Cost:
    """All costs of a mechanism at this packet error rate."""
    return Cost(*on_link(link, mechanism, per), in_run(run, mechanism, per))


def main() -> int:
    """Prints the table."""
    if not shutil.which("valgrind"):
        print("link_instructions: valgrind is missing: install Debian's package valgrind")
        return 2
    link, run = engine.build("engine", "one_link"), engine.build("engine")
    with ThreadPoolExecutor(max_workers=2) as pool:
        costs = list(pool.map(lambda case: cost(link, run, *case), MECHANISMS))
    known = dict(zip(MECHANISMS, costs, strict=True))
    print(f"{'instructions':24}{'link, per hop':>18}{'link, per frame':>18}{'run, per hop':>18}")
    for (mechanism, per), found in known.items():
        plain = known[PLAIN, per]
        name = f"{mechanism}, PER {per:g}" if per else mechanism
        line = f"{name:24}"
        for own, base in (
            (found.per_hop, plain.per_hop),
            (found.per_frame, plain.per_frame),
            (found.per_hop_of_run, plain.per_hop_of_run),
        ):
            cell = "-" if own is None or base is None else f"{own:.0f} = {own / base:.2f} x"
            line += f"{cell:>18}"
        print(line)
    return 0


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    sys.exit(main())
