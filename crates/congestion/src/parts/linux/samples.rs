//! A sender for tests of these controllers.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::Listed;
use crate::events::{Ack, Feedback, RateSample};
use crate::parameters::Values;
use crate::parts::linux::Socket;
use crate::window::Settings;

pub(crate) const MSS: u64 = 1000;

/// A connection with a window of `segments`.
pub(crate) fn socket(segments: u64) -> Socket {
    let settings = Settings {
        mss: MSS as u32,
        initial_window: segments * MSS,
        initial_ssthresh: 2 * MSS,
        byte_counting: 1,
    };
    Socket::new(&settings)
}

/// It always has data. Round trips are as long as a test says.
pub(crate) struct Sender<C> {
    pub(crate) controller: C,
    pub(crate) now: Time,
    /// By how many milliseconds the receiver's clock is ahead.
    pub(crate) clock_offset: u32,
    acknowledged: u64,
    sent: u64,
}

impl<C: Controller + Listed> Sender<C> {
    /// In slow start with a window of this many segments. The handshake has taken 100 ms.
    pub(crate) fn new(segments: u64) -> Self {
        Self::with(segments, u64::MAX)
    }

    /// In congestion avoidance with a window of this many segments.
    pub(crate) fn avoiding(segments: u64) -> Self {
        Self::with(segments, 2 * MSS)
    }

    fn with(segments: u64, initial_ssthresh: u64) -> Self {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: segments * MSS,
            initial_ssthresh,
            byte_counting: 1,
        };
        let values = Values::defaults(C::LISTED[0].parameters);
        let mut controller = C::build(&settings, &values);
        let rtt = Span::from_millis(100);
        controller.on_rtt(Time::ZERO + rtt, rtt);
        let (now, sent) = (Time::ZERO + rtt, segments * MSS);
        Self { controller, now, clock_offset: 0, acknowledged: 0, sent }
    }

    /// cwnd in segments.
    pub(crate) fn cwnd(&self) -> u64 {
        self.controller.window().cwnd / MSS
    }

    /// Round trips of `rtt` milliseconds; the segments by which cwnd has grown.
    pub(crate) fn grown_in(&mut self, rounds: u64, rtt: u64) -> u64 {
        let before = self.cwnd();
        for _ in 0..rounds {
            self.round(rtt);
        }
        self.cwnd().saturating_sub(before)
    }

    /// Ten round trips of 100 ms, without a queue, add a segment each: the last one may come later.
    pub(crate) fn assert_grows_as_reno(&mut self) {
        let grown = self.grown_in(10, 100);
        assert!((9..=10).contains(&grown), "{grown}");
    }

    /// All that is in flight is acknowledged after `rtt` milliseconds, one segment at a time.
    pub(crate) fn round(&mut self, rtt: u64) {
        self.round_of(rtt, 1);
    }

    /// The same with ACKs for `each` segments.
    pub(crate) fn round_of(&mut self, rtt: u64, each: u64) {
        let rtt = Span::from_millis(rtt);
        let (end, in_flight) = (self.sent, self.sent - self.acknowledged);
        while self.acknowledged < end {
            let acked = (each * MSS).min(end - self.acknowledged);
            self.now += Span::from_nanos(rtt.as_nanos() * acked / in_flight.max(1));
            self.acknowledged += acked;
            self.report(acked, rtt, in_flight);
            self.sent = self.sent.max(self.acknowledged + self.cwnd() * MSS);
        }
    }

    /// An ACK; `delivered` bytes have arrived in the round trip that it measures.
    fn report(&mut self, acked: u64, rtt: Span, delivered: u64) {
        // An ACK takes 50 ms back to the sender.
        let answered = self.now.since(Time::ZERO + Span::from_millis(50));
        let clock = (answered.as_nanos() / 1_000_000) as u32 + self.clock_offset;
        self.controller.on_rtt(self.now, rtt);
        self.controller.on_feedback(&Feedback {
            now: self.now,
            acked,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(rtt),
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            acknowledged: self.acknowledged,
            sent: self.sent,
            pipe: self.sent - self.acknowledged,
            advertised: u64::MAX,
            peer_clock: Some(clock),
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: Some(RateSample {
                rate: None,
                delivered: self.acknowledged,
                prior_delivered: self.acknowledged.saturating_sub(delivered),
                lost: 0,
                in_flight_when_sent: delivered,
                app_limited: false,
            }),
        });
        self.controller.on_ack(&Ack {
            now: self.now,
            acked,
            flight: self.sent - self.acknowledged,
            advertised: u64::MAX,
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            cwnd_limited: true,
        });
    }
}
