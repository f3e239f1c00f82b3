#!/usr/bin/env python3
"""Delays of other emulators of low orbits, compared with Bentpipe's; see docs/emulators.md.

    emulated_delays.py --starrynet FOLDER      a checkout of SpaceNetLab/StarryNet
    emulated_delays.py --leoreplayer FOLDER    its example `no_PEP`, of erha12138/LeoCC

StarryNet's own function computes the delay of one hop. The position of the satellite is ours, so
that Skyfield, which its program imports, is not needed. LeoReplayer's captures of both ends of a
flow are matched packet by packet, and compared with its file of delays. `tshark` reads them. Then
the same files run on our kernel backend, which needs root.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bentpipe

ROOT = Path(__file__).resolve().parent.parent
ORBIT = """\
constellation = "starlink-550"
epoch = "2026-11-27T12:00:00Z"
duration = "60s"
from = "Paris"
to = "Frankfurt"
choice = "nearest"

[[place]]
name = "Frankfurt"
latitude_deg = 50.11
longitude_deg = 8.68
"""
ALTITUDE_KM = 550
DELAY_STEP_MS = 10
"""LeoReplayer has a delay for each of these times."""
FILES = {"deliveries": "bw", "delays": "delay"}
LATEST_START_MS = 10_000
"""The captured flow starts at most this long after its trace."""
FIELDS = ("frame.time_epoch", "tcp.srcport", "ip.id", "tcp.seq_raw", "tcp.ack_raw", "tcp.len",
          "tcp.options.timestamp.tsval")  # fmt: skip
SERVER_PORT = 5201


@dataclass(frozen=True)
class Extra:
    """Packets of one direction: sent times since the first one, and delays, in ms."""

    sent_ms: np.ndarray
    delay_ms: np.ndarray

    def less(self, trace_ms: np.ndarray, start_ms: float) -> np.ndarray:
        """Delays less those of a trace, whose time `start_ms` is that of the first packet."""
        rows = ((self.sent_ms + start_ms) / DELAY_STEP_MS).astype(int)
        added: np.ndarray = self.delay_ms - trace_ms[np.minimum(rows, len(trace_ms) - 1)]
        return added

    def overtaken(self) -> float:
        """Share of packets that a packet sent later overtook."""
        arrived = (self.sent_ms + self.delay_ms)[np.argsort(self.sent_ms, kind="stable")]
        first_later = np.minimum.accumulate(arrived[::-1])[::-1]
        return float(np.mean(first_later[1:] < arrived[:-1]))


def starrynet_delay_ms(folder: Path, hop: dict[str, Any]) -> float:
    """The delay of one hop by StarryNet's own function, for a satellite over a place."""
    for name in ("skyfield", "skyfield.api", "sgp4", "sgp4.api", "starrynet.sn_utils"):
        module = types.ModuleType(name)
        for imported in ("load", "wgs84", "EarthSatellite", "Satrec", "WGS84"):
            setattr(module, imported, None)
        sys.modules[name] = module
    names: dict[str, Any] = {}
    source = folder / "starrynet" / "sn_observer.py"
    exec(compile(source.read_text("utf-8"), str(source), "exec"), names)
    observer = names["Observer"].__new__(names["Observer"])
    place = [[hop["place"][0], hop["place"][1]]]
    satellite = [list(hop["satellite"])]
    with tempfile.TemporaryDirectory() as out:
        (Path(out) / "delay").mkdir()
        names["np"].seterr(all="ignore")
        observer.access_P_L_shortest(
            [observer.to_cbf(satellite, 1)], observer.to_cbf(place, 1), 1, 1, 1, 1, 1, place,
            [satellite], 1e6, 90.0, 1, out,
        )  # fmt: skip
        rows = list(csv.reader((Path(out) / "delay" / "1.txt").open()))
    return float(rows[1][0])


def compare_starrynet(folder: Path) -> None:
    """Print the delay of the hop from Paris to its nearest satellite, by both programs."""
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "orbit.toml"
        file.write_text(ORBIT, "utf-8")
        series = bentpipe.orbit(file)
    from bentpipe.orbits.frame import frame

    first = frame(series).row(0, named=True)
    below = (first["satellite_latitude_deg"], first["satellite_longitude_deg"])
    hop = {
        "place": (first["from_latitude_deg"], first["from_longitude_deg"]),
        "satellite": (*below, ALTITUDE_KM),
    }
    ours = first["range_km"] / 299_792.458 * 1e3
    theirs = starrynet_delay_ms(folder, hop)
    print(f"hop of {first['range_km']:.1f} km from Paris to {first['satellite']}")
    print(f"  Bentpipe {ours:.3f} ms, StarryNet {theirs:.2f} ms: {theirs / ours:.2f} times")


