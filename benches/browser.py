#!/usr/bin/env python3
"""A real browser compared with the simulator, over a satellite link: `make browser`.

    browser.py                     every variant; writes docs/browser.json and the table of
                                   docs/pages.md (15 minutes of real time)
    browser.py --loads 1 --only 2  the variants of HTTP/2, one load each; writes nothing
    browser.py --tables            write the table again from docs/browser.json

Headless Chromium loads a site of our own (40 objects, three origins) from nginx or Caddy through
the namespaces of `bentpipe shell`. Its HTTP archives become pages as with `bentpipe page import`,
and the simulator loads them on the same path. Needs root, Chromium, nginx, Caddy, openssl, and the
program of `bentpipe proxy`. The machine must do nothing else.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bentpipe.console import late_progress
from browsing import server
from browsing.variants import EVERY, Row, Variant, compare, make, table
from fidelity import commit

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "pages.md"
RESULTS = ROOT / "docs" / "browser.json"
BEGIN, END = "<!-- made by benches/browser.py -->\n", "<!-- end of benches/browser.py -->"
LOADS = 9
PROGRAMS = ("chromium", "nginx", "caddy", "openssl", "ip")


def version(package: str) -> str:
    """Name and version of an installed Debian package."""
    done = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", package],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{package} {done.stdout.split('-')[0] or 'of an unknown version'}"


def run(variants: list[Variant], loads: int) -> list[Row]:
    """The rows of variants."""
    bases: dict[str, list[Path]] = {}
    rows = []
    with (
        tempfile.TemporaryDirectory() as name,
        late_progress("browser", len(variants)) as progress,
    ):
        folder = Path(name)
        make(folder)
        for variant in variants:
            rows.append(compare(variant, loads, folder, bases))
            if progress:
                progress(len(rows))
    return rows


def results(rows: list[Row]) -> dict[str, Any]:
    """Rows with the date, the commit, the machine and the versions."""
    packages = dict.fromkeys(server.PACKAGES.values())
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit(),
        "machine": f"Linux {platform.release().split('-')[0]}",
        "browser": version("chromium").split()[-1],
        "servers": ", ".join(map(version, packages)),
        "rows": [asdict(row) for row in rows],
    }


def page_with(found: dict[str, Any]) -> str:
    """The page of the manual with the table."""
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{PAGE}: expected a place for the table: {BEGIN}{END}")
    return f"{before}{BEGIN}\n{table(found)}\n\n{END}{after}"


def main() -> None:
    """Run the variants, and print or write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--loads", type=int, default=LOADS, help="loads of each variant")
    parser.add_argument("--only", choices=server.PACKAGES, help="version of HTTP")
    parser.add_argument("--tables", action="store_true", help="run nothing, write the table")
    options = parser.parse_args()
    if options.loads < 1:
        parser.error(f"--loads: expected at least 1, found {options.loads}")
    if options.tables:
        PAGE.write_text(page_with(json.loads(RESULTS.read_text())))
        return
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        sys.exit(f"missing: {', '.join(missing)}")
    variants = [one for one in EVERY if options.only in (None, one.http)]
    found = results(run(variants, options.loads))
    print(table(found))
    if options.only is None and options.loads == LOADS:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(page_with(found))


if __name__ == "__main__":
    main()
