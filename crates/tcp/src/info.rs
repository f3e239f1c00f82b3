//! State of a connection for its user: the counterpart of `TCP_INFO` of Linux (linux/tcp.h).

use congestion::{Controller, Ecn};
use transport::{Endpoint, PathMtuCounters};
use units::Span;

use crate::ack_congestion::AckCounters;
use crate::connection::{Connection, State};
use crate::scps::BestEffortCounters;
use crate::sender::{NoticeCounters, Phase};

/// A look at a connection. Amounts are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// State of the connection.
    pub state: State,
    /// State of loss recovery.
    pub phase: Phase,
    /// A mark has reduced the window, and what was outstanding then is not all acknowledged; only
    /// with [`Recovery::Linux`](crate::Recovery::Linux).
    pub reduced_by_mark: bool,
    /// Payload of a full segment that this end sends.
    pub mss: u64,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Sent and not acknowledged cumulatively. With `recovery = "linux"` each segment of this and
    /// of the next three counts as a full one.
    pub unacked: u64,
    /// Of that, acknowledged selectively.
    pub sacked: u64,
    /// Of that, counted as lost and not known to have arrived, retransmitted or not.
    pub lost: u64,
    /// Of that, retransmitted and not known to have arrived.
    pub retransmitted: u64,
    /// Written into the send buffer and never sent.
    pub not_sent: u64,
    /// Written by the application, which waits for room in the send buffer.
    pub not_buffered: u64,
    /// Memory of a send buffer that tunes itself (`SO_SNDBUF`).
    pub send_tuning: Option<u64>,
    /// State of a receive buffer that tunes itself.
    pub receive_tuning: Option<TunedBuffer>,
    /// Acknowledged since the start, or given up.
    pub acknowledged: u64,
    /// Received in order since the start.
    pub received: u64,
    /// Retransmissions of segments since the start.
    pub retransmissions: u64,
    /// Timeouts in a row without progress.
    pub timeouts_in_a_row: u32,
    /// Window probes or keep-alive probes in a row without an answer.
    pub window_probes: u32,
    /// Retransmission timeout.
    pub rto: Span,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Its variation.
    pub rttvar: Span,
    /// Smallest round-trip time.
    pub min_rtt: Option<Span>,
    /// Window scale of this end, if both ends use the option.
    pub own_scale: Option<u8>,
    /// Window scale of the other end, if both ends use the option.
    pub peer_scale: Option<u8>,
    /// Both ends use timestamps.
    pub timestamps: bool,
    /// Both ends use selective acknowledgements.
    pub sack: bool,
    /// Both ends use ECN.
    pub ecn: bool,
    /// The window that the other end advertises.
    pub advertised: u64,
    /// Counts of path MTU discovery, if the connection has it.
    pub path_mtu: Option<PathMtuCounters>,
    /// Counts of congestion control of ACKs, if both ends have it.
    pub ack_control: Option<AckCounters>,
    /// Counts of loss notices, if the connection takes them.
    pub loss_notices: Option<NoticeCounters>,
    /// Counts of best-effort transport, if both ends have it.
    pub best_effort: Option<BestEffortCounters>,
}

/// A receive buffer that tunes itself. Amounts are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunedBuffer {
    /// Memory (`SO_RCVBUF`).
    pub size: u64,
    /// Soft limit of the window (`tcpi_rcv_ssthresh`).
    pub soft_limit: u64,
    /// Bytes that were read in a round trip (`tcpi_rcv_space`).
    pub in_round_trip: u64,
}

impl Connection {
    /// A look at everything that has a name in `TCP_INFO`.
    pub fn info(&self) -> Info {
        let sender = &self.halves.sender;
        let stream = sender.stream();
        let window = sender.controller().window();
        let outstanding = sender.outstanding();
        let rtt = sender.rtt();
        let agreed = &self.halves.agreed;
        let scales = agreed.scaling.then_some((agreed.shift, agreed.peer_shift));
        Info {
            state: self.state(),
            phase: sender.phase(),
            reduced_by_mark: sender.is_reduced_by_mark(),
            mss: stream.mss,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            unacked: sender.counted_flight(),
            sacked: outstanding.sacked,
            lost: outstanding.lost,
            retransmitted: outstanding.retransmitted,
            not_sent: stream.buffered.saturating_sub(stream.max.max(1)),
            not_buffered: stream.written.saturating_sub(stream.buffered),
            send_tuning: sender.tuned_buffer(),
            receive_tuning: self.halves.receiver.tuned_buffer(),
            acknowledged: self.acknowledged(),
            received: self.delivered() + self.unread() - self.left_out().skipped(),
            retransmissions: sender.counters().retransmissions,
            timeouts_in_a_row: sender.timers().retries(),
            window_probes: self.watch.unanswered_probes(sender),
            rto: rtt.rto(),
            srtt: rtt.srtt(),
            rttvar: rtt.rttvar(),
            min_rtt: rtt.min(),
            own_scale: scales.map(|(own, _)| own),
            peer_scale: scales.map(|(_, peer)| peer),
            timestamps: agreed.timestamps,
            sack: agreed.sack,
            ecn: agreed.ecn != Ecn::Off,
            advertised: sender.peer().advertised,
            path_mtu: sender.path_mtu_counters(),
            ack_control: self.marks.as_ref().and_then(|marks| marks.ack_counters()),
            loss_notices: sender.notice_counters(),
            best_effort: self.left_out().counters(),
        }
    }
}

/// Bytes between SND.UNA and SND.NXT by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outstanding {
    pub(crate) sacked: u64,
    pub(crate) lost: u64,
    pub(crate) retransmitted: u64,
}
