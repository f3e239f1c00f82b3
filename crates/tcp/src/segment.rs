//! A TCP segment as it is on the wire, without its payload bytes. Plain data, 60 bytes.

use transport::{Range, Space};
use wire::tcp::{self, flags};

use crate::scps::Snack;

/// Most SACK blocks that fit a header without timestamps: 40 bytes of options hold 2 + 8 n
/// (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_BYTES: u32 = tcp::TIMESTAMPS as u32;

/// Control bits (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(flags::FIN);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(flags::SYN);
    /// Reset the connection.
    pub const RST: Self = Self(flags::RST);
    /// Push.
    pub const PSH: Self = Self(flags::PSH);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(flags::ACK);
    /// ECN-Echo: data has met congestion on its way here (RFC 3168 section 6.1).
    pub const ECE: Self = Self(flags::ECE);
    /// The window was reduced in answer to ECN-Echo.
    pub const CWR: Self = Self(flags::CWR);
    /// Accurate ECN (RFC 9768 section 3.1). It is in the place of URG, which is never sent: in the
    /// header AE is in the byte before.
    pub const AE: Self = Self(flags::URG);

    /// Returns true if all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Both sets of bits if `other` is wanted.
    #[must_use]
    pub const fn with_if(self, wanted: bool, other: Self) -> Self {
        if wanted { self.with(other) } else { self }
    }

    /// These bits without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// AE, ECE and CWR of these bits.
    #[must_use]
    pub const fn of_ecn(self) -> Self {
        Self(self.0 & (Self::AE.0 | flags::ECE | flags::CWR))
    }

    /// The flags of the header that are in one byte: without AE.
    #[must_use]
    pub const fn in_one_byte(self) -> Self {
        Self(self.0 & !Self::AE.0)
    }
}

/// A SACK block: received data from `start` up to and not including `end` (RFC 2018 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First sequence number.
    pub start: u32,
    /// Sequence number behind the last.
    pub end: u32,
}

impl Block {
    /// The range in numbers that do not wrap, near one of them; `None` if it is none.
    pub(crate) fn unwrap(&self, space: Space, near: u64) -> Option<Range> {
        let start = space.unwrap(self.start, near)?;
        let end = space.unwrap(self.end, near)?;
        (start < end).then_some(Range { start, end })
    }
}

/// Counters of the option of accurate ECN, modulo 2^24 (RFC 9768 section 3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounters {
    /// ECEB: bytes of payload that arrived with CE.
    pub marked: u32,
    /// EE0B or EE1B: bytes of payload that arrived with the code point of the other end's data.
    pub unmarked: u32,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Next sequence number expected from the other end.
    pub acknowledgement: u32,
    /// TSval, if the timestamps option is present.
    pub timestamp: u32,
    /// TSecr, if the timestamps option is present.
    pub echo: u32,
    /// SACK blocks, the first `sack_blocks` of them.
    pub sack: [Block; MAX_SACK_BLOCKS],
    /// Window field, not scaled.
    pub window: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// MSS option; zero if absent.
    pub mss: u16,
    /// Control bits.
    pub flags: Flags,
    /// Number of SACK blocks.
    pub sack_blocks: u8,
    /// Window scale option; `u8::MAX` if absent.
    pub window_scale: u8,
    /// Which options without a field of their own are present.
    pub options: Options,
}

/// Options that are present or not. Bits and not `bool`s: a `bool` is a niche, in
/// which `Option<Segment>` would keep its discriminant, and every move of a segment would be split
/// around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options(u16);

