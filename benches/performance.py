#!/usr/bin/env python3
"""The tables of docs/performance.md: what the engine costs, counted and not timed. `make profile`.

    performance.py                      all sections (half an hour on an idle machine)
    performance.py controllers growth   these sections; the others keep their results
    performance.py --tables             writes the tables again from docs/performance.json
    performance.py --check              fails if the page has other tables than that file

Instructions and cache misses are those of callgrind, which simulates the processor, so no busy
machine changes them. Each scenario runs in full and for a nanosecond. The difference is the cost of
the simulation, without start-up and without reading the scenario. Times of commands are the least
processor time of many runs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import engine
import instructions
import performance_page
import quic_instructions
import transport_instructions
from bentpipe import controllers as controllers_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

RESULTS = engine.ROOT / "docs" / "performance.json"
PAGE = engine.ROOT / "docs" / "performance.md"
FIGURE = engine.ROOT / "docs" / "images" / "performance.svg"
FADE = engine.ROOT / "examples" / "fade.csv"

DOWNLOAD = "geo-download.toml"
SIZE = "flow.0.traffic.download=4MB"
FLOWS = (1, 100, 1000, 10_000)
FLOWS_TIME = "duration=10s"
FULL = performance_page.FULL
FULL_WINDOW = [
    "flow.0.controller={name='scalable', increase=0.02, decrease=0.01}",
    "flow.0.transport={recovery='sack', receive_buffer='8MiB', initial_window=450,"
    " initial_ssthresh='650kB'}",
]
"""A plain sender, whose window fills the link of `controller.toml` in spite of the losses."""
# One size for all machines: callgrind takes that of the machine otherwise.
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"]
RUNS = 20
"""Runs of a command, of which the least time counts."""
MEMORY_RUNS = 5
"""Runs of a scenario, of which the least peak memory counts."""

COMMANDS: dict[str, list[str]] = {
    "Python alone": ["-c", "pass"],
    "`import bentpipe`": ["-c", "import bentpipe"],
    "`bentpipe --help`": ["-m", "bentpipe", "--help"],
    "`bentpipe run` of a plain file": ["-m", "bentpipe", "run", "examples/geo-download.toml"],
    "`bentpipe report` of a run with 8 figures": ["-m", "bentpipe", "report", "RUN"],
}
"""Commands without the program. `RUN` stands for the folder of a run."""

RECORDED = ["run", "examples/geo-download.toml", "--set", "record.interval=1s", "--out"]
"""The run that is reported."""


@dataclass(frozen=True)
class Cost:
    """Counts of a run, without start-up."""

    instructions: int
    hops: int
    segments: int
    misses: int = 0

    def per_hop(self) -> float:
        """Instructions per packet and hop."""
        return self.instructions / self.hops

    def per_segment(self) -> float:
        """Instructions per data segment that was sent."""
        return self.instructions / self.segments


class Counter:
    """Runs scenarios under callgrind. Runs of a nanosecond are kept: many sets share one."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.empty: dict[tuple[str, ...], tuple[int, int]] = {}

    def counts(self, scenario: str, sets: Iterable[str], options: Iterable[str]) -> tuple[int, int]:
        """Instructions and misses of the last-level cache of one run."""
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options]
        done = subprocess.run(
            [*command, str(self.program), str(instructions.SCENARIOS / scenario), *sets],
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": os.defpath},
        )
        found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
        misses = re.search(r"LLd misses:\s*([\d,]+)", done.stderr)
        if not found:
            raise RuntimeError(f"callgrind printed no count:\n{done.stderr}")
        return int(found[1]), int(misses[1].replace(",", "")) if misses else 0

    def cost(
        self, scenario: str, sets: list[str], *, base: list[str] | None = None, caches: bool = False
    ) -> Cost:
        """Counts of a scenario. `base` are the sets of the run of a nanosecond, if not its own."""
        options = CACHES if caches else []
        key = (scenario, *(sets if base is None else base), *options)
        runs = [partial(self.counts, scenario, sets, options)]
        if key not in self.empty:
            own = [*key[1 : len(key) - len(options)], "duration=1ns"]
            runs.append(partial(self.counts, scenario, own, options))
        full, *empty = at_once(runs)
        self.empty.update((key, counts) for counts in empty)
        outcome = engine.run(self.program, instructions.SCENARIOS / scenario, *sets)
        (recording,) = outcome.recordings
        segments = sum(flow.get("segments_sent") or 0 for flow in recording["flows"])
        used = [mine - empty for mine, empty in zip(full, self.empty[key], strict=True)]
        return Cost(used[0], outcome.packet_hops, segments, used[1])


