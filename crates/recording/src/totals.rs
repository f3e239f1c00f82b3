//! Totals of a run. The field names are the JSON names and are stable: scripts depend on them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::extra::ExtraTable;
use crate::kernel::KernelRecord;
use crate::series::{FlowSeries, LinkSeries};

/// Everything that one run leaves behind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// Name of the scenario.
    pub scenario: String,
    /// Backend that ran it.
    pub backend: Backend,
    /// Seed of the run.
    pub seed: u64,
    /// Version of Bentpipe that made it.
    pub version: String,
    /// Wall time of the run in seconds; no part of what is reproducible.
    pub wall_s: f64,
    /// Simulated time in seconds.
    pub simulated_s: f64,
    /// Events processed: packet arrivals and timers.
    pub events: u64,
    /// Packets sent through a link or a router's forwarding.
    pub packet_hops: u64,
    /// The run was interrupted before its end.
    pub partial: bool,
    /// One record for each flow.
    pub flows: Vec<FlowRecord>,
    /// One record for each direction of each link.
    pub links: Vec<LinkRecord>,
    /// Jain's fairness index over the goodput of all flows; `None` without flows.
    pub jain_index: Option<f64>,
    /// How the testbed did; `None` from the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
    /// Tables that parts of the run declared by [`extra_table!`](crate::extra_table).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<ExtraTable>,
    /// Series of the flows, empty unless asked for.
    #[serde(skip)]
    pub flow_series: FlowSeries,
    /// Series of the links, empty unless asked for.
    #[serde(skip)]
    pub link_series: LinkSeries,
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In virtual time.
    #[default]
    Simulator,
    /// On the TCP of this machine's kernel, in real time.
    Kernel,
}

impl Backend {
    /// Its name on the command line and in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Kernel => "kernel",
        }
    }
}

/// Totals of one flow: what every transport has, and a part of its own protocol. Rates are means
/// over the flow's active time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Name of the flow.
    pub flow: String,
    /// Name of the controller; `python:` and its class for one in Python.
    pub controller: Cow<'static, str>,
    /// Provenance of the controller: `published`, `reconstructed`, `experimental`, or
    /// `from an implementation` with its release and file in brackets; `prototype` for one in Python,
    /// `kernel` for a run on the kernel.
    #[serde(alias = "status")]
    pub controller_status: Cow<'static, str>,
    /// True if a finite transfer completed.
    pub completed: bool,
    /// Whether the transport gave the connection up.
    pub aborted: bool,
    /// Why, if it did: `retransmissions`, `user-timeout`, `keep-alive`, `reset`; with QUIC `idle-timeout` or
    /// `protocol-error`; or `timed-out` on a kernel, which does not report which of the first three.
    #[serde(default)]
    pub abort_cause: Option<Cow<'static, str>>,
    /// Bytes handed to the receiving application.
    pub bytes: u64,
    /// Start of the flow in seconds.
    pub start_s: f64,
    /// From the start of the flow to the last byte at the receiving application, in seconds.
    pub completion_s: Option<f64>,
    /// Bits per second handed to the receiving application.
    #[serde(deserialize_with = "crate::json::number")]
    pub goodput_bps: f64,
    /// Bits per second of payload sent, with retransmissions and the data of probes. Not below
    /// `goodput_bps`.
    #[serde(deserialize_with = "crate::json::number")]
    pub throughput_bps: f64,
    /// Smoothed RTT of the data sender at the end, in milliseconds.
    pub srtt_ms: Option<f64>,
    /// Smallest RTT sample of the data sender, in milliseconds.
    pub min_rtt_ms: Option<f64>,
    /// RTT samples of all data senders; `None` without one, and on the kernel, which does not count
    /// them.
    #[serde(flatten)]
    pub rtt: Option<RttRecord>,
    /// Congestion window of the data sender at the end, in bytes.
    pub cwnd_bytes: u64,
    /// Mean response time of the completed pages, in seconds.
    pub page_response_s: Option<f64>,
    /// Bytes that an application with a rate of its own has written; more than `bytes` where TCP was
    /// slower. `None` for one that writes as fast as TCP takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_bytes: Option<u64>,
    /// Mean time from the start of a burst to its last byte at the receiving application, in seconds,
    /// over the bursts that arrived whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_completion_s: Option<f64>,
    /// What only its transport protocol has.
    #[serde(flatten)]
    pub protocol: ProtocolRecord,
    /// Web pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageRecord>,
}

