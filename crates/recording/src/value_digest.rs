//! A digest of the numbers of a recording that survives renames.
//!
//! [`Recording::digest`] changes when a column is renamed or a label is reworded. The value digest
//! does not: it hashes numbers only, in the fixed order of this file, under names that never change.
//! So a change that is meant to move no result can prove it, whatever it renames.
//!
//! Every struct is taken apart without `..`. A renamed field changes the pattern and keeps its
//! frozen name; a new field must be named here and is left out with `_`, because a digest that grows
//! cannot be compared with older ones.

use sha2::{Digest, Sha256};

use crate::digest::hexadecimal;
use crate::series::{FlowSeries, LinkSeries};
use crate::totals::{
    FlowRecord, LinkRecord, ObjectRecord, PageRecord, ProtocolRecord, QuicRecord, Recording,
    SctpRecord, StpRecord, TcpRecord, XtpRecord,
};

impl Recording {
    /// SHA-256 over all numbers of totals and series, in hexadecimal.
    pub fn value_digest(&self) -> String {
        let mut hash = Hash(Sha256::new());
        recording(&mut hash, self);
        hexadecimal(hash.0)
    }
}

fn recording(hash: &mut Hash, recording: &Recording) {
    let Recording {
        scenario: _,
        backend: _,
        seed,
        version: _,
        wall_s: _,
        simulated_s,
        events,
        packet_hops,
        partial,
        flows,
        links,
        jain_index,
        kernel: _, // such a run is never repeated
        tables: _,
        flow_series: in_flows,
        link_series: in_links,
    } = recording;
    hash.count("seed", *seed);
    hash.number("simulated_s", *simulated_s);
    hash.count("events", *events);
    hash.count("packet_hops", *packet_hops);
    hash.flag("partial", *partial);
    hash.optional("jain_index", *jain_index);
    hash.each("flows", flows, flow);
    hash.each("links", links, link);
    flow_series(hash, in_flows);
    link_series(hash, in_links);
}

fn flow(hash: &mut Hash, flow: &FlowRecord) {
    let FlowRecord {
        flow: _,
        controller: _,
        controller_status: _,
        completed,
        aborted,
        abort_cause: _, // newer than this digest
        bytes,
        start_s,
        completion_s,
        goodput_bps,
        throughput_bps,
        srtt_ms,
        min_rtt_ms,
        rtt: _, // newer than this digest
        cwnd_bytes,
        page_response_s,
        offered_bytes,
        burst_completion_s,
        protocol,
        pages,
    } = flow;
    hash.flag("completed", *completed);
    hash.flag("aborted", *aborted);
    hash.count("bytes", *bytes);
    hash.number("start_s", *start_s);
    hash.optional("completion_s", *completion_s);
    hash.number("goodput_bps", *goodput_bps);
    hash.number("throughput_bps", *throughput_bps);
    of_protocol(hash, protocol);
    hash.optional("srtt_ms", *srtt_ms);
    hash.optional("min_rtt_ms", *min_rtt_ms);
    hash.count("cwnd_bytes", *cwnd_bytes);
    hash.optional("page_response_s", *page_response_s);
    hash.optional("offered_bytes", offered_bytes.map(|bytes| bytes as f64));
    hash.optional("burst_completion_s", *burst_completion_s);
    hash.each("pages", pages, page);
}

