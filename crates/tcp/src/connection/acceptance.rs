//! Which segments of an open connection are taken in (RFC 9293 section 3.10.7.4, RFC 5961,
//! RFC 7323 sections 3.2 and 5.3).
//!
//! Where RFC and kernel part, `recovery = "linux"` follows the kernel (`tcp_validate_incoming`):
//!
//! - A segment without the timestamps that were agreed on is taken; the RFC drops it.
//! - A timestamp that is older by one tick is not old (`TCP_PAWS_WINDOW`).
//! - An old timestamp is taken on a bare ACK in order that acknowledges nothing new, does not
//!   change the window, and is at most 1.2 RTO older: it is only out of order
//!   (`tcp_disordered_ack`). The RFC answers and drops it like any other.
//! - An old timestamp on a bare ACK with a number below the next is dropped in silence, as of Linux
//!   6.14: it was overtaken by data (`tcp_disordered_ack_check`).
//! - The window begins with what was acknowledged last and not with the next number, because the
//!   other end may not know more (`tcp_sequence`). What an old segment from there on acknowledges
//!   counts.
//! - A reset is also accepted at the end of the highest SACK block, which is the next number of an
//!   end that did not hear of a gap, and one number back after the other end's FIN
//!   (`tcp_validate_incoming`, `tcp_reset_check`).
//!
//! Both take a bare ACK at the right edge of the window, as every TCP does: an end that has filled
//! the window has no other number for its ACKs.

use transport::AbortCause;
use units::Time;

use crate::receiver::MOST_QUICK;
use crate::segment::{Flags, Options, Segment};

use super::halves::Halves;
use super::{Connection, State, TIME_WAIT};

/// Ticks by which a timestamp may be older (`TCP_PAWS_WINDOW`).
const PAWS_WINDOW: u32 = 1;

/// Without data, SYN and FIN.
fn is_bare_ack(segment: &Segment) -> bool {
    let control = Flags::FIN.0 | Flags::SYN.0;
    segment.payload == 0 && segment.flags.contains(Flags::ACK) && segment.flags.0 & control == 0
}

/// Judgement on a segment that is not [ordinary](Halves::acknowledged_by_ordinary).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It is taken in.
    Taken,
    /// It is dropped in silence.
    Dropped,
    /// It is answered with an ACK of what is expected, and dropped.
    OutOfPlace,
    /// The same; its end may not know what has arrived. What it acknowledges may count.
    OldOrFar { is_taken: bool },
    /// It ends the connection.
    Reset,
}

impl Halves {
    /// Acknowledged bytes of an ordinary segment, and `None` for all others, which need a second
    /// look. An ordinary one is the next, fits the window, acknowledges something that was sent,
    /// and neither opens nor ends anything. Nearly all are, so this is one test for all the rules.
    #[inline]
    pub(super) fn acknowledged_by_ordinary(&self, segment: &Segment) -> Option<u64> {
        let una = self.sender.stream().una;
        // A flight is shorter than 2^31 bytes, so a number below SND.UNA counts as far above.
        let acked = u64::from(segment.acknowledgement.wrapping_sub(self.out.wrap(una)));
        let next = self.receiver.next();
        let is_ordinary = segment.flags.0 & self.ordinary_bits == Flags::ACK.0
            && segment.sequence == self.inward.wrap(next)
            && acked <= self.sender.stream().flight()
            && next + u64::from(segment.payload) <= self.receiver.right_edge()
            && !segment.options.contains(Options::OF_PROBES)
            && self.has_good_timestamp(segment);
        is_ordinary.then_some(una + acked)
    }

    /// As agreed, and not older than the one before.
    #[inline]
    fn has_good_timestamp(&self, segment: &Segment) -> bool {
        !self.agreed.timestamps || (segment.has_timestamps() && !self.has_old_timestamp(segment))
    }

    #[inline]
    fn has_old_timestamp(&self, segment: &Segment) -> bool {
        (segment.timestamp.wrapping_sub(self.recent_timestamp) as i32) < 0
    }

    fn acknowledges_something_sent(&self, segment: &Segment) -> bool {
        let una = self.sender.stream().una;
        let number = self.out.unwrap(segment.acknowledgement, una);
        number.is_some_and(|number| number >= una && self.sender.may_be_acknowledged(number))
    }

    /// Judges a segment that is not [ordinary](Self::acknowledged_by_ordinary) in this state.
    /// `has_probes` is true if the other end has probed for capacity.
    fn judge(&self, segment: &Segment, sequence: u64, state: State, has_probes: bool) -> Verdict {
        let reset = segment.flags.contains(Flags::RST);
        if !reset && let Some(refused) = self.judge_timestamp(segment, sequence) {
            return refused;
        }
        if !self.is_in_window(segment, sequence, state) {
            return match reset {
                false => Verdict::OldOrFar { is_taken: self.lags(segment, sequence, has_probes) },
                true if self.resets_like_linux(sequence, state) => Verdict::Reset,
                true => Verdict::Dropped,
            };
        }
        if reset {
            // RFC 5961 section 3.2: only the very next number resets.
            let is_next = sequence == self.receiver.next();
            let resets = is_next || self.resets_like_linux(sequence, state);
            return if resets { Verdict::Reset } else { Verdict::OutOfPlace };
        }
        if segment.flags.contains(Flags::SYN) {
            // RFC 5961 section 4.2.
            return Verdict::OutOfPlace;
        }
        if !segment.flags.contains(Flags::ACK) {
            return Verdict::Dropped;
        }
        if self.accepts_acknowledgement(segment) { Verdict::Taken } else { Verdict::OutOfPlace }
    }

