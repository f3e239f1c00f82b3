"""The four workloads of a comparison, each a study over the controllers.

Every workload has background traffic of short bursts with a mean of 1/40 of the rate. It depends on
the seed and is the same for every controller. So seeds differ even if the channel loses no packet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bentpipe.compare import counters, fade
from bentpipe.study import Base, Comparison, Parameter, Quantity, Replications, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe._native import Scenario
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Link

CONTROLLER = "flow.0.controller"
CUBIC = "cubic"
TCP = "tcp"
BURSTS = 0.1
"""Rate of the background bursts as a share of the bottleneck; on average they last 1 s in 4 s."""
APART = 2.5
"""Round trips after which the candidate joins NewReno; not whole, so that no rounds coincide."""
ROUND_TRIPS = 100
SHORTEST_S = 20.0
PAGES = 4
PAGE_EVERY_S = 30
PAGE = {"main_object": "50kB", "embedded_objects": 70, "embedded_object": "30kB"}
"""A page of about 2 MB in 71 objects: our choice of a present-day page."""
CONNECTIONS = 6
"""Connections of a browser, unless the transport has streams: those share one connection."""
LONGEST_WEB_S = 600.0
REPLACED = ("name", "duration", "record", "flow")
"""Keys of the scenario that every workload sets. All others are those of the link."""


@dataclass(frozen=True)
class Application:
    """How pages are loaded. Pages over different ones are different workloads."""

    name: str
    words: str


HTTP_1_1 = Application("web", "HTTP/1.1, six connections, no TLS")
HTTP_3 = Application("web-http3", "HTTP/3, one connection, TLS 1.3 of QUIC")
STREAMS = Application("web-streams", "one stream for each object, one connection, no TLS")


@dataclass(frozen=True)
class Workload:
    """A workload: its flows, and the quantity that ranks the controllers."""

    name: str
    title: str
    quantity: str
    higher_is_better: bool
    baseline: str
    """The controller that others are compared with."""
    also: tuple[str, ...]
    compared: str
    """The name of the flow that is compared."""
    flows: Callable[[Link, Any], list[dict[str, Any]]]
    """The flows on a link, with the controller of the one that is compared."""
    duration_s: Callable[[Link], float]
    """The window on a link, in seconds."""
    has_pages: bool = False
    fades: bool = False

    def sets(self, link: Link) -> list[str]:
        """The paths of all values of the link's scenario that the workload sets or replaces."""
        return [*REPLACED, *(fade.changes(link) if self.fades else ())]

    def study(
        self,
        link: Link,
        candidates: Sequence[Candidate],
        replications: int,
        seed: int,
        on_path: str = "",
    ) -> Study:
        """The study of all candidates on the link with the same seeds.

        `on_path` names the mechanism that the link has, in the name of the study.
        """
        controller = base_controller(candidates)
        scenario = self.scenario(link, controller)
        # The losses of the fade are a trace, whose counters say nothing about the link.
        counted = counters.names(replace(self, fades=False).scenario(link, controller))
        names = (self.quantity, *self.also, self.aborted, *counted)
        baselines = [c.setting for c in candidates if c.controller == self.baseline]
        return Study.make(
            name=f"{link.name}-{self.name}{on_path and f'-{on_path}'}",
            title=f"{self.title} on {link.name}{on_path and f' with {on_path}'}",
            scenario=Base.made(scenario),
            parameters=[Parameter("controller", CONTROLLER, tuple(c.setting for c in candidates))],
            quantities=[Quantity(name) for name in names],
            replications=Replications(count=replications, seed=seed),
            comparisons=[Comparison("controller", one) for one in baselines],
        )

    @property
    def aborted(self) -> str:
        """The quantity that shows the runs whose connection was aborted."""
        return f"flow.{self.compared}.aborted"

    def base(self, link: Link) -> Base:
        """The link with the flows of the workload, with the files that it refers to."""
        return Base.made(self.scenario(link))

    def scenario(self, link: Link, controller: Any = CUBIC) -> Scenario:
        """The link with the flows of the workload.

        `ScenarioError` if the transport of the flow that is compared does not carry `controller`.
        """
        duration = self.duration_s(link)
        changes: dict[str, Any] = {
            "name": f"{link.name}-{self.name}",
            "duration": f"{duration:g}s",
            "record": {},
            "flow": [*self.flows(link, controller), background(link, self.has_pages)],
        }
        if self.fades:
            changes |= fade.changes(link)
        return link.scenario.with_(changes)


def base_controller(candidates: Sequence[Candidate]) -> Any:
    """The controller in the scenario of a study, whose variants replace it: CUBIC if possible."""
    values = [candidate.value for candidate in candidates]
    return CUBIC if CUBIC in values else values[0]


def compared(link: Link, name: str, controller: Any, traffic: dict[str, Any]) -> dict[str, Any]:
    """The flow that is compared, which may have a transport of its own."""
    made = flow(link, name, controller, traffic) | {"transport": link.candidate_transport}
    if link.protocol != TCP:
        made.pop("host", None)
    return made


