//! LEDBAT++: background transfers that keep the queue at 60 ms, and pause for a tenth of the time.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus-06. The numbers in the comments are its sections. The
//! queueing delay is the smallest of the last four RTTs, less the base RTT. The base RTT is the
//! smallest of the last ten minutes (RFC 6817 section 2.4.2).
//!
//! - GAIN = 1 / min(16, ceil(2 `target` / base RTT)). It is 1 on paths from 120 ms on (4.2).
//! - Slow start: GAIN bytes for each byte acknowledged. The first slow start ends when the delay is
//!   above 3/4 of `target` (4.1).
//! - Avoidance: GAIN segments in a round trip. With a delay above `target` it is GAIN - cwnd (delay
//!   / `target` - 1) segments. At most half of cwnd goes, and at least two segments are left (4.3).
//! - Slowdown: ssthresh = cwnd, then two segments for two round trips, then slow start to ssthresh.
//!   The first one begins two round trips after the first slow start. Each later one begins when
//!   nine times the length of the last slowdown is over. In a slowdown flows see the path without
//!   their queue (4.4).
//! - Losses and timeouts: as standard TCP.
//!
//! Reconstructed: the text of the draft was not available. The rules are those that implementations
//! quote from it. Decisions:
//! - The slow start of a slowdown has GAIN too.
//! - A loss during a slowdown halves the window that it returns to.
//! - A timeout ends a slowdown, and the next begins when it was due.
//! - A window that is not used may shrink, but does not grow.
//! - A decrease lowers ssthresh to cwnd. Below ssthresh, slow start would take the decrease back.
//! - With fewer than three segments, an ACK of one segment counts as one without a queue. It may
//!   have waited for the timer of delayed ACKs, which is longer than `target`, and the flow would
//!   keep two segments for ever. From three segments on, some ACKs cover two and have not waited.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// GAIN is no smaller than one over this.
const LARGEST_DIVISOR: f64 = 16.0;
/// Share of the target that ends the first slow start.
const SLOW_START_SHARE: f64 = 0.75;
/// Largest share of cwnd that a round trip takes.
const LARGEST_DECREASE: f64 = 0.5;
/// Smallest window in segments.
const LEAST: u64 = 2;
/// Round trips at that window, and between the first slow start and the first slowdown.
const ROUNDS: u64 = 2;
/// Length of the time between two slowdowns, in lengths of a slowdown.
const PERIOD: u64 = 9;
/// RTTs of the current delay.
const FILTER: usize = 4;
/// Minutes of the base RTT.
const HISTORY: usize = 10;
const MINUTE: Span = Span::from_secs(60);

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "target",
    default: "0.06",
    allowed: Allowed::Range(0.001, 10.0),
    meaning: "Queueing delay in seconds above which the window shrinks (section 4.5)",
}];

/// RTTs of the recent past.
#[derive(Clone, Debug, Default)]
struct Delays {
    /// The last ones, in a ring.
    recent: [Option<Span>; FILTER],
    next: usize,
    /// Smallest RTTs of the last minutes, the running one first.
    minutes: [Option<Span>; HISTORY],
    began: Time,
}

impl Delays {
    fn take(&mut self, now: Time, rtt: Span) {
        self.recent[self.next] = Some(rtt);
        self.next = (self.next + 1) % FILTER;
        if self.minutes[0].is_none() {
            self.began = now;
        } else if now.since(self.began) >= MINUTE {
            self.minutes.rotate_right(1);
            self.minutes[0] = None;
            self.began = now;
        }
        let least = &mut self.minutes[0];
        *least = Some(least.map_or(rtt, |least| least.min(rtt)));
    }

    fn base(&self) -> Option<Span> {
        self.minutes.iter().flatten().min().copied()
    }

    fn current(&self) -> Option<Span> {
        self.recent.iter().flatten().min().copied()
    }