def packets(capture: Path) -> dict[tuple[str, ...], float]:
    """Times of the TCP packets of a capture in ms, by what identifies them; first ones only."""
    command = ["tshark", "-r", str(capture), "-Y", "tcp", "-T", "fields", "-E", "separator=,"]
    command += [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[tuple[str, ...], float] = {}
    for time, *rest in csv.reader(done.stdout.splitlines()):
        found.setdefault(tuple(rest), float(time) * 1e3)
    return found


def matched(
    sent: dict[tuple[str, ...], float], arrived: dict[tuple[str, ...], float], *, data: bool
) -> Extra:
    """Delays of the packets that both captures have: data to the server, or its ACKs."""

    def is_wanted(key: tuple[str, ...]) -> bool:
        port, *_, length, _ = key
        return (int(port) != SERVER_PORT and int(length) > 0) if data else (
            int(port) == SERVER_PORT and int(length) == 0)  # fmt: skip

    both = [key for key in sent if key in arrived and is_wanted(key)]
    times = np.array([(sent[key], arrived[key]) for key in both])
    times = times[np.argsort(times[:, 0], kind="stable")]
    return Extra(times[:, 0] - times[0, 0], times[:, 1] - times[:, 0])


def spread(values: np.ndarray) -> float:
    """The median distance from the median."""
    return float(np.median(np.abs(values - np.median(values))))


def on_our_kernel(folder: Path) -> dict[str, Any]:
    """A flow of CUBIC over the same files on the kernel backend: figures of its emulator."""
    trace = {key: str(folder / f"{name}_example.txt") for key, name in FILES.items()}
    link = {"between": ["server", "client"], "queue": {"packets": 500}, "trace": trace}
    flow = {"from": "server", "to": "client", "controller": "cubic",
            "traffic": {"bulk": "unlimited"}}  # fmt: skip
    scenario = bentpipe.Scenario.build(duration="10s", link=[link], flow=[flow])
    quality = bentpipe.run_on_kernel(scenario).kernel
    assert quality is not None
    return quality.to_dict()


def compare_leoreplayer(folder: Path) -> None:
    """Print what its delay queue adds to the file of delays, and how many packets it reorders."""
    trace_ms = np.loadtxt(folder / "delay_example.txt")
    inner, outer = (packets(folder / "data" / f"{name}.pcap") for name in ("inner", "outer"))
    acks, segments = matched(outer, inner, data=False), matched(inner, outer, data=True)
    starts = range(0, LATEST_START_MS, DELAY_STEP_MS)
    start = min(starts, key=lambda one: spread(acks.less(trace_ms, one)))
    extra = np.quantile(acks.less(trace_ms, start), [0.5, 0.95])
    print(f"LeoReplayer, {len(acks.sent_ms)} ACKs and {len(segments.sent_ms)} segments")
    print(f"  the ACKs fit its delays best from {start / 1e3:.2f} s on")
    print(f"  {extra[0]:.2f} ms later than its file says (median), {extra[1]:.2f} ms (95 %)")
    print(f"  {segments.overtaken():.0%} of the segments were overtaken")
    ours = on_our_kernel(folder)
    print(f"Bentpipe on the kernel, the same files, {ours['timed_packets']} packets")
    print(f"  {ours['delay_error_p50_ms']:.2f} ms later than they say (median),", end=" ")
    print(f"{ours['delay_error_p99_ms']:.2f} ms (99 %)")


def main() -> None:
    """Compare Bentpipe with the programs whose folders are given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--starrynet", type=Path, metavar="FOLDER")
    parser.add_argument("--leoreplayer", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.starrynet is None and options.leoreplayer is None:
        parser.error("expected --starrynet or --leoreplayer")
    if options.starrynet is not None:
        compare_starrynet(options.starrynet)
    if options.leoreplayer is not None:
        compare_leoreplayer(options.leoreplayer)


if __name__ == "__main__":
    main()
