"""The compiled engine. `scripts/stubs.py` writes the docstrings here: those of its Rust code."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self, final

import polars as pl
from typing_extensions import disjoint_base

from bentpipe.errors import StudyError
from bentpipe.explanation import Explanation
from bentpipe.problems import StudyProblem

__all__ = [
    "Ack",
    "ArrowTable",
    "Capture",
    "CaptureGraph",
    "CapturedConnection",
    "CapturedData",
    "Constellation",
    "Controller",
    "ControllerEntry",
    "ControllerVariant",
    "CwndEpoch",
    "CwndReplay",
    "Feedback",
    "Flow",
    "Hop",
    "HostProfile",
    "HostValue",
    "KernelController",
    "KernelLikeness",
    "KernelParameter",
    "KernelQuality",
    "KernelSetting",
    "KernelUse",
    "Link",
    "LinkRate",
    "Lockstep",
    "Loss",
    "LostSegment",
    "Mechanism",
    "MechanismSetting",
    "Mix",
    "Needs",
    "OrbitGap",
    "OrbitHandover",
    "OrbitSeries",
    "OutputFolder",
    "Page",
    "PageObject",
    "Parameter",
    "PartialAck",
    "PathChange",
    "Quantity",
    "QuicTotals",
    "RateSample",
    "Recording",
    "Scenario",
    "SctpTotals",
    "Sent",
    "Settings",
    "Signal",
    "StepDifference",
    "StepState",
    "StpTotals",
    "StudySource",
    "TcpTotals",
    "TraceRows",
    "Transport",
    "UdpTotals",
    "Window",
    "XtpTotals",
    "_panic",
    "build_profile",
    "capture_graphs",
    "constellations",
    "controllers",
    "dotted_path",
    "group_of_terminal",
    "hosts",
    "kernel_controllers",
    "kernel_likeness",
    "kernel_load",
    "kernel_missing",
    "kernel_set",
    "kernel_settings",
    "kernel_status",
    "kernel_unload",
    "lockstep",
    "mechanisms",
    "mixes",
    "names_a_file",
    "near_names",
    "node_of_address",
    "number_columns",
    "orbit",
    "orbit_columns",
    "orbit_reference",
    "orbit_schema",
    "read_capture",
    "read_trace",
    "record_stubs",
    "reference",
    "replay_cwnd",
    "run",
    "run_many",
    "run_on_kernel",
    "run_study",
    "scenario_files",
    "schema",
    "shell",
    "study_reference",
    "study_schema",
    "tables_of_applications",
    "tables_of_directions",
    "transports",
    "unset_for_programs",
    "version",
]

@final
class Flow:
    """Totals of one flow. Rates are means over the flow's active time."""

    @property
    def flow(self) -> str:
        """Name of the flow."""

    @property
    def controller(self) -> str:
        """Name of the controller; `python:` and its class for one in Python."""

    @property
    def controller_status(self) -> str:
        """Provenance of the controller; an implementation has its release and file in brackets."""

    @property
    def completed(self) -> bool:
        """True if a finite transfer was completed."""

    @property
    def aborted(self) -> bool:
        """True if the transport gave the connection up."""

    @property
    def abort_cause(self) -> str | None:
        """Why the transport gave the connection up, if it did.

        `retransmissions`, `user-timeout`, `keep-alive`, `reset`; with QUIC `idle-timeout` or
        `protocol-error`; or `timed-out` on a kernel, which does not report which of the first
        three.
        """

    @property
    def bytes(self) -> int:
        """Bytes handed to the receiving application."""

    @property
    def start_s(self) -> float:
        """Start of the flow in seconds."""

    @property
    def completion_s(self) -> float | None:
        """Flow completion time in seconds; None if it did not complete."""

    @property
    def goodput_bps(self) -> float:
        """Bits per second handed to the receiving application."""

    @property
    def throughput_bps(self) -> float:
        """Bits per second of payload sent, with retransmissions and the data of probes."""

    @property
    def srtt_ms(self) -> float | None:
        """Smoothed RTT of the data sender at the end in milliseconds; None without a sample."""

    @property
    def min_rtt_ms(self) -> float | None:
        """Minimum RTT of the data sender in milliseconds; None without a sample."""

    @property
    def mean_rtt_ms(self) -> float | None:
        """Mean RTT in milliseconds, exact.

        Over the samples of the flow's retransmission timers (RFC 6298): one for each ACK with
        timestamps or with the recovery of Linux, else one for each round trip. None without a
        sample, and on the kernel, which does not report them.
        """

    @property
    def median_rtt_ms(self) -> float | None:
        """Median of the RTT samples in milliseconds; relative error at most 0.8 %."""

    @property
    def p95_rtt_ms(self) -> float | None:
        """95th percentile of the RTT samples in milliseconds; relative error at most 0.8 %."""

    @property
    def p99_rtt_ms(self) -> float | None:
        """99th percentile of the RTT samples in milliseconds; relative error at most 0.8 %."""

    @property
    def max_rtt_ms(self) -> float | None:
        """Maximum of the RTT samples in milliseconds; exact."""

    @property
    def cwnd_bytes(self) -> int:
        """Congestion window of the data sender at the end in bytes."""

    @property
    def page_response_s(self) -> float | None:
        """Mean response time of the completed pages in seconds; None without one."""

    @property
    def offered_bytes(self) -> int | None:
        """Bytes written by an application with a rate of its own; None for others."""

    @property
    def burst_completion_s(self) -> float | None:
        """Mean time from the start of a burst to its last byte in seconds; None without bursts."""

    @property
    def limited_s(self) -> float | None:
        """Time in seconds that the shares `limited_by_...` divide; None if it is not measured.

        Sum over the connections of the flow: set-up, and the time from the first written to the
        last acknowledged byte. On the kernel the time with data to send or to be acknowledged
        (`tcpi_busy_time`). None of flows that a gateway splits: their legs have it.
        """

    @property
    def limited_by_set_up(self) -> float | None:
        """Share of `limited_s` limited by the set-up of connections, from 0 to 1."""

    @property
    def limited_by_congestion_window(self) -> float | None:
        """Share of `limited_s` limited by the congestion window, from 0 to 1."""

    @property
    def limited_by_receive_window(self) -> float | None:
        """Share of `limited_s` limited by the window of the receiver, from 0 to 1.

        On the kernel `tcpi_rwnd_limited`.
        """

    @property
    def limited_by_send_buffer(self) -> float | None:
        """Share of `limited_s` limited by the send buffer, from 0 to 1.

        All in it was sent, and the application waited for room in it. Zero without
        a send buffer of finite size. On the kernel `tcpi_sndbuf_limited`.
        """

    @property
    def limited_by_application(self) -> float | None:
        """Share of `limited_s` limited by the application, from 0 to 1.

        All that it had written was sent.
        """

    @property
    def limited_by_recovery(self) -> float | None:
        """Share of `limited_s` limited by repairs of losses, from 0 to 1.

        Fast recovery, and the time after a timeout.
        """

    @property
    def limited_by_pacing(self) -> float | None:
        """Share of `limited_s` limited by departure times, from 0 to 1.

        Both windows would have let a segment go.
        """

    @property
    def protocol(self) -> str:
        """Transport protocol: `tcp`, `quic`, `stp`, `scps-tp`, `xtp`, `sctp` or `udp`."""

    @property
    def pages(self) -> list[Page]:
        """Web pages."""

    @property
    def tcp(self) -> TcpTotals | None:
        """Totals of TCP and SCPS-TP; None for another protocol."""

    @property
    def quic(self) -> QuicTotals | None:
        """Totals that only QUIC has; None for another protocol."""

    @property
    def stp(self) -> StpTotals | None:
        """Totals that only STP has; None for another protocol."""

    @property
    def xtp(self) -> XtpTotals | None:
        """Totals that only XTP has; None for another protocol."""

    @property
    def sctp(self) -> SctpTotals | None:
        """Totals that only SCTP has; None for another protocol."""

    @property
    def udp(self) -> UdpTotals | None:
        """Totals that only UDP has; None for another protocol."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class TcpTotals:
    """Totals of one flow that only TCP has."""

    @property
    def recovery(self) -> str:
        """Name of the loss recovery."""

    @property
    def segments_sent(self) -> int:
        """Data segments sent, retransmissions included, without probes."""

    @property
    def segments_retransmitted(self) -> int:
        """Data segments retransmitted."""

    @property
    def probes_sent(self) -> int:
        """Probes of unused capacity sent (TCP-Peach, TCP-Peach+, TCP-Cherry)."""

    @property
    def timeouts(self) -> int:
        """Retransmission timeouts."""

    @property
    def fast_recoveries(self) -> int:
        """Times that fast recovery was entered."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class QuicTotals:
    """Totals of one flow that only QUIC has, named as those of TCP if they mean the same."""

    @property
    def segments_sent(self) -> int:
        """Packets with data sent, those included whose data was sent before."""

    @property
    def segments_retransmitted(self) -> int:
        """Packets found to be lost. Their data is retransmitted in new packets."""

    @property
    def fast_recoveries(self) -> int:
        """Number of times that a loss reduced the window."""

    @property
    def timeouts(self) -> int:
        """Probe timeouts of the data sender, which reduce no window (RFC 9002 section 6.2)."""

    @property
    def persistent_congestions(self) -> int:
        """Number of times that all packets of a longer period were lost (RFC 9002 section 7.6)."""

    @property
    def acks_sent(self) -> int:
        """ACK frames that the data receiver has sent."""

    @property
    def ack_frequency_sent(self) -> int:
        """ACK_FREQUENCY frames that the data sender has sent."""

    @property
    def immediate_acks_sent(self) -> int:
        """IMMEDIATE_ACK frames that the data sender has sent, in its probes."""

    @property
    def mtu_probes_sent(self) -> int:
        """Probes of the path MTU that the data sender has sent."""

    @property
    def mtu_probes_lost(self) -> int:
        """Probes of the path MTU that were lost."""

    @property
    def black_holes(self) -> int:
        """Number of times that packets of the size found no longer arrived."""

    @property
    def error(self) -> str | None:
        """Why a connection ended before its time, in the words of quinn; None if none did."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class StpTotals:
    """Totals of one flow that only STP has, named as those of TCP if they mean the same."""

    @property
    def segments_sent(self) -> int:
        """Data packets sent, retransmissions included."""

    @property
    def segments_retransmitted(self) -> int:
        """Data packets retransmitted."""

    @property
    def fast_recoveries(self) -> int:
        """Number of times that a loss reduced the window."""

    @property
    def polls_sent(self) -> int:
        """POLLs without data that the data sender has sent."""

    @property
    def stats_sent(self) -> int:
        """STATs that the data receiver has sent."""

    @property
    def ustats_sent(self) -> int:
        """USTATs that the data receiver has sent."""

    @property
    def probed_corruption(self) -> int:
        """Losses that probes of XSTP took for corruption."""

    @property
    def probed_congestion(self) -> int:
        """Losses that probes of XSTP took for congestion."""

    @property
    def probed_outages(self) -> int:
        """Outages that probes of XSTP have found."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class XtpTotals:
    """Totals of one flow that only XTP has, named as those of TCP if they mean the same."""

    @property
    def segments_sent(self) -> int:
        """Data packets sent, retransmissions included."""

    @property
    def segments_retransmitted(self) -> int:
        """Data packets retransmitted."""

    @property
    def requests_sent(self) -> int:
        """Packets with a request (SREQ or DREQ) that the data sender has sent."""

    @property
    def reports_sent(self) -> int:
        """Reports that the data receiver has sent: CNTL, ECNTL and TCNTL."""

    @property
    def gap_reports_sent(self) -> int:
        """Those of them that show a gap: ECNTL."""

    @property
    def handshakes(self) -> int:
        """Synchronising handshakes that the data sender has begun."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class SctpTotals:
    """Totals of one flow that only SCTP has, named as those of TCP if they mean the same."""

    @property
    def segments_sent(self) -> int:
        """DATA chunks sent, retransmissions included."""

    @property
    def segments_retransmitted(self) -> int:
        """DATA chunks retransmitted."""

    @property
    def timeouts(self) -> int:
        """Expiries of T3-rtx."""

    @property
    def fast_recoveries(self) -> int:
        """Number of times that fast recovery was entered."""

    @property
    def data_packets_sent(self) -> int:
        """Packets with DATA chunks that the data sender has sent."""

    @property
    def sacks_sent(self) -> int:
        """SACK chunks that the data receiver has sent."""

    @property
    def duplicates_received(self) -> int:
        """DATA chunks that have reached the data receiver more than once."""

    @property
    def heartbeats_sent(self) -> int:
        """HEARTBEAT chunks of both ends."""

    @property
    def path_failures(self) -> int:
        """Times that the data sender found a path to be inactive."""

    @property
    def path_changes(self) -> int:
        """Times that its new data took another path."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Page:
    """One web page."""

    @property
    def start_s(self) -> float:
        """Time of the request in seconds."""

    @property
    def response_s(self) -> float | None:
        """Page load time in seconds: until the last byte of the last object; None if incomplete."""

    @property
    def objects(self) -> list[PageObject]:
        """Its objects, the main one first."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class PageObject:
    """One object of a web page."""

    @property
    def bytes(self) -> int:
        """Size in bytes."""

    @property
    def start_s(self) -> float:
        """Time of its request in seconds."""

    @property
    def response_s(self) -> float | None:
        """Time from the request to the last byte in seconds; None if incomplete."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Link:
    """Totals of one direction of a link, or of a router's forwarding."""

    @property
    def link(self) -> str:
        """Name of the link, or of the node for a router's forwarding."""

    @property
    def direction(self) -> str:
        """`forward`, `backward` or `forwarding`."""

    @property
    def utilisation(self) -> float:
        """Share of the run during which it was transmitting, from 0 to 1."""

    @property
    def delivered_packets(self) -> int:
        """Packets delivered to the far end."""

    @property
    def delivered_bytes(self) -> int:
        """Bytes delivered to the far end, without link-layer overhead."""

    @property
    def dropped_packets(self) -> int:
        """Packets dropped by the full queue."""

    @property
    def corrupted_packets(self) -> int:
        """Packets corrupted by the channel."""

    @property
    def max_queue_bytes(self) -> int:
        """Maximum queue in bytes."""

    @property
    def mean_queueing_delay_ms(self) -> float | None:
        """Mean queueing delay in milliseconds, exact.

        From the arrival of a packet at the queue to the start of its transmission, over all
        packets that were not dropped. None without packets.
        """

    @property
    def median_queueing_delay_ms(self) -> float | None:
        """Median of the queueing delay in milliseconds; relative error at most 0.8 %."""

    @property
    def p95_queueing_delay_ms(self) -> float | None:
        """95th percentile of the queueing delay in milliseconds; relative error at most 0.8 %."""

    @property
    def p99_queueing_delay_ms(self) -> float | None:
        """99th percentile of the queueing delay in milliseconds; relative error at most 0.8 %."""

    @property
    def max_queueing_delay_ms(self) -> float | None:
        """Maximum queueing delay in milliseconds; exact."""

    @property
    def mean_queue_bytes(self) -> float | None:
        """Mean queue in bytes that packets find before them.

        Over packets and not over time, with an error of less than one packet. None without
        packets.
        """

    @property
    def median_queue_bytes(self) -> float | None:
        """Median of the same queue in bytes; error at most 0.8 % and one packet."""

    @property
    def p95_queue_bytes(self) -> float | None:
        """95th percentile of the same queue in bytes; error at most 0.8 % and one packet."""

    @property
    def p99_queue_bytes(self) -> float | None:
        """99th percentile of the same queue in bytes; error at most 0.8 % and one packet."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class KernelQuality:
    """How well the testbed emulated the network, and what the kernel did with each setting."""

    @property
    def release(self) -> str:
        """Release of the kernel."""

    @property
    def valid(self) -> bool:
        """True if packets were delivered within the tolerance and none was lost outside links."""

    @property
    def tolerance_ms(self) -> float:
        """Largest allowed 99th percentile of the delay error in milliseconds."""

    @property
    def timed_packets(self) -> int:
        """Packets whose delivery was timed."""

    @property
    def delay_error_p50_ms(self) -> float:
        """Median of the delay error in milliseconds."""

    @property
    def delay_error_p99_ms(self) -> float:
        """99th percentile of the delay error in milliseconds."""

    @property
    def delay_error_max_ms(self) -> float:
        """Maximum delay error in milliseconds."""

    @property
    def lost_packets(self) -> int:
        """Packets lost between a host and the network, outside of the scenario's links."""

    @property
    def stray_packets(self) -> int:
        """Packets addressed to no host of the scenario."""

    @property
    def rates(self) -> list[LinkRate]:
        """Rates of the links into hosts."""

    @property
    def settings(self) -> list[KernelSetting]:
        """Settings of each kind of flow."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class LinkRate:
    """The rate of one direction of a link while it was busy."""

    @property
    def link(self) -> str:
        """Name of the link."""

    @property
    def direction(self) -> str:
        """`forward` or `backward`."""

    @property
    def configured_bps(self) -> float:
        """Rate of the scenario in bits per second."""

    @property
    def achieved_bps(self) -> float | None:
        """Measured rate, link-layer overhead included; None without packets back to back."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class KernelSetting:
    """A setting as applied by the kernel."""

    @property
    def flow(self) -> str:
        """The first flow with these settings."""

    @property
    def setting(self) -> str:
        """Path in the flow, as `transport.rto.min`, or in a link on its way."""

    @property
    def asked(self) -> str:
        """Value in the scenario."""

    @property
    def verdict(self) -> str:
        """`applied`, or `approximated` if the kernel does something else."""

    @property
    def kernel(self) -> str:
        """Value or behaviour of the kernel."""

    @property
    def largest_window_bytes(self) -> int | None:
        """Of `transport.receive_buffer` the largest window that receivers advertised, in bytes."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class ControllerEntry:
    """A congestion controller of the registry."""

    @property
    def name(self) -> str:
        """Name in scenarios."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def source(self) -> str:
        """The paper or RFC that defines it."""

    @property
    def status(self) -> str:
        """Provenance: `published`, `from an implementation`, `reconstructed` or `experimental`."""

    @property
    def implementation(self) -> str | None:
        """The implementation in which its rules were read, if it was not the source."""

    @property
    def recovery(self) -> str:
        """Loss recovery used when a scenario names none."""

    @property
    def needed_routers(self) -> str | None:
        """Routers that it cannot do without, in words."""

    @property
    def needed_settings(self) -> str | None:
        """Values of the path that its parameters `rate` (Mbit/s) and `rtt` (ms) need, in words."""

    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters."""

    @property
    def variants(self) -> list[ControllerVariant]:
        """Its other variants, which the parameter `variant` chooses."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Mechanism:
    """A mechanism that a scenario can put on the path."""

    @property
    def name(self) -> str:
        """Name in scenarios."""

    @property
    def key(self) -> str:
        """The key of a scenario that takes it."""

    @property
    def kind(self) -> str:
        """Kind of mechanism."""

    @property
    def summary(self) -> str:
        """Description in one or two sentences."""

    @property
    def source(self) -> str:
        """The paper or RFC that defines it."""

    @property
    def status(self) -> str:
        """Provenance: `published`, `from an implementation` or `reconstructed`."""

    @property
    def hurts(self) -> str:
        """When it does more harm than good."""

    @property
    def parameters(self) -> list[MechanismSetting]:
        """Its parameters."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class MechanismSetting:
    """A parameter of a mechanism or of a transport protocol."""

    @property
    def name(self) -> str:
        """Name in scenarios."""

    @property
    def default(self) -> str:
        """Default value."""

    @property
    def allowed(self) -> str:
        """Allowed values."""

    @property
    def meaning(self) -> str:
        """Meaning, with unit and source."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Transport:
    """A transport protocol that a flow can have."""

    @property
    def name(self) -> str:
        """Name in scenarios: a value of `transport.protocol`."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def source(self) -> str:
        """The standard that defines it."""

    @property
    def status(self) -> str:
        """Provenance: `published`, `from an implementation` or `reconstructed`."""

    @property
    def implementation(self) -> str | None:
        """The implementation in which its rules were read, if it was not the source."""

    @property
    def carries(self) -> str:
        """`stream` if it delivers a stream of bytes, `datagrams` if messages may be lost."""

    @property
    def backends(self) -> list[str]:
        """The backends that have it."""

    @property
    def parameters(self) -> list[MechanismSetting]:
        """Its keys in `transport`."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class ControllerVariant:
    """Another form of a controller."""

    @property
    def variant(self) -> str:
        """The value of the parameter `variant`."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def status(self) -> str:
        """Provenance, as of a controller."""

    @property
    def implementation(self) -> str | None:
        """The implementation in which its rules were read, if it was not the source."""

    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Parameter:
    """A parameter of a controller."""

    @property
    def name(self) -> str:
        """Name in scenarios."""

    @property
    def default(self) -> str:
        """Default value."""

    @property
    def allowed(self) -> str:
        """Allowed values."""

    @property
    def meaning(self) -> str:
        """Meaning, with unit and source."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class KernelController:
    """A controller that the running kernel can load."""

    @property
    def name(self) -> str:
        """Name of the definition in the simulator."""

    @property
    def kernel_name(self) -> str:
        """Name in the kernel: what sockets choose."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def source(self) -> str:
        """The paper or RFC that defines it."""

    @property
    def parameters(self) -> list[str]:
        """Names of its parameters."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class KernelLikeness:
    """Linux's own controller for a definition."""

    @property
    def definition(self) -> str:
        """Name of the definition in the simulator."""

    @property
    def kernel_name(self) -> str:
        """Name in the kernel."""

    @property
    def likeness(self) -> str:
        """`same`, a `variant` or a `different` algorithm."""

    @property
    def differs(self) -> str:
        """Differences of Linux."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class KernelParameter:
    """A parameter of a loaded controller."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def value(self) -> str:
        """Its value."""

    @property
    def default(self) -> bool:
        """True if this is its default."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class KernelUse:
    """A controller that is loaded, or that connections still use."""

    @property
    def name(self) -> str:
        """Name here."""

    @property
    def kernel_name(self) -> str:
        """Name in the kernel."""

    @property
    def loaded(self) -> bool:
        """True if new sockets can choose it."""

    @property
    def sockets(self) -> int:
        """Connections in all network namespaces."""

    @property
    def default_of(self) -> list[str]:
        """Network namespaces whose default it is."""

    @property
    def parameters(self) -> list[KernelParameter]:
        """Its parameters; empty when it is no longer loaded."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Hop:
    """One link on a route, in one direction."""

    @property
    def link(self) -> int:
        """Number of the link, from zero."""

    @property
    def direction(self) -> str:
        """`forward` or `backward`."""

    @property
    def rate_bps(self) -> int:
        """Rate at the start in bits per second."""

    @property
    def delay_s(self) -> float:
        """Propagation delay at the start in seconds."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Signal:
    """Signal at the receiver of one direction of a link whose channel has a link budget.

    Attenuation is linear between the times `t_s`, and constant before the first and after the
    last.
    """

    @property
    def link(self) -> int:
        """Number of the link, from zero."""

    @property
    def direction(self) -> str:
        """`forward` or `backward`."""

    @property
    def t_s(self) -> list[float]:
        """Times in seconds."""

    @property
    def attenuation_db(self) -> list[float]:
        """Attenuation against clear sky in dB."""

    @property
    def eb_n0_db(self) -> list[float]:
        """Eb/N0 in dB, with the noise that rain adds."""

    @property
    def lost_s(self) -> list[float]:
        """Starts of the times without lock in seconds."""

    @property
    def locked_s(self) -> list[float]:
        """Their ends in seconds; at most the duration of the scenario."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Capture:
    """The TCP connections of a capture. Times count from its first packet."""

    @property
    def packets(self) -> int:
        """Number of packets."""

    @property
    def tcp_packets(self) -> int:
        """Number of packets of TCP in connections."""

    @property
    def started_s(self) -> float:
        """Time of the first packet since 1970 in s."""

    @property
    def duration_s(self) -> float:
        """Time from the first to the last packet in s."""

    @property
    def warnings(self) -> list[str]:
        """Parts of the file that are not in the results, each as a sentence."""

    @property
    def connections(self) -> list[CapturedConnection]:
        """Connections in the order of their first packets."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class CapturedConnection:
    """A TCP connection of a capture. RTTs are those between the capture and an end."""

    @property
    def number(self) -> int:
        """Number in the order of first packets, from 1: `tcp.stream` of Wireshark, plus 1."""

    @property
    def client(self) -> str:
        """Address and port of the end that sent the SYN, or the first captured packet."""

    @property
    def server(self) -> str:
        """Address and port of the other end."""

    @property
    def client_known(self) -> bool:
        """True if a SYN was captured."""

    @property
    def start_s(self) -> float:
        """Time of the first packet in s."""

    @property
    def duration_s(self) -> float:
        """Time from the first to the last packet in s."""

    @property
    def packets(self) -> int:
        """Number of packets."""

    @property
    def handshake_rtt_ms(self) -> float | None:
        """Time from the SYN to the first ACK in ms; None if a SYN was repeated or missing."""

    @property
    def client_rtt_ms(self) -> float | None:
        """RTT between capture and client in ms: from the handshake, otherwise the minimum."""

    @property
    def server_rtt_ms(self) -> float | None:
        """RTT between capture and server in ms: from the handshake, otherwise the minimum."""

    @property
    def captured_at(self) -> str | None:
        """Place of the capture by these RTTs: `client`, `server` or `between`; None if unknown."""

    @property
    def end(self) -> str:
        """`closed` (both FINs), `half-closed`, `reset by client`, `reset by server`, or `open`."""

    @property
    def idle_times(self) -> int:
        """Number of times without packets and data in flight, as long as stalls."""

    @property
    def idle_s(self) -> float:
        """Sum of these times in s."""

    @property
    def notes(self) -> list[str]:
        """Sentences on what limits the results."""

    @property
    def to_server(self) -> CapturedData:
        """Data from the client to the server."""

    @property
    def to_client(self) -> CapturedData:
        """Data from the server to the client."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class CapturedData:
    """Data of one end of a captured connection, with the ACKs of the other end for it."""

    @property
    def packets(self) -> int:
        """Packets of this direction, without copies."""

    @property
    def data_segments(self) -> int:
        """Segments with data."""

    @property
    def bytes(self) -> int:
        """Length of the data from the first to the highest byte."""

    @property
    def missing_bytes(self) -> int:
        """Bytes of it that are not in the capture."""

    @property
    def sent_bytes(self) -> int:
        """Bytes of data in all segments."""

    @property
    def goodput_bps(self) -> float | None:
        """Length of the data times 8, by the time from the first data to its last ACK, in bit/s."""

    @property
    def retransmissions(self) -> int:
        """Retransmitted segments, as `tcp.analysis.retransmission` of Wireshark."""

    @property
    def retransmitted_bytes(self) -> int:
        """Bytes of data in them."""

    @property
    def fast_retransmissions(self) -> int:
        """Those after two duplicate ACKs, as `tcp.analysis.fast_retransmission`."""

    @property
    def spurious_retransmissions(self) -> int:
        """Those of acknowledged data, as `tcp.analysis.spurious_retransmission`."""

    @property
    def other_retransmissions(self) -> int:
        """All others: after a timeout, or by SACK or RACK."""

    @property
    def repeated_segments(self) -> int:
        """Segments with data that was captured before, as `rexmt data pkts` of tcptrace.

        They are retransmissions for certain, also where Wireshark takes them for segments out
        of order.
        """

    @property
    def out_of_order(self) -> int:
        """Segments out of order, as `tcp.analysis.out_of_order`."""

    @property
    def filled_gaps(self) -> int:
        """Segments behind the highest byte with data that was not captured before.

        It was lost or late on the way to the capture.
        """

    @property
    def gaps(self) -> int:
        """Segments before which data is missing, as `tcp.analysis.lost_segment`."""

    @property
    def duplicate_acks(self) -> int:
        """Duplicate ACKs for this data, as `tcp.analysis.duplicate_ack`."""

    @property
    def unseen_acks(self) -> int:
        """ACKs for data that was not captured, as `tcp.analysis.ack_lost_segment`."""

    @property
    def rtt_samples(self) -> int:
        """Number of RTTs.

        One is an ACK of the last byte of a segment that was sent once, with no earlier data
        sent after it. The SYN does not count.
        """

    @property
    def min_rtt_ms(self) -> float | None:
        """Minimum RTT from data to its ACK in ms, between the capture and the receiver."""

    @property
    def mean_rtt_ms(self) -> float | None:
        """Mean in ms."""

    @property
    def median_rtt_ms(self) -> float | None:
        """Median in ms, within 0.8 %."""

    @property
    def p95_rtt_ms(self) -> float | None:
        """95th percentile in ms, within 0.8 %."""

    @property
    def p99_rtt_ms(self) -> float | None:
        """99th percentile in ms, within 0.8 %."""

    @property
    def max_rtt_ms(self) -> float | None:
        """Maximum in ms."""

    @property
    def timestamp_rtt_samples(self) -> int:
        """Number of RTTs by timestamps (RFC 7323)."""

    @property
    def min_timestamp_rtt_ms(self) -> float | None:
        """Minimum RTT by timestamps in ms."""

    @property
    def median_timestamp_rtt_ms(self) -> float | None:
        """Median in ms, within 0.8 %."""

    @property
    def p95_timestamp_rtt_ms(self) -> float | None:
        """95th percentile in ms, within 0.8 %."""

    @property
    def missed_rtt_ms(self) -> float | None:
        """RTT between the capture and the sender in ms, which these RTTs miss; None if unknown."""

    @property
    def max_flight_bytes(self) -> int | None:
        """Maximum of the data in flight after the highest ACK; None without ACKs."""

    @property
    def max_window_bytes(self) -> int | None:
        """Maximum of the window that the receiver advertised; None if its scale is unknown."""

    @property
    def window_limited_s(self) -> float | None:
        """Time in s with a window without room for a full segment; None if its scale is unknown."""

    @property
    def window_full(self) -> int:
        """Segments up to the end of the window, as `tcp.analysis.window_full`."""

    @property
    def zero_windows(self) -> int:
        """Packets of the receiver with a window of zero, as `tcp.analysis.zero_window`."""

    @property
    def zero_window_s(self) -> float:
        """Time in s with a window of zero."""

    @property
    def zero_window_probes(self) -> int:
        """Probes of a window of zero, as `tcp.analysis.zero_window_probe`."""

    @property
    def keep_alives(self) -> int:
        """Keep-alives, as `tcp.analysis.keep_alive`."""

    @property
    def stalls(self) -> int:
        """Number of times without packets, longer than min(2 SRTT, RTO) and 10 ms.

        Data is in flight in them, or the window has no room for a segment.
        """

    @property
    def stalls_by_retransmission(self) -> int:
        """Stalls that a retransmission ended."""

    @property
    def stalls_by_window(self) -> int:
        """Stalls in which the window had no room and nothing was in flight."""

    @property
    def stalled_s(self) -> float:
        """Sum of all stalls in s."""

    @property
    def longest_stall_s(self) -> float | None:
        """Longest stall in s; None without stalls."""

    @property
    def longest_gap_s(self) -> float:
        """Longest time between packets of this direction in s, as `idletime max` of tcptrace."""

    @property
    def mss(self) -> int | None:
        """MSS option of the sender's SYN."""

    @property
    def window_scale(self) -> int | None:
        """Window scale option of the sender's SYN, as a shift."""

    @property
    def sack_permitted(self) -> bool | None:
        """The sender's SYN has SACK-permitted; None if it was not captured."""

    @property
    def timestamps(self) -> bool | None:
        """The sender's SYN has timestamps; None if it was not captured."""

    @property
    def longest_segment_bytes(self) -> int:
        """Bytes of data in the longest segment."""

    @property
    def segments_longer_than_mss(self) -> int:
        """Segments longer than the MSS, which a host with offload hands to the capture."""

    @property
    def copies(self) -> int:
        """Packets that were captured before, or duplicated on the way; they count nowhere else."""

    @property
    def resets(self) -> int:
        """RST segments."""

    @property
    def first_loss_sent_s(self) -> float | None:
        """Time in s at which the first lost data was sent first; None without repeated segments."""

    @property
    def first_loss_repeated_s(self) -> float | None:
        """Time in s of its retransmission."""

    @property
    def first_loss_acked_s(self) -> float | None:
        """Time in s of the ACK for it; None if there was none."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class CaptureGraph:
    """Points of the figures of one direction of data.

    Times are in s since the first packet of the capture, and bytes count from 0. Vertical lines
    are a time, a first byte and an end. Points are a time and a value.
    """

    @property
    def sent(self) -> list[tuple[float, int, int]]:
        """Segments with new data."""

    @property
    def again(self) -> list[tuple[float, int, int]]:
        """Retransmissions, and other segments with data that was captured before."""

    @property
    def sacks(self) -> list[tuple[float, int, int]]:
        """SACK blocks."""

    @property
    def acked(self) -> list[tuple[float, float]]:
        """Acknowledged bytes."""

    @property
    def edge(self) -> list[tuple[float, float]]:
        """End of the advertised window; empty if its scale is unknown."""

    @property
    def rtt(self) -> list[tuple[float, float]]:
        """RTTs from data to its ACK in ms."""

    @property
    def flight(self) -> list[tuple[float, float]]:
        """Data in flight in bytes."""

    @property
    def window(self) -> list[tuple[float, float]]:
        """Advertised window in bytes; empty if its scale is unknown."""

    @property
    def reduced(self) -> bool:
        """True if the lines of short intervals were joined."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class HostProfile:
    """A profile of an operating system that hosts of a flow can have."""

    @property
    def name(self) -> str:
        """Name in scenarios: a value of `host`."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def system(self) -> str:
        """The operating system."""

    @property
    def status(self) -> str:
        """`from its sources`, or `reconstructed` if its buffers or controller have no source."""

    @property
    def backends(self) -> list[str]:
        """The backends that can follow it."""

    @property
    def values(self) -> list[HostValue]:
        """Its values, and the keys without a source, which keep their default."""

    @property
    def notes(self) -> list[str]:
        """Rules of the system that the simulator does not have."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class HostValue:
    """A value of a profile of a host."""

    @property
    def name(self) -> str:
        """Its key in a flow."""

    @property
    def value(self) -> str:
        """The value in the notation of scenarios."""

    @property
    def source(self) -> str:
        """Where it was found."""

    @property
    def certainty(self) -> str:
        """`read in its source`, `measured`, `secondary source`, `reconstructed`, `no source`."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Constellation:
    """A constellation with a name."""

    @property
    def name(self) -> str:
        """Name in files of `bentpipe orbit`."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def satellites(self) -> int:
        """Number of satellites."""

    @property
    def source(self) -> str:
        """Origin of its values."""

    @property
    def certainty(self) -> str:
        """`read in its source`, `measured`, `secondary source`, `reconstructed`."""

    @property
    def notes(self) -> list[str]:
        """Values that are less certain, or that were chosen here."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class OrbitGap:
    """A time without a path over satellites."""

    @property
    def start_s(self) -> float:
        """Its first row."""

    @property
    def end_s(self) -> float:
        """Its end."""

    @property
    def reason(self) -> str:
        """Why there was no path."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class OrbitHandover:
    """A change of a path over satellites."""

    @property
    def t_s(self) -> float:
        """Time since the epoch."""

    @property
    def place(self) -> str:
        """`first`, `last` or `both`, if satellites at the ends change, and `between` otherwise."""

    @property
    def satellite_before(self) -> str:
        """The first satellite before."""

    @property
    def satellite_after(self) -> str:
        """The first satellite from then on."""

    @property
    def to_satellite_before(self) -> str:
        """The last satellite before."""

    @property
    def to_satellite_after(self) -> str:
        """The last satellite from then on."""

    @property
    def delay_before_ms(self) -> float:
        """One-way delay before."""

    @property
    def delay_after_ms(self) -> float:
        """One-way delay from then on."""

    @property
    def outage_s(self) -> float:
        """The outage that follows."""

    @property
    def after_gap(self) -> bool:
        """True if there was no path for a time between."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class OrbitSeries:
    """A path over satellites that move.

    Its columns have one value for each row, which holds until the next one.
    """

    @property
    def source(self) -> str:
        """The satellites in words."""

    @property
    def satellites(self) -> int:
        """Number of satellites."""

    @property
    def from_place(self) -> str:
        """The place at which it begins."""

    @property
    def to_places(self) -> list[str]:
        """The places at which it may end."""

    @property
    def epoch(self) -> str:
        """Date and time of the start."""

    @property
    def duration_s(self) -> float:
        """Time from the start to the end."""

    @property
    def t_s(self) -> list[float]:
        """Column: time since the epoch."""

    @property
    def delay_ms(self) -> list[float]:
        """Column: one-way delay. Without a path, that of the last path, or of the first one."""

    @property
    def outage(self) -> list[int]:
        """Column: 1 if no packet passes."""

    @property
    def rate_bps(self) -> list[int]:
        """Column: data rate, empty if the file has no signal."""

    @property
    def loss_ratio(self) -> list[int]:
        """Column: 1 while the signal is too weak, so that all is lost; empty without a signal."""

    @property
    def elevation_deg(self) -> list[float | None]:
        """Column: elevation of the first satellite at the first place."""

    @property
    def azimuth_deg(self) -> list[float | None]:
        """Column: its azimuth, from north over east."""

    @property
    def visible(self) -> list[int]:
        """Column: satellites that the first place may use."""

    @property
    def satellite(self) -> list[str | None]:
        """Column: the first satellite."""

    @property
    def to(self) -> list[str | None]:
        """Column: the place at the end."""

    @property
    def to_elevation_deg(self) -> list[float | None]:
        """Column: elevation of the last satellite at the last place."""

    @property
    def to_azimuth_deg(self) -> list[float | None]:
        """Column: its azimuth, from north over east."""

    @property
    def to_visible(self) -> list[int]:
        """Column: satellites that the last place may use."""

    @property
    def to_satellite(self) -> list[str | None]:
        """Column: the last satellite."""

    @property
    def lasers(self) -> list[int | None]:
        """Column: laser links of the path."""

    @property
    def range_km(self) -> list[float | None]:
        """Column: distance of the first place and the first satellite."""

    @property
    def to_range_km(self) -> list[float | None]:
        """Column: distance of the last place and the last satellite."""

    @property
    def satellite_latitude_deg(self) -> list[float | None]:
        """Column: latitude of the point below the first satellite."""

    @property
    def satellite_longitude_deg(self) -> list[float | None]:
        """Column: its longitude, east positive."""

    @property
    def to_satellite_latitude_deg(self) -> list[float | None]:
        """Column: latitude of the point below the last satellite."""

    @property
    def to_satellite_longitude_deg(self) -> list[float | None]:
        """Column: its longitude, east positive."""

    @property
    def from_latitude_deg(self) -> list[float | None]:
        """Column: latitude of the first place."""

    @property
    def from_longitude_deg(self) -> list[float | None]:
        """Column: its longitude, east positive."""

    @property
    def from_altitude_km(self) -> list[float | None]:
        """Column: its height above the ellipsoid."""

    @property
    def to_latitude_deg(self) -> list[float | None]:
        """Column: latitude of the place at the end."""

    @property
    def to_longitude_deg(self) -> list[float | None]:
        """Column: its longitude, east positive."""

    @property
    def to_altitude_km(self) -> list[float | None]:
        """Column: its height above the ellipsoid."""

    @property
    def rain_db(self) -> list[float | None]:
        """Column: attenuation by rain at the first place, empty without a signal."""

    @property
    def es_n0_db(self) -> list[float | None]:
        """Column: Es/N0 between the first place and its satellite; empty without a signal."""

    @property
    def modcod(self) -> list[str]:
        """Column: modulation and code, empty without a signal."""

    @property
    def handovers(self) -> list[OrbitHandover]:
        """Changes of the path."""

    @property
    def gaps(self) -> list[OrbitGap]:
        """Times without a path."""

    @property
    def notes(self) -> list[str]:
        """Remarks about sources and assumptions."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class UdpTotals:
    """Totals of one flow that only UDP has."""

    @property
    def datagrams_sent(self) -> int:
        """Datagrams that the data sender has sent."""

    @property
    def answers_sent(self) -> int:
        """Datagrams that the other end has sent."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class CwndEpoch:
    """A time between two losses of a measured connection."""

    @property
    def first(self) -> int:
        """Number of its first sample from 0: the first one after the loss."""

    @property
    def last(self) -> int:
        """Number of its last sample: the last one before the next loss."""

    @property
    def start(self) -> int:
        """Measured window of the first sample in bytes, from which the controller goes on."""

    @property
    def measured(self) -> int:
        """Measured window of the last sample in bytes."""

    @property
    def replayed(self) -> int:
        """Window of the controller at that time in bytes."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class CwndReplay:
    """The windows of a controller next to those of a measured connection."""

    @property
    def controller(self) -> str:
        """Name of the controller."""

    @property
    def variant(self) -> str:
        """Its variant: `original`, or `linux` for Linux's controller of this name."""

    @property
    def windows(self) -> list[int | None]:
        """Window of the controller at each sample in bytes; None before the first loss."""

    @property
    def epochs(self) -> list[CwndEpoch]:
        """Epochs of at least two samples between two losses."""

    @property
    def losses(self) -> int:
        """Losses of the measured connection."""

    @property
    def timeouts(self) -> int:
        """Those of them that are timeouts."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class TraceRows:
    """The changes of a file with a trace, as a link of a scenario has them.

    A column has one value for each change, which holds until the next value of the column.
    """

    @property
    def t_s(self) -> list[float]:
        """Column: time since the start."""

    @property
    def rate_bps(self) -> list[int | None]:
        """Column: rate in bit/s."""

    @property
    def delay_ms(self) -> list[float | None]:
        """Column: one-way delay."""

    @property
    def loss_ratio(self) -> list[float | None]:
        """Column: probability that a packet is lost."""

    @property
    def outage_s(self) -> list[float | None]:
        """Column: time in which no packet passes."""

    @property
    def lasts_s(self) -> float:
        """Time from the start to the end."""

    @property
    def achieved(self) -> bool:
        """True if the rates are those that a flow has achieved."""

    @property
    def notes(self) -> list[str]:
        """How the file was read."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Mix:
    """A mix: the applications of a household or an office."""

    @property
    def name(self) -> str:
        """Name in scenarios: a value of `preset` of a `[[mix]]`."""

    @property
    def summary(self) -> str:
        """Description in one sentence."""

    @property
    def source(self) -> str:
        """Where its applications and numbers are from."""

    @property
    def certainty(self) -> str:
        """How certain they are: `read in its source`, or `reconstructed`."""

    @property
    def parts(self) -> list[str]:
        """Names of its parts."""

    @property
    def flows(self) -> str:
        """Its flows in TOML, without `from` and `to`."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Scenario:
    """A scenario in which nothing is left open."""

    @staticmethod
    def load(path: str | PathLike[str], sets: Sequence[str] = ...) -> Scenario:
        """Read a scenario file; `sets` are overrides as `"seed=7"`.

        Raises `ScenarioError` with file and line when the scenario cannot be right.
        """

    @staticmethod
    def parse(text: str, *, file: str | PathLike[str] | None = None) -> Scenario:
        """Read a scenario from TOML; errors name it `file`, from where names of files count.

        Raises `ScenarioError` with the line.
        """

    @staticmethod
    def build(**keys: Any) -> Scenario:
        """Make a scenario from values, with the names and units of a scenario file.

            link = {"between": ["server", "client"], "rate": "2Mbit/s", "delay": "250ms"}
            flow = {"from": "server", "to": "client", "controller": "cubic",
                    "traffic": {"download": "5MB"}}
            Scenario.build(name="geo", duration="600s", link=[link], flow=[flow])

        Keys are those of docs/scenario.md: `link` and `flow` are lists of dictionaries, quantities
        texts with their unit. None is the default. Scalars of NumPy and paths may stand for numbers
        and texts. Raises `ScenarioError` with the path of the value and the nearest valid name.
        """

    def with_(self, changes: Mapping[str, Any] | None = None, /, **named: Any) -> Scenario:
        """A new scenario with values changed, each at its path.

            scenario.with_({"flow.0.controller": "cubic", "link.*.delay": "280ms"})
            scenario.with_(seed=7, flow__0__traffic={"download": "5MB"})

        Paths are those of `--set`; in keywords two underscores stand for a dot. They count from
        zero, `*` means all of a list. Changes apply in their order. Raises `ScenarioError`.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def to_toml(self, *, seed: int | None = None) -> str:
        """The scenario as a file that runs to the same recording, by default with its own seed.

        Changes are part of it, its name and seed are written out, and names of files are absolute.
        """

    def to_toml_with_files(self) -> tuple[str, list[tuple[str, Path]]]:
        """The scenario as a file for a folder that can be moved, and the files that it names.

        Each file has its name in the folder and its present place. The text is that of `to_toml`,
        with the content of files of `bentpipe orbit` in the place of their names.
        """

    def values(self) -> dict[str, Any]: ...
    def without_mixes(self) -> Scenario: ...
    def explain(self) -> Explanation:
        """Every value that will be used, defaults included, with figures and warnings.

        A `bentpipe.Explanation`: its text is for people, its fields are data with units.
        """

    def route(self, flow: int = 0, *, back: bool = False, path: int = 0) -> list[Hop]:
        """The links on the way of a flow's data, or `back` on that of its ACKs, in order.

        A flow with several paths (`transport.sctp.paths`) has one route for each `path`.

        `IndexError` when there is no such flow or path. The rule of routes is in docs/scenario.md.
        """

    def signals(self) -> list[Signal]:
        """Signals of all directions of links whose channel has a link budget (`eb_n0`)."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def seed(self) -> int:
        """Seed that a run takes when it is given none."""

    @property
    def longest_event_delay_s(self) -> float:
        """Longest delay of the events of links in seconds, with `phase = "random"`; otherwise 0."""

    def event_delay_s(self, seed: int | None = None) -> float:
        """Delay of the events of all links in seconds in a run with `seed`.

        The default is the scenario's own seed. 0 without `phase = "random"`.
        """

    @property
    def duration_s(self) -> float:
        """Upper bound of the simulated time in seconds."""

@final
class ArrowTable:
    """A table of a recording as an Arrow stream, in the memory of the recording.

    Polars, PyArrow, pandas, DuckDB and others take it: `pyarrow.table(recording.arrow("flows"))`.
    Source: Arrow PyCapsule interface.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with a C stream of one batch; the schema is always the table's own."""

