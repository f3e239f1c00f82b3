"""What limits an application, from what the runs have recorded: a place and a sentence.

The places are `path` (propagation, losses, the rate of the link), `queue`, `host` (controller,
buffers, computations), `server`, `proxy`, and `none`. Each value is a mean over the runs.

- A page has the parts of its critical path: round trips (names, connections, TLS, requests) are the
  path, computations and waits for a connection the host. Transfer is what held the flow back.
- A flow has the shares of its time in `limited_by`, without the time in which the application had
  nothing to send. A standing queue is one in which the p95 RTT is at least 1.5 times the minimum.
- A call has the parts of its delay from mouth to ear, each the larger one of both directions.
- A flow that a proxy splits has shares for each leg. The leg that waits least for data limits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bentpipe.limits import LIMITS, held_back_by
from bentpipe.loads import PARTS
from bentpipe.numbers import count, percent, significant, without_rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

Place = Literal["path", "queue", "host", "server", "proxy", "none"]
STANDING = 1.5
"""The p95 RTT, or the latency under load, as a multiple of the smallest at which a queue stands."""
NOTICEABLE_LOSS = 0.01
"""Share of packets lost or late that a sentence about a call names. Our choice."""

ABOVE_THE_LINK = (
    "data that had arrived during the warm-up, and waited for a retransmission, counts too"
)
"""The reason why a speed test may have more than the rate of the link."""

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
    "video": ("video", ("window_restarts", "fetched")),
    "call": (
        "call",
        ("min_delay_ms", "mean_delay_ms", "mouth_to_ear_ms", "loss", "late_packets",
         "sent_packets"),
    ),
    "messages": ("responses", ("min_response_ms", "p95_response_ms")),
    "speedtest": (
        "speedtest",
        ("idle_latency_ms", "p95_download_latency_ms", "download_bps"),
    ),
}  # fmt: skip
"""Table and columns by the kind of application."""
OF_FLOWS = (*LIMITS, "min_rtt_ms", "p95_rtt_ms")
"""Columns of flows."""


def evidence(key: str, flow: str) -> list[str]:
    """The quantities that the limit of an application is found from."""
    found = [f"flow.{flow}.{column}" for column in OF_FLOWS]
    table, columns = EVIDENCE.get(key, ("", ()))
    if key == "call":
        return found + [of_worse(flow, column) for column in columns]
    return found + [f"{table}.{flow}.{column}" for column in columns]


def of_worse(flow: str, column: str) -> str:
    """A quantity of a call: the largest value of both directions."""
    return f"max(call.{flow}.{column})"


def limit(
    key: str,
    flow: str,
    of: Callable[[str], float | None],
    *,
    legs: Sequence[Mapping[str, object]] = (),
    rate_bps: float | None = None,
) -> Limit:
    """The limit of an application.

    `of` returns the mean of a quantity, `legs` are rows of the table `legs`, and `rate_bps` is the
    rate of the bottleneck.
    """
    found = {
        "page": of_page,
        "call": of_call,
        "messages": of_messages,
        "video": of_video,
    }.get(key)
    if key == "speedtest":
        made = of_test(flow, of, rate_bps)
    else:
        made = found(flow, of) if found else of_flow(flow, of)
    return with_proxy(made, legs) if legs else made


def of_page(flow: str, of: Callable[[str], float | None]) -> Limit:
    """The largest of the groups of parts of the critical path."""
    load = of(f"page_loads.{flow}.load_s")
    if not load:
        said = "In every run a load was not complete, so the critical path has no mean."
        return Limit("none", said)
    parts = {column: of(f"page_loads.{flow}.{column}") or 0.0 for column in PARTS}
    transfer = of_flow(flow, of)
    groups: dict[Place, float] = {}
    for column, seconds in parts.items():
        place = PAGE_PARTS.get(column, transfer.by)
        groups[place] = groups.get(place, 0.0) + seconds
    by = max(groups, key=lambda place: groups[place])
    shares = {
        PARTS[column]: parts[column] / load for column in sorted(parts, key=lambda c: -parts[c])
    }
    trips = of(f"page_loads.{flow}.round_trips")
    sentence = f"Critical path of {count(trips or 0)} round trips: {held_back_by(shares)}."
    if by == transfer.by and parts["transfer_s"]:
        sentence += f" In transfers: {transfer.sentence[0].lower()}{transfer.sentence[1:]}"
    return Limit(by, sentence)


def of_flow(flow: str, of: Callable[[str], float | None]) -> Limit:
    """The largest share of the time in which the flow had data to send."""
    shares = {column: of(f"flow.{flow}.{column}") for column in PLACES}
    known = {column: share for column, share in shares.items() if share}
    low, high = of(f"flow.{flow}.min_rtt_ms"), of(f"flow.{flow}.p95_rtt_ms")
    if not known:
        return Limit("none", "The recording has no limits of the flow.")
    waits = of(f"flow.{flow}.{WAITS}") or 0.0
    column = max(known, key=lambda one: known[one])
    idle = f", and the application for {percent(waits, 2)} %" if waits >= 0.05 else ""
    said = f"{LIMITS[column]} for {percent(known[column], 2)} % of the flow's time{idle}"
    if low and high and high >= STANDING * low and column == "limited_by_congestion_window":
        return Limit(
            "queue",
            f"A standing queue: p95 RTT {significant(high)} ms, smallest {significant(low)} ms;"
            f" {said}.",
        )
    return Limit(PLACES[column], f"{said[0].upper()}{said[1:]}.")


def of_video(flow: str, of: Callable[[str], float | None]) -> Limit:
    """The limit of the flow, with the restarts of its window."""
    found = of_flow(flow, of)
    restarts, fetched = (of(f"video.{flow}.{one}") for one in ("window_restarts", "fetched"))
    if not restarts:
        return found
    more = (
        f" The congestion window started again after a pause {significant(restarts, 3)} times in"
        f" {significant(fetched, 3)} segments."
    )
    return Limit(found.by, found.sentence + more)


def of_call(flow: str, of: Callable[[str], float | None]) -> Limit:
    """The largest part of the delay from mouth to ear, and losses."""
    names = ("min_delay_ms", "mean_delay_ms", "mouth_to_ear_ms", "loss")
    low, mean, whole, loss = (of(of_worse(flow, name)) for name in names)
    if low is None or mean is None or whole is None:
        return Limit("none", "No packet of the call arrived.")
    queued, held = (without_rounding(one, whole) for one in (mean - low, whole - mean))
    parts: dict[Place, float] = {"path": low, "queue": max(queued, 0.0), "host": held}
    by = max(parts, key=lambda place: parts[place])
    sentence = (
        f"Of {significant(whole)} ms from mouth to ear, {significant(low)} ms are the path,"
        f" {significant(parts['queue'], 3)} ms queues, and {significant(held, 3)} ms"
        " packets and jitter buffer."
    )
    if loss is not None and loss >= NOTICEABLE_LOSS:
        late, sent = (of(of_worse(flow, name)) for name in ("late_packets", "sent_packets"))
        share = late / sent if late is not None and sent else 0.0
        sentence += f" Lost or late: {percent(loss, 2)} %, of which late {percent(share, 2)} %."
        by = "queue" if share >= loss / 2 else "path"
    return Limit(by, sentence)


def of_messages(flow: str, of: Callable[[str], float | None]) -> Limit:
    """The smallest response, and what queues and retransmissions add to it."""
    low, high = (of(f"responses.{flow}.{name}") for name in ("min_response_ms", "p95_response_ms"))
    if low is None or high is None:
        return Limit("none", "No answer arrived.")
    said = f"The smallest response is {significant(low)} ms, the p95 {significant(high)} ms."
    return Limit("queue" if high >= STANDING * low else "path", said)


def of_test(flow: str, of: Callable[[str], float | None], rate_bps: float | None) -> Limit:
    """The latency under load, and the share of the link's rate."""
    names = ("idle_latency_ms", "p95_download_latency_ms", "download_bps")
    idle, loaded, rate = (of(f"speedtest.{flow}.{name}") for name in names)
    if idle is None or loaded is None or rate is None:
        return Limit("none", "The test has no result.")
    share = f", which is {percent(rate / rate_bps, 2)} % of the link's rate" if rate_bps else ""
    if rate_bps and rate > rate_bps:
        share += f" ({ABOVE_THE_LINK})"
    said = (
        f"Latency without load {significant(idle)} ms, p95 under the download"
        f" {significant(loaded)} ms; the download has {significant(rate / 1e6)} Mbit/s{share}."
    )
    if loaded >= STANDING * idle:
        return Limit("queue", said)
    if rate_bps and rate >= 0.85 * rate_bps:
        return Limit("path", said)
    found = of_flow(flow, of)
    return Limit(found.by, f"{said} {found.sentence}")


def with_proxy(found: Limit, legs: Sequence[Mapping[str, object]]) -> Limit:
    """The leg that waits least for data, in the words of the proxy or of the host that sends it."""
    measured = [leg for leg in legs if isinstance(leg.get(WAITS), float)]
    if not measured:
        return found
    slow = min(measured, key=lambda leg: number(leg[WAITS]))
    shares = {column: number(slow.get(column)) for column in PLACES}
    column = max(shares, key=lambda one: shares[one])
    is_first = slow is measured[0]
    said = (
        f" A proxy splits the flow. Its leg from {slow['from']} to {slow['to']} waits least for"
        f" data: {LIMITS[column]} for {percent(shares[column], 2)} % of its time."
    )
    return Limit(found.by if is_first else "proxy", found.sentence + said)


def number(value: object) -> float:
    """A value of a row; zero if it is not known."""
    return value if isinstance(value, float) else 0.0


def legs_of(table: pl.DataFrame, flow: str) -> list[dict[str, object]]:
    """The legs of a flow, in the order in which the data passes."""
    return list(table.filter(table["flow"] == flow).iter_rows(named=True))
