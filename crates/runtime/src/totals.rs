//! Totals of senders as recordings have them.

use quic::{Connection, Statistics};
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

/// The part of the totals that only QUIC has, from the connections that send the data and those that receive it, with
/// the reason for an end before its time.
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
