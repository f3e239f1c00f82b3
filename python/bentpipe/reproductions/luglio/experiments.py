"""Runs of the reproduction of Luglio, Roseti and Gerla, and its quantities computed from them.

A run is named by figure, controller and what varies: `fig1/westwood/64`, `ten/newreno/1e-2`. The
systems of figure 1 are receivers by their host profiles: `fig1/hosts/newreno/bsd-os` takes the
buffer of the profile, and `fig1/hosts-delayed/newreno/bsd-os` its delayed ACKs as well. All figures
with several flows are run at two packet error rates: the printed one, which cannot give the printed
throughputs, and the one that explains them (README.md).
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars, Plot, published_points
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

CONTROLLERS = {"newreno": "newreno", "westwood": "westwood-abse"}
LABELS = {"newreno": "New Reno", "westwood": "Westwood ABSE"}
BUFFERS = (64, 128, 256)
"""Receiver buffers in kB of 1024 bytes."""

SYSTEMS = {
    "windows-nt": ("Windows NT", 64),
    "linux-2.4": ("Linux 2.4", 64),
    "digital-unix-4.0": ("Digital Unix 4.0", 128),
    "bsd-os": ("BSD/OS", 256),
}
"""The host profiles of section 5: name -> the paper's name, and its receiver buffer in kB."""

DELAYED = "the system's delayed ACKs"
"""The case of a receiver with the delayed ACKs of its profile, and not with the buffer alone."""

ACKS = {"": "", DELAYED: "-delayed"}
"""Both cases of a system as receiver -> what the names of their jobs end with."""

PERS = {"5e-5": "PER 5e-5 (printed)", "1e-2": "PER 1e-2 (inferred)"}
SEEDS = range(1, 21)

RATE_KBPS = 4000.0
RTT_S = 0.508
WIRE = 1500 / 1460
"""The paper counts packets of 1500 bytes, a recording their 1460 bytes of payload."""

SWITCH_S, END_S = 500.0, 1000.0
ENTRIES = {"alike.toml": 1, "mixed.toml": 2, "replaced.toml": 3}
"""Numbers of `[[flow]]` entries."""

FIRST, SECOND, THIRD = range(5), range(5, 10), range(10, 15)
"""The flows of `mixed.toml` and `replaced.toml`, five of an entry."""


def plan() -> Plan:
    """All runs."""
    return {**dict(_one_flow()), **dict(_hosts()), **dict(_several_flows())}


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    yield from _buffers(results)
    for case in ACKS:
        yield from _systems(results, case)
    yield Measured("per/printed/several-flows", Mean(_implied_per(280.0)))
    for per in PERS:
        yield from _fairness(results, per)
        yield from _friendliness(results, per)
        yield from _replacement(results, per)


def plots(results: Results) -> Mapping[str, Plot | Bars]:
    """The paper's figures, those with several flows once for each packet error rate."""
    drawn: dict[str, Plot | Bars] = {
        "figure-1": _figure_1(results),
        "figure-1-hosts": _figure_1_hosts(results),
    }
    for per, label in PERS.items():
        drawn[f"figure-2-per-{per}"] = _figure_2(results, per, label)
        drawn[f"figure-3-per-{per}"] = _figure_3(results, per, label)
        drawn[f"figure-4-per-{per}"] = _figure_4(results, per, label)
    drawn["ten-flows"] = _figure_ten(results)
    return drawn


# ---------------------------------------------------------------------------------------- runs


def _one_flow() -> Iterator[tuple[str, Job]]:
    for name, controller in CONTROLLERS.items():
        for buffer in BUFFERS:
            sets = (
                f"flow.0.controller={controller}",
                f"flow.0.transport.receive_buffer={buffer}KiB",
                f"flow.0.transport.initial_ssthresh={buffer}KiB",
            )
            yield f"fig1/{name}/{buffer}", Job("alike.toml", sets, SEEDS)


