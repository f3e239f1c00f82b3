#!/usr/bin/env python3
"""Downloads and pages over GEO between two gateways, with several transports between them.

legs.py [--write]      prints a table; --write puts it into docs/proxy.md
"""

from __future__ import annotations

from pathlib import Path

from split import answer, unsplit

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
PERS = ("0", "1e-3", "1e-2")


def texts() -> dict[str, str]:
    """The scenario without proxies, and with each transport between them."""
    written = SCENARIO.read_text()
    found = {"not split": unsplit(written)}
    for name, (proxy, side) in BETWEEN.items():
        text = written.replace("{ satellite", f"{{ {proxy}satellite")
        found[name] = text.replace('"] } }', f'"], {side} }} }}') if side else text
    return found


if __name__ == "__main__":
    answer("benches/legs.py", texts(), PERS)