def flow(link: Link, name: str, controller: Any, traffic: dict[str, Any]) -> dict[str, Any]:
    """A flow between the ends of the link."""
    return {
        "name": name,
        **link.ends,
        "controller": controller,
        **link.host,
        "transport": link.transport,
        "traffic": traffic,
    }


def background(link: Link, ends_with_pages: bool) -> dict[str, Any]:
    """Short bursts that depend on the seed. They stop when all pages have been requested."""
    rate = f"{round(link.bottleneck.rate_bps * BURSTS)}bit/s"
    made = flow(link, "background", "newreno", {"on_off": {"rate": rate, "on": "1s", "off": "3s"}})
    return made | {"stop": f"{pages(link) * PAGE_EVERY_S}s"} if ends_with_pages else made


def bulk(link: Link, controller: Any) -> list[dict[str, Any]]:
    """One long transfer."""
    return [compared(link, "bulk", controller, {"bulk": "unlimited"})]


def web(link: Link, controller: Any) -> list[dict[str, Any]]:
    """A browser, with the connections that are usual with its transport."""
    settings = PAGE | {"pages": pages(link), "interval": f"{PAGE_EVERY_S}s"}
    found = compared(link, "web", controller, {"web": settings})
    if has_streams(link, found):
        return [found]
    return [found | {"traffic": {"web": settings | {"connections": CONNECTIONS}}}]


def has_streams(link: Link, found: dict[str, Any]) -> bool:
    """True if the transport of a flow with pages has streams, and so one connection."""
    both = link.scenario.with_({"flow": [found, background(link, ends_with_pages=True)]})
    return both.explain().flows[0].figures.connections == 1


def application(link: Link, controller: Any) -> Application:
    """The application that loads the pages over the transport of the flow that is compared."""
    (found,) = web(link, controller)
    if not has_streams(link, found):
        return HTTP_1_1
    return HTTP_3 if link.protocol == "quic" else STREAMS


def pages(link: Link) -> int:
    """The number of pages: four, or as many as the window of the link has room for."""
    available = link.window_s(PAGES * PAGE_EVERY_S)
    return max(1, int(available // PAGE_EVERY_S))


def until_loaded(link: Link) -> float:
    """The window of the pages. Without one of the link's own, they have time to finish."""
    requested = PAGES * PAGE_EVERY_S
    available = link.window_s(requested)
    return available if link.own_duration else available + LONGEST_WEB_S - requested


def competing(link: Link, controller: Any) -> list[dict[str, Any]]:
    """One long transfer that competes with one of NewReno, which starts first.

    Equal flows that start together stay in step, and chance decides between them.
    """
    start = f"{round(APART * link.rtt_s * 1e6)}us"
    candidate = compared(link, "beside-candidate", controller, {"bulk": "unlimited"})
    return [
        candidate | {"start": start},
        flow(link, "beside-newreno", "newreno", {"bulk": "unlimited"}),
    ]


def window(link: Link, times: int = 1) -> float:
    """The link's own window, or 100 round trips but at least 20 s, this number of times."""
    return link.window_s(times * max(SHORTEST_S, ROUND_TRIPS * link.rtt_s))


def workloads(link: Link) -> list[Workload]:
    """The workloads of a link. The built-in fade is left out where it is not one of the link."""
    has_fade = fade.obstacle(link) is None
    return [workload for workload in WORKLOADS if has_fade or not workload.fades]


WORKLOADS = (
    Workload(
        name="bulk",
        title="One bulk flow",
        quantity="flow.bulk.goodput_bps",
        higher_is_better=True,
        baseline="cubic",
        also=("flow.bulk.p95_rtt_ms", "flow.bulk.timeouts"),
        compared="bulk",
        flows=bulk,
        duration_s=window,
    ),
    Workload(
        name="web",
        title="Web pages",
        quantity="page.web.response_s",
        higher_is_better=False,
        baseline="cubic",
        also=("p95(page.web.response_s)",),
        compared="web",
        flows=web,
        duration_s=until_loaded,
        has_pages=True,
    ),
    Workload(
        name="beside-newreno",
        title="Competing with NewReno",
        quantity="flow.beside-newreno.goodput_bps",
        higher_is_better=True,
        baseline="newreno",
        also=("flow.beside-candidate.goodput_bps", "jain(flow.beside-*.goodput_bps)"),
        compared="beside-candidate",
        flows=competing,
        duration_s=lambda link: window(link, times=2),
    ),
    Workload(
        name="fade",
        title="Under the built-in rain fade",
        quantity="flow.bulk.goodput_bps",
        higher_is_better=True,
        baseline="cubic",
        also=("flow.bulk.p95_rtt_ms", "flow.bulk.timeouts"),
        compared="bulk",
        flows=bulk,
        duration_s=lambda link: link.window_s(fade.FADE_S),
        fades=True,
    ),
)
