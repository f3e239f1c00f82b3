//! Accurate ECN (RFC 9768): the receiver counts marked packets and bytes, and the sender reads the
//! counters.
//!
//! - Set-up (section 3.1): a SYN asks with AE, CWR and ECE. The SYN with ACK agrees and says with
//!   which code point the SYN has arrived; the ACK of the SYN with ACK says the same of it (tables
//!   2 to 4). Other answers are those of an end with RFC 3168, or without ECN. Reserved
//!   combinations agree too (section 3.1.3).
//! - ACE (section 3.2.2): the same three bits then carry the number of marked packets modulo 8, in
//!   each segment. Both ends begin with 5, and the end that opened the connection with 6 if the SYN
//!   with ACK was marked. Packets without data count too.
//! - An end whose SYN or SYN with ACK was marked begins with a window of one segment, as after a
//!   lost SYN (section 3.2.2.2 requires a response; RFC 5562 has this one). An end that has
//!   listened and gets ACE 000 on the first ACK sends without ECT and ignores reports (table 4,
//!   note 1).
//! - The option (section 3.2.3): bytes that arrived with CE and with the code point of the data,
//!   modulo 2^24. It is sent with each ACK without data after the counters have changed, where it
//!   fits.
//!
//! Decisions:
//! - Only the counters of CE and of one code point are sent, 8 bytes. An end sends its data with
//!   one code point, and a counter at the end of the option that has not changed may be left out
//!   (section 3.2.3.3).
//! - Data has no room for the option: its segments carry ACE only.
//! - If both do not fit, the option takes the place of the last SACK blocks, as in Linux 6.19
//!   (`tcp_options_fit_accecn`): two are left with timestamps, three without.
//! - SYNs carry no option, and no end looks for middleboxes that change the field of ECN or remove
//!   the option (sections 3.2.2.3 and 3.2.3.2). There are none here.
//! - A SYN with ACK that is retransmitted after the set-up is acknowledged with the counter
//!   (section 3.2.2.1 repeats the code point of the set-up).
//! - Retransmissions and bare ACKs are sent without ECT, as in RFC 3168.

use crate::segment::EcnCounters;

/// Both counters of packets begin with this number (section 3.2.1).
const FIRST: u8 = 5;
/// ACE has three bits.
const ACE: u8 = 0b111;
/// Counters of bytes have 24 bits.
const BYTES: u32 = (1 << 24) - 1;
/// Marked packets after which an ACK is sent at once: n of section 3.2.2.5.1 while data is
/// unacknowledged.
const MARKS_FOR_ACK: u32 = 2;
/// The same while no data is unacknowledged, so that ACKs of ACKs die out.
const MARKS_FOR_ACK_OF_ACKS: u32 = 3;

/// The field of ECN in the IP header (RFC 3168 section 5, RFC 9331 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePoint {
    NotEct,
    Ect1,
    Ect0,
    Ce,
}

/// ECN capability in a SYN with ACK, by AE, CWR and ECE as one number (table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Accurate reports; the SYN arrived like this.
    Accurate(CodePoint),
    /// RFC 3168.
    Classic,
    /// No ECN, or an end that returns the bits of the SYN.
    Without,
}

impl CodePoint {
    /// AE, CWR and ECE during the set-up (tables 2 and 3).
    pub(crate) fn in_set_up(self) -> u8 {
        match self {
            Self::NotEct => 0b010,
            Self::Ect1 => 0b011,
            Self::Ect0 => 0b100,
            Self::Ce => 0b110,
        }
    }
}

/// Returns true if a SYN asks for accurate reports: with 111, and with combinations that are
/// reserved for later (section 3.1.3).
pub(crate) fn asks(bits: u8) -> bool {
    !matches!(bits & ACE, 0b000 | 0b011)
}

impl Answer {
    pub(crate) fn read(bits: u8) -> Self {
        match bits & ACE {
            0b010 => Self::Accurate(CodePoint::NotEct),
            0b011 => Self::Accurate(CodePoint::Ect1),
            0b100 => Self::Accurate(CodePoint::Ect0),
            0b110 => Self::Accurate(CodePoint::Ce),
            // Reserved: as if the SYN had arrived as it was sent (section 3.1.3).
            0b101 => Self::Accurate(CodePoint::NotEct),
            0b001 => Self::Classic,
            _ => Self::Without,
        }
    }
}

/// Counters of the receiving half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// r.cep, modulo 8.
    packets: u8,
    /// r.ceb, r.e0b and r.e1b, modulo 2^24.
    marked: u32,
    ect0: u32,
    ect1: u32,
    /// Marked packets since the last ACK.
    unreported: u32,
    /// The packet before was marked, with data or without.
    last_was_marked: bool,
    changed: bool,
}

