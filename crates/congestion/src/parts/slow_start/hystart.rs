//! HyStart: slow start ends when ACKs show that the pipe is full.
//!
//! Source: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9),
//! 2011, in the form that Linux 5.10 gave it (`net/ipv4/tcp_cubic.c`; its rules were read in a
//! description of that code, the paper was not). From a window of 16 segments on, in each round:
//!
//! - ACK train: a train of ACKs, none more than 2 ms after the one before it, that has lasted
//!   for half of the smallest RTT: what is in flight fills the forward path,
//! - delay: the smallest of at least eight RTTs of the round is longer than the smallest RTT by an
//!   eighth of that, between 4 and 16 ms.
//!
//! Either sets ssthresh to cwnd, once until the next timeout. The allowance for receive offload is
//! missing: nothing here aggregates segments.

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
    /// Whether this ACK, in slow start, ends it.
    pub(super) fn ends(&mut self, feedback: &Feedback, window: &Window) -> bool {
        if self.found || feedback.acked == 0 {
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
        let (Some(sample), Some(min_rtt)) = (feedback.round_trip, feedback.min_rtt) else {
            self.round = Some(round);
            return false;
        };
        round.rtt = Some(round.rtt.map_or(sample, |rtt| rtt.min(sample)));
        round.samples += 1;
        let found = round.train_is_long(feedback.now, min_rtt) || round.delay_is_long(min_rtt);
        self.round = Some(round);
        self.found = found && window.cwnd >= LOW_WINDOW * window.mss;
        self.found
    }
}

impl Round {
    fn train_is_long(&mut self, now: Time, min_rtt: Span) -> bool {
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        now.since(self.began) * 2 > min_rtt
    }

    fn delay_is_long(&self, min_rtt: Span) -> bool {
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

    fn feedback(now: u64, acknowledged: u64, rtt: u64, min_rtt: u64) -> Feedback {
        let sent = if acknowledged <= 1000 { 1000 } else { 2000 };
        Feedback { min_rtt: Some(Span::from_millis(min_rtt)), ..ack(now, acknowledged, sent, rtt) }
    }

    /// The ACK of a round, `gap` milliseconds apart, that ends slow start.
    fn ended_by(window: &Window, gap: u64, rtt: u64, min_rtt: u64) -> Option<u64> {
        let mut hystart = HyStart::default();
        (0..200).find(|i| hystart.ends(&feedback(gap * i, *i, rtt, min_rtt), window))
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
        hystart.ends(&feedback(0, 0, 100, 100), &window(100));
        assert!((1..100).all(|i| !hystart.ends(&feedback(3 * i, i, 200, 100), &window(100))));
    }

    #[test]
    fn below_16_segments_it_does_not_look() {
        assert_eq!(ended_by(&window(15), 3, 200, 100), None);
        assert_eq!(ended_by(&window(16), 3, 200, 100), Some(8));
    }

    #[test]
    fn a_round_ends_when_what_was_sent_before_it_is_acknowledged() {
        let mut hystart = HyStart::default();
        for i in 0..8 {
            assert!(!hystart.ends(&feedback(3 * i, i, 200, 100), &window(100)));
        }
        assert!(
            !hystart.ends(&feedback(300, 1001, 200, 100), &window(100)),
            "the first of its round"
        );
    }

    #[test]
    fn it_is_found_once() {
        let mut hystart = HyStart::default();
        let found = (0..100).filter(|i| hystart.ends(&feedback(3 * i, *i, 200, 100), &window(99)));
        assert_eq!(found.count(), 1);
    }
}
