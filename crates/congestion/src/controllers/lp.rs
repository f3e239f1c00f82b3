//! TCP-LP: background transfers that give way when the one-way delay grows.
//!
//! Source: A. Kuzmanovic, E. W. Knightly, "TCP-LP: A distributed algorithm for low priority data
//! transfer", IEEE INFOCOM, 2003. The forward delay d of each segment follows from timestamps, and
//! is smoothed with a gain of 1/8:
//!
//! - early congestion: the smoothed delay is above d_min + (d_max - d_min) `threshold` (0.15), with
//!   the smallest and largest delay of the connection,
//! - the first such ACK halves cwnd and begins an inference phase of three RTTs, in which cwnd does
//!   not grow,
//! - one more in the inference phase is a flow of normal priority: cwnd is one segment, and the
//!   phase restarts,
//! - otherwise growth and losses are those of NewReno. Slow start takes no notice of delays: it is
//!   where the longest one is learnt.
//!
//! Reconstructed: the text of the paper was not available; the rules are those that Linux restates
//! (`net/ipv4/tcp_lp.c` of Linux 6.1, read) without its arithmetic, which is `variant = "linux"`.
//! Decisions: d_max is learnt as Linux does, where a single longest delay does not count. What was
//! sent before an indication gives no second one, and the smoothed delay restarts after it. Without
//! timestamps the RTT stands in for the delay, and then queues of ACKs count too.

mod linux;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::parts::one_way_delay::OneWayDelay;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub use linux::LinuxLp;

/// Gain of the smoothed delay.
const GAIN: f64 = 1.0 / 8.0;
/// Round-trip times of an inference phase.
const INFERENCE: u64 = 3;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        default: "0.15",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Share of the longest queueing delay from which the path counts as congested",
    },
    VARIANT,
];

/// TCP-LP.
#[derive(Clone, Debug)]
pub struct Lp {
    window: Window,
    threshold: f64,
    one_way: OneWayDelay,
    delays: Delays,
    inference: Option<Inference>,
}

/// An inference phase.
#[derive(Clone, Copy, Debug)]
struct Inference {
    until: Time,
    /// Position sent when cwnd was reduced; none when all of it is acknowledged. Its delays are
    /// those of the old window.
    sent: Option<u64>,
}

/// One-way delays in seconds, all with the same unknown offset of the receiver's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    smoothed: Option<f64>,
    least: f64,
    /// The second longest, and the longest.
    second: f64,
    longest: f64,
}

impl Delays {
    fn take(&mut self, delay: f64) {
        let Some(smoothed) = &mut self.smoothed else {
            *self = Self { smoothed: Some(delay), least: delay, second: delay, longest: delay };
            return;
        };
        *smoothed += GAIN * (delay - *smoothed);
        self.least = self.least.min(delay);
        if delay > self.longest {
            self.second = self.longest;
            self.longest = delay;
        } else {
            self.second = self.second.max(delay);
        }
    }

    fn are_congested(&self, threshold: f64) -> bool {
        let bound = self.least + (self.second - self.least) * threshold;
        self.smoothed.is_some_and(|smoothed| smoothed > bound)
    }
}

impl Listed for Lp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "lp",
        summary: "Low priority: gives way when the one-way delay grows",
        source: "Kuzmanovic and Knightly, TCP-LP, 2003",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            threshold: values.number("threshold"),
            one_way: OneWayDelay::default(),
            delays: Delays::default(),
            inference: None,
        }
    }
}

impl Lp {
    fn infers(&self, now: Time) -> bool {
        self.inference.is_some_and(|inference| now < inference.until)
    }

    /// Returns true for an ACK of data of the old window. The smoothed delay restarts with data of
    /// the new one.
    fn drains(&mut self, acknowledged: u64, delay: f64) -> bool {
        let Some(Inference { sent: Some(sent), .. }) = self.inference else { return false };
        if acknowledged <= sent {
            return true;
        }
        self.inference = self.inference.map(|inference| Inference { sent: None, ..inference });
        self.delays.smoothed = Some(delay);
        false
    }

