//! Monitor intervals of PCC: a sender tries a rate for about a round trip and learns from what
//! became of it.
//!
//! Source: the modules for Linux of PCCproject/PCC-Kernel (`src/tcp_pcc.c`, branches `master` and
//! `vivace`), restated.
//!
//! - An interval is sent until a least number of packets has left and one of them is counted, which
//!   means acknowledged or lost. Its verdict comes when all but its last few packets are counted.
//!   The first few do not count.
//! - One interval is sent at a time, or four for one decision: two pairs of a higher and a lower
//!   rate, each in random order. In between the rate is that which was decided.
//! - cwnd is twice what the rate sends in a smoothed RTT, at least four segments.
//! - After a retransmission timeout nothing is learnt until all that was outstanding is
//!   acknowledged.
//!
//! Decisions:
//! - Packets are full segments: counts are bytes.
//! - Real numbers take the place of thousandths.
//! - The random order follows from the time and what was delivered, so that a run can be repeated.
//! - A window that the sender does not fill gives no verdict about a higher rate: the modules have
//!   no such rule, and neither has this.

use std::fmt::Debug;

use units::{Span, Time};

use super::delivery_model::draw;
use crate::controller::Controller;
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// Intervals of one decision.
pub(crate) const INTERVALS: usize = 4;
/// Least rate in bytes per second.
const LEAST_RATE: f64 = 1024.0;
/// Rate at the start in bytes per second.
pub(crate) const FIRST_RATE: f64 = 512.0 * 1024.0;
const LEAST_SEGMENTS: u64 = 4;
/// RTT before there is a sample.
const UNKNOWN_RTT: Span = Span::from_millis(1);

/// One interval. Amounts are in bytes, rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) rate: f64,
    pub(crate) utility: f64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// When its first and last packets were sent, and counted.
    pub(crate) sending: [Time; 2],
    pub(crate) counting: [Time; 2],
    /// The smoothed RTT at the first and the last of them.
    pub(crate) rtt: [Span; 2],
    /// Bytes sent before it; `None` while it has not begun.
    pub(crate) base: Option<u64>,
    /// Bytes sent up to its end.
    pub(crate) end: Option<u64>,
}

impl Interval {
    const UNSENT: Self = Self {
        rate: 0.0,
        utility: f64::NEG_INFINITY,
        delivered: 0,
        lost: 0,
        sending: [Time::ZERO; 2],
        counting: [Time::ZERO; 2],
        rtt: [Span::ZERO; 2],
        base: None,
        end: None,
    };

    /// A complete one for tests: bytes delivered and lost, when it was sent and counted, and the
    /// RTT at its end, which was 100 ms at its start.
    #[cfg(test)]
    pub(crate) fn of(
        rate: f64,
        (delivered, lost): (u64, u64),
        times: [Time; 2],
        rtt: Span,
    ) -> Self {
        let rtt = [Span::from_millis(100), rtt];
        Self { rate, delivered, lost, sending: times, counting: times, rtt, ..Self::UNSENT }
    }

    /// The lost share of what was counted; `None` if nothing was.
    pub(crate) fn loss(&self) -> Option<f64> {
        let all = self.delivered + self.lost;
        (all > 0).then(|| self.lost as f64 / all as f64)
    }
}

/// Circumstances of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) mss: f64,
    /// Smoothed RTT in seconds.
    pub(crate) rtt: f64,
}

/// The rates of the next intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trial {
    /// One interval at this rate.
    One(f64),
    /// Two pairs at this much above and below the rate, as a share of it.
    Pairs(f64),
}

/// An algorithm that learns from intervals.
pub trait Learner: Clone + Debug + Send + Sync {
    /// Packets that an interval of a pair has at least.
    const PACKETS: u64;
    /// Packets at each end that do not count.
    const IGNORED: u64;

    /// Packets that the present interval has at least.
    fn packets(&self) -> u64 {
        Self::PACKETS
    }

