"""Totals of mechanisms on the path for the terminal.

A recording has a table for each kind of mechanism that its scenario has. `TABLES` lists for each of
them the columns that the terminal shows, in the order of the output. Series, whose names end with
`_series`, are not printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.console import show, table
from bentpipe.limits import held_back_by, shares
from bentpipe.numbers import decimals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from bentpipe._native import Recording


@dataclass(frozen=True)
class Shown:
    """A column for the terminal: its heading, and its text for a row."""

    heading: str
    text: Callable[[Mapping[str, Any]], str]


def words(column: str, heading: str | None = None) -> Shown:
    """A column of names. The heading is the name of the column unless another one is given."""
    return Shown(f"<{heading or column}", lambda row: str(row[column]))


def number(heading: str, *columns: str, places: int = 0, unit: float = 1) -> Shown:
    """The sum of columns of numbers, with `places` digits after the point, in a `unit`."""

    def text(row: Mapping[str, Any]) -> str:
        values = [row[column] for column in columns]
        unknown = any(value is None for value in values)
        return decimals(None if unknown else sum(values) / unit, places)

    return Shown(heading, text)


def controller_of_leg(row: Mapping[str, Any]) -> str:
    """The controller of a leg, with its protocol if that is not TCP."""
    # Recordings of earlier versions do not name the protocol.
    protocol = row.get("protocol", "tcp")
    return str(row["controller"]) + ("" if protocol == "tcp" else f" ({protocol})")


def filled(row: Mapping[str, Any]) -> str:
    """The airtime of a beam without padding. Packets that come one by one leave much padding."""
    return decimals(100 * row["airtime"] * (1 - (row["padding"] or 0.0)), 1)


def limits_of_leg(row: Mapping[str, Any]) -> str:
    """The limits that held a leg back. Recordings of earlier versions have none."""
    return held_back_by(shares(row.get))


LINK = (words("link"), words("direction"))
"""The columns of mechanisms of links."""
FLOW = (words("flow"), words("direction"))
"""The columns of applications with data in both directions."""
LEG = (words("flow"), number("leg", "leg"))
"""The columns of what an end of a leg counts."""

SPLIT_FLOWS = (
    "Flows that a gateway splits have counts of all legs and no RTT: no connection spans the path. "
    "Delivery is one-way, from host to host."
)
"""The sentence below the table of legs."""

TABLES: Mapping[str, tuple[Shown, ...]] = {
    "aqm": (
        *LINK,
        words("aqm"),
        number("dropped", "dropped_packets"),
        number("marked", "marked_packets"),
        number("mean queue delay ms", "mean_queue_delay_ms", places=2),
        number("max ms", "max_queue_delay_ms", places=2),
    ),
    "legs": (
        words("flow"),
        Shown("<leg", lambda row: f"{row['from']} -> {row['to']}"),
        Shown("<controller", controller_of_leg),
        number("bytes", "bytes"),
        number("sent", "segments_sent"),
        number("retransmitted", "segments_retransmitted"),
        number("timeouts", "timeouts"),
        number("RTT ms", "srtt_ms", places=1),
        number("held", "held_bytes", "discarded_bytes"),
        Shown("<held back by", limits_of_leg),
    ),
    "delivery": (
        words("flow"),
        number("median delivery ms", "median_ms", places=1),
        number("p95 ms", "p95_ms", places=1),
        number("p99 ms", "p99_ms", places=1),
        number("max ms", "max_ms", places=1),
    ),
    "proxies": (
        words("node", "split proxy"),
        number("connections split early", "early_connections"),
        number("late", "late_connections"),
        number("failed", "failed_connections"),
        number("passed", "passed_connections"),
        number("refused", "refused_connections"),
        number("max open", "max_open_connections"),
    ),
    "middlebox": (
        words("node"),
        words("middlebox"),
        words("counter"),
        number("packets", "packets"),
    ),
    "arq": (
        *LINK,
        words("arq"),
        number("frames", "frames"),
        number("repeats", "repeated_frames"),
        number("given up", "given_up_packets"),
        number("timeouts", "timeouts"),
        number("status", "status_frames"),
        number("held", "held_packets"),
    ),
    "fec": (
        *LINK,
        words("fec"),
        number("data", "data_packets"),
        number("parity", "parity_packets"),
        number("repaired", "repaired_packets"),
        number("lost", "lost_packets"),
        number("held", "held_packets"),
    ),
    "acm": (
        *LINK,
        words("acm", "modem"),
        number("mean Mbit/s", "mean_rate_bps", places=3, unit=1e6),
        number("min Mbit/s", "min_rate_bps", places=3, unit=1e6),
        number("changes", "changes"),
        number("lost s", "lost_s", places=3),
    ),
    "feedback": (
        *LINK,
        words("feedback"),
        number("treated", "treated_packets"),
        number("lowered", "lowered_packets"),
        number("denied", "denied_packets"),
        number("reports", "reports"),
        number("without the field", "other_packets"),
    ),
    "demand": (
        *LINK,
        words("demand"),
        number("requests", "requests"),
        number("slots used", "cra_slots", "vbdc_slots", "fca_slots"),
        number("unused", "unused_slots"),
        number("mean delay ms", "mean_access_delay_ms", places=1),
        number("max ms", "max_access_delay_ms", places=1),
    ),
    "beams": (
        words("beam"),
        number("terminals", "terminals"),
        number("airtime %", "airtime", places=1, unit=0.01),
        Shown("filled %", filled),
        number("padding %", "padding", places=1, unit=0.01),
        number("forward Mbit/s", "forward_bps", places=3, unit=1e6),
        number("return Mbit/s", "return_bps", places=3, unit=1e6),
        number("slots", "slots"),
        number("CRA used", "cra_used_slots"),
        number("requested", "rate_slots", "volume_slots"),
        number("used", "rate_used_slots", "volume_used_slots"),
        number("FCA used", "fca_used_slots"),
        number("at random", "random_bursts"),
        number("decoded", "random_decoded"),
    ),
    "beam_modcods": (
        words("beam"),
        words("modcod", "modulation and code"),
        number("frames", "frames"),
        number("airtime %", "airtime", places=1, unit=0.01),
        number("used kB", "used_bytes", places=1, unit=1e3),
        number("padding kB", "padding_bytes", places=1, unit=1e3),
    ),
    "beam_groups": (
        words("group"),
        words("direction"),
        number("terminals", "terminals"),
        number("Mbit/s", "rate_bps", places=3, unit=1e6),
        number("p5 kbit/s", "p5_rate_bps", places=1, unit=1e3),
        number("p50 kbit/s", "p50_rate_bps", places=1, unit=1e3),
        number("p95 kbit/s", "p95_rate_bps", places=1, unit=1e3),
        number("Jain", "jain", places=3),
        number("dropped", "dropped_packets"),
        number("median delay ms", "median_delay_ms", places=1),
        number("p95 ms", "p95_delay_ms", places=1),
    ),
    "beam_classes": (
        words("class"),
        words("group"),
        words("direction"),
        number("packets", "packets"),
        number("median delay ms", "median_delay_ms", places=1),
        number("p95 ms", "p95_delay_ms", places=1),
        number("max ms", "max_delay_ms", places=1),
    ),
    "beam_background": (
        words("group"),
        words("flow"),
        number("transfers", "transfers"),
        number("cut short", "cut"),
        number("data MB", "bytes", places=1, unit=1e6),
        number("FCT p50 s", "median_s", places=2),
        number("FCT p95 s", "p95_s", places=2),
    ),
    "shaper": (
        *LINK,
        number("sent", "sent_packets"),
        number("sent kB", "sent_bytes", places=1, unit=1e3),
        number("limited", "limited_packets"),
    ),
    "policer": (
        *LINK,
        number("passed", "passed_packets"),
        number("dropped", "dropped_packets"),
        number("passed kB", "passed_bytes", places=1, unit=1e3),
        number("dropped kB", "dropped_bytes", places=1, unit=1e3),
    ),
    "trace": (
        *LINK,
        number("trace starts at s", "start_s", places=3),
        number("length s", "length_s", places=3),
        number("lost", "lost_packets"),
    ),
    "header_compression": (
        *LINK,
        words("scheme"),
        number("packets", "packets"),
        number("headers kB", "header_bytes", places=1, unit=1e3),
        number("on the link kB", "sent_header_bytes", places=1, unit=1e3),
        number("undecodable", "undecodable_packets"),
        number("refreshes", "refreshes"),
        number("feedback", "feedback_packets"),
    ),
    "impairments": (
        *LINK,
        number("sent at once", "reordered_packets"),
        number("copies", "duplicated_packets"),
    ),
    "mtu": (
        *LINK,
        number("MTU B", "mtu_bytes"),
        number("too long", "too_big_packets"),
        words("icmp", "ICMP"),
        number("messages", "icmp_packets"),
    ),
    "tunnel": (
        words("from"),
        words("to"),
        words("protocol"),
        number("MTU B", "mtu_bytes"),
        number("packets", "packets"),
        number("inside kB", "inner_bytes", places=1, unit=1e3),
        number("outside kB", "outer_bytes", places=1, unit=1e3),
        number("set-up", "set_up_packets"),
        number("discarded", "discarded_packets"),
        number("too long", "too_big_packets"),
        number("opened at s", "opened_s", places=3),
    ),
    "tunnel_end": (
        number("tunnel", "tunnel"),
        words("node"),
        words("controller"),
        number("packets", "packets"),
        number("ACKs", "ack_packets"),
        number("lost", "lost_packets"),
        number("retransmitted", "retransmitted_packets"),
        number("probes", "probe_timeouts"),
        number("dropped", "dropped_packets"),
        number("longest queue kB", "max_queue_bytes", places=1, unit=1e3),
        number("window kB", "window_bytes", places=1, unit=1e3),
        number("RTT s", "srtt_s", places=3),
    ),
    "switch": (
        words("router"),
        words("to"),
        words("via"),
        number("packets", "packets"),
        number("kB", "bytes", places=1, unit=1e3),
        number("moves", "moves"),
        number("moved at s", "moved_s", places=3),
        number("probes sent", "sent_probes"),
        number("probes received", "received_probes"),
    ),
    "path_changes": (
        words("flow"),
        words("rule"),
        number("changes", "changes"),
        number("detected", "detected"),
        number("missed", "missed"),
        number("false alarms", "false_alarms"),
        number("mean delay ms", "mean_delay_ms", places=1),
        number("max delay ms", "max_delay_ms", places=1),
        number("mean error ms", "mean_error_ms", places=1),
    ),
    "path_mtu": (
        *LEG,
        number("MSS B", "mss_bytes"),
        number("ICMP", "icmp_reductions"),
        number("ignored", "icmp_ignored"),
        number("probes", "probes"),
        number("passed", "probe_successes"),
        number("lost", "probe_failures"),
        number("black holes", "black_holes"),
        number("cached", "cache_hits"),
    ),
    "ack_control": (
        *LEG,
        number("ACK ratio", "ratio"),
        number("max ratio", "ratio_max"),
        number("ACKs missing", "acks_missing"),
        number("ACKs marked", "acks_marked"),
        number("increases", "increases"),
        number("options sent", "options"),
    ),
    "loss_notices": (
        *LEG,
        number("loss notices", "notices"),
        number("recoveries at full window", "spared_recoveries"),
        number("reduced later", "withdrawn_recoveries"),
    ),
    "best_effort": (
        words("flow"),
        number("missing kB", "skipped_bytes", places=1, unit=1e3),
        number("holes", "skipped_holes"),
        number("given up kB", "given_up_bytes", places=1, unit=1e3),
        number("holes", "given_up_holes"),
    ),
    "call": (
        *FLOW,
        words("codec"),
        number("sent", "sent_packets"),
        number("lost or late %", "loss", places=2, unit=0.01),
        number("network ms", "mean_delay_ms", places=1),
        number("jitter ms", "jitter_ms", places=1),
        number("mouth to ear ms", "mouth_to_ear_ms", places=1),
        number("R", "rating", places=1),
        number("MOS", "mos", places=2),
        number("MOS without echo", "mos_without_echo", places=2),
    ),
    "messages": (
        *FLOW,
        number("sent", "sent_messages"),
        number("arrived", "arrived_messages"),
        number("p50 ms", "p50_delay_ms", places=1),
        number("p95 ms", "p95_delay_ms", places=1),
        number("p99 ms", "p99_delay_ms", places=1),
        number("> 100 ms %", "above_100ms", places=1, unit=0.01),
        number("> 150 ms %", "above_150ms", places=1, unit=0.01),
        number("> 300 ms %", "above_300ms", places=1, unit=0.01),
    ),
    "responses": (
        words("flow"),
        number("requests", "requests"),
        number("answers", "answers"),
        number("response p50 ms", "p50_response_ms", places=1),
        number("p95 ms", "p95_response_ms", places=1),
        number("p99 ms", "p99_response_ms", places=1),
        number("max ms", "max_response_ms", places=1),
        number("> deadline %", "above_deadline", places=1, unit=0.01),
    ),
    "video": (
        words("flow"),
        words("rule"),
        number("start-up s", "start_up_s", places=2),
        number("stalls", "stalls"),
        number("stalled s", "stalled_s", places=2),
        number("mean Mbit/s", "mean_bitrate_bps", places=3, unit=1e6),
        number("switches", "switches"),
        number("given up", "given_up"),
        number("window restarts", "window_restarts"),
        number("reward", "reward", places=2),
    ),
    "speedtest": (
        words("flow"),
        number("down Mbit/s", "download_bps", places=2, unit=1e6),
        number("up Mbit/s", "upload_bps", places=2, unit=1e6),
        number("idle ms", "idle_latency_ms", places=1),
        number("down ms", "download_latency_ms", places=1),
        number("up ms", "upload_latency_ms", places=1),
        number("round trips/min", "responsiveness_rpm"),
    ),
    "sessions": (
        words("flow"),
        words("application"),
        number("session", "session"),
        number("start s", "start_s", places=1),
        number("duration s", "duration_s", places=1),
        Shown("<complete", lambda row: "yes" if row["completed"] else "no"),
    ),
}
BY_FLOW = {
    name for name, columns in TABLES.items() if any(column.heading == "<flow" for column in columns)
} - {"beam_background"}
"""Tables with rows for each flow, of which a beam has thousands. Flows in the background have one
row for all copies."""
MOST_ROWS = {"sessions": 30}
"""Rows of tables that are long in usual runs. The recording has the others."""


def print_on_path(recording: Recording) -> None:
    """Print a table for each kind of mechanism. Only runs with any import data frames.

    Tables with a row for each flow are named only in runs with a beam, which have quantiles of
    flows and of legs.
    """
    recorded = set(recording.names)
    for name, columns in TABLES.items():
        if name in recorded and not ("beams" in recorded and name in BY_FLOW):
            listed = table(*(column.heading for column in columns))
            rows = totals_of(recording, name)
            for row in rows.head(MOST_ROWS.get(name, rows.height)).iter_rows(named=True):
                listed.add_row(*(column.text(row) for column in columns))
            show(listed)
            if rows.height > MOST_ROWS.get(name, rows.height):
                print_counts(rows, MOST_ROWS[name])
    if {"legs", "beams"} <= recorded:
        from bentpipe.printing.flow_groups import LEG_HEADINGS, leg_groups

        listed = table(*LEG_HEADINGS)
        for cells in leg_groups(recording):
            listed.add_row(*cells)
        show(listed)
    left_out = [name for name in recording.names if name in BY_FLOW - {"legs"}]
    if "beams" in recorded and left_out:
        show(f"With a row for each flow, and so in the recording only: {', '.join(left_out)}.")
    if "legs" in recorded:
        show(SPLIT_FLOWS)
    if "mtu" in recorded:
        print_black_holes(recording)


def totals_of(recording: Recording, name: str) -> pl.DataFrame:
    """A table, with one row for all terminals of a group where it would have thousands."""
    if "beams" in recording.names:
        from bentpipe.printing.flow_groups import OF_TERMINALS, one_per_group

        if name in OF_TERMINALS:
            return one_per_group(recording, name)
    return recording.table(name)


def print_counts(sessions: pl.DataFrame, shown: int) -> None:
    """Print the number of sessions of each application, of which the table has the first."""
    said = [
        f"{name}: {rows.height} begun, {rows['completed'].sum()} complete"
        for (name,), rows in sessions.group_by("application", maintain_order=True)
    ]
    show(f"The first {shown} of {sessions.height} sessions. {'; '.join(said)}.")


def print_black_holes(recording: Recording) -> None:
    """Print the links where packets vanished without a message, if flows have stalled."""
    from bentpipe.printing.flow_groups import stem

    names = [flow.flow for flow in recording.flows if not (flow.completed or flow.bytes)]
    if "beams" in recording.names:
        names = [stem(name) for name in names]
    stalled = list(dict.fromkeys(names))
    for row in recording.table("mtu").iter_rows(named=True):
        if stalled and row["icmp"] == "filtered" and row["too_big_packets"]:
            show(
                f"Black hole: {row['too_big_packets']:,} packets of more than "
                f"{row['mtu_bytes']:,} bytes vanished before {row['link']} {row['direction']}, "
                f"where ICMP is filtered. Nothing arrived for {', '.join(stalled)}."
            )