    fn give_way(&mut self, feedback: &Feedback, rtt: Span) {
        let mss = self.window.mss;
        let infers = self.infers(feedback.now);
        self.window.cwnd = if infers { mss } else { (self.window.cwnd / 2).max(mss) };
        self.window.ssthresh = self.window.cwnd.max(2 * mss);
        let until = feedback.now + Span::from_nanos(INFERENCE * rtt.as_nanos());
        self.inference = Some(Inference { until, sent: Some(feedback.sent) });
    }
}

impl Controller for Lp {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let Some(rtt) = feedback.round_trip else { return };
        let Some(delay) = self.one_way.measure(feedback) else { return };
        self.delays.take(delay);
        let drains = self.drains(feedback.acknowledged, delay);
        if !feedback.recovering
            && !drains
            && !self.window.in_slow_start()
            && self.delays.are_congested(self.threshold)
        {
            self.give_way(feedback, rtt);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !self.infers(ack.now) {
            standard::on_ack(self, ack);
        }
    }
}

impl TcpPolicy for Lp {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender};

    /// Delays between 50 and 150 ms are known, and the smoothed one is 50 ms.
    fn sender(segments: u64) -> Sender<Lp> {
        let mut sender = Sender::<Lp>::avoiding(segments);
        sender.controller.delays =
            Delays { smoothed: Some(0.05), least: 0.05, second: 0.15, longest: 0.15 };
        sender
    }

    #[test]
    fn without_a_queue_it_is_newreno() {
        sender(100).assert_grows_as_reno();
    }

    #[test]
    fn a_queue_below_the_threshold_changes_nothing() {
        // 10 of 100 ms.
        let mut sender = sender(100);
        let before = sender.cwnd();
        sender.round(110);
        sender.round(110);
        assert_eq!(sender.cwnd(), before + 1);
    }

    #[test]
    fn an_early_indication_halves_the_window() {
        let mut sender = sender(100);
        let before = sender.cwnd();
        sender.round(130);
        assert_eq!(sender.cwnd(), before / 2);
    }

    #[test]
    fn a_second_one_in_the_inference_phase_leaves_one_segment() {
        let mut sender = sender(100);
        sender.round(130);
        sender.round(130);
        assert_eq!(sender.cwnd(), 1);
    }

    #[test]
    fn the_window_does_not_grow_in_the_inference_phase() {
        let mut sender = sender(100);
        let before = sender.cwnd();
        sender.round(118);
        sender.round(100);
        assert_eq!(sender.cwnd(), before / 2, "the delay has fallen, the phase goes on");
        assert!(sender.grown_in(4, 100) > 0);
    }

    #[test]
    fn a_single_longest_delay_does_not_raise_the_threshold() {
        let mut delays = Delays::default();
        for delay in [0.05, 0.15, 0.15, 10.0] {
            delays.take(delay);
        }
        assert_eq!(delays.second, 0.15);
    }

    #[test]
    fn the_offset_of_the_receivers_clock_does_not_matter() {
        let run = |offset| {
            let mut sender = sender(100);
            sender.clock_offset = offset;
            let delays = &mut sender.controller.delays;
            let Delays { smoothed, least, second, longest } = delays;
            for delay in smoothed.iter_mut().chain([least, second, longest]) {
                *delay += f64::from(offset) / 1e3;
            }
            [100, 130, 100, 100, 130].map(|rtt| {
                sender.round(rtt);
                sender.cwnd()
            })
        };
        assert_eq!(run(0), run(1_000_000));
    }

    #[test]
    fn slow_start_learns_the_longest_delay_and_gives_way_to_nobody() {
        let mut sender = Sender::<Lp>::new(10);
        for rtt in [100, 150, 200] {
            sender.round(rtt);
        }
        assert_eq!(sender.cwnd(), 80);
        assert!((sender.controller.delays.longest - 0.15).abs() < 0.002);
    }

    #[test]
    fn a_loss_halves() {
        let mut sender = sender(100);
        sender.controller.on_loss(&loss(100 * MSS));
        assert_eq!(sender.cwnd(), 50);
    }
}
