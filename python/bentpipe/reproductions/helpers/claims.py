"""The runs and quantities that decide what the five papers say about helpers on the way.

Most claims say that something is better with a helper. They are decided by quotients of two
candidates of the survey, seed by seed. Other claims have runs of their own, named `claim/...`:
links of the survey with what the claim is about.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from bentpipe.reproductions.helpers.survey import (
    BULK,
    CONDITIONS,
    FADE,
    HELPERS,
    HOSTS,
    NONE,
    PERS,
    THIN,
    Candidate,
    errors,
    flows,
    goodput,
    name_of,
    routers,
    split,
)
from bentpipe.reproductions.judgement import Measured
from bentpipe.study.statistics import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import bentpipe
    from bentpipe._native import Link
    from bentpipe.reproductions.helpers.survey import Condition
    from bentpipe.reproductions.reproduction import Job, Plan, Results

SEEDS = range(1, 11)

GAINS = {
    "fec/packets": "reed-solomon",
    "split/goodput": "split",
    "spoofing/goodput": "spoofing-proxy",
    "snoop/satellite": "snoop",
}
"""Claims of more goodput, with the helper. Their rows are the hosts and the conditions."""

HIDING = {
    "hide/fec": "reed-solomon",
    "hide/arq": "selective-repeat",
    "hide/snoop": "snoop",
}
"""Claims that losses of the link are hidden from TCP."""


def slug(condition: Condition) -> str:
    """The title of a condition in ids."""
    return condition.title.replace(" ", "-")


def plan() -> Plan:
    """The runs of claims that the survey does not have."""
    return dict(_jobs())


# ---------------------------------------------------------------------------------------- runs

GEO = CONDITIONS["geo/1e-3"]


def base(controller: str, helper: str, condition: Condition, *sets: str) -> Job:
    """A candidate of the survey with further overrides."""
    return Candidate(controller, HELPERS[helper]).job(condition, SEEDS, *sets)


def each_flow(key: str, value: str, count: int = 4) -> tuple[str, ...]:
    """A transport setting of the first `count` flows."""
    return tuple(f"flow.{flow}.transport.{key}={value}" for flow in range(count))


CAPPED = each_flow("receive_buffer", f"{GEO.bdp_bytes * 3 // 4}B", 2)
"""Windows that fill the pipe and half of the queue. So no packet is dropped, and a reduction of the
window has another cause."""

ONE_FLOW = ("flow.1.traffic={ bulk = '1kB' }",)
"""The second bulk flow ends after its first segment."""

CONGESTION = (
    "flow.1.controller=cubic",
    "flow.2.controller=newreno",
    "flow.3.controller=newreno",
    "flow.0.start=10s",
    "flow.1.start=0s",
)
"""One flow joins another of CUBIC after 10 s, when that has filled the queue."""

SMALL_WINDOWS = each_flow("receive_buffer", "65535B")
PROXIES = (
    "node.0.proxy={ satellite = { towards = ['terminal'] } }",
    "node.1.proxy={ satellite = { towards = ['gateway'], receive_buffer = '4MiB' } }",
)
SMALL_BUFFERS = (
    "node.0.proxy={ satellite = { towards = ['terminal'], send_buffer = '64KiB' },"
    " limits = { relay_buffer = '64KiB' } }",
)

SMALL_FIRST_LEG = (
    "node.0.proxy={ satellite = { towards = ['terminal'] },"
    " terrestrial = { receive_buffer = '256KiB' } }",
)
"""The server's window is about the BDP of its leg, so that it does not fill the queue there."""

SPIKES = (
    "link.1.event=["
    "{ at = '20s', every = '10s', forward = { delay = '2285ms' } },"
    "{ at = '22s', every = '10s', forward = { delay = '285ms' } }]",
)
"""Every 10 s a packet needs 2 s more for 2 s."""

WAYS = ("forward", "backward")
HIDDEN = ("1e-4", "1e-3", "1e-2")
"""PERs with enough losses in a run to count them."""
CONGESTED = ("1e-5", "1e-4", "1e-3")
"""PERs at which TCP-Jersey fills the queue."""

HEADERS = ("rohc", "rohc-unidirectional", "scps", "vj")


CLEAR = errors("0")
PEACH = ("peach", "peach-plus")
JERSEY = ("jersey", "new-jersey")
COMPRESSED = ("1e-3", "1e-2")
"""PERs at which header compression is measured."""
PIPES = (FADE, "geo/1e-3", "geo/1e-2")
"""Conditions of a PEP with one connection."""


