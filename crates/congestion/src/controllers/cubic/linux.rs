//! CUBIC of Linux.
//!
//! Source: `net/ipv4/tcp_cubic.c` of Linux 6.12. It differs from RFC 9438:
//! - windows are whole segments, and cwnd is reduced, to 717/1024, and not the flight size,
//! - the target looks ahead by the smallest RTT and not the smoothed one; where it is not above
//!   cwnd, the window still grows, by a hundredth of a segment in a round trip,
//! - before the first loss the window grows by 5 % or more in a round trip,
//! - W_est always grows with the slope of `alpha_cubic`,
//! - a stage goes on after a pause, which does not count,
//! - a timeout forgets W_max and the smallest RTT,
//! - the end of a spurious reduction restores the windows and not W_max,
//! - slow start is HyStart, with 1 ms for what the receiver's interface holds back.
//!
//! Not followed: the kernel's cube root comes from a table and one step of Newton's method. Here it
//! is exact, and K differs by 5 ms on average. With the kernel's root the windows are the same in
//! each step of the replay. The millisecond is the kernel's upper bound, which it takes below 262
//! MB/s.

use units::Span;

use crate::entry::Entry;
use crate::events::Feedback;
use crate::parameters::{Parameter, Values};
use crate::parts::linux::{
    self, Growth, HZ, LINUX, LinuxController, Operations, Sample, Socket, State, ticks,
};
use crate::parts::picoquic::VARIANT;
use crate::parts::slow_start::SlowStart;
use crate::window::whole;

use super::{C, RENO_FRIENDLY, SHARE_OF_K};

/// 1024 times `beta_cubic`.
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// Number of fractional bits of a second on the curve.
const TIME_SHIFT: u64 = 10;
/// 8 times the segments acknowledged for one more of W_est, over cwnd.
const FRIENDLY: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// Segments acknowledged for one more: at least, and at most before the first loss.
const FASTEST: u64 = 2;
const SLOWEST_AT_FIRST: u64 = 20;
const SLOWEST: u64 = 100;
/// Longest time for which the receiver's interface holds ACKs back.
const ACK_DELAY: Span = Span::from_millis(1);

/// Its rules.
#[derive(Clone, Debug)]
pub struct Cubic {
    slow_start: SlowStart,
    curve: Curve,
    constants: Constants,
}

/// The parameters of the module.
#[derive(Clone, Copy, Debug)]
struct Constants {
    /// 1024 times C in segments per second cubed: 10 times `bic_scale`.
    c: u64,
    /// The window is at least that of Reno (`tcp_friendliness`).
    friendly: bool,
    /// A hand-over is near, so that a stage that begins has a ninth of its K, and a timeout does
    /// not reset the curve: SaTCP, which is a change of this controller, sets it.
    hurries: bool,
}

impl Cubic {
    /// A hand-over is near, or it is over.
    pub(in crate::controllers) fn set_near_hand_over(&mut self, is_near: bool) {
        self.constants.hurries = is_near;
    }
}

impl Default for Constants {
    fn default() -> Self {
        Self { c: 410, friendly: true, hurries: false }
    }
}

/// CUBIC of Linux.
pub type LinuxCubic = LinuxController<Cubic>;

/// State that a timeout clears.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// Segments acknowledged for one more.
    per_segment: u64,
    /// W_max; zero when there was no loss, or a timeout since.
    w_max: u64,
    /// cwnd and the tick when the curve was last computed.
    computed: (u64, u64),
    /// Its window where it stands still.
    origin: u64,
    /// K in 1024ths of a second.
    k: u64,
    /// Smallest RTT in microseconds.
    min_rtt: Option<u64>,
    /// The tick at which the stage began.
    began: Option<u64>,
    /// Segments acknowledged since W_est has grown.
    acked: u64,
    w_est: u64,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            slow_start: SlowStart::hystart_with(ACK_DELAY),
            curve: Curve::default(),
            constants: Constants::default(),
        }
    }
}

fn cube_root(cube: u64) -> u64 {
    whole(libm::cbrt(cube as f64))
}

impl Curve {
    fn update(&mut self, cwnd: u64, acked: u64, now: u64, constants: Constants) {
        self.acked += acked;
        let (last, at) = self.computed;
        if last == cwnd && now - at <= HZ / 32 {
            return;
        }
        // The curve is computed once in a tick.
        if self.began.is_none() || now != at {
            self.computed = (cwnd, now);
            self.compute(cwnd, acked, now, constants);
        }
        if constants.friendly {
            self.be_friendly(cwnd);
        }
        self.per_segment = self.per_segment.max(FASTEST);
    }