    /// Queueing delay in seconds.
    fn queueing(&self) -> f64 {
        let (Some(current), Some(base)) = (self.current(), self.base()) else { return 0.0 };
        current.saturating_sub(base).as_secs_f64()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first slow start.
    Start,
    /// Until the next slowdown.
    Normal { until: Time },
    /// Two segments, in a slowdown.
    Frozen { since: Time, until: Time },
    /// Back to the window before the slowdown.
    Return { since: Time },
}

/// LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    window: Window,
    /// Seconds.
    target: f64,
    delays: Delays,
    phase: Phase,
    /// Bytes that are not yet whole.
    rest: f64,
}

impl Listed for LedbatPlusPlus {
    const LISTED: &'static [Entry] = &[Entry {
        name: "ledbat-plus-plus",
        summary: "Background traffic: at most 60 ms of queue, and a pause of ten percent",
        source: "draft-irtf-iccrg-ledbat-plus-plus-06",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            target: values.number("target"),
            delays: Delays::default(),
            phase: Phase::Start,
            rest: 0.0,
        }
    }
}

impl LedbatPlusPlus {
    /// Section 4.2.
    fn gain(&self) -> f64 {
        let base = self.delays.base().map_or(0.0, Span::as_secs_f64);
        if base <= 0.0 {
            return 1.0 / LARGEST_DIVISOR;
        }
        1.0 / libm::ceil(2.0 * self.target / base).min(LARGEST_DIVISOR)
    }

    fn is_slowing_down(&self) -> bool {
        matches!(self.phase, Phase::Frozen { .. } | Phase::Return { .. })
    }

    fn rounds(srtt: Option<Span>) -> Span {
        Span::from_nanos(ROUNDS * srtt.unwrap_or(Span::ZERO).as_nanos())
    }

    /// Section 4.4.
    fn follow_schedule(&mut self, now: Time, srtt: Option<Span>) {
        let returned = !self.window.in_slow_start();
        match self.phase {
            Phase::Start if returned => {
                self.phase = Phase::Normal { until: now + Self::rounds(srtt) };
            }
            Phase::Normal { until } if returned && now >= until => {
                self.window.ssthresh = self.window.cwnd;
                self.window.cwnd = self.window.cwnd.min(LEAST * self.window.mss);
                self.phase = Phase::Frozen { since: now, until: now + Self::rounds(srtt) };
            }
            Phase::Frozen { since, until } if now >= until => self.phase = Phase::Return { since },
            Phase::Return { since } if returned => {
                let length = now.since(since).as_nanos();
                self.phase = Phase::Normal { until: now + Span::from_nanos(PERIOD * length) };
            }
            Phase::Start | Phase::Normal { .. } | Phase::Frozen { .. } | Phase::Return { .. } => {}
        }
    }

    /// Adds a number of bytes that may be negative or a fraction.
    fn add(&mut self, bytes: f64) {
        let least = LEAST * self.window.mss;
        let bytes = self.rest + bytes;
        self.rest = bytes - libm::trunc(bytes);
        let window = &mut self.window;
        if bytes < 0.0 {
            let left = window.cwnd.saturating_sub(whole(-bytes));
            window.cwnd = left.max(least.min(window.cwnd));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else {
            window.cwnd = window.cwnd.saturating_add(whole(bytes));
        }
    }

    /// The delay of the ACK may be that of the receiver, and the flow too small for ACKs without
    /// it.
    fn may_be_delayed(&self, ack: &Ack) -> bool {
        let mss = self.window.mss;
        ack.acked <= mss && self.window.cwnd < (LEAST + 1) * mss
    }

    /// Section 4.3: segments that a round trip adds.
    fn per_round_trip(&self) -> f64 {
        let over = self.delays.queueing() / self.target - 1.0;
        if over <= 0.0 {
            return self.gain();
        }
        let segments = self.window.cwnd as f64 / self.window.mss as f64;
        (self.gain() - segments * over).max(-LARGEST_DECREASE * segments)
    }
}

impl Controller for LedbatPlusPlus {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { round_trips: true, ..Needs::default() }
    }

