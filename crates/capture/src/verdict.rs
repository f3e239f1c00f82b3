//! Kinds of segments, by the conditions of Wireshark's `tcp.analysis` fields.
//!
//! Source: Wireshark User's Guide, section 7.5, "TCP Analysis", and the behaviour of Wireshark 4.0,
//! with which a test compares each segment. Conditions are checked in the order of the guide.
//! Positions are sequence numbers without wrap, from 0 for the SYN.

use wire::tcp::flags;

use crate::segment::Segment;

/// A retransmission within this time of the last duplicate ACK is a fast one, in ns.
const FAST_NS: u64 = 20_000_000;
/// Without an RTT of the handshake, segments are out of order within this time of the highest one,
/// in ns.
const OUT_OF_ORDER_NS: u64 = 3_000_000;
/// Duplicate ACKs that a fast retransmission needs. A third one may be missing in the capture.
const DUPLICATES: i32 = 2;

/// Position of data that moves the sequence forward, or the reason why it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// New data, or a segment without data, SYN and FIN.
    #[default]
    New,
    /// Behind the highest data, shortly after it: `tcp.analysis.out_of_order`.
    OutOfOrder,
    /// Behind two duplicate ACKs: `tcp.analysis.fast_retransmission`.
    Fast,
    /// Acknowledged before: `tcp.analysis.spurious_retransmission`.
    Spurious,
    /// Any other: `tcp.analysis.retransmission` alone. A timeout, or recovery by SACK or RACK.
    Retransmission,
}

impl Kind {
    /// True for the three kinds of retransmissions.
    pub fn is_retransmission(self) -> bool {
        matches!(self, Self::Fast | Self::Spurious | Self::Retransmission)
    }
}

/// Wireshark's flags of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Position of the data.
    pub kind: Kind,
    /// An earlier segment is missing: `tcp.analysis.lost_segment`.
    pub gap: bool,
    /// It acknowledges data that was not captured: `tcp.analysis.ack_lost_segment`.
    pub unseen_ack: bool,
    /// `tcp.analysis.duplicate_ack`.
    pub duplicate_ack: bool,
    /// `tcp.analysis.zero_window`.
    pub zero_window: bool,
    /// `tcp.analysis.zero_window_probe`.
    pub zero_window_probe: bool,
    /// `tcp.analysis.window_full`.
    pub window_full: bool,
    /// `tcp.analysis.window_update`.
    pub window_update: bool,
    /// `tcp.analysis.keep_alive`.
    pub keep_alive: bool,
}

/// Sequence numbers of one direction, and the ACKs that its sender sent for the other one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    /// Sequence number of position 0.
    pub base: Option<u32>,
    /// The position that was used last, near which the next one is.
    near: i64,
    /// Position after the highest byte.
    pub next: Option<i64>,
    next_at: u64,
    /// Position up to which nothing is missing, or was reported as missing.
    contiguous: Option<i64>,
    /// Last ACK of this sender: a position of the other direction.
    pub acked: Option<i64>,
    acked_at: u64,
    /// Window field of the last segment.
    window: Option<u16>,
    /// Factor of the window as a shift; `None` if the SYN was not captured.
    pub scale: Option<u8>,
    /// True until the first segment after a SYN: its window is not scaled.
    pub unscaled: bool,
    duplicates: i32,
    last: Verdict,
    /// Flight sizes are unknown after a gap, until the other side acknowledges something.
    pub flight_unknown: bool,
}

impl Sequence {
    /// The position of a number. The first one is position 1, unless it `is_syn`.
    pub fn place(&mut self, number: u32, is_syn: bool) -> i64 {
        if self.base.is_none() {
            self.base = Some(number.wrapping_sub(u32::from(!is_syn)));
        }
        let position = self.position(number);
        self.near = self.near.max(position);
        position
    }

    /// The position of a number near the highest one.
    pub fn position(&self, number: u32) -> i64 {
        let low = i64::from(number.wrapping_sub(self.base.unwrap_or(number)));
        let turns = (self.near - low + (1 << 31)).div_euclid(1 << 32);
        low + (turns << 32)
    }

    /// Position after the last byte for which the receiver `self` gave room, if its scale is known.
    pub fn edge(&self) -> Option<i64> {
        Some(self.acked? + self.advertised()?)
    }

    /// The advertised window in bytes, if its scale is known.
    pub fn advertised(&self) -> Option<i64> {
        let shift = if self.unscaled { 0 } else { self.scale? };
        self.scale?;
        Some(i64::from(self.window?) << shift)
    }

    /// The window field of the last segment is zero.
    pub fn is_closed(&self) -> bool {
        self.window == Some(0)
    }

    /// Restores the state before a repeated SYN, whose RST may have confused it.
    pub fn repeat_syn(&mut self) {
        self.next = self.contiguous;
    }
}

/// A segment with the positions of its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub segment: &'a Segment,
    pub start: i64,
    /// `None` without the flag ACK.
    pub ack: Option<i64>,
}