fn of_protocol(hash: &mut Hash, protocol: &ProtocolRecord) {
    match protocol {
        ProtocolRecord::Tcp(tcp) | ProtocolRecord::ScpsTp(tcp) => {
            let TcpRecord {
                recovery: _,
                segments_sent,
                segments_retransmitted,
                probes_sent: _, // newer than this digest
                timeouts,
                fast_recoveries,
            } = tcp;
            hash.count("segments_sent", *segments_sent);
            hash.count("segments_retransmitted", *segments_retransmitted);
            hash.count("timeouts", *timeouts);
            hash.count("fast_recoveries", *fast_recoveries);
        }
        ProtocolRecord::Quic(QuicRecord {
            segments_sent,
            segments_retransmitted,
            fast_recoveries,
            persistent_congestions,
            // Those below are newer than this digest.
            timeouts: _,
            acks_sent: _,
            ack_frequency_sent: _,
            immediate_acks_sent: _,
            mtu_probes_sent: _,
            mtu_probes_lost: _,
            black_holes: _,
            error: _,
        }) => {
            hash.count("segments_sent", *segments_sent);
            hash.count("segments_retransmitted", *segments_retransmitted);
            hash.count("fast_recoveries", *fast_recoveries);
            hash.count("persistent_congestions", *persistent_congestions);
        }
        ProtocolRecord::Stp(StpRecord {
            segments_sent,
            segments_retransmitted,
            fast_recoveries,
            polls_sent,
            stats_sent,
            ustats_sent,
            probed_corruption,
            probed_congestion,
            probed_outages,
        }) => {
            hash.count("segments_sent", *segments_sent);
            hash.count("segments_retransmitted", *segments_retransmitted);
            hash.count("fast_recoveries", *fast_recoveries);
            hash.count("polls_sent", *polls_sent);
            hash.count("stats_sent", *stats_sent);
            hash.count("ustats_sent", *ustats_sent);
            hash.count("probed_corruption", *probed_corruption);
            hash.count("probed_congestion", *probed_congestion);
            hash.count("probed_outages", *probed_outages);
        }
        ProtocolRecord::Xtp(XtpRecord {
            segments_sent,
            segments_retransmitted,
            requests_sent,
            reports_sent,
            gap_reports_sent,
            handshakes,
        }) => {
            hash.count("segments_sent", *segments_sent);
            hash.count("segments_retransmitted", *segments_retransmitted);
            hash.count("requests_sent", *requests_sent);
            hash.count("reports_sent", *reports_sent);
            hash.count("gap_reports_sent", *gap_reports_sent);
            hash.count("handshakes", *handshakes);
        }
        ProtocolRecord::Sctp(SctpRecord {
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
        }) => {
            hash.count("segments_sent", *segments_sent);
            hash.count("segments_retransmitted", *segments_retransmitted);
            hash.count("timeouts", *timeouts);
            hash.count("fast_recoveries", *fast_recoveries);
            hash.count("data_packets_sent", *data_packets_sent);
            hash.count("sacks_sent", *sacks_sent);
            hash.count("duplicates_received", *duplicates_received);
            hash.count("heartbeats_sent", *heartbeats_sent);
            hash.count("path_failures", *path_failures);
            hash.count("path_changes", *path_changes);
        }
    }
}

fn page(hash: &mut Hash, page: &PageRecord) {
    let PageRecord { start_s, response_s, objects } = page;
    hash.number("start_s", *start_s);
    hash.optional("response_s", *response_s);
    hash.each("objects", objects, object);
}

fn object(hash: &mut Hash, object: &ObjectRecord) {
    let ObjectRecord { bytes, start_s, response_s } = object;
    hash.count("bytes", *bytes);
    hash.number("start_s", *start_s);
    hash.optional("response_s", *response_s);
}

fn link(hash: &mut Hash, link: &LinkRecord) {
    let LinkRecord {
        link: _,
        direction: _,
        utilisation,
        delivered_packets,
        delivered_bytes,
        dropped_packets,
        corrupted_packets,
        max_queue_bytes,
        queueing: _, // newer than this digest
    } = link;
    hash.number("utilisation", *utilisation);
    hash.count("delivered_packets", *delivered_packets);
    hash.count("delivered_bytes", *delivered_bytes);
    hash.count("dropped_packets", *dropped_packets);
    hash.count("corrupted_packets", *corrupted_packets);
    hash.count("max_queue_bytes", *max_queue_bytes);
}

