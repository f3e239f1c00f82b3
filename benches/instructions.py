#!/usr/bin/env python3
"""Instructions per packet-hop, which no busy machine changes: the guard against slow commits.

    instructions.py             compares with instructions.json; fails above the tolerance
    instructions.py --accept    takes the counts of now as the new ones

The program has the profile of the extension module, `engine`, which is what users run. Each
scenario runs under callgrind, once in full and once for a nanosecond; the difference is what the
simulation itself costs, without start-up and without reading the scenario. The counts of one
program are the same each time, so those of the last one are kept in .cache.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import engine

SCENARIOS = engine.ROOT / "benches/scenarios"
COUNTS = Path(__file__).with_suffix(".json")
KEPT = engine.ROOT / ".cache/instructions.json"

# Small enough for callgrind, which is fifty times slower than the machine.
CASES: dict[str, tuple[str, list[str]]] = {
    "download": ("geo-download.toml", ["flow.0.traffic.download=2MB"]),
    "losses": (
        "geo-download.toml",
        ["flow.0.traffic.download=2MB", "link.1.channel={per=1e-2}"],
    ),
    "flows": ("shared-bottleneck.toml", ["flow.0.count=100", "duration=4s"]),
    # Middleboxes that looked at all of their flows, copies or packets that wait took 2.5 times the
    # instructions of these runs, and a hundred times those of larger ones.
    "middlebox of many flows": (
        "shared-bottleneck.toml",
        [
            "flow.0.count=300",
            "duration=2s",
            "node=[{name='gateway', middlebox='spoofing-proxy'}]",
        ],
    ),
    "middlebox with copies": (
        "overshoot.toml",
        [
            "duration=8s",
            "link.1.rate=100Mbit/s",
            "link.1.forward.queue={packets=10000}",
            "node=[{name='gateway', middlebox={name='snoop', cache=100000}}]",
        ],
    ),
    "filter of a long queue": (
        "overshoot.toml",
        [
            "duration=8s",
            "link.1.forward.queue={packets=10000}",
            "node=[{name='gateway', middlebox='ack-filter'}]",
        ],
    ),
    # At the bottleneck, one of two links; benches/link_instructions.py has all mechanisms.
    "aqm": (
        "geo-download.toml",
        ["flow.0.traffic.download=2MB", "link.1.forward.aqm=codel"],
    ),
    "arq": (
        "geo-download.toml",
        ["flow.0.traffic.download=2MB", "link.1.forward.arq=selective-repeat"],
    ),
    "linux": (
        "geo-download.toml",
        ["flow.0.traffic.download=2MB", "flow.0.transport={recovery='linux'}"],
    ),
    # The same recovery, with buffers that tune themselves: at most a tenth more for each segment.
    "tuned": (
        "geo-download.toml",
        [
            "flow.0.traffic.download=2MB",
            "flow.0.transport={recovery='linux', receive_buffer={}, send_buffer={}}",
        ],
    ),
    # With the host's own transport.
    "hosts": (
        "geo-download.toml",
        ["flow.0.traffic.download=2MB", "flow.0.transport={}", "flow.0.host=linux-6.18"],
    ),
}
TOLERANCE = 0.03
# Another compiler counts otherwise without any commit being slower.
OTHER_COMPILER_TOLERANCE = 0.15


def compiler() -> str:
    """Version and target of the compiler."""
    done = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    return f"{done.stdout.strip()}, {platform.machine()}"


def instructions(program: Path, scenario: str, sets: list[str]) -> int:
    """Instructions of a run.

    Reading the scenario takes some thousand more or less each time, because its hash tables have
    random seeds. That is less than a thousandth.
    """
    return count([str(program), str(SCENARIOS / scenario), *sets])


def count(command: list[str]) -> int:
    """Instructions of a command."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        check=True,
        capture_output=True,
        text=True,
        # Addresses and lengths of the environment move the stack; a fixed one does not.
        env={"PATH": os.defpath},
    )
    found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if not found:
        raise RuntimeError(f"callgrind printed no count:\n{done.stderr}")
    return int(found[1])


def per_hop(program: Path, case: str) -> float:
    """Instructions per packet-hop of one of `CASES`."""
    return per_hop_of(program, *CASES[case])


def per_hop_of(program: Path, scenario: str, sets: list[str]) -> float:
    """Instructions per packet-hop of a scenario."""
    full = instructions(program, scenario, sets)
    empty = instructions(program, scenario, [*sets, "duration=1ns"])
    hops = engine.run(program, SCENARIOS / scenario, *sets).packet_hops
    return (full - empty) / hops


def counts(program: Path) -> dict[str, float]:
    """Instructions per packet-hop of all `CASES`."""
    valgrind = subprocess.run(["valgrind", "--version"], check=True, stdout=subprocess.PIPE)
    digest = hashlib.sha256(valgrind.stdout + repr(CASES).encode())
    for file in (program, Path(__file__), *sorted(filter(Path.is_file, SCENARIOS.iterdir()))):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    if KEPT.exists() and (kept := json.loads(KEPT.read_text()))["of"] == digest.hexdigest():
        print("The program is the one that was counted last.")
        known: dict[str, float] = kept["counts"]
        return known
    with ThreadPoolExecutor(max_workers=2) as pool:
        found = dict(zip(CASES, pool.map(lambda case: per_hop(program, case), CASES), strict=True))
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps({"of": digest.hexdigest(), "counts": found}) + "\n")
    return found


def main() -> int:
    """Counts, and compares or accepts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--accept", action="store_true", help="write the counts of now")
    accept = parser.parse_args().accept
    if not shutil.which("valgrind"):
        print("instructions: valgrind is missing: install Debian's package valgrind")
        return 2
    now = counts(engine.build("engine"))
    if accept:
        rounded = {case: round(count, 1) for case, count in now.items()}
        stored = {"compiler": compiler(), "instructions_per_hop": rounded}
        COUNTS.write_text(json.dumps(stored, indent=1) + "\n")
        print(f"accepted: {rounded}")
        return 0
    expected = json.loads(COUNTS.read_text())
    tolerance = TOLERANCE
    if expected["compiler"] != compiler():
        tolerance = OTHER_COMPILER_TOLERANCE
        print(f"The counts were taken with {expected['compiler']}, this is {compiler()}:")
        print(f"up to {tolerance:.0%} more is let through. Accept the new ones to be strict again.")
    slower = False
    print(f"{'scenario':12}{'accepted':>12}{'now':>12}   instructions per packet-hop")
    for case, count in now.items():
        before = expected["instructions_per_hop"][case]
        change = count / before - 1
        verdict = ""
        if change > tolerance:
            slower = True
            verdict = f"  MORE THAN {tolerance:.0%}"
        elif change < -tolerance:
            verdict = "  better: accept it, so that it stays"
        print(f"{case:12}{before:12.1f}{count:12.1f}  {change:+6.1%}{verdict}")
    if slower:
        print("If it is worth it: benches/instructions.py --accept, and say why in the commit.")
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
