"""Runs of the reproduction of Davoli et al., and its quantities computed from them.

A run is named `pattern/connections/variant`: `a/5/ck-stp`. Everything is evaluated twice: over the
five repetitions of the paper, and over all seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Plot
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

PATTERNS = ("a", "b")
COUNTS = (1, 2, 5)
LABELS = {
    "newreno": "New Reno",
    "westwood": "Westwood",
    "westwood-plus": "Westwood+",
    "peach": "Peach",
    "ck-stp": "CK-STP",
}
LARGE_BUFFERS = (
    "flow.0.transport.send_buffer=320KiB",
    "flow.0.transport.receive_buffer=320KiB",
)
VARIANTS = {
    "newreno": ("flow.0.controller=newreno",),
    "westwood": ("flow.0.controller=westwood",),
    "westwood-plus": ("flow.0.controller=westwood-plus",),
    "peach": ("flow.0.controller=peach",),
    "ck-stp": (
        "flow.0.controller={ name = 'ck-stp', rate = 2.048, rtt = 500 }",
        "flow.0.transport.recovery=sack",
        # Its timeouts do not back off; with fewer it gives up while the signal is lost.
        "flow.0.transport.max_retries=255",
        *LARGE_BUFFERS,
    ),
}

WESTWOODS = ("westwood", "westwood-plus")
"""The paper's Westwood is the kernel's, Westwood+. That of its slides is shown too."""

PAPER = ("newreno", "westwood-plus", "peach", "ck-stp")
SEVERAL = [f"{pattern}/{count}" for count in COUNTS[1:] for pattern in PATTERNS]

REPETITIONS = 5
"""The number of repetitions in the paper, for which the first seeds are used."""
SEEDS = range(1, 21)
CASES = {f"{REPETITIONS} repetitions": REPETITIONS, f"{len(SEEDS)} repetitions": len(SEEDS)}

INTERVAL_S = 10.0
SHOWN = (0, 2, 4)
"""Three of the five connections, as in slides 19 and 20, which do not name them."""


def plan() -> Plan:
    """All runs."""
    runs = {
        f"{pattern}/{count}/{variant}": _job(pattern, count, sets)
        for pattern in PATTERNS
        for count in COUNTS
        for variant, sets in VARIANTS.items()
    }
    large = (*VARIANTS["newreno"], *LARGE_BUFFERS)
    return runs | {f"{p}/1/large-buffers": _job(p, 1, large) for p in PATTERNS}


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    for case, repetitions in CASES.items():
        few = {name: runs[:repetitions] for name, runs in results.items()}
        yield from _one_connection(few, case)
        yield from _several_connections(few, case)
        yield from _differences(few, case)
        yield from _shares(few, case)


def plots(results: Results) -> Mapping[str, Plot]:
    """The figures of slides 13 to 20, from five repetitions or one, as in the slides."""
    few = {name: runs[:REPETITIONS] for name, runs in results.items()}
    drawn = {
        f"pattern-{pattern}-{count}": _figure(few, pattern, count)
        for pattern in PATTERNS
        for count in COUNTS
    }
    for variant in VARIANTS:
        drawn[f"each-of-5-{variant}"] = _figure_of_each(results[f"a/5/{variant}"][0], variant)
    return drawn


def _job(pattern: str, count: int, sets: tuple[str, ...]) -> Job:
    sets = (*sets, f"flow.0.count={count}", f"record.interval={INTERVAL_S:g}s")
    return Job(f"pattern-{pattern}.toml", sets, SEEDS)


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""

    def changed(is_ck_stp: bool | None, *sets: str) -> Plan:
        return {
            name: job.with_sets(*sets)
            for name, job in plan().items()
            if is_ck_stp is None or name.endswith("ck-stp") == is_ck_stp
        }

    return {
        "NewReno recovery": changed(False, "flow.0.transport.recovery=newreno"),
        "RFC 6675": changed(False, "flow.0.transport.recovery=sack"),
        "CK-STP like Linux": changed(True, "flow.0.transport.recovery=linux"),
        "no push-out": changed(None, "link.1.queue={packets = 40}"),
        "100 packets": changed(None, "link.1.queue={packets = 100, low_priority = 'push-out'}"),
        "4 dB of margin": changed(None, "link.1.forward.channel.eb_n0=11.1"),
        "2 dB of margin": changed(None, "link.1.forward.channel.eb_n0=9.1"),
    }


# ---------------------------------------------------------------------------------- quantities


def _aggregate(run: bentpipe.Recording) -> float:
    """Goodput of all connections together in kbit/s."""
    return sum(flow.goodput_bps for flow in run.flows) * 1e-3


def _jain(run: bentpipe.Recording) -> float:
    """Jain index of the data that the connections delivered in the whole run."""
    return _index([sum(kbits) for kbits in _delivered(run)])


def _interval_jain(run: bentpipe.Recording) -> float:
    """Mean Jain index of the intervals in which anything was delivered."""
    intervals = zip(*_delivered(run), strict=True)
    return fmean(_index(kbits) for kbits in intervals if sum(kbits) > 0)


def _index(shares: Sequence[float]) -> float:
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def _delivered(run: bentpipe.Recording) -> list[list[float]]:
    """For each connection the kbit that it delivered in each interval."""
    series = run.table("flow_series").select("flow", "t_s", "delivered_bytes").sort("flow", "t_s")
    totals: list[list[float]] = [[] for _ in run.flows]
    for flow, _, total in series.iter_rows():
        totals[flow].append(total * 8e-3)
    return [[after - before for before, after in pairwise(total)] for total in totals]


def _silence(run: bentpipe.Recording) -> tuple[float, float]:
    """Start and length in seconds of the longest time in which nothing was delivered."""
    longest, start, length = 0, 0, 0
    for end, kbits in enumerate(zip(*_delivered(run), strict=True), start=1):
        length = 0 if sum(kbits) > 0 else length + 1
        if length > longest:
            longest, start = length, end - length
    return start * INTERVAL_S, longest * INTERVAL_S


@dataclass(frozen=True)
class Values:
    """A quantity of each run of one case: name of the runs -> one value for each seed."""

    results: Results
    quantity: Callable[[bentpipe.Recording], float]

    def of(self, name: str) -> list[float]:
        """The values of the runs called `name`."""
        return [self.quantity(run) for run in self.results[name]]

    def ratio(self, name: str, base: str) -> Mean:
        """Mean quotient, seed by seed."""
        return mean([a / b for a, b in zip(self.of(name), self.of(base), strict=True)])


# ------------------------------------------------------------------------------------- measures


def _pair(values: Values, table: str, place: str, pair: tuple[str, str], case: str) -> Measured:
    """The quotient of one variant and the one that the paper calls better."""
    other, best = pair
    identity = f"{table}/{other}-to-{best}/{_column(place)}"
    return Measured(identity, values.ratio(f"{place}/{other}", f"{place}/{best}"), case)


def _one_connection(results: Results, case: str) -> Iterator[Measured]:
    goodput = Values(results, _aggregate)
    for pattern in PATTERNS:
        for other in VARIANTS:
            if other != "ck-stp":
                yield _pair(goodput, "one/goodput", f"{pattern}/1", (other, "ck-stp"), case)
        ratio = goodput.ratio(f"{pattern}/1/large-buffers", f"{pattern}/1/ck-stp")
        yield Measured(f"one/buffers/newreno-to-ck-stp/{_column(f'{pattern}/1')}", ratio, case)
    silences = [_silence(run) for run in results["b/1/ck-stp"]]
    for row, values in zip(("start", "length"), zip(*silences, strict=True), strict=True):
        yield Measured(f"fade/silence/{row}/pattern-B", mean(values), case)


def _several_connections(results: Results, case: str) -> Iterator[Measured]:
    quantities = {"goodput": _aggregate, "jain": _jain, "interval-jain": _interval_jain}
    for name, quantity in quantities.items():
        values = Values(results, quantity)
        for westwood in WESTWOODS:
            for other in PAPER:
                if other not in WESTWOODS:
                    for place in SEVERAL:
                        yield _pair(values, f"several/{name}", place, (other, westwood), case)


def _differences(results: Results, case: str) -> Iterator[Measured]:
    goodput = Values(results, _aggregate)
    for place in SEVERAL:
        pattern, _, count = place.partition("/")
        several, one = (
            [
                1 - min(variants) / max(variants)
                for variants in zip(*(goodput.of(f"{pattern}/{n}/{v}") for v in PAPER), strict=True)
            ]
            for n in (count, "1")
        )
        shrunk = mean([a / b for a, b in zip(several, one, strict=True)])
        yield Measured(f"differences/goodput/several-to-one/{_column(place)}", shrunk, case)


def _shares(results: Results, case: str) -> Iterator[Measured]:
    for name, quantity in {"whole-run": _jain, "interval": _interval_jain}.items():
        jain = Values(results, quantity)
        yield Measured(f"five/jain/{name}/CK-STP", mean(jain.of("a/5/ck-stp")), case)
        for westwood in WESTWOODS:
            ratio = jain.ratio("a/5/ck-stp", f"a/5/{westwood}")
            yield Measured(f"five/jain-ratio/{name}/to-{LABELS[westwood]}", ratio, case)


def _column(place: str) -> str:
    """The column of `pattern/connections` in the tables of published values."""
    pattern, _, count = place.partition("/")
    connections = "" if count == "1" else f"{count}-connections,-"
    return f"{connections}pattern-{pattern.upper()}"


# ---------------------------------------------------------------------------------------- plots


def _figure(results: Results, pattern: str, count: int) -> Plot:
    """Goodput of all connections against time, mean of the repetitions."""
    lines = {}
    for variant, label in LABELS.items():
        runs = [
            [sum(kbits) for kbits in zip(*_delivered(run), strict=True)]
            for run in results[f"{pattern}/{count}/{variant}"]
        ]
        lines[label] = _line([fmean(kbits) for kbits in zip(*runs, strict=True)])
    connections = "1 connection" if count == 1 else f"{count} connections"
    title = f"Fading pattern {pattern.upper()}, {connections}: mean of {REPETITIONS} repetitions"
    return Plot(title, "time (s)", "goodput (kbit/s)", lines)


def _figure_of_each(run: bentpipe.Recording, variant: str) -> Plot:
    """Goodput of three connections out of five in one run under pattern A."""
    delivered = _delivered(run)
    lines = {f"connection {number + 1}": _line(delivered[number]) for number in SHOWN}
    title = f"Fading pattern A, three of 5 connections with {LABELS[variant]}: one repetition"
    return Plot(title, "time (s)", "goodput (kbit/s)", lines)


def _line(kbits: Sequence[float]) -> tuple[list[float], list[float]]:
    """Times in the middle of each interval, and kbit/s."""
    times = [(number + 0.5) * INTERVAL_S for number in range(len(kbits))]
    return times, [kbit / INTERVAL_S for kbit in kbits]
