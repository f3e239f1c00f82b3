"""Runs of the TCP-ADaLR reproduction, and its published quantities computed from them.

A run is named `application/losses/variant/acks`, with the BER behind it where there is one:
`ftp/errors/adalr-sack/delayed/1e-06`.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars, Plot, published_points
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import Mean, gains, mean, savings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

VARIANTS = {
    "adalr-sack": ("adalr", "sack"),
    "adalr-newreno": ("adalr", "newreno"),
    "sack": ("newreno", "sack"),
    "newreno": ("newreno", "newreno"),
}
ACKS = {"undelayed": "off", "delayed": "200ms"}
LABELS = {
    "adalr-sack": "ADaLR SACK",
    "adalr-newreno": "ADaLR NewReno",
    "sack": "SACK",
    "newreno": "NewReno",
    "undelayed": "without delayed ACK",
    "delayed": "with delayed ACK",
    "no-loss": "no loss",
    "congestion": "throttled gateway",
}
BASES = ("sack", "newreno")
BERS = ("1e-09", "1e-08", "1e-07", "1e-06", "1e-05")
SEEDS = range(1, 21)
"""Twenty seeds for runs with random channel errors. The other runs have no randomness."""

UNEXPLAINED_MS = 34
"""RTT that is missing everywhere, calibrated with the 463.5 s of standard TCP; in all scenarios."""

RTTS = (25, 50, 100, 200, 250, 500)
FLOW_RTTS = (25, 50, 100, 300, 400, 500)
SATELLITE = 2
"""Position of the satellite link's forward direction in `Recording.links`."""


def plan() -> Plan:
    """All runs."""
    return {
        **dict(_without_errors()),
        **dict(_rtt_sweep()),
        **dict(_fairness()),
        **dict(_with_errors()),
    }


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    yield from _absolute_times(results)
    yield from _gains_without_loss(results)
    yield from _shares(results)
    yield from _gains_with_errors(results)


def plots(results: Results) -> Mapping[str, Plot | Bars]:
    """Goodput, utilisation and cwnd against time as in the slides, and the printed values."""
    drawn: dict[str, Plot | Bars] = {}
    for losses in ("no-loss", "congestion"):
        runs = {
            f"{LABELS[variant]}, {LABELS[acks]}": results[f"ftp/{losses}/{variant}/{acks}"][0]
            for variant in ("adalr-sack", "sack")
            for acks in ACKS
        }
        drawn |= _plots_against_time(losses, runs)
    drawn["ftp-errors-time"] = _plot_over_ber(results)
    return drawn | {
        "ftp-time": _plot_times(results),
        "ftp-rtt-time": _plot_over_rtt(results),
        "fairness-goodput": _plot_fairness(results),
    }


# ---------------------------------------------------------------------------------------- runs


OPNET = (
    "flow.0.transport.duplicate_window=sender",
    "flow.0.transport.recovery_exit=flight-size",
)
"""Two rules of OPNET's TCP, which only a recovery without SACK has."""


def _sets(variant: str, acks: str) -> tuple[str, ...]:
    controller, recovery = VARIANTS[variant]
    return (
        *(OPNET if recovery == "newreno" else ()),
        f"flow.0.controller={controller}",
        f"flow.0.transport.recovery={recovery}",
        f"flow.0.transport.delayed_ack={ACKS[acks]}",
    )


def _without_errors() -> Iterator[tuple[str, Job]]:
    for losses, suffix in (("no-loss", ""), ("congestion", "-congestion")):
        for variant in VARIANTS:
            for acks in ACKS:
                sets = _sets(variant, acks)
                series = (*sets, "record.interval=1s")
                yield f"ftp/{losses}/{variant}/{acks}", Job(f"ftp{suffix}.toml", series)
                yield f"http/{losses}/{variant}/{acks}", Job(f"http{suffix}.toml", sets)


