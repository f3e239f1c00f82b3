"""Flows of the workloads: the applications on a link, and the background of all of them.

Sizes, durations and bit rates are our choice where no comment names a source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bentpipe.compare.links import Link

CUBIC = "cubic"
TCP = "tcp"
"""The transport that is not in the name of a candidate."""
BURSTS = 0.1
"""Rate of the background bursts as a share of the slowest path; on average they last 1 s in 4 s."""
APART = 2.5
"""Round trips after which the candidate joins NewReno; not whole, so that no rounds coincide."""
PAGES = 4
PAGE_EVERY_S = 30
SITE = "shop"
"""The built-in page of the workload `page`: 1.7 MB from several origins."""
PAGE = {"main_object": "50kB", "embedded_objects": 70, "embedded_object": "30kB"}
"""A page of about 2 MB in 71 objects: our choice of a present-day page."""
CONNECTIONS = 6
"""Connections of a browser, unless the transport has streams: those share one connection."""
LONGEST_WEB_S = 600.0
VIDEO_S = 120
VIDEO = {
    "rule": "dynamic-dash",
    "ladder": [
        "300kbit/s", "750kbit/s", "1.2Mbit/s", "1.85Mbit/s", "2.85Mbit/s", "4.3Mbit/s",
        "8Mbit/s", "16Mbit/s",
    ],
}  # fmt: skip
"""The ladder of Pensieve, with two more rates of our choice, and the rule of dash.js."""
CALL = {"codec": "g711-plc", "jitter_buffer": "twice-jitter"}
"""A call whose jitter buffer follows the jitter, as OpenBACH counts."""
LEAST_TEST_S = 32.0
"""Duration of a speed test with its default times, and a few seconds for its last answers."""


@dataclass(frozen=True)
class Application:
    """How pages are loaded. Pages over different ones are different workloads."""

    name: str
    words: str
    head: str
    """A heading of a column."""


HTTP_1_1 = Application("web", "HTTP/1.1, six connections, no TLS", "web")
HTTP_3 = Application("web-http3", "HTTP/3, one connection, TLS 1.3 of QUIC", "web HTTP/3")
STREAMS = Application(
    "web-streams", "one stream for each object, one connection, no TLS", "web streams"
)
PAGE_HTTP_2 = Application("page", "HTTP/2, a connection to each origin, TLS 1.3", "page")
PAGE_HTTP_3 = Application(
    "page-http3", "HTTP/3, a connection to each origin, TLS 1.3 of QUIC", "page HTTP/3"
)


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
        **link.tunnel,
        "traffic": traffic,
    }


def background(link: Link, stop_s: float | None) -> dict[str, Any]:
    """Short bursts that depend on the seed. They stop at `stop_s`, if it is not None."""
    rate = f"{round(link.slowest_bps * BURSTS)}bit/s"
    made = flow(link, "background", "newreno", {"on_off": {"rate": rate, "on": "1s", "off": "3s"}})
    return made if stop_s is None else made | {"stop": f"{stop_s:g}s"}


def bulk(link: Link, controller: Any) -> list[dict[str, Any]]:
    """One long transfer."""
    return [compared(link, "bulk", controller, {"bulk": "unlimited"})]


def page(link: Link, controller: Any) -> list[dict[str, Any]]:
    """A browser that loads the page of a shop several times, from names to computations.

    The resolver of names is behind the satellite.
    """
    settings = shop(link, pages(link), PAGE_EVERY_S)
    return [compared(link, "page", controller, {"page": settings})]


def shop(link: Link, count: int, every_s: float) -> dict[str, Any]:
    """Settings of loads of the page of a shop, with a resolver behind the satellite."""
    settings = {"site": SITE, "dns": f"{round(link.rtt_s * 1e6)}us", "pages": count}
    return settings | {"interval": f"{every_s:g}s"} if count > 1 else settings


def of_page(link: Link, controller: Any) -> Application:
    """The application that loads pages: the version of HTTP is that of the transport."""
    return PAGE_HTTP_3 if link.protocol == "quic" else PAGE_HTTP_2


def web(link: Link, controller: Any) -> list[dict[str, Any]]:
    """A browser with sizes only, and the connections that are usual with its transport."""
    settings = PAGE | {"pages": pages(link), "interval": f"{PAGE_EVERY_S}s"}
    found = compared(link, "web", controller, {"web": settings})
    if has_streams(link, found):
        return [found]
    return [found | {"traffic": {"web": settings | {"connections": CONNECTIONS}}}]


def has_streams(link: Link, found: dict[str, Any]) -> bool:
    """True if the transport of a flow with pages has streams, and so one connection."""
    both = link.scenario.with_({"flow": [found, background(link, requested_s(link))]})
    return both.explain().flows[0].figures.connections == 1


def of_web(link: Link, controller: Any) -> Application:
    """The application that loads simple pages over the transport of the compared flow."""
    (found,) = web(link, controller)
    if not has_streams(link, found):
        return HTTP_1_1
    return HTTP_3 if link.protocol == "quic" else STREAMS


def pages(link: Link) -> int:
    """The number of pages: four, or as many as the window of the link has room for."""
    available = link.window_s(PAGES * PAGE_EVERY_S)
    return max(1, int(available // PAGE_EVERY_S))


def requested_s(link: Link) -> float:
    """The time at which all pages have been requested."""
    return pages(link) * PAGE_EVERY_S


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


def video(link: Link, controller: Any) -> list[dict[str, Any]]:
    """A player that fetches an adaptive video."""
    settings = VIDEO | {"length": f"{VIDEO_S}s"}
    return [compared(link, "video", controller, {"video": settings})]


def call(link: Link, controller: Any) -> list[dict[str, Any]]:
    """A call over UDP, whose packets share the queues with an endless download."""
    download = compared(link, "download", controller, {"bulk": "unlimited"})
    return [download, talk(link, CALL)]


def talk(link: Link, settings: dict[str, Any]) -> dict[str, Any]:
    """The flow of a call between the ends of the link."""
    transport = {"protocol": "udp"}
    made = {"name": "call", **link.ends, "transport": transport, **link.tunnel}
    return made | {"traffic": {"call": settings}}


def speedtest(link: Link, controller: Any) -> list[dict[str, Any]]:
    """A speed test with its default times and connections."""
    return [compared(link, "speedtest", controller, {"speedtest": {}})]
