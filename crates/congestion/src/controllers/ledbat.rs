//! LEDBAT: background transfers that keep the queue at a target of 100 ms.
//!
//! Source: RFC 6817. The rules are those of section 2.4.2:
//!
//! - Delay: one way, from TSval. The base delay is the smallest delay of the last `base_history`
//!   minutes in which there were samples. The current delay is the smallest of the last
//!   `current_filter` samples. The queueing delay is their difference.
//! - Each ACK of N bytes: cwnd += `gain` (1 - queueing delay / `target`) N SMSS / cwnd. With a
//!   delay above `target` the window shrinks.
//! - cwnd is at most the flight size before the ACK and `allowed_increase` segments, and at least
//!   `min_cwnd` segments.
//! - Loss: half of cwnd, at least `min_cwnd` segments, and not more than before. The transport
//!   reports one loss in a recovery, which lasts a round trip.
//! - No ACK for a CTO: one segment, and the CTO doubles. The CTO is the RTO of the transport
//!   (RFC 6298).
//!
//! Decisions where the RFC leaves a choice:
//! - FILTER() is the minimum, the first of the filters that the RFC names.
//! - Slow start is optional. `standard` is that of RFC 5681, as in the implementations for TCP
//!   (ns-3, Apple). It ends for good when the queueing delay reaches `target`, because the
//!   RFC requires a decrease from there on. `none` is the pseudocode, which has only the rule for
//!   each ACK.
//! - INIT_CWND is the initial window of the transport.
//! - A decrease lowers ssthresh to cwnd. Below ssthresh, slow start would take the decrease back.
//! - After a timeout ssthresh is half the flight size (RFC 5681 equation 4).
//! - Minutes are those of the time of the run, as the RFC takes those of the system's clock.

use std::collections::VecDeque;

use units::Time;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::one_way_delay::OneWayDelay;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

const MINUTE: u64 = 60_000_000_000;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "target",
        default: "0.1",
        allowed: Allowed::Range(0.001, 0.1),
        meaning: "Queueing delay in seconds that the flow keeps; at most 0.1 (TARGET)",
    },
    Parameter {
        name: "gain",
        default: "1",
        allowed: Allowed::Range(0.001, 1.0),
        meaning: "Segments that a round trip without a queue adds (GAIN)",
    },
    Parameter {
        name: "base_history",
        default: "10",
        allowed: Allowed::Whole(1, 1000),
        meaning: "Minutes of the base delay (BASE_HISTORY)",
    },
    Parameter {
        name: "current_filter",
        default: "4",
        allowed: Allowed::Whole(1, 1000),
        meaning: "Delay samples of which the smallest is the current delay (CURRENT_FILTER)",
    },
    Parameter {
        name: "allowed_increase",
        default: "1",
        allowed: Allowed::Range(0.001, 1000.0),
        meaning: "Segments by which the window may be larger than what is in flight (ALLOWED_INCREASE)",
    },
    Parameter {
        name: "min_cwnd",
        default: "2",
        allowed: Allowed::Whole(1, 1000),
        meaning: "Smallest window in segments, except after a timeout (MIN_CWND)",
    },
    Parameter {
        name: "slow_start",
        default: "standard",
        allowed: Allowed::OneOf(&["standard", "none"]),
        meaning: "Slow start of RFC 5681 while the queueing delay is below target, or none",
    },
];

/// One-way delays in seconds, all with the same unknown offset of the receiver's clock.
#[derive(Clone, Debug)]
struct Delays {
    /// The last samples.
    current: VecDeque<f64>,
    filter: usize,
    /// Smallest delays of the last minutes, the running one last.
    base: VecDeque<f64>,
    history: usize,
    /// The minute of the last sample.
    minute: Option<u64>,
}

impl Delays {
    fn new(filter: u32, history: u32) -> Self {
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            current: VecDeque::new(),
            filter: size(filter),
            base: VecDeque::new(),
            history: size(history),
            minute: None,
        }
    }

    fn take(&mut self, now: Time, delay: f64) {
        if self.current.len() == self.filter {
            self.current.pop_front();
        }
        self.current.push_back(delay);
        let minute = now.as_nanos() / MINUTE;
        match self.base.back_mut() {
            Some(least) if self.minute == Some(minute) => *least = least.min(delay),
            _ => {
                if self.base.len() == self.history {
                    self.base.pop_front();
                }
                self.base.push_back(delay);
                self.minute = Some(minute);
            }
        }
    }

    /// Queueing delay in seconds; zero before the first sample.
    fn queueing(&self) -> f64 {
        let least = |delays: &VecDeque<f64>| delays.iter().copied().reduce(f64::min);
        let (Some(current), Some(base)) = (least(&self.current), least(&self.base)) else {
            return 0.0;
        };
        (current - base).max(0.0)
    }
}

/// LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    window: Window,
    /// Seconds.
    target: f64,
    gain: f64,
    /// Segments.
    allowed_increase: f64,
    min_cwnd: u64,
    has_slow_start: bool,
    one_way: OneWayDelay,
    delays: Delays,
    /// Bytes that are not yet whole.
    rest: f64,
}

impl Listed for Ledbat {
    const LISTED: &'static [Entry] = &[Entry {
        name: "ledbat",
        summary: "Background traffic: at most 100 ms of queue, measured one way",
        source: "RFC 6817",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            target: values.number("target"),
            gain: values.number("gain"),
            allowed_increase: values.number("allowed_increase"),
            min_cwnd: u64::from(values.whole("min_cwnd")),
            has_slow_start: values.word("slow_start") == "standard",
            one_way: OneWayDelay::default(),
            delays: Delays::new(values.whole("current_filter"), values.whole("base_history")),
            rest: 0.0,
        }
    }
}

impl Ledbat {
    /// Share of the target that is left; below zero if the queue is longer.
    fn off_target(&self) -> f64 {
        1.0 - self.delays.queueing() / self.target
    }

    /// Smallest window in bytes.
    fn least(&self) -> u64 {
        self.min_cwnd * self.window.mss
    }

    /// Adds a number of bytes that may be negative or a fraction.
    fn add(&mut self, bytes: f64) {
        let bytes = self.rest + bytes;
        self.rest = bytes - libm::trunc(bytes);
        let cwnd = self.window.cwnd;
        self.window.cwnd = if bytes < 0.0 {
            cwnd.saturating_sub(whole(-bytes))
        } else {
            cwnd.saturating_add(whole(bytes))
        };
    }
}

impl Controller for Ledbat {
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
        if let Some(delay) = self.one_way.measure(feedback) {
            self.delays.take(feedback.now, delay);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let off_target = self.off_target();
        if off_target <= 0.0 {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
        if self.has_slow_start && self.window.in_slow_start() {
            self.grow(ack);
            return;
        }
        let window = &self.window;
        let share = ack.acked as f64 * window.mss as f64 / window.cwnd as f64;
        let in_flight = ack.flight.saturating_add(ack.acked);
        let allowed = in_flight.saturating_add(whole(self.allowed_increase * window.mss as f64));
        self.add(self.gain * off_target * share);
        self.window.cwnd = self.window.cwnd.min(allowed).max(self.least());
        if off_target < 0.0 {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
    }

    fn on_loss(&mut self, _loss: &Loss) {
        let cwnd = self.window.cwnd;
        self.window.cwnd = cwnd.min((cwnd / 2).max(self.least()));
        self.window.ssthresh = self.window.cwnd;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        standard::on_timeout(self, loss);
        self.rest = 0.0;
    }
}

impl TcpPolicy for Ledbat {}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::events::samples::{ack, loss};
    use crate::parameters::Value;
    use crate::parts::linux::samples::{MSS, Sender};

    /// In avoidance, with a base delay that is known.
    fn sender(segments: u64) -> Sender<Ledbat> {
        let mut sender = Sender::<Ledbat>::avoiding(segments);
        sender.now += Span::from_secs(1);
        sender.round(100);
        sender
    }

    /// Segments that a round trip with `rtt` milliseconds instead of 100 adds.
    fn change(rtt: u64) -> f64 {
        let mut sender = sender(100);
        // The filter still has delays of before.
        let base = sender.controller.delays.base.clone();
        sender.controller.delays.current =
            base.iter().map(|base| base + rtt as f64 / 1e3 - 0.1).collect();
        let before = sender.controller.window.cwnd;
        sender.round(rtt);
        (sender.controller.window.cwnd as f64 - before as f64) / MSS as f64
    }

    fn with(parameter: &str, value: f64) -> Ledbat {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 100 * MSS,
            initial_ssthresh: 2 * MSS,
            byte_counting: 1,
        };
        let mut values = Values::defaults(PARAMETERS);
        values.set("ledbat", parameter, Value::Number(value)).unwrap();
        Ledbat::build(&settings, &values)
    }

    #[test]
    fn without_a_queue_it_adds_a_segment_in_a_round_trip_as_reno() {
        sender(100).assert_grows_as_reno();
    }

    #[test]
    fn the_change_is_in_proportion_to_the_distance_from_the_target() {
        for (rtt, expected) in [(100, 1.0), (150, 0.5), (200, 0.0), (300, -1.0), (600, -4.0)] {
            let found = change(rtt);
            assert!((found - expected).abs() < 0.08, "{rtt} ms: {found}");
        }
    }

    #[test]
    fn the_gain_scales_the_change() {
        let mut controller = with("gain", 0.5);
        controller.on_ack(&Ack { flight: 99 * MSS, ..ack(MSS) });
        assert_eq!(controller.window.cwnd, 100 * MSS + 5);
    }

