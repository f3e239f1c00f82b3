"""The engine under measurement: builds the programs that measure it, and runs `simulate`.

As a program it only builds what `benches/instructions.py` counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Outcome:
    """Result of one call of `simulate`."""

    recordings: list[dict[str, Any]]
    process_s: float
    max_rss_kb: int

    @property
    def run_s(self) -> float:
        """Wall time inside the engine, without start-up and without reading the scenario."""
        return float(sum(recording["wall_s"] for recording in self.recordings))

    @property
    def packet_hops(self) -> int:
        """Packets sent through a link."""
        return sum(int(recording["packet_hops"]) for recording in self.recordings)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flow of each recording, for scenarios with one flow."""
        return [recording["flows"][0] for recording in self.recordings]


def build(profile: str = "release", example: str = "simulate") -> Path:
    """Builds an example program and returns its path with the hash that cargo gives it.

    The path without it is of what was built last, also with other settings of the profile.

    With the profile `engine` it shares all compiled crates with the extension module: the package
    `extension` is named so that they have the same features.
    """
    command = [
        "cargo",
        "build",
        "--profile",
        profile,
        "--locked",
        "--package",
        # Without the tests of the simulator, for which much would be compiled.
        "bentpipe-batch" if example == "simulate" else "bentpipe-simulator",
    ]
    command += ["--package", "extension"] if profile == "engine" else []
    command += ["--example", example, "--message-format", "json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == example and message.get("executable"):
            program = Path(message["executable"])
            of_this_build = program.parent.glob(f"{example}-*")
            return next((path for path in of_this_build if path.samefile(program)), program)
    raise RuntimeError(f"cargo built no program `{example}`")


def run(program: Path, scenario: Path, *sets: str, seeds: str | None = None) -> Outcome:
    """Runs `scenario` with `sets` (PATH=VALUE), for one seed or for `seeds` (FIRST..LAST)."""
    command = [str(program), str(scenario), "--json"]
    command += ["--seeds", seeds] if seeds else []
    started = time.perf_counter()
    done = subprocess.run([*command, *sets], check=True, stdout=subprocess.PIPE)
    process_s = time.perf_counter() - started
    printed = json.loads(done.stdout)
    return Outcome(printed["recordings"], process_s, printed["max_rss_kb"] or 0)


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    build("engine")
