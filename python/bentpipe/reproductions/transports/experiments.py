"""Runs of what the papers say about transports made for satellites: one bulk flow over GEO.

A run is named `transport/return rate/PER`: `stp-rate/256/1e-3`. Other runs change the round trip
(`rtt/...`), its variation (`jitter/...`), or the link (`outages/...`), or have a gateway at each
end of the satellite (`gateways/...`). A transport is a row of `TRANSPORTS`.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from bentpipe.reproductions.judgement import Measured
from bentpipe.reproductions.plots import Bars, Grid
from bentpipe.reproductions.reproduction import Job, find
from bentpipe.study.statistics import Mean, mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import bentpipe
    from bentpipe.reproductions.judgement import Judgement
    from bentpipe.reproductions.reproduction import Plan, Results

SEEDS = range(1, 6)

SCPS = "flow.0.transport.protocol=scps-tp"
CORRUPTION = "flow.0.transport.scps.cause=corruption"
RATE = "flow.0.transport.scps.rate=2Mbit/s"
"""The rate of the link."""
STP = "flow.0.transport.protocol=stp"
XTP = ("flow.0.transport.protocol=xtp", "flow.0.controller=none")
GO_BACK_N = "flow.0.transport.xtp.retransmission=go-back-n"
HALF, BURST = 1e6, 15_000
"""Rate in bit/s, half of the link's, and burst in bytes of `xtp-half`."""

TRANSPORTS: Mapping[str, tuple[str, ...]] = {
    "newreno": (),
    "sack": ("flow.0.transport.recovery=sack",),
    "scps": (SCPS, CORRUPTION),
    "scps-rate": (SCPS, CORRUPTION, "flow.0.controller=none", RATE),
    "scps-congestion": (SCPS,),
    "stp": (STP,),
    "stp-rate": (STP, "flow.0.transport.stp.rate=2Mbit/s"),
    "xstp": (STP, "flow.0.transport.stp.probing=true"),
    "xtp": XTP,
    "xtp-rate": (*XTP, "flow.0.transport.xtp.rate=2Mbit/s"),
    "xtp-half": (*XTP, "flow.0.transport.xtp={ rate = '1Mbit/s', burst = '15kB' }"),
    "xtp-back": (*XTP, "flow.0.transport.xtp.rate=2Mbit/s", GO_BACK_N),
    "sctp": ("flow.0.transport.protocol=sctp", "flow.0.controller=none"),
}
"""Overrides of each transport. Those with `-rate` have the rate of the link, and no congestion
control. XTP never has one, and without a rate only its window holds it back."""

BETTER = ("scps", "scps-rate", "scps-congestion", "stp", "stp-rate", "xtp", "xtp-rate", "sctp")
"""Transports that the papers call better than TCP over satellites."""
PERS = ("1e-5", "1e-4", "1e-3", "1e-2")
RETURNS = ("256", "16")
"""Rates of the return link in kbit/s."""
SHORT, LONG = "10ms", "300ms"
"""One-way delays between which the round trip must not matter."""
JITTER = tuple(f"link.0.{way}.jitter=100ms" for way in ("forward", "backward"))
OUTAGES = ("link.0.event=[{ at = '20s', every = '30s', outage = '2s' }]",)

ONE_PRODUCT = "link.0.forward.queue={ bytes = '125kB' }"
"""The queue of a trial."""


def errors(per: str, link: int = 0) -> tuple[str, ...]:
    """Losses in both directions."""
    if per == "0":
        return ()
    return tuple(f"link.{link}.{way}.channel={{ per = {per} }}" for way in ("forward", "backward"))


def thin(back: str, link: int = 0) -> tuple[str, ...]:
    """The return link, whose queue has one bandwidth-delay product."""
    if back == "256":
        return ()
    product = int(back) * 1000 // 8 // 2
    return (
        f"link.{link}.backward.rate={back}kbit/s",
        f"link.{link}.backward.queue={{ bytes = '{product}B' }}",
    )


# ---------------------------------------------------------------------------------------- runs


def plan() -> Plan:
    """All runs."""
    return dict(_jobs())


def _job(transport: str, per: str, *sets: str) -> Job:
    """A transport over the hop. Without errors nothing is random but jitter."""
    seeds = SEEDS if per != "0" or "jitter" in " ".join(sets) else (1,)
    return Job("geo.toml", (*TRANSPORTS[transport], *errors(per), *sets), seeds)