@final
class Recording:
    """Results of one run."""

    @staticmethod
    def load(path: str | PathLike[str]) -> Recording:
        """Read back the folder of `OutputFolder.save`; `RecordingError` when it is none."""

    def to_json(self) -> str:
        """One JSON object: what `bentpipe run --json` prints."""

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""

    def digest(self) -> str:
        """SHA-256 of totals and series without wall time and version: equal runs have one."""

    def table(self, name: str) -> pl.DataFrame:
        """A table as a data frame; `KeyError` when there is none of that name.

        The tables are those of the Parquet files, listed by `names`: `flows`, `links`, `pages`,
        `objects`, `flow_series` and `link_series` (with rows if the scenario records series), and
        extra tables of middleboxes and events. Numbers of series are not copied: the frame looks
        into the recording, and keeps it alive.
        """

    def arrow(self, name: str) -> ArrowTable:
        """The same table for any library that takes Arrow streams."""

    @property
    def names(self) -> list[str]:
        """Names of the tables."""

    @property
    def flows(self) -> list[Flow]:
        """Totals of each flow, in the order of the scenario."""

    @property
    def kernel(self) -> KernelQuality | None:
        """How well the testbed emulated the network (docs/kernel.md); None from the simulator."""

    @property
    def links(self) -> list[Link]:
        """Totals of each direction of each link."""

    @property
    def scenario(self) -> str:
        """Name of the scenario."""

    @property
    def backend(self) -> str:
        """`simulator` or `kernel`."""

    @property
    def version(self) -> str:
        """Version of Bentpipe that made it."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def wall_s(self) -> float:
        """Wall time of the run in seconds, or of the run that it is a copy of."""

    @property
    def simulated_s(self) -> float:
        """Simulated time in seconds."""

    @property
    def events(self) -> int:
        """Number of events: packet arrivals and timers."""

    @property
    def partial(self) -> bool:
        """Returns true if the run was interrupted before its end."""

    @property
    def jain_index(self) -> float | None:
        """Jain's fairness index over the goodput of all flows."""

