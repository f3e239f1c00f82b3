//! BBR, version 1, of picoquic, which is changed for satellites.
//!
//! Source: `picoquic/bbr1.c` and `cc_common.c` of private-octopus/picoquic d199d45b, restated.
//! Lines are those of `bbr1.c`. It differs from Linux, which is `original`:
//! - a path with a smallest RTT above 50 ms has another startup (309-325, 1228-1270). Above 100 ms
//!   its first window is the initial one times RTT / 100 ms, with an RTT of 610 ms at most. The
//!   window grows by what is acknowledged, and is at least half of what the peak of the delivery
//!   rate sends in an RTT. Segments leave at 1.25 windows in a smoothed RTT (`pacing.c` 194-240),
//! - that startup ends when seven RTTs are a quarter above the smallest, seven times (1234-1239),
//! - in the startup of short paths, the bandwidth is at least half of that peak (620-623); always,
//!   it is at least two segments in an RTT (625-631),
//! - the filter of the bandwidth counts only rounds that bring a larger rate or that the
//!   application did not limit (644-669),
//! - gains are 2 / ln 2 and its inverse. The rate has no margin (982-989), and the target no room
//!   for ACKs that come together and no even number of segments (350-365). A burst is a thousandth
//!   of a second from 3 MB/s on, and two segments below (334-348),
//! - `ProbeBW` goes through 1, 1.25 and 0.75 (246, 731-754). Each cycle has one to six phases of
//!   1: one more than the last cycle if the bandwidth had not grown, and one less if it had. The
//!   first cycle begins with the phase after min(RTT, 610 ms) / 100 ms (787-812), so that a path
//!   of 600 ms probes at once. 0.75 lasts at least an RTT, and until the BDP is in the network
//!   (698-713),
//! - 1.25 becomes more where the BDP is below four segments (715-729),
//! - an RTT at most 5 % above the smallest one confirms it. It expires after ten seconds and
//!   twenty RTTs (681-696), so that a path without a queue is never emptied,
//! - recovery does not change the window. A loss counts when the smoothed share of lost packets is
//!   above 20 %, which is so from the fourth in succession on. It halves the window once in an
//!   RTT, and ends startup; `ProbeBW` ends its phase (1120-1157, 1212-1219). So does a mark
//!   (1205-1211),
//! - a timeout leaves two segments, unless all was sent before the last reduction. If it was
//!   needless, the window of before returns (1162-1187). It has ended startup all the same, so
//!   that the target of the model bounds this window,
//! - after an idle period nothing changes: `BBR1OnTransmit` is not called (1083).
//!
//! Its detector of policers is in [`policer`].
//!
//! Decisions:
//! - picoquic counts packets by their numbers, and this controller by the times at which they were
//!   sent. A mark has no number, so that only the time since the last reduction matters for it.
//! - The delivery rate is that of the transport (draft-ietf-ccwg-bbr), where picoquic has the same
//!   with intervals of a millisecond or more.
//! - A sender is limited by the application when an ACK is for a segment that was sent so.
//! - A needless timeout is undone until the next loss, and not with the next ACK only.
//! - Not followed: the shadow RTT of Wi-Fi, and windows of earlier connections, which the
//!   transport has. In the startup of long paths picoquic sends in bursts of a quarter of the
//!   window and trains of ten packets (`bandwidth_pause`). The transport has its own bursts.
//!   Smaller ones show a smaller peak of the delivery rate, so that this startup is slower.

mod cycle;
mod policer;

use units::{Span, Time};

