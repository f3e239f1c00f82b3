"""What limits an application, from what the runs have recorded: a place and a sentence.

The places are `path` (propagation, slots, outages, losses, the rate of the link), `queue`, `host`
(controller, buffers, computations), `server`, `proxy`, and `none`. Each value is a mean over the
runs.

- A page has the parts of its critical path: round trips (names, connections, TLS, requests) are the
  path, computations and waits for a connection the host. Transfer is what held the flow back. The
  share of a round trip that is queues counts for the queue.
- A flow has the shares of its time in `limited_by`, without the time in which the application had
  nothing to send, and the outages of its path.
- A queue stands if the median waits in the queues of a round trip are at least half of the largest
  round trip without queues.
- A call has the parts of its delay from mouth to ear in the direction with the larger delay.
- Losses are those of the queue if queues dropped more packets than the channels corrupted.
- A flow that a proxy splits has shares for each leg. The leg that waits least for data limits it.

The base delays and the queues of a path are those of a `Route`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bentpipe.experience.routes import TAIL
from bentpipe.limits import LEAST, LIMITS, held_back_by
from bentpipe.loads import PARTS
from bentpipe.numbers import count, percent, plain, significant, without_rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bentpipe.experience.rates import Rate
    from bentpipe.experience.routes import Route, Split, Way

    Of = Callable[[str], float | None]

Place = Literal["path", "queue", "host", "server", "proxy", "none"]
STANDING = 1.5
"""A delay with queues, as a multiple of that without, from which on a queue limits. Our choice."""
LEAST_OUTAGE = 0.05
"""The smallest share of its time in which the path of a flow is out that a sentence names."""
NOTICEABLE_LOSS = 0.01
"""Share of packets or messages lost that a sentence names. Our choice."""
FULL = 0.85
"""The share of the bottleneck's rate from which on a speed test is limited by it. Our choice."""

TWICE_JITTER = "twice-jitter"
"""The jitter buffer whose delay counts from the mean delay. Others count from the smallest."""

ABOVE_THE_LINK = (
    "data that had arrived during the warm-up, and waited for a retransmission, counts too"
)
"""The reason why a speed test may have more than the rate of the link."""

NO_LIMITS = "The recording has no limits of the flow."
WAITS = "limited_by_application"
PLACES: Mapping[str, Place] = {
    "limited_by_set_up": "path",
    "limited_by_recovery": "path",
    "limited_by_congestion_window": "host",
    "limited_by_receive_window": "host",
    "limited_by_send_buffer": "host",
    "limited_by_pacing": "host",
}
"""The place of each limit of a flow; that of the application is none."""
PAGE_PARTS: Mapping[str, Place] = {
    "dns_s": "path",
    "connect_s": "path",
    "tls_s": "path",
    "round_trip_s": "path",
    "queue_s": "host",
    "compute_s": "host",
    "server_s": "server",
    "delay_s": "server",
}
"""The place of each part of a critical path but the transfer."""


@dataclass(frozen=True)
class Limit:
    """What limits an application. The field names are the JSON names."""

    by: Place
    sentence: str


EVIDENCE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "page": ("page_loads", ("load_s", "round_trips", *PARTS)),
    "video": ("video", ("window_restarts", "fetched", "played_s", "stalled_s")),
    "call": ("call", ("mouth_to_ear_ms", "loss", "late_packets", "sent_packets")),
    "messages": ("responses", ("p95_response_ms", "requests", "answers")),
    "speedtest": (
        "speedtest",
        ("idle_latency_ms", "p95_download_latency_ms", "download_bps"),
    ),
}
"""Table and columns by the kind of application."""
OF_FLOWS = (*LIMITS, "limited_s", "median_rtt_ms", "start_s", "completion_s")
"""Columns of flows."""
DIRECTIONS = ("forward", "backward")
"""Directions of calls."""
OF_DIRECTIONS = ("min_delay_ms", "mean_delay_ms", "mouth_to_ear_ms")
"""Columns of calls that are taken from each direction."""


def evidence(key: str, flow: str) -> list[str]:
    """The quantities that the limit of an application is found from."""
    found = [f"flow.{flow}.{column}" for column in OF_FLOWS]
    table, columns = EVIDENCE.get(key, ("", ()))
    if key != "call":
        return found + [f"{table}.{flow}.{column}" for column in columns]
    found += [of_worse(flow, column) for column in columns]
    places = [f"{flow}.{direction}" for direction in DIRECTIONS]
    return found + [of_worse(place, column) for place in places for column in OF_DIRECTIONS]