@final
class OutputFolder:
    """A folder for recordings, made and known to be writable before the run that fills it.

    Raises `OutputError` when it cannot be written, or holds foreign files and not `force`. It takes
    one recording; when none is saved, nothing is left behind.
    """

    def __new__(cls, path: str | PathLike[str], *, force: bool = False) -> OutputFolder: ...
    def save(self, recording: Recording, scenario: Scenario) -> None:
        """Write a recording and the scenario that it came from; `OutputError` when it fails."""

@final
class Quantity:
    """One number of a recording, for `run_study`. `bentpipe.study.Quantity` reads its name."""

    def __new__(
        cls,
        table: str,
        column: str,
        *,
        name: str | None = None,
        direction: str | None = None,
        aggregate: str = "mean",
    ) -> Quantity:
        """`table` is one of `number_columns`; `name` of a flow, link or node may hold `*`.

        `ValueError` when there is no such column or `aggregate`.
        """

    def of(self, recording: Recording) -> float | None:
        """Its value, None where it is undefined: a flow or link has none, or no page ever came."""

    def is_counted(self) -> bool:
        """True if its column counts things or events, so that a sum of it is a total."""

    def is_in(self, scenario: Scenario) -> bool:
        """True if a scenario has flows, pages, links or mechanisms that it is taken from."""

    def names_in(self, scenario: Scenario) -> list[str]:
        """Names that it may have in a scenario: of flows, links, or those with the mechanism."""

