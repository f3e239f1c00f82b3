"""Totals of a recording for the terminal."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from bentpipe.console import show, table
from bentpipe.counts import fairness, has_other_protocols, packets, timers
from bentpipe.limits import held_back_by, is_measured, shares_of
from bentpipe.loads import HEADINGS, rows
from bentpipe.numbers import decimals, percent
from bentpipe.printing.mechanisms import print_on_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from bentpipe._native import KernelQuality, KernelSetting, Recording


def tables_of(recording: Recording) -> list[Table]:
    """Tables of flows, of what held them back, and of links.

    Flows of a beam are thousands: copies of one `[[flow]]` are a row.
    """
    if "beams" in recording.names:
        from bentpipe.printing.flow_groups import flow_groups

        return [flow_groups(recording.flows), link_table(recording)]
    probing = any(flow.tcp and flow.tcp.probes_sent for flow in recording.flows)
    # The kernel reports a smoothed RTT and no samples.
    smoothed = recording.kernel is not None
    named = has_other_protocols(recording.flows)
    flows = table(
        "flow", "<controller", *(["<transport"] if named else []), "data MB", "FCT s",
        "goodput Mbit/s", "segments sent", "retransmitted", *(["probes"] if probing else []),
        "timeouts", *(["srtt ms"] if smoothed else ["median RTT ms", "p95 RTT ms"]),
    )  # fmt: skip
    for flow in recording.flows:
        tcp = flow.tcp
        timed = timers(flow)
        sent = packets(flow)
        flows.add_row(
            flow.flow,
            flow.controller,
            *([flow.protocol] if named else []),
            decimals(flow.bytes / 1e6, 2),
            decimals(flow.completion_s, 2),
            decimals(flow.goodput_bps / 1e6, 4),
            decimals(sent and sent.segments_sent, 0),
            decimals(sent and sent.segments_retransmitted, 0),
            *([decimals(tcp and tcp.probes_sent, 0)] if probing else []),
            decimals(timed and timed.timeouts, 0),
            *(
                decimals(rtt, 1)
                for rtt in ([flow.srtt_ms] if smoothed else [flow.median_rtt_ms, flow.p95_rtt_ms])
            ),
        )
    return [
        flows,
        *page_tables(recording),
        *limit_tables(recording),
        *quic_tables(recording),
        link_table(recording),
    ]


def link_table(recording: Recording) -> Table:
    """A table of links."""
    links = table(
        "link", "<direction", "utilisation %", "delivered", "dropped", "corrupted",
        "p95 queueing delay ms", "max queue kB",
    )  # fmt: skip
    for link in recording.links:
        links.add_row(
            link.link,
            link.direction,
            percent(link.utilisation),
            decimals(link.delivered_packets, 0),
            decimals(link.dropped_packets, 0),
            decimals(link.corrupted_packets, 0),
            decimals(link.p95_queueing_delay_ms, 1),
            decimals(link.max_queue_bytes / 1e3, 1),
        )
    return links


def print_recording(recording: Recording) -> None:
    """Print tables of flows and links."""
    index = fairness(recording)
    jain = "" if index is None else f", Jain index {index:.4f}"
    show(*tables_of(recording))
    print_on_path(recording)
    kernel = recording.kernel
    if kernel:
        print_settings(kernel)
        show(f"{recording.simulated_s:,.1f} s in real time, seed {recording.seed}{jain}")
        print_quality(kernel)
    else:
        show(
            f"{recording.simulated_s:,.1f} s simulated in {recording.wall_s:.3f} s, "
            f"{recording.events:,} events, seed {recording.seed}{jain}"
        )
    print_aborted(recording)
    if recording.partial:
        show("Interrupted: this recording is partial.")


def limit_tables(recording: Recording) -> list[Table]:
    """Limits that held the flows back, if a flow measures them."""
    if not is_measured(recording.flows):
        return []
    # The kernel reports two limits, and the time with data to send or to be acknowledged.
    whole = "time s" if recording.kernel is None else "busy s"
    limits = table("flow", whole, "<held back by")
    for flow in recording.flows:
        limits.add_row(flow.flow, decimals(flow.limited_s, 2), held_back_by(shares_of(flow)))
    return [limits]


def page_tables(recording: Recording) -> list[Table]:
    """Loads of pages with the parts of their critical path, if a flow loads any."""
    if "page_loads" not in recording.names:
        return []
    pages = table(*HEADINGS)
    for row in rows(recording.table("page_loads")):
        pages.add_row(*row)
    return [pages]


def quic_tables(recording: Recording) -> list[Table]:
    """Frames of the flows with QUIC, if there are any."""
    found = [(flow.flow, flow.quic) for flow in recording.flows if flow.quic]
    if not found:
        return []
    frames = table(
        "flow (QUIC)", "ACKs", "ACK_FREQUENCY", "IMMEDIATE_ACK", "MTU probes", "lost",
        "black holes", "persistent congestion",
    )  # fmt: skip
    for name, quic in found:
        counts = (
            quic.acks_sent, quic.ack_frequency_sent, quic.immediate_acks_sent,
            quic.mtu_probes_sent, quic.mtu_probes_lost, quic.black_holes,
            quic.persistent_congestions,
        )  # fmt: skip
        frames.add_row(name, *(decimals(count, 0) for count in counts))
    return [frames]


def print_aborted(recording: Recording) -> None:
    """Print why flows were aborted; their number in a run with a beam."""
    if "beams" in recording.names:
        number = sum(bool(flow.aborted) for flow in recording.flows)
        if number:
            show(f"{number:,} flows were aborted. --json has the causes.")
        return
    for flow in recording.flows:
        if flow.aborted:
            error = flow.quic and flow.quic.error
            show(f"{flow.flow} was aborted: {flow.abort_cause}{f' ({error})' if error else ''}")


def print_applied(settings: Sequence[KernelSetting]) -> None:
    """Print what the kernel makes of each setting, of flows and of sides of gateways."""
    listed = table("flow or side", "<setting", "<scenario", "<verdict", "<kernel")
    for row in settings:
        listed.add_row(row.flow, row.setting, row.asked, row.verdict, row.kernel)
    show(listed)


def print_settings(kernel: KernelQuality) -> None:
    """Print the settings that the kernel approximates."""
    listed = table("flow", "<setting", "<scenario", "<applied by the kernel")
    for row in kernel.settings:
        if row.verdict == "approximated":
            listed.add_row(row.flow, row.setting, row.asked, row.kernel)
    show(listed)


def print_quality(kernel: KernelQuality, file: IO[str] | None = None) -> None:
    """Print the accuracy of the emulation, and whether the run is valid."""
    rates = "".join(
        f"; {rate.link} {rate.direction}: {decimals(rate.achieved_bps / 1e6, 3)} of "
        f"{decimals(rate.configured_bps / 1e6, 3)} Mbit/s"
        for rate in kernel.rates
        if rate.achieved_bps is not None
    )
    verdict = (
        "valid"
        if kernel.valid
        else f"INVALID: expected a p99 of at most {kernel.tolerance_ms:g} ms and no lost packets"
    )
    errors = (
        f"delay error of {kernel.timed_packets:,} packets: p50 {kernel.delay_error_p50_ms:.3f} ms, "
        f"p99 {kernel.delay_error_p99_ms:.3f} ms, max {kernel.delay_error_max_ms:.3f} ms"
    )
    if not kernel.timed_packets:
        errors = "no packet crossed a link, so the delay error is unknown"
        verdict = "nothing was measured" if kernel.valid else verdict
    print(
        f"Linux {kernel.release}, {errors}; {kernel.lost_packets:,} lost outside links"
        f"{rates}; {verdict}",
        file=file,
    )