def _with_errors() -> Iterator[tuple[str, Job]]:
    for losses, suffix in (("errors", ""), ("both", "-congestion")):
        for application in ("ftp", "http"):
            for variant in VARIANTS:
                for ber in BERS:
                    channel = f"link.1.channel={{ber={ber}, ecc_threshold=1.2e-6}}"
                    job = Job(
                        f"{application}{suffix}.toml",
                        (*_sets(variant, "delayed"), channel),
                        SEEDS,
                    )
                    yield f"{application}/{losses}/{variant}/delayed/{ber}", job


def _rtt_sweep() -> Iterator[tuple[str, Job]]:
    for rtt in RTTS:
        sets = (*_sets("sack", "delayed"), f"link.1.delay={(rtt + UNEXPLAINED_MS) / 2}ms")
        yield f"rtt/{rtt}", Job("ftp.toml", sets)


def _fairness() -> Iterator[tuple[str, Job]]:
    adalr = [f"flow.{i}.controller=adalr" for i in range(6)]
    equal = [f"link.{2 + 2 * i}.delay={10.5 + UNEXPLAINED_MS / 2}ms" for i in range(6)]
    yield "fair/adalr-newreno", Job("fairness.toml", tuple(adalr))
    yield "fair/newreno", Job("fairness.toml")
    yield "friendly/equal-rtt", Job("fairness.toml", (*adalr[:3], *equal))
    yield "friendly/long-rtt", Job("fairness.toml", tuple(adalr[3:]))


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    closing = "flow.0.traffic.web.keep_alive=10s"
    without = dict(_without_unexplained())
    pages = {name: job for name, job in without.items() if name.startswith("http")}
    return {
        "without the 34 ms": without,
        "closing": _changed("http/*", closing),
        "closing, without the 34 ms": without
        | {name: job.with_sets(closing) for name, job in pages.items()},
        "RFC 6582": dict(_standard_recovery()),
        "ticks": _with_adalr("rtt_tick = 0.5"),
        "rwnd per ACK": _with_adalr("rwnd = 'per-ack'"),
        "rwnd by both": _with_adalr("rwnd = 'both'"),
        "rwnd off": _with_adalr("rwnd = 'off'"),
        "no extra RTO": _with_adalr("extra_rto = 0"),
        "any retransmissions": _with_adalr("retransmissions = 1000"),
        "two connections": _changed("http/*", "flow.0.traffic.web.connections=2"),
        "no pipelining": _changed("http/*", "flow.0.traffic.web.pipelining=false"),
        "Linux recovery": _changed("*/*sack/*", "flow.0.transport.recovery=linux"),
        "undelayed": _changed("*/errors/*", "flow.0.transport.delayed_ack=off"),
        "validated": _changed("*", "flow.0.transport.window_validation=true"),
        "cwnd basis": _changed("*", "flow.0.transport.ssthresh_basis=cwnd"),
        "limited transmit": _changed("*", "flow.0.transport.limited_transmit=true"),
    }


def _changed(pattern: str, *sets: str) -> Plan:
    """The jobs whose names match, with further overrides."""
    return {
        name: job.with_sets(*sets) for name, job in plan().items() if fnmatchcase(name, pattern)
    }


def _without_unexplained() -> Iterator[tuple[str, Job]]:
    for name, job in plan().items():
        kind, _, rest = name.partition("/")
        if kind == "rtt":
            yield name, job.with_sets(f"link.1.delay={int(rest) / 2}ms")
        elif kind in ("ftp", "http"):
            yield name, job.with_sets("link.1.delay=250ms")
        else:
            rtts = FLOW_RTTS if rest != "equal-rtt" else (25,) * len(FLOW_RTTS)
            delays = [f"link.{2 + 2 * i}.delay={rtt / 2 - 2}ms" for i, rtt in enumerate(rtts)]
            yield name, job.with_sets(*delays)


