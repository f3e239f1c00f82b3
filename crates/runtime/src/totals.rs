//! Totals and samples of flows, from the state of their connections on either backend.

use std::borrow::Cow;

use quic::{Connection, Statistics};
use recording::{FlowFigures, FlowRecord, FlowSample, ProtocolRecord, QuicRecord, TcpRecord};
use scenario::model::Flow;
use sketch::Summary;
use transport::{Counters, Limit, Limits, Sample};
use units::{Span, Time};

use crate::application::Application;

/// Nanoseconds in a millisecond.
pub(crate) const NS_PER_MS: f64 = 1e6;

/// State of a flow's connections at an instant, as a backend knows it.
#[derive(Clone, Copy, Debug)]
pub struct FlowState {
    /// Bytes that the receiving application has.
    pub delivered: u64,
    /// Sums over the senders of all legs. `bytes` is that of the leg that has sent most.
    pub sent: Counters,
    /// True if a gateway splits a connection. Its sender knows the RTT to the gateway only.
    pub is_split: bool,
    /// The sender of the connection opened last.
    pub sender: Option<Sample>,
    /// Time of the senders by what held them back; `None` if a protocol does not measure it, and
    /// before the end.
    pub limits: Option<Limits>,
}

impl FlowState {
    /// A row of the series `flow_series`, without rates.
    ///
    /// # Panics
    /// `flow` is above the bound of flows in a scenario.
    pub fn sample(&self, at: Time, flow: usize) -> FlowSample {
        let mut sample = FlowSample {
            flow: u32::try_from(flow).expect("a scenario has a million flows at most"),
            t_s: at.as_secs_f64(),
            srtt_ms: f64::NAN,
            goodput_bps: f64::NAN,
            throughput_bps: f64::NAN,
            delivered_bytes: self.delivered,
            sent_bytes: self.sent.bytes,
            retransmitted: self.sent.retransmissions,
            probes_sent: self.sent.probes,
            ..FlowSample::default()
        };
        if let Some(sender) = self.sender {
            sample.cwnd_bytes = sender.cwnd;
            sample.ssthresh_bytes = sender.ssthresh;
            sample.srtt_ms = self.rtt(|end| end.srtt).unwrap_or(f64::NAN);
            sample.rto_ms = sender.rto.as_millis_f64();
            sample.flight_bytes = sender.flight;
        }
        sample
    }

    /// The totals of `flow` at the `end` of a run, with the key figures of its RTT samples in
    /// nanoseconds.
    pub fn record(
        &self,
        end: Time,
        flow: &Flow,
        application: &Application,
        rtt: Option<Summary>,
        controller_status: Cow<'static, str>,
        protocol: ProtocolRecord,
    ) -> FlowRecord {
        let start = Time::ZERO + flow.start;
        let active = application.finished().unwrap_or(end).since(start).as_secs_f64();
        let rate = |bytes: u64| if active > 0.0 { bytes as f64 * 8.0 / active } else { 0.0 };
        let pages = application.pages();
        let responses: Vec<_> = pages.iter().filter_map(|page| page.response_s).collect();
        let completed = application.is_completed();
        let rtt = rtt.filter(|_| !self.is_split).map(|rtt| rtt.per(NS_PER_MS));
        let limits = self.limits.filter(|_| !self.is_split);
        let share = |limit| limits.and_then(|limits| limits.share(limit));
        let figures = FlowFigures {
            controller: flow.controller.entry().name.into(),
            controller_status,
            completed,
            aborted: application.aborted().is_some(),
            bytes: self.delivered,
            goodput_bps: rate(self.delivered),
            throughput_bps: rate(self.sent.bytes),
            cwnd_bytes: self.sender.map_or(0, |sender| sender.cwnd),
            protocol,
            abort_cause: application.aborted().map(|cause| cause.name().into()),
            completion_s: completed.then_some(active),
            srtt_ms: self.rtt(|end| end.srtt),
            min_rtt_ms: self.rtt(|end| end.min_rtt),
            mean_rtt_ms: rtt.map(|rtt| rtt.mean),
            median_rtt_ms: rtt.map(|rtt| rtt.median),
            p95_rtt_ms: rtt.map(|rtt| rtt.p95),
            p99_rtt_ms: rtt.map(|rtt| rtt.p99),
            max_rtt_ms: rtt.map(|rtt| rtt.max),
            page_response_s: (!responses.is_empty())
                .then(|| responses.iter().sum::<f64>() / responses.len() as f64),
            pages,
            offered_bytes: application.offered_bytes(flow),
            burst_completion_s: application.burst_completion_s(),
            limited_s: limits.map(|limits| limits.total().as_secs_f64()),
            limited_by_set_up: share(Limit::SetUp),
            limited_by_congestion_window: share(Limit::CongestionWindow),
            limited_by_receive_window: share(Limit::ReceiveWindow),
            limited_by_send_buffer: share(Limit::SendBuffer),
            limited_by_application: share(Limit::Application),
            limited_by_recovery: share(Limit::Recovery),
            limited_by_pacing: share(Limit::Pacing),
        };
        FlowRecord {
            flow: flow.name.clone(),
            start_s: start.as_secs_f64(),
            figures: figures.into(),
        }
    }

    /// A time that the sender measures, in milliseconds; `None` for split connections.
    fn rtt(&self, of: impl Fn(&Sample) -> Option<Span>) -> Option<f64> {
        let sender = self.sender.as_ref().filter(|_| !self.is_split)?;
        of(sender).map(Span::as_millis_f64)
    }
}

/// The part of the totals that only TCP and SCPS-TP have.
pub fn tcp_record(flow: &Flow, sent: &Counters) -> TcpRecord {
    TcpRecord {
        recovery: flow.transport.recovery().into(),
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        probes_sent: sent.probes,
        timeouts: u64::from(sent.timeouts),
        fast_recoveries: u64::from(sent.fast_recoveries),
    }
}

/// The part of the totals that only QUIC has, from the connections that send the data and those
/// that receive it, with the reason for an end before its time.
pub fn quic_record<'a>(
    sent: &Counters,
    pairs: impl Iterator<Item = [&'a Connection; 2]>,
    error: Option<String>,
) -> QuicRecord {
    let mut sums = [Statistics::default(); 2];
    for pair in pairs {
        for (sum, end) in sums.iter_mut().zip(pair) {
            *sum += end.statistics();
        }
    }
    let [sender, receiver] = sums;
    QuicRecord {
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        fast_recoveries: u64::from(sent.fast_recoveries),
        timeouts: u64::from(sent.timeouts),
        persistent_congestions: sender.persistent_congestions,
        acks_sent: receiver.acks_sent,
        ack_frequency_sent: sender.ack_frequency_sent,
        immediate_acks_sent: sender.immediate_acks_sent,
        mtu_probes_sent: sender.mtu_probes,
        mtu_probes_lost: sender.mtu_probes_lost,
        black_holes: sender.black_holes,
        error,
    }
}