def _jobs() -> Iterator[tuple[str, Job]]:
    yield from _carriers()
    yield from _splits()
    yield from _pipes()
    yield from _returns()
    for per in PERS:
        yield from _at(per)
    for per in HIDDEN:
        for helper in (NONE, *HIDING.values()):
            job = base("newreno", helper, CONDITIONS[f"geo/{per}"], *CAPPED)
            yield f"claim/hide/{per}/{helper}", job
    for helper in (NONE, "packet-control"):
        yield f"claim/spikes/{helper}", base("newreno", helper, GEO, *CLEAR, *SPIKES, *CAPPED)
    for per in CONGESTED:
        for controller in JERSEY:
            for helper in (NONE, "marking"):
                job = base(controller, helper, CONDITIONS[f"geo/{per}"])
                yield f"claim/jersey/{per}/{controller}/{helper}", job


def _carriers() -> Iterator[tuple[str, Job]]:
    """QPSK with the same power and bandwidth, without and with a code."""
    uncoded = "{ eb_n0 = 10.53, code = 'uncoded' }"
    coded = "{ eb_n0 = 11.78, code = 'sequential-3/4' }"
    back = "link.1.backward.channel=perfect"
    for name, rate, channel in (("uncoded", 13333, uncoded), ("coded", 10000, coded)):
        sets = (f"link.1.forward.rate={rate}kbit/s", f"link.1.forward.channel={channel}", back)
        yield f"claim/code/{name}", base("newreno", NONE, GEO, *sets)


def _splits() -> Iterator[tuple[str, Job]]:
    """Split proxies with their windows and buffers."""
    small = base("newreno", NONE, GEO, *CLEAR, *SMALL_WINDOWS)
    yield "claim/scaling/none", small
    yield "claim/scaling/both-gateways", small.with_sets(*PROXIES)
    yield "claim/buffers/small", base("newreno", NONE, GEO, *CLEAR, *SMALL_BUFFERS)
    yield "claim/buffers/large", base("newreno", "split", GEO, *CLEAR)
    yield "claim/shield", base("newreno", NONE, CONDITIONS["geo/1e-2"], *SMALL_FIRST_LEG)


def _pipes() -> Iterator[tuple[str, Job]]:
    """One connection through a split proxy with several controllers on the satellite leg."""
    for condition in map(CONDITIONS.__getitem__, PIPES):
        name = f"claim/pipe/{condition.name}"
        yield f"{name}/none", base("newreno", NONE, condition, *ONE_FLOW)
        for satellite in ("newreno", "westwood-plus", "westwood", "bbr"):
            helper = split(f"controller = '{satellite}', recovery = 'linux'")(condition)
            yield f"{name}/{satellite}", base("newreno", NONE, condition, *helper, *ONE_FLOW)
        yield f"{name}/ck-stp", base("newreno", "split, ck-stp", condition, *ONE_FLOW)


def _returns() -> Iterator[tuple[str, Job]]:
    """Compressed headers, and lost ACKs."""
    for per in COMPRESSED:
        for scheme in HEADERS:
            ways = tuple(f"link.1.{way}.header_compression={scheme}" for way in WAYS)
            sets = (*errors(per), *ways, *each_flow("timestamps", "false"))
            yield f"claim/headers/{per}/{scheme}", base("newreno", NONE, GEO, *sets)
    for name, condition in (("wide", GEO), ("thin", CONDITIONS[THIN])):
        yield f"claim/acks/{name}", base("newreno", NONE, condition, *CLEAR, *CAPPED)


def _at(per: str) -> Iterator[tuple[str, Job]]:
    """What is run at every packet error rate."""
    hop = tuple(f"link.2.{way}.channel={{ per = {per} }}" for way in WAYS)
    for box in ("none", "snoop"):
        sets = (*CLEAR, *hop, f"node.1.middlebox={box}")
        yield f"claim/last-hop/{per}/{box}", base("newreno", NONE, GEO, *sets)
    sets = (*errors(per), *routers("none", (0,)))
    yield f"claim/xcp-without-router/{per}", base("xcp", "xcp routers", GEO, *sets)
    for controller in PEACH:
        for helper in (NONE, "push-out"):
            job = base(controller, helper, CONDITIONS[f"geo/{per}"], *CONGESTION)
            yield f"claim/peach/{per}/{controller}/{helper}", job


# ---------------------------------------------------------------------------------- quantities


def first(run: bentpipe.Recording) -> float:
    """Goodput of the first bulk flow in Mbit/s."""
    return flows(run)["first"].goodput_bps * 1e-6


def reductions(run: bentpipe.Recording) -> float:
    """Recoveries and timeouts of both bulk flows."""
    found = [tcp for name in BULK if (tcp := flows(run)[name].tcp)]
    return float(sum(tcp.fast_recoveries + tcp.timeouts for tcp in found))