    fn on_rtt(&mut self, now: Time, sample: Span) {
        self.delays.take(now, sample);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.phase == Phase::Start && self.delays.queueing() > SLOW_START_SHARE * self.target {
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
        self.follow_schedule(ack.now, ack.srtt);
        if matches!(self.phase, Phase::Frozen { .. }) {
            return;
        }
        if self.window.in_slow_start() {
            self.grow(ack);
        } else {
            self.avoid_congestion(ack);
        }
    }

    /// Section 4.1.
    fn slow_start(&mut self, ack: &Ack) {
        let counted = self.window.counted(ack.acked);
        self.add(self.gain() * counted as f64);
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        let change = if self.may_be_delayed(ack) { self.gain() } else { self.per_round_trip() };
        if change < 0.0 || ack.cwnd_limited {
            let share = ack.acked as f64 / self.window.cwnd as f64;
            self.add(change * self.window.mss as f64 * share.min(1.0));
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.is_slowing_down() {
            self.window.ssthresh = self.window.half(self.window.ssthresh);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        } else {
            standard::on_loss(self, loss);
        }
    }

    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.on_loss(loss);
        self.on_recovery_exit(loss.now);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        if !self.is_slowing_down() {
            standard::on_recovery_exit(self);
        }
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if self.is_slowing_down() {
            self.phase = Phase::Normal { until: loss.now };
        }
        standard::on_timeout(self, loss);
    }
}

impl TcpPolicy for LedbatPlusPlus {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender};

    type Background = Sender<LedbatPlusPlus>;

    /// In avoidance, with a smallest RTT that is known and no slowdown for a long time.
    fn sender(segments: u64, rtt: u64) -> Background {
        let mut sender = Background::avoiding(segments);
        sender.controller.delays = Delays::default();
        sender.controller.phase = Phase::Normal { until: Time::NEVER };
        sender.round(rtt);
        sender
    }

    /// Bytes that a round trip of `rtt` milliseconds adds to a path whose base RTT is 600 ms.
    fn change(rtt: u64) -> f64 {
        let mut sender = sender(100, 600);
        // The filter still has RTTs of before.
        for _ in 0..4 {
            sender.controller.on_rtt(sender.now, Span::from_millis(rtt));
        }
        sender.controller.per_round_trip()
    }

    #[test]
    fn the_gain_is_one_on_long_paths_and_a_sixteenth_on_short_ones() {
        let gain = |rtt| sender(10, rtt).controller.gain();
        assert_eq!([600, 120, 119, 40, 5].map(gain), [1.0, 1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 16.0]);
    }

    #[test]
    fn below_the_target_a_round_trip_adds_the_gain() {
        assert_eq!(change(600), 1.0);
        assert_eq!(change(660), 1.0);
        let mut sender = sender(100, 600);
        let before = sender.controller.window.cwnd;
        sender.round(600);
        assert!((sender.controller.window.cwnd - before).abs_diff(MSS) < 20);
    }

    #[test]
    fn above_the_target_it_takes_what_is_above() {
        // 6 ms are a tenth of the target: a tenth of 101 segments less one.
        assert!((change(666) + 9.1).abs() < 0.01, "{}", change(666));
    }

    #[test]
    fn a_round_trip_takes_no_more_than_half() {
        assert!((change(900) + 50.5).abs() < 0.01, "{}", change(900));
    }

    #[test]
    fn two_segments_stay() {
        let mut sender = sender(10, 100);
        for _ in 0..20 {
            sender.round_of(1000, 2);
        }
        assert_eq!(sender.cwnd(), 2);
    }

