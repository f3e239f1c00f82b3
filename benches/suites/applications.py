"""Applications that people use, on both backends, by the figures of each of them.

The hosts have the defaults of Linux, and the link loses packets in both directions. Servers of
pages keep their answers until the socket sends them (`notsent_lowat`), because HTTP/2 puts urgent
answers first. A figure is compared by the medians of all seeds, because a run with losses has one
of several outcomes.
"""

from __future__ import annotations

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from bentpipe import _native
from bentpipe.console import late_progress
from bentpipe.fidelity.experiment import SET_UP_S
from bentpipe.fidelity.kept import KeptRuns
from bentpipe.numbers import decimals, signed
from suites.suite import ROOT, SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bentpipe import Recording, Scenario

FILE = SCENARIOS / "applications.toml"
KEPT = ROOT / ".cache" / "fidelity"
SEEDS = 5
PARALLEL = 2
ATTEMPTS = 5
"""A kernel run that is not valid is repeated until there are as many."""

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


@dataclass(frozen=True)
class Metric:
    """A figure: a column of a table of recordings, and how it is printed.

    Of several rows, those of both directions of a call for example, the mean counts.
    """

    name: str
    table: str
    column: str
    unit: str
    scale: float = 1.0
    places: int = 2

    def of(self, recording: Recording) -> float | None:
        """The value of a run; None if the application did not get so far."""
        values = recording.table(self.table)[self.column].drop_nulls().to_list()
        return statistics.fmean(values) if values else None


@dataclass(frozen=True)
class Application:
    """An application: its flow, and its figures."""

    flow: str
    metrics: tuple[Metric, ...]

    def scenario(self, path: Iterable[str]) -> Scenario:
        """The scenario with it on a path."""
        flow = f'flow=[{{ from = "server", to = "client", {self.flow} }}]'
        return _native.Scenario.load(FILE, [flow, *path])


APPLICATIONS = {
    "page": Application(
        LINUX
        + 'transport = { send_buffer = { notsent_lowat = "16KiB" } }, '
        + 'traffic = { page = { site = "shop" } }',
        (Metric("load time", "page_loads", "load_s", "s"),),
    ),
    "video": Application(
        LINUX + 'traffic = { video = { length = "48s", buffer = "12s" } }',
        (
            Metric("start-up", "video", "start_up_s", "s"),
            Metric("mean bit rate", "video", "mean_bitrate_bps", "Mbit/s", 1e-6),
            Metric("stalls", "video", "stalls", "", places=0),
        ),
    ),
    "call": Application(
        DATAGRAMS + 'traffic = { call = { duration = "20s" } }',
        (
            Metric("MOS", "call", "mos", ""),
            Metric("mouth to ear", "call", "mouth_to_ear_ms", "ms", places=1),
        ),
    ),
    "messages": Application(
        LINUX + 'traffic = { messages = { interval = "50ms", count = 400 } }',
        (
            Metric("response p50", "responses", "p50_response_ms", "ms", places=1),
            Metric("response p95", "responses", "p95_response_ms", "ms", places=1),
        ),
    ),
    "speed test": Application(
        LINUX + 'traffic = { speedtest = { idle = "2s" } }',
        (
            Metric("download", "speedtest", "download_bps", "Mbit/s", 1e-6),
            Metric("upload", "speedtest", "upload_bps", "Mbit/s", 1e-6),
            Metric("latency, idle", "speedtest", "idle_latency_ms", "ms", places=1),
        ),
    ),
}


@dataclass(frozen=True)
class Row:
    """A figure of an application on a path: values of valid runs on both backends."""

    application: str
    metric: str
    path: str
    kernel: list[float]
    simulator: list[float]

    def difference(self) -> float | None:
        """Difference of the medians in percent; None if that of the kernel is zero or missing."""
        if not self.kernel or not self.simulator:
            return None
        kernel = statistics.median(self.kernel)
        return 100 * (statistics.median(self.simulator) / kernel - 1) if kernel else None


def metric_of(row: Row) -> Metric:
    """The metric of a row."""
    metrics = APPLICATIONS[row.application].metrics
    return next(metric for metric in metrics if metric.name == row.metric)


def scenarios() -> dict[tuple[str, str], Scenario]:
    """The scenario of each application and path."""
    return {
        (name, path): APPLICATIONS[name].scenario(PATHS[path])
        for name, path in product(APPLICATIONS, PATHS)
    }