def _hosts() -> Iterator[tuple[str, Job]]:
    """One flow to each system, with its buffer alone and with its delayed ACKs as well."""
    for name, controller in CONTROLLERS.items():
        for system, (_, buffer) in SYSTEMS.items():
            delayed = (
                f"flow.0.controller={controller}",
                f'flow.0.host={{ to = "{system}" }}',
                f"flow.0.transport.initial_ssthresh={buffer}KiB",
            )
            undelayed = (*delayed, "flow.0.transport.delayed_ack=off")
            yield _to(name, system), Job("hosts.toml", undelayed, SEEDS)
            yield _to(name, system, DELAYED), Job("hosts.toml", delayed, SEEDS)


def _to(name: str, system: str, case: str = "") -> str:
    """The name of the job of a controller with a system as receiver."""
    return f"fig1/hosts{ACKS[case]}/{name}/{system}"


def _several_flows() -> Iterator[tuple[str, Job]]:
    for per in PERS:
        errors = f"link.1.forward.channel={{ per = {per} }}"
        for name, controller in CONTROLLERS.items():
            five = (errors, f"flow.0.controller={controller}", "flow.0.count=5")
            yield f"five/{name}/{per}", Job("alike.toml", five, SEEDS)
        yield f"ten/newreno/{per}", Job("alike.toml", (errors, "flow.0.count=10"), SEEDS)
        yield f"together/{per}", Job("mixed.toml", (errors,), SEEDS)
        series = (errors, "record.interval=10s")
        yield f"replaced/{per}", Job("replaced.toml", series, SEEDS)


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    queues = {
        f"{packets} packets": {
            name: job.with_sets(f"link.1.queue={{ packets = {packets} }}")
            for name, job in plan().items()
        }
        for packets in (50, 100, 200, 400)
    }
    return queues | {
        "64 kB": {
            name: job.with_sets(
                *(
                    f"flow.{entry}.transport.{key}=64KiB"
                    for entry in range(ENTRIES[job.scenario])
                    for key in ("receive_buffer", "initial_ssthresh")
                )
            )
            for name, job in plan().items()
            if not name.startswith("fig1/")
        }
    }


# ---------------------------------------------------------------------------------- quantities


def _throughputs(run: bentpipe.Recording) -> list[float]:
    """kbit/s of each flow, in packets as the paper counts them, each byte once."""
    return [flow.goodput_bps * 1e-3 * WIRE for flow in run.flows]


def _each(runs: Sequence[bentpipe.Recording], flows: Sequence[int] | None = None) -> list[float]:
    """Mean throughput of a flow in each run, over `flows` or all."""
    rates = [_throughputs(run) for run in runs]
    return [fmean(r if flows is None else [r[i] for i in flows]) for r in rates]


def _totals(runs: Sequence[bentpipe.Recording]) -> list[float]:
    return [sum(_throughputs(run)) for run in runs]


def _utilisations(runs: Sequence[bentpipe.Recording]) -> list[float]:
    return [total / RATE_KBPS for total in _totals(runs)]


def _jains(runs: Sequence[bentpipe.Recording]) -> list[float]:
    return [run.jain_index for run in runs if run.jain_index is not None]