impl Default for Received {
    fn default() -> Self {
        Self {
            packets: FIRST,
            marked: 0,
            ect0: 1,
            ect1: 1,
            unreported: 0,
            last_was_marked: false,
            changed: false,
        }
    }
}

impl Received {
    /// A SYN with ACK has arrived. A mark of a SYN is reported by its answer alone (section
    /// 3.2.2.2).
    pub(crate) fn count_answer(&mut self, arrived: CodePoint) {
        self.packets = FIRST + u8::from(arrived == CodePoint::Ce);
    }

    /// A segment has arrived with `bytes` of data. Returns true if an ACK is sent at once (section
    /// 3.2.2.5.1): for marked data after a packet without a mark, and for the second mark since the
    /// last ACK, or the third if nothing is `unacknowledged`.
    pub(crate) fn count(&mut self, arrived: CodePoint, bytes: u32, unacknowledged: bool) -> bool {
        let marked = arrived == CodePoint::Ce;
        let before = std::mem::replace(&mut self.last_was_marked, marked);
        let counter = match arrived {
            CodePoint::NotEct => return false,
            CodePoint::Ect0 => &mut self.ect0,
            CodePoint::Ect1 => &mut self.ect1,
            CodePoint::Ce => &mut self.marked,
        };
        *counter = (*counter + bytes) & BYTES;
        self.changed |= bytes > 0;
        if !marked {
            return false;
        }
        self.packets = (self.packets + 1) & ACE;
        self.unreported += 1;
        let most = if bytes > 0 || unacknowledged { MARKS_FOR_ACK } else { MARKS_FOR_ACK_OF_ACKS };
        (bytes > 0 && !before) || self.unreported >= most
    }

    /// ACE of the next segment.
    pub(crate) fn field(&self) -> u8 {
        self.packets
    }

    /// An ACK is sent.
    pub(crate) fn on_reported(&mut self) {
        self.unreported = 0;
    }

    /// The counters for an ACK, if they have changed since the last one, and whether the second is
    /// that of ECT(1).
    pub(crate) fn take_counters(&mut self) -> Option<(EcnCounters, bool)> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let low_latency = self.ect1 != 1;
        let unmarked = if low_latency { self.ect1 } else { self.ect0 };
        Some((EcnCounters { marked: self.marked, unmarked }, low_latency))
    }
}

/// The other end's counters as the sending half has read them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// s.cep, modulo 8.
    packets: u8,
    /// s.ceb, modulo 2^24.
    marked: u32,
}

impl Default for Known {
    fn default() -> Self {
        Self { packets: FIRST, marked: 0 }
    }
}

/// An ACK that is not older than those before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// ACE.
    pub(crate) field: u8,
    /// The option, if it is there.
    pub(crate) counters: Option<EcnCounters>,
    /// Bytes that the ACK newly acknowledges.
    pub(crate) acked: u64,
    /// Bytes of a full segment.
    pub(crate) mss: u64,
}

impl Known {
    /// The other end has said how the SYN with ACK arrived. It counts a mark of that, and none of
    /// the SYN (section 3.2.2.2).
    pub(crate) fn take_set_up(&mut self, arrived: CodePoint) {
        self.packets = FIRST + u8::from(arrived == CodePoint::Ce);
    }

