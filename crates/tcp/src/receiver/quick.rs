//! Timing of ACKs as in Linux, for `delayed_ack = "linux"`.
//!
//! - Quick ACKs: up to 16 ACKs are sent at once at the start of a connection, after a pause longer
//!   than the RTO and after data that arrived twice, and two after a mark (`tcp_incr_quickack`,
//!   `tcp_enter_quickack_mode`).
//! - Otherwise an ACK waits for more than one full segment or for a delay of 40 to 200 ms. The
//!   delay follows the gaps between arrivals, and doubles when it has passed in vain
//!   (`tcp_event_data_recv`, `tcp_delack_timer_handler`).
//! - An end that answers data within the delay is interactive: its ACKs wait for data to ride on,
//!   until they have waited in vain once ("pingpong", `tcp_event_data_sent`).
//! - An application that has read everything sends the ACK of a small segment, or of a full one
//!   with PSH, at once unless the end is interactive, and a window update when the window at least
//!   doubles (`__tcp_cleanup_rbuf`; full ones since Linux 6.6).
//!
//! Decisions:
//! - Times are not rounded to ticks. The bound by the shortest RTO (`tcp_delack_max`) is `rto.min`
//!   itself and not a tick less.
//! - SACK compression (`tcp_comp_sack_delay_ns`) is a setting of its own: `held`.

use units::{Span, Time};

/// The most ACKs that are sent at once (`TCP_MAX_QUICKACKS`).
pub(crate) const MOST_QUICK: u32 = 16;
/// Quick ACKs after a mark (`__tcp_ecn_check_ce`).
pub(crate) const QUICK_AFTER_MARK: u32 = 2;
/// The shortest delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const SHORTEST_DELAY: Span = Span::from_millis(40);
/// The longest delay (`TCP_DELACK_MAX`).
pub(crate) const LONGEST_DELAY: Span = Span::from_millis(200);
/// A segment of this size may be a full one of a short path (`TCP_MSS_DEFAULT`), and a smaller one
/// if it does not end what was written (`TCP_MIN_MSS`).
const LIKELY_FULL: u64 = 536;
const POSSIBLY_FULL: u64 = 88;

/// The path as this end knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Smoothed RTT of its own data.
    pub(crate) srtt: Option<Span>,
    pub(crate) rto: Span,
    /// The lower bound of the RTO.
    pub(crate) least_rto: Span,
}

/// State of the timing of ACKs (`icsk_ack`).
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    /// ACKs that are still to be sent at once.
    quick: u32,
    /// This end answers data with data.
    interactive: bool,
    /// Delay of an ACK (`ato`); zero before the first data.
    delay: Span,
    last_data: Time,
    /// Segments since the last ACK after which nothing more may follow soon (`ICSK_ACK_PUSHED`,
    /// `ICSK_ACK_PUSHED2`), at most two.
    ends: u8,
    /// Size of the last segment, if it was not full and may have been.
    last_small: u64,
    /// The other end sends data that routers may mark.
    saw_markable: bool,
}

impl Timing {
    /// The next `most` ACKs are to be sent at once, or fewer where the window is small
    /// (`tcp_incr_quickack`).
    fn promise(&mut self, most: u32, window: u64, full: u64) {
        let of_window = u32::try_from(window / (2 * full)).unwrap_or(u32::MAX);
        let quick = if of_window == 0 { 2 } else { of_window.min(most) };
        self.quick = self.quick.max(quick);
    }

    /// Something says that the sender may depend on the next ACKs (`tcp_enter_quickack_mode`).
    pub(super) fn hurry(&mut self, most: u32, window: u64, full: u64) {
        self.promise(most, window, full);
        self.interactive = false;
        if self.delay > Span::ZERO {
            self.delay = SHORTEST_DELAY;
        }
    }

    /// The window may grow: the next ACK does not wait (`tcp_grow_window`).
    pub(super) fn tell_of_growth(&mut self) {
        self.quick |= 1;
    }

