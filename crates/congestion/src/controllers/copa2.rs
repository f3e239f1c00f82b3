//! Copa2: the window is what was delivered in a cycle of two round trips, and ten packets.
//!
//! Source: mvfst (`quic/congestion_control/Copa2.cpp` and `.h`), restated; no paper describes it.
//!
//! - A cycle lasts the smallest RTT of ten seconds and D. D is that RTT too, and in the lossy mode
//!   a tenth of it. At its end cwnd is what was acknowledged in it, and ten segments. It does not
//!   fall if the application has limited the sender in the cycle.
//! - Pacing: cwnd in the smallest RTT.
//! - Every 8 s a probe of the RTT lasts for D, every 4 s while the RTT is below the smallest and D.
//!   A cycle that ends in it leaves two segments, for the next cycle.
//! - Lossy mode: decided when at least 40 packets or 2 losses are counted, and one is acknowledged
//!   or lost that was sent after the count began. It is on if 5 % or more were lost.
//! - A timeout leaves two segments. Other losses are ignored.
//!
//! The probe is shorter than a cycle, so about half of all probes fall between two ends of cycles
//! and change nothing. We follow the source in this.
//!
//! Decisions:
//! - A segment counts as a packet. The count of a loss without a send time, which turns the lossy
//!   mode on in mvfst, does not occur.
//! - Until the first cycle ends nothing is paced, as in mvfst.
//! - Marks of congestion are ignored, as losses are.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::recent::{Extreme, Recent};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

const MIN_RTT_TIME: Span = Span::from_secs(10);
const LEAST_SEGMENTS: u64 = 2;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        default: "10",
        allowed: Allowed::Whole(1, 10_000),
        meaning: "Segments beyond what was delivered in a cycle (alphaParam_)",
    },
    Parameter {
        name: "loss_tolerance",
        default: "0.05",
        allowed: Allowed::Range(0.001, 0.5),
        meaning: "Share of lost packets from which on the mode is lossy; half of D in it, as a part \
                  of the smallest RTT (lossToleranceParam_)",
    },
    Parameter {
        name: "probe_rtt_interval",
        default: "8",
        allowed: Allowed::Range(0.1, 1e6),
        meaning: "Seconds between two probes of the RTT; half of them while the RTT is below the \
                  smallest and D (kCopa2ProbeRttInterval)",
    },
];

/// Counts for the lossy mode, in bytes.
#[derive(Clone, Copy, Debug)]
struct Losses {
    since: Time,
    acked: u64,
    lost: u64,
    is_lossy: bool,
}

/// Copa2.
#[derive(Clone, Debug)]
pub struct Copa2 {
    window: Window,
    alpha: u64,
    tolerance: f64,
    interval: Span,
    min_rtt: Recent,
    latest: Option<Span>,
    losses: Losses,
    /// The latest send time of the segments found to be lost since the last ACK.
    lost_sent_at: Option<Time>,
    /// Start of the cycle, bytes acknowledged in it, and whether the application limited it.
    cycle: Option<Time>,
    acked: u64,
    app_limited: bool,
    is_probing: bool,
    /// When the last probe began; the first event of the connection before there is one.
    probed_at: Option<Time>,
    pacing: Option<f64>,
}

impl Listed for Copa2 {
    const LISTED: &'static [Entry] = &[Entry {
        name: "copa2",
        summary: "Window of what was delivered in a cycle of two round trips, and ten packets",
        source: "mvfst, Copa2.cpp",
        status: Status::Implementation("mvfst 448ba91, quic/congestion_control/Copa2.cpp"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        Self {
            window,
            alpha: u64::from(values.whole("alpha")),
            tolerance: values.number("loss_tolerance"),
            interval: Span::from_secs_f64(values.number("probe_rtt_interval")),
            min_rtt: Recent::of(Extreme::Smallest),
            latest: None,
            losses: Losses { since: Time::ZERO, acked: 0, lost: 0, is_lossy: false },
            lost_sent_at: None,
            cycle: None,
            acked: 0,
            app_limited: false,
            is_probing: false,
            probed_at: None,
            pacing: None,
        }
    }
}

impl Copa2 {
    fn least_cwnd(&self) -> u64 {
        LEAST_SEGMENTS * self.window.mss
    }

    /// A segment that was sent at `sent_at` is acknowledged or lost (`manageLossyMode`).
    fn judge_losses(&mut self, now: Time, sent_at: Time) {
        let Losses { since, acked, lost, .. } = self.losses;
        let mss = self.window.mss as f64;
        let [packets, lost_packets] = [acked + lost, lost].map(|bytes| bytes as f64 / mss);
        let is_enough = packets >= 2.0 / self.tolerance || lost_packets >= 2.0;
        if sent_at >= since && is_enough {
            let is_lossy = lost_packets >= packets * self.tolerance;
            self.losses = Losses { since: now, acked: 0, lost: 0, is_lossy };
        }
    }

    /// D.
    fn standing_time(&self, min_rtt: Span) -> Span {
        if !self.losses.is_lossy {
            return min_rtt;
        }
        Span::from_secs_f64(2.0 * self.tolerance * min_rtt.as_secs_f64())
    }

