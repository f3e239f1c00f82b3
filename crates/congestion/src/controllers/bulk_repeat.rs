//! Bulk Repeat: Westwood that answers a loss by errors with everything that is outstanding, once
//! more, and with the window it had.
//!
//! Source: G. Yang, R. Wang, M. Y. Sanadidi, M. Gerla, "TCPW with bulk repeat in next generation
//! wireless networks", IEEE ICC 2003. Made for error rates beyond 1 %, where a window has several
//! losses and NewReno repairs one in each round trip. A discriminator says what a loss comes from:
//!
//! - congestion: Westwood (`westwood.rs`),
//! - errors: all segments outstanding are retransmitted in one bulk, and the window stays,
//! - the retransmission timeout does not grow, whatever it comes from.
//!
//! Reconstructed: no more than the abstract was available. It names the three changes, and the two
//! parts of the discriminator: Spike (`spike.rs`), and a threshold on the rate gap. Decisions:
//!
//! - the gap is 1 - BWE RTTmin / cwnd, the part of the window that the path does not carry, and
//!   means congestion above 0.05,
//! - a loss is congestion if both parts say so, because errors widen the gap without filling a
//!   queue; where one of them has nothing measured, it says congestion,
//! - a timeout is judged as a loss is; it resends everything anyway, and after errors it does so at
//!   once.

use units::{Span, Time};

use crate::controller::Controller;
use crate::controllers::westwood::{FILTER, Westwood};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::spike::Spike;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

const PARAMETERS: &[Parameter] = &[
    FILTER[0],
    FILTER[1],
    Parameter {
        name: "spike_start",
        default: "0.5",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Share of the range of one-way delays above which congestion starts",
    },
    Parameter {
        name: "spike_end",
        default: "0.333",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Share of the range of one-way delays below which congestion ends",
    },
    Parameter {
        name: "rate_gap",
        default: "0.05",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Part of the window that the path does not carry, above which it is congested",
    },
    Parameter {
        name: "congestion",
        default: "both",
        allowed: Allowed::OneOf(&["both", "either", "spike", "rate-gap"]),
        meaning: "Signals that indicate congestion as the cause of a loss",
    },
];

/// Which part of the discriminator decides.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Both,
    Either,
    Spike,
    RateGap,
}

/// TCP Westwood with Bulk Repeat.
#[derive(Clone, Debug)]
pub struct BulkRepeat {
    westwood: Westwood,
    spike: Spike,
    rate_gap: f64,
    verdict: Verdict,
    /// The last loss was one by errors.
    repeats: bool,
}

impl Listed for BulkRepeat {
    const LISTED: &'static [Entry] = &[Entry {
        name: "bulk-repeat",
        summary: "Westwood that sends the whole window again after a loss by errors",
        source: "Yang et al., TCPW with Bulk Repeat, 2003",
        status: Status::Reconstructed,
        repair: Repair::PartialAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            westwood: Westwood::build(settings, values),
            spike: Spike::new(values.number("spike_start"), values.number("spike_end")),
            rate_gap: values.number("rate_gap"),
            verdict: match values.word("congestion") {
                "both" => Verdict::Both,
                "either" => Verdict::Either,
                "spike" => Verdict::Spike,
                _ => Verdict::RateGap,
            },
            repeats: false,
        }
    }
}

impl BulkRepeat {
    fn is_congestion(&self, now: Time) -> bool {
        let spike = self.spike.congested().unwrap_or(true);
        let carried = self.westwood.share_at(now);
        let gap = carried.is_none_or(|c| 1.0 - c / self.window().cwnd as f64 > self.rate_gap);
        match self.verdict {
            Verdict::Both => spike && gap,
            Verdict::Either => spike || gap,
            Verdict::Spike => spike,
            Verdict::RateGap => gap,
        }
    }
}

impl Controller for BulkRepeat {
    fn window(&self) -> &Window {
        self.westwood.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.westwood.window_mut()
    }

    fn needs(&self) -> Needs {
        self.westwood.needs()
    }

    fn on_rtt(&mut self, _now: Time, sample: Span) {
        self.spike.on_rtt(sample);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.spike.on_feedback(feedback);
        self.westwood.on_feedback(feedback);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.westwood.on_ack(ack);
    }

    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.westwood.threshold_after_loss(loss)
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.repeats = !self.is_congestion(loss.now);
        if !self.repeats {
            self.westwood.on_loss(loss);
        }
    }

    /// A mark is congestion, and the discriminator is not asked.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.westwood.on_congestion_mark(loss);
    }

    fn on_loss_after_mark(&mut self, _loss: &Loss) {
        self.repeats = false;
    }

    fn on_recovery_exit(&mut self, now: Time) {
        self.westwood.on_recovery_exit(now);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if self.is_congestion(loss.now) {
            self.westwood.on_timeout(loss);
        }
    }
}

