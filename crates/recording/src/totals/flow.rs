//! Totals of a flow that do not depend on its transport protocol. Those of protocols are in
//! `transport`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserializer;
use serde::de::{SeqAccess, Visitor};

use super::page::PageRecord;
use super::record::divided_record;
use super::transport::{ProtocolRecord, TcpRecord};

divided_record! {
    ($) flow_record;
    /// Totals of one flow. Rates are means over the flow's active time.
    FlowRecord and FlowFigures in figures {
        /// Name of the flow.
        [own] flow: String,
        /// Name of the controller; `python:` and its class for one in Python.
        controller: Cow<'static, str>,
        /// Provenance of the controller; an implementation has its release and file in brackets.
        controller_status: Cow<'static, str>,
        /// True if a finite transfer was completed.
        completed: bool,
        /// True if the transport gave the connection up.
        aborted: bool,
        /// Why the transport gave the connection up, if it did.
        ///
        /// `retransmissions`, `user-timeout`, `keep-alive`, `reset`; with QUIC `idle-timeout` or
        /// `protocol-error`; or `timed-out` on a kernel, which does not report which of the first
        /// three.
        #[serde(default)]
        abort_cause: Option<Cow<'static, str>>,
        /// Bytes handed to the receiving application.
        bytes: u64,
        /// Start of the flow in seconds.
        [own] start_s: f64,
        /// Flow completion time in seconds; None if it did not complete.
        completion_s: Option<f64>,
        /// Bits per second handed to the receiving application.
        #[serde(deserialize_with = "crate::json::number")]
        goodput_bps: f64,
        /// Bits per second of payload sent, with retransmissions and the data of probes.
        #[serde(deserialize_with = "crate::json::number")]
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_rtt_ms: Option<f64>,
        /// Median of the RTT samples in milliseconds; relative error at most 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median_rtt_ms: Option<f64>,
        /// 95th percentile of the RTT samples in milliseconds; relative error at most 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p95_rtt_ms: Option<f64>,
        /// 99th percentile of the RTT samples in milliseconds; relative error at most 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p99_rtt_ms: Option<f64>,
        /// Maximum of the RTT samples in milliseconds; exact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_rtt_ms: Option<f64>,
        /// Congestion window of the data sender at the end in bytes.
        cwnd_bytes: u64,
        /// Mean response time of the completed pages in seconds; None without one.
        page_response_s: Option<f64>,
        /// Bytes written by an application with a rate of its own; None for others.
        #[serde(skip_serializing_if = "Option::is_none")]
        offered_bytes: Option<u64>,
        /// Mean time from the start of a burst to its last byte in seconds; None without bursts.
        #[serde(skip_serializing_if = "Option::is_none")]
        burst_completion_s: Option<f64>,
        /// Time in seconds that the shares `limited_by_...` divide; None if it is not measured.
        ///
        /// Sum over the connections of the flow: set-up, and the time from the first written to the
        /// last acknowledged byte. On the kernel the time with data to send or to be acknowledged
        /// (`tcpi_busy_time`). None of flows that a gateway splits: their legs have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_s: Option<f64>,
        /// Share of `limited_s` limited by the set-up of connections, from 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_set_up: Option<f64>,
        /// Share of `limited_s` limited by the congestion window, from 0 to 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_congestion_window: Option<f64>,
        /// Share of `limited_s` limited by the window of the receiver, from 0 to 1.
        ///
        /// On the kernel `tcpi_rwnd_limited`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_receive_window: Option<f64>,
        /// Share of `limited_s` limited by the send buffer, from 0 to 1.
        ///
        /// All in it was sent, and the application waited for room in it. Zero without
        /// a send buffer of finite size. On the kernel `tcpi_sndbuf_limited`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_send_buffer: Option<f64>,
        /// Share of `limited_s` limited by the application, from 0 to 1.
        ///
        /// All that it had written was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_application: Option<f64>,
        /// Share of `limited_s` limited by repairs of losses, from 0 to 1.
        ///
        /// Fast recovery, and the time after a timeout.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_recovery: Option<f64>,
        /// Share of `limited_s` limited by departure times, from 0 to 1.
        ///
        /// Both windows would have let a segment go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limited_by_pacing: Option<f64>,
        /// Transport protocol: `tcp`, `quic`, `stp`, `scps-tp`, `xtp`, `sctp` or `udp`.
        #[serde(flatten)]
        protocol: ProtocolRecord,
        /// Web pages.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pages: Vec<PageRecord>,
    }
}

/// Figures of flows that never had a connection. Copies of an entry have the same, and of a million
/// flows all but a few may wait.
#[derive(Debug, Default)]
pub struct SharedFigures {
    known: Vec<Arc<FlowFigures>>,
}

impl SharedFigures {
    /// Different figures that are looked through: a mix has a few entries.
    const MOST: usize = 16;

    /// Lets a record share the figures of one before it, if they are equal.
    pub fn share(&mut self, record: &mut FlowRecord) {
        if record.cwnd_bytes > 0 {
            return;
        }
        if let Some(known) = self.known.iter().find(|known| **known == record.figures) {
            record.figures = known.clone();
        } else if self.known.len() < Self::MOST {
            self.known.push(record.figures.clone());
        }
    }

    /// Reads a list of records.
    pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FlowRecord>, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Vec<FlowRecord>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of flows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let (mut records, mut shared) = (Vec::new(), SharedFigures::default());
                while let Some(mut record) = list.next_element()? {
                    shared.share(&mut record);
                    records.push(record);
                }
                Ok(records)
            }
        }

        from.deserialize_seq(List)
    }
}

impl FlowRecord {
    /// The part of TCP, if that or SCPS-TP is the flow's protocol.
    pub fn tcp(&self) -> Option<&TcpRecord> {
        self.protocol.tcp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::totals::Recording;

    #[test]
    fn records_of_flows_without_connections_share_equal_figures_also_when_they_are_read() {
        let copy = |name: &str, completed, cwnd_bytes| {
            let figures = FlowFigures { completed, cwnd_bytes, ..FlowFigures::default() };
            FlowRecord { flow: name.into(), figures: figures.into(), ..FlowRecord::default() }
        };
        let mut flows = vec![
            copy("first", false, 0),
            copy("other", true, 0),
            copy("second", false, 0),
            copy("begun", false, 1460),
            copy("begun as well", false, 1460),
        ];
        let written =
            serde_json::to_string(&Recording { flows: flows.clone(), ..Recording::default() });
        let mut shared = SharedFigures::default();
        flows.iter_mut().for_each(|flow| shared.share(flow));
        let read: Recording = serde_json::from_str(&written.unwrap()).unwrap();
        assert_eq!(read.flows, flows);
        for flows in [&flows, &read.flows] {
            let is_shared = |a: usize, b: usize| Arc::ptr_eq(&flows[a].figures, &flows[b].figures);
            assert!(is_shared(0, 2) && !is_shared(0, 1) && !is_shared(3, 4));
        }
        flows[2].completed = true;
        assert!(!flows[0].completed, "a copy that is changed has figures of its own");
    }
}
