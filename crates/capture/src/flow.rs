//! Counts and times of one direction of a connection.

use sketch::Sketch;
use wire::tcp::flags;

use crate::holes::Holes;
use crate::outstanding::{Outstanding, Sample};
use crate::segment::Segment;
use crate::timestamps::Timestamps;
use crate::verdict::{Kind, Verdict};

/// Packets among which a copy is searched.
const RECENT: usize = 16;
/// Longest time between a packet and its copy, in ns.
const COPY_NS: u64 = 1_000_000_000;

/// A distribution of times in ns, with its minimum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    pub sketch: Sketch,
    pub zeros: u64,
    pub min: Option<u64>,
}

impl Times {
    pub fn record(&mut self, time: u64) {
        self.min = Some(self.min.map_or(time, |min| min.min(time)));
        match time {
            0 => self.zeros += 1,
            _ => self.sketch.record(time),
        }
    }
}

/// Smoothed RTT and RTO of RFC 6298 section 2, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    smoothed: Option<f64>,
    variation: f64,
}

impl Estimate {
    pub fn sample(&mut self, rtt_ns: u64) {
        let rtt = rtt_ns as f64;
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(rtt), rtt / 2.0),
            Some(smoothed) => {
                self.variation += ((smoothed - rtt).abs() - self.variation) / 4.0;
                self.smoothed = Some(smoothed + (rtt - smoothed) / 8.0);
            }
        }
    }

    /// Smoothed RTT and four variations.
    pub fn now(&self) -> Option<(f64, f64)> {
        Some((self.smoothed?, 4.0 * self.variation))
    }
}

/// Causes of stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It ended with a retransmission.
    Retransmission,
    /// Nothing was in flight, and the window had no room for a segment.
    Window,
    /// It ended with an ACK, or with new data.
    Delay,
}

/// Number and length of stalls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stalls {
    pub count: u64,
    pub total_ns: u64,
    pub longest_ns: u64,
    pub by_retransmission: u64,
    pub by_window: u64,
}

impl Stalls {
    pub fn add(&mut self, length_ns: u64, cause: Cause) {
        self.count += 1;
        self.total_ns += length_ns;
        self.longest_ns = self.longest_ns.max(length_ns);
        match cause {
            Cause::Retransmission => self.by_retransmission += 1,
            Cause::Window => self.by_window += 1,
            Cause::Delay => {}
        }
    }
}

/// Counters of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub packets: u64,
    pub data_segments: u64,
    pub sent_bytes: u64,
    pub retransmitted: u64,
    pub retransmitted_bytes: u64,
    pub fast: u64,
    pub spurious: u64,
    pub out_of_order: u64,
    pub filled: u64,
    pub repeated: u64,
    pub gaps: u64,
    pub duplicate_acks: u64,
    pub unseen_acks: u64,
    pub zero_windows: u64,
    pub zero_window_probes: u64,
    pub window_full: u64,
    pub keep_alives: u64,
    pub copies: u64,
    pub resets: u64,
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offered {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
}

/// The first retransmission of data: when the data was sent first, when again, and when it was
/// acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstLoss {
    pub position: i64,
    pub sent_at: u64,
    pub again_at: u64,
    pub acked_at: Option<u64>,
}

/// A packet by which its copy is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    at: u64,
    sequence: u32,
    acknowledgement: u32,
    length: u32,
    checksum: u16,
    identification: Option<u16>,
    flags: u8,
    hops: u8,
    interface: u32,
}

/// One direction of a connection: data of one end, and the ACKs of the other one for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    pub counts: Counts,
    pub offered: Option<Offered>,
    pub outstanding: Outstanding,
    pub holes: Holes,
    pub rtt: Times,
    pub timestamps: Timestamps,
    pub stamped_rtt: Times,
    /// Minimum time from a packet without data to the echo of its timestamp.
    pub echo_min: Option<u64>,
    pub estimate: Estimate,
    pub stalls: Stalls,
    /// Highest position that the other end acknowledged.
    pub acked: Option<i64>,
    pub first_data_at: Option<u64>,
    /// Time of the last data, or of the last ACK for it.
    pub last_data_at: u64,
    pub largest: u32,
    pub longer_than_mss: u64,
    pub max_flight: Option<i64>,
    /// Largest window that the other end advertised.
    pub max_window: Option<i64>,
    pub limited_ns: u64,
    pub closed_ns: u64,
    pub last_at: Option<u64>,
    pub longest_gap_ns: u64,
    pub first_loss: Option<FirstLoss>,
    recent: Vec<Fingerprint>,
    oldest: usize,
}

