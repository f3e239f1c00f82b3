//! Totals of a recording as objects. Every record of the engine is taken apart without `..`, so
//! that a new field does not compile until Python has it too.

use pyo3::prelude::*;
use recording::{
    FlowRecord, KernelRecord, LinkRecord, ObjectRecord, PageRecord, QueueingRecord, QuicRecord,
    RateRecord, RttRecord, SctpRecord, SettingRecord, StpRecord, TcpRecord, XtpRecord,
};

use crate::record::record;

record! {
    /// Totals of one flow. Rates are means over the flow's active time.
    Flow {
        /// Name of the flow.
        flow: String,
        /// Name of the controller; `python:` and its class for one in Python.
        controller: String,
        /// Provenance of the controller; an implementation has its release and file in brackets.
        controller_status: String,
        /// Transport protocol: `tcp`, `quic`, `stp`, `scps-tp`, `xtp` or `sctp`.
        protocol: &'static str,
        /// True if a finite transfer was completed.
        completed: bool,
        /// True if the transport gave the connection up.
        aborted: bool,
        /// Why the transport gave the connection up, if it did.
        ///
        /// `retransmissions`, `user-timeout`, `keep-alive`, `reset`; with QUIC `idle-timeout` or
        /// `protocol-error`; or `timed-out` on a kernel, which does not report which of the first
        /// three.
        abort_cause: Option<String>,
        /// Bytes handed to the receiving application.
        bytes: u64,
        /// Start of the flow in seconds.
        start_s: f64,
        /// Flow completion time in seconds; None if it did not complete.
        completion_s: Option<f64>,
        /// Bits per second handed to the receiving application.
        goodput_bps: f64,
        /// Bits per second of payload sent, with retransmissions and the data of probes.
        throughput_bps: f64,
        /// Smoothed RTT of the data sender at the end in milliseconds; None without a sample.
        srtt_ms: Option<f64>,
        /// Minimum RTT of the data sender in milliseconds; None without a sample.
        min_rtt_ms: Option<f64>,
        /// Mean RTT in milliseconds, exact.
        ///
        /// Over the samples of the flow's retransmission timers (RFC 6298): one for each ACK with
        /// timestamps or with the recovery of Linux, else one for each round trip. None without a
        /// sample, and on the kernel, which does not report them.
        mean_rtt_ms: Option<f64>,
        /// Median of the RTT samples in milliseconds; relative error at most 0.8 %.
        median_rtt_ms: Option<f64>,
        /// 95th percentile of the RTT samples in milliseconds; relative error at most 0.8 %.
        p95_rtt_ms: Option<f64>,
        /// 99th percentile of the RTT samples in milliseconds; relative error at most 0.8 %.
        p99_rtt_ms: Option<f64>,
        /// Maximum of the RTT samples in milliseconds; exact.
        max_rtt_ms: Option<f64>,
        /// Congestion window of the data sender at the end in bytes.
        cwnd_bytes: u64,
        /// Mean response time of the completed pages in seconds; None without one.
        page_response_s: Option<f64>,
        /// Bytes written by an application with a rate of its own; None for others.
        offered_bytes: Option<u64>,
        /// Mean time from the start of a burst to its last byte in seconds; None without bursts.
        burst_completion_s: Option<f64>,
        /// Totals of TCP and SCPS-TP; None for another protocol.
        tcp: Option<TcpTotals>,
        /// Totals that only QUIC has; None for another protocol.
        quic: Option<QuicTotals>,
        /// Totals that only STP has; None for another protocol.
        stp: Option<StpTotals>,
        /// Totals that only XTP has; None for another protocol.
        xtp: Option<XtpTotals>,
        /// Totals that only SCTP has; None for another protocol.
        sctp: Option<SctpTotals>,
        /// Web pages.
        pages: Vec<Page>,
    }
}

record! {
    /// Totals of one flow that only TCP has.
    TcpTotals {
        /// Name of the loss recovery.
        recovery: String,
        /// Data segments sent, retransmissions included, without probes.
        segments_sent: u64,
        /// Data segments retransmitted.
        segments_retransmitted: u64,
        /// Probes of unused capacity sent (TCP-Peach, TCP-Peach+, TCP-Cherry).
        probes_sent: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Times that fast recovery was entered.
        fast_recoveries: u64,
    }
}

