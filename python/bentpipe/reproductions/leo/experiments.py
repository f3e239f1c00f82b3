"""Paths over low orbits: runs, and comparisons with measured files.

Rows of three kinds need no run of the simulator: paths of Hypatia (`paths`), windows of Linux's
CUBIC and slots of Starlink (`measured`). Files that the user does not have make rows that are not
measured, with the names of the files.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

import bentpipe
from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.leo import measured, paths
from bentpipe.reproductions.plots import Bars, Plot, published_points
from bentpipe.reproductions.reproduction import Job, find
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bentpipe.reproductions.files import Files
    from bentpipe.reproductions.published import Value
    from bentpipe.reproductions.reproduction import Plan, Results

NETEM = "netem.toml"
REPLAYER = "leoreplayer.toml"
HINTS = "hints.toml"
TRACE = ("leoreplayer/bw_example.txt", "leoreplayer/delay_example.txt")

CONTROLLERS = ("cubic", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois",
               "lp", "nv", "scalable", "veno", "westwood")  # fmt: skip
"""Modules of Linux that the emulation with netem compares."""
FLOWS = (1, 10)

HINTED = {
    "satcp": "'satcp'",
    "starquic": "'starquic'",
    "starquic-bbr3": "{ name = 'starquic', base = 'bbr3' }",
    "leocc": "'leocc'",
    "leocc-live": "'leocc-live'",
}
"""Controllers that act on hints, as values of the key `controller`."""
LEOCC = ("leocc", "leocc-live")
STARTS_S = {"10-s": 2.470, "100-s": 2.443}
"""Times of the trace at which the flows began: by delays of ACKs, and the offset at which fewest
departures have no delivery."""
PAYLOAD = 1448
"""Bytes of payload in a packet of LeoReplayer's runs."""


def plan() -> Plan:
    """All runs. Their seeds were not used by the tests of the laboratory."""
    return {**_netem(), **_replayer(), **_hints()}


def _netem() -> Plan:
    linux = {
        one.name
        for one in bentpipe.controllers()
        if any(each.variant == "linux" for each in one.variants)
    }
    return {
        f"netem/{name}/{flows}": Job(
            NETEM,
            (
                "flow.0.controller="
                + (f"{{ name = '{name}', variant = 'linux' }}" if name in linux else f"'{name}'"),
                f"flow.0.count={flows}",
            ),
            range(1, 7),
        )
        for name in CONTROLLERS
        for flows in FLOWS
    }


def _replayer() -> Plan:
    seeds = {"10-s": range(101, 141), "100-s": range(101, 113)}
    return {
        f"leoreplayer/{name}": Job(
            REPLAYER,
            (
                f"duration={int(name.removesuffix('-s')) + start:.3f}s",
                f"flow.0.start={start:.3f}s",
            ),
            seeds[name],
            TRACE,
        )
        for name, start in STARTS_S.items()
    }


def _hints() -> Plan:
    seeds = range(101, 107)
    with_hints = {
        f"hints/{name}/{case}": (controller, f"flow.0.path_hints={{ source = '{source}' }}")
        for name, controller in HINTED.items()
        for case, source in (("none", "none"), ("exact", "clock"))
    }
    jobs = {
        name: Job(HINTS, (f"flow.0.controller={controller}", hints), seeds, TRACE)
        for name, (controller, hints) in with_hints.items()
    }
    return {**jobs, "hints/bbr/none": Job(HINTS, ("flow.0.controller='bbr'",), seeds, TRACE)}


# -------------------------------------------------------------------------------------- measures


def measure(results: Results, files: Files) -> Iterator[Measured]:
    """The measured value for each published value whose runs and files are there."""
    published = find("leo").publication.values
    yield from paths.measure(published, files)
    yield from measured.measure(published, files)
    yield from _measure_netem(results)
    if files.has(TRACE):
        yield from _measure_replayer(results, published)
        yield from _measure_hints(results)
        return
    for identity in published:
        if identity.startswith(("leoreplayer/", "hints/", "hints-base/")):
            yield Measured(identity, None, note=files.note(TRACE))