def at_once(counted: Iterable[Callable[[], T]]) -> list[T]:
    """Results of functions, two at a time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(lambda one: one(), counted))


def kinds(folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Scenarios and sets of the rows of `packets`, by their titles."""
    trace = folder / "trace.csv"
    rows = [f"{step / 100},{20 + step % 7 / 10:.1f}" for step in range(6000)]
    trace.write_text("\n".join(["t_s,delay_ms", *rows]) + "\n")
    fec = '{ name = "reed-solomon", data = 20, parity = 4, depth = 2 }'
    modem = 'modem = { name = "dvb-s2", bandwidth = 1e6 }'
    fade = f'attenuation = {{ file = "{FADE}", outside = "hold" }}'
    channel = f"channel = {{ es_n0 = 14.0, {fade}, system_temperature = 150, {modem} }}"
    _, sctp = transport_instructions.PROTOCOLS["sctp"]
    return {
        "plain": (DOWNLOAD, [SIZE]),
        "PER 1e-2": (DOWNLOAD, [SIZE, "link.1.channel={per=1e-2}"]),
        '`recovery = "linux"`': (DOWNLOAD, [SIZE, "flow.0.transport={recovery='linux'}"]),
        '`host = "linux-6.18"`': (
            DOWNLOAD,
            # The host's own transport.
            [SIZE, "flow.0.transport={}", "flow.0.host=linux-6.18"],
        ),
        "CoDel": (DOWNLOAD, [SIZE, "link.1.forward.aqm=codel"]),
        "selective-repeat ARQ": (DOWNLOAD, [SIZE, "link.1.forward.arq=selective-repeat"]),
        "Reed-Solomon FEC": (DOWNLOAD, [SIZE, f"link.1.forward.fec={fec}"]),
        "trace of 100 lines a second": (
            DOWNLOAD,
            [SIZE, f'link.1.trace={{ file = "{trace}", loop = true }}'],
        ),
        "ACM, DVB-S2": (
            DOWNLOAD,
            [SIZE, f"link.1.forward={{ queue = {{ packets = 64 }}, {channel} }}"],
        ),
        "SCTP": (DOWNLOAD, [SIZE, "flow.0.controller=none", f"flow.0.transport={sctp}"]),
        "QUIC": ("quic.toml", quic_instructions.SETS),
        "split proxy": ("split-proxy.toml", []),
        "web page": (str(engine.ROOT / "examples/geo-page.toml"), []),
    }


def packets(counter: Counter) -> Iterator[Any]:
    """Instructions per packet and hop with each mechanism, after each of them."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (scenario, sets) in kinds(Path(folder)).items():
            cost = counter.cost(scenario, sets)
            found.append(
                {"name": name, "per_hop": cost.per_hop(), "per_segment": cost.per_segment()}
            )
            yield found


def functions_of(counter: Counter, sets: list[str]) -> dict[str, float]:
    """Instructions of each function itself, per data segment."""

    def own(more: list[str]) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            counter.counts(DOWNLOAD, [*sets, *more], [f"--callgrind-out-file={out}"])
            costs: dict[str, float] = defaultdict(float)
            for function, cost in quic_instructions.read(out.read_text().splitlines())[0].items():
                costs[function.split("'")[0]] += cost
            return costs

    full, empty = own([]), own(["duration=1ns"])
    outcome = engine.run(counter.program, instructions.SCENARIOS / DOWNLOAD, *sets)
    segments = outcome.flows[0]["segments_sent"]
    return {name: (cost - empty.get(name, 0)) / segments for name, cost in full.items()}


def functions(counter: Counter) -> Iterator[Any]:
    """The functions that most instructions are in."""
    found = {}
    for name, sets in {
        "plain": [SIZE],
        '`recovery = "linux"`': [SIZE, "flow.0.transport={recovery='linux'}"],
        "BBRv3": [SIZE, "flow.0.controller=bbr3"],
    }.items():
        costs = sorted(functions_of(counter, sets).items(), key=lambda item: -item[1])
        total = sum(cost for _, cost in costs)
        found[name] = [[name, cost, cost / total] for name, cost in costs[:12]]
    yield found


def growth(counter: Counter) -> Iterator[Any]:
    """Cost per hop with more and more flows through one bottleneck."""
    costs = at_once(
        partial(
            counter.cost,
            "shared-bottleneck.toml",
            [f"flow.0.count={flows}", FLOWS_TIME],
            caches=True,
        )
        for flows in FLOWS
    )
    yield [
        {"flows": flows, "per_hop": cost.per_hop(), "misses_per_hop": cost.misses / cost.hops}
        for flows, cost in zip(FLOWS, costs, strict=True)
    ]


def memory(counter: Counter) -> Iterator[Any]:
    """Bytes of a flow, a household, a terminal, and of the parts of a connection."""

    def of_each(scenario: str, number: str, few: int, *sets: str) -> float:
        """Peak memory with twice as many less that with `few`, for each one more.

        The least of some runs: where the system places memory changes a peak by some pages.
        """
        file = instructions.SCENARIOS / scenario
        peaks = [
            min(
                engine.run(counter.program, file, f"{number}={count}", *sets).max_rss_kb
                for _ in range(MEMORY_RUNS)
            )
            for count in (few, 2 * few)
        ]
        return (peaks[1] - peaks[0]) * 1024 / few

    def of_a_flow(few: int, *sets: str) -> float:
        return of_each("shared-bottleneck.toml", "flow.0.count", few, *sets)

    sizes = subprocess.run(
        [engine.build("engine", "sizes")], check=True, stdout=subprocess.PIPE, text=True
    )
    yield {
        # Little memory for each: with fewer flows the pages that a peak varies by would count.
        "not started": of_a_flow(50_000, "duration=1s", "flow.0.start=900s"),
        "open and idle": of_a_flow(10_000, "flow.0.traffic={download='1B'}"),
        "household": of_each("idle-households.toml", "mix.0.count", 2000),
        "terminal": of_each("idle-terminals.toml", "beam.0.group.0.terminals", 4000),
        "sizes": json.loads(sizes.stdout),
    }


def changes(counter: Counter) -> Iterator[Any]:
    """Instructions per packet and hop of a path without changes, and with one every 10 ms."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.csv"
        # As the distance of a satellite does, over slots of 15 s.
        rows = [f"{step / 100},{20 + abs(step % 1500 - 750) / 150:.3f}" for step in range(6001)]
        trace.write_text("\n".join(["t_s,delay_ms", *rows]) + "\n")
        runs = {"none": [], "every 10 ms": [f'link.0.trace="{trace}"']}
        yield {
            name: counter.cost("changing-path.toml", sets).per_hop() for name, sets in runs.items()
        }


