use super::*;
use crate::events::RateSample;

const MSS: u64 = 1000;

/// A sender with packets each millisecond, whose path has a round-trip time.
struct Sender {
    cubic: PicoquicCubic,
    now: Time,
    delivered: u64,
    rtt: Span,
}

impl Sender {
    fn new(rtt_ms: u64) -> Self {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let cubic = PicoquicCubic::build(&settings, &Values::defaults(PARAMETERS));
        let rtt = Span::from_millis(rtt_ms);
        Self { cubic, now: Time::ZERO + rtt, delivered: 0, rtt }
    }

    /// A window of `segments`, and packets of the last ten round trips.
    fn with_window(segments: u64, rtt_ms: u64) -> Self {
        let mut sender = Self::new(rtt_ms);
        sender.send(10 * rtt_ms);
        sender.cubic.window.cwnd = segments * MSS;
        sender
    }

    /// Sends a packet each millisecond.
    fn send(&mut self, count: u64) {
        for _ in 0..count {
            self.now += Span::from_millis(1);
            let (now, bytes) = (self.now, MSS);
            self.cubic.on_sent(&Sent { now, bytes, again: false, sent: 0, pipe_before: MSS });
        }
    }

    /// The packet of this number of milliseconds ago is lost.
    fn lose(&mut self, milliseconds: u64) {
        self.cubic.on_segment_lost(&LostSegment {
            now: self.now,
            sent_at: self.now - Span::from_millis(milliseconds),
            bytes: MSS,
            in_flight_when_sent: MSS,
            lost_since_sent: MSS,
            app_limited: false,
        });
    }

    fn ack(&mut self, segments: u64, app_limited: bool) {
        self.delivered += segments * MSS;
        self.cubic.on_rtt(self.now, self.rtt);
        let rate = RateSample {
            rate: None,
            delivered: self.delivered,
            prior_delivered: 0,
            lost: 0,
            in_flight_when_sent: 0,
            app_limited,
        };
        self.cubic.on_feedback(&Feedback {
            now: self.now,
            acked: segments * MSS,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(self.rtt),
            srtt: Some(self.rtt),
            min_rtt: Some(self.rtt),
            acknowledged: self.delivered,
            sent: self.delivered,
            pipe: 0,
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: Some(rate),
        });
    }

    /// An ACK of one segment each `step` milliseconds, `count` times, of packets sent meanwhile.
    fn acks(&mut self, count: u64, step: u64) {
        for _ in 0..count {
            self.send(step);
            self.ack(1, false);
        }
    }

    fn segments(&self) -> f64 {
        self.cubic.segments()
    }
}

fn loss(now: Time) -> Loss {
    Loss { now, flight: MSS, repeated: false }
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} instead of {expected}");
}

#[test]
fn isolated_losses_leave_the_window_and_the_third_in_succession_does_not() {
    let mut sender = Sender::with_window(1000, 100);
    for milliseconds in [900, 800, 700, 600, 500] {
        sender.lose(milliseconds);
    }
    sender.cubic.on_loss(&loss(sender.now));
    sender.cubic.on_recovery_exit(sender.now);
    assert_eq!(sender.segments(), 1000.0);
    for milliseconds in [100, 99] {
        sender.lose(milliseconds);
        assert_eq!(sender.segments(), 1000.0);
    }
    sender.lose(98);
    // The first W_max is 7/8 of the window: it converges from infinity.
    assert_near(sender.segments(), 1000.0 * BETA * BETA);
}

#[test]
fn losses_of_before_a_reduction_belong_to_it() {
    let mut sender = Sender::with_window(1000, 100);
    (0..3).for_each(|i| sender.lose(100 - i));
    let reduced = sender.segments();
    (0..20).for_each(|i| sender.lose(50 - i));
    assert_eq!(sender.segments(), reduced);
    sender.send(10);
    (0..3).for_each(|i| sender.lose(9 - i));
    assert!(sender.segments() < reduced);
}

/// K = cbrt(W_max / 8 / 0.4): for 512 segments it is 5.429 s.
#[test]
fn the_window_returns_to_w_max_after_k_seconds() {
    let mut sender = Sender::with_window(512, 100);
    sender.cubic.curve.last_w_max = 512.0;
    sender.cubic.on_congestion_mark(&loss(sender.now));
    assert_near(sender.segments(), 448.0);
    assert_near(sender.cubic.curve.k, 5.429);
    sender.acks(54, 100);
    assert_near(sender.segments(), 512.0);
}