def _jobs() -> Iterator[tuple[str, Job]]:
    for transport in TRANSPORTS:
        for back in RETURNS:
            for per in ("0", *PERS):
                yield f"{transport}/{back}/{per}", _job(transport, per, *thin(back))
    for per in PERS:
        for transport in ("newreno", "stp", "stp-rate"):
            for delay in (SHORT, LONG):
                yield (
                    f"rtt/{transport}/{delay}/{per}",
                    _job(transport, per, f"link.0.delay={delay}"),
                )
            yield f"jitter/{transport}/{per}", _job(transport, per, *JITTER)
        for transport in ("stp", "xstp"):
            yield f"outages/{transport}/{per}", _job(transport, per, *OUTAGES)
        for back in RETURNS:
            sets = (*errors(per, 1), *thin(back, 1))
            yield f"gateways/{back}/{per}", Job("gateways.toml", sets, SEEDS)


# ---------------------------------------------------------------------------------- quantities


def goodput(run: bentpipe.Recording) -> float:
    """Goodput in Mbit/s."""
    return run.flows[0].goodput_bps * 1e-6


def returned(run: bentpipe.Recording) -> float:
    """Bytes that came back for each byte that was delivered."""
    return run.links[1].delivered_bytes / run.flows[0].bytes


def rto(run: bentpipe.Recording) -> float:
    """The mean RTO in ms, from 30 s on, when windows are full."""
    rows = run.table("flow_series").select("t_s", "rto_ms").to_dicts()
    return fmean(row["rto_ms"] for row in rows if row["t_s"] >= 30 and row["rto_ms"] is not None)


def quotients(
    runs: Sequence[bentpipe.Recording],
    others: Sequence[bentpipe.Recording],
    quantity: Callable[[bentpipe.Recording], float] = goodput,
) -> list[float]:
    """The quotient for each seed. Others without random numbers have one run."""
    others = others if len(others) > 1 else [*others] * len(runs)
    return [quantity(a) / quantity(b) for a, b in zip(runs, others, strict=True)]


def retransmitted(run: bentpipe.Recording) -> int:
    """Packets with data that were retransmitted."""
    flow = run.flows[0]
    totals = flow.xtp or flow.tcp
    assert totals is not None
    return totals.segments_retransmitted


def timeouts(run: bentpipe.Recording) -> int:
    """Expiries of the retransmission timer."""
    tcp = run.flows[0].tcp
    assert tcp is not None
    return tcp.timeouts


def for_each_loss(
    runs: Sequence[bentpipe.Recording], count: Callable[[bentpipe.Recording], int]
) -> list[float]:
    """A count for each packet of the data that was lost, in each run with losses."""
    lost = [(run, run.links[0].corrupted_packets) for run in runs]
    return [count(run) / packets for run, packets in lost if packets]


# -------------------------------------------------------------------------------------- measures


def column(per: str, back: str) -> str:
    """The condition in ids."""
    return f"PER-{per}" if back == "256" else f"PER-{per},-thin"


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    for per in PERS:
        for back in RETURNS:
            at = column(per, back)
            for claim, row, values in _claims(results, per, back):
                yield Measured(f"{claim}/{row}/{at}", mean(values))
        for claim, row, values in _variations(results, per):
            yield Measured(f"{claim}/{row}/PER-{per}", mean(values))


def _claims(results: Results, per: str, back: str) -> Iterator[tuple[str, str, list[float]]]:
    """Claim, row and values for the hop."""
    runs = {transport: results[f"{transport}/{back}/{per}"] for transport in TRANSPORTS}
    clear = {transport: results[f"{transport}/{back}/0"] for transport in TRANSPORTS}
    newreno = runs["newreno"]
    for row in ("scps", "scps-rate"):
        yield "corruption/rate", row, _arriving(per, runs[row], clear[row])
        yield "corruption/rto", row, quotients(runs[row], clear[row], rto)
        yield "snack/specific", row, for_each_loss(runs[row], retransmitted)
        yield "snack/immediate", row, for_each_loss(runs[row], timeouts)
    for row in BETTER:
        yield "satellite/goodput", row, quotients(newreno, runs[row])
    for row in ("scps-rate", "stp-rate"):
        yield "nodes/goodput", row, quotients(runs[row], newreno)
    for row in ("stp", "stp-rate"):
        yield "stp/return", row, quotients(runs[row], newreno, returned)
    yield "stp/sack", "stp", quotients(runs["stp"], runs["sack"])
    yield "stp/errors", "stp-rate", _arriving(per, runs["stp-rate"], clear["stp-rate"])
    yield "xstp/goodput", "xstp", quotients(runs["stp"], runs["xstp"])
    half = runs["xtp-half"]
    yield "xtp/rate", "xtp-half", [run.flows[0].throughput_bps / HALF for run in half]
    yield "xtp/burst", "xtp-half", [run.links[0].max_queue_bytes / BURST for run in half]
    for row in ("xtp-rate", "xtp-back"):
        yield "xtp/repairs", row, for_each_loss(runs[row], retransmitted)
    yield "split/goodput", "scps-gateway", quotients(newreno, results[f"gateways/{back}/{per}"])