def _measure_netem(results: Results) -> Iterator[Measured]:
    found = {
        (name, flows): [_sum_mbps(run) for run in results[f"netem/{name}/{flows}"]]
        for name in CONTROLLERS
        for flows in FLOWS
    }
    columns = dict(zip(FLOWS, ("1-flow", "10-flows"), strict=True))
    for (name, flows), rates in found.items():
        yield Measured(f"netem/{name}/{columns[flows]}", mean(rates))
    yield Measured("netem-words/bbr/above", _above(found["bbr", 1], found["cubic", 1]))
    for name in ("cubic", "bbr", "westwood"):
        yield Measured(f"netem-flows/{name}/above", _above(found[name, 10], found[name, 1]))
    yield Measured("netem-ten/westwood/above", _above(found["westwood", 10], found["bbr", 10]))


def _measure_replayer(results: Results, published: Mapping[str, Value]) -> Iterator[Measured]:
    rates = [_queue_mbps(run) for run in results["leoreplayer/100-s"]]
    yield Measured("leoreplayer/100-s/rate", mean(rates))
    short = [_sum_mbps(run) for run in results["leoreplayer/10-s"]]
    bound = published["leoreplayer/10-s/median"].low
    assert bound is not None
    share = 100 * fmean(one < bound for one in short)
    yield Measured("leoreplayer/10-s/below", Mean(share))
    yield Measured("leoreplayer/10-s/median", Mean(median(short)))


def _measure_hints(results: Results) -> Iterator[Measured]:
    def gain(name: str, base: str) -> Mean:
        pairs = zip(results[f"hints/{name}/exact"], results[base], strict=True)
        return mean([_sum_mbps(run) - _sum_mbps(other) for run, other in pairs])

    for name in HINTED:
        yield Measured(f"hints/{name}/gain", gain(name, f"hints/{name}/none"))
    for name in LEOCC:
        yield Measured(f"hints-base/{name}/gain", gain(name, "hints/bbr/none"))


def _sum_mbps(run: bentpipe.Recording) -> float:
    """Goodput of all flows of a run in Mbit/s."""
    return sum(flow.goodput_bps for flow in run.flows) / 1e6


def _queue_mbps(run: bentpipe.Recording) -> float:
    """Payload of all packets that left the queue of the trace, in Mbit/s, over 100 s."""
    link = next(one for one in run.links if one.direction == "forward" and "replayer" in one.link)
    return (link.delivered_packets + link.corrupted_packets) * PAYLOAD * 8 / 100 / 1e6


def _above(rates: Sequence[float], others: Sequence[float]) -> Mean:
    """The rates above others, in per cent, in pairs."""
    return mean([100 * (one / other - 1) for one, other in zip(rates, others, strict=True)])


# ---------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    netem = _netem()
    return {
        "delay of the trace alone": {
            name: job.with_sets("link.0.forward.delay=1us", "link.0.backward.delay=1us")
            for name, job in _replayer().items()
        },
        "50 ms each way": {
            name: job.with_sets("link.0.backward.delay=50ms") for name, job in netem.items()
        },
        "queue of 400 ms": {
            name: job.with_sets("link.0.forward.queue={ time = '400ms' }")
            for name, job in netem.items()
        },
    }


# ----------------------------------------------------------------------------------------- plots


def plots(results: Results) -> Mapping[str, Bars | Plot]:
    """Goodputs of the emulation with netem, and RTTs over laser links."""
    columns = dict(zip(FLOWS, ("1-flow", "10-flows"), strict=True))
    bars = {
        f"{flows} flow{'s' if flows > 1 else ''}": {
            name: mean([_sum_mbps(run) for run in results[f"netem/{name}/{flows}"]])
            for name in CONTROLLERS
        }
        for flows in FLOWS
    }
    ids = {
        series: {name: f"netem/{name}/{columns[flows]}" for name in CONTROLLERS}
        for series, flows in zip(bars, FLOWS, strict=True)
    }
    published = published_points("leo", ids)
    title = "10 Mbit/s, 50 ms, 2 % of losses"
    return {
        "netem": Bars(title, "controller", "goodput (Mbit/s)", bars, published),
        "rtt": Plot("RTT over Kuiper's first shell", "time (s)", "RTT (ms)", paths.lines()),
    }
