//! HyStart++: slow start that slows down when the RTT grows, and ends when it stays so.
//!
//! Source: RFC 9406 sections 4.2 and 4.3. Names in the comments are its own.
//!
//! - Slow start: cwnd += min(N, L * SMSS) for an ACK of N bytes, and all of N when paced. When the
//!   smallest of at least eight RTTs of a round is longer than that of the round before by
//!   RttThresh, Conservative Slow Start (CSS) begins.
//! - CSS: a quarter of that growth. When the smallest RTT of a round falls below that which began
//!   it, slow start goes on; after five rounds ssthresh = cwnd.
//! - A loss or a mark ends both.
//!
//! It is for the first slow start only (section 4.3); later ones are the standard one.

use units::Span;

use crate::events::Feedback;
use crate::window::Window;

const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L for a sender that does not pace; one that does has no limit (section 4.3).
const L: u64 = 8;

/// The state of HyStart++.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStartPlusPlus {
    phase: Phase,
    /// windowEnd; none before the first ACK.
    window_end: Option<u64>,
    last_round_min_rtt: Option<Span>,
    current_round_min_rtt: Option<Span>,
    rtt_sample_count: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    SlowStart,
    Conservative {
        /// cssBaselineMinRtt.
        baseline: Span,
        /// Rounds that have ended in CSS, the one in which it began included.
        rounds: u32,
    },
    /// The first slow start is over.
    Finished,
}

impl HyStartPlusPlus {
    /// Returns true if this ACK, in slow start, ends it.
    pub(super) fn ends(&mut self, feedback: &Feedback) -> bool {
        if self.phase == Phase::Finished || feedback.acked == 0 {
            return false;
        }
        let end = *self.window_end.get_or_insert(feedback.sent);
        if feedback.acknowledged >= end && self.round_ends(feedback) {
            self.finish();
            return true;
        }
        if let Some(sample) = feedback.round_trip {
            self.take(sample);
        }
        false
    }

    /// A round is over and the next begins. Returns whether it was the last.
    fn round_ends(&mut self, feedback: &Feedback) -> bool {
        self.window_end = Some(feedback.sent);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            return *rounds >= CSS_ROUNDS;
        }
        false
    }

    fn take(&mut self, sample: Span) {
        let current = self.current_round_min_rtt.map_or(sample, |min| min.min(sample));
        self.current_round_min_rtt = Some(current);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match (self.phase, self.last_round_min_rtt) {
            (Phase::SlowStart, Some(last)) if current >= last + threshold(last) => {
                self.phase = Phase::Conservative { baseline: current, rounds: 0 };
            }
            (Phase::Conservative { baseline, .. }, _) if current < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    /// Growth of the window by an ACK for `acked` bytes.
    pub(super) fn growth(&self, acked: u64, window: &Window) -> u64 {
        let counted = if window.paced { acked } else { acked.min(L * window.mss) };
        match self.phase {
            Phase::SlowStart => counted,
            Phase::Conservative { .. } => counted / CSS_GROWTH_DIVISOR,
            Phase::Finished => window.counted(acked),
        }
    }

    /// The first slow start is over.
    pub(super) fn finish(&mut self) {
        self.phase = Phase::Finished;
    }
}

/// RttThresh.
fn threshold(last_round: Span) -> Span {
    let share = Span::from_nanos(last_round.as_nanos() / MIN_RTT_DIVISOR);
    share.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::vegas_estimator::tests::{MSS, feedback};
    use crate::window::Settings;

    fn window() -> Window {
        Window::new(&Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        })
    }

    /// A round of 20 segments with RTTs of `rtt` ms, the `number`-th from 0.
    fn round(hystart: &mut HyStartPlusPlus, number: u64, rtt: u64) -> bool {
        let first = 20 * number;
        (0..20).any(|i| hystart.ends(&feedback(0, first + i, first + 20 + i, rtt)))
    }

    fn after(rtts: &[u64]) -> HyStartPlusPlus {
        let mut hystart = HyStartPlusPlus::default();
        for (number, rtt) in rtts.iter().enumerate() {
            assert!(!round(&mut hystart, number as u64, *rtt));
        }
        hystart
    }

    fn is_conservative(hystart: &HyStartPlusPlus) -> bool {
        matches!(hystart.phase, Phase::Conservative { .. })
    }

    #[test]
    fn a_round_longer_than_the_last_by_an_eighth_begins_conservative_slow_start() {
        assert!(!is_conservative(&after(&[100, 112])));
        assert!(is_conservative(&after(&[100, 113])));
    }

    #[test]
    fn the_threshold_is_between_4_and_16_milliseconds() {
        assert!(!is_conservative(&after(&[10, 13])));
        assert!(is_conservative(&after(&[10, 14])));
        assert!(!is_conservative(&after(&[600, 615])));
        assert!(is_conservative(&after(&[600, 616])));
    }

    #[test]
    fn eight_rtts_of_the_round_are_needed() {
        let mut hystart = after(&[100]);
        for i in 0..7 {
            hystart.ends(&feedback(0, 20 + i, 40 + i, 200));
        }
        assert!(!is_conservative(&hystart));
        hystart.ends(&feedback(0, 27, 47, 200));
        assert!(is_conservative(&hystart));
    }

    #[test]
    fn a_slow_growth_of_the_rtt_below_the_threshold_goes_unseen() {
        assert!(!is_conservative(&after(&[100, 110, 120, 130, 140])));
    }

    #[test]
    fn growth_is_by_at_most_eight_segments_and_a_quarter_in_conservative_slow_start() {
        let hystart = after(&[100]);
        assert_eq!(hystart.growth(2 * MSS, &window()), 2 * MSS);
        assert_eq!(hystart.growth(20 * MSS, &window()), 8 * MSS);
        let mut paced = window();
        paced.paced = true;
        assert_eq!(hystart.growth(20 * MSS, &paced), 20 * MSS);
        let hystart = after(&[100, 200]);
        assert_eq!(hystart.growth(2 * MSS, &window()), MSS / 2);
        assert_eq!(hystart.growth(20 * MSS, &window()), 2 * MSS);
    }

    #[test]
    fn the_fifth_round_of_conservative_slow_start_ends_it_the_partial_one_included() {
        // It begins in the second round; that one, and four more, have to end.
        let mut hystart = after(&[100, 200, 200, 200, 200, 200]);
        assert!(is_conservative(&hystart));
        assert!(round(&mut hystart, 6, 200));
        assert_eq!(hystart.phase, Phase::Finished);
        assert!(!round(&mut hystart, 7, 200), "once");
    }

    #[test]
    fn a_shorter_rtt_than_the_one_that_began_it_resumes_slow_start() {
        let hystart = after(&[100, 200, 199]);
        assert_eq!(hystart.phase, Phase::SlowStart);
        let again = after(&[100, 200, 150, 170]);
        assert!(is_conservative(&again), "and it is looked at again");
        assert!(is_conservative(&after(&[100, 200, 200])));
    }

    #[test]
    fn after_the_first_slow_start_growth_is_the_standard_one() {
        let mut hystart = after(&[100, 200]);
        hystart.finish();
        assert_eq!(hystart.growth(20 * MSS, &window()), MSS);
    }

    #[test]
    fn long_rtts_and_large_windows_change_nothing() {
        let mut hystart = HyStartPlusPlus::default();
        for i in 0..8 {
            hystart.ends(&feedback(0, i, 100_000, 1000));
        }
        for i in 0..8 {
            hystart.ends(&feedback(0, 100_000 + i, 200_000, 1016));
        }
        assert!(is_conservative(&hystart));
    }
}
