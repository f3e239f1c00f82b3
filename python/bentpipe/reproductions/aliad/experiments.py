"""Runs of the A-LIAD reproduction, and its published statements tested with them.

A run is named by its figure: `start/cubic`, `rtt/cubic/600`, `loss/cubic/0.01`, and where the
starts of several flows are drawn, with the seed: `fair/0.01/3`, `friendly/cubic/25/3`.
"""

from __future__ import annotations

import random
import statistics
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bentpipe.reproductions.aliad import response
from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars, Plot, published_points
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import Mean, mean, savings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

READING = '{name = "aliad", alpha = "power", alpha_min = 2, beta_max = 1}'
"""The interpretation of A-LIAD for the whole paper; README.md has those that were explored."""

TCP_LINUX = {
    "westwood-plus": '{name = "westwood", variant = "linux"}',
    "highspeed": '{name = "highspeed", variant = "linux"}',
    "scalable": '{name = "scalable", variant = "linux"}',
    "bic": '{name = "bic", variant = "linux"}',
    "cubic": '{name = "cubic", slow_start = "standard"}',
}
"""The variants of ns-2's TCP-Linux, which runs the kernel's own. CUBIC's has a HyStart here that is
younger than that module, so that its rules are those of RFC 9438."""

LABELS = {
    "aliad": "A-LIAD",
    "liad": "LIAD",
    "newreno": "NewReno",
    "westwood": "Westwood",
    "westwood-plus": "Westwood+",
    "veno": "Veno",
    "highspeed": "HSTCP",
    "scalable": "STCP",
    "bic": "BIC",
    "cubic": "CUBIC",
    "htcp": "H-TCP",
    "hybla": "Hybla",
    "logwestwood-plus": "LogWestwood+",
}
OTHERS = [variant for variant in LABELS if variant != "aliad"]
OTHERS_TO_NEWRENO = [variant for variant in LABELS if variant != "newreno"]
FRIENDLIEST = ("highspeed", "cubic")
LEAST_FRIENDLY = ("scalable", "aliad")
MOST_AGGRESSIVE = ("cubic", "scalable", "aliad")
"""What the text says of figures 12 and 13."""

FASTEST = ("cubic", "bic", "scalable", "highspeed")
"""Controllers that are above A-LIAD in figure 5 of the paper."""

SEEDS = range(1, 11)
PACKET = 1040
"""Bytes of a packet: ns-2's 1000 with headers. 720 of them are the paper's 700."""

GEO = 600
PATH = GEO / 1e3 * 10e6 / 8 / PACKET
"""Packets that 10 Mb/s hold at the RTT of the satellite."""

MSS = 1000
RTTS = (50, 75, 100, 150, 200, 300, 400, 500, 600)
FRIENDLY_RTTS = (25, 100, 300, 600)
JUDGED_RTTS = (25, 600)
FIGURE_SEEDS = 3
"""Seeds of figure 13 at the other RTTs, of which the text says nothing and the figure the mean."""

FAIR_PERS = {"0 %": 0.0, "0.1 %": 0.001, "1 %": 0.01}
PERS = {"0.1 %": 0.001, "1 %": 0.01}
ANALYSIS = 1e-8
"""PER of figure 1."""

START_UP = 30
LENGTH = 300
"""Seconds of all other runs: the only length that the paper gives, for figure 12."""

FLOWS = 6
WITHIN_MS = 100
"""The flows of one run start within this number of milliseconds; our choice."""

BOTTLENECK = 2
"""Position of the shared link's forward direction in `Recording.links`."""


def plan() -> Plan:
    """All runs."""
    return {
        **dict(_start_up()),
        **dict(_rtt_sweep()),
        **dict(_losses()),
        **dict(_fairness()),
        **dict(_friendliness()),
    }


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published statement whose runs are in `results`."""
    yield from _response()
    yield from _measure_start_up(results)
    yield from _measure_fairness(results)
    yield from _measure_losses(results)
    yield from _measure_friendliness(results)


def plots(results: Results) -> Mapping[str, Plot | Bars]:
    """The paper's figures 1 and 5 to 13."""
    return {
        "fig1-response": _plot_response(),
        "fig5-start-up": _plot_start_up(results),
        "fig6-cwnd": _plot_cwnd(results, ("aliad", "cubic", "bic", "scalable", "highspeed")),
        "fig7-cwnd": _plot_cwnd(results, ("aliad", "westwood", "cubic")),
        "fig8-fairness": _plot_shares(results),
        "fig9-rtt": _plot_rtt(results),
        "fig10-loss": _plot_losses(results),
        "fig11-cwnd": _plot_cwnd_with_losses(results),
        "fig12-friendliness": _plot_friendliness(results),
        "fig13-aggressiveness": _plot_aggressiveness(results),
    }