record! {
    /// Totals of one flow that only QUIC has, named as those of TCP if they mean the same.
    QuicTotals {
        /// Packets with data sent, those included whose data was sent before.
        segments_sent: u64,
        /// Packets found to be lost. Their data is retransmitted in new packets.
        segments_retransmitted: u64,
        /// Number of times that a loss reduced the window.
        fast_recoveries: u64,
        /// Probe timeouts of the data sender, which reduce no window (RFC 9002 section 6.2).
        timeouts: u64,
        /// Number of times that all packets of a longer period were lost (RFC 9002 section 7.6).
        persistent_congestions: u64,
        /// ACK frames that the data receiver has sent.
        acks_sent: u64,
        /// ACK_FREQUENCY frames that the data sender has sent.
        ack_frequency_sent: u64,
        /// IMMEDIATE_ACK frames that the data sender has sent, in its probes.
        immediate_acks_sent: u64,
        /// Probes of the path MTU that the data sender has sent.
        mtu_probes_sent: u64,
        /// Those of them that were lost.
        mtu_probes_lost: u64,
        /// Number of times that packets of the size found no longer arrived.
        black_holes: u64,
        /// Why a connection ended before its time, in the words of quinn; None if none did.
        error: Option<String>,
    }
}

record! {
    /// Totals of one flow that only STP has, named as those of TCP if they mean the same.
    StpTotals {
        /// Data packets sent, retransmissions included.
        segments_sent: u64,
        /// Data packets retransmitted.
        segments_retransmitted: u64,
        /// Number of times that a loss reduced the window.
        fast_recoveries: u64,
        /// POLLs without data that the data sender has sent.
        polls_sent: u64,
        /// STATs that the data receiver has sent.
        stats_sent: u64,
        /// USTATs that the data receiver has sent.
        ustats_sent: u64,
        /// Losses that probes of XSTP took for corruption.
        probed_corruption: u64,
        /// Losses that probes of XSTP took for congestion.
        probed_congestion: u64,
        /// Outages that probes of XSTP have found.
        probed_outages: u64,
    }
}

record! {
    /// Totals of one flow that only XTP has, named as those of TCP if they mean the same.
    XtpTotals {
        /// Data packets sent, retransmissions included.
        segments_sent: u64,
        /// Data packets retransmitted.
        segments_retransmitted: u64,
        /// Packets with a request (SREQ or DREQ) that the data sender has sent.
        requests_sent: u64,
        /// Reports that the data receiver has sent: CNTL, ECNTL and TCNTL.
        reports_sent: u64,
        /// Those of them that show a gap: ECNTL.
        gap_reports_sent: u64,
        /// Synchronising handshakes that the data sender has begun.
        handshakes: u64,
    }
}

record! {
    /// Totals of one flow that only SCTP has, named as those of TCP if they mean the same.
    SctpTotals {
        /// DATA chunks sent, retransmissions included.
        segments_sent: u64,
        /// DATA chunks retransmitted.
        segments_retransmitted: u64,
        /// Expiries of T3-rtx.
        timeouts: u64,
        /// Number of times that fast recovery was entered.
        fast_recoveries: u64,
        /// Packets with DATA chunks that the data sender has sent.
        data_packets_sent: u64,
        /// SACK chunks that the data receiver has sent.
        sacks_sent: u64,
        /// DATA chunks that have reached the data receiver more than once.
        duplicates_received: u64,
        /// HEARTBEAT chunks of both ends.
        heartbeats_sent: u64,
        /// Times that the data sender found a path to be inactive.
        path_failures: u64,
        /// Times that its new data took another path.
        path_changes: u64,
    }
}

record! {
    /// One web page.
    Page {
        /// Time of the request in seconds.
        start_s: f64,
        /// Page load time in seconds: until the last byte of the last object; None if incomplete.
        response_s: Option<f64>,
        /// Its objects, the main one first.
        objects: Vec<PageObject>,
    }
}

record! {
    /// One object of a web page.
    PageObject {
        /// Size in bytes.
        bytes: u64,
        /// Time of its request in seconds.
        start_s: f64,
        /// Time from the request to the last byte in seconds; None if incomplete.
        response_s: Option<f64>,
    }
}