impl Options {
    /// The timestamps option (RFC 7323 section 3).
    pub const TIMESTAMPS: Self = Self(1);
    /// The SNACK option of SCPS-TP, which is [`Segment::snack`]. On a SYN it is the option of
    /// capabilities that offers it.
    pub const SNACK: Self = Self(2);
    /// No option of TCP, but a mark of its IP packet: routers may mark it instead of dropping it
    /// (ECT, RFC 3168 section 5).
    pub const ECN_CAPABLE: Self = Self(4);
    /// A probe of unused capacity, of low priority, that the receiver answers at once. On a real
    /// wire a reserved bit of the TCP header would say it.
    pub const PROBE: Self = Self(8);
    /// The probe's payload is no data for the receiver.
    pub const DUMMY: Self = Self(16);
    /// An option of ACK congestion control (RFC 5690): the bit of [`DUMMY`](Self::DUMMY), in a
    /// segment that is no probe. A SYN with it permits, others have [`Segment::ack_ratio`].
    pub(crate) const ACK_RATIO: Self = Self::DUMMY;
    /// An ACK, of low priority, that answers a probe.
    pub const PROBE_ANSWER: Self = Self(32);
    /// The option of accurate ECN (RFC 9768 section 3.2.3). Its counters are [`Segment::counters`].
    pub const ACCURATE_ECN: Self = Self(64);
    /// ECT(1) and not ECT(0) (RFC 9331): with [`ECN_CAPABLE`](Self::ECN_CAPABLE) the code point of
    /// the packet, with [`ACCURATE_ECN`](Self::ACCURATE_ECN), which is sent without ECT, that of
    /// the counter.
    pub const LOW_LATENCY: Self = Self(128);
    /// The SACK-permitted option (RFC 2018 section 2). Only SYNs have it, whose options are counted
    /// anyway.
    pub const SACK_PERMITTED: Self = Self(256);
    /// The option of capabilities of SCPS-TP also offers best-effort transport. Only SYNs have it.
    pub const BEST_EFFORT: Self = Self(512);
    /// Options that few segments have.
    const RARE: Self = Self(Self::ACCURATE_ECN.0 | Self::ACK_RATIO.0 | Self::SNACK.0);
    /// All that only probes and their answers have.
    pub(crate) const OF_PROBES: Self = Self(Self::PROBE.0 | Self::DUMMY.0 | Self::PROBE_ANSWER.0);

    /// Adds `other` if it is wanted.
    #[must_use]
    pub const fn with_if(self, wanted: bool, other: Self) -> Self {
        if wanted { Self(self.0 | other.0) } else { self }
    }

    /// Returns true if one of the bits of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Segment {
    /// The window scale field of a segment without the option.
    pub const NO_SCALE: u8 = u8::MAX;

    /// Returns true if the timestamps option is present.
    #[inline]
    pub fn has_timestamps(&self) -> bool {
        self.options.contains(Options::TIMESTAMPS)
    }

    /// Returns true if the SACK-permitted option is present.
    pub fn sack_permitted(&self) -> bool {
        self.options.contains(Options::SACK_PERMITTED)
    }