use self::cycle::{Rates, SHORT_START};
use self::policer::{Finding, Policer, Round};
use super::LEAST_SEGMENTS;
use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::parameters::{Parameter, Values};
use crate::parts::delivery_model::{Arrival, FullPipe, Progress};
use crate::parts::picoquic::{
    DelayTest, LONG_RTT, LossShare, Numbers, PICOQUIC, PeakRate, SATELLITE_RTT, VARIANT_OF_TWO,
};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// 2 / ln 2.
const HIGH_GAIN: f64 = 2.885_390_081_777_9;
const CWND_GAIN: f64 = 2.0;
/// Smallest RTT above which startup is that of long paths (`BBR1_HYSTART_THRESHOLD_RTT`).
const LONG_STARTUP_RTT: Span = Span::from_millis(50);
/// The rate in that startup, in windows per smoothed RTT.
const LONG_STARTUP_PACING: f64 = 1.25;
/// Windows of fewer segments are not paced in it.
const PACED_SEGMENTS: u64 = 8;
/// Share of lost packets above which a loss counts.
const MOST_LOSSES: f64 = 0.20;
/// Least window after a reduction, and least bandwidth per RTT, in segments.
const LEAST_AFTER_LOSS: u64 = 2;
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Age at which the smallest RTT expires, which is at least this many round trips, too.
const EXPIRY: Span = Span::from_secs(10);
const EXPIRY_ROUND_TRIPS: u64 = 20;
/// The part of the smallest RTT by which another is longer and confirms it.
const CONFIRMING_PART: u64 = 20;
/// Rates in bytes per second below which a burst is a segment, and two.
const SMALL_BURST_RATE: f64 = 150_000.0;
const MEDIUM_BURST_RATE: f64 = 3_000_000.0;
/// A burst is what is sent in this time in seconds above that, at most 64 KiB.
const BURST_TIME: f64 = 0.001;
const LARGEST_BURST: u64 = 65_536;
/// Round trips for which the times of packets are remembered.
const REMEMBERED: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    /// Startup of paths with a long RTT.
    LongStartup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Time,
    },
    ProbeRtt(ProbeRtt),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ProbeRtt {
    /// More than four segments are in the network.
    Emptying,
    /// Until the time, and until a round is over.
    Measuring { until: Time, round_over: bool },
}

/// BBR, version 1, of picoquic.
#[derive(Clone, Debug)]
pub struct PicoquicBbr {
    window: Window,
    state: State,
    gain: f64,
    /// Phase with which the current cycle began.
    cycle_start: usize,
    /// A reduction ends the phase.
    ends_phase: bool,
    progress: Progress,
    round_began: bool,
    /// The last sample of the delivery rate in bytes per second, and whether the application
    /// limited it.
    sample: f64,
    limited: bool,
    rates: Rates,
    peak: PeakRate,
    policer: Policer,
    full_pipe: FullPipe,
    min_rtt: Option<Span>,
    min_rtt_since: Time,
    expired: bool,
    srtt: Span,
    /// In bytes per second; zero before it is known.
    pacing: f64,
    /// Burst of the model in bytes; one segment during the startup of paths with a long RTT.
    burst: u64,
    /// Bytes in the network after the last ACK, and now.
    pipe: u64,
    in_network: u64,
    lost: u64,
    /// The window before `ProbeRTT`.
    prior_cwnd: u64,
    numbers: Numbers,
    losses: LossShare,
    delay: DelayTest,
    /// Packets sent before the last reduction.
    sent_before: u64,
    reduced_at: Option<Time>,
    by_timeout: bool,
    /// No ACK has come since the timeout.
    suspended: bool,
    /// The window before the reductions of this time, and that of before the timeout.
    before_reduction: u64,
    before_timeout: Option<u64>,
}

const PARAMETERS: &[Parameter] = &[Parameter { default: PICOQUIC, ..VARIANT_OF_TWO }];