    /// Data arrived that routers may have marked or not. Unmarkable data behind markable data is
    /// most likely a retransmission. Returns true if the next ACKs must not wait.
    pub(super) fn hurries_after(&mut self, markable: bool) -> bool {
        self.saw_markable |= markable;
        self.saw_markable && !markable
    }

    /// A segment of `length` bytes arrived (`tcp_measure_rcv_mss`). Returns the size of a full
    /// segment.
    pub(super) fn measure(&mut self, length: u64, full: u64, push: bool) -> u64 {
        let last_small = std::mem::take(&mut self.last_small);
        if length >= full {
            if push {
                self.ends = self.ends.max(1);
            }
            return full;
        }
        if length >= LIKELY_FULL || (length >= POSSIBLY_FULL && !push) {
            if length == last_small {
                return length;
            }
            self.last_small = length;
        }
        self.ends = (self.ends + 1).min(2);
        full
    }

    /// Data arrived in order (`tcp_event_data_recv`).
    pub(super) fn on_data(&mut self, now: Time, rto: Span, window: u64, full: u64) {
        let gap = now.since(self.last_data);
        self.last_data = now;
        if self.delay == Span::ZERO {
            self.promise(MOST_QUICK, window, full);
            self.delay = SHORTEST_DELAY;
        } else if gap <= half(SHORTEST_DELAY) {
            self.delay = half(self.delay) + half(SHORTEST_DELAY);
        } else if gap < self.delay {
            self.delay = (half(self.delay) + gap).min(rto).min(LONGEST_DELAY);
        } else if gap > rto {
            self.promise(MOST_QUICK, window, full);
        }
    }

    /// Returns true if the next ACK is to be sent at once (`tcp_in_quickack_mode`).
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    /// Returns true if an application that has read everything sends the ACK.
    pub(super) fn reading_acknowledges(&self) -> bool {
        self.ends > u8::from(self.interactive)
    }

    /// How long an ACK waits from now on (`tcp_send_delayed_ack`). The kernel's bound of half a
    /// second for full segments never shows, because `icsk_delack_max` is the longest delay.
    pub(super) fn delay(&self, path: Path) -> Span {
        let of_path = path.srtt.map_or(LONGEST_DELAY, |srtt| srtt.max(SHORTEST_DELAY));
        self.delay.min(of_path).min(LONGEST_DELAY).min(path.least_rto)
    }

    /// An ACK has waited in vain (`tcp_delack_timer_handler`).
    pub(super) fn on_waited(&mut self, rto: Span) {
        if std::mem::take(&mut self.interactive) {
            self.delay = SHORTEST_DELAY;
        } else {
            self.delay = self.delay.doubled(1).min(rto).min(LONGEST_DELAY);
        }
    }

    /// An ACK was sent, one that was `due` or that of other news (`tcp_dec_quickack_mode`).
    pub(super) fn on_ack_sent(&mut self, due: bool) {
        self.ends = 0;
        if due && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = SHORTEST_DELAY;
            }
        }
    }

    /// Data was sent (`tcp_event_data_sent`).
    pub(super) fn on_data_sent(&mut self, now: Time) {
        self.interactive |= now.since(self.last_data) < self.delay;
    }
}

