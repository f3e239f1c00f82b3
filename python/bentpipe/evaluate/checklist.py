"""The checklist of RFC 9743: sections, scenarios, and the quantities measured in them.

The sections are those of RFC 9743, "Specifying New Congestion Control Algorithms" (BCP 133, 2025).
The RFC sets no thresholds (section 5), and neither does this list. Every value is compared with
those of the baselines. The paths are our choice unless the scenario names a source.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.compare.workloads import LABELS, named
from bentpipe.study.quantities import better

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIRST = ("flow.0.controller",)
"""The first flow is the candidate's; others keep their algorithm."""
ALL = ("flow.*.controller",)
"""All flows are the candidate's: behaviour of a single algorithm (section 5.1)."""


@dataclass(frozen=True)
class Measure:
    """A quantity with its label, and whether higher values are better."""

    quantity: str
    label: str
    higher_is_better: bool


@dataclass(frozen=True)
class Item:
    """One item of the checklist. `cases` lists the value of every path for each case.

    `always` lists algorithms that are always compared with, in addition to the baselines. Harm to
    a standard flow is measured against that flow when it competes with one of its own kind.
    """

    name: str
    section: str
    title: str
    scenario: str
    measures: tuple[Measure, ...]
    controllers: tuple[str, ...] = FIRST
    paths: tuple[str, ...] = ()
    cases: tuple[tuple[str, tuple[str | int, ...]], ...] = ()
    sets: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    note: str = ""
    workload: str = ""
    """The workload of `bentpipe compare` whose flows replace those of the scenario, if any."""


GOODPUT = Measure("flow.candidate.goodput_bps", "goodput", higher_is_better=True)
DELAY = Measure("flow.probe.burst_completion_s", "latency under load", higher_is_better=False)
DROPS = Measure(
    "link.gateway-client.forward.dropped_packets", "queue drops", higher_is_better=False
)
USE = Measure("link.gateway-client.forward.utilisation", "utilisation", higher_is_better=True)
JAIN = Measure("jain(flow.candidate*.goodput_bps)", "Jain index", higher_is_better=True)
PAGES = Measure("page.short.response_s", "page load time over HTTP/1.1", higher_is_better=False)
WORKLOAD = "workload"
"""In place of the section, for workloads of people."""
QUEUE = ("link.1.queue",)
LOSS = ("link.1.forward.channel",)


def buffers(*products: float) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    """Queues in bandwidth-delay products of 250 kB."""
    return tuple((f"{p:g} BDP", (f"{{ bytes = '{round(p * 250)}kB' }}",)) for p in products)