    /// Bytes that are newly reported as marked.
    ///
    /// With the option it is their number. Without it, it is that of the packets, and ACE may have
    /// wrapped if the ACK is for more than seven: then the largest number of marks that fits
    /// (appendix A.2.1).
    pub(crate) fn take(&mut self, report: Report) -> u64 {
        let packets = u64::from(report.field.wrapping_sub(self.packets) & ACE);
        self.packets = report.field & ACE;
        if let Some(counters) = report.counters {
            let bytes = counters.marked.wrapping_sub(self.marked) & BYTES;
            if bytes > BYTES / 2 {
                // An older option.
                return packets * report.mss;
            }
            self.marked = counters.marked;
            return u64::from(bytes);
        }
        let acked = report.acked.div_ceil(report.mss);
        let packets = if acked > u64::from(ACE) { acked - (acked - packets) % 8 } else { packets };
        // The next option has these bytes too.
        let bytes = packets * report.mss;
        #[expect(clippy::cast_possible_truncation, reason = "modulo 2^24")]
        let counted = (u64::from(self.marked) + bytes) as u32 & BYTES;
        self.marked = counted;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn report(field: u8) -> Report {
        Report { field, counters: None, acked: 2 * MSS, mss: MSS }
    }

    /// Table 2.
    #[test]
    fn answers_to_a_syn_agree_fall_back_or_do_without() {
        for arrived in [CodePoint::NotEct, CodePoint::Ect1, CodePoint::Ect0, CodePoint::Ce] {
            assert_eq!(Answer::read(arrived.in_set_up()), Answer::Accurate(arrived));
        }
        assert_eq!(Answer::read(0b101), Answer::Accurate(CodePoint::NotEct), "section 3.1.3");
        assert_eq!(Answer::read(0b001), Answer::Classic);
        assert_eq!([0b000, 0b111].map(Answer::read), [Answer::Without; 2]);
        let asking: Vec<_> = (0..8).filter(|bits| asks(*bits)).collect();
        assert_eq!(asking, [0b001, 0b010, 0b100, 0b101, 0b110, 0b111]);
    }

    /// Sections 3.2.1 and 3.2.2.2.
    #[test]
    fn counters_begin_with_5_0_1_and_1_and_a_marked_answer_counts() {
        let mut received = Received::default();
        assert_eq!(received.field(), 5);
        assert_eq!((received.marked, received.ect0, received.ect1), (0, 1, 1));
        received.count_answer(CodePoint::Ce);
        assert_eq!(received.field(), 6);
        received.count_answer(CodePoint::NotEct);
        assert_eq!(received.field(), 5);
    }

    /// Sections 3.2 and 3.2.2.5.1.
    #[test]
    fn marks_without_data_count_as_packets_and_the_third_is_acknowledged() {
        let mut received = Received::default();
        assert!(!received.count(CodePoint::Ce, 0, false));
        assert!(!received.count(CodePoint::Ce, 0, false));
        assert!(received.count(CodePoint::Ce, 0, false));
        assert_eq!((received.field(), received.marked), (0, 0));
        assert!(received.take_counters().is_none(), "no byte was marked");
        received.on_reported();
        assert!(!received.count(CodePoint::Ce, 1000, true), "the one before was marked");
        received.count(CodePoint::NotEct, 0, true);
        received.on_reported();
        assert!(received.count(CodePoint::Ce, 1000, true), "the one before was not");
        received.on_reported();
        assert!(!received.count(CodePoint::Ce, 0, true));
        assert!(received.count(CodePoint::Ce, 0, true), "two while data is unacknowledged");
    }

    /// Section 3.2.2.5.1: an ACK for the change to CE and for every second mark.
    #[test]
    fn the_first_mark_and_each_second_one_are_acknowledged_at_once() {
        let mut received = Received::default();
        assert!(!received.count(CodePoint::Ect0, 1000, true));
        assert!(received.count(CodePoint::Ce, 1000, true));
        received.on_reported();
        assert!(!received.count(CodePoint::Ce, 1000, true));
        assert!(received.count(CodePoint::Ce, 1000, true));
        received.on_reported();
        assert!(!received.count(CodePoint::Ect0, 1000, true));
        assert!(received.count(CodePoint::Ce, 1000, true));
    }

    #[test]
    fn the_number_of_marks_is_read_from_three_bits_and_wraps() {
        let (mut received, mut known) = (Received::default(), Known::default());
        for marks in [0, 1, 2, 7, 3, 5, 0, 6] {
            for _ in 0..marks {
                received.count(CodePoint::Ce, 1000, true);
            }
            assert_eq!(known.take(report(received.field())), marks * MSS);
        }
    }

    #[test]
    fn the_option_counts_bytes_modulo_two_to_the_24() {
        let (mut received, mut known) = (Received::default(), Known::default());
        let mut sum = 0;
        for _ in 0..40 {
            received.count(CodePoint::Ce, 1_000_003, true);
            received.count(CodePoint::Ect1, 500, true);
            let (counters, low_latency) = received.take_counters().unwrap();
            assert!(low_latency && counters.marked <= BYTES);
            sum += known.take(Report { counters: Some(counters), ..report(received.field()) });
        }
        assert_eq!(sum, 40 * 1_000_003);
        assert!(received.take_counters().is_none(), "nothing has changed since");
    }

    /// Appendix A.2.1: ACKs were lost, and nine or one of the ten packets were marked.
    #[test]
    fn without_the_option_an_ack_for_many_packets_takes_the_most_marks_that_fit() {
        let mut known = Known::default();
        assert_eq!(known.take(Report { acked: 10 * MSS, ..report(6) }), 9 * MSS);
        let mut known = Known::default();
        assert_eq!(known.take(Report { acked: 7 * MSS, ..report(6) }), MSS);
    }

    #[test]
    fn an_option_that_was_overtaken_does_not_count() {
        let mut known = Known::default();
        let with = |marked| Some(EcnCounters { marked, unmarked: 1 });
        assert_eq!(known.take(Report { counters: with(3000), ..report(0) }), 3000);
        assert_eq!(known.take(Report { counters: with(1000), ..report(0) }), 0);
        assert_eq!(known.take(Report { counters: with(4000), ..report(1) }), 1000);
    }
}
