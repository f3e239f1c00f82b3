"""The download of the agreement tests, in Bentpipe and in its peers."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import bentpipe

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "geo.toml"
RECOVERIES = ("newreno", "sack")
ERROR_RATES = (0.0, 1e-4, 1e-3, 1e-2)
SEEDS = range(1, 21)

# The GEO download with a window that fills the link. The initial threshold keeps slow start from
# flooding the queue: what ns-3 does after hundreds of losses in one window is not RFC 6582.
DOWNLOAD: dict[str, Any] = {
    "bytes": 20_000_000,
    "mss": 1460,
    "window": 1 << 20,
    "initialCwnd": 2,
    "ssthresh": 65535,
    "delack": 2,
    "delackTimeout": 0.2,
    "timestamps": 0,
    "minRto": 1.0,
    "initialRto": 1.0,
    "accessDelay": "10ms",
    "delay": "250ms",
    "queue": 100,
    "perBack": 0.0,
    "duration": 20000,
}


@dataclass(frozen=True)
class Entry:
    """One run."""

    recovery: str
    per: float
    run: int


@dataclass(frozen=True)
class Peer:
    """Another simulator, the parameters that are its own, and the file with its results."""

    name: str
    command: tuple[str, ...]
    # How an option is written: `--name=value` or `name=value`.
    prefix: str
    # The option which chooses the run: disjoint substreams of the generator of both. Seeds as such
    # would put it into proportional states.
    run: str
    own: tuple[tuple[str, Any], ...]
    # Bytes that its links add to a packet.
    framing: int
    # Stored with the figures, for whoever reads only those.
    note: str

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything but what an `Entry` says."""
        return DOWNLOAD | dict(self.own)

    @property
    def file(self) -> Path:
        """Its stored results."""
        return HERE / f"{self.name.split('.')[0].replace('-', '')}-reference.json"

    @property
    def installed(self) -> bool:
        """Whether it can be run."""
        return shutil.which(self.command[0]) is not None

    def download(self, entry: Entry) -> dict[str, Any]:
        """One run, as the dictionary which the peer prints."""
        options = self.parameters
        options |= {"recovery": entry.recovery, "per": entry.per, self.run: entry.run}
        words = [f"{self.prefix}{name}={value}" for name, value in options.items()]
        command = [*self.command, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        if not result["completed"]:
            raise RuntimeError(f"not completed: {' '.join(command)}")
        return result

    def downloads(self, entries: list[Entry]) -> list[dict[str, Any]]:
        """Two at a time: the machine is shared."""
        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(self.download, entries))

    @functools.cached_property
    def reference(self) -> dict[str, Any]:
        """The stored file."""
        stored: dict[str, Any] = json.loads(self.file.read_text())
        return stored

    def series(self, recovery: str, per: float) -> dict[str, Any]:
        """The stored runs of one recovery and error rate."""
        for one in self.reference["series"]:
            if (one["recovery"], one["per"]) == (recovery, per):
                series: dict[str, Any] = one
                return series
        raise LookupError(f"{self.file.name} has no {recovery} at PER {per}")

    def goodput(self, recovery: str, per: float) -> float:
        """Mean of the stored runs, in bits per second."""
        return fmean(self.series(recovery, per)["goodput_bps"])


NS3 = Peer(
    name="ns-3.44",
    command=(str(ROOT / ".cache/peers/ns3-download"),),
    prefix="--",
    run="run",
    own=(
        ("windowScaling", 1),
        ("prr", 0),
        ("controller", "NewReno"),
        ("accessRate", "10Mbps"),
        ("rate", "2Mbps"),
        ("returnRate", "2Mbps"),
        ("seed", 1),
    ),
    framing=2,
    note=(
        "newreno: a run with timeouts is no reference for RFC 6582. After a timeout ns-3 without "
        "SACK keeps segments marked lost and retransmits what has arrived; see "
        "benches/peers/README.md. That is run 3 at PER 1e-3 and every run with timeouts at 1e-2."
    ),
)
NS2 = Peer(
    name="ns-2.35",
    command=("ns", str(ROOT / "benches/peers/ns2_download.tcl")),
    prefix="",
    run="seed",
    own=(("accessRate", "10Mb"), ("rate", "2Mb"), ("returnRate", "2Mb")),
    framing=0,
    note="Counts whole segments: 13,699 of them. See benches/peers/README.md.",
)


@functools.cache
def our_flows(
    recovery: str, per: float, framing: int, threshold: str = "flight-size"
) -> list[dict[str, Any]]:
    """The flow of each seed in Bentpipe; one seed says all where nothing is random."""
    sets = [
        f"flow.0.transport.recovery={recovery}",
        f"flow.0.transport.loss_threshold={threshold}",
        f"link.1.forward.channel.per={per}",
        f"link.*.framing={framing}B",
    ]
    scenario = bentpipe.Scenario.load(SCENARIO, sets)
    recordings = bentpipe.run_many([(scenario, seed) for seed in (SEEDS if per else SEEDS[:1])])
    flows = [recording.flows[0] for recording in recordings]
    if not all(flow["completed"] for flow in flows):
        raise RuntimeError(f"a download with {recovery} at PER {per} was not completed")
    return flows


def mean_goodput(recovery: str, per: float, framing: int, threshold: str = "flight-size") -> float:
    """Mean over the seeds in Bentpipe, in bits per second."""
    flows = our_flows(recovery, per, framing, threshold)
    return fmean(flow["goodput_bps"] for flow in flows)