def of_worse(flow: str, column: str) -> str:
    """A quantity of a call: the largest value of both directions, or of all copies of one."""
    return f"max(call.{flow}.{column})"


def limit(
    key: str,
    flow: str,
    of: Of,
    route: Route,
    *,
    legs: Sequence[Mapping[str, object]] = (),
    rate: Rate | None = None,
) -> Limit:
    """The limit of an application.

    `of` returns the mean of a quantity. `legs` come from `legs_of`. `rate` is the rate of the
    bottleneck, for a speed test.
    """
    found = {
        "page": of_page,
        "call": of_call,
        "messages": of_messages,
        "video": of_video,
    }.get(key)
    if key == "speedtest":
        made = of_test(flow, of, route, rate)
    else:
        made = found(flow, of, route) if found else of_flow(flow, of, route)
    return with_proxy(made, legs) if legs else made


def of_page(flow: str, of: Of, route: Route) -> Limit:
    """The largest of the groups of parts of the critical path."""
    load, out = of(f"page_loads.{flow}.load_s"), outage(flow, of, route)
    if not load:
        said = "In every run a load was not complete, so the critical path has no mean."
        return Limit("path" if out.share >= 0.5 else "none", said + out.sentence)
    parts = {column: of(f"page_loads.{flow}.{column}") or 0.0 for column in PARTS}
    transfer = of_flow(flow, of, route)
    rtt = round_trip(flow, of, route)
    whole = rtt.path_ms + rtt.slots_ms + rtt.queue_ms
    share = rtt.queue_ms / whole if whole else 0.0
    groups: dict[Place, float] = {}
    for column, seconds in parts.items():
        place = PAGE_PARTS.get(column, transfer.by)
        waits = share * seconds if PAGE_PARTS.get(column) == "path" else 0.0
        groups[place] = groups.get(place, 0.0) + seconds - waits
        groups["queue"] = groups.get("queue", 0.0) + waits
    by = max(groups, key=lambda place: groups[place])
    shares = {
        PARTS[column]: parts[column] / load for column in sorted(parts, key=lambda c: -parts[c])
    }
    trips = of(f"page_loads.{flow}.round_trips")
    sentence = f"Critical path of {count(trips or 0)} round trips: {held_back_by(shares)}."
    if by == transfer.by and parts["transfer_s"]:
        sentence += f" In transfers: {transfer.sentence[0].lower()}{transfer.sentence[1:]}"
    elif by == "queue":
        sentence += f" {percent(share, 2)} % of a round trip is queues."
    return Limit(by, sentence)


@dataclass(frozen=True)
class Out:
    """The outages of a path while a flow is active."""

    seconds: float
    share: float
    sentence: str
    """A sentence with a space before it; empty for outages that are short."""


def outage(flow: str, of: Of, route: Route) -> Out:
    """The outages of the path of a flow, from its start until it completes or the run ends."""
    start_s, length_s = of(f"flow.{flow}.start_s") or 0.0, lasts(flow, of)
    if length_s <= 0:
        return Out(0.0, 0.0, "")
    out_s = route.outage_s(of, start_s, start_s + length_s)
    share = out_s / length_s
    if share < LEAST_OUTAGE:
        return Out(out_s, share, "")
    least = "at least " if route.has_sums else ""
    times = f"{least}{significant(out_s, 3)} s of its {significant(length_s, 3)} s"
    return Out(out_s, share, f" Its path was out for {times}.")


def lost_by(of: Of, route: Route, out: Out) -> Place:
    """The place of losses: the queue if queues dropped more packets than channels corrupted.

    In an outage queues are full because nothing is sent.
    """
    dropped = route.lost_in_queues(of)
    is_queue = out.share < LEAST_OUTAGE and dropped > route.lost_elsewhere(of)
    return "queue" if is_queue else "path"


def round_trip(flow: str, of: Of, route: Route) -> Split:
    """The parts of the median RTT of a flow; of what the path has, if the RTT is not known."""
    ways = (route.forward, route.back)
    rtt = of(f"flow.{flow}.median_rtt_ms")
    if rtt is None:
        rtt = route.low_ms + route.slots_ms + route.queue_ms(of)
    return route.split(of, rtt, ways)