impl Listed for PicoquicBbr {
    const VARIANT: &'static str = PICOQUIC;
    const LISTED: &'static [Entry] = &[Entry {
        name: "bbr",
        summary: "BBR of picoquic, version 1: starts long paths by the peak of the delivery rate",
        source: "Cardwell et al., BBR, 2016",
        status: Status::Implementation("picoquic d199d45b, picoquic/bbr1.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        Self {
            burst: window.mss,
            window,
            state: State::Startup,
            gain: HIGH_GAIN,
            cycle_start: 0,
            ends_phase: false,
            progress: Progress::default(),
            round_began: false,
            sample: 0.0,
            limited: false,
            rates: Rates::default(),
            peak: PeakRate::default(),
            policer: Policer::default(),
            full_pipe: FullPipe::default(),
            min_rtt: None,
            min_rtt_since: Time::ZERO,
            expired: false,
            srtt: Span::ZERO,
            pacing: 0.0,
            pipe: 0,
            in_network: 0,
            lost: 0,
            prior_cwnd: 0,
            numbers: Numbers::default(),
            losses: LossShare::default(),
            delay: DelayTest::default(),
            sent_before: 0,
            reduced_at: None,
            by_timeout: false,
            suspended: false,
            before_reduction: 0,
            before_timeout: None,
        }
    }
}