def _standard_recovery() -> Iterator[tuple[str, Job]]:
    for name, job in plan().items():
        flows = len(FLOW_RTTS) if name.startswith(("fair/", "friendly/")) else 1
        if flows > 1 or "newreno" in name:
            yield (
                name,
                job.with_sets(
                    *(f"flow.{i}.transport.duplicate_window=advertised" for i in range(flows)),
                    *(f"flow.{i}.transport.recovery_exit=ssthresh" for i in range(flows)),
                ),
            )


def _with_adalr(parameter: str) -> Plan:
    """The jobs with ADaLR, with another parameter of it."""
    changed = {}
    for name, job in plan().items():
        flows = [text.split(".")[1] for text in job.sets if text.endswith("controller=adalr")]
        if flows:
            value = f"{{name = 'adalr', {parameter}}}"
            changed[name] = job.with_sets(*(f"flow.{i}.controller={value}" for i in flows))
    return changed


# ---------------------------------------------------------------------------------- quantities


def _completion(run: bentpipe.Recording) -> float | None:
    completion: float | None = run.flows[0].completion_s
    return completion


def _page(run: bentpipe.Recording) -> float | None:
    response: float | None = run.flows[0].page_response_s
    return response


def _goodput(run: bentpipe.Recording) -> float:
    return float(run.flows[0].goodput_bps)


def _throughput(run: bentpipe.Recording) -> float:
    return float(run.flows[0].throughput_bps)


def _link_throughput(run: bentpipe.Recording) -> float:
    return float(run.links[SATELLITE].delivered_bytes) * 8 / run.simulated_s


def _utilisation(run: bentpipe.Recording) -> float:
    return float(run.links[SATELLITE].utilisation)


TIMES = {"ftp": _completion, "http": _page}
RATES = {
    "goodput": _goodput,
    "throughput": _throughput,
    "link-throughput": _link_throughput,
    "utilisation": _utilisation,
}


def _values(
    runs: Sequence[bentpipe.Recording], quantity: Callable[[bentpipe.Recording], float | None]
) -> list[float]:
    """The quantity of each run for which it is defined."""
    return [value for run in runs if (value := quantity(run)) is not None]


def _paired(
    new: Sequence[bentpipe.Recording],
    old: Sequence[bentpipe.Recording],
    quantity: Callable[[bentpipe.Recording], float | None],
    compare: Callable[[Sequence[float], Sequence[float]], list[float]],
) -> tuple[Mean | None, str]:
    """Mean of the comparison over the seeds with two complete runs, and a note on the others."""
    pairs = [(quantity(n), quantity(o)) for n, o in zip(new, old, strict=True)]
    whole = [(n, o) for n, o in pairs if n is not None and o is not None]
    lost = len(pairs) - len(whole)
    note = f"{lost} of {len(pairs)} pairs of runs were aborted by TCP" if lost else ""
    if not whole:
        return None, note
    return mean(compare([n for n, _ in whole], [o for _, o in whole])), note


# ------------------------------------------------------------------------------------- measures


def _absolute_times(results: Results) -> Iterator[Measured]:
    for losses in ("no-loss", "congestion"):
        for application, quantity in TIMES.items():
            for variant in VARIANTS:
                for acks in ACKS:
                    runs = results[f"{application}/{losses}/{variant}/{acks}"]
                    yield Measured(
                        f"{application}/{losses}/{variant}/{acks}",
                        mean(_values(runs, quantity)),
                    )
    for rtt in RTTS:
        time = mean(_values(results[f"rtt/{rtt}"], _completion))
        yield Measured(f"ftp/rtt/baseline/{rtt}-ms", time)
    for application, quantity in TIMES.items():
        for base in BASES:
            for acks in ACKS:
                new = results[f"{application}/no-loss/adalr-{base}/{acks}"]
                old = results[f"{application}/no-loss/{base}/{acks}"]
                ratio = _values(new, quantity)[0] / _values(old, quantity)[0]
                yield Measured(f"{application}/no-loss/ratio/{base}/{acks}", Mean(ratio))