impl Placed<'_> {
    /// Position after its last number.
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.segment.span())
    }

    fn data_end(&self) -> i64 {
        self.start + i64::from(self.segment.length)
    }

    /// Its flags are those of data: no SYN, FIN or RST.
    fn is_plain(&self) -> bool {
        !self.segment.has(flags::SYN | flags::FIN | flags::RST)
    }
}

/// Judges a segment of the direction `fwd`, and keeps its numbers. `rtt` is that of the handshake
/// in ns.
pub(crate) fn judge(
    fwd: &mut Sequence,
    rev: &mut Sequence,
    placed: &Placed<'_>,
    rtt: Option<u64>,
) -> Verdict {
    let mut verdict = acknowledging(fwd, rev, placed);
    if placed.ack.is_some() {
        rev.flight_unknown = false;
    }
    if verdict.gap {
        fwd.flight_unknown = true;
    }
    if placed.ack != fwd.acked {
        fwd.duplicates = 0;
    }
    verdict.unseen_ack = unseen(rev, placed);
    if placed.segment.span() > 0 && !verdict.keep_alive {
        verdict.kind = kind(fwd, rev, placed, rtt);
    }
    keep(fwd, placed, verdict);
    verdict
}

/// The flags that windows, ACKs and gaps decide.
fn acknowledging(fwd: &mut Sequence, rev: &Sequence, placed: &Placed<'_>) -> Verdict {
    let segment = placed.segment;
    let (length, window) = (segment.length, segment.window);
    let in_order = fwd.next == Some(placed.start);
    let mut verdict = Verdict::default();
    if length == 1 && in_order && rev.is_closed() {
        verdict.zero_window_probe = true;
        return verdict;
    }
    verdict.zero_window = window == 0 && placed.is_plain();
    verdict.gap = fwd.next.is_some_and(|next| placed.start > next) && !segment.has(flags::RST);
    verdict.keep_alive = length <= 1 && fwd.next == Some(placed.start + 1) && placed.is_plain();
    let repeated = length == 0 && in_order && placed.ack == fwd.acked && placed.is_plain();
    let same_window = fwd.window == Some(window);
    verdict.window_update = repeated && window > 0 && !same_window;
    verdict.window_full = length > 0 && placed.is_plain() && rev.edge() == Some(placed.data_end());
    let keep_alive_ack = repeated && window > 0 && same_window && rev.last.keep_alive;
    let probe_ack = repeated && window == 0 && same_window && rev.last.zero_window_probe;
    if repeated && window > 0 && same_window && !keep_alive_ack && !probe_ack {
        verdict.duplicate_ack = true;
        fwd.duplicates = if fwd.duplicates < 0 { 1 } else { fwd.duplicates + 1 };
    }
    verdict
}

/// True if the ACK is for data of `rev` that was not captured, once for each gap.
fn unseen(rev: &mut Sequence, placed: &Placed<'_>) -> bool {
    let (Some(contiguous), Some(ack)) = (rev.contiguous, placed.ack) else { return false };
    if ack <= contiguous {
        return false;
    }
    if rev.next.is_some_and(|next| contiguous < next) {
        rev.contiguous = rev.next;
        return true;
    }
    let first = rev.duplicates == 0;
    rev.duplicates = -1;
    first
}

/// The kind of a segment with data, SYN or FIN.
fn kind(fwd: &Sequence, rev: &Sequence, placed: &Placed<'_>, rtt: Option<u64>) -> Kind {
    let segment = placed.segment;
    let Some(next) = fwd.next else {
        let acked = segment.length > 0 && rev.acked.is_some_and(|acked| placed.data_end() <= acked);
        return if acked { Kind::Spurious } else { Kind::New };
    };
    // A segment that begins with the byte of a probe of a zero window adds data.
    let behind = placed.start < next && !(segment.length > 1 && placed.start == next - 1);
    if segment.length > 0 && rev.acked.is_some_and(|acked| placed.data_end() <= acked) {
        return Kind::Spurious;
    }
    if !behind {
        return Kind::New;
    }
    let since = |at: u64| segment.at_ns.checked_sub(at).unwrap_or(u64::MAX);
    // Wireshark counts an ACK of data that was not captured as many duplicate ACKs.
    if (rev.duplicates >= DUPLICATES || rev.duplicates < 0)
        && rev.acked == Some(placed.start)
        && since(rev.acked_at) < FAST_NS
    {
        return Kind::Fast;
    }
    let near = rtt.filter(|&rtt| rtt > 0).unwrap_or(OUT_OF_ORDER_NS);
    if since(fwd.next_at) < near && next != placed.end() {
        return Kind::OutOfOrder;
    }
    Kind::Retransmission
}

fn keep(fwd: &mut Sequence, placed: &Placed<'_>, verdict: Verdict) {
    let segment = placed.segment;
    if !verdict.zero_window_probe {
        if fwd.next.is_none_or(|next| placed.end() > next) {
            fwd.next = Some(placed.end());
            fwd.next_at = segment.at_ns;
        }
        if fwd.contiguous.is_none_or(|contiguous| contiguous == placed.start) {
            fwd.contiguous = fwd.next;
        }
    }
    fwd.window = Some(segment.window);
    fwd.acked = placed.ack.or(fwd.acked);
    fwd.acked_at = segment.at_ns;
    fwd.last = verdict;
}