def controllers(counter: Counter) -> Iterator[Any]:
    """Instructions per data segment of each controller of the registry, without and with losses.

    Yields after each controller, so that a count that is interrupted keeps its first part. The
    first row is the plain sender with a full window, which is counted with losses only.
    """
    no_loss, losses = (DOWNLOAD, [SIZE]), ("controller.toml", ["duration=20s"])
    names = [entry.name for entry in controllers_known()]
    before = {row["name"]: row for row in load().get("controllers", {}).get("found", [])}
    rows = {name: before[name] for name in names if name in before}

    def count(scenario: tuple[str, list[str]], more: list[str]) -> float:
        file, base = scenario
        return counter.cost(file, [*base, *more], base=base).per_segment()

    first = {"name": FULL, "losses": count(losses, FULL_WINDOW)}
    for name in names:
        more = [f"flow.0.controller={name}"]
        costs = at_once([partial(count, no_loss, more), partial(count, losses, more)])
        rows[name] = {"name": name, "no loss": costs[0], "losses": costs[1]}
        yield [first, *(rows[one] for one in names if one in rows)]


def recoveries(counter: Counter) -> Iterator[Any]:
    """Instructions per data segment of each recovery, through an overshoot of slow start."""
    names, larger = ("reno", "newreno", "sack", "linux"), "flow.0.traffic.download=8MB"
    costs = at_once(
        partial(counter.cost, DOWNLOAD, [larger, f"flow.0.transport={{recovery='{name}'}}"])
        for name in names
    )
    yield {name: cost.per_segment() for name, cost in zip(names, costs, strict=True)}


def seconds(command: list[str], folder: str) -> float:
    """The least processor time of a command, with the folder of a run."""
    command = [folder if word == "RUN" else word for word in command]

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    # Compiled modules are kept, as those of an installed package are.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(engine.ROOT / ".cache/bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(RUNS):
        before = used()
        subprocess.run(
            [sys.executable, *command],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=engine.ROOT,
            env=environment,
        )
        times.append(used() - before)
    return min(times)


def start(counter: Counter) -> Iterator[Any]:
    """Processor time of commands, and instructions before a run begins."""
    reading, _ = counter.counts(DOWNLOAD, ["duration=1ns"], [])
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        subprocess.run(
            [sys.executable, "-m", "bentpipe", *RECORDED, run],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=engine.ROOT,
        )
        yield {
            "commands": {name: seconds(command, run) for name, command in COMMANDS.items()},
            "reading": reading,
        }


SECTIONS: dict[str, Callable[[Counter], Iterator[Any]]] = {
    "packets": packets,
    "functions": functions,
    "growth": growth,
    "changes": changes,
    "memory": memory,
    "controllers": controllers,
    "recoveries": recoveries,
    "start": start,
}


def stamp() -> dict[str, str]:
    """When a section was counted, and with which compiler."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return {"date": today, "compiler": instructions.compiler()}


def load() -> dict[str, Any]:
    """The results of all sections that were counted."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def main() -> int:
    """Counts the sections, and writes results, page and figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--tables", action="store_true", help="write the tables again")
    parser.add_argument("--check", action="store_true", help="compare the page with the results")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"expected sections of {', '.join(SECTIONS)}, found {unknown[0]}")
    results = load()
    if arguments.check:
        if PAGE.read_text() == performance_page.filled(PAGE.read_text(), results):
            return 0
        print(f"{PAGE}: other tables than those of {RESULTS.name}; run performance.py --tables")
        return 1
    if not arguments.tables:
        if not shutil.which("valgrind"):
            print("performance: valgrind is missing: install Debian's package valgrind")
            return 2
        counter = Counter(engine.build("engine"))
        for name in arguments.sections or SECTIONS:
            print(f"{name} ...", flush=True)
            for found in SECTIONS[name](counter):
                results[name] = {**stamp(), "found": found}
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(performance_page.filled(PAGE.read_text(), results))
    if "growth" in results:
        performance_page.figure(results["growth"]["found"]).save(FIGURE)
    print(f"written: {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