def reductions_per_mb(run: bentpipe.Recording) -> float:
    """Recoveries and timeouts of both bulk flows for each MB that they deliver."""
    return reductions(run) / sum(flows(run)[name].bytes * 1e-6 for name in BULK)


def direction(run: bentpipe.Recording, way: str) -> Link:
    """One direction of the satellite link."""
    (found,) = [
        link for link in run.links if link.link == "gateway-terminal" and link.direction == way
    ]
    return found


def utilisation(run: bentpipe.Recording) -> float:
    """The use of the satellite link."""
    return direction(run, "forward").utilisation


def dropped(run: bentpipe.Recording) -> float:
    """Packets that the queue before the satellite has dropped."""
    return float(direction(run, "forward").dropped_packets)


def lost_acks(run: bentpipe.Recording) -> float:
    """The share of packets that the queue of the return link has dropped."""
    back = direction(run, "backward")
    return back.dropped_packets / (back.dropped_packets + back.delivered_packets)


def segments_per_ack(run: bentpipe.Recording) -> float:
    """Packets over the satellite for each that comes back."""
    there, back = direction(run, "forward"), direction(run, "backward")
    return there.delivered_packets / back.delivered_packets


def legs(run: bentpipe.Recording, leg: int) -> list[dict[str, float]]:
    """The legs of the bulk flows on one side of the proxy."""
    rows = run.table("legs").to_dicts()
    return [row for row in rows if row["leg"] == leg and row["flow"] in BULK]


def held_kb(run: bentpipe.Recording) -> float:
    """Data in kB that the gateway has acknowledged and the client has not."""
    return sum(row["held_bytes"] for row in legs(run, 0)) * 1e-3


def server_rtt(run: bentpipe.Recording) -> float:
    """The server's RTT to that of the satellite leg."""
    rtts = [fmean(row["srtt_ms"] for row in legs(run, leg)) for leg in (0, 1)]
    return rtts[0] / rtts[1]


def server_recoveries(run: bentpipe.Recording) -> float:
    """The server's recoveries and timeouts to those of the satellite leg."""
    counts = [
        sum(row["fast_recoveries"] + row["timeouts"] for row in legs(run, leg)) for leg in (0, 1)
    ]
    return counts[0] / counts[1]


def headers(run: bentpipe.Recording, key: str) -> float:
    """A sum over both directions of the table of header compression."""
    return float(sum(row[key] for row in run.table("header_compression").to_dicts()))


def saved_headers(run: bentpipe.Recording) -> float:
    """The share of the bytes of headers that compression has saved."""
    return 1 - headers(run, "sent_header_bytes") / headers(run, "header_bytes")


def undecodable(run: bentpipe.Recording) -> float:
    """Packets whose headers could not be restored."""
    return headers(run, "undecodable_packets")


def quotients(
    less: Sequence[bentpipe.Recording],
    more: Sequence[bentpipe.Recording],
    quantity: Callable[[bentpipe.Recording], float] = goodput,
) -> list[float]:
    """What claims of an order are decided by: the quotient for each seed."""
    return [quantity(a) / quantity(b) for a, b in zip(less, more, strict=True)]


# ------------------------------------------------------------------------------------- measures


def measure(results: Results) -> Iterator[Measured]:
    """The measured value for each published value whose runs are in `results`."""
    for claim, helper in GAINS.items():
        yield from _gains(results, claim, helper)
    yield from _satellite(results)
    yield from _own_runs(results)
    yield from _pipe(results)


def survey_runs(
    results: Results, condition: Condition, controller: str, helper: str
) -> Sequence[bentpipe.Recording]:
    """The runs of a candidate of the survey."""
    return results[name_of(condition, Candidate(controller, HELPERS[helper]))]


def _gains(results: Results, claim: str, helper: str) -> Iterator[Measured]:
    for condition in CONDITIONS.values():
        for host in HOSTS if condition.name != THIN else ():
            without, having = (survey_runs(results, condition, host, h) for h in (NONE, helper))
            identity = f"{claim}/{host}/{slug(condition)}"
            yield Measured(identity, mean(quotients(without, having)))


