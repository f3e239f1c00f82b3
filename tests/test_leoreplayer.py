"""Two measured runs of CUBIC through the emulator LeoReplayer against the simulator.

The measured files are those of erha12138/LeoCC b1d4c8e, leoreplayer/replayer/example: a delivery
trace and a delay for each 10 ms, which both directions use, 0.2 % of independent losses in the
direction of the data, drop-tail queues of 500 packets, and packets of 4 bytes more than IP.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest

import bentpipe as bp
from test_traces import data

if TYPE_CHECKING:
    from pathlib import Path

SHORT_START_MS = 2470
"""Time of the trace at which the flow of 10 s began, found by matching delays of its ACKs."""
LONG_START_MS = 2443
"""The same for the flow of 100 s: the offset at which fewest departures have no delivery."""
SHORT_MBPS = 12.70
"""Goodput of the flow of 10 s, from its capture: 11,012 segments in 10 s."""
ADDED_MS = (4.08, 2.82)
"""Medians of the delay that the emulator adds to that of the trace, for data and for ACKs: from
both captures of the flow of 10 s. That of the data has some queueing in it."""
IP_AND_PAYLOAD = (1504, 1448)


@pytest.fixture(scope="module")
def files() -> dict[str, list[str]]:
    """The lines of both files of the trace."""
    names = {"deliveries": "bw_example", "delays": "delay_example"}
    return {
        key: gzip.decompress(data(f"leoreplayer/{name}.txt.gz").read_bytes()).decode().split()
        for key, name in names.items()
    }


def goodput_mbps(
    files: dict[str, list[str]],
    folder: Path,
    start_ms: int,
    duration_s: int,
    seeds: int,
    added_ms: tuple[float, float],
) -> np.ndarray:
    """Goodput of each seed in Mbit/s, from a time of the trace on."""
    later = [time - start_ms for text in files["deliveries"] if (time := int(text)) >= start_ms]
    (folder / "bw.txt").write_text("".join(f"{time}\n" for time in later))
    (folder / "delay.txt").write_text("\n".join(files["delays"][round(start_ms / 10) :]) + "\n")
    trace = {"deliveries": str(folder / "bw.txt"), "delays": str(folder / "delay.txt")}
    added = [{"delay": f"{ms + 0.001}ms"} for ms in added_ms]
    emulator = {"between": ["sender", "replayer"], "rate": "10Gbit/s", "queue": "unlimited",
                "forward": added[0], "backward": added[1]}  # fmt: skip
    path = {"between": ["replayer", "receiver"], "queue": {"packets": 500}, "overhead": "4B",
            "trace": trace, "forward": {"channel": {"per": 0.002}}}  # fmt: skip
    flow = {"from": "sender", "to": "receiver", "controller": "cubic",
            "transport": {"recovery": "linux", "receive_buffer": "32MiB"},
            "traffic": {"bulk": "unlimited"}}  # fmt: skip
    scenario = bp.Scenario.build(duration=f"{duration_s}s", link=[emulator, path], flow=[flow])
    runs = bp.run_many([(scenario, seed) for seed in range(1, seeds + 1)])
    return np.array([run.flows["goodput_bps"][0] for run in runs]) / 1e6


def measured_mbps() -> float:
    """Payload of the full packets that left the emulator's queue, over the time from the first to
    the last of them."""
    text = gzip.decompress(data("leoreplayer/queue_log_bw_example.txt.gz").read_bytes()).decode()
    rows = np.array([line.replace(";", " ").split() for line in text.splitlines()[1:]], dtype=float)
    whole, payload = IP_AND_PAYLOAD
    left_ms = rows[rows[:, 3] == whole, 1]
    return float(len(left_ms) * payload * 8 / (left_ms[-1] - left_ms[0]) / 1e3)


def test_ten_measured_seconds_are_inside_forty_seeds(
    files: dict[str, list[str]], tmp_path: Path
) -> None:
    found = goodput_mbps(files, tmp_path, SHORT_START_MS, 10, 40, ADDED_MS)
    low, median, high = np.quantile(found, [0.025, 0.5, 0.975])
    print(f"measured {SHORT_MBPS}, 40 seeds: {low:.1f} to {high:.1f}, median {median:.1f} Mbit/s")
    assert low <= SHORT_MBPS <= high


def test_a_hundred_measured_seconds_need_the_delay_of_the_emulator(
    files: dict[str, list[str]], tmp_path: Path
) -> None:
    measured = measured_mbps()
    assert measured == pytest.approx(9.94, abs=0.005)
    means = {
        added: float(goodput_mbps(files, tmp_path, LONG_START_MS, 100, 12, added).mean())
        for added in (ADDED_MS, (0.0, 0.0))
    }
    print(measured, means)
    assert means[ADDED_MS] == pytest.approx(measured, rel=0.15)
    assert means[0.0, 0.0] > 1.35 * measured
