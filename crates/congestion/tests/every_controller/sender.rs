//! The sender that drives a controller, and its path.

use congestion::{Ack, AnyController, Controller as _, Feedback, Loss, RateSample, Sent, Settings};
use units::{Span, Time};

use super::{MSS, RTT, specification};

/// The receiver's window in bytes.
pub(super) const ADVERTISED: u64 = 3000 * MSS;
/// Segments that the path holds without a queue.
const PIPE: u64 = 100;

/// A sender whose controller sees a path without losses: one ACK for each segment, evenly spread
/// over the round trip. What the path does not hold waits in a queue.
pub(super) struct Sender {
    pub(super) controller: AnyController,
    pub(super) now: Time,
    rtt: Span,
    least_rtt: Span,
    pub(super) acknowledged: u64,
    pub(super) sent: u64,
    pub(super) limited: bool,
    /// Bytes per second that are delivered in this round.
    rate: f64,
    /// The length of the path as a multiple of that at the start.
    pub(super) stretch: u64,
    /// No round-trip times are measured.
    pub(super) blind: bool,
}

impl Sender {
    pub(super) fn new(name: &str) -> Self {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let mut controller = specification(name).build(&settings);
        let now = Time::ZERO + RTT;
        controller.on_rtt(now, RTT);
        let sent = controller.window().cwnd;
        Self {
            controller,
            now,
            rtt: RTT,
            least_rtt: RTT,
            acknowledged: 0,
            sent,
            limited: true,
            rate: 0.0,
            stretch: 1,
            blind: false,
        }
    }

    /// In congestion avoidance: a loss in a window of 100 segments and ten round trips after it.
    pub(super) fn avoiding(name: &str) -> Self {
        let mut sender = Self::new(name);
        sender.set_window(100);
        sender.rounds(2);
        sender.lose();
        sender.rounds(10);
        sender
    }

    /// Sets a window of `segments` segments, without the controller.
    pub(super) fn set_window(&mut self, segments: u64) {
        self.controller.window_mut().cwnd = segments * MSS;
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.controller.window().cwnd
    }

    /// Usable window, in whole segments.
    fn usable(&self) -> u64 {
        self.cwnd().min(ADVERTISED) / MSS * MSS
    }

    fn flight(&self) -> u64 {
        self.sent - self.acknowledged
    }

    fn feedback(&self, acked: u64) -> Feedback {
        let round_trip = (!self.blind).then_some(self.rtt);
        Feedback {
            now: self.now,
            acked,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip,
            srtt: Some(self.rtt),
            min_rtt: Some(self.least_rtt),
            acknowledged: self.acknowledged,
            sent: self.sent,
            pipe: self.flight(),
            advertised: ADVERTISED,
            peer_clock: round_trip.map(|_| (self.now.as_nanos() / 1_000_000) as u32),
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: Some(RateSample {
                rate: Some(self.rate),
                delivered: self.acknowledged,
                prior_delivered: self.acknowledged.saturating_sub(self.flight() + acked),
                lost: 0,
                in_flight_when_sent: self.flight(),
                app_limited: !self.limited,
            }),
        }
    }

    pub(super) fn ack(&mut self, acked: u64) {
        self.acknowledged += acked;
        if !self.blind {
            self.least_rtt = self.least_rtt.min(self.rtt);
            self.controller.on_rtt(self.now, self.rtt);
        }
        self.controller.on_feedback(&self.feedback(acked));
        let limited = self.limited && self.cwnd() <= ADVERTISED;
        self.controller.on_ack(&Ack {
            now: self.now,
            acked,
            flight: self.flight(),
            advertised: ADVERTISED,
            srtt: Some(self.rtt),
            min_rtt: Some(self.least_rtt),
            cwnd_limited: limited,
        });
        if self.limited {
            self.sent = self.sent.max(self.acknowledged + self.usable());
        } else {
            self.sent += acked;
        }
    }

    pub(super) fn rounds(&mut self, count: u32) {
        for _ in 0..count {
            let segments = (self.flight() / MSS).max(1);
            self.rtt = Span::from_nanos(RTT.as_nanos() * segments.max(self.stretch * PIPE) / PIPE);
            self.rate = (segments * MSS) as f64 / self.rtt.as_secs_f64();
            let end = self.now + self.rtt;
            let step = Span::from_nanos(self.rtt.as_nanos() / segments);
            self.sent = self.sent.max(self.acknowledged + segments * MSS);
            for _ in 0..segments {
                self.now += step;
                self.ack(MSS);
            }
            self.now = end;
        }
    }

    pub(super) fn loss(&self) -> Loss {
        Loss { now: self.now, flight: self.flight(), repeated: false }
    }

    /// A loss that is repaired at once. What was in flight beyond the new window leaves without
    /// ACKs that let the window grow.
    pub(super) fn lose(&mut self) {
        let loss = self.loss();
        self.controller.on_loss(&loss);
        self.controller.on_recovery_exit(self.now);
        self.shrink();
    }

    pub(super) fn mark(&mut self) {
        let loss = self.loss();
        self.controller.on_congestion_mark(&loss);
        self.shrink();
    }

    pub(super) fn shrink(&mut self) {
        self.acknowledged = self.sent;
        self.sent += self.usable();
    }

    /// A pause of this length with nothing outstanding, and the start of new data.
    pub(super) fn pause(&mut self, time: Span) {
        self.shrink();
        self.now += time;
        self.controller.on_start(self.now);
        if self.controller.needs().feedback {
            let (now, sent) = (self.now, self.acknowledged + MSS);
            let again = false;
            self.controller.on_sent(&Sent { now, bytes: MSS, again, sent, pipe_before: 0 });
        }
    }

    /// cwnd now and after each of the next rounds.
    pub(super) fn windows(&mut self, rounds: u32) -> Vec<u64> {
        let mut windows = vec![self.cwnd()];
        for _ in 0..rounds {
            self.rounds(1);
            windows.push(self.cwnd());
        }
        windows
    }
}