# ---------------------------------------------------------------------------------------- runs


def _controller(variant: str, flow: int = 0) -> str:
    value = ({"aliad": READING} | TCP_LINUX).get(variant, f'"{variant}"')
    return f"flow.{flow}.controller={value}"


def _path(rtt: int, mbps: int = 10) -> tuple[str, ...]:
    """The RTT with 6 ms of wired links, and a buffer for as much as the path holds."""
    buffer = round(rtt / 1e3 * mbps * 1e6 / 8 / PACKET)
    return (f"link.2.delay={rtt * 500 - 6000}us", f"link.1.queue={{packets={buffer}}}")


def _starts(seed: int, within_ms: int = WITHIN_MS) -> tuple[str, ...]:
    drawn = random.Random(seed)
    return tuple(f"flow.{flow}.start={drawn.randrange(within_ms)}ms" for flow in range(FLOWS))


def _channel(per: float) -> str:
    return f"link.2.forward={{channel={{per={per}}}}}"


def _start_up() -> Iterator[tuple[str, Job]]:
    for variant in LABELS:
        sets = (*_path(GEO), _controller(variant))
        series = (f"duration={START_UP}s", "record.interval=100ms")
        yield f"start/{variant}", Job("satellite.toml", (*sets, *series))


def _rtt_sweep() -> Iterator[tuple[str, Job]]:
    for variant in ("aliad", "liad", "cubic"):
        for rtt in RTTS:
            sets = (*_path(rtt), _controller(variant), f"duration={LENGTH}s")
            yield f"rtt/{variant}/{rtt}", Job("satellite.toml", sets)


def _losses() -> Iterator[tuple[str, Job]]:
    for variant in LABELS:
        for per in PERS.values():
            sets = (*_path(GEO), _controller(variant), f"duration={LENGTH}s", _channel(per))
            job = Job("satellite.toml", (*sets, "record.interval=500ms"), SEEDS)
            yield f"loss/{variant}/{per}", job


def _fairness() -> Iterator[tuple[str, Job]]:
    flows = [_controller("aliad", flow) for flow in range(FLOWS)]
    for per in FAIR_PERS.values():
        for seed in SEEDS:
            sets = (*flows, *_starts(seed), f"duration={LENGTH}s", _channel(per))
            yield f"fair/{per}/{seed}", Job("fairness.toml", sets, (seed,))


def _seeds(rtt: int) -> Sequence[int]:
    """The seeds of the runs with competing flows at an RTT."""
    return SEEDS if rtt in JUDGED_RTTS else SEEDS[:FIGURE_SEEDS]


def _friendliness() -> Iterator[tuple[str, Job]]:
    for variant in LABELS:
        for rtt in FRIENDLY_RTTS:
            group_b = f"link.3.delay={rtt * 500 - 6000}us"
            for seed in _seeds(rtt):
                sets = (*_path(rtt), group_b, _controller(variant), *_starts(seed))
                yield f"friendly/{variant}/{rtt}/{seed}", Job("friendliness.toml", sets, (seed,))


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    return {
        "RFC 6675": _every_flow("recovery=sack"),
        "alpha below 2": _controlled("aliad", READING.replace("alpha_min = 2, ", "")),
        "alpha online": _controlled("aliad", READING.replace('"power"', '"online"')),
        "alpha fixed": _controlled("aliad", READING.replace('"power"', '"fixed"')),
        "beta at most 0.5": _controlled("aliad", READING.replace(", beta_max = 1", "")),
        "variants of their papers": {
            name: job
            for variant in ("bic", "scalable", "highspeed")
            for name, job in _controlled(variant, f'"{variant}"').items()
        },
        "CUBIC of Linux": _controlled("cubic", '{name = "cubic", variant = "linux"}'),
        "50 packets": _buffered("start", 50),
        "half a path": _buffered("start", 360),
        "721 packets": _buffered("friendly", 721),
        "100 s": {
            name: job.with_sets("duration=100s")
            for name, job in plan().items()
            if name.startswith(("fair/", "loss/"))
        },
        "starts within ten seconds": {
            name: job.with_sets(*_starts(job.seeds[0], 10_000))
            for name, job in _jobs("friendly").items()
        },
    }