impl FlowRecord {
    /// The part of TCP, if that or SCPS-TP is the flow's protocol.
    pub fn tcp(&self) -> Option<&TcpRecord> {
        self.protocol.tcp()
    }
}

/// The part of a flow's totals that only its transport protocol has. In JSON its fields stand among
/// those of the flow, after `protocol`; in the table `flows` they are null for other protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "lowercase")]
pub enum ProtocolRecord {
    /// TCP.
    Tcp(TcpRecord),
    /// SCPS-TP, which has the counts of TCP.
    #[serde(rename = "scps-tp")]
    ScpsTp(TcpRecord),
    /// QUIC.
    Quic(QuicRecord),
    /// STP.
    Stp(StpRecord),
    /// XTP.
    Xtp(XtpRecord),
    /// SCTP.
    Sctp(SctpRecord),
}

impl ProtocolRecord {
    /// Name of the protocol.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::ScpsTp(_) => "scps-tp",
            Self::Quic(_) => "quic",
            Self::Stp(_) => "stp",
            Self::Xtp(_) => "xtp",
            Self::Sctp(_) => "sctp",
        }
    }

    /// The part of TCP, if that or SCPS-TP is the protocol.
    pub fn tcp(&self) -> Option<&TcpRecord> {
        if let Self::Tcp(tcp) | Self::ScpsTp(tcp) = self { Some(tcp) } else { None }
    }

    /// The part of QUIC, if that is the protocol.
    pub fn quic(&self) -> Option<&QuicRecord> {
        if let Self::Quic(quic) = self { Some(quic) } else { None }
    }

    /// The part of STP, if that is the protocol.
    pub fn stp(&self) -> Option<&StpRecord> {
        if let Self::Stp(stp) = self { Some(stp) } else { None }
    }

    /// The part of XTP, if that is the protocol.
    pub fn xtp(&self) -> Option<&XtpRecord> {
        if let Self::Xtp(xtp) = self { Some(xtp) } else { None }
    }

    /// The part of SCTP, if that is the protocol.
    pub fn sctp(&self) -> Option<&SctpRecord> {
        if let Self::Sctp(sctp) = self { Some(sctp) } else { None }
    }

    /// The counts that all protocols have, if the meaning is the same.
    pub(crate) fn packets(&self) -> Packets {
        let counts = |sent, retransmitted, recoveries| Packets { sent, retransmitted, recoveries };
        match self {
            Self::Tcp(one) | Self::ScpsTp(one) => {
                counts(one.segments_sent, one.segments_retransmitted, Some(one.fast_recoveries))
            }
            Self::Quic(one) => {
                counts(one.segments_sent, one.segments_retransmitted, Some(one.fast_recoveries))
            }
            Self::Stp(one) => {
                counts(one.segments_sent, one.segments_retransmitted, Some(one.fast_recoveries))
            }
            Self::Xtp(one) => counts(one.segments_sent, one.segments_retransmitted, None),
            Self::Sctp(one) => {
                counts(one.segments_sent, one.segments_retransmitted, Some(one.fast_recoveries))
            }
        }
    }
}

/// Counts of packets with data of a flow.
pub(crate) struct Packets {
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    /// `None` without congestion control.
    pub(crate) recoveries: Option<u64>,
}

impl Default for ProtocolRecord {
    fn default() -> Self {
        Self::Tcp(TcpRecord::default())
    }
}

/// Totals of one flow that only TCP and SCPS-TP have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpRecord {
    /// Name of the loss recovery.
    pub recovery: Cow<'static, str>,
    /// Data segments sent, retransmissions included, without probes.
    pub segments_sent: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Probes of unused capacity sent: segments of low priority of TCP-Peach, TCP-Peach+ and
    /// TCP-Cherry.
    pub probes_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u64,
}