CHECKLIST = (
    Item(
        name="collapse",
        section="5.1.1",
        title="Protection against congestion collapse",
        scenario="path",
        measures=(
            Measure("flow.candidate.segments_sent", "segments sent", higher_is_better=False),
        ),
        paths=LOSS,
        cases=(("30 % loss", ("{ per = 0.3 }",)), ("60 % loss", ("{ per = 0.6 }",))),
        note="A controller that backs off fully sends one segment per round trip at some point, and"
        " then less. In the 60 s of the run, one segment per 100 ms is 600 segments.",
    ),
    Item(
        name="bufferbloat",
        section="5.1.2",
        title="Protection against bufferbloat",
        scenario="path",
        measures=(DELAY, GOODPUT),
        paths=QUEUE,
        cases=buffers(1, 4, 10),
        note="A message of 1000 bytes takes about 51 ms on the idle path. The rest of its time is"
        " queueing delay or retransmission.",
    ),
    Item(
        name="packet-loss",
        section="5.1.3",
        title="Protection against high packet loss: four flows, shallow buffers",
        scenario="shared",
        controllers=ALL,
        measures=(DROPS, USE),
        paths=QUEUE,
        cases=buffers(0.1, 0.5, 1.5),
        note="The RFC reports that BBR 1 kept losing packets below about 1.5 BDP.",
    ),
    Item(
        name="fairness",
        section="5.1.4",
        title="Fairness to itself",
        scenario="shared",
        controllers=ALL,
        measures=(JAIN, USE),
        paths=("flow.0.count",),
        cases=(("2 flows", (2,)), ("4 flows", (4,)), ("8 flows", (8,))),
    ),
    Item(
        name="rtt-fairness",
        section="5.1.4",
        title="Fairness to itself with RTTs of 60 and 300 ms",
        scenario="rtts",
        controllers=ALL,
        measures=(
            Measure("jain(flow.rtt-*.goodput_bps)", "Jain index", higher_is_better=True),
            Measure("flow.rtt-far.goodput_bps", "goodput at 300 ms", higher_is_better=True),
        ),
    ),
    Item(
        name="short-flows",
        section="5.1.5",
        title="Short flows and a long one of the same algorithm",
        scenario="short-flows",
        controllers=ALL,
        measures=(
            PAGES,
            Measure("flow.long.goodput_bps", "goodput of the long flow", higher_is_better=True),
        ),
    ),
    Item(
        name="beside-standard",
        section="5.2.1",
        title="Harm to NewReno and CUBIC",
        scenario="beside",
        measures=(
            Measure(
                "flow.standard.goodput_bps", "goodput of the standard flow", higher_is_better=True
            ),
            DELAY,
            DROPS,
            GOODPUT,
        ),
        paths=("flow.1.controller",),
        cases=(("with newreno", ("newreno",)), ("with cubic", ("cubic",))),
        always=("newreno", "cubic"),
        note="Harm is the loss of the standard flow, compared with the case in which it competes"
        " with one of its own kind.",
    ),
    Item(
        name="mixed-flows",
        section="5.2.3",
        title="A long flow competing with short flows of CUBIC",
        scenario="mixed-flows",
        measures=(PAGES, GOODPUT),
    ),
    Item(
        name="wired",
        section="6.3",
        title="Wired paths with drop-tail queues (and section 6.1)",
        scenario="path",
        measures=(GOODPUT, DELAY),
        paths=("link.1.delay", "link.1.forward.rate"),
        cases=(
            ("2 Mbit/s, 30 ms", ("5ms", "2Mbit/s")),
            ("20 Mbit/s, 100 ms", ("40ms", "20Mbit/s")),
            ("50 Mbit/s, 30 ms", ("5ms", "50Mbit/s")),
        ),
        note="The queue is 250 kB in all cases, which is 33 to 1 bandwidth-delay products.",
    ),
    Item(
        name="wireless",
        section="6.4",
        title="Wireless paths: single losses and loss bursts",
        scenario="path",
        measures=(GOODPUT, DELAY),
        paths=LOSS,
        cases=(
            ("PER 1e-4", ("{ per = 1e-4 }",)),
            ("PER 1e-3", ("{ per = 1e-3 }",)),
            ("PER 1e-2", ("{ per = 1e-2 }",)),
            ("1e-3 in bursts of 6 ms", ('{ mean_loss = 1e-3, mean_burst = "6ms" }',)),
            ("1e-2 in bursts of 6 ms", ('{ mean_loss = 1e-2, mean_burst = "6ms" }',)),
        ),
        note="A burst of 6 ms has ten full packets at the rate of the link. It is a burst in time,"
        " which ends whether the sender sends or not.",
    ),
    Item(
        name="marks",
        section="7.1",
        title="Active queue management: ECN marking",
        scenario="path",
        measures=(GOODPUT, DELAY, DROPS),
        sets=("link.1.ecn_marking={ packets = 20 }", "flow.0.transport.ecn=true"),
        note="The queue marks the candidate's packets while its average length is above 20 packets."
        " A mark is answered by the candidate's own response to a mark, once in a round trip, and"
        " nothing is retransmitted (RFC 3168). BBR 1 ignores marks. The average is that of RED"
        " (weight 0.002) and lags behind the queue. It is above 20 packets for some round trips"
        " after the queue is empty, and each of them takes another cut. Steep growth suffers: H-TCP"
        " falls from 226 segments to 3 in eight round trips. FQ-CoDel, PIE and DualPI2 are not"
        " measured.",
    ),
    Item(
        name="varying-delay",
        section="7.3",
        title="Paths with varying delay",
        scenario="varying-delay",
        measures=(GOODPUT, DELAY),
    ),
    Item(
        name="high-delay",
        section="7.5",
        title="Paths with high delay",
        scenario="path",
        measures=(GOODPUT, DELAY),
        paths=("link.1.delay", "link.1.queue"),
        cases=(
            ("140 ms", ("60ms", "{ bytes = '350kB' }")),
            ("600 ms", ("290ms", "{ bytes = '1500kB' }")),
            ("600 ms, 0.1 BDP", ("290ms", "{ bytes = '150kB' }")),
        ),
        note="A medium and a geostationary orbit, with a queue of 1 BDP and with a shallow one.",
    ),
    Item(
        name="onset",
        section="7.8",
        title="Transient events: sudden congestion",
        scenario="onset",
        measures=(
            GOODPUT,
            Measure("flow.crowd.goodput_bps", "goodput of new flows", higher_is_better=True),
            DELAY,
        ),
    ),
    Item(
        name="path-change",
        section="7.9",
        title="Sudden changes in the path",
        scenario="path-change",
        measures=(GOODPUT, DELAY),
    ),
    Item(
        name="geo-suite",
        section="tcpeval 4.4.4",
        title="GEO scenario of the IRTF common TCP evaluation suite",
        scenario="geo-suite",
        controllers=ALL,
        measures=(
            Measure("page.response_s", "page load time over HTTP/1.1", higher_is_better=False),
            Measure("p95(page.response_s)", "p95 page load time, HTTP/1.1", higher_is_better=False),
            Measure(
                "link.gateway-terminal.forward.utilisation", "utilisation", higher_is_better=True
            ),
            Measure(
                "link.gateway-terminal.forward.dropped_packets",
                "queue drops",
                higher_is_better=False,
            ),
        ),
        paths=tuple(f"flow.{n}.count" for n in range(9)),
        cases=tuple((f"load {load} %", (n,) * 9) for load, n in ((60, 24), (85, 35), (110, 46))),
        note="REPLACEMENT TRAFFIC: the Tmix traces of the suite are not available. Bursts and web"
        " pages replace them, in the forward direction only. The loads are 59.85, 84.60 and"
        " 109.35 %.",
    ),
)


