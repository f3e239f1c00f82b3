"""Variants of a load, each in the browser and in the simulator."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import bentpipe
from bentpipe.numbers import decimals, signed
from bentpipe.pages.command import in_toml
from bentpipe.pages.har import read
from browsing import server, site

BENCHES = Path(__file__).resolve().parents[1]
SCENARIO = BENCHES / "scenarios" / "browser.toml"
LOADER = BENCHES / "browsing" / "load.py"

RTTS = (40, 600)
"""Round-trip times in milliseconds."""
TERRESTRIAL_MS = 10
"""One-way delay between server and gateway in the scenario."""
PROXY = (
    'node.0.proxy={ terrestrial = { controller = "cubic", recovery = "linux" }, '
    'satellite = { towards = ["client"], controller = "cubic", recovery = "linux" } }'
)
LINUX = ('flow.0.host="linux-6.18"', 'flow.0.controller={ name = "cubic", variant = "linux" }')
TRANSPORTS = {
    "1.1": LINUX,
    "2": LINUX,
    # quic-go of Caddy begins with 32 packets of 1252 bytes (`initialCongestionWindow` in
    # cubic_sender.go, `InitialPacketSizeIPv4` in params.go).
    "3": ('flow.0.transport={ protocol = "quic", quic = { initial_window = "40064B" } }',),
}
"""Settings of the server's transport by the version of HTTP."""


@dataclass(frozen=True)
class Variant:
    """A version of HTTP on a path."""

    http: str
    rtt_ms: int
    proxy: bool

    @property
    def name(self) -> str:
        """The name in the table."""
        return f"HTTP/{self.http}, {self.rtt_ms} ms{', split proxy' if self.proxy else ''}"

    def folder(self, of: Path) -> Path:
        """Its own folder for archives."""
        return of / f"http-{self.http}-{self.rtt_ms}-{'split' if self.proxy else 'direct'}"

    def path(self) -> list[str]:
        """Overrides of the scenario for the path and the transport."""
        delay = f"link.1.delay={self.rtt_ms // 2 - TERRESTRIAL_MS}ms"
        return [delay, *TRANSPORTS[self.http], *([PROXY] if self.proxy else [])]


EVERY = [
    Variant(http, rtt, proxy)
    for http, rtt, proxy in product(TRANSPORTS, RTTS, (False, True))
    # A split proxy does not split QUIC.
    if not (http == "3" and proxy)
]


@dataclass(frozen=True)
class Row:
    """Load times of a variant in seconds, one for each load."""

    http: str
    rtt_ms: int
    proxy: bool
    browser_s: list[float]
    simulator_s: list[float]
    """Each is the page of the browser's archive on the same path."""
    predicted_s: list[float]
    """Each is the page of an archive at the shortest RTT without a proxy."""
    guessed: int
    """Dependencies that are guesses in the first archive."""


def make(folder: Path) -> None:
    """Write the site and the certificates into a folder that the server may read."""
    folder.chmod(0o755)
    site.write(folder)
    server.make_certificates(folder)


def measure(variant: Variant, loads: int, folder: Path) -> list[float]:
    """Load the site in Chromium across the path. Returns the load times in seconds.

    The archives are `N.har` in a folder with the name of the variant. Exits if a load fails.
    """
    out = variant.folder(folder)
    out.mkdir()
    sets = [part for one in variant.path() for part in ("--set", one)]
    shell = [sys.executable, "-m", "bentpipe", "shell", SCENARIO, *sets]
    loader = [
        *(sys.executable, LOADER, "--http", variant.http, "--loads", loads),
        *("--key", server.key_hash(folder), "--server", "server", "--out", out),
    ]
    # The loader imports this package.
    searched = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [
            *map(str, shell),
            *("--serve", "server", server.command(folder, variant.http), "--"),
            *map(str, loader),
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, searched))},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{variant.name}: {done.stderr}")
    found = json.loads((out / "loads.json").read_text())
    return list(map(float, found))


