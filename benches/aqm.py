#!/usr/bin/env python3
"""Active queue management compared with ns-3: the same arrivals at the same link.

    aqm.py [--write]     prints the table; with --write, makes docs/agreement.md and the
                         results of ns-3 again

The arrivals and Bentpipe's side are `crates/link/examples/open_loop`. ns-3's side is
`benches/peers/ns3_aqm.cc`, which scripts/peers.sh compiles.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NS3 = ROOT / ".cache/peers/ns3-aqm"
PAGE = ROOT / "docs/agreement.md"
REFERENCE = ROOT / "tests/agreement/ns3-aqm.json"
OPEN_LOOP = ROOT / "target/debug/examples/open_loop"

ALGORITHMS = ("codel", "fq-codel", "pie", "red")
PATTERNS = ("busy", "overload", "bursts")
BEGIN, END = "<!-- made by benches/aqm.py -->\n", "<!-- end of benches/aqm.py -->"


def output(*command: object) -> str:
    """What a command prints."""
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=True)
    return done.stdout


def measure() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows of Bentpipe and of ns-3."""
    rows = []
    for pattern in PATTERNS:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(output(OPEN_LOOP, "arrivals", pattern))
            file.flush()
            for algorithm in ALGORITHMS:
                name = {"algorithm": algorithm, "pattern": pattern}
                ours = output(OPEN_LOOP, "run", algorithm, pattern)
                theirs = output(NS3, f"--aqm={algorithm}", f"--arrivals={file.name}")
                rows.append((name | json.loads(ours), name | json.loads(theirs)))
    return rows


def table(rows: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Delays and drops in Markdown."""
    lines = [
        "| arrivals | algorithm | delay, ms | ns-3 | difference | dropped, % | ns-3 | difference |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for ours, theirs in rows:
        delays = [one["mean_delay_ms"] for one in (ours, theirs)]
        drops = [one["dropped"] / one["arrived"] * 100 for one in (ours, theirs)]
        cells = [ours["pattern"], ours["algorithm"]]
        for (mine, other), digits in ((delays, 2), (drops, 3)):
            cells += [
                f"{mine:.{digits}f}",
                f"{other:.{digits}f}",
                f"{(mine / other - 1) * 100:+.1f} %",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Runs both and prints or writes the table."""
    parser = argparse.ArgumentParser(description="AQM compared with ns-3")
    parser.add_argument("--write", action="store_true", help="write docs and reference")
    arguments = parser.parse_args()
    if not NS3.exists():
        sys.exit("ns-3 is not installed (scripts/peers.sh)")
    build = ["cargo", "build", "--quiet", "--workspace", "--example", "open_loop"]
    subprocess.run(build, check=True, cwd=ROOT)
    rows = measure()
    text = table(rows)
    print(text)
    if not arguments.write:
        return
    reference = ",\n".join(json.dumps(theirs) for _, theirs in rows)
    REFERENCE.write_text(f"[\n{reference}\n]\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    main()