/// Totals of one flow that only QUIC has, named as those of TCP where the meaning is the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuicRecord {
    /// Packets with data sent, those included whose data was sent before.
    pub segments_sent: u64,
    /// Packets found to be lost. Their data is retransmitted in new packets.
    pub segments_retransmitted: u64,
    /// Times that a loss reduced the window.
    pub fast_recoveries: u64,
    /// Probe timeouts of the data sender, which take the place of retransmission timeouts and reduce no window (RFC 9002
    /// section 6.2).
    pub timeouts: u64,
    /// Times that all packets of a longer period were lost (RFC 9002 section 7.6).
    pub persistent_congestions: u64,
    /// ACK frames that the data receiver has sent.
    pub acks_sent: u64,
    /// ACK_FREQUENCY frames that the data sender has sent (draft-ietf-quic-ack-frequency section 4).
    pub ack_frequency_sent: u64,
    /// IMMEDIATE_ACK frames that the data sender has sent, in its probes (draft-ietf-quic-ack-frequency section 5).
    pub immediate_acks_sent: u64,
    /// Probes of the path MTU that the data sender has sent.
    pub mtu_probes_sent: u64,
    /// Those of them that were lost.
    pub mtu_probes_lost: u64,
    /// Times that packets of the size found no longer arrived (RFC 8899 section 4.3).
    pub black_holes: u64,
    /// Why a connection ended before its time, in the words of quinn, if one did.
    #[serde(default)]
    pub error: Option<String>,
}

/// Totals of one flow that only STP has, named as those of TCP where the meaning is the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StpRecord {
    /// Data packets sent, retransmissions included.
    pub segments_sent: u64,
    /// Data packets retransmitted.
    pub segments_retransmitted: u64,
    /// Times that a loss reduced the window.
    pub fast_recoveries: u64,
    /// POLLs without data that the data sender has sent.
    pub polls_sent: u64,
    /// STATs that the data receiver has sent.
    pub stats_sent: u64,
    /// USTATs that the data receiver has sent.
    pub ustats_sent: u64,
    /// Losses that probes of XSTP took for corruption.
    pub probed_corruption: u64,
    /// Losses that probes of XSTP took for congestion.
    pub probed_congestion: u64,
    /// Outages that probes of XSTP have found.
    pub probed_outages: u64,
}

/// Totals of one flow that only XTP has, named as those of TCP where the meaning is the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct XtpRecord {
    /// Data packets sent, retransmissions included.
    pub segments_sent: u64,
    /// Data packets retransmitted.
    pub segments_retransmitted: u64,
    /// Packets with a request (SREQ or DREQ) that the data sender has sent.
    pub requests_sent: u64,
    /// Reports that the data receiver has sent: CNTL, ECNTL and TCNTL.
    pub reports_sent: u64,
    /// Those of them that show a gap: ECNTL.
    pub gap_reports_sent: u64,
    /// Synchronising handshakes that the data sender has begun.
    pub handshakes: u64,
}

/// Totals of one flow that only SCTP has, named as those of TCP where the meaning is the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SctpRecord {
    /// DATA chunks sent, retransmissions included.
    pub segments_sent: u64,
    /// DATA chunks retransmitted.
    pub segments_retransmitted: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Number of times that fast recovery was entered.
    pub fast_recoveries: u64,
    /// Packets with DATA chunks that the data sender has sent.
    pub data_packets_sent: u64,
    /// SACK chunks that the data receiver has sent.
    pub sacks_sent: u64,
    /// DATA chunks that have reached the data receiver more than once.
    pub duplicates_received: u64,
    /// HEARTBEAT chunks of both ends.
    pub heartbeats_sent: u64,
    /// Times that the data sender found a path to be inactive.
    pub path_failures: u64,
    /// Times that its new data took another path.
    pub path_changes: u64,
}

/// One web page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageRecord {
    /// When it was asked for, in seconds.
    pub start_s: f64,
    /// From asking to the last byte of the last object, in seconds; `None` if it never came.
    pub response_s: Option<f64>,
    /// Its objects, the main one first.
    pub objects: Vec<ObjectRecord>,
}

