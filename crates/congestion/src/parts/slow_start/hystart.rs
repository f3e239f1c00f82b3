//! HyStart: slow start ends when ACKs show that the pipe is full.
//!
//! Source: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9),
//! 2011, in the form that Linux gave it (`hystart_update` in `net/ipv4/tcp_cubic.c` of Linux 6.1;
//! the paper was not read). Rounds are counted from the first ACK on. From a window of 16 segments
//! on, it looks at each ACK that measures an RTT:
//!
//! - ACK train: a train of ACKs, none more than 2 ms after the one before it, that has lasted since
//!   the round began for half of the smallest RTT: what is in flight fills the forward path. Pacing
//!   spreads a window over as much as half an RTT, and so a paced sender waits for a whole one. A
//!   round that began below 16 segments has no train unless it began a moment ago,
//! - delay: the smallest of at least eight RTTs of the round is longer than the smallest RTT by an
//!   eighth of that, between 4 and 16 ms.
//!
//! Either sets ssthresh to cwnd, once until the next timeout. The smallest RTT is that of data: the
//! SYN is shorter. Nothing here aggregates segments, so that there is no allowance for receive
//! offload, unless the controller is that of Linux. That one also looks at ACKs that only
//! acknowledge selectively (`tcp_clean_rtx_queue` calls `cubictcp_acked` for each ACK, which takes
//! those with an RTT).

use units::{Span, Time};

use crate::events::Feedback;
use crate::window::Window;

/// Segments from which on it looks.
const LOW_WINDOW: u64 = 16;
/// ACKs that are no further apart belong to one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// RTTs that a round must have given.
const SAMPLES: u32 = 8;
/// Share of the smallest RTT by which a round's must be longer, and its bounds.
const DELAY_DIVISOR: u64 = 8;
const SHORTEST_DELAY: Span = Span::from_millis(4);
const LONGEST_DELAY: Span = Span::from_millis(16);

/// The state of HyStart.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStart {
    found: bool,
    round: Option<Round>,
    /// Smallest RTT of data.
    min_rtt: Option<Span>,
    /// Longest time for which the receiver's interface holds ACKs back.
    ack_delay: Span,
    /// It looks at ACKs that measure an RTT, whatever they acknowledge, and at no others.
    takes_samples_only: bool,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// It is over when more than this position of the stream is acknowledged.
    end: u64,
    began: Time,
    /// The last ACK of the train.
    last_ack: Time,
    rtt: Option<Span>,
    samples: u32,
}

impl HyStart {
    /// That of Linux. `ack_delay`: what the receiver's interface may hold ACKs back.
    pub(super) fn with(ack_delay: Span) -> Self {
        Self { ack_delay, takes_samples_only: true, ..Self::default() }
    }

    /// In a round that begins now, and ends when more than this position is acknowledged.
    pub(super) fn beginning(ack_delay: Span, began: Time, end: u64) -> Self {
        let round = Round { end, began, last_ack: began, rtt: None, samples: 0 };
        Self { round: Some(round), ..Self::with(ack_delay) }
    }

    /// Forgets what it has found.
    pub(super) fn reset(&mut self) {
        let Self { ack_delay, takes_samples_only, .. } = *self;
        *self = Self { ack_delay, takes_samples_only, ..Self::default() };
    }

    /// Returns true if this ACK, in slow start, ends it.
    pub(super) fn ends(&mut self, feedback: &Feedback, window: &Window) -> bool {
        let looks = if self.takes_samples_only {
            feedback.round_trip.is_some()
        } else {
            feedback.acked > 0
        };
        if self.found || !looks {
            return false;
        }
        let mut round =
            self.round.filter(|round| feedback.acknowledged <= round.end).unwrap_or(Round {
                end: feedback.sent,
                began: feedback.now,
                last_ack: feedback.now,
                rtt: None,
                samples: 0,
            });
        if let Some(sample) = feedback.round_trip {
            let min_rtt = self.min_rtt.map_or(sample, |min| min.min(sample));
            self.min_rtt = Some(min_rtt);
            if window.cwnd >= LOW_WINDOW * window.mss {
                let divisor = if window.paced { 1 } else { 2 };
                let path = min_rtt + self.ack_delay;
                self.found = round.train_is_long(feedback.now, path, divisor);
                self.found |= round.delay_is_long(sample, min_rtt);
            }
        }
        self.round = Some(round);
        self.found
    }
}

impl Round {
    fn train_is_long(&mut self, now: Time, path: Span, divisor: u64) -> bool {
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        now.since(self.began) * divisor > path
    }