def real_time_s() -> float:
    """Real time of all runs, by those of the simulator."""
    planned = list(scenarios().values())
    recordings = _native.run_many([(scenario, 1) for scenario in planned])
    ends = [recording.flows[0].completion_s for recording in recordings]
    lengths = [
        SET_UP_S + (scenario.duration_s if end is None else end)
        for scenario, end in zip(planned, ends, strict=True)
    ]
    return sum(lengths) * SEEDS / PARALLEL


def run(seeds: int = SEEDS) -> dict[str, Any]:
    """Run all applications on all paths on both backends; the object in the results."""
    planned = scenarios()
    kept = KeptRuns(KEPT)
    jobs = [(key, seed) for seed in range(1, 1 + seeds) for key in planned]
    found: dict[tuple[str, str], list[Recording]] = {key: [] for key in planned}
    with (
        ThreadPoolExecutor(PARALLEL) as pool,
        late_progress("applications", len(jobs)) as progress,
    ):
        runs = pool.map(lambda job: kept.run(planned[job[0]], job[1], ATTEMPTS), jobs)
        for done, ((key, _), recording) in enumerate(zip(jobs, runs, strict=True), 1):
            found[key].append(recording)
            if progress:
                progress(done)
    invalid = sum(not _is_valid(one) for all_of in found.values() for one in all_of)
    modelled = _native.run_many([(planned[key], seed) for key, seed in jobs])
    simulated: dict[tuple[str, str], list[Recording]] = {key: [] for key in planned}
    for (key, _), recording in zip(jobs, modelled, strict=True):
        simulated[key].append(recording)
    rows = [
        Row(
            *(name, metric.name, path),
            kernel=_values(metric, filter(_is_valid, found[name, path])),
            simulator=_values(metric, simulated[name, path]),
        )
        for name, application in APPLICATIONS.items()
        for metric in application.metrics
        for path in PATHS
    ]
    return {"seeds": seeds, "invalid": invalid, "rows": [asdict(row) for row in rows]}


def _is_valid(recording: Recording) -> bool:
    return recording.kernel is not None and recording.kernel.valid


def _values(metric: Metric, recordings: Iterable[Recording]) -> list[float]:
    values = map(metric.of, recordings)
    return [value for value in values if value is not None]


def table(found: dict[str, Any]) -> str:
    """The results as Markdown: differences with the medians of the kernel."""
    rows = [Row(**row) for row in found["rows"]]
    sizes = {
        f"{row.application}, {row.metric}, {row.path}": abs(difference)
        for row in rows
        if (difference := row.difference()) is not None
    }
    largest = max(sizes, key=lambda name: sizes[name])
    within = sum(size <= 5 for size in sizes.values())
    lines = [
        f"Figures differ by {decimals(statistics.median(sizes.values()), 1)} % in the median and "
        f"by {decimals(sizes[largest], 1)} % at most ({largest}); {within} of {len(sizes)} are "
        "within 5 %.",
        "",
        f"| difference % (kernel) | {' | '.join(PATHS)} |",
        f"|---|{'---:|' * len(PATHS)}",
    ]
    for first in range(0, len(rows), len(PATHS)):
        line = rows[first : first + len(PATHS)]
        name = f"{line[0].application}: {line[0].metric}"
        lines.append(f"| {name} | {' | '.join(map(_cell, line))} |")
    lines += ["", _footer(found)]
    return "\n".join(lines)


def _cell(row: Row) -> str:
    metric = metric_of(row)
    if not row.kernel:
        return "-"
    kernel, simulator = (
        decimals(metric.scale * statistics.median(values), metric.places) if values else "-"
        for values in (row.kernel, row.simulator)
    )
    difference = row.difference()
    if difference is None:
        return f"{simulator} ({kernel})"
    text = signed(round(difference, 1) + 0.0, places=1)
    return f"{text} ({kernel} {metric.unit}".rstrip() + ")"


def _footer(found: dict[str, Any]) -> str:
    invalid = found["invalid"]
    return (
        f"{found['date']}, commit {found['commit']}, Linux {found['kernel']}, {found['seeds']} "
        "seeds" + (f"; {invalid} kernel runs were not valid and are left out." if invalid else ".")
    )