def of_flow(flow: str, of: Of, route: Route, stopped_s: float | None = None) -> Limit:
    """The largest share of the time in which the flow had data to send.

    `stopped_s` is the time in seconds for which an outage stopped the application. By default it is
    what is left of the outage without the time in which the flow may have had nothing to send.
    """
    shares = {column: of(f"flow.{flow}.{column}") for column in PLACES}
    known = {column: share for column, share in shares.items() if share}
    out = outage(flow, of, route)
    if not known:
        return Limit("none", f"{NO_LIMITS}{out.sentence}")
    waits = of(f"flow.{flow}.{WAITS}") or 0.0
    column = max(known, key=lambda one: known[one])
    idle = f", and the application for {percent(waits, 2)} %" if waits >= 0.05 else ""
    said = f"{LIMITS[column]} for {percent(known[column], 2)} % of the flow's time{idle}"
    sentence = f"{said[0].upper()}{said[1:]}.{about_slots(route)}"
    busy_s, length_s = busy(flow, of), lasts(flow, of)
    if stopped_s is None:
        stopped_s = out.seconds - max(0.0, length_s - busy_s * (1 - waits))
    if out.share >= LEAST_OUTAGE and stopped_s > known[column] * busy_s:
        return Limit("path", out.sentence.strip())
    place = PLACES[column]
    if column == "limited_by_recovery":
        place = lost_by(of, route, out)
    rtt, base = round_trip(flow, of, route), route.high_ms + route.slots_ms
    if column == "limited_by_congestion_window" and stands(rtt.queue_ms, base):
        measured = f"{significant(rtt.queue_ms)} ms of the median round trip are queues"
        if not rtt.is_exact:
            measured = waits_in_queues(of, (route.forward, route.back))
        return Limit(
            "queue",
            f"A standing queue: {measured}, and a round trip without them takes at most"
            f" {significant(base)} ms; {said}.{out.sentence}",
        )
    return Limit(place, sentence + out.sentence)


def lasts(flow: str, of: Of) -> float:
    """The seconds from the start of a flow until it completes or the run ends."""
    completion_s = of(f"flow.{flow}.completion_s")
    if completion_s is not None:
        return completion_s
    return (of("simulated_s") or 0.0) - (of(f"flow.{flow}.start_s") or 0.0)


def busy(flow: str, of: Of) -> float:
    """The seconds of a flow that its limits divide. Those of its connections can overlap."""
    return min(lasts(flow, of), of(f"flow.{flow}.limited_s") or 0.0)


def stands(queue_ms: float, base_ms: float) -> bool:
    """True if queues make a delay of `base_ms` without them `STANDING` times as long."""
    return queue_ms >= (STANDING - 1) * base_ms and queue_ms > 0


def about_slots(route: Route) -> str:
    """A sentence on the wait for slots, with a space before it; empty for a short one."""
    base = route.low_ms + route.slots_ms
    if route.slots_ms < LEAST * base:
        return ""
    return (
        f" {significant(route.slots_ms, 3)} ms of a round trip without queues of"
        f" {significant(base)} ms are the wait for slots."
    )


def of_video(flow: str, of: Of, route: Route) -> Limit:
    """The limit of the flow, with the restarts of its window, and what was not played."""
    names = ("window_restarts", "fetched", "played_s", "stalled_s")
    restarts, fetched, played, stalled = (of(f"video.{flow}.{one}") for one in names)
    out_s = outage(flow, of, route).seconds
    found = of_flow(flow, of, route, min(out_s, stalled or 0.0) if played else out_s)
    length = route.settings.get("traffic.video.length")
    more = ""
    if restarts:
        more = (
            f" The congestion window started again after a pause {significant(restarts, 3)} times"
            f" in {significant(fetched, 3)} segments."
        )
    if length and played is not None and without_rounding(length - played, length) > 0:
        more += (
            f" The video did not end: {significant(played, 3)} s of {plain(length)} s were played"
            " until the flow or the run ended."
        )
    return Limit(found.by, found.sentence + more)