def capture_graphs(
    path: str | PathLike[str],
    requests: Sequence[tuple[int, bool, float, float]],
    *,
    progress: Callable[[float], object] | None = None,
) -> list[CaptureGraph]:
    """Read a capture again, for the points of the figures of chosen connections.

    A request has the number of a connection, True for data to the server or False for data to the
    client, and the times in s between which points are collected.
    """

def node_of_address(address: str) -> int | None:
    """The number of the node of a scenario with this IP address. None if none can have it."""

def read_capture(
    path: str | PathLike[str], *, progress: Callable[[float], object] | None = None
) -> Capture:
    """Read the TCP connections of a capture in pcapng or pcap, which may be compressed with gzip.

    `progress` is called now and then with the fraction that is done. Of a capture that is cut, the
    results end where it is cut, and `warnings` has the packet.

    `CaptureError` if the file cannot be read, is no capture, or has no packets of TCP.
    """

def near_names(name: str, known: list[str]) -> list[str]:
    """The ones of `known` that `name` probably stands for, at most four; none if all are far.

    Names that begin with `name` or contain it come before slips. Names that are equally near are
    all listed.
    """

def number_columns() -> dict[str, list[str]]:
    """The columns that a quantity can be, by table; `run` is what a recording has once."""

def tables_of_applications() -> list[str]:
    """The tables of `number_columns` that applications have, such as `call`."""