    #[test]
    fn an_ack_counts_by_its_bytes() {
        let mut controller = with("gain", 1.0);
        controller.on_ack(&Ack { flight: 97 * MSS, ..ack(3 * MSS) });
        assert_eq!(controller.window.cwnd, 100 * MSS + 30);
    }

    #[test]
    fn the_window_is_at_most_the_flight_and_the_allowed_increase() {
        for (parameter, value, expected) in
            [("allowed_increase", 1.0, 11), ("allowed_increase", 3.0, 13)]
        {
            let mut controller = with(parameter, value);
            controller.on_ack(&Ack { flight: 9 * MSS, cwnd_limited: false, ..ack(MSS) });
            assert_eq!(controller.window.cwnd, expected * MSS, "{parameter} {value}");
        }
    }

    #[test]
    fn two_segments_stay() {
        let mut sender = sender(10);
        for _ in 0..20 {
            sender.round(1000);
        }
        assert_eq!(sender.cwnd(), 2);
        let mut controller = with("min_cwnd", 7.0);
        controller.on_ack(&Ack { flight: 0, ..ack(MSS) });
        assert_eq!(controller.window.cwnd, 7 * MSS);
    }

    #[test]
    fn a_decrease_does_not_lead_to_slow_start() {
        let mut sender = sender(100);
        sender.controller.window.ssthresh = 100 * MSS;
        let mut windows = Vec::new();
        for _ in 0..5 {
            sender.round(400);
            windows.push(sender.cwnd());
        }
        assert!(windows.is_sorted_by(|before, after| after < before), "{windows:?}");
    }

    #[test]
    fn a_loss_halves_and_never_raises() {
        let mut sender = sender(100);
        let before = sender.controller.window.cwnd;
        sender.controller.on_loss(&loss(100 * MSS));
        sender.controller.on_recovery_exit(sender.now);
        assert_eq!(sender.controller.window.cwnd, before / 2);
        for (before, after) in [(3, 2), (2, 2), (1, 1)] {
            sender.controller.window.cwnd = before * MSS;
            sender.controller.on_loss(&loss(before * MSS));
            assert_eq!(sender.controller.window.cwnd, after * MSS);
        }
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_the_next_ack_the_smallest_window() {
        let mut sender = sender(100);
        sender.controller.on_timeout(&loss(100 * MSS));
        assert_eq!(sender.controller.window.cwnd, MSS);
        assert_eq!(sender.controller.window.ssthresh, 50 * MSS);
        sender.controller.has_slow_start = false;
        sender.controller.on_ack(&Ack { flight: 0, ..ack(MSS) });
        assert_eq!(sender.controller.window.cwnd, 2 * MSS);
    }

    #[test]
    fn slow_start_ends_at_the_target() {
        let mut sender = Sender::<Ledbat>::new(10);
        sender.round(100);
        sender.round(190);
        assert!(sender.controller.window.in_slow_start());
        assert_eq!(sender.cwnd(), 40);
        sender.round(205);
        assert!(!sender.controller.window.in_slow_start());
        assert!(sender.cwnd() < 48, "{}", sender.cwnd());
    }

    #[test]
    fn without_slow_start_every_round_trip_adds_a_segment() {
        let mut sender = Sender::<Ledbat>::new(10);
        sender.controller.has_slow_start = false;
        assert!((9..=10).contains(&sender.grown_in(10, 100)));
    }

    #[test]
    fn the_current_delay_is_the_smallest_of_the_last_samples() {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut delays = Delays::new(4, 10);
        for (second, delay) in [(0, 0.1), (1, 0.3), (2, 0.2), (3, 0.4)] {
            delays.take(at(second), delay);
        }
        assert_eq!(delays.queueing(), 0.0);
        delays.take(at(4), 0.5);
        assert!((delays.queueing() - 0.1).abs() < 1e-9, "the sample of 0.1 is the fifth");
    }

    #[test]
    fn the_base_delay_is_that_of_ten_minutes() {
        let at = |minutes: u64| Time::ZERO + Span::from_secs(60 * minutes);
        let mut delays = Delays::new(1, 10);
        delays.take(at(0), 0.1);
        delays.take(at(0) + Span::from_secs(59), 0.3);
        for minute in 1..10 {
            delays.take(at(minute), 0.2);
        }
        assert!((delays.queueing() - 0.1).abs() < 1e-9);
        delays.take(at(10), 0.2);
        assert_eq!(delays.queueing(), 0.0, "the first minute is forgotten");
        delays.take(at(100), 0.2);
        assert_eq!(delays.base.len(), 10, "minutes without samples do not count");
    }

    #[test]
    fn the_offset_of_the_receivers_clock_does_not_matter() {
        let run = |offset| {
            let mut sender = Sender::<Ledbat>::avoiding(100);
            sender.clock_offset = offset;
            [100, 130, 300, 300, 130].map(|rtt| {
                sender.round(rtt);
                sender.cwnd()
            })
        };
        assert_eq!(run(0), run(1_000_000));
    }
}