def of_call(flow: str, of: Of, route: Route) -> Limit:
    """The largest part of the delay from mouth to ear, and losses."""
    delays = {one: of(of_worse(f"{flow}.{one}", "mouth_to_ear_ms")) for one in DIRECTIONS}
    direction = max(delays, key=lambda one: delays[one] or 0.0)
    low, mean = (
        of(of_worse(f"{flow}.{direction}", name)) for name in ("min_delay_ms", "mean_delay_ms")
    )
    follows_jitter = route.settings.get("traffic.call.jitter_buffer") == TWICE_JITTER
    network = mean if follows_jitter else low
    whole, loss = (of(of_worse(flow, name)) for name in ("mouth_to_ear_ms", "loss"))
    out = outage(flow, of, route)
    if mean is None or network is None or whole is None:
        by: Place = "path" if out.share >= LEAST_OUTAGE else "none"
        return Limit(by, f"No packet of the call arrived.{out.sentence}")
    way = route.ways[direction]
    split = route.split(of, network, (way,))
    held = without_rounding(whole - network, whole)
    if split.is_exact:
        sentence = (
            f"Of {significant(whole)} ms from mouth to ear, {significant(split.path_ms)} ms are the"
            f" path, {queued(split, whole)} queues, and {significant(held, 3)} ms packets and"
            " jitter buffer."
        )
    else:
        sentence = (
            f"Of {significant(whole)} ms from mouth to ear, {significant(held, 3)} ms are packets"
            f" and jitter buffer. {estimated(split, of, route, (way,))}"
        )
    if loss is not None and loss >= NOTICEABLE_LOSS:
        late, sent = (of(of_worse(flow, name)) for name in ("late_packets", "sent_packets"))
        share = late / sent if late is not None and sent else 0.0
        sentence += f" Lost or late: {percent(loss, 2)} %, of which late {percent(share, 2)} %."
        is_late = share >= loss / 2
        by = late_by(of, route, way, mean) if is_late else lost_by(of, route, out)
        return Limit(by, sentence + out.sentence)
    parts: dict[Place, float] = {
        "path": split.path_ms + split.slots_ms,
        "queue": split.queue_ms,
        "host": held,
    }
    return Limit(max(parts, key=lambda place: parts[place]), sentence + out.sentence)


def late_by(of: Of, route: Route, way: Way, mean_ms: float) -> Place:
    """The place of late packets: the queue if it is most of what varies in the mean delay."""
    queue_ms = route.split(of, mean_ms, (way,)).queue_ms
    return "queue" if 2 * queue_ms > mean_ms - way.low_ms else "path"


def queued(split: Split, whole: float) -> str:
    """The queues in a delay, without the rounding of a subtraction: `14.1 ms`."""
    return f"{significant(without_rounding(split.queue_ms, whole), 3)} ms"


def queues(of: Of, route: Route) -> str:
    """The word for queues, with the retransmissions that are in the same delay."""
    return "queues and retransmissions" if route.repeats(of) else "queues"


def waits_in_queues(of: Of, ways: Sequence[Way]) -> str:
    """The measured queues in words."""
    queue_ms = sum(way.queue_ms(of) for way in ways)
    route = "first route" if any(len(way.routes) > 1 for way in ways) else "path"
    return f"the median waits in the queues of its {route} add up to {significant(queue_ms, 3)} ms"


def estimated(split: Split, of: Of, route: Route, ways: Sequence[Way]) -> str:
    """The known parts of a delay that is not their sum: propagation, slots and queues."""
    low, high = (
        significant(sum(ends), 4)
        for ends in ([way.low_ms for way in ways], [way.high_ms for way in ways])
    )
    slots = sum(way.slots_ms for way in ways)
    said = [f"Propagation is {low if low == high else f'{low} to {high}'} ms"]
    if slots and split.slots_ms < slots:
        said.append(f"the wait for slots at most {significant(split.slots_ms, 3)} ms")
    elif slots:
        said.append(f"the wait of a lone packet for slots {significant(slots)} ms")
    said.append(waits_in_queues(of, ways))
    others = " and ".join(route.delaying(ways))
    more = f" {others[0].upper()}{others[1:]} can delay packets too." if others else ""
    return f"{', '.join(said[:-1])}, and {said[-1]}.{more}"