def _jobs(figure: str, variant: str = "*") -> Plan:
    """The jobs of a figure with a variant, but for RTTs that only the figure shows."""
    patterns = [f"{figure}/{variant}"]
    if figure == "friendly":
        patterns = [f"{figure}/{variant}/{rtt}/*" for rtt in JUDGED_RTTS]
    return {
        name: job
        for name, job in plan().items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }


def _buffered(figure: str, packets: int) -> Plan:
    """The jobs of a figure with another shared buffer."""
    queue = f"link.1.queue={{packets={packets}}}"
    return {name: job.with_sets(queue) for name, job in _jobs(figure).items()}


def _every_flow(setting: str) -> Plan:
    """Start-up and friendliness with another setting of TCP."""
    changed: dict[str, Job] = {}
    for figure, flows in (("start", 1), ("friendly", FLOWS)):
        sets = [f"flow.{flow}.transport.{setting}" for flow in range(flows)]
        changed |= {name: job.with_sets(*sets) for name, job in _jobs(figure).items()}
    return changed


def _controlled(variant: str, controller: str) -> Plan:
    """Start-up and friendliness of a variant with another controller in its place."""
    jobs = {**_jobs("start", variant), **_jobs("friendly", variant)}
    return {name: job.with_sets(f"flow.0.controller={controller}") for name, job in jobs.items()}


# ---------------------------------------------------------------------------------- quantities


def _percent(run: bentpipe.Recording) -> float:
    """Goodput of the first flow in per cent of 10 Mb/s."""
    return float(run.flows[0].goodput_bps) / 10e6 * 100


def _reductions(run: bentpipe.Recording) -> int:
    tcp = run.flows[0].tcp
    assert tcp is not None
    return tcp.fast_recoveries + tcp.timeouts


def _windows(run: bentpipe.Recording) -> tuple[list[float], list[float]]:
    """Times and cwnd in packets of the first flow."""
    series = run.table("flow_series").filter(flow=0)
    return series["t_s"].to_list(), [cwnd / MSS for cwnd in series["cwnd_bytes"]]


def _mean_window(run: bentpipe.Recording, since: float = 0.0) -> float:
    times, windows = _windows(run)
    return statistics.fmean(w for t, w in zip(times, windows, strict=True) if t >= since)


def _friends(results: Results, variant: str, rtt: int) -> list[bentpipe.Recording]:
    return [results[f"friendly/{variant}/{rtt}/{seed}"][0] for seed in _seeds(rtt)]


def _group_b(run: bentpipe.Recording) -> float:
    return sum(flow.goodput_bps for flow in run.flows[1:])


def _loses(results: Results, variant: str, rtt: int) -> list[float]:
    """Per cent of its goodput that NewReno loses when `variant` takes a NewReno flow's place."""
    runs, among_equals = (_friends(results, name, rtt) for name in (variant, "newreno"))
    return savings([_group_b(run) for run in runs], [_group_b(run) for run in among_equals])


def _aggressiveness(results: Results, variant: str, rtt: int) -> list[float]:
    """Goodput of `variant` divided by that of a competing NewReno flow."""
    return [
        float(run.flows[0].goodput_bps) / (_group_b(run) / (FLOWS - 1))
        for run in _friends(results, variant, rtt)
    ]


def _difference(first: Sequence[float], second: Sequence[float]) -> Mean:
    """Mean difference, seed by seed."""
    return mean([a - b for a, b in zip(first, second, strict=True)])


# ------------------------------------------------------------------------------------- measures


def _response() -> Iterator[Measured]:
    rates = [response.rate(ANALYSIS, rtt / 1e3, 2) for rtt in RTTS]
    for name, xs in (("RTT", RTTS), ("1/RTT", [1 / rtt for rtt in RTTS])):
        correlation = Mean(statistics.correlation(xs, rates))
        yield Measured(f"fig1/correlation/liad/{name}", correlation)
    adaptive = [_adaptive_rate(rtt) for rtt in RTTS if rtt >= 75]
    yield Measured("fig1/spread/aliad/PER-1e-8", Mean(_fall(adaptive)))