impl TcpPolicy for BulkRepeat {
    fn repeats_everything(&self) -> bool {
        self.repeats
    }

    fn backs_off(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Value;
    use crate::parts::bandwidth::samples::{acknowledged, at};

    const MSS: u64 = 1000;
    const BASE: u64 = 500;

    fn bulk_repeat(verdict: &str) -> BulkRepeat {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 80 * MSS,
            initial_ssthresh: 80 * MSS,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("bulk-repeat", "congestion", Value::Word(verdict.to_owned())).unwrap();
        BulkRepeat::build(&settings, &values)
    }

    /// An ACK for a segment each 10 ms, fifty segments for each RTT, for ten seconds; the round
    /// trip is long at first, and `last` at the end.
    fn steady(verdict: &str, last: u64, cwnd: u64) -> BulkRepeat {
        let mut bulk_repeat = bulk_repeat(verdict);
        let base = Some(Span::from_millis(BASE));
        for i in 0..=1000 {
            let round_trip = match i {
                0 => 600,
                900.. => last,
                _ => BASE,
            };
            bulk_repeat.on_rtt(at(10 * i), Span::from_millis(round_trip));
            let ack = acknowledged(10 * i, MSS);
            bulk_repeat.on_feedback(&Feedback { srtt: base, min_rtt: base, ..ack });
        }
        bulk_repeat.window_mut().cwnd = cwnd * MSS;
        bulk_repeat
    }

    fn loss() -> Loss {
        Loss { now: at(10_000), flight: 80 * MSS, repeated: false }
    }

    #[test]
    fn a_loss_by_errors_repeats_everything_with_the_same_window() {
        let mut bulk_repeat = steady("both", BASE, 80);
        bulk_repeat.on_loss(&loss());
        assert!(bulk_repeat.repeats_everything());
        assert_eq!(bulk_repeat.window().cwnd, 80 * MSS);
        assert_eq!(bulk_repeat.window().ssthresh, 80 * MSS);
    }

    #[test]
    fn a_loss_by_congestion_is_westwoods() {
        let mut bulk_repeat = steady("both", 590, 80);
        bulk_repeat.on_loss(&loss());
        assert!(!bulk_repeat.repeats_everything());
        assert!(bulk_repeat.window().cwnd.abs_diff(50 * MSS) < MSS / 10);
        bulk_repeat.on_recovery_exit(at(10_500));
        assert!(bulk_repeat.window().cwnd.abs_diff(50 * MSS) < MSS / 10);
    }

    #[test]
    fn the_two_parts_of_the_discriminator_can_be_asked_in_four_ways() {
        // Round trip at the end, and window in segments, of which the path carries fifty.
        let (quiet, queued, fits, exceeds) = (BASE, 590, 50, 80);
        for (verdict, round_trip, cwnd, congestion) in [
            ("both", queued, exceeds, true),
            ("both", quiet, exceeds, false),
            ("both", queued, fits, false),
            ("either", quiet, fits, false),
            ("either", quiet, exceeds, true),
            ("either", queued, fits, true),
            ("spike", queued, fits, true),
            ("spike", quiet, exceeds, false),
            ("rate-gap", quiet, exceeds, true),
            ("rate-gap", queued, fits, false),
        ] {
            let mut bulk_repeat = steady(verdict, round_trip, cwnd);
            bulk_repeat.on_loss(&loss());
            assert_eq!(!bulk_repeat.repeats, congestion, "{verdict} {round_trip} {cwnd}");
        }
    }

    #[test]
    fn a_loss_before_anything_is_measured_is_congestion() {
        let mut bulk_repeat = bulk_repeat("both");
        bulk_repeat.on_loss(&loss());
        assert!(!bulk_repeat.repeats_everything());
        assert_eq!(bulk_repeat.window().cwnd, 40 * MSS);
    }

    #[test]
    fn timeouts_by_errors_leave_the_window_however_often_they_come() {
        let mut bulk_repeat = steady("both", BASE, 80);
        for i in 0..60 {
            let now = at(10_001 + 1000 * i);
            bulk_repeat.on_timeout(&Loss { now, repeated: i > 0, ..loss() });
            assert_eq!(bulk_repeat.window().cwnd, 80 * MSS);
        }
        assert!(!bulk_repeat.backs_off());
    }

    #[test]
    fn a_timeout_by_congestion_sends_one_segment_and_does_not_back_off_either() {
        let mut bulk_repeat = steady("both", 590, 80);
        bulk_repeat.on_timeout(&loss());
        assert_eq!(bulk_repeat.window().cwnd, MSS);
        assert!(!bulk_repeat.backs_off());
    }
}
