"""The workloads of a comparison, each a study over the controllers.

Every workload has background traffic of short bursts with a mean of 1/40 of the rate. It depends on
the seed and is the same for every controller. So seeds differ even if the channel loses no packet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bentpipe.compare import counters, fade, traffic
from bentpipe.compare.traffic import CUBIC
from bentpipe.console import nearest
from bentpipe.errors import InputError
from bentpipe.study import Base, Comparison, Parameter, Quantity, Replications, Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe._native import Scenario
    from bentpipe.compare.candidates import Candidate
    from bentpipe.compare.links import Link
    from bentpipe.compare.traffic import Application

CONTROLLER = "flow.0.controller"
ROUND_TRIPS = 100
SHORTEST_S = 20.0
REPLACED = ("name", "duration", "record", "flow")
"""Keys of the scenario that every workload sets. All others are those of the link."""


@dataclass(frozen=True)
class Workload:
    """A workload: its flows, and the quantity that ranks the controllers."""

    name: str
    title: str
    use: str
    """The use in a few words, for sentences."""
    legend: str
    """The quantity in a few words."""
    quantity: str
    higher_is_better: bool
    also: tuple[str, ...]
    """Other quantities of a ranking."""
    compared: str
    """The name of the flow that is compared."""
    flows: Callable[[Link, Any], list[dict[str, Any]]]
    """The flows on a link, with the controller of the one that is compared."""
    duration_s: Callable[[Link], float]
    """The window on a link, in seconds."""
    head: str
    """The heading of its column."""
    noun: str = ""
    """The quantity after its number in sentences; empty where the unit says enough."""
    best: str = "Best for"
    """The beginning of its recommendation, before the use."""
    beside: tuple[tuple[str, str], ...] = ()
    """Quantities of `also` that tables show next to the one that ranks, with their headings."""
    baseline: str = CUBIC
    """The controller that others are compared with."""
    application: Callable[[Link, Any], Application] | None = None
    """How pages are loaded, for workloads with pages."""
    has_datagrams: bool = False
    """True if it has a flow over UDP, which some paths do not take."""
    least_s: float = 0.0
    """The shortest window in which it can end, in seconds."""
    fades: bool = False

    @property
    def has_pages(self) -> bool:
        """True if it loads pages."""
        return self.application is not None

    @property
    def quantities(self) -> tuple[str, ...]:
        """All quantities of its ranking."""
        return (self.quantity, *self.also)

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
        names = (*self.quantities, self.aborted, *counted)
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
        stop_s = traffic.requested_s(link) if self.has_pages else None
        changes: dict[str, Any] = {
            "name": f"{link.name}-{self.name}",
            "duration": f"{duration:g}s",
            "record": {},
            "flow": [*self.flows(link, controller), traffic.background(link, stop_s)],
        }
        if self.fades:
            changes |= fade.changes(link)
        return link.scenario.with_(changes)


def base_controller(candidates: Sequence[Candidate]) -> Any:
    """The controller in the scenario of a study, whose variants replace it: CUBIC if possible."""
    values = [candidate.value for candidate in candidates]
    return CUBIC if CUBIC in values else values[0]


def window(link: Link, times: int = 1) -> float:
    """The link's own window, or 100 round trips but at least 20 s, this number of times."""
    return link.window_s(times * max(SHORTEST_S, ROUND_TRIPS * link.rtt_s))


def workloads(link: Link, names: Sequence[str] | None = None) -> list[Workload]:
    """The workloads with these names, by default four, in the order of `WORKLOADS`.

    By default the built-in fade is left out where it is not one of the link. `InputError` for a
    name that does not exist, and for a workload that the link cannot have.
    """
    if names is None:
        has_fade = fade.obstacle(link) is None
        default = [workload for workload in WORKLOADS if workload.name in DEFAULT]
        return [workload for workload in default if has_fade or not workload.fades]
    known = {workload.name: workload for workload in WORKLOADS}
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            raise InputError(
                f"--workload: there is no workload {name!r}{nearest(name, known)}; expected"
                f" {listed}"
            )
        check(known[name], link)
    return [workload for workload in WORKLOADS if workload.name in names]


def check(workload: Workload, link: Link) -> None:
    """`InputError` for a workload that the link cannot have."""
    if workload.fades and (reason := fade.obstacle(link)):
        raise InputError(f"--workload {workload.name}: {reason}")
    if (found := workload.duration_s(link)) < workload.least_s:
        raise InputError(
            f"--workload {workload.name}: expected a duration of {workload.least_s:g}s or more,"
            f" found {found:g}s"
        )