record! {
    /// Totals of one direction of a link, or of a router's forwarding.
    Link {
        /// Name of the link, or of the node for a router's forwarding.
        link: String,
        /// `forward`, `backward` or `forwarding`.
        direction: String,
        /// Share of the run during which it was transmitting, from 0 to 1.
        utilisation: f64,
        /// Packets delivered to the far end.
        delivered_packets: u64,
        /// Bytes delivered to the far end, without link-layer overhead.
        delivered_bytes: u64,
        /// Packets dropped by the full queue.
        dropped_packets: u64,
        /// Packets corrupted by the channel.
        corrupted_packets: u64,
        /// Maximum queue in bytes.
        max_queue_bytes: u64,
        /// Mean queueing delay in milliseconds, exact.
        ///
        /// From the arrival of a packet at the queue to the start of its transmission, over all packets
        /// that were not dropped. None without packets.
        mean_queueing_delay_ms: Option<f64>,
        /// Median of the queueing delay in milliseconds; relative error at most 0.8 %.
        median_queueing_delay_ms: Option<f64>,
        /// 95th percentile of the queueing delay in milliseconds; relative error at most 0.8 %.
        p95_queueing_delay_ms: Option<f64>,
        /// 99th percentile of the queueing delay in milliseconds; relative error at most 0.8 %.
        p99_queueing_delay_ms: Option<f64>,
        /// Maximum queueing delay in milliseconds; exact.
        max_queueing_delay_ms: Option<f64>,
        /// Mean queue in bytes that packets find before them.
        ///
        /// Over packets and not over time, with an error of less than one packet. None without packets.
        mean_queue_bytes: Option<f64>,
        /// Median of the same queue in bytes; error at most 0.8 % and one packet.
        median_queue_bytes: Option<f64>,
        /// 95th percentile of the same queue in bytes; error at most 0.8 % and one packet.
        p95_queue_bytes: Option<f64>,
        /// 99th percentile of the same queue in bytes; error at most 0.8 % and one packet.
        p99_queue_bytes: Option<f64>,
    }
}

record! {
    /// How well the testbed emulated the network, and what the kernel did with each setting.
    KernelQuality {
        /// Release of the kernel.
        release: String,
        /// True if packets were delivered within the tolerance and none was lost outside links.
        valid: bool,
        /// Largest allowed 99th percentile of the delay error in milliseconds.
        tolerance_ms: f64,
        /// Packets whose delivery was timed.
        timed_packets: u64,
        /// Median of the delay error in milliseconds.
        delay_error_p50_ms: f64,
        /// 99th percentile of the delay error in milliseconds.
        delay_error_p99_ms: f64,
        /// Maximum delay error in milliseconds.
        delay_error_max_ms: f64,
        /// Packets lost between a host and the network, outside of the scenario's links.
        lost_packets: u64,
        /// Packets addressed to no host of the scenario.
        stray_packets: u64,
        /// Rates of the links into hosts.
        rates: Vec<LinkRate>,
        /// Settings of each kind of flow.
        settings: Vec<KernelSetting>,
    }
}

record! {
    /// The rate of one direction of a link while it was busy.
    LinkRate {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// Rate of the scenario in bits per second.
        configured_bps: f64,
        /// Measured rate, link-layer overhead included; None without packets back to back.
        achieved_bps: Option<f64>,
    }
}

record! {
    /// What the kernel did with a setting.
    KernelSetting {
        /// The first flow with these settings.
        flow: String,
        /// Path in the flow, as `transport.rto.min`, or in a link on its way.
        setting: String,
        /// Value in the scenario.
        asked: String,
        /// `applied`, or `approximated` if the kernel does something else.
        verdict: String,
        /// What the kernel does.
        kernel: String,
        /// Of `transport.receive_buffer` the largest window that receivers advertised, in bytes.
        largest_window_bytes: Option<u64>,
    }
}