fn half(span: Span) -> Span {
    Span::from_nanos(span.as_nanos() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1000;
    const WINDOW: u64 = 1_000_000;
    const RTO: Span = Span::from_secs(1);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn path(srtt: Option<u64>) -> Path {
        let srtt = srtt.map(Span::from_millis);
        Path { srtt, rto: RTO, least_rto: LONGEST_DELAY }
    }

    /// A connection that has used up the ACKs of its start at time 0.
    fn later() -> Timing {
        let mut timing = Timing::default();
        timing.on_data(at(0), RTO, WINDOW, FULL);
        for _ in 0..MOST_QUICK {
            assert!(timing.is_quick());
            timing.on_ack_sent(true);
        }
        assert!(!timing.is_quick());
        timing
    }

    #[test]
    fn a_small_window_has_fewer_quick_acks_and_at_least_two() {
        for (window, quick) in [(WINDOW, 16), (20 * FULL, 10), (4 * FULL, 2), (FULL, 2)] {
            let mut timing = Timing::default();
            timing.on_data(at(0), RTO, window, FULL);
            assert_eq!(timing.quick, quick, "{window}");
        }
    }

    #[test]
    fn the_delay_follows_the_gaps_and_doubles_when_it_has_passed_in_vain() {
        let mut timing = later();
        let delay = |timing: &Timing| timing.delay(path(None)).as_millis_f64();
        assert_eq!(delay(&timing), 40.0);
        timing.on_data(at(30), RTO, WINDOW, FULL);
        assert_eq!(delay(&timing), 50.0);
        timing.on_data(at(35), RTO, WINDOW, FULL);
        assert_eq!(delay(&timing), 45.0);
        timing.on_waited(RTO);
        assert_eq!(delay(&timing), 90.0);
        timing.on_waited(RTO);
        timing.on_waited(RTO);
        assert_eq!(delay(&timing), 200.0);
    }

    #[test]
    fn the_delay_is_no_longer_than_the_round_trip_and_the_shortest_rto() {
        let mut timing = later();
        for _ in 0..3 {
            timing.on_waited(RTO);
        }
        assert_eq!(timing.delay(path(Some(120))), Span::from_millis(120));
        assert_eq!(timing.delay(path(Some(10))), SHORTEST_DELAY);
        let least_rto = Span::from_millis(30);
        assert_eq!(timing.delay(Path { least_rto, ..path(None) }), least_rto);
    }

    #[test]
    fn a_pause_longer_than_the_rto_brings_quick_acks_back() {
        let mut timing = later();
        timing.on_data(at(900), RTO, WINDOW, FULL);
        assert!(!timing.is_quick());
        timing.on_data(at(1901), RTO, WINDOW, FULL);
        assert_eq!(timing.quick, MOST_QUICK);
    }

    #[test]
    fn an_end_that_answers_within_the_delay_is_interactive_until_an_ack_has_waited() {
        let mut timing = later();
        timing.hurry(MOST_QUICK, WINDOW, FULL);
        timing.on_data(at(100), RTO, WINDOW, FULL);
        timing.on_data_sent(at(141));
        assert!(timing.is_quick());
        timing.on_data_sent(at(139));
        assert!(!timing.is_quick());
        timing.on_waited(RTO);
        assert!(timing.is_quick());
        assert_eq!(timing.delay, SHORTEST_DELAY, "the wait was not one of the path");
    }

    #[test]
    fn reading_acknowledges_what_may_be_the_last() {
        for (lengths, push, interactive, acknowledges) in [
            (&[FULL][..], false, false, false),
            (&[FULL], true, false, true),
            (&[FULL], true, true, false),
            (&[10], true, false, true),
            (&[10], true, true, false),
            (&[10, 10], true, true, true),
            (&[600, 600], true, true, false),
        ] {
            let mut timing = Timing { interactive, ..later() };
            for length in lengths {
                timing.measure(*length, FULL, push);
            }
            let found = timing.reading_acknowledges();
            assert_eq!(found, acknowledges, "{lengths:?} {push} {interactive}");
        }
    }

    #[test]
    fn two_segments_of_a_size_that_may_be_full_make_it_the_full_size() {
        for (length, push, full) in
            [(600, true, 600), (535, true, FULL), (200, false, 200), (87, false, FULL)]
        {
            let mut timing = later();
            assert_eq!(timing.measure(length, FULL, push), FULL);
            assert_eq!(timing.measure(length, FULL, push), full, "{length}");
        }
    }
}