def tables_of_directions() -> list[str]:
    """The tables of `number_columns` whose rows are directions of links."""

@final
class Settings:
    """Parameters of a connection for a new controller; amounts in bytes.

    Can be made to try a controller without a run; `ControllerError` for what is not above zero.
    """

    def __new__(
        cls,
        *,
        mss: int = 1460,
        initial_window: int = 14_600,
        initial_ssthresh: int = ...,
        byte_counting: int = 1,
    ) -> Settings: ...
    @property
    def mss(self) -> int:
        """Sender maximum segment size (SMSS): the payload of a full segment."""

    @property
    def initial_window(self) -> int:
        """Initial window (RFC 5681 section 3.1, RFC 6928)."""

    @property
    def initial_ssthresh(self) -> int:
        """Initial slow start threshold; 2**64 - 1 for none."""

    @property
    def byte_counting(self) -> int:
        """Maximum growth per ACK in slow start, in segments: L of RFC 3465."""

@final
class Window:
    """cwnd and ssthresh in bytes, with their exact arithmetic."""

    @property
    def cwnd(self) -> int:
        """Congestion window.

        Can be set to any number from 1 to 2**48, of which the fraction is cut off; else
        `ControllerError`.
        """

    @cwnd.setter
    def cwnd(self, value: float) -> None: ...
    @property
    def ssthresh(self) -> int:
        """Slow start threshold; 2**64 - 1 for none.

        Can be set as cwnd, and to `math.inf` for none.
        """

    @ssthresh.setter
    def ssthresh(self, value: float) -> None: ...
    @property
    def mss(self) -> int:
        """Sender maximum segment size, as negotiated."""

    @property
    def initial(self) -> int:
        """Window after set-up and after an idle period."""

    @property
    def in_slow_start(self) -> bool:
        """True if cwnd is below ssthresh (RFC 5681 section 3.1)."""

    def counted(self, acked: int) -> int:
        """The part of `acked` bytes that counts for growth: at most L segments (RFC 3465)."""

    def grow_by_fraction(self, numerator: int) -> None:
        """Add `numerator / cwnd` bytes and keep the remainder for the next call.

        `numerator` goes from 0 to 2**48, else `ControllerError`. After a timeout L is 1 until this
        is called for the first time (RFC 3465 section 2.3).
        """

    def half(self, flight: int) -> int:
        """Half the flight size, at least two segments (RFC 5681 equation 4)."""

