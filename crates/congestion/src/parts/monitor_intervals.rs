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
//! - cwnd is twice the whole segments that the rate sends in a smoothed RTT, at least four.
//! - Numbers are whole as in the modules, and each quotient is cut: rates and utilities in bytes
//!   per second, times in microseconds, shares in thousandths or finer.
//! - The first interval begins with the connection: with the RTT of the handshake, or else with the
//!   first packet.
//! - After a retransmission timeout nothing is learnt until all that was outstanding is
//!   acknowledged.
//!
//! Decisions:
//! - Packets are full segments: counts are bytes.
//! - A rate is at most 2^32 - 1 bytes per second, from where on the modules' numbers wrap around.
//! - Before the first ACK the initial window bounds the sender. The modules set cwnd by their first
//!   rate and the RTT of the handshake at once.
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
const LEAST_RATE: i64 = 1024;
/// Rate at the start in bytes per second.
pub(crate) const FIRST_RATE: i64 = 512 * 1024;
/// Largest rate in bytes per second.
pub(crate) const MOST_RATE: i64 = u32::MAX as i64;
const LEAST_SEGMENTS: i64 = 4;
pub(crate) const MICROSECONDS: i64 = 1_000_000;
/// Parts of a whole in which changes of rates are given.
const HUNDRED: i64 = 100;
/// RTT before there is a sample.
const UNKNOWN_RTT: Span = Span::from_millis(1);

/// `of` times `numerator / denominator`, cut towards zero as C divides.
pub(crate) fn share(of: i64, numerator: i64, denominator: i64) -> i64 {
    let whole = i128::from(of) * i128::from(numerator) / i128::from(denominator);
    i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
}

/// Whole microseconds of a time span.
pub(crate) fn microseconds(span: Span) -> i64 {
    signed(span.as_nanos() / 1000)
}

/// Bytes as the counters have them, which a timeout may leave negative.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// One interval. Amounts are in bytes, rates and utilities in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) rate: i64,
    pub(crate) utility: i64,
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
        rate: 0,
        utility: i64::MIN,
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
        rate: i64,
        (delivered, lost): (u64, u64),
        times: [Time; 2],
        rtt: Span,
    ) -> Self {
        let rtt = [Span::from_millis(100), rtt];
        Self { rate, delivered, lost, sending: times, counting: times, rtt, ..Self::UNSENT }
    }

    /// The lost share of what was counted, in parts of `whole`; `None` if nothing was.
    pub(crate) fn loss(&self, whole: i64) -> Option<i64> {
        let all = self.delivered + self.lost;
        (all > 0).then(|| share(whole, signed(self.lost), signed(all)))
    }
}

/// Circumstances of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) mss: i64,
    /// Smoothed RTT in microseconds, at least 1.
    pub(crate) rtt: i64,
}

