#!/usr/bin/env python3
"""Downloads and pages over GEO between two gateways, with several transports between them.

legs.py [--write]      prints a table; --write puts it into docs/proxy.md
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from split import median, put

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "benches/scenarios/two-gateways.toml"

WIDE = 'quic = { stream_receive_window = "4MB" }'
BETWEEN = {
    "TCP, Hybla": ("", 'controller = "hybla"'),
    "SCPS-TP": ('preset = "scps-gateway", ', ""),
    "QUIC, Hybla": ("", f'protocol = "quic", controller = "hybla", {WIDE}'),
    "QUIC, BBR": ("", f'protocol = "quic", controller = "bbr", {WIDE}'),
}
"""Keys of both proxies and of their satellite sides."""
TRAFFIC = {
    "5 MB": '{ download = "5MB" }',
    "page": "{ web = { pages = 1, connections = 6 } }",
}
PERS = ("0", "1e-3", "1e-2")


def texts() -> dict[str, str]:
    """The scenario without proxies, and with each transport between them."""
    written = SCENARIO.read_text()
    lines = [line for line in written.splitlines() if not line.startswith("proxy = ")]
    found = {"not split": "\n".join(lines)}
    for name, (proxy, side) in BETWEEN.items():
        text = written.replace("{ satellite", f"{{ {proxy}satellite")
        found[name] = text.replace('"] } }', f'"], {side} }} }}') if side else text
    return found


def table() -> str:
    """Rows of traffic and PER, columns of transports."""
    columns = texts()
    lines = [f"| | PER | {' | '.join(columns)} |", "|---|---|" + "---:|" * len(columns)]
    for name, traffic in TRAFFIC.items():
        for per in PERS:
            cells = [name, per]
            for text in columns.values():
                changed = text.replace("per = 0.01", f"per = {per}")
                changed = changed.replace(TRAFFIC["5 MB"], traffic)
                cells.append(f"{median(changed):.2f} s")
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Runs all, and prints or writes the table."""
    parser = argparse.ArgumentParser(description="transports between two gateways in the simulator")
    parser.add_argument("--write", action="store_true", help="write docs/proxy.md")
    arguments = parser.parse_args()
    text = table()
    print(text)
    if arguments.write:
        put(text, "benches/legs.py")


if __name__ == "__main__":
    main()
