#!/usr/bin/env python3
# /// script
# dependencies = ["cbor2==6.3.0", "pycddl==0.6.4"]
# ///
"""Validates qlog with the schema of its drafts: `uv run benches/qlog_schema.py TREE`.

TREE is a clone of https://github.com/quicwg/qlog. The CDDL (RFC 8610) of version 0.3 is read out of
its drafts. Each event is validated twice: as an event, whose data may be anything, and its data as
what the event's name says. Prints the number of events by name, and fails on the first record
that the schema rejects. Needs the package in `.venv`: `make engine`.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cbor2  # type: ignore[import-not-found]
import pycddl  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parents[1]
RELEASE = "draft-ietf-quic-qlog-main-schema-03"
DRAFTS = ("draft-ietf-quic-qlog-main-schema.md", "draft-ietf-quic-qlog-quic-events.md")
EVENTS = {
    "transport:packet_sent": "TransportPacketSent",
    "transport:packet_received": "TransportPacketReceived",
    "recovery:packet_lost": "RecoveryPacketLost",
    "recovery:metrics_updated": "RecoveryMetricsUpdated",
}
RUNS = {
    "clear": ["examples/quic-and-tcp.toml", "--set", "duration=20s"],
    "lossy": [
        "examples/lossy-geo.toml",
        *("--set", "duration=60s"),
        *("--set", "flow.0.transport={ protocol = 'quic' }"),
    ],
}


def rules(tree: Path) -> str:
    """The rules of both drafts."""
    text = ""
    for draft in DRAFTS:
        command = ["git", "-C", str(tree), "show", f"{RELEASE}:{draft}"]
        page = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        text += "\n".join(re.findall(r"^~~~ ?cddl\n(.*?)^~~~", page, re.DOTALL | re.MULTILINE))
    # The validator takes the bare key for the type of the same name in the prelude (RFC 8610).
    return re.sub(r"^(\s+\??\s*)time:", r'\1"time":', text, flags=re.MULTILINE)


def records(path: Path) -> list[dict[str, object]]:
    """The records of a trace (RFC 7464)."""
    texts = path.read_text(encoding="utf-8").split("\x1e")
    return [json.loads(text) for text in texts if text.strip()]


def main() -> None:
    """Runs the scenarios and validates what they have written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", metavar="TREE", type=Path)
    text = rules(parser.parse_args().tree)
    roots = {*EVENTS.values(), "QlogFileSeq", "Event"}
    schemas = {root: pycddl.Schema(f"root = {root}\n{text}") for root in roots}
    for name, arguments in RUNS.items():
        found: collections.Counter[str] = collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            command = [str(ROOT / ".venv/bin/bentpipe"), "run", *arguments]
            command += ["--qlog", "--out", str(out)]
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            for path in sorted(out.glob("*.sqlog")):
                header, *events = records(path)
                schemas["QlogFileSeq"].validate_cbor(cbor2.dumps(header))
                for event in events:
                    of_data = schemas[EVENTS[str(event["name"])]]
                    schemas["Event"].validate_cbor(cbor2.dumps(event))
                    of_data.validate_cbor(cbor2.dumps(event["data"]))
                    found[str(event["name"])] += 1
        print(name, *(f"{event} {count}" for event, count in sorted(found.items())))
        if not found:
            sys.exit("no event")


if __name__ == "__main__":
    main()
