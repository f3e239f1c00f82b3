//! State of one path: its window, RTO, T3-rtx, errors, and heartbeats (RFC 9260 sections 6.3, 8.2
//! and 8.3).

use transport::{Progress, RtoConfig, RttEstimator};
use units::{Span, Time};

use crate::config::Config;
use crate::window::Window;

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No packet has come back on it (section 5.4). It takes heartbeats only.
    Unconfirmed,
    Active,
    Inactive,
}

/// A path.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) window: Window,
    /// Bytes of DATA chunks in flight.
    pub(crate) flight: u64,
    pub(crate) rtt: RttEstimator,
    /// The chunk whose round trip is measured, and when it was sent.
    pub(crate) measured: Option<(u64, Time)>,
    /// T3-rtx.
    pub(crate) t3: Time,
    pub(crate) reach: Reach,
    /// Timeouts in succession.
    errors: u32,
    /// Bytes that a SACK has acknowledged so far.
    pub(crate) acked: u64,
    /// Flight before the SACK.
    pub(crate) flight_before: u64,
    /// The SACK has acknowledged a chunk of this path cumulatively.
    pub(crate) advanced: bool,
    beats: Beats,
}

/// Heartbeats of a path.
#[derive(Debug)]
struct Beats {
    /// When the path may be idle for a period.
    next: Time,
    /// When the heartbeat that was sent has no answer.
    answer: Time,
    /// Last transmission of something that measures the RTT.
    used: Time,
    /// One is to be sent.
    is_due: bool,
    /// State of the random numbers of the jitter.
    random: u64,
}

impl Path {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        Self {
            window: Window::new(config.chunk(), u64::MAX),
            flight: 0,
            rtt: RttEstimator::new(&config.rto()),
            measured: None,
            t3: Time::NEVER,
            reach: Reach::Unconfirmed,
            errors: 0,
            acked: 0,
            flight_before: 0,
            advanced: false,
            beats: Beats {
                next: Time::NEVER,
                answer: Time::NEVER,
                used: Time::ZERO,
                is_due: false,
                random: seed,
            },
        }
    }

    /// The association is open: heartbeats begin, at once on a path that is not confirmed.
    pub(crate) fn begin(&mut self, now: Time, config: &Config) {
        self.beats.is_due = self.reach == Reach::Unconfirmed;
        self.beats.used = now;
        self.schedule(now, config);
    }

    /// The association is over.
    pub(crate) fn stop(&mut self) {
        self.t3 = Time::NEVER;
        self.beats.next = Time::NEVER;
        self.beats.answer = Time::NEVER;
        self.beats.is_due = false;
    }

    pub(crate) fn deadline(&self) -> Time {
        self.t3.min(self.beats.next).min(self.beats.answer)
    }

    #[inline]
    pub(crate) fn start_t3(&mut self, now: Time) {
        self.t3 = now + self.rtt.rto();
    }

    pub(crate) fn sample(&mut self, rto: &RtoConfig, sample: Span) {
        self.rtt.sample(rto, sample, Progress { per_round: 1, acknowledged: 0, sent: 0 });
    }

    /// A timeout. Returns true if the path is inactive from now on.
    pub(crate) fn on_error(&mut self, config: &Config) -> bool {
        self.errors = self.errors.saturating_add(1);
        let fails = self.errors > config.path_max_retries && self.reach == Reach::Active;
        if fails {
            self.reach = Reach::Inactive;
        }
        fails
    }

    /// Something that was sent on it has arrived.
    #[inline]
    pub(crate) fn on_answer(&mut self) {
        self.errors = 0;
        self.reach = Reach::Active;
    }

    /// Data was sent that measures the RTT as well.
    #[inline]
    pub(crate) fn on_used(&mut self, now: Time) {
        self.beats.used = now;
    }

    pub(crate) fn has_due_heartbeat(&self) -> bool {
        self.beats.is_due
    }

    pub(crate) fn on_heartbeat_sent(&mut self, now: Time) {
        self.beats.is_due = false;
        self.beats.answer = self.beats.answer.min(now + self.rtt.rto());
    }

    pub(crate) fn on_heartbeat_ack(&mut self, now: Time, config: &Config, sent: Time) {
        if self.beats.answer < Time::NEVER {
            self.sample(&config.rto(), now.since(sent));
            self.beats.answer = Time::NEVER;
        }
        let was_active = self.reach == Reach::Active;
        self.on_answer();
        if !was_active {
            self.schedule(now, config);
        }
    }

    /// The deadline of a heartbeat has come. Returns true if one has no answer.
    pub(crate) fn on_heartbeat_deadline(&mut self, now: Time, config: &Config) -> bool {
        let is_unanswered = self.beats.answer <= now;
        if is_unanswered {
            self.beats.answer = Time::NEVER;
            self.rtt.back_off(&config.rto());
        }
        if self.beats.next <= now {
            let period = self.period(config);
            if now.since(self.beats.used) >= period || self.reach != Reach::Active {
                self.beats.is_due = true;
                self.beats.used = now;
            }
            self.schedule(self.beats.used, config);
            if self.beats.next <= now {
                self.schedule(now, config);
            }
        }
        is_unanswered
    }

    /// The RTO is added to the interval, with a jitter of half of it (section 8.3). A path that is
    /// not confirmed has no interval.
    fn schedule(&mut self, from: Time, config: &Config) {
        let period = self.period(config);
        let beats = &mut self.beats;
        beats.random = beats
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let jitter = self.rtt.rto().as_nanos() / 256 * (beats.random >> 56);
        beats.next = from + period + Span::from_nanos(jitter);
    }

    fn period(&self, config: &Config) -> Span {
        let half = Span::from_nanos(self.rtt.rto().as_nanos() / 2);
        match self.reach {
            Reach::Unconfirmed => self.rtt.rto(),
            Reach::Active | Reach::Inactive => config.heartbeat_interval + half,
        }
    }
}