WORKLOADS = (
    Workload(
        name="bulk",
        title="One bulk flow",
        use="one bulk flow",
        legend="goodput of one bulk flow",
        head="bulk",
        quantity="flow.bulk.goodput_bps",
        higher_is_better=True,
        also=("flow.bulk.p95_rtt_ms", "flow.bulk.timeouts"),
        beside=(("flow.bulk.p95_rtt_ms", "p95 RTT"),),
        compared="bulk",
        flows=traffic.bulk,
        duration_s=window,
    ),
    Workload(
        name="page",
        title="Web pages",
        use="web pages",
        legend="page load time",
        head="page",
        noun="page load time",
        quantity="page.page.response_s",
        higher_is_better=False,
        also=(
            "p95(page.page.response_s)",
            "page_loads.page.byte_index_s",
            "page_loads.page.round_trips",
        ),
        compared="page",
        flows=traffic.page,
        duration_s=traffic.until_loaded,
        application=traffic.of_page,
    ),
    Workload(
        name="web",
        title="Simple web pages",
        use="simple web pages",
        legend="load time of pages without names, TLS and dependencies",
        head="web",
        noun="page load time",
        quantity="page.web.response_s",
        higher_is_better=False,
        also=("p95(page.web.response_s)",),
        compared="web",
        flows=traffic.web,
        duration_s=traffic.until_loaded,
        application=traffic.of_web,
    ),
    Workload(
        name="video",
        title="Adaptive video",
        use="adaptive video",
        legend="reward of a segment: bit rate in Mbit/s, less 4.3 for each second of stalls, less"
        " changes",
        head="video",
        noun="reward",
        quantity="video.video.reward",
        higher_is_better=True,
        also=(
            "video.video.mean_bitrate_bps",
            "video.video.start_up_s",
            "video.video.stalls",
            "video.video.stalled_s",
        ),
        beside=(
            ("video.video.mean_bitrate_bps", "bit rate"),
            ("video.video.stalled_s", "stalled"),
        ),
        compared="video",
        flows=traffic.video,
        duration_s=lambda link: link.window_s(2 * traffic.VIDEO_S),
        least_s=traffic.VIDEO_S,
    ),
    Workload(
        name="call",
        title="A call sharing the queue with a download",
        use="a call that shares the queue with a download",
        legend="MOS of a call over UDP, whose rate is fixed; the controller is that of a download"
        " through the same queue",
        head="call MOS",
        noun="MOS of the call",
        quantity="min(call.call.mos)",
        higher_is_better=True,
        also=(
            "flow.download.goodput_bps",
            "max(call.call.mouth_to_ear_ms)",
            "max(call.call.loss)",
        ),
        beside=(("flow.download.goodput_bps", "goodput"),),
        compared="download",
        flows=traffic.call,
        duration_s=window,
        has_datagrams=True,
    ),
    Workload(
        name="speedtest",
        title="A speed test",
        use="latency in a speed test",
        legend="round trips in a minute under load",
        head="speed test",
        noun="",
        quantity="speedtest.speedtest.responsiveness_rpm",
        higher_is_better=True,
        also=(
            "speedtest.speedtest.download_bps",
            "speedtest.speedtest.upload_bps",
            "speedtest.speedtest.p95_download_latency_ms",
            "speedtest.speedtest.p95_upload_latency_ms",
        ),
        beside=(("speedtest.speedtest.download_bps", "down"),),
        compared="speedtest",
        flows=traffic.speedtest,
        duration_s=lambda link: link.window_s(2 * traffic.LEAST_TEST_S),
        least_s=traffic.LEAST_TEST_S,
    ),
    Workload(
        name="beside-newreno",
        title="Competing with NewReno",
        use="sharing with NewReno",
        legend="goodput of a NewReno flow that shares the link",
        head="NewReno",
        quantity="flow.beside-newreno.goodput_bps",
        higher_is_better=True,
        baseline="newreno",
        also=("flow.beside-candidate.goodput_bps", "jain(flow.beside-*.goodput_bps)"),
        compared="beside-candidate",
        flows=traffic.competing,
        duration_s=lambda link: window(link, times=2),
    ),
    Workload(
        name="fade",
        title="Under the built-in rain fade",
        use="the built-in fade",
        legend="goodput under the built-in fade",
        head="fade",
        best="Best under",
        quantity="flow.bulk.goodput_bps",
        higher_is_better=True,
        also=("flow.bulk.p95_rtt_ms", "flow.bulk.timeouts"),
        compared="bulk",
        flows=traffic.bulk,
        duration_s=lambda link: link.window_s(fade.FADE_S),
        fades=True,
    ),
)
DEFAULT = ("bulk", "page", "beside-newreno", "fade")
"""The workloads of a comparison that names none."""

LABELS = {
    "flow.bulk.goodput_bps": "goodput",
    "flow.bulk.p95_rtt_ms": "latency under load (p95 RTT)",
    "flow.bulk.timeouts": "timeouts",
    "page.page.response_s": "page load time",
    "p95(page.page.response_s)": "p95 page load time",
    "page_loads.page.byte_index_s": "byte index",
    "page_loads.page.round_trips": "round trips",
    "page.web.response_s": "page load time",
    "p95(page.web.response_s)": "p95 page load time",
    "video.video.reward": "reward",
    "video.video.mean_bitrate_bps": "mean bit rate",
    "video.video.start_up_s": "start-up",
    "video.video.stalls": "stalls",
    "video.video.stalled_s": "stalled",
    "min(call.call.mos)": "MOS, worse direction",
    "flow.download.goodput_bps": "goodput of the download",
    "max(call.call.mouth_to_ear_ms)": "mouth to ear",
    "max(call.call.loss)": "lost or late",
    "speedtest.speedtest.responsiveness_rpm": "responsiveness",
    "speedtest.speedtest.download_bps": "download",
    "speedtest.speedtest.upload_bps": "upload",
    "speedtest.speedtest.p95_download_latency_ms": "p95 latency, download",
    "speedtest.speedtest.p95_upload_latency_ms": "p95 latency, upload",
    "flow.beside-newreno.goodput_bps": "NewReno goodput",
    "flow.beside-candidate.goodput_bps": "own goodput",
    "jain(flow.beside-*.goodput_bps)": "Jain index",
}
"""Short names of the quantities of all workloads."""


def named(name: str) -> Workload:
    """The workload with a name of `WORKLOADS`."""
    return next(workload for workload in WORKLOADS if workload.name == name)