def of_messages(flow: str, of: Of, route: Route) -> Limit:
    """The parts of the p95 of the response, and requests without an answer."""
    names = ("p95_response_ms", "requests", "answers")
    high, requests, answers = (of(f"responses.{flow}.{name}") for name in names)
    out = outage(flow, of, route)
    if high is None:
        by: Place = "path" if out.share >= LEAST_OUTAGE else "none"
        return Limit(by, f"No answer arrived.{out.sentence}")
    ways = (route.forward, route.back)
    split = route.split(of, high, ways)
    if split.is_exact:
        sentence = (
            f"Of {significant(high)} ms of the p95 response, {significant(split.path_ms)} ms are"
            f" the path, and {queued(split, high)} {queues(of, route)}."
        )
    else:
        sentence = (
            f"The p95 response is {significant(high)} ms. {estimated(split, of, route, ways)}"
        )
    share = unanswered(high, requests, answers, route)
    if share >= NOTICEABLE_LOSS:
        sentence += f" {percent(share, 2)} % of the requests have no answer."
        return Limit(lost_by(of, route, out), sentence + out.sentence)
    by = "queue" if stands(split.queue_ms, high - split.queue_ms) else "path"
    return Limit(by, sentence + out.sentence)


def unanswered(
    high_ms: float, requests: float | None, answers: float | None, route: Route
) -> float:
    """The share of requests without an answer, without those of the last `high_ms`."""
    if not requests or answers is None:
        return 0.0
    interval_s = route.settings.get("traffic.messages.interval")
    under_way = high_ms / 1e3 / interval_s + 1 if interval_s else 0.0
    return max(0.0, requests - answers - under_way) / requests


def of_test(flow: str, of: Of, route: Route, rate: Rate | None) -> Limit:
    """The latency under load, and the share of the rate of the bottleneck."""
    names = ("idle_latency_ms", "p95_download_latency_ms", "download_bps")
    idle, loaded, found = (of(f"speedtest.{flow}.{name}") for name in names)
    out = outage(flow, of, route)
    if idle is None or loaded is None or found is None:
        by: Place = "path" if out.share >= 0.5 else "none"
        return Limit(by, f"The test has no result.{out.sentence}")
    share = ""
    if rate:
        share = f", which is {percent(found / rate.bps, 2)} % of {rate.words}"
        share += f" ({ABOVE_THE_LINK})" if found > rate.bps else ""
    said = (
        f"Latency without load {significant(idle)} ms, p95 under the download"
        f" {significant(loaded)} ms; the download has {significant(found / 1e6)} Mbit/s{share}."
    )
    is_full = rate is not None and found >= FULL * rate.bps
    if out.share >= LEAST_OUTAGE and not is_full:
        return Limit("path", said + out.sentence)
    ways = (route.forward, route.back)
    tail_ms = route.forward.queue_ms(of, TAIL) + route.back.queue_ms(of)
    split = route.split(of, loaded, ways, tail_ms)
    if stands(split.queue_ms, loaded - split.queue_ms):
        words = queues(of, route)
        of_latency = f"{queued(split, loaded)} of the latency under the download are {words}"
        measured = (
            "The p95 waits in the queues on the way of the download, and the median waits on the"
            f" way back, add up to {significant(tail_ms, 3)} ms"
        )
        more = of_latency if split.is_exact else measured
        return Limit("queue", f"{said} {more}.")
    if is_full:
        return Limit("path", said)
    limited = of_flow(flow, of, route)
    return Limit(limited.by, f"{said} {limited.sentence}")


def with_proxy(found: Limit, legs: Sequence[Mapping[str, object]]) -> Limit:
    """The leg that waits least for data, in the words of the proxy or of the host that sends it."""
    measured = [leg for leg in legs if isinstance(leg.get(WAITS), float)]
    if not measured:
        return found
    slow = min(measured, key=lambda leg: number(leg[WAITS]))
    shares = {column: number(slow.get(column)) for column in PLACES}
    column = max(shares, key=lambda one: shares[one])
    is_first = slow is measured[0]
    before = found.sentence.removeprefix(NO_LIMITS)
    said = (
        f" A proxy splits the flow. Its leg from {slow['from']} to {slow['to']} waits least for"
        f" data: {LIMITS[column]} for {percent(shares[column], 2)} % of its time."
    )
    return Limit(found.by if is_first else "proxy", f"{before}{said}".lstrip())


def number(value: object) -> float:
    """A value of a row; zero if it is not known."""
    return value if isinstance(value, float) else 0.0