#[test]
fn with_small_windows_it_grows_as_standard_tcp_from_half_the_window() {
    let mut sender = Sender::with_window(16, 10);
    sender.cubic.curve.last_w_max = 16.0;
    sender.cubic.on_congestion_mark(&loss(sender.now));
    assert_near(sender.segments(), 14.0);
    // 8 segments and 10 ms: 100 round trips take it beyond 80, where the curve is at 15.9.
    sender.acks(4400, 1);
    assert!(sender.segments() > 80.0, "{}", sender.segments());
}

#[test]
fn slow_start_takes_half_of_the_peak_rate_times_the_rtt() {
    let mut sender = Sender::new(600);
    sender.send(600);
    sender.ack(1, false);
    assert_eq!(sender.segments(), 11.0);
    // 20 segments in 2 ms: 10,000 a second, and half of 6000 in an RTT.
    sender.send(2);
    sender.ack(20, false);
    assert_eq!(sender.segments(), 3020.0);
}

/// The share of the window that remains when delay ends slow start. The threshold of 610 ms makes
/// a jump from about a half to nearly all.
#[test]
fn delay_ends_slow_start_with_a_share_that_depends_on_the_rtt() {
    for (rtt, expected) in
        [(80, 0.5), (200, 0.75), (600, (1.0 + 1.0 / 6.0) / 2.0), (620, (1.0 + 61.0 / 62.0) / 2.0)]
    {
        let mut sender = Sender::with_window(1000, rtt);
        for _ in 0..10 {
            sender.send(2);
            sender.ack(0, true);
        }
        sender.rtt = Span::from_millis(rtt * 13 / 10);
        let mut ended = 0;
        while sender.cubic.starts_up() {
            sender.send(2);
            sender.cubic.window.cwnd = 1000 * MSS;
            sender.ack(0, true);
            ended += 1;
        }
        assert_eq!(ended, 13);
        // The window of the reduction, from which the curve begins at W_max.
        assert_near(sender.segments() / 1000.0, expected * BETA);
        sender.send(2);
        sender.ack(1, false);
        // The samples before were of a sender that was limited, and their time does not count.
        assert!(sender.segments() / 1000.0 < expected + 0.01);
    }
}

#[test]
fn time_in_which_the_application_limits_the_sender_does_not_count() {
    let mut sender = Sender::with_window(512, 100);
    sender.cubic.curve.last_w_max = 512.0;
    sender.cubic.on_congestion_mark(&loss(sender.now));
    for _ in 0..600 {
        sender.send(100);
        sender.ack(1, true);
    }
    assert_near(sender.segments(), 448.0);
    sender.send(100);
    sender.ack(1, false);
    // 0.2 s on the curve, since the last segment of a limited sender was sent.
    assert_near(sender.segments(), 454.816);
}

#[test]
fn a_timeout_leaves_two_segments_and_a_second_one_the_threshold() {
    let mut sender = Sender::with_window(512, 100);
    sender.cubic.curve.last_w_max = 512.0;
    sender.cubic.on_timeout(&loss(sender.now));
    assert_eq!((sender.segments(), sender.cubic.window.ssthresh), (2.0, 448 * MSS));
    sender.cubic.on_timeout(&Loss { repeated: true, ..loss(sender.now) });
    assert_eq!((sender.segments(), sender.cubic.window.ssthresh), (2.0, 448 * MSS));
    let mut small = Sender::with_window(2, 100);
    small.cubic.on_timeout(&loss(small.now));
    assert_eq!((small.segments(), small.cubic.window.ssthresh), (2.0, u64::MAX));
}

#[test]
fn a_spurious_reduction_is_undone_and_an_ignored_loss_is_none() {
    let mut sender = Sender::with_window(1000, 100);
    sender.lose(500);
    sender.cubic.on_spurious_loss(5000 * MSS, 4000 * MSS);
    assert_eq!((sender.segments(), sender.cubic.window.ssthresh), (1000.0, u64::MAX));
    (0..3).for_each(|i| sender.lose(100 - i));
    assert!(sender.segments() < 1000.0);
    sender.cubic.on_spurious_loss(0, 0);
    assert_eq!((sender.segments(), sender.cubic.window.ssthresh), (1000.0, u64::MAX));
    assert_eq!(sender.cubic.curve.phase, Phase::SlowStart);
}