def _adaptive_rate(rtt: float) -> float:
    return response.rate(ANALYSIS, rtt / 1e3, response.fitted_alpha(rtt / 1e3))


def _fall(values: Sequence[float]) -> float:
    """Per cent by which the least is below the largest."""
    return (1 - min(values) / max(values)) * 100


def _measure_start_up(results: Results) -> Iterator[Measured]:
    runs = {variant: results[f"start/{variant}"][0] for variant in LABELS}
    throughput = {variant: _percent(run) for variant, run in runs.items()}
    yield Measured("fig5/throughput/aliad/30-s", Mean(throughput["aliad"]))
    for variant in FASTEST:
        above = Mean(throughput[variant] - throughput["aliad"])
        yield Measured(f"fig5/above-aliad/{variant}/30-s", above)
    for variant in OTHERS:
        if variant not in FASTEST:
            below = Mean(throughput["aliad"] - throughput[variant])
            yield Measured(f"fig5/aliad-above/{variant}/30-s", below)
    holds = 2 * PATH
    window = Mean(_mean_window(runs["cubic"], since=15) / holds)
    yield Measured("fig6/window/cubic/30-s", window)
    drops = Mean(runs["aliad"].links[BOTTLENECK].dropped_packets)
    yield Measured("fig7/drops/aliad/30-s", drops)
    for variant in ("cubic", "westwood", "westwood-plus"):
        yield Measured(f"fig7/reductions/{variant}/30-s", Mean(_reductions(runs[variant])))
    for variant in ("newreno", "aliad"):
        largest = Mean(max(_windows(runs[variant])[1]) / holds)
        yield Measured(f"fig7/largest/{variant}/30-s", largest)


def _measure_fairness(results: Results) -> Iterator[Measured]:
    for name, per in FAIR_PERS.items():
        runs = [results[f"fair/{per}/{seed}"][0] for seed in SEEDS]
        index = mean([run.jain_index for run in runs if run.jain_index is not None])
        yield Measured(f"fig8/jain/aliad/{name}".replace(" ", "-"), index)
    for variant in ("aliad", "cubic"):
        goodput = [_percent(results[f"rtt/{variant}/{rtt}"][0]) for rtt in RTTS]
        yield Measured(f"fig9/fall/{variant}/50-to-600-ms", Mean(_fall(goodput)))


def _measure_losses(results: Results) -> Iterator[Measured]:
    for name, per in PERS.items():
        column = name.replace(" ", "-")
        ours = [_percent(run) for run in results[f"loss/aliad/{per}"]]
        yield Measured(f"fig10/utilisation/aliad/{column}", mean(ours))
        for variant in OTHERS:
            theirs = [_percent(run) for run in results[f"loss/{variant}/{per}"]]
            above = mean([our - their for our, their in zip(ours, theirs, strict=True)])
            yield Measured(f"fig10/aliad-above/{variant}/{column}", above)
    for variant in LABELS:
        windows = [_mean_window(run) / PATH for run in results[f"loss/{variant}/0.001"]]
        yield Measured(f"fig11/window/{variant}/0.1-%", mean(windows))


def _measure_friendliness(results: Results) -> Iterator[Measured]:
    for variant in ("scalable", "aliad", "cubic"):
        loss = mean(_loses(results, variant, 25))
        yield Measured(f"fig12/newreno-loses/{variant}/25-ms", loss)
    losses = {variant: _loses(results, variant, 25) for variant in LABELS}
    for variant in FRIENDLIEST:
        for other in (*LEAST_FRIENDLY, "bic", "westwood-plus"):
            less = _difference(losses[other], losses[variant])
            yield Measured(f"fig12/friendlier/{variant}/{other}", less)
    for variant in LEAST_FRIENDLY:
        for other in ("bic", "westwood-plus"):
            more = _difference(losses[variant], losses[other])
            yield Measured(f"fig12/unfriendlier/{variant}/{other}", more)
    values = {variant: _aggressiveness(results, variant, GEO) for variant in LABELS}
    for variant in MOST_AGGRESSIVE:
        for other in ("bic", "highspeed", "westwood-plus"):
            more = _difference(values[variant], values[other])
            yield Measured(f"fig13/more-aggressive/{variant}/{other}", more)
    pairs = zip(_loses(results, "cubic", GEO), _loses(results, "cubic", 25), strict=True)
    yield Measured("fig13/growth/cubic/600-ms", mean([far - near for far, near in pairs]))