    /// Returns true if routers may mark its packet instead of dropping it.
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.options.contains(Options::ECN_CAPABLE)
    }

    /// Returns true if queues may drop its packet before others: a probe or its answer.
    #[inline]
    pub fn is_low_priority(&self) -> bool {
        self.options.contains(Options::PROBE.with_if(true, Options::PROBE_ANSWER))
    }

    /// Returns true if routers may treat its packet as one of a flow of low latency (RFC 9331).
    #[inline]
    pub fn is_low_latency(&self) -> bool {
        self.is_ecn_capable() && self.options.contains(Options::LOW_LATENCY)
    }

    /// The counters of the option of accurate ECN, if it is present: bytes that arrived marked, and
    /// bytes that arrived with the code point that the other end sends. Each has 24 bits.
    ///
    /// They are in the room of the fourth SACK block. On the wire too there is no room for that
    /// block next to this option.
    pub fn counters(&self) -> Option<EcnCounters> {
        let Block { start: marked, end: unmarked } = self.sack[MAX_SACK_BLOCKS - 1];
        self.options.contains(Options::ACCURATE_ECN).then_some(EcnCounters { marked, unmarked })
    }

    /// Adds the option of accurate ECN. The segment has at most three SACK blocks.
    pub fn set_counters(&mut self, counters: EcnCounters) {
        debug_assert!(usize::from(self.sack_blocks) < MAX_SACK_BLOCKS);
        self.options = self.options.with_if(true, Options::ACCURATE_ECN);
        self.sack[MAX_SACK_BLOCKS - 1] = Block { start: counters.marked, end: counters.unmarked };
    }

    /// Returns true if the SYN permits ACK congestion control (RFC 5690 section 4.1).
    pub fn permits_ack_control(&self) -> bool {
        self.flags.contains(Flags::SYN) && self.has_ack_option()
    }

    /// The ACK ratio that the other end is to use, if the segment has the option (RFC 5690 section
    /// 4.2).
    ///
    /// It is in the room of the fourth SACK block, which does not fit next to this option.
    pub fn ack_ratio(&self) -> Option<u8> {
        let [ratio, ..] = self.sack[MAX_SACK_BLOCKS - 1].start.to_le_bytes();
        (self.has_ack_option() && !self.flags.contains(Flags::SYN)).then_some(ratio)
    }

    /// Adds the option. The segment has no data and no counters of accurate ECN.
    pub(crate) fn set_ack_ratio(&mut self, ratio: u8) {
        // 40 bytes have room for two blocks next to timestamps, and for three without.
        self.sack_blocks = self.sack_blocks.min(if self.has_timestamps() { 2 } else { 3 });
        self.options = self.options.with_if(true, Options::ACK_RATIO);
        self.sack[MAX_SACK_BLOCKS - 1] = Block { start: ratio.into(), end: 0 };
    }

    fn has_ack_option(&self) -> bool {
        self.options.contains(Options::ACK_RATIO) && !self.options.contains(Options::PROBE)
    }

    /// The SNACK option of an ACK, if it is present. It is in the room of the first three SACK
    /// blocks.
    pub fn snack(&self) -> Option<Snack> {
        if !self.options.contains(Options::SNACK) || self.flags.contains(Flags::SYN) {
            return None;
        }
        let [hole, first, second, _] = self.sack;
        let word = |block: Block| u128::from(block.start) | u128::from(block.end) << 32;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "two halves of a word, and its lower one"
        )]
        let (offset, size, bits) = (hole.start as u16, (hole.start >> 16) as u16, hole.end as u16);
        Some(Snack { offset, size, bits, vector: word(first) | word(second) << 64 })
    }

    /// Adds the SNACK option. The segment has no SACK blocks.
    pub fn set_snack(&mut self, snack: Snack) {
        debug_assert!(self.sack_blocks == 0);
        let Snack { offset, size, bits, vector } = snack;
        #[expect(clippy::cast_possible_truncation, reason = "a quarter of the vector")]
        let part = |number: u32| (vector >> (32 * number)) as u32;
        let hole = Block { start: u32::from(offset) | u32::from(size) << 16, end: bits.into() };
        self.options = self.options.with_if(true, Options::SNACK);
        self.sack[..3].copy_from_slice(&[
            hole,
            Block { start: part(0), end: part(1) },
            Block { start: part(2), end: part(3) },
        ]);
    }

    /// The message of router number `router` that the largest segment that its link takes has `mss`
    /// bytes, without options (RFC 9293 section 3.7.1). It quotes this segment, and has `bytes`
    /// bytes without the header of IP.
    ///
    /// It is no segment, but arrives where one would. No segment has neither ACK nor SYN nor RST.
    /// Captures find the router in the place of the acknowledgement, and the length of this segment
    /// in that of the window.
    #[must_use]
    pub fn too_big(&self, router: u16, mss: u16, bytes: u16) -> Self {
        Self {
            sequence: self.sequence,
            acknowledgement: router.into(),
            window: self.bytes(),
            mss,
            payload: bytes.saturating_sub(tcp::HEADER),
            window_scale: Self::NO_SCALE,
            ..Self::default()
        }
    }

    /// The largest segment that a router reports, if this is its [message](Self::too_big).
    #[inline]
    pub fn reported_mss(&self) -> Option<u16> {
        (self.flags.0 == 0 && self.mss > 0).then_some(self.mss)
    }

    /// The largest segment that a router reports, its number, and the bytes of the segment that was
    /// too long, without the header of IP; `None` for a segment.
    pub fn report(&self) -> Option<(u16, u16, u16)> {
        let router = u16::try_from(self.acknowledgement).ok()?;
        Some((self.reported_mss()?, router, self.window))
    }

    /// The SACK blocks.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.sack_blocks)]
    }

    /// Bytes of TCP options with their padding.
    #[inline]
    pub fn option_bytes(&self) -> u32 {
        // The options with a length are in the lower byte.
        let [counts, _] = Options::TIMESTAMPS.with_if(true, Options::RARE).0.to_le_bytes();
        let [options, _] = self.options.0.to_le_bytes();
        let counted = options & counts | self.flags.0 & Flags::SYN.0 | self.sack_blocks;
        if counted == 0 { 0 } else { self.present_option_bytes() }
    }

    /// The same of a segment that has some.
    #[inline]
    fn present_option_bytes(&self) -> u32 {
        let timestamps = if self.has_timestamps() { TIMESTAMPS_BYTES } else { 0 };
        let sack = u32::from(tcp::sack(self.sack_blocks));
        let is_rare = self.flags.contains(Flags::SYN) || self.options.contains(Options::RARE);
        timestamps + sack + if is_rare { self.rare_option_bytes() } else { 0 }
    }

    /// Bytes of the options that few segments have.
    #[cold]
    fn rare_option_bytes(&self) -> u32 {
        let syn = if self.flags.contains(Flags::SYN) { self.syn_option_bytes() } else { 0 };
        let has_counters = self.options.contains(Options::ACCURATE_ECN);
        let counters = if has_counters { u32::from(tcp::ACCURATE_ECN) } else { 0 };
        let ratio = if self.has_ack_option() { u32::from(tcp::ACK_RATIO) } else { 0 };
        let snack = self.snack().map_or(0, |snack| u32::from(snack.bytes()));
        syn + counters + ratio + snack
    }

    /// Bytes of the options that only a SYN has.
    fn syn_option_bytes(&self) -> u32 {
        let mss = if self.mss > 0 { u32::from(tcp::MSS) } else { 0 };
        let scale =
            if self.window_scale == Self::NO_SCALE { 0 } else { u32::from(tcp::WINDOW_SCALE) };
        // SACK-permitted takes the two bytes that pad the timestamps.
        let permitted = if self.sack_permitted() && !self.has_timestamps() {
            u32::from(tcp::SACK_PERMITTED)
        } else {
            0
        };
        let offers_snack = self.options.contains(Options::SNACK);
        let capabilities = if offers_snack { u32::from(tcp::SCPS_CAPABILITIES) } else { 0 };
        mss + scale + permitted + capabilities
    }

    /// Length in bytes, header and options included: what an IP packet carries of it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
    pub fn bytes(&self) -> u16 {
        (u32::from(tcp::HEADER) + self.option_bytes() + u32::from(self.payload)) as u16
    }

    /// Largest number of SACK blocks that fits with the other options (RFC 2018 section 3).
    pub fn sack_capacity(has_timestamps: bool) -> usize {
        if has_timestamps { 3 } else { MAX_SACK_BLOCKS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_stays_small() {
        assert!(size_of::<Segment>() <= 64);
    }

    #[test]
    fn a_full_segment_without_options_fills_1480_bytes() {
        let segment =
            Segment { payload: 1460, window_scale: Segment::NO_SCALE, ..Segment::default() };
        assert_eq!(segment.bytes(), 1480);
    }

    #[test]
    fn the_snack_option_is_read_as_it_was_written() {
        let snack =
            Snack { offset: 65_535, size: 40_000, bits: 128, vector: 1 << 127 | 1 << 64 | 5 };
        let mut segment = Segment { flags: Flags::ACK, ..Segment::default() };
        assert_eq!(segment.snack(), None);
        let bytes = segment.bytes();
        segment.set_snack(snack);
        assert_eq!((segment.snack(), segment.bytes()), (Some(snack), bytes + 24));
        assert_eq!(segment.blocks(), []);
    }

    #[test]
    fn options_never_exceed_forty_bytes() {
        for has_timestamps in [false, true] {
            let segment = Segment {
                options: Options::default().with_if(has_timestamps, Options::TIMESTAMPS),
                sack_blocks: Segment::sack_capacity(has_timestamps) as u8,
                window_scale: Segment::NO_SCALE,
                ..Segment::default()
            };
            assert!(segment.option_bytes() <= 40);
        }
    }
}