impl PicoquicBbr {
    fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or(self.rates.max)
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::LongStartup | State::Drain => HIGH_GAIN,
            State::ProbeBw { .. } => CWND_GAIN,
            State::ProbeRtt(_) => 1.0,
        }
    }

    /// Bytes in the network for `gain` times the BDP, with three bursts on their way.
    fn inflight(&self, gain: f64) -> u64 {
        self.min_rtt.map_or(self.window.initial, |rtt| {
            whole(gain * self.bandwidth() * rtt.as_secs_f64()) + 3 * self.burst
        })
    }

    /// Until the pipe is full, the rate does not fall. The burst follows it.
    fn set_pacing(&mut self) {
        let rate = self.gain * self.bandwidth();
        if self.full_pipe.reached || rate > self.pacing {
            self.pacing = rate;
        }
        self.burst = if self.pacing < SMALL_BURST_RATE {
            self.window.mss
        } else if self.pacing < MEDIUM_BURST_RATE {
            2 * self.window.mss
        } else {
            whole(self.pacing * BURST_TIME).min(LARGEST_BURST)
        };
    }

    /// The first window of a long path.
    fn enter_long_startup(&mut self, min_rtt: Span) {
        self.state = State::LongStartup;
        if min_rtt > LONG_RTT {
            let rtt = min_rtt.min(SATELLITE_RTT).as_nanos() as f64;
            let first = whole(self.window.initial as f64 * (rtt / LONG_RTT.as_nanos() as f64));
            self.window.cwnd = self.window.cwnd.max(first);
        }
    }

    /// The test of the round-trip time that ends the startup of long paths.
    fn queue_has_grown(&mut self, arrival: &Arrival) -> bool {
        let Some(rtt) = arrival.round_trip else { return false };
        let packet_time =
            if self.pacing > 0.0 { self.window.mss as f64 / self.pacing } else { 0.0 };
        self.delay.take(arrival.now, rtt, Span::from_secs_f64(packet_time))
    }

    fn leave_long_startup(&mut self, now: Time) {
        self.progress.begin_round();
        self.round_began = true;
        self.full_pipe.reach();
        self.enter_drain(now);
        if self.in_network <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }

    fn grow_in_long_startup(&mut self, arrival: &Arrival) {
        self.update_bandwidth(arrival);
        if let Some(rtt) = arrival.round_trip
            && self.min_rtt.is_none_or(|min| rtt <= min)
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_since = arrival.now;
        }
        if !arrival.limited {
            self.window.cwnd += arrival.acked;
        }
        let rtt = self.min_rtt.unwrap_or(Span::ZERO).as_secs_f64();
        self.window.cwnd = self.window.cwnd.max(whole(self.peak.peak * rtt / 2.0));
        let is_paced = self.window.cwnd >= PACED_SEGMENTS * self.window.mss;
        self.pacing = if is_paced && self.srtt > Span::ZERO {
            LONG_STARTUP_PACING * self.window.cwnd as f64 / self.srtt.as_secs_f64()
        } else {
            0.0
        };
    }

    fn update_bandwidth(&mut self, arrival: &Arrival) {
        if let Some(rate) = arrival.sample.rate {
            self.sample = rate;
            self.limited = arrival.limited;
        }
        let mut rate = self.sample;
        if self.state == State::Startup {
            rate = rate.max(self.peak.peak / 2.0);
        }
        if let Some(rtt) = self.min_rtt.filter(|rtt| *rtt > Span::ZERO) {
            let least = (LEAST_AFTER_LOSS * self.window.mss) as f64;
            rate = rate.max(least / rtt.as_secs_f64());
        }
        self.round_began = self.progress.round_began;
        self.look_for_policer(arrival.now);
        self.rates.take(rate, self.round_began, self.limited);
    }

    fn look_for_policer(&mut self, now: Time) {
        let finding = self.policer.take(&Round {
            now,
            began: self.round_began,
            delivered: self.progress.delivered,
            lost: self.lost,
            limited: self.limited,
            is_probing_bandwidth: matches!(self.state, State::ProbeBw { .. }),
        });
        match finding {
            Some(Finding::Policed) => self.gain = 1.0,
            Some(Finding::Expired) => self.begin_phase(SHORT_START + 1, now),
            None => {}
        }
    }

    fn enter_drain(&mut self, now: Time) {
        self.state = State::Drain;
        self.gain = 1.0 / HIGH_GAIN;
        self.look_for_policer(now);
    }

    fn check_drain(&mut self, arrival: &Arrival) {
        if !self.full_pipe.reached {
            self.full_pipe.check(self.rates.max, self.round_began && !self.limited);
        }
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter_drain(arrival.now);
        }
        if self.state == State::Drain && arrival.pipe <= self.inflight(1.0) {
            self.enter_probe_bw(arrival.now);
        }
    }

    fn update_min_rtt(&mut self, arrival: &Arrival) {
        let (now, since) = (arrival.now, self.min_rtt_since);
        self.expired = self
            .min_rtt
            .is_some_and(|min| now > since + EXPIRY && now > since + min * EXPIRY_ROUND_TRIPS);
        let Some(rtt) = arrival.round_trip else { return };
        let min = self.min_rtt.filter(|min| *min < rtt && !self.expired);
        if min.is_none_or(|min| (rtt - min) * CONFIRMING_PART < min) {
            self.min_rtt_since = now;
        }
        self.min_rtt = min.or(Some(rtt));
    }

    fn check_probe_rtt(&mut self, arrival: &Arrival) {
        let now = arrival.now;
        if self.expired && !matches!(self.state, State::ProbeRtt(_)) {
            self.state = State::ProbeRtt(ProbeRtt::Emptying);
            self.gain = 1.0;
            self.prior_cwnd = self.window.cwnd;
        }
        let State::ProbeRtt(step) = &mut self.state else { return };
        match step {
            ProbeRtt::Emptying if arrival.pipe <= LEAST_SEGMENTS * self.window.mss => {
                let until = now + PROBE_RTT_TIME;
                *step = ProbeRtt::Measuring { until, round_over: false };
                self.progress.begin_round();
            }
            ProbeRtt::Emptying => {}
            ProbeRtt::Measuring { until, round_over } => {
                *round_over |= self.round_began;
                if *round_over && now > *until {
                    self.leave_probe_rtt(now);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt_since = now;
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
            self.gain = HIGH_GAIN;
        }
    }

    fn update_cwnd(&mut self, acked: u64) {
        let target = self.inflight(self.cwnd_gain());
        let window = &mut self.window;
        if self.full_pipe.reached {
            window.cwnd = (window.cwnd + acked).min(target);
        } else if window.cwnd < target || self.progress.delivered < window.initial {
            window.cwnd += acked;
        }
        let least = LEAST_SEGMENTS * window.mss;
        window.cwnd = window.cwnd.max(least);
        if matches!(self.state, State::ProbeRtt(_)) {
            window.cwnd = least;
        }
    }

    fn update_model(&mut self, arrival: &Arrival) {
        self.update_bandwidth(arrival);
        self.advance_cycle(arrival.now);
        self.check_drain(arrival);
        self.update_min_rtt(arrival);
        self.check_probe_rtt(arrival);
        self.set_pacing();
        self.update_cwnd(arrival.acked);
    }

    /// Losses above the share that counts, a mark, or a timeout.
    fn reduce(&mut self, now: Time, by_timeout: bool) {
        let is_recent = self.reduced_at.is_some_and(|at| now < at + self.srtt);
        if (self.ends_phase || is_recent) && (!by_timeout || self.by_timeout) {
            return;
        }
        // The losses of a timeout may have halved the window at the same time.
        if self.reduced_at != Some(now) {
            self.before_reduction = self.window.cwnd;
        }
        let least = LEAST_AFTER_LOSS * self.window.mss;
        if by_timeout || self.window.cwnd < least {
            if !self.suspended {
                self.suspended = true;
                self.before_timeout = Some(self.before_reduction);
            }
            self.window.cwnd = least;
        } else {
            self.before_timeout = None;
            self.window.cwnd /= 2;
        }
        self.reduced_at = Some(now);
        self.by_timeout = by_timeout;
        self.sent_before = self.numbers.sent;
        match self.state {
            State::LongStartup => self.leave_long_startup(now),
            State::Startup => {
                self.full_pipe.reach();
                self.enter_drain(now);
            }
            _ => self.ends_phase = true,
        }
    }
}

impl Controller for PicoquicBbr {
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
        self.progress.on_rtt(sample);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.numbers.on_sent(sent.now);
        self.in_network = sent.pipe_before + sent.bytes;
    }

    /// The filter of losses. A packet that was sent before the last reduction does not count.
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += lost.bytes;
        self.in_network = self.in_network.saturating_sub(lost.bytes);
        let number = self.numbers.at(lost.sent_at);
        if number > self.sent_before && self.losses.on_lost(number) > MOST_LOSSES {
            self.reduce(lost.now, false);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let Some(arrival) = self.progress.on_feedback(feedback) else { return };
        self.suspended = false;
        self.in_network = arrival.pipe;
        self.srtt = feedback.srtt.unwrap_or(self.srtt);
        self.numbers.forget_before(arrival.now - self.srtt * REMEMBERED);
        if let Some(rtt) = arrival.round_trip {
            self.peak.take(arrival.now, arrival.now - rtt, self.progress.delivered);
        }
        if let Some(min_rtt) = feedback.min_rtt.filter(|rtt| *rtt > LONG_STARTUP_RTT)
            && self.state == State::Startup
        {
            self.enter_long_startup(min_rtt);
        }
        if self.state == State::LongStartup && self.queue_has_grown(&arrival) {
            self.leave_long_startup(arrival.now);
        }
        if self.state == State::LongStartup {
            self.grow_in_long_startup(&arrival);
        } else {
            self.update_model(&arrival);
        }
        self.pipe = arrival.pipe;
    }

    /// All is said in the feedback.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    /// The lost segments themselves have had their effect. An older timeout is not undone any more.
    fn on_loss(&mut self, _loss: &Loss) {
        self.before_timeout = None;
    }

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: Time) {}

    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.reduce(loss.now, false);
    }

    /// If nothing was sent since the last reduction, the missing segments belong to it.
    fn on_timeout(&mut self, loss: &Loss) {
        let belongs = self.reduced_at.is_some_and(|at| at < loss.now);
        if !belongs || self.numbers.sent > self.sent_before {
            self.reduce(loss.now, true);
        }
    }

    fn on_spurious_loss(&mut self, _cwnd: u64, _ssthresh: u64) {
        if let Some(before) = self.before_timeout.take() {
            self.window.cwnd = self.window.cwnd.max(before);
        }
    }

    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing > 0.0).then_some(self.pacing)
    }

    fn least_packet(&self) -> u64 {
        if self.pacing < SMALL_BURST_RATE { 1 } else { 2 }
    }

    fn windows_in_buffer(&self) -> u64 {
        3
    }
}

impl TcpPolicy for PicoquicBbr {}

#[cfg(test)]
mod tests;
