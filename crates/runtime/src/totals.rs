//! Totals of senders as recordings have them.

use recording::{QuicRecord, TcpRecord};
use scenario::model::Flow;
use transport::Counters;

/// The part of the totals that only TCP and SCPS-TP have.
pub fn tcp_record(flow: &Flow, sent: &Counters) -> TcpRecord {
    TcpRecord {
        recovery: flow.transport.recovery.name().into(),
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        probes_sent: sent.probes,
        timeouts: u64::from(sent.timeouts),
        fast_recoveries: u64::from(sent.fast_recoveries),
    }
}

/// The part of the totals that only QUIC has, with the reason for its end before its time.
pub fn quic_record(sent: &Counters, error: Option<String>) -> QuicRecord {
    QuicRecord {
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        fast_recoveries: u64::from(sent.fast_recoveries),
        persistent_congestions: u64::from(sent.timeouts),
        error,
    }
}