def of_workload(name: str) -> Item:
    """The item of a workload of `bentpipe compare`, over the GEO path of `high-delay`.

    Its measures are the quantities of the workload that have a better direction.
    """
    workload = named(name)
    directions = [(one, better(one)) for one in workload.quantities]
    return Item(
        name=name,
        section=WORKLOAD,
        title=workload.title,
        scenario="path",
        measures=tuple(
            Measure(one, LABELS[one], higher_is_better=direction == "higher")
            for one, direction in directions
            if direction is not None
        ),
        sets=("link.1.delay=290ms", "link.1.queue={ bytes = '1500kB' }"),
        note="Not an item of the RFC: the workload of `bentpipe compare`, at an RTT of 600 ms."
        f" First quantity: {workload.legend}.",
        workload=name,
    )


PEOPLE = tuple(of_workload(name) for name in ("page", "video", "call", "speedtest"))
"""Workloads of people, which `--workload` chooses. The RFC has no such items."""

NOT_COVERED = {
    "5.2.2": "real-time congestion control: no item has such flows; latency under load is measured",
    "5.3": "principles and deployment: cannot be measured",
    "6.2": "tunnels: no item has one",
    "7.2": "circuit breakers: no item has one",
    "7.4": "constrained nodes: no item has one",
    "7.6": "misbehaving nodes: no item has one; all receivers comply",
    "7.7": "extreme reordering: no item has it",
    "7.10": "multipath: no item has a connection with several paths",
    "7.11": "data centres: outside the scope of Bentpipe",
}
"""Sections that no item covers, with the reason."""


def not_covered(chosen: Sequence[Item]) -> dict[str, str]:
    """Sections that no item of the checklist covers; none if only workloads were chosen."""
    return NOT_COVERED if "checklist" in kinds(item.section for item in chosen) else {}


def kinds(sections: Iterable[str]) -> dict[str, int]:
    """The numbers of items of the checklist and of workloads, each if there are some."""
    found = Counter("workloads" if one == WORKLOAD else "checklist" for one in sections)
    return {kind: found[kind] for kind in ("checklist", "workloads") if found[kind]}


METHODS = {
    "checklist": "by the checklist of RFC 9743 (BCP 133)",
    "workloads": "in workloads of people",
}


def method(sections: Iterable[str]) -> str:
    """The method by the sections of the items; without any, that of the checklist."""
    return " and ".join(METHODS[kind] for kind in kinds(sections) or ("checklist",))