def _gains_without_loss(results: Results) -> Iterator[Measured]:
    for acks in ACKS:
        new = results[f"ftp/no-loss/adalr-sack/{acks}"]
        old = results[f"ftp/no-loss/sack/{acks}"]
        for name in ("throughput", "goodput", "utilisation"):
            gain, _ = _paired(new, old, RATES[name], gains)
            yield Measured(f"gain/no-loss/{name}/adalr/{acks}", gain)
    for application, quantity in TIMES.items():
        for acks in ACKS:
            new = results[f"{application}/no-loss/adalr-sack/{acks}"]
            old = results[f"{application}/no-loss/sack/{acks}"]
            saving, _ = _paired(new, old, quantity, savings)
            yield Measured(f"{application}/no-loss/gain-in-text/adalr/{acks}", saving)
    for acks in ACKS:
        new = results[f"http/congestion/adalr-sack/{acks}"]
        old = results[f"http/congestion/sack/{acks}"]
        saving, _ = _paired(new, old, _page, savings)
        yield Measured(f"http/congestion/gain-in-text/sack/{acks}", saving)


def _gains_with_errors(results: Results) -> Iterator[Measured]:
    for losses in ("errors", "both"):
        for base in BASES:
            for ber in BERS:
                for application, quantity in TIMES.items():
                    new = results[f"{application}/{losses}/adalr-{base}/delayed/{ber}"]
                    old = results[f"{application}/{losses}/{base}/delayed/{ber}"]
                    saving, aborted = _paired(new, old, quantity, savings)
                    case = f"BER {float(ber):g}"
                    identity = f"{losses}/{application}-time/{base}/delayed"
                    yield Measured(identity, saving, case, aborted)
                    if application == "http":
                        continue
                    for name, rate in RATES.items():
                        gain, _ = _paired(new, old, rate, gains)
                        yield Measured(f"{losses}/{name}/{base}/delayed", gain, case, aborted)


def _shares(results: Results) -> Iterator[Measured]:
    for variant in ("adalr-newreno", "newreno"):
        run = results[f"fair/{variant}"][0]
        for rtt, flow in zip(FLOW_RTTS, run.flows, strict=True):
            yield Measured(f"fairness/{variant}/{rtt}-ms", Mean(flow.goodput_bps / 8))
        yield Measured(f"fairness/jain/{variant}/delayed", _jain(run))
    equal = results["friendly/equal-rtt"][0]
    names = [(v, p) for v in ("adalr-newreno", "newreno") for p in ("first", "second", "third")]
    for (variant, position), flow in zip(names, equal.flows, strict=True):
        share = Mean(flow.goodput_bps / 8)
        yield Measured(f"friendliness/equal-rtt/{variant}/{position}", share)
    yield Measured("friendliness/equal-rtt/jain/adalr-newreno/delayed", _jain(equal))
    long = results["friendly/long-rtt"][0]
    yield Measured("friendliness/long-rtt/jain/adalr-newreno/delayed", _jain(long))


def _jain(run: bentpipe.Recording) -> Mean | None:
    return None if run.jain_index is None else Mean(run.jain_index)


# ---------------------------------------------------------------------------------------- plots


