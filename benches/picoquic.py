#!/usr/bin/env python3
"""The downloads of picoquic's tests of satellites, in picoquic's own simulator and in this one.

    picoquic.py TREE [--rounds N]    TREE: a tree of picoquic, built in TREE/build

Both simulate both ends of a transfer of 100 MB with real cryptography, a round trip of 600 ms, and
links of 250 Mbit/s and 3 Mbit/s or slower. Figures are the least processor time of several rounds
in turn. picoquic writes a log of the connection meanwhile, which belongs to its tests. Its
controllers are other code, so that the transfers are not the same packet by packet.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import engine

SCENARIO = engine.ROOT / "python/bentpipe/reproductions/quic/scenarios/satellite.toml"
CASES = {
    "satellite_basic": ("bbr3", 250, 3),
    "satellite_cubic": ("cubic", 250, 3),
    "satellite_medium": ("bbr3", 50, 10),
    "satellite_small": ("bbr3", 10, 2),
}
"""Test of picoquic; controller here, and rates of data and ACKs in Mbit/s."""


@dataclass(frozen=True)
class Measured:
    """Processor time in s of a process, and whether it ended well."""

    seconds: float
    is_passed: bool


def processor_time(command: list[str]) -> Measured:
    """Runs a command in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return Measured(used.ru_utime + used.ru_stime, process.returncode == 0)


def sets(controller: str, forward: int, backward: int) -> list[str]:
    """The links of a test, with queues of one bandwidth-delay product."""
    changed = [f"flow.0.controller={controller}"]
    for way, rate in (("forward", forward), ("backward", backward)):
        product = rate * 75_000
        changed.append(
            f"link.0.{way}={{ rate = '{rate}Mbit/s', queue = {{ bytes = '{product}B' }} }}"
        )
    return changed


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", type=Path, metavar="TREE", help="a built tree of picoquic")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    arguments = parser.parse_args()
    tree = arguments.tree.resolve()
    peer = tree / "build" / "picoquic_ct"
    if not peer.exists():
        print(f"picoquic: skipped, {peer} is missing: build picoquic with its tests")
        return 2
    program = engine.build("engine")
    print(
        f"{'test':18}{'picoquic':>12}{'bentpipe':>12}{'ratio':>8}{'packets':>10}  controller here"
    )
    for test, (controller, *rates) in CASES.items():
        ours = [str(program), str(SCENARIO), *sets(controller, *rates)]
        theirs = [str(peer), "-S", str(tree), test]
        rounds = [(processor_time(theirs), processor_time(ours)) for _ in range(arguments.rounds)]
        failed = [
            name
            for name, one in zip(("picoquic", "bentpipe"), rounds[0], strict=True)
            if not one.is_passed
        ]
        if failed:
            print(f"{test:18}  {' and '.join(failed)} failed")
            continue
        picoquic, bentpipe = (
            min(one.seconds for one in runs) for runs in zip(*rounds, strict=True)
        )
        (flow,) = engine.run(program, SCENARIO, *sets(controller, *rates)).flows
        print(
            f"{test:18}{picoquic:10.2f} s{bentpipe:10.2f} s{picoquic / bentpipe:8.2f}"
            f"{int(flow['segments_sent']):10,}  {controller}, {flow['completion_s']:.1f} s"
        )
    print("Processor time of the whole process, both ends. Ratio: picoquic to bentpipe.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
