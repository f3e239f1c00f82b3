"""Runs of what is published about QUIC over satellites: downloads with quinn.

A run is named `case/controller`: `basic/bbr3`. The cases are those of picoquic's tests of
satellites, those of the interop runner, and a report of users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars, published_points
from bentpipe.reproductions.reproduction import Job
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.reproduction import Plan, Results

SCENARIO = "satellite.toml"
LABELS = {"bbr3": "BBR v3", "bbr": "BBR v1", "cubic": "CUBIC"}
LOSS = "link.0.forward.channel={ per = 0.01 }"
LOSS_BACK = "link.0.backward.channel={ per = 0.01 }"
SEEDS = range(1, 4)
"""Of cases with losses. The others have no random numbers, apart from connection IDs."""

RTT_S = 0.6


def _rates(forward: float, backward: float, queue: float = 1.0) -> tuple[str, ...]:
    """Rates in Mbit/s, and queues of `queue` bandwidth-delay products."""
    sets = []
    for name, rate in (("forward", forward), ("backward", backward)):
        sets.append(f"link.0.{name}.rate={rate}Mbit/s")
        sets.append(f"link.0.{name}.queue={{ bytes = '{rate * 1e6 / 8 * RTT_S * queue:.0f}B' }}")
    return tuple(sets)


INTEROP = (
    *_rates(20, 2),
    "link.0.forward.queue={ packets = 25 }",
    "link.0.backward.queue={ packets = 25 }",
    "flow.0.traffic.download=10MiB",
)
ACKS = ("flow.0.transport.quic.ack_threshold=10",)
"""Of all cases but the report of users, who have quinn's own."""


def _resumed(rate: float) -> str:
    """Careful Resume with the bandwidth-delay product of a rate in Mbit/s."""
    saved = f"saved_cwnd = '{rate * 1e6 / 8 * RTT_S:.0f}B', saved_rtt = '{RTT_S}s'"
    return f"flow.0.transport.careful_resume={{ {saved} }}"


def _transfer(size: str) -> tuple[str, ...]:
    """A transfer like those of RFC 9959, whose rate is not known."""
    return (*_rates(RATE, RATE), f"flow.0.traffic.download={size}")


RATE = 20
"""Of the transfers of RFC 9959, in Mbit/s."""

CASES: Mapping[str, tuple[str, ...]] = {
    "basic": (),
    "loss": (LOSS,),
    "medium": _rates(50, 10),
    "small": _rates(10, 2),
    "small-up": _rates(2, 10),
    "seeded": (_resumed(250),),
    "5.3MB": _transfer("5300kB"),
    "5.3MB-resumed": (*_transfer("5300kB"), _resumed(RATE)),
    "1MB": _transfer("1MB"),
    "1MB-resumed": (*_transfer("1MB"), _resumed(RATE)),
    "sat": INTEROP,
    "satloss": (*INTEROP, LOSS, LOSS_BACK),
    "gaps": (*_rates(250, 10, 0.5), "link.0.delay=225ms", *(
        f"flow.0.transport.quic.{key}=40MB" for key in ("stream_receive_window", "send_window")
    )),
}  # fmt: skip
"""Overrides of each case."""

SHOWN = {
    "basic": "250/3",
    "loss": "250/3, PER 1e-2",
    "medium": "50/10",
    "small": "10/2",
}
"""Cases in the figure, with their rates in Mbit/s."""

TRANSFERS = ("5.3MB", "5.3MB-resumed", "1MB", "1MB-resumed")
"""Cases of RFC 9959."""

RESUME = {"5.3MB": "plain", "5.3MB-resumed": "resumed"}
"""Columns of the times of RFC 9959, by case."""

RUNS = {
    "bbr3": ("basic", "loss", "medium", "small", "small-up", "seeded", "sat", "satloss"),
    "bbr": ("basic",),
    "cubic": (
        *("basic", "loss", "medium", "small", "small-up", "seeded"),
        *TRANSFERS,
        *("sat", "satloss", "gaps"),
    ),
}


def plan() -> Plan:
    """All runs."""
    return {
        f"{case}/{controller}": Job(
            SCENARIO,
            (f"flow.0.controller={controller}", *ACKS, *CASES[case])
            if case != "gaps"
            else (f"flow.0.controller={controller}", *CASES[case]),
            SEEDS if "loss" in case else (1,),
        )
        for controller, cases in RUNS.items()
        for case in cases
    }


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    for name, runs in results.items():
        case, _, controller = name.partition("/")
        if case == "gaps":
            yield Measured(f"gaps/{controller}/{case}", mean([_has_gaps(run) for run in runs]))
            continue
        times, note = _times(runs)
        yield from (Measured(row, times, note=note) for row in _rows(case, controller))
    if {"1MB/cubic", "1MB-resumed/cubic"} <= results.keys():
        plain, _ = _times(results["1MB/cubic"])
        resumed, _ = _times(results["1MB-resumed/cubic"])
        if plain and resumed:
            yield Measured("resume/cubic/saved", mean([100 * (1 - resumed.value / plain.value)]))


def _rows(case: str, controller: str) -> Iterator[str]:
    """The rows that have the time of a case."""
    if case in RESUME:
        yield f"resume/{controller}/{RESUME[case]}"
    elif case == "seeded":
        yield f"seeded/{controller}/basic"
    elif case.startswith("sat"):
        yield f"interop/{controller}/{case}"
    elif case not in TRANSFERS:
        if _is_bounded(case, controller):
            yield f"bound/{controller}/{case}"
        if (case, controller) == ("loss", "bbr3"):
            # All windows are those of the test with flow control.
            yield "bound/bbr3/loss-fc"
        if controller != "bbr":
            yield f"goal/{controller}/{case}"