    /// The rate that was decided, in bytes per second.
    fn rate(&self) -> f64;

    /// Returns true if four intervals belong to the present decision.
    fn has_pairs(&self) -> bool;

    /// Decides by the intervals that are complete.
    #[expect(private_interfaces, reason = "only controllers of this crate implement it")]
    fn learn(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial;

    /// A timeout is over.
    #[expect(private_interfaces, reason = "only controllers of this crate implement it")]
    fn begin_again(&mut self) -> Trial;
}

/// A controller that learns from intervals.
#[derive(Clone, Debug)]
pub struct MonitorIntervals<L> {
    window: Window,
    learner: L,
    intervals: [Interval; INTERVALS],
    /// Number of the interval that is being sent, and of the one that is being counted.
    sending: usize,
    counting: usize,
    /// No interval is being sent.
    is_waiting: bool,
    pacing: f64,
    srtt: Option<Span>,
    /// Bytes sent, delivered and lost over the connection.
    sent: u64,
    delivered: u64,
    lost: u64,
    /// Bytes that were counted twice, or never sent, in timeouts.
    spare: i64,
    counted: i64,
    /// Counters at the last ACK.
    before: (u64, u64),
    in_timeout: bool,
}

impl<L: Learner> MonitorIntervals<L> {
    pub(crate) fn new(settings: &Settings, learner: L, trial: Trial) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        let mut controller = Self {
            window,
            learner,
            intervals: [Interval::UNSENT; INTERVALS],
            sending: 0,
            counting: 0,
            is_waiting: false,
            pacing: FIRST_RATE,
            srtt: None,
            sent: 0,
            delivered: 0,
            lost: 0,
            spare: 0,
            counted: 0,
            before: (0, 0),
            in_timeout: false,
        };
        controller.set_up(Time::ZERO, trial);
        controller.pacing = controller.intervals[0].rate;
        controller.intervals[0].base = Some(0);
        controller
    }

    #[cfg(test)]
    pub(crate) fn learner(&self) -> &L {
        &self.learner
    }

    fn set_up(&mut self, now: Time, trial: Trial) {
        match trial {
            Trial::One(rate) => {
                self.intervals[0].rate = rate;
                self.intervals[0].base = None;
            }
            Trial::Pairs(share) => {
                let rate = self.learner.rate();
                let (high, low) = (rate * (1.0 + share), rate * (1.0 - share));
                let drawn = draw(now, self.delivered);
                // Two of its bits, one for each pair.
                let first = [drawn < 0.5, whole(4.0 * drawn).is_multiple_of(2)];
                for (pair, rises) in self.intervals.chunks_exact_mut(2).zip(first) {
                    let rates = if rises { [high, low] } else { [low, high] };
                    for (interval, rate) in pair.iter_mut().zip(rates) {
                        interval.rate = rate;
                        interval.base = None;
                    }
                }
            }
        }
        self.sending = 0;
        self.counting = 0;
        self.is_waiting = false;
    }

    /// The next interval begins to be sent, or the time between two decisions.
    fn begin(&mut self, now: Time) {
        let mut rate = self.learner.rate();
        if !self.is_waiting {
            let interval = &mut self.intervals[self.sending];
            rate = interval.rate;
            *interval = Interval {
                rate,
                utility: interval.utility,
                sending: [now; 2],
                base: Some(self.sent),
                ..Interval::UNSENT
            };
        }
        self.pacing = rate.max(LEAST_RATE);
        self.set_cwnd();
    }

    fn set_cwnd(&mut self) {
        // Before the first RTT the initial window bounds the sender.
        let Some(srtt) = self.srtt else { return };
        let cwnd = 2.0 * self.pacing * srtt.as_secs_f64();
        self.window.cwnd = whole(cwnd).max(LEAST_SEGMENTS * self.window.mss);
    }