impl Flow {
    /// True if the packet was captured before, or duplicated by the network.
    ///
    /// A copy has the same identification of IPv4, and in all other respects the same header. If
    /// the sender gives all packets the same identification or none, a packet is a copy only if it
    /// was captured on another interface or after another number of hops.
    pub fn is_copy(&mut self, segment: &Segment) -> bool {
        let identification = segment.identification.filter(|&id| id != 0);
        let seen = Fingerprint {
            at: segment.at_ns,
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            length: segment.length,
            checksum: segment.checksum,
            identification,
            flags: segment.flags,
            hops: segment.hops,
            interface: segment.interface,
        };
        let varies = identification.is_some()
            && self.recent.iter().any(|other| other.identification != identification);
        let found = self.recent.iter().any(|other| {
            let elsewhere = (other.hops, other.interface) != (seen.hops, seen.interface);
            let (at, hops, interface) = (other.at, other.hops, other.interface);
            seen.at.saturating_sub(at) <= COPY_NS
                && (varies || elsewhere)
                && Fingerprint { at, hops, interface, ..seen } == *other
        });
        if found {
            self.counts.copies += 1;
        } else if self.recent.len() < RECENT {
            self.recent.push(seen);
        } else {
            self.recent[self.oldest] = seen;
            self.oldest = (self.oldest + 1) % RECENT;
        }
        found
    }

    /// Counts a packet of this direction. Returns true if some of its data was captured before.
    pub fn count(
        &mut self,
        segment: &Segment,
        start: i64,
        verdict: Verdict,
        peer_mss: Option<u16>,
    ) -> bool {
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.gaps += u64::from(verdict.gap);
        counts.duplicate_acks += u64::from(verdict.duplicate_ack);
        counts.unseen_acks += u64::from(verdict.unseen_ack);
        counts.zero_windows += u64::from(verdict.zero_window);
        counts.zero_window_probes += u64::from(verdict.zero_window_probe);
        counts.window_full += u64::from(verdict.window_full);
        counts.keep_alives += u64::from(verdict.keep_alive);
        counts.resets += u64::from(segment.has(flags::RST));
        let again = verdict.kind.is_retransmission();
        counts.retransmitted += u64::from(again);
        counts.fast += u64::from(verdict.kind == Kind::Fast);
        counts.spurious += u64::from(verdict.kind == Kind::Spurious);
        counts.out_of_order += u64::from(verdict.kind == Kind::OutOfOrder);
        let length = u64::from(segment.length);
        if length == 0 || verdict.keep_alive {
            return false;
        }
        counts.data_segments += 1;
        counts.sent_bytes += length;
        counts.retransmitted_bytes += if again { length } else { 0 };
        if self.first_data_at.is_none() {
            self.first_data_at = Some(segment.at_ns);
        }
        self.last_data_at = segment.at_ns;
        let end = start + i64::from(segment.length);
        let new = self.holes.add(start, end);
        let repeated = new < length;
        self.counts.filled += u64::from(verdict.kind != Kind::New && new > 0);
        self.counts.repeated += u64::from(repeated);
        self.largest = self.largest.max(segment.length);
        self.longer_than_mss +=
            u64::from(peer_mss.is_some_and(|mss| segment.length > u32::from(mss)));
        if repeated && self.first_loss.is_none() {
            let sent_at = self.outstanding.first_sent(start).unwrap_or(segment.at_ns);
            let again_at = segment.at_ns;
            self.first_loss =
                Some(FirstLoss { position: start, sent_at, again_at, acked_at: None });
        }
        repeated
    }

    /// Takes an ACK of the other end. Returns the RTT, if it is a sample.
    pub fn acknowledge(&mut self, ack: i64, at: u64) -> Option<Sample> {
        if self.acked.is_some_and(|acked| ack <= acked) {
            return None;
        }
        self.acked = Some(ack);
        if self.first_data_at.is_some() {
            self.last_data_at = at;
        }
        if let Some(loss) = &mut self.first_loss
            && loss.acked_at.is_none()
            && ack > loss.position
        {
            loss.acked_at = Some(at);
        }
        let sample = self.outstanding.acknowledge(ack, at)?;
        if sample.unambiguous {
            self.estimate.sample(sample.rtt_ns);
        }
        // Position 1 is the ACK of a SYN, whose RTT is that of the handshake.
        if ack > 1 && sample.unambiguous {
            self.rtt.record(sample.rtt_ns);
        }
        Some(sample)
    }

    /// Data in flight, with SYN and FIN, after the highest ACK.
    pub fn flight(&self, next: Option<i64>) -> Option<i64> {
        Some((next? - self.acked?).max(0))
    }

    /// Length of a full segment.
    pub fn full(&self, peer_mss: Option<u16>) -> i64 {
        let longest = peer_mss.map_or(u32::MAX, u32::from);
        i64::from(self.largest.min(longest).max(1))
    }
}