    #[test]
    fn a_decrease_does_not_lead_to_slow_start() {
        let mut sender = sender(100, 600);
        let mut windows = Vec::new();
        for _ in 0..4 {
            sender.round(666);
            assert!(!sender.controller.window.in_slow_start());
            windows.push(sender.cwnd());
        }
        assert!(windows.is_sorted_by(|before, after| after < before), "{windows:?}");
    }

    #[test]
    fn acks_of_one_segment_let_the_smallest_window_grow_to_three() {
        let mut sender = sender(2, 600);
        for _ in 0..20 {
            // A delayed ACK takes 200 ms.
            sender.round(800);
        }
        assert!((2..=3).contains(&sender.cwnd()), "{}", sender.cwnd());
        assert!(sender.controller.window.cwnd > 2 * MSS);
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let mut sender = Background::new(10);
        sender.controller.delays = Delays::default();
        sender.round(600);
        sender.round(645);
        assert!(sender.controller.window.in_slow_start());
        sender.round(646);
        assert!(!sender.controller.window.in_slow_start());
    }

    #[test]
    fn slow_start_on_a_short_path_grows_by_the_gain() {
        let mut sender = Background::new(12);
        sender.controller.delays = Delays::default();
        // ceil(120 / 40) = 3: a third of what is acknowledged.
        sender.round(40);
        assert!(sender.controller.window.cwnd.abs_diff(16 * MSS) <= 1);
    }

    #[test]
    fn a_slowdown_is_two_segments_for_two_round_trips_and_then_slow_start() {
        let mut sender = sender(64, 600);
        sender.controller.phase = Phase::Normal { until: sender.now };
        let mut windows = Vec::new();
        for _ in 0..9 {
            sender.round(600);
            windows.push(sender.cwnd());
        }
        assert_eq!(windows[..2], [2, 2], "{windows:?}");
        let back = windows.iter().position(|cwnd| *cwnd >= 65).unwrap();
        assert!((5..=8).contains(&back), "{windows:?}");
    }

    #[test]
    fn slowdowns_take_a_tenth_of_the_time() {
        let mut sender = sender(64, 600);
        sender.controller.phase = Phase::Normal { until: sender.now };
        let (mut slow, rounds) = (0, 600);
        for _ in 0..rounds {
            sender.round(600);
            slow += u32::from(sender.controller.is_slowing_down());
        }
        let share = f64::from(slow) / f64::from(rounds);
        assert!((0.07..0.12).contains(&share), "{share}");
    }

    #[test]
    fn the_first_slowdown_comes_two_round_trips_after_slow_start() {
        let mut sender = Background::new(10);
        sender.controller.on_loss(&loss(10 * MSS));
        sender.controller.on_recovery_exit(sender.now);
        let slow: Vec<_> = (0..5)
            .map(|_| {
                sender.round(600);
                sender.controller.is_slowing_down()
            })
            .collect();
        assert_eq!(slow, [false, false, true, true, true]);
    }

    #[test]
    fn a_loss_in_a_slowdown_halves_the_window_that_it_returns_to() {
        let mut sender = sender(64, 600);
        sender.controller.phase = Phase::Normal { until: sender.now };
        sender.round(600);
        let returned_to = sender.controller.window.ssthresh;
        sender.controller.on_loss(&loss(2 * MSS));
        sender.controller.on_recovery_exit(sender.now);
        let Window { cwnd, ssthresh, .. } = sender.controller.window;
        assert_eq!((cwnd, ssthresh), (2 * MSS, returned_to / 2));
    }

    #[test]
    fn the_base_rtt_is_forgotten_after_ten_minutes() {
        let mut delays = Delays::default();
        let at = |minutes: u64| Time::ZERO + Span::from_secs(60 * minutes);
        delays.take(at(0), Span::from_millis(100));
        for minute in 1..10 {
            delays.take(at(minute), Span::from_millis(200));
        }
        assert_eq!(delays.base(), Some(Span::from_millis(100)));
        delays.take(at(10), Span::from_millis(200));
        assert_eq!(delays.base(), Some(Span::from_millis(200)));
    }
}