def _ratios(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """The quotient for each seed."""
    return [a / b for a, b in zip(first, second, strict=True)]


def _losses(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """The difference for each seed."""
    return [a - b for a, b in zip(before, after, strict=True)]


def _delivered(run: bentpipe.Recording) -> dict[int, dict[float, float]]:
    """Delivered kbit of each flow, by time."""
    series = run.table("flow_series").select("flow", "t_s", "delivered_bytes")
    delivered: dict[int, dict[float, float]] = {}
    for flow, time, count in series.iter_rows():
        delivered.setdefault(flow, {})[time] = count * 8e-3 * WIRE
    return delivered


def _rates_between(
    runs: Sequence[bentpipe.Recording], flows: Sequence[int], start: float, end: float
) -> list[float]:
    """Mean throughput in each run of a flow of `flows` between two sampled times."""
    rates = []
    for delivered in map(_delivered, runs):
        carried = [delivered[flow][end] - delivered[flow][start] for flow in flows]
        rates.append(fmean(carried) / (end - start))
    return rates


# ------------------------------------------------------------------------------------- measures


def _limit(buffer: int) -> float:
    """The throughput in kbit/s that a receiver buffer in kB allows."""
    return min(buffer * 1024 * 8e-3 / RTT_S, RATE_KBPS)


def _implied_per(kbps: float) -> float:
    """The PER at which one New Reno flow has this throughput, by the square-root law."""
    return float((1.22 * 1500 * 8e-3 / (RTT_S * kbps)) ** 2)


def _buffers(results: Results) -> Iterator[Measured]:
    for buffer in BUFFERS:
        westwood = _each(results[f"fig1/westwood/{buffer}"])
        newreno = _each(results[f"fig1/newreno/{buffer}"])
        limited = [rate / _limit(buffer) for rate in newreno]
        column = f"{buffer}-kB"
        yield Measured(f"fig1/throughput/westwood/{column}", mean(westwood))
        yield Measured(f"fig1/share-of-limit/newreno/{column}", mean(limited))
        ratio = mean(_ratios(newreno, westwood))
        yield Measured(f"fig1/ratio/newreno-to-westwood/{column}", ratio)


def _systems(results: Results, case: str) -> Iterator[Measured]:
    for system, (_, buffer) in SYSTEMS.items():
        westwood = _each(results[_to("westwood", system, case)])
        newreno = _each(results[_to("newreno", system, case)])
        measured = {
            "throughput/westwood": westwood,
            "share-of-limit/newreno": [rate / _limit(buffer) for rate in newreno],
            "ratio/newreno-to-westwood": _ratios(newreno, westwood),
        }
        for row, values in measured.items():
            yield Measured(f"fig1/hosts/{row}/{system}", mean(values), case)


def _at(per: str, identity: str, values: Sequence[float]) -> Measured:
    """A measurement at a packet error rate."""
    return Measured(identity, mean(values), PERS[per])


def _fairness(results: Results, per: str) -> Iterator[Measured]:
    five = {name: results[f"five/{name}/{per}"] for name in CONTROLLERS}
    used = {name: _utilisations(runs) for name, runs in five.items()}
    for name, runs in five.items():
        yield _at(per, f"fig2/utilisation/{name}/five-flows", used[name])
        yield _at(per, f"fig2/jain/{name}/five-flows", _jains(runs))
    ratios = _ratios(used["newreno"], used["westwood"])
    yield _at(per, "fig2/ratio/newreno-to-westwood/five-flows", ratios)
    ten = results[f"ten/newreno/{per}"]
    yield _at(per, "fig2/jain/newreno/ten-flows", _jains(ten))
    yield _at(per, "ten/throughput/newreno/ten-flows", _each(ten))
    yield _at(per, "ten/total/newreno/ten-flows", _totals(ten))
    wasted = [RATE_KBPS - total for total in _totals(ten)]
    yield _at(per, "ten/wasted/newreno/ten-flows", wasted)


def _friendliness(results: Results, per: str) -> Iterator[Measured]:
    together = results[f"together/{per}"]
    newreno, westwood = _each(together, FIRST), _each(together, SECOND)
    alone = _each(results[f"ten/newreno/{per}"])
    yield _at(per, "fig3/loss/newreno/together", _losses(alone, newreno))
    yield _at(per, "fig3/throughput/newreno/together", newreno)
    yield _at(per, "fig3/throughput/westwood/together", westwood)
    yield _at(per, "fig3/utilisation/both/together", _utilisations(together))


def _replacement(results: Results, per: str) -> Iterator[Measured]:
    runs = results[f"replaced/{per}"]
    before = _rates_between(runs, [*FIRST, *SECOND], 0.0, SWITCH_S)
    stays = _rates_between(runs, FIRST, SWITCH_S, END_S)
    comes = _rates_between(runs, THIRD, SWITCH_S, END_S)
    lost = _losses(_rates_between(runs, FIRST, 0.0, SWITCH_S), stays)
    used = [5 * (old + new) / RATE_KBPS for old, new in zip(stays, comes, strict=True)]
    yield _at(per, "fig4/throughput/newreno/before", before)
    yield _at(per, "fig4/loss/newreno/after", lost)
    yield _at(per, "fig4/utilisation/both/after", used)


# ---------------------------------------------------------------------------------------- plots

THROUGHPUT = "throughput (kbit/s)"


def _figure_1(results: Results) -> Bars:
    bars = {
        LABELS[name]: {
            f"{buffer} kB": mean(_each(results[f"fig1/{name}/{buffer}"])) for buffer in BUFFERS
        }
        for name in CONTROLLERS
    }
    bars["limit of the buffer"] = {f"{buffer} kB": Mean(_limit(buffer)) for buffer in BUFFERS}
    return Bars("Figure 1: one flow, PER 1e-4", "receiver buffer", THROUGHPUT, bars)


def _figure_1_hosts(results: Results) -> Bars:
    bars: dict[str, dict[str, Mean]] = {}
    for name in CONTROLLERS:
        for case in ACKS:
            bars[", with ".join(filter(None, (LABELS[name], case)))] = {
                label: mean(_each(results[_to(name, system, case)]))
                for system, (label, _) in SYSTEMS.items()
            }
    limits = {label: Mean(_limit(buffer)) for label, buffer in SYSTEMS.values()}
    bars["limit of the buffer"] = limits
    title = "Figure 1 by operating system: one flow, PER 1e-4"
    return Bars(title, "system of the receiver", THROUGHPUT, bars)


def _figure_2(results: Results, per: str, label: str) -> Bars:
    bars = {}
    for name in CONTROLLERS:
        runs = results[f"five/{name}/{per}"]
        bars[LABELS[name]] = {
            "fairness index": mean(_jains(runs)),
            "utilisation": mean(_utilisations(runs)),
        }
    ids = {LABELS["newreno"]: {"utilisation": "fig2/utilisation/newreno/five-flows"}}
    published = published_points("luglio", ids)
    return Bars(f"Figure 2: five flows of one kind, {label}", "", "index, share", bars, published)


def _figure_ten(results: Results) -> Bars:
    bars = {}
    for per, label in PERS.items():
        runs = results[f"ten/newreno/{per}"]
        bars[label] = {str(flow + 1): mean(_each(runs, [flow])) for flow in range(10)}
    # The paper prints one value for each of the ten flows.
    flows = {str(flow + 1): "ten/throughput/newreno/ten-flows" for flow in range(10)}
    published = published_points("luglio", dict.fromkeys(PERS.values(), flows))
    return Bars("Ten New Reno flows", "flow", THROUGHPUT, bars, published)


def _figure_3(results: Results, per: str, label: str) -> Bars:
    together = results[f"together/{per}"]
    mixed = "five of each kind"
    bars = {
        LABELS["newreno"]: {
            "ten New Reno": mean(_each(results[f"ten/newreno/{per}"])),
            mixed: mean(_each(together, FIRST)),
        },
        LABELS["westwood"]: {mixed: mean(_each(together, SECOND))},
    }
    title = f"Figure 3: flows that start together, {label}"
    ids = {
        LABELS[name]: {mixed: f"fig3/throughput/{name}/together"}
        for name in ("newreno", "westwood")
    }
    ids[LABELS["newreno"]]["ten New Reno"] = "ten/throughput/newreno/ten-flows"
    published = published_points("luglio", ids)
    return Bars(title, "flows", f"{THROUGHPUT} of each flow", bars, published)


def _figure_4(results: Results, per: str, label: str) -> Plot:
    groups = {
        "five New Reno flows that stay": FIRST,
        "five Westwood ABSE flows that start at 500 s": THIRD,
        "five New Reno flows that stop at 500 s": SECOND,
    }
    recorded = [_delivered(run) for run in results[f"replaced/{per}"]]
    lines = {}
    for name, flows in groups.items():
        times = sorted(t for t in recorded[0][flows[0]] if t <= SWITCH_S or flows != SECOND)
        carried = [fmean(run[flow][t] for run in recorded for flow in flows) for t in times]
        rates = [
            (new - old) / (t - last)
            for last, t, old, new in zip(
                times[:-1], times[1:], carried[:-1], carried[1:], strict=True
            )
        ]
        lines[name] = (times[1:], rates)
    title = f"Figure 4: five of ten flows replaced at 500 s, {label}"
    return Plot(title, "time (s)", f"{THROUGHPUT} of each flow", lines)