    fn compute(&mut self, cwnd: u64, acked: u64, now: u64, constants: Constants) {
        let Constants { c, hurries, .. } = constants;
        let began = *self.began.get_or_insert_with(|| {
            self.acked = acked;
            self.w_est = cwnd;
            self.origin = self.w_max.max(cwnd);
            let cube = ((1 << (10 + 3 * TIME_SHIFT)) / c) * (self.origin - cwnd);
            self.k = cube_root(cube);
            if hurries {
                self.k -= self.k * (SHARE_OF_K - 1) / SHARE_OF_K;
            }
            now
        });
        let ahead = ticks(self.min_rtt.unwrap_or(0));
        let t = ((now - began + ahead) << TIME_SHIFT) / HZ;
        let distance = u128::from(t.abs_diff(self.k));
        let cube = u128::from(c) * distance * distance * distance;
        let difference = u64::try_from(cube >> (10 + 3 * TIME_SHIFT)).unwrap_or(u64::MAX);
        let target = if t < self.k {
            self.origin.saturating_sub(difference)
        } else {
            self.origin.saturating_add(difference)
        };
        self.per_segment = if target > cwnd { cwnd / (target - cwnd) } else { SLOWEST * cwnd };
        if self.w_max == 0 {
            self.per_segment = self.per_segment.min(SLOWEST_AT_FIRST);
        }
    }

    /// W_est, and a pace that reaches it.
    fn be_friendly(&mut self, cwnd: u64) {
        let per_segment = (cwnd * FRIENDLY) >> 3;
        if self.acked > per_segment {
            let segments = (self.acked - 1) / per_segment;
            self.acked -= segments * per_segment;
            self.w_est += segments;
        }
        if self.w_est > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.w_est - cwnd));
        }
    }
}

impl Operations for Cubic {
    const LISTED: &'static [Entry] = &[Entry {
        parameters: &[Parameter { default: LINUX, ..VARIANT }, C, RENO_FRIENDLY],
        ..linux::variant_of(
            "cubic",
            "CUBIC of Linux: looks ahead by the smallest RTT, grows by 5 % or more before the first loss, HyStart",
            "RFC 9438",
            "Linux 6.12, net/ipv4/tcp_cubic.c",
        )
    }];

    fn configured(values: &Values) -> Self {
        let c = whole((values.number(C.name) * SCALE as f64).round()).max(1);
        let friendly = values.word(RENO_FRIENDLY.name) == "on";
        let constants = Constants { c, friendly, ..Constants::default() };
        Self { constants, ..Self::default() }
    }

    fn ssthresh(&mut self, socket: &Socket) -> u64 {
        let cwnd = socket.cwnd();
        let w_max = &mut self.curve.w_max;
        *w_max = if cwnd < *w_max { cwnd * (SCALE + BETA) / (2 * SCALE) } else { cwnd };
        self.curve.began = None;
        (cwnd * BETA / SCALE).max(2)
    }

    fn grow(&mut self, socket: &mut Socket, growth: Growth) {
        if !growth.limited {
            return;
        }
        if let Some(acked) = socket.start_slowly(growth.acked) {
            self.curve.update(socket.cwnd(), acked, socket.jiffies(), self.constants);
            socket.add_one_per(self.curve.per_segment, acked);
        }
    }

    /// In the first second of a stage RTTs still show the queue of before.
    fn on_sample(&mut self, socket: &mut Socket, sample: Sample, feedback: &Feedback) {
        let Some(rtt) = sample.rtt else { return };
        if self.curve.began.is_some_and(|began| socket.jiffies().saturating_sub(began) < HZ) {
            return;
        }
        let rtt = rtt.max(1);
        self.curve.min_rtt = Some(self.curve.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.slow_start.on_feedback(feedback, socket.window_mut());
    }

    fn on_state(&mut self, socket: &Socket) {
        if socket.state == State::Loss && !self.constants.hurries {
            let slow_start = SlowStart::hystart_from(ACK_DELAY, socket.now, socket.sent);
            *self = Self { slow_start, curve: Curve::default(), constants: self.constants };
        }
    }

    fn on_start(&mut self, socket: &Socket, pause: u64) {
        self.curve.began = self.curve.began.map(|began| (began + pause).min(socket.jiffies()));
    }
}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;
    use crate::parts::linux::samples::socket;

    /// `cubictcp_cwnd_event`: a pause shifts the beginning of the stage, up to now at most.
    #[test]
    fn a_pause_does_not_count_for_the_curve() {
        let mut socket = socket(100);
        socket.now = Time::ZERO + Span::from_secs(10);
        for (began, pause, left) in [(HZ, 4 * HZ, 5 * HZ), (9 * HZ, 4 * HZ, 10 * HZ)] {
            let mut cubic = Cubic::default();
            cubic.curve.began = Some(began);
            cubic.on_start(&socket, pause);
            assert_eq!(cubic.curve.began, Some(left));
        }
    }

    /// The curve is computed again after a thirty-second of a second, or when the window has
    /// changed.
    #[test]
    fn an_unchanged_window_keeps_its_pace_for_eight_ticks() {
        let mut curve = Curve::default();
        curve.update(100, 1, 1000, Constants::default());
        for (now, computed) in [(1001, 1000), (1007, 1000), (1008, 1008), (1009, 1008)] {
            curve.update(100, 1, now, Constants::default());
            assert_eq!(curve.computed, (100, computed), "{now}");
        }
        curve.update(101, 1, 1010, Constants::default());
        assert_eq!(curve.computed, (101, 1010));
    }
}
