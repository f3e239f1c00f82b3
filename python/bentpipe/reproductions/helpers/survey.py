"""The survey: controllers and helpers on the way, in every condition, ranked by four quantities.

A helper is a mechanism of `bentpipe path` or a split proxy, at the place where it can help. It is
set as its page recommends for the round trip of the condition. A candidate is a controller of all
hosts with a helper, called `cubic + snoop`, or without one, called `cubic`. All candidates of a
condition have the same seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bentpipe
from bentpipe.compare.candidates import NEEDED_ROUTERS
from bentpipe.reproductions.rankings import Quantity, Ranking, ranking
from bentpipe.reproductions.reproduction import Job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bentpipe._native import Flow
    from bentpipe.compare.ranking import Runs
    from bentpipe.reproductions.reproduction import Plan, Results

NONE = "none"
FLOWS = 4
BULK = ("first", "second")
RATE_BPS = 10e6
FULL_PACKET = 1500

SEEDS = range(1, 6)
FULL_SEEDS = range(1, 11)

HOSTS = ("newreno", "cubic")
"""Controllers that are combined with every helper, the papers' and today's. All with `--full`."""


@dataclass(frozen=True)
class Condition:
    """A link with its errors. `rtt_ms` is its round trip without queues."""

    name: str
    title: str
    scenario: str
    rtt_ms: int
    sets: tuple[str, ...] = ()

    @property
    def bdp_bytes(self) -> int:
        """The bandwidth-delay product, which is also the queue before the satellite."""
        return round(RATE_BPS * self.rtt_ms / 8000)


PERS = ("1e-5", "1e-4", "1e-3", "1e-2")
ORBITS = {"geo": ("GEO", 600), "leo": ("LEO", 50)}
FADE = "geo/fade"
THIN = "geo/thin"


def errors(per: str) -> tuple[str, ...]:
    """Losses in both directions of the satellite link."""
    return tuple(f"link.1.{way}.channel={{ per = {per} }}" for way in ("forward", "backward"))


CONDITIONS = {
    one.name: one
    for one in (
        *(
            Condition(f"{orbit}/{per}", f"{label}, PER {per}", f"{orbit}.toml", rtt, errors(per))
            for orbit, (label, rtt) in ORBITS.items()
            for per in PERS
        ),
        Condition(FADE, "GEO, rain fade", "fade.toml", 600),
        Condition(
            THIN,
            "GEO, 64 kbit/s back",
            "geo.toml",
            600,
            (
                *errors("1e-5"),
                "link.1.backward.rate=64kbit/s",
                "link.1.backward.queue={ packets = 50 }",
            ),
        ),
    )
}
"""All conditions. The thin return link is ours. ACKs need 170 kbit/s there, so that helpers of ACKs
have something to do."""


# ------------------------------------------------------------------------------------- helpers


@dataclass(frozen=True)
class Helper:
    """Something on the way: the overrides that put it there, and what it is.

    `mechanisms` are the names of `bentpipe path` in it, none for a proxy. `hosts` is set if it
    needs certain controllers. `only` are the conditions that it fits, all by default.
    """

    name: str
    mechanisms: tuple[str, ...]
    sets: Callable[[Condition], tuple[str, ...]]
    hosts: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    scenario: str = ""

    def fits(self, condition: Condition) -> bool:
        """True if the helper can stand on the path of the condition."""
        return not self.only or condition.name in self.only


def on_link(key: str, value: str) -> Callable[[Condition], tuple[str, ...]]:
    """A key of the satellite link."""
    return lambda _: (f"link.1.{key}={value}",)


def aqm(name: str, scaled: str, **near: Any) -> Callable[[Condition], tuple[str, ...]]:
    """Queue management before the satellite: `scaled` for GEO, else the defaults of its source."""

    def sets(condition: Condition) -> tuple[str, ...]:
        values = scaled if condition.rtt_ms > 100 else near.get("near", "")
        return (f"link.1.forward.aqm={{ name = '{name}'{values and f', {values}'} }}",)

    return sets


def red(condition: Condition) -> tuple[str, ...]:
    """RED with thresholds of an eighth and a half of the bandwidth-delay product."""
    packets = condition.bdp_bytes / FULL_PACKET
    low, high = packets / 8, packets / 2
    text = f"name = 'red', min_threshold = {low:.0f}, max_threshold = {high:.0f}"
    return (f"link.1.forward.aqm={{ {text} }}",)


def routers(protocol: str, links: Sequence[int] = (0, 1, 2)) -> tuple[str, ...]:
    """Routers that answer senders, on the path of the data."""
    return tuple(f"link.{link}.forward.feedback={protocol}" for link in links)


def quick_start(_: Condition) -> tuple[str, ...]:
    """All connections ask for half of the rate."""
    asks = tuple(f"flow.{flow}.transport.quick_start=5Mbit/s" for flow in range(FLOWS))
    return (*routers("quick-start"), *asks)


def at_gateway(value: str) -> tuple[str, ...]:
    """A middlebox before the satellite."""
    return (f"node.0.middlebox={value}",)


def snoop(condition: Condition) -> tuple[str, ...]:
    """Snoop with a cache for all packets on the hop and in its queue."""
    cache = 2 * condition.bdp_bytes // FULL_PACKET
    return at_gateway(f"{{ name = 'snoop', cache = {cache} }}")


def spoofing(condition: Condition) -> tuple[str, ...]:
    """A spoofing proxy. Two flows fill the pipe and part of the queue."""
    store = condition.bdp_bytes * 4 // 5
    return at_gateway(f"{{ name = 'spoofing-proxy', store = '{store}B' }}")


def split(satellite: str = "") -> Callable[[Condition], tuple[str, ...]]:
    """A split proxy at the gateway; `satellite` are settings of its satellite leg."""

    def sets(condition: Condition) -> tuple[str, ...]:
        more = satellite.format(rtt=condition.rtt_ms)
        inside = f"towards = ['terminal']{more and f', {more}'}"
        return (f"node.0.proxy={{ satellite = {{ {inside} }} }}",)

    return sets


def preset(name: str) -> Callable[[Condition], tuple[str, ...]]:
    """A split proxy of a paper or a program at the gateway."""
    satellite = "satellite = { towards = ['terminal'] }"
    return lambda _: (f"node.0.proxy={{ preset = '{name}', {satellite} }}",)


def split_xcp(condition: Condition) -> tuple[str, ...]:
    """A split proxy with XCP on its satellite leg."""
    return (*routers("xcp", (1, 2)), *split("controller = 'xcp'")(condition))


def thinned(_: Condition) -> tuple[str, ...]:
    """ACKs filtered at the terminal and made again at the gateway."""
    return ("node.1.middlebox=ack-filter", *at_gateway("ack-reconstruction"))


def push_out(condition: Condition) -> tuple[str, ...]:
    """Queues of the satellite link that drop probes first."""
    back = 50 if condition.name == THIN or condition.rtt_ms < 100 else 500
    return (
        f"link.1.forward.queue={{ bytes = '{condition.bdp_bytes}B', low_priority = 'push-out' }}",
        f"link.1.backward.queue={{ packets = {back}, low_priority = 'push-out' }}",
    )


def one_bdp(condition: Condition) -> tuple[str, ...]:
    """The same with windows of a bandwidth-delay product: Peach starts with a window of probes."""
    window = f"{condition.bdp_bytes}B"
    own = tuple(f"flow.{flow}.transport.receive_buffer={window}" for flow in range(FLOWS))
    return (*push_out(condition), *own)


def marking(condition: Condition) -> tuple[str, ...]:
    """Marks above a fifth of the bandwidth-delay product, by the average queue."""
    packets = condition.bdp_bytes / FULL_PACKET / 5
    return (f"link.1.forward.ecn_marking={{ packets = {packets:.0f} }}",)


def stepped(condition: Condition) -> tuple[str, ...]:
    """Marks above a fifth of the bandwidth-delay product, by the queue now."""
    packets = condition.bdp_bytes / FULL_PACKET / 5
    return (f"link.1.forward.ecn_marking={{ packets = {packets:.0f}, weight = 1 }}",)


def in_arq(name: str, order: bool = True) -> Helper:
    """Automatic repeat request; without `order`, packets leave the link as they arrive."""
    if order:
        return Helper(name, (name,), on_link("forward.arq", name))
    value = f"{{ name = '{name}', in_order = false }}"
    return Helper(f"{name}, no order", (name,), on_link("forward.arq", value))


def at_terminal(name: str) -> Helper:
    """A middlebox before the return link."""
    return Helper(name, (name,), lambda _: (f"node.1.middlebox={name}",))


def compressed(name: str) -> Helper:
    """Header compression on the return link."""
    return Helper(name, (name,), on_link("backward.header_compression", name))


def modem(name: str) -> Helper:
    """Adaptive coding and modulation on the carrier of the fade."""
    value = on_link("forward.channel.modem", f"{{ name = '{name}', bandwidth = 8e6 }}")
    return Helper(name, (name,), value, only=(FADE,), scenario="fade-acm.toml")


CK_STP = "{{ name = 'ck-stp', rate = 10, rtt = {rtt} }}"
DUALPI2 = aqm("dualpi2", "target = '60ms', max_rtt = '600ms'")

HELPERS = {
    helper.name: helper
    for helper in (
        Helper(NONE, (), lambda _: ()),
        in_arq("go-back-n"),
        in_arq("selective-repeat"),
        in_arq("selective-repeat", order=False),
        Helper("reed-solomon", ("reed-solomon",), on_link("forward.fec", "reed-solomon")),
        modem("dvb-s2"),
        modem("dvb-s2x"),
        Helper("codel", ("codel",), aqm("codel", "target = '30ms', interval = '600ms'")),
        Helper("fq-codel", ("fq-codel",), aqm("fq-codel", "target = '30ms', interval = '600ms'")),
        Helper("pie", ("pie",), aqm("pie", "target = '60ms', alpha = 0.02, beta = 0.2")),
        Helper("red", ("red",), red),
        Helper("dualpi2", ("dualpi2",), DUALPI2),
        Helper("snoop", ("snoop",), snoop),
        Helper("spoofing-proxy", ("spoofing-proxy",), spoofing),
        Helper("packet-control", ("packet-control",), lambda _: at_gateway("packet-control")),
        Helper("split", (), split()),
        Helper("split, hybla", (), split("controller = 'hybla', recovery = 'linux'")),
        Helper("split, bbr", (), split("controller = 'bbr', recovery = 'linux'")),
        Helper("split, ck-stp", (), split("controller = " + CK_STP)),
        Helper("split, aerotcp", ("aerotcp",), preset("aerotcp")),
        Helper("split, xcp", ("xcp",), split_xcp),
        Helper("quick-start", ("quick-start",), quick_start),
        at_terminal("ack-filter"),
        at_terminal("ack-decimation"),
        Helper("ack-filter + reconstruction", ("ack-filter", "ack-reconstruction"), thinned),
        compressed("rohc"),
        compressed("rohc-unidirectional"),
        compressed("scps"),
        compressed("vj"),
        Helper("dvb-rcs2", ("dvb-rcs2",), on_link("backward.demand", "dvb-rcs2")),
        Helper("xcp routers", ("xcp",), lambda _: routers("xcp"), hosts=("xcp",)),
        Helper("p-xcp routers", ("p-xcp",), lambda _: routers("p-xcp"), hosts=("p-xcp",)),
        Helper("ebn routers", ("ebn",), lambda _: routers("ebn"), hosts=("ebn",)),
        Helper("push-out", (), push_out, hosts=("cherry",)),
        Helper("push-out, window of a BDP", (), one_bdp, hosts=("peach", "peach-plus")),
        Helper("marking", (), marking, hosts=("jersey", "new-jersey")),
        Helper("step marking", (), stepped, hosts=("dctcp",)),
        Helper("dualpi2, ecn", ("dualpi2",), DUALPI2, hosts=("prague",)),
    )
}  # fmt: skip

LEFT_OUT = {
    "mtu": "it limits a link, and helps nothing; docs/path.md has it in two conditions",
    "pepsal": "it is `split, hybla`, which has the recovery of Linux too",
    "ck-stp": "it is `split, ck-stp`",
    "satpep": "it needs a gateway at both ends, and the terminal is a host",
    "scps-gateway": "it needs a gateway at both ends, and the terminal is a host",
    "policer": "it drops what exceeds a contract, and helps nothing",
    "shaper": "it limits a link to a contract, and helps nothing",
    "trace": "it replays a measurement, and helps nothing",
    "wireguard": "it hides packets from the helpers, and helps nothing",
    "esp": "it hides packets from the helpers, and helps nothing",
    "openvpn": "it hides packets from the helpers, and helps nothing",
    "masque": "it hides packets from the helpers, and helps nothing",
}
"""Mechanisms of `bentpipe path` that are no helpers, with the reason."""


# ---------------------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class Candidate:
    """A controller of all hosts, and a helper."""

    controller: str
    helper: Helper

    @property
    def name(self) -> str:
        """The name in rankings."""
        if self.helper.name == NONE:
            return self.controller
        return f"{self.controller} + {self.helper.name}"

    def job(self, condition: Condition, seeds: Sequence[int], *more: str) -> Job:
        """The runs in a condition, with further overrides."""
        scenario = self.helper.scenario or condition.scenario
        hosts = controllers(self.controller, condition)
        return Job(scenario, (*condition.sets, *hosts, *self.helper.sets(condition), *more), seeds)


def controllers(name: str, condition: Condition) -> tuple[str, ...]:
    """The controller of all flows. CK-STP is told rate and round trip."""
    value = name
    if name == "ck-stp":
        value = CK_STP.format(rtt=condition.rtt_ms)
    return tuple(f"flow.{flow}.controller={value}" for flow in range(FLOWS))


def fit() -> list[str]:
    """The controllers that need no special routers, as in `bentpipe compare`."""
    return [entry.name for entry in bentpipe.controllers() if entry.name not in NEEDED_ROUTERS]


def candidates(full: bool = False) -> list[Candidate]:
    """Every fit controller without a helper, and `HOSTS`, or all with `full`, with every helper."""
    combined = fit() if full else HOSTS
    return [
        Candidate(controller, helper)
        for helper in HELPERS.values()
        for controller in helper.hosts or (fit() if helper.name == NONE else combined)
    ]


def name_of(condition: Condition, candidate: Candidate) -> str:
    """The name of a job."""
    return f"{condition.name}/{candidate.controller}/{candidate.helper.name}"


def plan(full: bool = False) -> Plan:
    """All runs of the survey."""
    return dict(_jobs(full))


def _jobs(full: bool) -> Iterator[tuple[str, Job]]:
    seeds = FULL_SEEDS if full else SEEDS
    for condition in CONDITIONS.values():
        for candidate in candidates(full):
            if candidate.helper.fits(condition):
                yield name_of(condition, candidate), candidate.job(condition, seeds)


# ---------------------------------------------------------------------------------- quantities


def flows(run: bentpipe.Recording) -> dict[str, Flow]:
    """The flows of a run by name."""
    return {flow.flow: flow for flow in run.flows}


def goodput(run: bentpipe.Recording) -> float:
    """Goodput of both bulk flows in Mbit/s."""
    found = flows(run)
    return sum(found[name].goodput_bps for name in BULK) * 1e-6


def short(run: bentpipe.Recording) -> float | None:
    """Mean completion time of the short transfers in s; None if none of them completed."""
    return flows(run)["short"].page_response_s


def latency(run: bentpipe.Recording) -> float | None:
    """Mean time of a message from its write to its arrival in ms; None if none arrived."""
    seconds = flows(run)["messages"].burst_completion_s
    return None if seconds is None else seconds * 1e3


def jain(run: bentpipe.Recording) -> float:
    """Jain index of the goodputs of both bulk flows."""
    rates = [flows(run)[name].goodput_bps for name in BULK]
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


Measure = Callable[[bentpipe.Recording], float | None]

QUANTITIES: dict[Quantity, Measure] = {
    Quantity("goodput", "goodput", "Mbit/s", higher_is_better=True): goodput,
    Quantity("short", "short flows", "s", higher_is_better=False): short,
    Quantity("latency", "latency", "ms", higher_is_better=False): latency,
    Quantity("jain", "Jain index", "1", higher_is_better=True): jain,
}


def rankings(results: Results) -> list[Ranking]:
    """The rankings of all conditions whose runs are in `results`."""
    found = []
    for condition in CONDITIONS.values():
        names = {
            candidate.name: name
            for candidate in candidates(full=True)
            if (name := name_of(condition, candidate)) in results
        }
        values: dict[Quantity, dict[str, Runs]] = {
            quantity: {
                candidate: dict(enumerate(map(measured, results[name])))
                for candidate, name in names.items()
            }
            for quantity, measured in QUANTITIES.items()
        }
        if names:
            found.append(ranking(condition.name, condition.title, values))
    return found