def _plots_against_time(losses: str, runs: Mapping[str, bentpipe.Recording]) -> dict[str, Plot]:
    goodput, utilisation, cwnd = {}, {}, {}
    for line, run in runs.items():
        flow = run.table("flow_series").to_dict(as_series=False)
        link = run.table("link_series").to_dict(as_series=False)
        times = flow["t_s"]
        cwnd[line] = (times, [window / 1460 for window in flow["cwnd_bytes"]])
        goodput[line] = _rate_over(times, flow["delivered_bytes"], window=10)
        satellite = [
            (t, use * 100)
            for t, number, use in zip(link["t_s"], link["link"], link["utilisation"], strict=True)
            if number == SATELLITE
        ]
        utilisation[line] = _smooth([t for t, _ in satellite], [use for _, use in satellite], 10)
    time = "time (s)"
    where = f"50 MB over GEO, {LABELS[losses]}"
    return {
        f"ftp-{losses}-goodput": Plot(f"{where}: goodput", time, "goodput (kbit/s)", goodput),
        f"ftp-{losses}-utilisation": Plot(
            f"{where}: satellite link", time, "utilisation (%)", utilisation, (0, 100)
        ),
        f"ftp-{losses}-cwnd": Plot(f"{where}: cwnd", time, "cwnd (segments)", cwnd),
    }


def _rate_over(
    times: Sequence[float], total: Sequence[float], window: int
) -> tuple[list[float], list[float]]:
    """kbit/s over the last `window` samples."""
    rates = [
        (total[i] - total[i - window]) * 8e-3 / (times[i] - times[i - window])
        for i in range(window, len(times))
    ]
    return list(times[window:]), rates


def _smooth(
    times: Sequence[float], values: Sequence[float], window: int
) -> tuple[list[float], list[float]]:
    """Mean over the last `window` samples."""
    means = [sum(values[i - window : i]) / window for i in range(window, len(values))]
    return list(times[window:]), means


def _plot_times(results: Results) -> Bars:
    """Download times with and without losses, with the printed ones."""
    place = "ftp/{losses}/{variant}/{acks}"
    groups = {
        f"{LABELS[losses]}, {LABELS[acks]}": {"losses": losses, "acks": acks}
        for losses in ("no-loss", "congestion")
        for acks in ACKS
    }
    bars = {
        LABELS[variant]: {
            group: mean(_values(results[place.format(variant=variant, **at)], _completion))
            for group, at in groups.items()
        }
        for variant in VARIANTS
    }
    ids = {
        LABELS[variant]: {
            group: place.format(variant=variant, **at) for group, at in groups.items()
        }
        for variant in VARIANTS
    }
    published = published_points("adalr", ids)
    return Bars("50 MB over GEO", "", "download time (s)", bars, published)


def _plot_over_rtt(results: Results) -> Plot:
    times = [mean(_values(results[f"rtt/{rtt}"], _completion)).value for rtt in RTTS]
    ids = {LABELS["sack"]: {rtt: f"ftp/rtt/baseline/{rtt}-ms" for rtt in RTTS}}
    return Plot(
        "50 MB without losses, with delayed ACK",
        "RTT (ms)",
        "download time (s)",
        {LABELS["sack"]: (RTTS, times)},
        published=published_points("adalr", ids),
    )


def _plot_fairness(results: Results) -> Plot:
    variants = ("adalr-newreno", "newreno")
    lines = {
        LABELS[variant]: (
            FLOW_RTTS,
            [flow.goodput_bps / 8e3 for flow in results[f"fair/{variant}"][0].flows],
        )
        for variant in variants
    }
    ids = {
        LABELS[variant]: {rtt: f"fairness/{variant}/{rtt}-ms" for rtt in FLOW_RTTS}
        for variant in variants
    }
    published = published_points("adalr", ids, 1e-3)
    return Plot("Six flows with different RTTs", "RTT (ms)", "goodput (kB/s)", lines,
                published=published)  # fmt: skip


def _plot_over_ber(results: Results) -> Plot:
    import math

    exponents = [math.log10(float(ber)) for ber in BERS]
    lines = {
        LABELS[variant]: (
            exponents,
            [
                mean(_values(results[f"ftp/errors/{variant}/delayed/{ber}"], _completion)).value
                for ber in BERS
            ],
        )
        for variant in VARIANTS
    }
    return Plot(
        "50 MB over GEO, error losses, with delayed ACK",
        "log10 of the BER",
        "download time (s)",
        lines,
    )