    /// Bytes as the counters have them, which a timeout may leave negative.
    fn signed(bytes: u64) -> i64 {
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    fn end_sending(&mut self, now: Time) {
        if self.is_waiting {
            return;
        }
        let interval = &mut self.intervals[self.sending];
        let Some(base) = interval.base else { return };
        let is_counted = self.counted > Self::signed(base);
        if self.sent - base < self.learner.packets() * self.window.mss || !is_counted {
            return;
        }
        interval.end = Some(self.sent);
        interval.sending[1] = now;
        self.sending += 1;
        self.is_waiting = self.sending == INTERVALS || !self.learner.has_pairs();
        self.begin(now);
    }

    fn count(&mut self, now: Time) {
        let ignored = Self::signed(L::IGNORED * self.window.mss);
        let before = std::mem::replace(
            &mut self.counted,
            Self::signed(self.delivered) + Self::signed(self.lost) - self.spare,
        );
        let (delivered, lost) = (self.delivered - self.before.0, self.lost - self.before.1);
        let srtt = self.srtt.unwrap_or(UNKNOWN_RTT);
        let Some(interval) = self.intervals.get_mut(self.counting) else { return };
        let Some(base) = interval.base else { return };
        if before > ignored + Self::signed(base) {
            interval.counting[1] = now;
            interval.rtt[1] = srtt;
            if interval.lost + interval.delivered == 0 {
                interval.counting[0] = now;
                interval.rtt[0] = srtt;
            }
            interval.lost += lost;
            interval.delivered += delivered;
        }
        let is_complete =
            interval.end.is_some_and(|end| Self::signed(end) - ignored < self.counted);
        if !is_complete {
            return;
        }
        self.counting += 1;
        if self.learner.has_pairs() && self.counting < INTERVALS {
            return;
        }
        let path = Path { mss: self.window.mss as f64, rtt: srtt.as_secs_f64() };
        let trial = self.learner.learn(&mut self.intervals, &path);
        self.set_up(now, trial);
        self.begin(now);
    }

    fn end_timeout(&mut self, now: Time, pipe: u64) {
        self.in_timeout = false;
        let known = self.delivered + self.lost + pipe;
        self.spare = Self::signed(known) - Self::signed(self.sent);
        let trial = self.learner.begin_again();
        self.set_up(now, trial);
        self.begin(now);
    }
}

impl<L: Learner> Controller for MonitorIntervals<L> {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs {
            feedback: true,
            records: true,
            pacing: true,
            own_recovery: true,
            ..Needs::default()
        }
    }

    fn on_rtt(&mut self, _now: Time, sample: Span) {
        self.srtt.get_or_insert(sample);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.sent += sent.bytes;
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += lost.bytes;
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        self.srtt = feedback.srtt.or(self.srtt);
        self.delivered += feedback.acked + feedback.sacked;
        self.set_cwnd();
        if self.in_timeout {
            if !feedback.recovering {
                self.end_timeout(now, feedback.pipe);
            }
        } else {
            self.end_sending(now);
            self.count(now);
        }
        self.before = (self.delivered, self.lost);
    }

    /// The feedback has moved the window already.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_congestion_mark(&mut self, _loss: &Loss) {}

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: Time) {}

    /// The rate goes on, and what is learnt begins again after it.
    fn on_timeout(&mut self, loss: &Loss) {
        self.in_timeout = true;
        self.is_waiting = true;
        self.begin(loss.now);
    }

    /// The rate bounds what follows a pause.
    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing)
    }
}

impl<L: Learner> TcpPolicy for MonitorIntervals<L> {}

/// The result of two pairs: `Some` with the number of the better interval of each pair if both
/// pairs prefer the same rate.
pub(crate) fn agreed(intervals: &[Interval; INTERVALS]) -> Option<[usize; 2]> {
    let better = |first: usize| {
        let rises = intervals[first].utility > intervals[first + 1].utility;
        first + usize::from(!rises)
    };
    let chosen = [better(0), better(2)];
    let [first, second] = chosen.map(|number| intervals[number].rate);
    (first == second).then_some(chosen)
}