/// One object of a web page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Bytes.
    pub bytes: u64,
    /// When its request was sent, in seconds.
    pub start_s: f64,
    /// From the request to the last byte, in seconds; `None` if it never came.
    pub response_s: Option<f64>,
}

/// Totals of one direction of a link, or of a router's forwarding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Name of the link, or of the node for a router's forwarding.
    pub link: String,
    /// `forward`, `backward` or `forwarding`.
    pub direction: String,
    /// Fraction of the run during which it was sending.
    #[serde(deserialize_with = "crate::json::number")]
    pub utilisation: f64,
    /// Packets handed to the far end.
    pub delivered_packets: u64,
    /// Bytes handed to the far end, without link-layer overhead.
    pub delivered_bytes: u64,
    /// Packets dropped by the full queue.
    pub dropped_packets: u64,
    /// Packets corrupted by the channel.
    pub corrupted_packets: u64,
    /// Largest number of bytes that waited.
    pub max_queue_bytes: u64,
    /// How long packets waited, and how much waited; `None` without packets.
    #[serde(flatten)]
    pub queueing: Option<QueueingRecord>,
}

/// Distribution of the RTT samples of a flow: those of its retransmission timers (RFC 6298), one for
/// each ACK with timestamps or with the recovery of Linux, else one for each round trip. Percentiles are by nearest rank,
/// with a relative error of at most 0.8 %; mean and maximum are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RttRecord {
    /// Mean in milliseconds.
    pub mean_rtt_ms: f64,
    /// Median in milliseconds.
    pub median_rtt_ms: f64,
    /// 95th percentile in milliseconds.
    pub p95_rtt_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_rtt_ms: f64,
    /// Maximum in milliseconds.
    pub max_rtt_ms: f64,
}

/// Distributions of the queueing delay and the queue length of one direction of a link. Percentiles
/// are by nearest rank, with a relative error of at most 0.8 %. Mean and maximum of the delay are
/// exact; lengths have an error of less than one packet in addition.
///
/// The delay of a packet is the time from its arrival at the queue to the start of its transmission.
/// It includes outages. The queue length is what a packet finds before it. Where the rate never
/// changes, it is the delay times the rate, and so includes what is left of the packet in
/// transmission. Where the rate may change, it is what waits when the packet has joined, without the
/// packet in transmission. Both are means and percentiles over the packets whose transmission
/// started, and not over time: an idle link adds nothing. Dropped packets are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueingRecord {
    /// Mean queueing delay in milliseconds.
    pub mean_queueing_delay_ms: f64,
    /// Median of the queueing delay in milliseconds.
    pub median_queueing_delay_ms: f64,
    /// 95th percentile of the queueing delay in milliseconds.
    pub p95_queueing_delay_ms: f64,
    /// 99th percentile of the queueing delay in milliseconds.
    pub p99_queueing_delay_ms: f64,
    /// Maximum queueing delay in milliseconds.
    pub max_queueing_delay_ms: f64,
    /// Mean queue length in bytes.
    pub mean_queue_bytes: f64,
    /// Median of the queue length in bytes.
    pub median_queue_bytes: f64,
    /// 95th percentile of the queue length in bytes.
    pub p95_queue_bytes: f64,
    /// 99th percentile of the queue length in bytes.
    pub p99_queue_bytes: f64,
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 is fair, 1/n is unfair. `None` for no flow
/// or when nobody got anything.
pub fn jain_index(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        n += 1.0;
        sum += share;
        squares += share * share;
    }
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jain_index_of_the_adalr_table_comes_out() {
        let newreno = [322_418.0, 300_629.1, 263_129.2, 158_601.5, 129_560.8, 109_239.5];
        let index = jain_index(newreno).unwrap();
        assert!((index - 0.865_03).abs() < 1e-5, "{index}");
    }

    #[test]
    fn the_jain_index_is_one_for_equal_shares_and_one_nth_for_a_single_taker() {
        assert_eq!(jain_index([3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index([7.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index([]), None);
        assert_eq!(jain_index([0.0, 0.0]), None);
    }
}