    fn delay_is_long(&mut self, sample: Span, min_rtt: Span) -> bool {
        self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        self.samples += 1;
        let eighth = Span::from_nanos(min_rtt.as_nanos() / DELAY_DIVISOR);
        let delay = eighth.clamp(SHORTEST_DELAY, LONGEST_DELAY);
        self.samples > SAMPLES && self.rtt.is_some_and(|rtt| rtt > min_rtt + delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::vegas_estimator::tests::{MSS, feedback as ack};
    use crate::window::Settings;

    fn window(segments: u64) -> Window {
        Window::new(&Settings {
            mss: MSS as u32,
            initial_window: segments * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        })
    }

    fn feedback(now: u64, acknowledged: u64, rtt: u64) -> Feedback {
        let sent = if acknowledged <= 1000 { 1000 } else { 2000 };
        ack(now, acknowledged, sent, rtt)
    }

    fn knowing(min_rtt: u64) -> HyStart {
        HyStart { min_rtt: Some(Span::from_millis(min_rtt)), ..HyStart::default() }
    }

    /// The ACK of a round, `gap` milliseconds apart, that ends slow start.
    fn ended_by(window: &Window, gap: u64, rtt: u64, min_rtt: u64) -> Option<u64> {
        let mut hystart = knowing(min_rtt);
        (0..200).find(|i| hystart.ends(&feedback(gap * i, *i, rtt), window))
    }

    #[test]
    fn a_paced_train_has_to_last_for_a_whole_rtt() {
        let mut window = window(100);
        window.paced = true;
        assert_eq!(ended_by(&window, 1, 100, 100), Some(101));
    }

    #[test]
    fn a_round_that_began_below_16_segments_has_no_train() {
        let mut hystart = knowing(100);
        for i in 0..5 {
            assert!(!hystart.ends(&feedback(i, i, 100), &window(15)));
        }
        assert!((5..200).all(|i| !hystart.ends(&feedback(i, i, 100), &window(16))));
    }

    #[test]
    fn the_rtt_of_the_handshake_is_not_the_smallest() {
        let mut hystart = HyStart::default();
        let small = Feedback { min_rtt: Some(Span::from_millis(80)), ..feedback(0, 0, 100) };
        assert!((0..20).all(|_| !hystart.ends(&small, &window(100))));
    }

    /// `cubictcp_acked`.
    #[test]
    fn that_of_linux_looks_at_acks_that_only_acknowledge_selectively() {
        let ended = |hystart: &mut HyStart| {
            let sack = |i| Feedback { acked: 0, ..feedback(3 * i, 0, 200) };
            hystart.min_rtt = Some(Span::from_millis(100));
            (0..20_u64).find(|i| hystart.ends(&sack(*i), &window(100)))
        };
        assert_eq!(ended(&mut HyStart::default()), None);
        assert_eq!(ended(&mut HyStart::with(Span::ZERO)), Some(8));
    }

    #[test]
    fn a_train_of_acks_as_long_as_half_the_smallest_rtt_ends_it() {
        assert_eq!(ended_by(&window(100), 1, 100, 100), Some(51));
        assert_eq!(ended_by(&window(100), 2, 100, 100), Some(26));
    }

    #[test]
    fn acks_with_gaps_of_more_than_two_milliseconds_are_no_train() {
        assert_eq!(ended_by(&window(100), 3, 100, 100), None);
    }

    #[test]
    fn the_ninth_rtt_ends_it_when_all_of_the_round_are_longer() {
        // An eighth of 100 ms is 12.5 ms.
        assert_eq!(ended_by(&window(100), 3, 112, 100), None);
        assert_eq!(ended_by(&window(100), 3, 113, 100), Some(8));
    }

    #[test]
    fn the_delay_is_between_4_and_16_milliseconds() {
        assert_eq!(ended_by(&window(100), 3, 14, 10), None);
        assert_eq!(ended_by(&window(100), 3, 15, 10), Some(8));
        assert_eq!(ended_by(&window(100), 3, 616, 600), None);
        assert_eq!(ended_by(&window(100), 3, 617, 600), Some(8));
    }

    #[test]
    fn one_short_rtt_in_a_round_excuses_the_long_ones() {
        let mut hystart = HyStart::default();
        hystart.ends(&feedback(0, 0, 100), &window(100));
        assert!((1..100).all(|i| !hystart.ends(&feedback(3 * i, i, 200), &window(100))));
    }

    #[test]
    fn below_16_segments_it_does_not_look() {
        assert_eq!(ended_by(&window(15), 3, 200, 100), None);
        assert_eq!(ended_by(&window(16), 3, 200, 100), Some(8));
    }

    #[test]
    fn a_round_ends_when_what_was_sent_before_it_is_acknowledged() {
        let mut hystart = knowing(100);
        for i in 0..8 {
            assert!(!hystart.ends(&feedback(3 * i, i, 200), &window(100)));
        }
        assert!(!hystart.ends(&feedback(300, 1001, 200), &window(100)), "the first of its round");
    }

    #[test]
    fn it_is_found_once() {
        let mut hystart = knowing(100);
        let found = (0..100).filter(|i| hystart.ends(&feedback(3 * i, *i, 200), &window(99)));
        assert_eq!(found.count(), 1);
    }
}