def simulate(variant: Variant, page: Path, certificates: int) -> float:
    """Load time in seconds of a page in the simulator. Exits if the load does not end."""
    # QUIC has its own handshake.
    tls = "" if variant.http == "3" else f', key_share = "x25519", certificates = "{certificates}B"'
    traffic = f'{{ page = {{ file = "{page}", http = "{variant.http}"{tls} }} }}'
    scenario = bentpipe.Scenario.load(SCENARIO, [*variant.path(), f"flow.0.traffic={traffic}"])
    (load_s,) = bentpipe.run(scenario).table("page_loads")["load_s"].to_list()
    if load_s is None:
        sys.exit(f"{variant.name}: the page is not complete within {scenario.duration_s} s")
    return float(load_s)


def pages_of(archives: Path) -> tuple[list[Path], int]:
    """The pages of all archives of a folder, and the guesses in the first of them."""
    pages, guesses = [], []
    for file in sorted(archives.glob("*.har")):
        archive = read(file)
        guesses.append(archive.guessed)
        page = file.with_suffix(".toml")
        page.write_text(in_toml(archive), encoding="utf-8")
        pages.append(page)
    return pages, guesses[0]


def compare(variant: Variant, loads: int, folder: Path, bases: dict[str, list[Path]]) -> Row:
    """A variant in the browser and in the simulator.

    `bases` are the pages of each version of HTTP from which others are predicted: those of its
    first variant.
    """
    browser_s = measure(variant, loads, folder)
    certificates = server.chain_bytes(folder)
    pages, guessed = pages_of(variant.folder(folder))
    base = bases.setdefault(variant.http, pages)
    return Row(
        **asdict(variant),
        browser_s=browser_s,
        simulator_s=[simulate(variant, page, certificates) for page in pages],
        predicted_s=[simulate(variant, page, certificates) for page in base],
        guessed=guessed,
    )


def difference(found: list[float], of: list[float]) -> float:
    """Difference of medians in percent."""
    return 100 * (statistics.median(found) / statistics.median(of) - 1)


def same_order(rows: list[Row], column: str) -> tuple[int, int]:
    """Pairs of variants that have the same order as in the browser, and all pairs."""
    medians = [
        (statistics.median(row.browser_s), statistics.median(getattr(row, column))) for row in rows
    ]
    pairs = list(combinations(medians, 2))
    return sum((one[0] < two[0]) == (one[1] < two[1]) for one, two in pairs), len(pairs)


def sentence(rows: list[Row], column: str, what: str) -> str:
    """The differences of all variants in words."""
    sizes = [abs(difference(getattr(row, column), row.browser_s)) for row in rows]
    same, pairs = same_order(rows, column)
    return (
        f"{what}: load times differ by {decimals(statistics.median(sizes), 1)} % in the median "
        f"and by {decimals(max(sizes), 1)} % at most. {same} of {pairs} pairs of variants have "
        "the same order as in the browser."
    )


def table(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [Row(**row) for row in found["rows"]]
    lines = [
        sentence(rows, "simulator_s", "Pages of archives from the same path"),
        sentence(rows, "predicted_s", f"Pages of archives at {RTTS[0]} ms without a proxy"),
        "",
        f"| variant | browser s | same path s | difference % | from {RTTS[0]} ms s | "
        "difference % |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        cells = [decimals(statistics.median(row.browser_s), 2)]
        for times in (row.simulator_s, row.predicted_s):
            cells.append(decimals(statistics.median(times), 2))
            cells.append(signed(round(difference(times, row.browser_s), 1) + 0.0, places=1))
        name = Variant(row.http, row.rtt_ms, row.proxy).name
        lines.append(f"| {name} | {' | '.join(cells)} |")
    loads = len(rows[0].browser_s)
    lines += [
        "",
        f"Medians of {loads} loads. {found['date']}, commit {found['commit']}, {found['machine']}. "
        f"Chromium {found['browser']}, {found['servers']}.",
    ]
    return "\n".join(lines)