impl From<&FlowRecord> for Flow {
    fn from(record: &FlowRecord) -> Self {
        let FlowRecord {
            flow,
            controller,
            controller_status,
            completed,
            aborted,
            abort_cause,
            bytes,
            start_s,
            completion_s,
            goodput_bps,
            throughput_bps,
            srtt_ms,
            min_rtt_ms,
            rtt,
            cwnd_bytes,
            page_response_s,
            offered_bytes,
            burst_completion_s,
            protocol,
            pages,
        } = record;
        let rtt_of = |figure: fn(&RttRecord) -> f64| rtt.as_ref().map(figure);
        Self {
            flow: flow.clone(),
            controller: controller.to_string(),
            controller_status: controller_status.to_string(),
            protocol: protocol.name(),
            completed: *completed,
            aborted: *aborted,
            abort_cause: abort_cause.as_deref().map(str::to_owned),
            bytes: *bytes,
            start_s: *start_s,
            completion_s: *completion_s,
            goodput_bps: *goodput_bps,
            throughput_bps: *throughput_bps,
            srtt_ms: *srtt_ms,
            min_rtt_ms: *min_rtt_ms,
            mean_rtt_ms: rtt_of(|rtt| rtt.mean_rtt_ms),
            median_rtt_ms: rtt_of(|rtt| rtt.median_rtt_ms),
            p95_rtt_ms: rtt_of(|rtt| rtt.p95_rtt_ms),
            p99_rtt_ms: rtt_of(|rtt| rtt.p99_rtt_ms),
            max_rtt_ms: rtt_of(|rtt| rtt.max_rtt_ms),
            cwnd_bytes: *cwnd_bytes,
            page_response_s: *page_response_s,
            offered_bytes: *offered_bytes,
            burst_completion_s: *burst_completion_s,
            tcp: protocol.tcp().map(TcpTotals::from),
            quic: protocol.quic().map(QuicTotals::from),
            stp: protocol.stp().map(StpTotals::from),
            xtp: protocol.xtp().map(XtpTotals::from),
            sctp: protocol.sctp().map(SctpTotals::from),
            pages: pages.iter().map(Page::from).collect(),
        }
    }
}

impl From<&TcpRecord> for TcpTotals {
    fn from(record: &TcpRecord) -> Self {
        let TcpRecord {
            recovery,
            segments_sent,
            segments_retransmitted,
            probes_sent,
            timeouts,
            fast_recoveries,
        } = record;
        Self {
            recovery: recovery.to_string(),
            segments_sent: *segments_sent,
            segments_retransmitted: *segments_retransmitted,
            probes_sent: *probes_sent,
            timeouts: *timeouts,
            fast_recoveries: *fast_recoveries,
        }
    }
}

impl From<&StpRecord> for StpTotals {
    fn from(record: &StpRecord) -> Self {
        let StpRecord {
            segments_sent,
            segments_retransmitted,
            fast_recoveries,
            polls_sent,
            stats_sent,
            ustats_sent,
            probed_corruption,
            probed_congestion,
            probed_outages,
        } = record;
        Self {
            segments_sent: *segments_sent,
            segments_retransmitted: *segments_retransmitted,
            fast_recoveries: *fast_recoveries,
            polls_sent: *polls_sent,
            stats_sent: *stats_sent,
            ustats_sent: *ustats_sent,
            probed_corruption: *probed_corruption,
            probed_congestion: *probed_congestion,
            probed_outages: *probed_outages,
        }
    }
}

impl From<&XtpRecord> for XtpTotals {
    fn from(record: &XtpRecord) -> Self {
        let XtpRecord {
            segments_sent,
            segments_retransmitted,
            requests_sent,
            reports_sent,
            gap_reports_sent,
            handshakes,
        } = record;
        Self {
            segments_sent: *segments_sent,
            segments_retransmitted: *segments_retransmitted,
            requests_sent: *requests_sent,
            reports_sent: *reports_sent,
            gap_reports_sent: *gap_reports_sent,
            handshakes: *handshakes,
        }
    }
}

impl From<&SctpRecord> for SctpTotals {
    fn from(record: &SctpRecord) -> Self {
        let SctpRecord {
            segments_sent,
            segments_retransmitted,
            timeouts,
            fast_recoveries,
            data_packets_sent,
            sacks_sent,
            duplicates_received,
            heartbeats_sent,
            path_failures,
            path_changes,
        } = record;
        Self {
            segments_sent: *segments_sent,
            segments_retransmitted: *segments_retransmitted,
            timeouts: *timeouts,
            fast_recoveries: *fast_recoveries,
            data_packets_sent: *data_packets_sent,
            sacks_sent: *sacks_sent,
            duplicates_received: *duplicates_received,
            heartbeats_sent: *heartbeats_sent,
            path_failures: *path_failures,
            path_changes: *path_changes,
        }
    }
}