    fn probe_rtt(&mut self, now: Time, rtt: Span, limit: Span, standing: Span) {
        let probed_at = *self.probed_at.get_or_insert(now);
        if self.is_probing {
            self.is_probing = now < probed_at + standing;
            return;
        }
        let half = Span::from_nanos(self.interval.as_nanos() / 2);
        let interval = if rtt < limit { half } else { self.interval };
        if now >= probed_at + interval {
            self.is_probing = true;
            self.probed_at = Some(now);
        }
    }

    fn end_cycle(&mut self, now: Time, min_rtt: Span) {
        let cwnd = self.acked + self.alpha * self.window.mss;
        if !self.app_limited || self.window.cwnd < cwnd {
            self.window.cwnd = cwnd;
        }
        if self.is_probing || self.window.cwnd < self.least_cwnd() {
            self.window.cwnd = self.least_cwnd();
        }
        self.pacing = Some(self.window.cwnd as f64 / min_rtt.as_secs_f64());
        self.cycle = Some(now);
        self.acked = 0;
        self.app_limited = false;
    }
}

impl Controller for Copa2 {
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

    fn on_rtt(&mut self, now: Time, _sample: Span) {
        self.probed_at.get_or_insert(now);
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.losses.lost += lost.bytes;
        self.lost_sent_at = self.lost_sent_at.max(Some(lost.sent_at));
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        if let Some(sent_at) = self.lost_sent_at.take() {
            self.judge_losses(now, sent_at);
        }
        let acked = feedback.acked + feedback.sacked;
        self.latest = feedback.round_trip.or(self.latest);
        let Some(rtt) = self.latest.filter(|rtt| acked > 0 && *rtt > Span::ZERO) else { return };
        let min_rtt = self.min_rtt.take(now, rtt, MIN_RTT_TIME);
        self.acked += acked;
        self.app_limited |= feedback.rate.is_some_and(|sample| sample.app_limited);
        self.losses.acked += acked;
        if let Some(rtt) = feedback.round_trip {
            self.judge_losses(now, Time::ZERO + now.since(Time::ZERO).saturating_sub(rtt));
        }
        let standing = self.standing_time(min_rtt);
        self.probe_rtt(now, rtt, min_rtt + standing, standing);
        match self.cycle {
            None => self.cycle = Some(now),
            Some(start) if now >= start + min_rtt + standing => self.end_cycle(now, min_rtt),
            Some(_) => {}
        }
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

    fn on_timeout(&mut self, _loss: &Loss) {
        self.window.cwnd = self.least_cwnd();
    }

    /// The pacing rate, and not the window, bounds what follows a pause.
    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing
    }
}

impl TcpPolicy for Copa2 {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::test_path::{MSS, TestPath, settings};

    const RTT: Span = Span::from_millis(100);
    /// 1000 segments per second: a BDP of 100 segments.
    const RATE: f64 = 1e6;

    fn secs(seconds: f64) -> Span {
        Span::from_secs_f64(seconds)
    }

    fn path() -> TestPath<Copa2> {
        TestPath::new(Copa2::build(&settings(), &Values::defaults(PARAMETERS)), RATE, RTT)
    }

    /// In balance cwnd is what is delivered in a cycle of twice the RTT, and ten segments: the
    /// queue is one BDP, and less by what a cycle overlaps.
    #[test]
    fn a_cycle_delivers_two_windows() {
        let mut path = path();
        path.run(secs(3.5), |_| ());
        let cwnd = path.controller.window().cwnd / MSS;
        assert!((195..=215).contains(&cwnd), "{cwnd}");
        let delivered = path.delivered;
        path.run(secs(2.0), |_| ());
        assert!((path.delivered - delivered) as f64 > 1.9 * RATE);
    }

    /// In the lossy mode D is a tenth of the RTT.
    #[test]
    fn losses_of_a_twentieth_shorten_the_cycle() {
        for (loses, lossy) in [
            ((|number| number % 10 == 0) as fn(u64) -> bool, true),
            (|number| number % 50 == 0, false),
        ] {
            let mut path = path();
            path.run(secs(2.0), |_| ());
            path.loses = loses;
            path.run(secs(1.5), |_| ());
            assert_eq!(path.controller.losses.is_lossy, lossy);
            let cwnd = path.controller.window().cwnd / MSS;
            assert_eq!(cwnd < 140, lossy, "{cwnd}");
        }
    }

    /// A probe begins 8 s after the start, or 4 s if the RTT is below twice the smallest, as with
    /// one flow.
    #[test]
    fn probes_of_the_rtt_come_every_four_seconds_with_a_short_queue() {
        let mut path = path();
        let mut probes = Vec::new();
        path.run(secs(16.0), |path| {
            if path.controller.is_probing {
                probes.push(path.controller.probed_at.unwrap());
            }
        });
        probes.dedup();
        assert!((2..=4).contains(&probes.len()), "{probes:?}");
        for pair in probes.windows(2) {
            let between = pair[1].since(pair[0]);
            assert!((secs(3.9)..secs(8.3)).contains(&between), "{probes:?}");
        }
    }

    #[test]
    fn a_cycle_that_the_application_limits_does_not_narrow_the_window() {
        let mut path = path();
        path.run(secs(2.0), |_| ());
        let before = path.controller.window().cwnd;
        path.app_limited = true;
        path.rate = RATE / 4.0;
        path.run(secs(1.0), |_| ());
        assert!(path.controller.window().cwnd >= before);
        path.app_limited = false;
        path.run(secs(1.5), |_| ());
        assert!(path.controller.window().cwnd < before / 2);
    }
}
