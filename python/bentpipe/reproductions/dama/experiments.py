"""Runs of what is published about TCP over demand assignment.

`ten/ra` and `ten/rbdc` are transfers of ten datagrams at a low load, `overload/...` the same in an
overload. Nothing is random without random access, so these runs have one seed.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

TEN = "ten.toml"
FREE = "free.toml"
SHARING = "sharing.toml"
SEEDS = range(1, 11)

RANDOM_ACCESS = (
    "beam.spot.return.access={ scheme = 'crdsa', replicas = 3, carriers = 2 }",
    "beam.spot.group.home.random_access=true",
)
OVERLOAD = ("beam.spot.group.home.terminals=1000", "flow.0.spread=3s")
CRA = ("beam.spot.group.home.requests=none", "beam.spot.group.home.cra=300kbit/s")
SMALL_WINDOW = ("flow.0.transport.receive_buffer=16KiB",)
"""Less than the share of a terminal times the round trip: the RTT is not that of a full buffer."""

LOOPS = ("rbdc", "cra")
CONTROLLERS = ("reno", "vegas", "westwood-plus", "hybla", "cubic")


def plan() -> Plan:
    """All runs."""
    return {
        "ten/ra": Job(TEN, RANDOM_ACCESS, SEEDS),
        "ten/rbdc": Job(TEN),
        "overload/ra": Job(TEN, (*OVERLOAD, *RANDOM_ACCESS), SEEDS),
        "overload/rbdc": Job(TEN, OVERLOAD),
        "rto/3": Job(TEN, ("flow.0.transport.rto={ initial = '3s' }",)),
        "free/rate": Job(FREE, ("beam.spot.group.rate.fca=true",)),
        "free/volume": Job(FREE, ("beam.spot.group.volume.fca=true",)),
        **{f"sharing/{name}": Job(SHARING, (f"flow.0.controller={name}",)) for name in CONTROLLERS},
        "loops/rbdc": Job(SHARING, SMALL_WINDOW),
        "loops/cra": Job(SHARING, (*SMALL_WINDOW, *CRA)),
    }


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    [dedicated] = map(_completion, results["ten/rbdc"])
    sooner = [1000 * (dedicated - _completion(run)) for run in results["ten/ra"]]
    yield Measured("ten/light/sooner", mean(sooner))
    [again] = map(_again, results["overload/rbdc"])
    yield Measured(
        "overload/overload/more", mean([_again(run) - again for run in results["overload/ra"]])
    )
    [with_rate], [with_volume] = (
        [_completion(run) for run in results[name]] for name in ("free/rate", "free/volume")
    )
    yield Measured("free/rbdc/above", mean([100 * (with_rate / with_volume - 1)]))
    [late] = map(_completion, results["rto/3"])
    yield Measured("rto/rbdc/change", mean([100 * (dedicated / late - 1)]))
    [on_request], [fixed] = ([_swing(run) for run in results[f"loops/{one}"]] for one in LOOPS)
    yield Measured("loops/rbdc/above", mean([on_request - fixed]))
    shares = {name: _shares(results[f"sharing/{name}"][0]) for name in CONTROLLERS}
    for place, name in enumerate(("used", "jain")):
        values = [100 * found[place] for found in shares.values()]
        yield Measured(f"controllers/{name}/apart", mean([max(values) - min(values)]))
    yield Measured("noordwijk/rbdc/time", None, note="TCP Noordwijk is not in the registry")


def _completion(run: bentpipe.Recording) -> float:
    """Mean completion time in seconds; all transfers must be complete."""
    times = [flow.completion_s for flow in run.flows]
    assert all(time is not None for time in times), "the duration is too short"
    return fmean(time for time in times if time is not None)


def _again(run: bentpipe.Recording) -> float:
    """Segments that were sent again, in percent of all."""
    totals = [flow.tcp for flow in run.flows if flow.tcp]
    again = sum(one.segments_retransmitted for one in totals)
    return 100 * again / sum(one.segments_sent for one in totals)


def _swing(run: bentpipe.Recording) -> float:
    """The 95th percentile of the RTT less its smallest value in ms, mean of the flows."""
    known = [(one.p95_rtt_ms, one.min_rtt_ms) for one in run.flows]
    return fmean(p95 - least for p95, least in known if p95 is not None and least is not None)


def _shares(run: bentpipe.Recording) -> tuple[float, float]:
    """Share of the slots with data, and Jain index of the goodputs."""
    [beam] = run.table("beams").to_dicts()
    assert run.jain_index is not None
    return beam["rate_used_slots"] / beam["slots"], run.jain_index


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    jobs = plan()
    return {
        "VBDC": {
            name: jobs[name].with_sets("beam.spot.group.home.requests=vbdc")
            for name in ("ten/rbdc", "overload/rbdc", "rto/3")
        },
        "initial RTO of 3 s": {
            name: jobs[name].with_sets("flow.0.transport.rto={ initial = '3s' }")
            for name in ("ten/ra", "ten/rbdc", "overload/ra", "overload/rbdc")
        },
        "free capacity for all": {
            name: jobs[name].with_sets("beam.spot.group.home.fca=true")
            for name in ("ten/rbdc", "overload/rbdc", "rto/3")
        },
    }


# ---------------------------------------------------------------------------------------- plots


def plots(results: Results) -> Mapping[str, Bars]:
    """Completion times of ten datagrams by access."""
    names = {"ra": "random access", "rbdc": "dedicated access"}
    bars = {
        load: {
            title: mean([_completion(run) for run in results[f"{key}/{name}"]])
            for name, title in names.items()
        }
        for key, load in (("ten", "low load"), ("overload", "overload"))
    }
    return {"ten": Bars("Ten datagrams over the return channel", "", "completion time (s)", bars)}
