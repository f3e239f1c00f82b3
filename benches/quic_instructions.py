#!/usr/bin/env python3
"""Instructions of a download over QUIC, by the crates that execute them.

    quic_instructions.py            prints the table; fails if driver and adapter take too much
    quic_instructions.py --time     prints packets per second, and the time of a packet

callgrind counts a download in full and one of a byte. The difference is what the transfer costs,
without start-up, without reading the scenario and without the handshake. A function belongs to the
crate in its name. Functions of the standard library, of the allocator and of libc are divided among
their callers, by the instructions of the calls. Functions that the compiler has inlined belong to
the function around them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCENARIO = engine.ROOT / "benches/scenarios/quic.toml"
SETS = ["flow.0.traffic.download=1MB", "link.1.forward.channel=perfect"]
NOTHING = "flow.0.traffic.download=1B"
CONTROLLERS = ("cubic", "bbr3", "hybla")
TIMED = "flow.0.traffic.download=20MB"
MOST = 0.25
"""Of all instructions: what driver and adapter may take."""

REST = "simulator and the rest"
"""With what has no caller among the parts, which moves between the two runs."""
CIPHERS = "cryptography"
"""Counted without VAES, which valgrind lacks: a processor that has it executes fewer."""
PARTS = {
    "quinn": {"quinn_proto", "rustls", "webpki", "bytes", "tracing"},
    CIPHERS: {"ring"},
    "driver": {"quic"},
    "adapter and controller": {"quinn_controllers", "congestion", "transport"},
    REST: {"simulator", "network", "link", "runtime", "tcp", "recording", "scenario"},
}
"""The crates of each part."""
OF_RING = re.compile(r"^(ring_core|_?aes|_?gcm|gcm_|bn_|ec|x25519|chacha|sha|p256|fiat)")
"""Names of ring's assembler, which have no path."""
PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=::)")

Costs = dict[str, float]


def part_of(function: str) -> str | None:
    """The part of a function; `None` for those that belong to their callers."""
    if OF_RING.match(function) or "ring_core" in function:
        return CIPHERS
    # `<A as B>::f` is of the crate of A, unless that is of the standard library.
    for crate in PATH.findall(function):
        for part, crates in PARTS.items():
            if crate in crates:
                return part
    return None


def profile(program: Path, sets: Iterable[str]) -> tuple[Costs, dict[tuple[str, str], float]]:
    """Instructions of each function itself, and of its calls of others, inclusive."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        subprocess.run(
            [*command, str(program), str(SCENARIO), *sets],
            check=True,
            capture_output=True,
            env={"PATH": os.defpath},
        )
        return read(out.read_text().splitlines())


def read(lines: Iterable[str]) -> tuple[Costs, dict[tuple[str, str], float]]:
    """The same from callgrind's file: `fn=`, `cfn=`, `calls=`, and lines of position and cost."""
    names: dict[str, str] = {}
    own: Costs = defaultdict(float)
    calls: dict[tuple[str, str], float] = defaultdict(float)
    function = callee = ""
    is_call = False

    def name(text: str) -> str:
        number, _, written = text.partition(" ")
        if written:
            names[number] = written.split("'")[0] if "'" in written else written
        return names[number]

    for line in lines:
        if line.startswith("fn="):
            function = name(line[3:])
        elif line.startswith("cfn="):
            callee = name(line[4:])
        elif line.startswith("calls="):
            is_call = True
        elif line[:1] in "0123456789+-*" and line:
            cost = float(line.split()[-1])
            if is_call:
                calls[function, callee] += cost
            else:
                own[function] += cost
            is_call = False
    return own, calls


class Division:
    """How instructions of functions are divided among the parts."""

    def __init__(self, calls: Mapping[tuple[str, str], float]) -> None:
        """From the instructions of all calls, by caller and callee."""
        self.known: dict[str, Costs] = {}
        self.callers: dict[str, dict[str, float]] = defaultdict(dict)
        for (caller, callee), cost in calls.items():
            if caller != callee:
                self.callers[callee][caller] = cost

    def of(self, function: str, path: frozenset[str] = frozenset()) -> Costs:
        """The share of each part. `path` has the functions that are being divided."""
        if function in self.known:
            return self.known[function]
        part = part_of(function)
        if part:
            return {part: 1.0}
        found: Costs = defaultdict(float)
        usable = {one: cost for one, cost in self.callers[function].items() if one not in path}
        total = sum(usable.values())
        for caller, cost in usable.items():
            for part, share in self.of(caller, path | {function}).items():
                found[part] += share * cost / total if total else 0.0
        if not path:
            self.known[function] = found
        return found


def shares(own: Mapping[str, float], calls: Mapping[tuple[str, str], float]) -> Costs:
    """Instructions of each part."""
    division = Division(calls)
    sums: Costs = defaultdict(float)
    for function, cost in own.items():
        of_parts = division.of(function)
        for part, share in of_parts.items():
            sums[part] += cost * share
        sums[REST] += cost * (1.0 - sum(of_parts.values()))
    return sums


def transfer(program: Path, controller: str) -> tuple[Costs, int]:
    """Instructions of each part for the transfer alone, and its packets with data."""
    sets = [*SETS, f"flow.0.controller={controller}"]
    full = shares(*profile(program, sets))
    empty = shares(*profile(program, [*sets, NOTHING]))
    cost = {part: full[part] - empty.get(part, 0.0) for part in full}
    sent = engine.run(program, SCENARIO, *sets).flows[0]["segments_sent"]
    return cost, int(sent)


def table(program: Path) -> bool:
    """Prints the table. Returns true if a controller takes too much."""
    titles = "".join(f"{part:>24}" for part in PARTS)
    print(f"{'controller':12}{titles}{'own share':>12}{'without cryptography':>22}")
    too_much = False
    for controller in CONTROLLERS:
        cost, packets = transfer(program, controller)
        total = sum(cost.values())
        own = cost["driver"] + cost["adapter and controller"]
        share, strict = own / total, own / (total - cost[CIPHERS])
        too_much |= strict > MOST
        row = "".join(f"{cost.get(part, 0.0) / packets:24,.0f}" for part in PARTS)
        verdict = "  TOO MUCH" if strict > MOST else ""
        print(f"{controller:12}{row}{share:12.1%}{strict:22.1%}{verdict}")
    print("Instructions for each packet with data, for both ends, ACKs included.")
    return too_much


def times(program: Path) -> None:
    """Prints the speed of downloads with real cryptography."""
    for controller in CONTROLLERS:
        outcome = engine.run(program, SCENARIO, *SETS, TIMED, f"flow.0.controller={controller}")
        packets = int(outcome.flows[0]["segments_sent"])
        rate = packets / outcome.run_s
        print(
            f"{controller:12}{packets:9,} packets with data in {outcome.run_s:.2f} s: "
            f"{rate:,.0f} packets/s, {1e6 / rate:.1f} us for both ends, ACKs included"
        )


def main() -> int:
    """Counts, or measures times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--time", action="store_true", help="measure times, without callgrind")
    arguments = parser.parse_args()
    if not arguments.time and not shutil.which("valgrind"):
        print("quic_instructions: valgrind is missing: install Debian's package valgrind")
        return 2
    program = engine.build("engine")
    if arguments.time:
        times(program)
        return 0
    return int(table(program))


if __name__ == "__main__":
    sys.exit(main())