def _satellite(results: Results) -> Iterator[Measured]:
    for condition in CONDITIONS.values():
        if condition.name == THIN:
            continue
        plain = survey_runs(results, condition, "newreno", NONE)
        for protocol in ("xcp", "p-xcp"):
            own = survey_runs(results, condition, protocol, f"{protocol} routers")
            identity = f"xcp/satellite/{protocol}/{slug(condition)}"
            yield Measured(identity, mean(quotients(plain, own)))
        if condition.name in {f"geo/{per}" for per in PERS}:
            own = survey_runs(results, condition, "ebn", "ebn routers")
            yield Measured(f"ebn/ebn/{slug(condition)}", mean(quotients(plain, own)))
        split, with_xcp = (
            survey_runs(results, condition, "newreno", helper) for helper in ("split", "split, xcp")
        )
        identity = f"xcp/split/newreno/{slug(condition)}"
        yield Measured(identity, mean(quotients(split, with_xcp)))


def at(identity: str, values: Sequence[float]) -> Measured:
    """A measurement of several runs."""
    return Measured(identity, mean(values))


def each(
    results: Results, name: str, quantity: Callable[[bentpipe.Recording], float]
) -> list[float]:
    """A quantity in every run of a claim."""
    return [quantity(run) for run in results[f"claim/{name}"]]


def order(
    results: Results,
    name: str,
    less: str,
    more: str,
    quantity: Callable[[bentpipe.Recording], float] = goodput,
) -> list[float]:
    """The quotients of two jobs of a claim."""
    return quotients(results[f"claim/{name}/{less}"], results[f"claim/{name}/{more}"], quantity)


def _own_runs(results: Results) -> Iterator[Measured]:
    yield from _split(results)
    yield from _return(results)
    yield at("fec/code/newreno/BER-1e-6-uncoded", order(results, "code", "uncoded", "coded"))
    for per in PERS:
        hop = order(results, f"last-hop/{per}", "none", "snoop")
        yield at(f"snoop/last-hop/newreno/PER-{per}", hop)
        runs = survey_runs(results, CONDITIONS[f"geo/{per}"], "xcp", "xcp routers")
        without = results[f"claim/xcp-without-router/{per}"][: len(runs)]
        yield at(f"xcp/routers/xcp/PER-{per}", quotients(without, runs))
        for controller in PEACH:
            values = order(results, f"peach/{per}/{controller}", "none", "push-out", first)
            yield at(f"peach/priority/{controller}/PER-{per}", values)
    for per in HIDDEN:
        seen = fmean(each(results, f"hide/{per}/none", reductions_per_mb))
        for claim, helper in HIDING.items():
            found = each(results, f"hide/{per}/{helper}", reductions_per_mb)
            yield at(f"{claim}/newreno/PER-{per}", [n / seen for n in found])
    for per in CONGESTED:
        for controller in JERSEY:
            values = order(results, f"jersey/{per}/{controller}", "marking", "none", dropped)
            yield at(f"jersey/warning/{controller}/PER-{per}", values)
    seen = fmean(each(results, "spikes/none", reductions_per_mb))
    found = each(results, "spikes/packet-control", reductions_per_mb)
    yield at("hide/packet-control/newreno/delay-spikes", [n / seen for n in found])


def _split(results: Results) -> Iterator[Measured]:
    where = "newreno/GEO,-no-errors"
    yield at(f"split/scaling/{where}", order(results, "scaling", "none", "both-gateways"))
    yield at(f"split/filled/{where}", each(results, "scaling/both-gateways", utilisation))
    yield at(f"split/buffers/{where}", order(results, "buffers", "small", "large"))
    where = "newreno/GEO,-PER-1e-2"
    yield at(f"split/semantics/{where}", each(results, "shield", held_kb))
    yield at(f"split/shield-delay/{where}", each(results, "shield", server_rtt))
    yield at(f"split/shield-losses/{where}", each(results, "shield", server_recoveries))


def _return(results: Results) -> Iterator[Measured]:
    for per in COMPRESSED:
        for scheme in HEADERS:
            name = f"headers/{per}/{scheme}"
            yield at(f"headers/saved/{scheme}/PER-{per}", each(results, name, saved_headers))
            values = each(results, name, undecodable)
            yield at(f"headers/undecodable/{scheme}/PER-{per}", values)
    where = "newreno/64-kbit/s-back"
    yield at(f"acks/lost/{where}", each(results, "acks/thin", lost_acks))
    yield at(f"acks/bursts/{where}", order(results, "acks", "wide", "thin", segments_per_ack))
    yield at(f"acks/misread/{where}", each(results, "acks/thin", reductions))


def _pipe(results: Results) -> Iterator[Measured]:
    for condition in map(CONDITIONS.__getitem__, PIPES):
        name = f"claim/pipe/{condition.name}"
        best = results[f"{name}/ck-stp"]
        for other in ("none", "newreno", "westwood-plus", "westwood", "bbr"):
            values = quotients(results[f"{name}/{other}"], best, first)
            yield Measured(f"split/pipe/{other}/{slug(condition)}", mean(values))