def _arriving(
    per: str, runs: Sequence[bentpipe.Recording], clear: Sequence[bentpipe.Recording]
) -> list[float]:
    """Goodput to that without errors, of which the share that arrives is left."""
    return [one / (1 - float(per)) for one in quotients(runs, clear)]


def _variations(results: Results, per: str) -> Iterator[tuple[str, str, list[float]]]:
    """Claim, row and values for other links."""
    for row in ("newreno", "stp", "stp-rate"):
        long, short = (results[f"rtt/{row}/{delay}/{per}"] for delay in (LONG, SHORT))
        yield "stp/rtt", row, quotients(long, short)
        steady = results[f"{row}/256/{per}"]
        yield "stp/jitter", row, quotients(results[f"jitter/{row}/{per}"], steady)
    stp, xstp = (results[f"outages/{transport}/{per}"] for transport in ("stp", "xstp"))
    yield "xstp/outages", "xstp", quotients(stp, xstp)


# -------------------------------------------------------------------------------------- trials


def trials() -> Mapping[str, Plan]:
    """Other readings, with the jobs that they change."""
    jobs = plan()
    hop = {name: job for name, job in jobs.items() if name.split("/")[0] in TRANSPORTS}
    scps = {name: job for name, job in hop.items() if name.startswith("scps")}
    buffers = "flow.0.transport.receive_buffer=16MiB"
    return {
        "a window and the rate": {
            name: job.with_sets(RATE) for name, job in hop.items() if name.startswith("scps/")
        },
        "large buffers": {
            name: job.with_sets(buffers) for name, job in jobs.items() if "-rate/" in name
        },
        "a queue of one product": {name: job.with_sets(ONE_PRODUCT) for name, job in hop.items()},
        "byte counting": {
            name: job.with_sets("flow.0.transport.abc_limit=2")
            for name, job in hop.items()
            if name.startswith("newreno/")
        },
        "95 % of the rate of the link": {
            name: job.with_sets("flow.0.transport.scps.rate=1900kbit/s")
            for name, job in hop.items()
            if name.startswith("scps-rate/")
        },
        "the simple form of SNACK": {
            name: job.with_sets("flow.0.transport.scps.snack=simple") for name, job in scps.items()
        },
    }


# ---------------------------------------------------------------------------------------- plots

LABELS = {
    "newreno": "New Reno",
    "scps": "SCPS-TP, corruption",
    "scps-rate": "SCPS-TP, rate",
    "scps-congestion": "SCPS-TP, congestion",
    "stp": "STP",
    "stp-rate": "STP, rate",
    "xstp": "STP with probing",
    "xtp": "XTP",
    "xtp-rate": "XTP, rate",
    "sctp": "SCTP",
}
SCORES: Mapping[Judgement, float] = {"agrees": 1.0, "disagrees": -1.0}


def plots(results: Results) -> Mapping[str, Bars | Grid]:
    """Goodput at each PER with each return link, and the judgement of each row."""
    drawn: dict[str, Bars | Grid] = {}
    for back in RETURNS:
        title = f"One flow over GEO, 2 Mbit/s, {back} kbit/s back"
        bars = {
            label: {f"PER {per}": _goodput(results, f"{transport}/{back}/{per}") for per in PERS}
            for transport, label in LABELS.items()
        }
        drawn[f"goodput-{back}"] = Bars(title, "", "goodput (Mbit/s)", bars)
    drawn["claims"] = _grid(results)
    return drawn


def _goodput(results: Results, name: str) -> Mean:
    return mean([goodput(run) for run in results[name]])


def _grid(results: Results) -> Grid:
    """A row for each claim and transport, a column for each condition."""
    found = find("transports")
    held: dict[str, dict[str, tuple[float, str]]] = {}
    for row in found.rows(results, complete=True):
        if row.measured is not None:
            claim, _, condition = row.id.rpartition("/")
            cell = (SCORES.get(row.judgement, 0.0), f"{row.measured:.3g}")
            held.setdefault(claim, {})[condition] = cell
    cells = {
        claim: {
            condition: line[name]
            for condition in found.publication.conditions
            if (name := condition.replace(" ", "-")) in line
        }
        for claim, line in held.items()
    }
    notes = ["Blue: the row agrees. Orange: it disagrees. Grey: undecided."]
    return Grid("Claims about transports, by PER and return link", "", "", cells, notes)
