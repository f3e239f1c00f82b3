//! Counts of an end beyond those that all protocols have: quinn's own, and probe timeouts, which
//! quinn does not count.

use std::ops::AddAssign;

use quinn_proto::ConnectionStats;

/// Counts of quinn, beyond [`Counters`](transport::Counters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// QUIC packets found to be lost.
    pub packets_lost: u64,
    /// ACK frames sent.
    pub acks_sent: u64,
    /// ACK_FREQUENCY frames sent (draft-ietf-quic-ack-frequency section 4).
    pub ack_frequency_sent: u64,
    /// IMMEDIATE_ACK frames sent (draft-ietf-quic-ack-frequency section 5).
    pub immediate_acks_sent: u64,
    /// Probes of the path MTU.
    pub mtu_probes: u64,
    /// Probes of the path MTU that were lost.
    pub mtu_probes_lost: u64,
    /// Times that packets of the size found were lost until the end of the search was repeated
    /// (RFC 8899 section 4.3).
    pub black_holes: u64,
    /// Times that all packets of a longer period were lost (RFC 9002 section 7.6).
    pub persistent_congestions: u64,
    /// The largest UDP payload in bytes that the path is known to take.
    pub mtu: u16,
}

impl Statistics {
    pub(crate) fn of(stats: &ConnectionStats, persistent_congestions: u32) -> Self {
        Self {
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            acks_sent: stats.frame_tx.acks,
            ack_frequency_sent: stats.frame_tx.ack_frequency,
            immediate_acks_sent: stats.frame_tx.immediate_ack,
            mtu_probes: stats.path.sent_plpmtud_probes,
            mtu_probes_lost: stats.path.lost_plpmtud_probes,
            black_holes: stats.path.black_holes_detected,
            persistent_congestions: u64::from(persistent_congestions),
            mtu: stats.path.current_mtu,
        }
    }
}

/// Sums of several connections. The MTU is the largest.
impl AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        // Without `..`, so that a new one has to be considered here.
        let Self {
            packets_sent,
            packets_lost,
            acks_sent,
            ack_frequency_sent,
            immediate_acks_sent,
            mtu_probes,
            mtu_probes_lost,
            black_holes,
            persistent_congestions,
            mtu,
        } = other;
        self.packets_sent += packets_sent;
        self.packets_lost += packets_lost;
        self.acks_sent += acks_sent;
        self.ack_frequency_sent += ack_frequency_sent;
        self.immediate_acks_sent += immediate_acks_sent;
        self.mtu_probes += mtu_probes;
        self.mtu_probes_lost += mtu_probes_lost;
        self.black_holes += black_holes;
        self.persistent_congestions += persistent_congestions;
        self.mtu = self.mtu.max(mtu);
    }
}

/// Counts probe timeouts (RFC 9002 section 6.2) by what quinn sends right after one of its timers.
/// Probes of a connection that is set up have an IMMEDIATE_ACK frame, as quinn's peer always knows
/// that frame. Probes of the handshake have its CRYPTO frames, or a PING, and no packet was found
/// to be lost. Probes of the path MTU have PING and IMMEDIATE_ACK, too, and do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeTimeouts {
    count: u32,
    /// The frames sent before a timer expired whose consequences are not known yet.
    before: Option<Frames>,
}

#[derive(Clone, Copy, Debug)]
struct Frames {
    requests: u64,
    of_handshake: u64,
    lost: u64,
}

impl Frames {
    fn of(stats: &ConnectionStats) -> Self {
        let (sent, path) = (&stats.frame_tx, &stats.path);
        Self {
            requests: sent.immediate_ack.saturating_sub(path.sent_plpmtud_probes),
            of_handshake: (sent.crypto + sent.ping).saturating_sub(path.sent_plpmtud_probes),
            lost: path.lost_packets,
        }
    }
}

impl ProbeTimeouts {
    /// How many there were.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Timers of a connection with these statistics are about to expire.
    pub(crate) fn on_timer(&mut self, stats: &ConnectionStats) {
        self.before.get_or_insert(Frames::of(stats));
    }

    /// Returns true if a timer has expired since the connection was idle.
    pub(crate) fn is_waiting(&self) -> bool {
        self.before.is_some()
    }

    /// All that follows from the timers was sent.
    pub(crate) fn on_rest(&mut self, stats: &ConnectionStats) {
        let Some(before) = self.before.take() else { return };
        let now = Frames::of(stats);
        let of_handshake = now.of_handshake > before.of_handshake && now.lost == before.lost;
        self.count += u32::from(now.requests > before.requests || of_handshake);
    }
}