@final
class Ack:
    """ACK for new data outside of loss recovery; amounts in bytes.

    This, `Loss` and `PartialAck` can be made to try a controller without a run.
    """

    def __new__(
        cls,
        acked: int,
        *,
        now_s: float = 0.0,
        flight: int = 0,
        advertised: int = ...,
        srtt_s: float | None = None,
        min_rtt_s: float | None = None,
        cwnd_limited: bool = True,
    ) -> Ack: ...
    @property
    def now_s(self) -> float:
        """Arrival time in seconds of the run."""

    @property
    def acked(self) -> int:
        """Newly acknowledged bytes."""

    @property
    def flight(self) -> int:
        """Flight size after this ACK."""

    @property
    def advertised(self) -> int:
        """Advertised window of the receiver."""

    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time in seconds; None before the first sample."""

    @property
    def min_rtt_s(self) -> float | None:
        """Minimum round-trip time of the connection in seconds; None before the first sample.

        A controller with `on_rtt` or `on_feedback` has the smallest sample of data there. For
        others it is that of the retransmission timer, which has a sample of the handshake too.
        """

    @property
    def cwnd_limited(self) -> bool:
        """True if cwnd limited the sender (RFC 7661)."""

@final
class Loss:
    """Loss detected by recovery, an ECN mark, or a retransmission timeout."""

    def __new__(cls, flight: int, *, now_s: float = 0.0, repeated: bool = False) -> Loss: ...
    @property
    def now_s(self) -> float:
        """Time of detection in seconds of the run."""

    @property
    def flight(self) -> int:
        """Flight size in bytes at that time."""

    @property
    def repeated(self) -> bool:
        """True if the retransmission of the same data timed out before (RFC 5681 section 3.1)."""

@final
class PartialAck:
    """ACK for new data in recovery that leaves some of the old data unacknowledged."""

    def __new__(cls, acked: int, *, inflates: bool = True) -> PartialAck: ...
    @property
    def acked(self) -> int:
        """Newly acknowledged bytes."""

    @property
    def inflates(self) -> bool:
        """True if recovery inflates cwnd (RFC 6582); otherwise it counts a pipe (RFC 6675)."""

@final
class Feedback:
    """Information from any ACK: for new data or a duplicate, in recovery or not.

    Amounts in bytes; positions count the bytes of the stream.
    """

    @property
    def now_s(self) -> float:
        """Arrival time in seconds of the run."""

    @property
    def acked(self) -> int:
        """Newly acknowledged bytes, cumulatively."""

    @property
    def sacked(self) -> int:
        """Newly acknowledged bytes, by SACK blocks."""

    @property
    def duplicate(self) -> bool:
        """True for a duplicate ACK."""

    @property
    def recovering(self) -> bool:
        """True if it arrived in recovery, or before what a timeout found outstanding was acked."""

    @property
    def round_trip_s(self) -> float | None:
        """Round-trip time measured by this ACK, in seconds."""

    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time in seconds, including this sample."""

    @property
    def min_rtt_s(self) -> float | None:
        """Minimum round-trip time of the connection in seconds, including this sample."""

    @property
    def acknowledged(self) -> int:
        """Position up to which everything is acknowledged.

        A round trip ends when it reaches the value of `sent` at its start.
        """

    @property
    def sent(self) -> int:
        """Position after the last byte sent."""

    @property
    def pipe(self) -> int:
        """Estimated bytes in the network after this ACK (RFC 6675 section 4)."""

    @property
    def advertised(self) -> int:
        """Advertised window of the receiver."""

    @property
    def peer_clock_ms(self) -> int | None:
        """TSval in milliseconds of the receiver's clock, when timestamps are in use (RFC 7323)."""

    @property
    def marked(self) -> bool:
        """True if the receiver echoes an ECN mark (RFC 3168 section 6.1.3)."""

    @property
    def marked_bytes(self) -> int:
        """Bytes that arrived marked; the exact number with accurate ECN (RFC 9768)."""

    @property
    def needless(self) -> int:
        """Bytes that the receiver reports as received twice (RFC 2883)."""

    @property
    def head_sent_s(self) -> float | None:
        """When the first unacknowledged segment was last sent; for those that need records."""

    @property
    def rate(self) -> RateSample | None:
        """A sample of the delivery rate, when this ACK delivers; for those that need records."""

