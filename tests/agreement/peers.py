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
from typing import TYPE_CHECKING, Any

import bentpipe

if TYPE_CHECKING:
    from bentpipe._native import Flow

if TYPE_CHECKING:
    from bentpipe._native import Flow

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
    """One run of one of a peer's variants."""

    variant: str
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
    # What is compared, "recovery" or "controller", and the options of each.
    axis: str
    variants: dict[str, dict[str, Any]]
    # Its stored results.
    file: Path
    # Stored with the figures, for whoever reads only those.
    note: str

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything but what an `Entry` says."""
        return DOWNLOAD | dict(self.own)

    @property
    def settings(self) -> dict[str, Any]:
        """All that its stored results hang on."""
        return {"parameters": self.parameters, "variants": self.variants}

    @property
    def has_same_settings(self) -> bool:
        """Whether its stored results were made with these settings."""
        return all(self.reference[name] == value for name, value in self.settings.items())

    @property
    def installed(self) -> bool:
        """Whether it can be run."""
        return shutil.which(self.command[0]) is not None

    def download(self, entry: Entry) -> dict[str, Any]:
        """One run, as the dictionary which the peer prints."""
        options = self.parameters
        options |= self.variants[entry.variant] | {"per": entry.per, self.run: entry.run}
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

    def series(self, variant: str, per: float) -> dict[str, Any]:
        """The stored runs of one variant and error rate."""
        for one in self.reference["series"]:
            if (one[self.axis], one["per"]) == (variant, per):
                series: dict[str, Any] = one
                return series
        raise LookupError(f"{self.file.name} has no {variant} at PER {per}")

    def goodput(self, variant: str, per: float) -> float:
        """Mean of the stored runs, in bits per second."""
        return fmean(self.series(variant, per)["goodput_bps"])


BOTH_RECOVERIES = {name: {"recovery": name} for name in RECOVERIES}
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
    axis="recovery",
    variants=BOTH_RECOVERIES,
    file=HERE / "ns3-reference.json",
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
    axis="recovery",
    variants=BOTH_RECOVERIES,
    file=HERE / "ns2-reference.json",
    note="Counts whole segments: 13,699 of them. See benches/peers/README.md.",
)


@functools.cache
def flows(scenario: Path, sets: tuple[str, ...], per: float) -> list[Flow]:
    """The flow of each seed in Bentpipe; one seed says all where nothing is random."""
    changed = bentpipe.Scenario.load(scenario, [*sets, f"link.1.forward.channel.per={per}"])
    runs = bentpipe.run_many([(changed, seed) for seed in (SEEDS if per else SEEDS[:1])])
    flows = [run.recording.flows[0] for run in runs]
    if not all(flow.completed for flow in flows):
        raise RuntimeError(f"a download at PER {per} was not completed: {sets}")
    return flows


def our_flows(
    recovery: str, per: float, framing: int, threshold: str = "flight-size"
) -> list[Flow]:
    """The download of DOWNLOAD in Bentpipe."""
    sets = (
        f"flow.0.transport.recovery={recovery}",
        f"flow.0.transport.ssthresh_basis={threshold}",
        f"link.*.overhead={framing}B",
    )
    return flows(SCENARIO, sets, per)


def mean_goodput(recovery: str, per: float, framing: int, threshold: str = "flight-size") -> float:
    """Mean over the seeds in Bentpipe, in bits per second."""
    return fmean(flow.goodput_bps for flow in our_flows(recovery, per, framing, threshold))