fn flow_series(hash: &mut Hash, series: &FlowSeries) {
    let FlowSeries {
        flow,
        t_s,
        cwnd_bytes,
        ssthresh_bytes,
        srtt_ms,
        rto_ms,
        flight_bytes,
        delivered_bytes,
        sent_bytes,
        retransmitted,
        probes_sent: _,
        goodput_bps,
        throughput_bps,
    } = series;
    hash.each("flow", flow, |hash, flow| hash.count("flow", u64::from(*flow)));
    hash.numbers("t_s", t_s);
    hash.counts("cwnd_bytes", cwnd_bytes);
    hash.counts("ssthresh_bytes", ssthresh_bytes);
    hash.numbers("srtt_ms", srtt_ms);
    hash.numbers("rto_ms", rto_ms);
    hash.counts("flight_bytes", flight_bytes);
    hash.counts("delivered_bytes", delivered_bytes);
    hash.counts("sent_bytes", sent_bytes);
    hash.counts("retransmitted", retransmitted);
    hash.numbers("goodput_bps", goodput_bps);
    hash.numbers("throughput_bps", throughput_bps);
}

fn link_series(hash: &mut Hash, series: &LinkSeries) {
    let LinkSeries {
        link,
        t_s,
        queue_packets,
        queue_bytes,
        utilisation,
        dropped_packets,
        corrupted_packets,
    } = series;
    hash.each("link", link, |hash, link| hash.count("link", u64::from(*link)));
    hash.numbers("t_s", t_s);
    hash.each("queue_packets", queue_packets, |hash, n| hash.count("queue", u64::from(*n)));
    hash.counts("queue_bytes", queue_bytes);
    hash.numbers("utilisation", utilisation);
    hash.counts("dropped_packets", dropped_packets);
    hash.counts("corrupted_packets", corrupted_packets);
}

/// Takes values with the names that they had when this digest was made.
struct Hash(Sha256);

impl Hash {
    fn count(&mut self, name: &str, value: u64) {
        self.0.update(name);
        self.0.update(value.to_le_bytes());
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.count(name, u64::from(value));
    }

    /// The sign of a NaN depends on the processor, so all that is not finite counts as one value.
    fn number(&mut self, name: &str, value: f64) {
        let value = if value.is_finite() { value } else { f64::NAN };
        self.count(name, value.to_bits());
    }

    fn optional(&mut self, name: &str, value: Option<f64>) {
        self.number(name, value.unwrap_or(f64::NAN));
    }

    /// The number of values comes first, so that none can pass from one list to the next.
    fn each<T>(&mut self, name: &str, values: &[T], add: impl Fn(&mut Self, &T)) {
        self.count(name, values.len() as u64);
        values.iter().for_each(|value| add(self, value));
    }

    fn numbers(&mut self, name: &str, values: &[f64]) {
        self.each(name, values, |hash, value| hash.number("", *value));
    }

    fn counts(&mut self, name: &str, values: &[u64]) {
        self.each(name, values, |hash, value| hash.count("", *value));
    }
}

#[cfg(test)]
mod tests {
    use crate::tables::tests::sample;
    use crate::{Backend, ProtocolRecord, Recording, TcpRecord};

    #[test]
    fn labels_do_not_change_the_value_digest() {
        let mut other = sample();
        other.wall_s = 99.0;
        other.scenario = "another name".into();
        other.backend = Backend::Kernel;
        other.flows[0].flow = "another name".into();
        other.flows[0].controller_status = "another word".into();
        other.links[0].link = "another name".into();
        assert_eq!(other.value_digest(), sample().value_digest());
    }

    #[test]
    fn every_kind_of_number_changes_the_value_digest() {
        let changes: [fn(&mut Recording); 9] = [
            |r| r.seed += 1,
            |r| r.partial = true,
            |r| r.jain_index = None,
            |r| {
                let tcp = r.flows[0].tcp().unwrap().clone();
                r.flows[0].protocol =
                    ProtocolRecord::Tcp(TcpRecord { timeouts: tcp.timeouts + 1, ..tcp });
            },
            |r| r.flows[1].pages[1].objects[0].bytes += 1,
            |r| r.links[0].dropped_packets += 1,
            |r| r.flow_series.srtt_ms[1] += 1e-9,
            |r| r.link_series.queue_packets[0] += 1,
            |r| r.link_series.corrupted_packets[0] += 1,
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut other = sample();
            change(&mut other);
            assert_ne!(other.value_digest(), sample().value_digest(), "change {number}");
        }
    }
}