# ---------------------------------------------------------------------------------------- plots


def _plot_response() -> Plot:
    fixed = [response.rate(ANALYSIS, rtt / 1e3, 2) / 1e3 for rtt in RTTS]
    adaptive = [_adaptive_rate(rtt) / 1e3 for rtt in RTTS]
    return Plot(
        "Response function at PER 1e-8",
        "RTT (ms)",
        "1000 packets per second",
        {
            "LIAD, alpha = 2": (RTTS, fixed),
            "A-LIAD, alpha = 2^((RTT / 75 ms)^1.0679)": (RTTS, adaptive),
        },
    )


def _plot_start_up(results: Results) -> Plot:
    lines = {}
    for variant, label in LABELS.items():
        series = results[f"start/{variant}"][0].table("flow_series")
        rows = zip(series["t_s"], series["delivered_bytes"], strict=True)
        points = [(t, total * 8 / t / 10e6 * 100) for t, total in rows if t >= 1]
        lines[label] = ([t for t, _ in points], [share for _, share in points])
    return Plot(
        "Start-up at an RTT of 600 ms", "elapsed time (s)", "throughput (% of 10 Mb/s)", lines
    )


def _plot_cwnd(results: Results, variants: Iterable[str]) -> Plot:
    lines = {LABELS[variant]: _windows(results[f"start/{variant}"][0]) for variant in variants}
    return Plot("Start-up at an RTT of 600 ms", "time (s)", "cwnd (packets)", lines)


def _plot_shares(results: Results) -> Bars:
    bars = {
        f"PER {name}": {
            f"flow {flow + 1}": mean(
                [results[f"fair/{per}/{seed}"][0].flows[flow].goodput_bps / 1e6 for seed in SEEDS]
            )
            for flow in range(FLOWS)
        }
        for name, per in FAIR_PERS.items()
    }
    return Bars("Six A-LIAD flows, 50 Mb/s, RTT 100 ms", "", "goodput (Mb/s)", bars)


def _plot_rtt(results: Results) -> Plot:
    lines = {
        LABELS[variant]: (RTTS, [_percent(results[f"rtt/{variant}/{rtt}"][0]) for rtt in RTTS])
        for variant in ("aliad", "liad", "cubic")
    }
    return Plot("One flow", "RTT (ms)", "goodput (% of 10 Mb/s)", lines, (0, 100))


def _plot_losses(results: Results) -> Bars:
    bars = {
        label: {
            f"PER {name}": mean([_percent(run) for run in results[f"loss/{variant}/{per}"]])
            for name, per in PERS.items()
        }
        for variant, label in LABELS.items()
    }
    ids = {LABELS["aliad"]: {"PER 1 %": "fig10/utilisation/aliad/1-%"}}
    published = published_points("aliad", ids)
    return Bars("RTT 600 ms", "", "goodput (% of 10 Mb/s)", bars, published)


def _plot_cwnd_with_losses(results: Results) -> Plot:
    variants = ("aliad", "newreno", "westwood", "westwood-plus", "cubic", "bic", "scalable")
    lines = {LABELS[variant]: _windows(results[f"loss/{variant}/0.001"][0]) for variant in variants}
    return Plot("RTT 600 ms, PER 0.1 %, seed 1", "time (s)", "cwnd (packets)", lines)


def _plot_friendliness(results: Results) -> Bars:
    bars = {
        LABELS[variant]: {"RTT 25 ms": mean(_loses(results, variant, 25))}
        for variant in OTHERS_TO_NEWRENO
    }
    title = "Goodput that five NewReno flows lose to one flow of another kind"
    ids = {
        LABELS[variant]: {"RTT 25 ms": f"fig12/newreno-loses/{variant}/25-ms"}
        for variant in ("scalable", "aliad", "cubic")
    }
    return Bars(title, "", "loss (%)", bars, published_points("aliad", ids))


def _plot_aggressiveness(results: Results) -> Plot:
    """The share of the one flow; an equal one is a sixth."""
    lines = {}
    for variant, label in LABELS.items():
        shares = [
            mean([_percent(run) for run in _friends(results, variant, rtt)]).value
            for rtt in FRIENDLY_RTTS
        ]
        lines[label] = (FRIENDLY_RTTS, shares)
    title = "One flow competing with five NewReno flows"
    return Plot(title, "RTT (ms)", "goodput of the flow (% of 10 Mb/s)", lines, (0, 100))