/// The rates of the next intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// One interval at this rate.
    One(i64),
    /// Two pairs at this many hundredths of the rate above and below it.
    Pairs(i64),
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
    fn rate(&self) -> i64;

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
    /// Bytes per second.
    pacing: i64,
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
        controller.intervals[0].base = Some(controller.window.mss);
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
            Trial::Pairs(hundredths) => {
                let rate = self.learner.rate();
                let [high, low] =
                    [HUNDRED + hundredths, HUNDRED - hundredths].map(|of| share(rate, of, HUNDRED));
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
                // The first packet does not belong to it, as in the modules.
                base: Some(self.sent.max(self.window.mss)),
                ..Interval::UNSENT
            };
        }
        self.pacing = rate.clamp(LEAST_RATE, MOST_RATE);
        self.set_cwnd();
    }

    fn set_cwnd(&mut self) {
        // Before the first RTT the initial window bounds the sender.
        let Some(srtt) = self.srtt else { return };
        let bytes = share(self.pacing, microseconds(srtt).max(1), MICROSECONDS);
        let segments = (2 * (bytes / signed(self.window.mss))).max(LEAST_SEGMENTS);
        self.window.cwnd = segments.unsigned_abs() * self.window.mss;
    }

    fn end_sending(&mut self, now: Time) {
        if self.is_waiting {
            return;
        }
        let interval = &mut self.intervals[self.sending];
        let Some(base) = interval.base else { return };
        let is_counted = self.counted > signed(base);
        if self.sent.saturating_sub(base) < self.learner.packets() * self.window.mss || !is_counted
        {
            return;
        }
        interval.end = Some(self.sent);
        interval.sending[1] = now;
        self.sending += 1;
        self.is_waiting = self.sending == INTERVALS || !self.learner.has_pairs();
        self.begin(now);
    }

    fn count(&mut self, now: Time) {
        let ignored = signed(L::IGNORED * self.window.mss);
        let before = std::mem::replace(
            &mut self.counted,
            signed(self.delivered) + signed(self.lost) - self.spare,
        );
        let (delivered, lost) = (self.delivered - self.before.0, self.lost - self.before.1);
        let srtt = self.srtt.unwrap_or(UNKNOWN_RTT);
        let Some(interval) = self.intervals.get_mut(self.counting) else { return };
        let Some(base) = interval.base else { return };
        if before > ignored + signed(base) {
            interval.counting[1] = now;
            interval.rtt[1] = srtt;
            if interval.lost + interval.delivered == 0 {
                interval.counting[0] = now;
                interval.rtt[0] = srtt;
            }
            interval.lost += lost;
            interval.delivered += delivered;
        }
        let is_complete = interval.end.is_some_and(|end| signed(end) - ignored < self.counted);
        if !is_complete {
            return;
        }
        self.counting += 1;
        if self.learner.has_pairs() && self.counting < INTERVALS {
            return;
        }
        let path = Path { mss: signed(self.window.mss), rtt: microseconds(srtt).max(1) };
        let trial = self.learner.learn(&mut self.intervals, &path);
        self.set_up(now, trial);
        self.begin(now);
    }

    fn end_timeout(&mut self, now: Time, pipe: u64) {
        self.in_timeout = false;
        let known = self.delivered + self.lost + pipe;
        self.spare = signed(known) - signed(self.sent);
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

    fn on_rtt(&mut self, now: Time, sample: Span) {
        if self.srtt.is_none() && self.sent == 0 {
            self.intervals[0].sending = [now; 2];
        }
        self.srtt.get_or_insert(sample);
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.srtt.is_none() && self.sent == 0 {
            self.intervals[0].sending = [sent.now; 2];
        }
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
        Some(self.pacing as f64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::vivace::Vivace;
    use crate::entry::Listed as _;
    use crate::parameters::Values;
    use crate::parts::test_path::settings;

    fn vivace() -> Vivace {
        Vivace::build(&settings(), &Values::defaults(&[]))
    }

    /// A flow that starts late measures its first interval from then on.
    #[test]
    fn the_first_interval_begins_with_the_connection() {
        let (start, later) = (Time::ZERO + Span::from_secs(5), Time::ZERO + Span::from_secs(6));
        let sent = Sent { now: later, bytes: 1000, again: false, sent: 1000, pipe_before: 0 };
        let mut controller = vivace();
        controller.on_rtt(start, Span::from_millis(50));
        controller.on_sent(&sent);
        assert_eq!(controller.intervals[0].sending, [start; 2]);
        let mut unmeasured = vivace();
        unmeasured.on_sent(&sent);
        unmeasured.on_rtt(later + Span::from_millis(50), Span::from_millis(50));
        assert_eq!(unmeasured.intervals[0].sending, [later; 2]);
    }

    /// 2 MB/s are 1369 whole segments of 1460 bytes per second, and 136 in 100 ms.
    #[test]
    fn cwnd_is_twice_the_whole_segments_of_an_rtt() {
        let mut controller =
            MonitorIntervals { pacing: 2_000_000, srtt: Some(Span::from_millis(100)), ..vivace() };
        controller.window.mss = 1460;
        controller.set_cwnd();
        assert_eq!(controller.window.cwnd, 2 * 136 * 1460);
        controller.pacing = LEAST_RATE;
        controller.set_cwnd();
        assert_eq!(controller.window.cwnd, 4 * 1460);
    }

    #[test]
    fn quotients_are_cut_towards_zero_and_do_not_overflow() {
        assert_eq!([share(7, 1, 2), share(-7, 1, 2), share(7, -1, 2)], [3, -3, -3]);
        assert_eq!(share(i64::MAX, 4, 1), i64::MAX);
        assert_eq!(share(i64::MAX, -4, 1), i64::MIN);
    }
}