    /// Protection against wrapped sequence numbers (RFC 7323 section 5.3, R1). `None` if the
    /// timestamp is no reason to refuse a segment.
    fn judge_timestamp(&self, segment: &Segment, sequence: u64) -> Option<Verdict> {
        if !self.agreed.timestamps {
            return None;
        }
        let is_linux = self.sender.is_linux();
        if !segment.has_timestamps() {
            // RFC 7323 section 3.2.
            return (!is_linux).then_some(Verdict::Dropped);
        }
        if !self.has_old_timestamp(segment) {
            return None;
        }
        if is_linux {
            if self.is_out_of_order_only(segment, sequence) {
                return None;
            }
            if is_bare_ack(segment) && sequence < self.receiver.next() {
                return Some(Verdict::Dropped);
            }
        }
        Some(Verdict::OldOrFar { is_taken: false })
    }

    /// Returns true if the old timestamp of a segment may be that of one that was overtaken, and
    /// was not wrapped.
    fn is_out_of_order_only(&self, segment: &Segment, sequence: u64) -> bool {
        let age = self.recent_timestamp.wrapping_sub(segment.timestamp);
        // Ticks of 1 ms, and some systems have a clock of 1200 Hz (`tcp_tsval_replay`).
        let most = u128::from(self.sender.rtt().rto().as_nanos()) * 1200 / 1_000_000_000;
        let window = u64::from(segment.window) << self.agreed.peer_shift;
        age <= PAWS_WINDOW
            || (is_bare_ack(segment)
                && sequence == self.receiver.next()
                && segment.acknowledgement == self.out.wrap(self.sender.stream().una)
                && !self.sender.peer().would_move(sequence, window)
                && u128::from(age) <= most)
    }

    /// RFC 9293 section 3.4, table 6.
    fn is_in_window(&self, segment: &Segment, sequence: u64, state: State) -> bool {
        let next = self.receiver.next();
        let control = segment.flags.contains(Flags::FIN) || segment.flags.contains(Flags::SYN);
        let end = sequence + u64::from(segment.payload) + u64::from(control);
        let is_old = if self.sender.is_linux() && state != State::TimeWait {
            end < self.last_ack_sent
        } else if end == sequence {
            sequence < next
        } else {
            end <= next
        };
        !is_old && sequence <= self.receiver.right_edge()
    }

    /// A bare ACK of an end that does not know yet that its window probe, the data of its probes
    /// for capacity, or its data beyond the window was taken in: its ACKs do not count these as
    /// sent before they are acknowledged. Two such ends would otherwise refuse each other's ACKs
    /// for ever. One number back is also a keep-alive (RFC 9293 section 3.8.4).
    fn lags(&self, segment: &Segment, sequence: u64, has_probes: bool) -> bool {
        let bits = segment.flags.0 & (Flags::SYN.0 | Flags::ACK.0 | Flags::FIN.0);
        let bare = bits == Flags::ACK.0 && segment.payload == 0;
        let next = self.receiver.next();
        bare && sequence < next
            && (sequence + 1 == next || has_probes || self.sender.exceeds_window())
            && self.acknowledges_something_sent(segment)
    }

    /// Returns true if Linux takes a reset with another number than the next.
    fn resets_like_linux(&self, sequence: u64, state: State) -> bool {
        let after_fin = matches!(state, State::CloseWait | State::LastAck | State::Closing);
        let highest = self.receiver.sack_ranges().map(|range| range.end).max();
        self.sender.is_linux()
            && ((after_fin && sequence + 1 == self.receiver.next()) || highest == Some(sequence))
    }

    /// RFC 5961 section 5.2. An ACK that is merely old is taken for its SACK blocks.
    fn accepts_acknowledgement(&self, segment: &Segment) -> bool {
        let una = self.sender.stream().una;
        let number = self.out.unwrap(segment.acknowledgement, una);
        number.is_some_and(|number| {
            let oldest = number + self.sender.peer().max_advertised;
            let is_expected = || self.sender.snack().is_some_and(|s| s.is_expected(oldest));
            (oldest >= una || is_expected()) && self.sender.may_be_acknowledged(number)
        })
    }
}

impl Connection {
    /// Returns true if a segment that is not [ordinary](Halves::acknowledged_by_ordinary) is taken
    /// in. Answers it if not.
    pub(super) fn accepts(&mut self, now: Time, segment: &Segment, sequence: u64) -> bool {
        let has_probes = self.peer_probes.is_seen;
        let verdict = self.halves.judge(segment, sequence, self.state, has_probes);
        match verdict {
            Verdict::Taken | Verdict::Dropped => {}
            Verdict::OutOfPlace => self.answer_what_is_out_of_place(now, segment),
            Verdict::OldOrFar { .. } => self.answer_old_or_far(now, segment, sequence),
            Verdict::Reset => {
                self.end_because(AbortCause::Reset);
                self.halves.sender.note_end(now);
            }
        }
        matches!(verdict, Verdict::Taken | Verdict::OldOrFar { is_taken: true })
    }

    /// The other end may not know what has arrived. What is old is reported as received twice.
    fn answer_old_or_far(&mut self, now: Time, segment: &Segment, sequence: u64) {
        self.answer_what_is_out_of_place(now, segment);
        let end = sequence + u64::from(segment.payload);
        self.halves.receiver.note_duplicate(sequence, end);
        if sequence < end.min(self.halves.receiver.next()) {
            self.halves.receiver.hurry_acks(MOST_QUICK);
        }
        // A FIN that comes again starts the wait again (RFC 9293 section 3.10.7.4, TIME-WAIT).
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            self.slow_timer = now + TIME_WAIT;
        }
    }
}