def _is_bounded(case: str, controller: str) -> bool:
    return controller != "cubic" or case in {"basic", "loss"}


def _times(runs: Sequence[bentpipe.Recording]) -> tuple[Mean | None, str]:
    """Completion times; none if a run was aborted."""
    times = [run.flows[0].completion_s for run in runs]
    found = [time for time in times if time is not None]
    if len(found) == len(times):
        return mean(found), ""
    causes = {run.flows[0].abort_cause for run in runs if run.flows[0].abort_cause}
    return None, f"aborted: {', '.join(sorted(causes))}"


def _has_gaps(run: bentpipe.Recording) -> float:
    """Whether quinn has ended the connection. Slow start is the only cause of losses here."""
    return float(run.flows[0].abort_cause == "protocol-error")


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    quic = "flow.0.transport.quic"
    bulk = {name: job for name, job in plan().items() if name.split("/")[0] in _BULK}

    def changed(*sets: str) -> Plan:
        return {name: job.with_sets(*sets) for name, job in bulk.items()}

    faster = {
        "basic": _rates(250 * LINK, 3 * LINK),
        "loss": _rates(250 * LINK, 3 * LINK),
        "medium": _rates(50 * LINK, 10 * LINK),
        "small": _rates(10 * LINK, 2 * LINK),
        "small-up": _rates(2 * LINK, 10 * LINK),
    }
    return {
        "links of the test": {
            name: job.with_sets(*faster[name.split("/")[0]]) for name, job in bulk.items()
        },
        "an ACK of each second packet": changed(f"{quic}.ack_threshold=1"),
        "windows of 200 MB": changed(
            f"{quic}.stream_receive_window=200MB", f"{quic}.send_window=200MB"
        ),
        "Hybla": changed("flow.0.controller=hybla"),
        "picoquic's CUBIC": _as_picoquic("cubic", bulk, {}),
        "picoquic's CUBIC on links of the test": _as_picoquic("cubic", bulk, faster),
        "picoquic's BBR": _as_picoquic("bbr", bulk, {}),
        "picoquic's BBR on links of the test": _as_picoquic("bbr", bulk, faster),
        "a jump to the whole window": {
            f"seeded/{controller}": job.with_sets(_resumed(500))
            for controller in ("bbr3", "cubic")
            for job in [plan()[f"seeded/{controller}"]]
        },
        "TCP": {name: job.with_sets(_over_tcp()) for name, job in bulk.items()}
        | {
            name: job.with_sets("flow.0.controller=newreno", _over_tcp("resumed" in name))
            for name, job in plan().items()
            if name.split("/")[0] in TRANSFERS
        },
        "10 Mbit/s": _resume_at(10),
        "50 Mbit/s": _resume_at(50),
    }


def _as_picoquic(controller: str, bulk: Plan, rates: Mapping[str, tuple[str, ...]]) -> Plan:
    """The downloads with a controller as picoquic has it, with other rates of some cases.

    Its BBR, version 1, takes the place of version 3, too, in all cases.
    """
    variant = f"flow.0.controller={{ name = '{controller}', variant = 'picoquic' }}"
    return {
        name: job.with_sets(variant, *rates.get(name.split("/")[0], ()))
        for name, job in bulk.items()
        if name.split("/")[1].startswith(controller)
    }


def _over_tcp(is_resumed: bool = False) -> str:
    """All settings of TCP, with Careful Resume or without. Losses are found as by QUIC, by time."""
    settings = ["protocol = 'tcp'", "recovery = 'linux'", "receive_buffer = '37500kB'"]
    if is_resumed:
        _, _, saved = _resumed(RATE).partition("=")
        settings.append(f"careful_resume = {saved}")
    return f"flow.0.transport={{ {', '.join(settings)} }}"


def _resume_at(rate: float) -> Plan:
    """The transfers of RFC 9959 at a rate in Mbit/s."""
    return {
        name: job.with_sets(*_rates(rate, rate), *([_resumed(rate)] if "resumed" in name else []))
        for name, job in plan().items()
        if name.split("/")[0] in TRANSFERS
    }


LINK = 1.0486
"""picoquic's test links are faster by this factor (1.024 squared) than their names say."""

_BULK = {"basic", "loss", "medium", "small", "small-up"}


# ---------------------------------------------------------------------------------------- plots


def plots(results: Results) -> Mapping[str, Bars]:
    """Times of the downloads of 100 MB, with those of CUBIC and losses left out."""
    bars: dict[str, dict[str, Mean]] = {}
    for name, runs in results.items():
        case, _, controller = name.partition("/")
        times, _ = _times(runs)
        shown = SHOWN.get(case)
        if shown and name != "loss/cubic" and times:
            bars.setdefault(LABELS[controller], {})[shown] = times
    resumed = {
        RESUME[case]: times
        for case in RESUME
        if (found := results.get(f"{case}/cubic")) and (times := _times(found)[0])
    }
    ids = {LABELS["cubic"]: {name: f"resume/cubic/{name}" for name in RESUME.values()}}
    return {
        "downloads": Bars("100 MB over GEO with QUIC", "rates (Mbit/s)", "time (s)", bars),
        "resume": Bars(
            "5.3 MB over GEO with and without Careful Resume",
            "",
            "time (s)",
            {LABELS["cubic"]: resumed},
            published_points("quic", ids),
        ),
    }