impl From<&QuicRecord> for QuicTotals {
    fn from(record: &QuicRecord) -> Self {
        let QuicRecord {
            segments_sent,
            segments_retransmitted,
            fast_recoveries,
            timeouts,
            persistent_congestions,
            acks_sent,
            ack_frequency_sent,
            immediate_acks_sent,
            mtu_probes_sent,
            mtu_probes_lost,
            black_holes,
            error,
        } = record;
        Self {
            segments_sent: *segments_sent,
            segments_retransmitted: *segments_retransmitted,
            fast_recoveries: *fast_recoveries,
            timeouts: *timeouts,
            persistent_congestions: *persistent_congestions,
            acks_sent: *acks_sent,
            ack_frequency_sent: *ack_frequency_sent,
            immediate_acks_sent: *immediate_acks_sent,
            mtu_probes_sent: *mtu_probes_sent,
            mtu_probes_lost: *mtu_probes_lost,
            black_holes: *black_holes,
            error: error.clone(),
        }
    }
}

impl From<&PageRecord> for Page {
    fn from(record: &PageRecord) -> Self {
        let PageRecord { start_s, response_s, objects } = record;
        let objects = objects.iter().map(PageObject::from).collect();
        Self { start_s: *start_s, response_s: *response_s, objects }
    }
}

impl From<&ObjectRecord> for PageObject {
    fn from(record: &ObjectRecord) -> Self {
        let ObjectRecord { bytes, start_s, response_s } = record;
        Self { bytes: *bytes, start_s: *start_s, response_s: *response_s }
    }
}

impl From<&LinkRecord> for Link {
    fn from(record: &LinkRecord) -> Self {
        let LinkRecord {
            link,
            direction,
            utilisation,
            delivered_packets,
            delivered_bytes,
            dropped_packets,
            corrupted_packets,
            max_queue_bytes,
            queueing,
        } = record;
        let of = |figure: fn(&QueueingRecord) -> f64| queueing.as_ref().map(figure);
        Self {
            link: link.clone(),
            direction: direction.clone(),
            utilisation: *utilisation,
            delivered_packets: *delivered_packets,
            delivered_bytes: *delivered_bytes,
            dropped_packets: *dropped_packets,
            corrupted_packets: *corrupted_packets,
            max_queue_bytes: *max_queue_bytes,
            mean_queueing_delay_ms: of(|queueing| queueing.mean_queueing_delay_ms),
            median_queueing_delay_ms: of(|queueing| queueing.median_queueing_delay_ms),
            p95_queueing_delay_ms: of(|queueing| queueing.p95_queueing_delay_ms),
            p99_queueing_delay_ms: of(|queueing| queueing.p99_queueing_delay_ms),
            max_queueing_delay_ms: of(|queueing| queueing.max_queueing_delay_ms),
            mean_queue_bytes: of(|queueing| queueing.mean_queue_bytes),
            median_queue_bytes: of(|queueing| queueing.median_queue_bytes),
            p95_queue_bytes: of(|queueing| queueing.p95_queue_bytes),
            p99_queue_bytes: of(|queueing| queueing.p99_queue_bytes),
        }
    }
}

impl From<&KernelRecord> for KernelQuality {
    fn from(record: &KernelRecord) -> Self {
        let KernelRecord {
            release,
            valid,
            tolerance_ms,
            timed_packets,
            delay_error_p50_ms,
            delay_error_p99_ms,
            delay_error_max_ms,
            lost_packets,
            stray_packets,
            rates,
            settings,
        } = record;
        Self {
            release: release.clone(),
            valid: *valid,
            tolerance_ms: *tolerance_ms,
            timed_packets: *timed_packets,
            delay_error_p50_ms: *delay_error_p50_ms,
            delay_error_p99_ms: *delay_error_p99_ms,
            delay_error_max_ms: *delay_error_max_ms,
            lost_packets: *lost_packets,
            stray_packets: *stray_packets,
            rates: rates.iter().map(LinkRate::from).collect(),
            settings: settings.iter().map(KernelSetting::from).collect(),
        }
    }
}

impl From<&RateRecord> for LinkRate {
    fn from(record: &RateRecord) -> Self {
        let RateRecord { link, direction, configured_bps, achieved_bps } = record;
        Self {
            link: link.clone(),
            direction: direction.clone(),
            configured_bps: *configured_bps,
            achieved_bps: *achieved_bps,
        }
    }
}

impl From<&SettingRecord> for KernelSetting {
    fn from(record: &SettingRecord) -> Self {
        let SettingRecord { flow, setting, asked, verdict, kernel, largest_window_bytes } = record;
        Self {
            flow: flow.clone(),
            setting: setting.clone(),
            asked: asked.clone(),
            verdict: verdict.clone(),
            kernel: kernel.clone(),
            largest_window_bytes: *largest_window_bytes,
        }
    }
}