@final
class RateSample:
    """Delivery rate between a segment and its ACK; amounts in bytes.

    Source: draft-ietf-ccwg-bbr section 4.1.
    """

    @property
    def rate(self) -> float | None:
        """Bytes per second; None if the interval is too short."""

    @property
    def delivered(self) -> int:
        """Bytes delivered over the whole connection, including this ACK."""

    @property
    def prior_delivered(self) -> int:
        """Bytes delivered when the segment was sent."""

    @property
    def lost(self) -> int:
        """Bytes lost between the transmission of the segment and this ACK."""

    @property
    def in_flight_when_sent(self) -> int:
        """Bytes in the network right after the segment was sent."""

    @property
    def app_limited(self) -> bool:
        """True if the application may have limited the rate."""

@final
class LostSegment:
    """Segment that was detected as lost; amounts in bytes."""

    @property
    def now_s(self) -> float:
        """Time of detection in seconds of the run."""

    @property
    def sent_at_s(self) -> float:
        """Time of its last transmission in seconds of the run."""

    @property
    def bytes(self) -> int:
        """Length."""

    @property
    def in_flight_when_sent(self) -> int:
        """Bytes in the network right after it was sent."""

    @property
    def lost_since_sent(self) -> int:
        """Bytes lost since it was sent, including its own."""

    @property
    def app_limited(self) -> bool:
        """True if the application may have limited the sender when it was sent."""

@final
class PathChange:
    """Hint that the path changes, as in a hand-over. It may be late, early or missing."""

    @property
    def now_s(self) -> float:
        """Time of the hint in seconds of the run."""

    @property
    def kind(self) -> str:
        """Its kind: "coming" before the change, "done" at it."""

    @property
    def at_s(self) -> float:
        """Time of the change in seconds of the run, as the source takes it to be."""

    @property
    def phase(self) -> int:
        """Number of the phase of the path that begins; the first hint is about phase 1."""

@final
class Sent:
    """Segment that has just been sent; amounts in bytes."""

    @property
    def now_s(self) -> float:
        """Time of transmission in seconds of the run."""

    @property
    def bytes(self) -> int:
        """Length."""

    @property
    def again(self) -> bool:
        """True for a retransmission."""

    @property
    def sent(self) -> int:
        """Position in the stream after the last byte sent."""

    @property
    def pipe_before(self) -> int:
        """Bytes in the network before it was sent."""

@final
class Needs:
    """Events and features that a controller needs in addition to standard TCP."""

    def __new__(
        cls,
        *,
        feedback: bool = False,
        records: bool = False,
        pacing: bool = False,
        marks: bool = False,
        duplicate_reports: bool = False,
        own_recovery: bool = False,
        path_changes: bool = False,
    ) -> Needs: ...
    @property
    def feedback(self) -> bool:
        """`on_feedback` for each ACK and `on_sent` for each segment."""

    @property
    def records(self) -> bool:
        """Records of segments: `Feedback.rate`, `Feedback.head_sent_s`, `on_segment_lost`."""

    @property
    def pacing(self) -> bool:
        """Pacing at `pacing_rate`."""

    @property
    def marks(self) -> bool:
        """ECN: routers may mark packets instead of dropping them (RFC 3168)."""

    @property
    def duplicate_reports(self) -> bool:
        """DSACK: the receiver reports data that arrived twice (RFC 2883)."""

    @property
    def own_recovery(self) -> bool:
        """Cwnd in recovery is left to it, where others are reduced proportionally (RFC 9937)."""

    @property
    def path_changes(self) -> bool:
        """`on_path_change`, for flows with `path_hints`."""

@disjoint_base
class Controller:
    """Congestion controller in Python. Methods that a subclass does not define are standard TCP.

    There is one for each end of each connection. Events change `window` and return nothing;
    questions return an answer and leave `window` alone. Times are seconds, amounts bytes. A method
    that a class does not have of its own costs nothing. docs/python-controllers.md is the guide.
    """

    def __new__(cls, settings: Settings) -> Self: ...
    def __init__(self, settings: Settings) -> None:
        """Start with the window of `settings`; a class may have further arguments."""

    @property
    def window(self) -> Window:
        """The window and its threshold. Recovery changes cwnd as well (RFC 6582 section 3.2)."""

    def needs(self) -> Needs:
        """Events that it needs in addition to `on_ack`; called once. By default none."""

    def on_feedback(self, feedback: Feedback) -> None:
        """An ACK of any kind arrived. Called before the events that follow from it.

        For those that need feedback.
        """

    def on_sent(self, sent: Sent) -> None:
        """A segment was sent; for those that need feedback."""

    def on_segment_lost(self, lost: LostSegment) -> None:
        """A segment was detected as lost; for those that need records."""

    def on_path_change(self, change: PathChange) -> None:
        """The path is about to change, or has changed; for those that need path changes."""

    def on_rtt(self, now_s: float, sample_s: float) -> None:
        """A round-trip time was measured on a segment that was sent once (Karn's algorithm)."""

    def on_ack(self, ack: Ack) -> None:
        """New data was acknowledged outside of recovery; by default `grow`."""

    def grow(self, ack: Ack) -> None:
        """Growth by the rule of the phase, if cwnd limited the sender."""

    def slow_start(self, ack: Ack) -> None:
        """Growth below ssthresh (RFC 5681 equation 2)."""

    def avoid_congestion(self, ack: Ack) -> None:
        """Growth at and above ssthresh (RFC 5681 equation 3)."""

    def threshold_after_loss(self, loss: Loss) -> float:
        """1 to 2**48 bytes: ssthresh after a loss, half the flight size (RFC 5681 equation 4)."""

    def on_loss(self, loss: Loss) -> None:
        """Recovery begins after a loss: cwnd = ssthresh = `threshold_after_loss`."""

    def on_congestion_mark(self, loss: Loss) -> None:
        """An ECN mark, at most once per round trip: the reaction is that to a loss (RFC 3168)."""

    def on_loss_after_mark(self, loss: Loss) -> None:
        """A loss in the window that a mark has reduced: the window stays (RFC 3168).

        Override it if `on_congestion_mark` does not reduce.
        """

    def on_partial_ack(self, partial: PartialAck) -> None:
        """A partial ACK: deflate cwnd and add a segment (RFC 6582 section 3.2 step 5)."""

    def on_recovery_exit(self, now_s: float) -> None:
        """Recovery is over: cwnd = ssthresh (RFC 6582 section 3.2 step 3)."""

    def on_timeout(self, loss: Loss) -> None:
        """The retransmission timer expired: one segment (RFC 5681 section 3.1)."""

    def on_start(self, now_s: float) -> None:
        """Data is sent while nothing is outstanding, as after a pause.

        A window that is a function of time leaves out the time since the last ACK (RFC 9438
        section 5.8).
        """

    def on_idle(self) -> None:
        """Nothing was sent for an RTO: at most the initial window (RFC 5681 section 4.1)."""

    def extra_rto(self) -> float:
        """Seconds added to each retransmission timeout, up to a day; by default none."""

    def retransmission_quota(self) -> int:
        """Maximum number of retransmissions for one ACK or timeout; by default no limit."""

    def duplicate_threshold(self, configured: int) -> int:
        """Number of duplicate ACKs that indicate a loss, by default that of the scenario."""

    def finds_loss(self, feedback: Feedback) -> bool:
        """True if this ACK shows a loss before the duplicate threshold; after `on_feedback`.

        May change the window. By default False.
        """

    def repeats_everything(self) -> bool:
        """True to retransmit all outstanding data after a loss; called after `on_loss`."""

    def backs_off(self) -> bool:
        """True if each timeout doubles the next (RFC 6298 rule 5.5); the default."""

    def pacing_rate(self) -> float | None:
        """Pacing rate in bytes per second, or None; for those that need pacing."""

