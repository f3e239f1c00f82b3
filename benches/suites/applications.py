"""Applications that people use, on both backends, by the figures of each of them.

The hosts have the defaults of Linux, and the link loses packets in both directions. Servers of
pages keep their answers until the socket sends them (`notsent_lowat`), because HTTP/2 puts urgent
answers first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe import _native
from suites.figures import Comparison, Metric, Subject, mean_of
from suites.suite import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe import Scenario

FILE = SCENARIOS / "applications.toml"

WAYS = ("forward", "backward")
PATHS = {
    f"{name}, PER {per}": (
        f"link.0.delay={rtt // 2}ms",
        *(f"link.0.{way}.queue.packets={20 * rtt * 1000 // 8 // 1500}" for way in WAYS),
        *(f"link.0.{way}.channel.per={per}" for way in WAYS),
    )
    for name, rtt in (("GEO", 520), ("50 ms", 50))
    for per in ("0", "1e-3")
}
LINUX = 'host = "linux-6.18", '
DATAGRAMS = 'transport = { protocol = "udp" }, '


def over(flow: str, metrics: tuple[Metric, ...]) -> Subject:
    """An application: its flow, and its figures."""

    def scenario(path: Iterable[str]) -> Scenario:
        whole = f'flow=[{{ from = "server", to = "client", {flow} }}]'
        return _native.Scenario.load(FILE, [whole, *path])

    return Subject(scenario, metrics)


APPLICATIONS = {
    "page": over(
        LINUX
        + 'transport = { send_buffer = { notsent_lowat = "16KiB" } }, '
        + 'traffic = { page = { site = "shop" } }',
        (Metric("load time", mean_of("page_loads", "load_s"), "s"),),
    ),
    "video": over(
        LINUX + 'traffic = { video = { length = "48s", buffer = "12s" } }',
        (
            Metric("start-up", mean_of("video", "start_up_s"), "s"),
            Metric("mean bit rate", mean_of("video", "mean_bitrate_bps"), "Mbit/s", 1e-6),
            Metric("stalls", mean_of("video", "stalls"), "", places=0),
        ),
    ),
    "call": over(
        DATAGRAMS + 'traffic = { call = { duration = "20s" } }',
        (
            Metric("MOS", mean_of("call", "mos"), ""),
            Metric("mouth to ear", mean_of("call", "mouth_to_ear_ms"), "ms", places=1),
        ),
    ),
    "messages": over(
        LINUX + 'traffic = { messages = { interval = "50ms", count = 400 } }',
        (
            Metric("response p50", mean_of("responses", "p50_response_ms"), "ms", places=1),
            Metric("response p95", mean_of("responses", "p95_response_ms"), "ms", places=1),
        ),
    ),
    "speed test": over(
        LINUX + 'traffic = { speedtest = { idle = "2s" } }',
        (
            Metric("download", mean_of("speedtest", "download_bps"), "Mbit/s", 1e-6),
            Metric("upload", mean_of("speedtest", "upload_bps"), "Mbit/s", 1e-6),
            Metric("latency, idle", mean_of("speedtest", "idle_latency_ms"), "ms", places=1),
        ),
    ),
}

COMPARISON = Comparison("applications", APPLICATIONS, PATHS, seeds=5)