@final
class StepState:
    """A controller after a step."""

    @property
    def controller(self) -> str:
        """Name of the controller."""

    @property
    def cwnd(self) -> int:
        """Congestion window in bytes."""

    @property
    def ssthresh(self) -> int:
        """Slow start threshold in bytes; 2**64 - 1 for none."""

    @property
    def answer(self) -> str | None:
        """The answer, if the step is a question."""

    @property
    def attributes(self) -> str:
        """The other attributes: of a class those of the object, of Rust the fields of the type."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class StepDifference:
    """The first step after which two controllers differ."""

    @property
    def flow(self) -> str:
        """Name of the flow."""

    @property
    def step(self) -> int:
        """Number of the step among all of the run, from 1."""

    @property
    def at_s(self) -> float:
        """Time of the run in seconds."""

    @property
    def event(self) -> str:
        """The method with its argument."""

    @property
    def cwnd_before(self) -> int:
        """Congestion window of both before the step, in bytes."""

    @property
    def ssthresh_before(self) -> int:
        """Slow start threshold of both before the step, in bytes."""

    @property
    def registered(self) -> StepState:
        """The controller of the scenario."""

    @property
    def prototype(self) -> StepState:
        """The prototype in Python."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Lockstep:
    """The steps of a controller and its prototype."""

    @property
    def steps(self) -> int:
        """Number of steps, up to the first difference: events and questions of both ends."""

    @property
    def difference(self) -> StepDifference | None:
        """The first difference; None if all steps are equal."""

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a dictionary, with dictionaries for the objects in them."""

    def __eq__(self, other: object, /) -> bool: ...

def lockstep(
    scenario: Scenario,
    controllers: Mapping[str, Callable[[Settings], Controller]],
    *,
    seed: int | None = None,
) -> Lockstep:
    """Run a scenario with its controllers and, in the same connections, with prototypes.

    `controllers` and the errors are those of `run`. The run ends at the first difference.
    """

def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    capture: OutputFolder | None = None,
    controllers: Mapping[str, Callable[[Settings], Controller]] | None = None,
    keylog: OutputFolder | None = None,
    qlog: OutputFolder | None = None,
) -> Recording:
    """Run a scenario in the simulator.

    `progress` is called now and then with the fraction that is done. The packets are written into
    `capture`, whose `save` completes them. TLS secrets of connections of QUIC go into `keylog`, and
    their events into `qlog`. `OutputError` when they cannot be written, which has the `recording`
    of the run. Ctrl-C raises `Interrupted` with the partial recording.

    `controllers` gives flows, by name, controllers in Python: classes, or what makes controllers
    when it is called. The name of an entry with `count` stands for all its copies, `*` for every
    flow that is not named. What they raise ends the run; `ControllerError` when they do what no
    controller may, or there is no such flow. The recording calls them `python:` and their class.
    """

def run_many(
    jobs: Sequence[tuple[Scenario, int | None]],
    *,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Recording]:
    """Run jobs of scenario and seed on `workers` threads, by default one for each core.

    The recordings come in the order of the jobs and do not depend on `workers`. `progress` is
    called with the number of finished jobs. Ctrl-C raises `Interrupted`.
    """

def run_study(
    scenarios: Sequence[Scenario],
    jobs: Sequence[tuple[int, int]],
    quantities: Sequence[Quantity],
    sink: Callable[[list[tuple[int, list[float | None], float, int]]], object],
    *,
    workers: int | None = None,
) -> None:
    """Run jobs, each the number of a scenario and a seed, and keep only numbers of each run.

    `sink` is called in this thread with rows of finished runs as they come, in no particular
    order: number of the job, quantities, wall time in seconds, events. Series are not recorded.
    Ctrl-C raises `KeyboardInterrupt`; what was finished has been handed over then.
    """

def run_on_kernel(
    scenario: Scenario,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    capture: OutputFolder | None = None,
    controllers: Mapping[str, Callable[[Settings], Controller]] | None = None,
    keylog: OutputFolder | None = None,
    qlog: OutputFolder | None = None,
) -> Recording:
    """Run a scenario on the TCP of this machine's kernel, in real time.

    Arguments as for `run`. `KernelError` says what the machine lacks, or what of the scenario a
    kernel cannot do: it takes no `controllers` in Python. How well the network was emulated stands
    in the recording under `kernel`.
    """

def kernel_settings(scenario: Scenario) -> tuple[list[KernelSetting], list[str]]:
    """Verdicts of this machine's kernel on each setting of a scenario. Nothing is set up.

    Returns the settings that a run would apply or approximate, for each kind of flow and for each
    side of a gateway, and a sentence for each one that it would refuse. Raises `KernelError` if the
    system does not say which controllers the kernel has.
    """

def shell(
    scenario: Scenario,
    command: Sequence[str],
    *,
    host: str | None = None,
    servers: Sequence[tuple[str, Sequence[str]]] = ...,
    seed: int | None = None,
) -> tuple[int, KernelQuality]:
    """Run a program on a host of a scenario, by default the one that receives the first flow.

    The ends of all flows are reached by name. `servers` are hosts and programs that run meanwhile
    and are killed when it ends. Returns its exit status and how well the network was
    emulated. Raises `KernelError` as `run_on_kernel`.
    """

def controllers() -> list[ControllerEntry]:
    """All congestion controllers, in the order of the registry."""

def mechanisms() -> list[Mechanism]:
    """All mechanisms that a scenario can put on the path, in the order of `bentpipe path`."""

def mixes() -> list[Mix]: ...
def kernel_controllers() -> list[KernelController]:
    """The controllers that the running Linux kernel can be given."""

def kernel_likeness() -> list[KernelLikeness]:
    """Linux's own controllers with the definitions that they are, or could be taken for."""

def kernel_missing() -> list[str]:
    """Things that this machine lacks to load them, each with a remedy; may be empty."""

def kernel_load(
    name: str,
    sets: Sequence[str] = ...,
    *,
    default: bool = False,
    namespace: str | None = None,
) -> str:
    """Load a controller with parameters as `"beta=2"`; gives the folder that it is pinned in.

    It stays when this process ends. With `default`, new sockets of the network namespace (as
    `ip netns` names it, by default this one) use it; a loaded one can be made the default.
    `KernelError` when it cannot be as asked for, or the machine or the kernel does not let it.
    """

def kernel_set(name: str, sets: Sequence[str]) -> list[KernelParameter]:
    """Change parameters of a loaded controller; connections that use it see them at once."""

def kernel_unload(name: str) -> int:
    """Unload a controller; gives the number of connections that keep it until they end.

    Network namespaces that have it as their default get back what they had.
    """

def kernel_status() -> list[KernelUse]:
    """The controllers that are loaded, and those that were and are still used."""

def record_stubs() -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """Name, docstring and attributes of each class of results, for the stubs.

    An attribute has a name, a type and a docstring.
    """

def reference() -> str:
    """The reference of the scenario language in Markdown: `docs/scenario.md`."""

def scenario_files(text: str, folder: str | PathLike[str]) -> list[str]:
    """The files that a scenario in TOML refers to, in their order.

    Those that files of `bentpipe orbit` refer to are among them. All names count from `folder`.
    None if the text is not TOML.
    """

def names_a_file(path: str) -> bool:
    """Returns true if the values of a path of the scenario language can be names of files."""

def dotted_path(path: str) -> str | None:
    """The path of an override with indices after dots.

    `link.0.overhead` for `link[0].overhead`. None if no scenario has such a key.
    """

def group_of_terminal(node: str) -> str | None:
    """The group whose terminal a node would be, by its name: `home` of `home-3`.

    None without a number behind the last `-`.
    """

def study_schema() -> str:
    """The JSON Schema of study files."""

def study_reference() -> str:
    """The reference of the keys of a study file in Markdown, a part of `docs/studies.md`."""

@final
class StudySource:
    """A study whose keys and values are valid, with their places in its file."""

    @staticmethod
    def load(path: str | PathLike[str]) -> StudySource:
        """Read a study file; `StudyError` with the place of every error."""

    @staticmethod
    def build(document: dict[str, Any]) -> StudySource:
        """Check the keys and values of a study that a program made; `StudyError`."""

    def document(self) -> dict[str, Any]:
        """The study with its defaults, as plain values in the order of the file."""

    @property
    def text(self) -> str:
        """The text of the file; empty for a study of a program."""

    def error(self, problems: Sequence[StudyProblem]) -> StudyError:
        """The `StudyError` of problems that only the reader of a study can see."""

def schema() -> str:
    """The JSON Schema of the scenario language."""

def version() -> str:
    """Version of the engine and of the package."""

def _panic(message: str | None = None) -> str | None:
    """Panics with the message, for tests. Without one, returns the place of the last panic."""

def build_profile() -> str:
    """How the engine was compiled: `release`, or `debug` which is ten times slower."""

def hosts() -> list[HostProfile]:
    """All profiles of hosts, in the order of `bentpipe hosts`."""

def unset_for_programs(scenario: Scenario) -> list[str]:
    """Settings of the flows of a scenario that programs of `shell` do not get, in words.

    Sysctls and routes are those of the scenario. Options of sockets are the choice of each program,
    and a machine may restrict controllers. Raises `KernelError` as `shell`.
    """

def transports() -> list[Transport]:
    """All transport protocols, in the order of `bentpipe transports`."""

def constellations() -> list[Constellation]:
    """All constellations with a name, in the order of `bentpipe constellations`."""

def orbit(file: str | PathLike[str]) -> OrbitSeries:
    """Compute the path of a file of `bentpipe orbit`; `OrbitError` with the places of errors."""

def replay_cwnd(
    scenario: Scenario, mss: int, samples: Sequence[tuple[float, int, float, int]]
) -> CwndReplay:
    """Drive the controller of the first flow of a scenario with a measured connection.

    `mss` is the segment size in bytes. A sample has the time in s, the congestion window in bytes,
    the smoothed RTT in s and the segments retransmitted since the sample before. Raises
    `ControllerError` if the controller needs more than losses and RTTs, or if the measurement
    cannot be replayed.
    """

def read_trace(file: str | PathLike[str], form: str, names: Mapping[str, str] = ...) -> TraceRows:
    """Read a file with a trace, as the key `trace` of a link does; `TraceError` with the line.

    `form` is `columns`, `deliveries` or `delays`. `names` are the columns of a log of another
    program, as the key `columns` has them.
    """

def orbit_columns() -> list[str]:
    """The names of the columns of an `OrbitSeries`, in the order of its files."""

def orbit_schema() -> str:
    """The JSON Schema of files of `bentpipe orbit`."""

def orbit_reference() -> str:
    """The reference of the keys of these files in Markdown, a part of `docs/orbit.md`."""
