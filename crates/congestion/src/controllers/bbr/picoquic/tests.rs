use super::*;
use crate::events::RateSample;

const MSS: u64 = 1000;

/// A sender with a packet each millisecond. Each test says what its ACKs report.
struct Sender {
    bbr: PicoquicBbr,
    now: Time,
    rtt: Span,
    delivered: u64,
    /// Bytes delivered when the acknowledged packet was sent.
    prior_delivered: u64,
    pipe: u64,
    limited: bool,
}

impl Sender {
    fn new(rtt_ms: u64) -> Self {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let bbr = PicoquicBbr::build(&settings, &Values::defaults(PARAMETERS));
        let rtt = Span::from_millis(rtt_ms);
        let (delivered, prior_delivered, pipe) = (0, 0, 0);
        Self { bbr, now: Time::ZERO + rtt, rtt, delivered, prior_delivered, pipe, limited: false }
    }

    /// In `ProbeBW`, with a bandwidth of `rate` bytes per second.
    fn probing(rtt_ms: u64, rate: f64) -> Self {
        let mut sender = Self::new(rtt_ms);
        sender.bbr.min_rtt = Some(sender.rtt);
        sender.bbr.srtt = sender.rtt;
        sender.bbr.rates.take(rate, true, false);
        sender.bbr.sample = rate;
        sender.bbr.full_pipe.reach();
        sender.send(10 * rtt_ms);
        sender.bbr.min_rtt_since = sender.now;
        sender.bbr.enter_probe_bw(sender.now);
        sender.bbr.set_pacing();
        sender.bbr.window.cwnd = sender.bbr.inflight(CWND_GAIN);
        sender
    }

    /// Sends a packet each millisecond.
    fn send(&mut self, count: u64) {
        for _ in 0..count {
            self.now += Span::from_millis(1);
            let (now, bytes) = (self.now, MSS);
            self.bbr.on_sent(&Sent { now, bytes, again: false, sent: 0, pipe_before: MSS });
        }
    }

    /// The packet of this number of milliseconds ago is lost.
    fn lose(&mut self, milliseconds: u64) {
        self.bbr.on_segment_lost(&LostSegment {
            now: self.now,
            sent_at: self.now - Span::from_millis(milliseconds),
            bytes: MSS,
            in_flight_when_sent: MSS,
            lost_since_sent: MSS,
            app_limited: false,
        });
    }

    /// An ACK of some segments, with a sample of the delivery rate or without.
    fn ack(&mut self, segments: u64, rate: Option<f64>) {
        self.delivered += segments * MSS;
        self.bbr.on_rtt(self.now, self.rtt);
        let rate = RateSample {
            rate,
            delivered: self.delivered,
            prior_delivered: self.prior_delivered,
            lost: 0,
            in_flight_when_sent: 0,
            app_limited: self.limited,
        };
        self.bbr.on_feedback(&Feedback {
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
            pipe: self.pipe,
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: Some(rate),
        });
    }

    /// An ACK that ends a round, of a packet sent `milliseconds` ago.
    fn round(&mut self, milliseconds: u64, rate: f64) {
        self.send(milliseconds);
        self.prior_delivered = self.delivered;
        self.ack(1, Some(rate));
    }

    fn segments(&self) -> f64 {
        self.bbr.window.cwnd as f64 / MSS as f64
    }

    fn phase(&self) -> Option<usize> {
        match self.bbr.state {
            State::ProbeBw { phase, .. } => Some(phase),
            _ => None,
        }
    }
}

fn loss(now: Time) -> Loss {
    Loss { now, flight: MSS, repeated: false }
}

#[test]
fn the_first_window_of_a_long_path_grows_with_its_rtt() {
    for (rtt, state, expected) in [
        (50, State::Startup, 10.0),
        (51, State::LongStartup, 10.0),
        (200, State::LongStartup, 20.0),
        (600, State::LongStartup, 60.0),
        (1200, State::LongStartup, 61.0),
    ] {
        let mut sender = Sender::new(rtt);
        sender.send(1);
        sender.ack(1, Some(1000.0));
        assert_eq!((sender.bbr.state, sender.segments()), (state, expected + 1.0), "{rtt} ms");
    }
}

#[test]
fn a_long_path_starts_with_half_of_the_peak_rate_and_is_paced_by_its_window() {
    let mut sender = Sender::new(600);
    sender.send(1);
    sender.ack(1, None);
    sender.limited = true;
    // 20 segments in 2 ms: 10,000 a second, and half of 6000 in an RTT.
    sender.send(2);
    sender.ack(20, None);
    assert_eq!(sender.segments(), 3000.0);
    assert_eq!(sender.bbr.pacing_rate(), Some(1.25 * 3_000_000.0 / 0.6));
    sender.send(1);
    sender.ack(5, None);
    assert_eq!(sender.segments(), 3000.0, "the application limits the sender");
    sender.limited = false;
    sender.ack(5, None);
    assert_eq!(sender.segments(), 3005.0);
    assert_eq!(sender.bbr.burst, MSS, "its rate is none of the model");
}

/// The path of 600 ms is probed at once: its first phase is that of 1.25.
#[test]
fn a_longer_rtt_ends_the_startup_of_a_long_path() {
    let mut sender = Sender::new(600);
    for _ in 0..10 {
        sender.send(2);
        sender.ack(1, Some(1e6));
    }
    sender.rtt = Span::from_millis(780);
    let mut samples = 0;
    while sender.bbr.state == State::LongStartup {
        sender.send(2);
        sender.ack(1, Some(1e6));
        samples += 1;
        assert!(samples < 100);
    }
    assert_eq!((samples, sender.phase(), sender.bbr.gain), (13, Some(6), 1.25));
    let mut queued = Sender::new(600);
    queued.send(2);
    queued.ack(1, Some(1e6));
    queued.pipe = 10_000_000;
    queued.bbr.in_network = queued.pipe;
    queued.bbr.leave_long_startup(queued.now);
    assert_eq!((queued.bbr.state, queued.bbr.gain), (State::Drain, 1.0 / HIGH_GAIN));
    queued.ack(1, Some(1e6));
    assert_eq!(queued.bbr.state, State::Drain);
    queued.pipe = 600_000;
    queued.ack(1, Some(1e6));
    assert_eq!(queued.phase(), Some(6));
}

#[test]
fn a_short_path_starts_with_half_of_the_peak_rate() {
    let mut sender = Sender::new(40);
    for _ in 0..2 {
        sender.send(2);
        sender.ack(20, Some(1000.0));
    }
    // 20 segments in 2 ms are 10 MB/s.
    assert_eq!(sender.bbr.rates.max, 5e6);
    assert_eq!(sender.bbr.pacing, HIGH_GAIN * 5e6);
    sender.bbr.full_pipe.reach();
    sender.bbr.enter_drain(sender.now);
    (0..11).for_each(|_| sender.round(2, 1000.0));
    assert_eq!(sender.bbr.rates.max, 50_000.0, "two segments in an RTT");
}

#[test]
fn a_round_that_the_application_limits_leaves_the_filter_alone() {
    let mut rates = Rates::default();
    rates.take(100.0, true, true);
    assert_eq!((rates.max, rates.grew), (100.0, true));
    rates.take(90.0, false, true);
    rates.grew = false;
    for _ in 0..20 {
        rates.take(50.0, true, true);
    }
    assert_eq!((rates.max, rates.grew), (100.0, false));
    for _ in 0..9 {
        rates.take(60.0, true, false);
        assert_eq!(rates.max, 100.0);
    }
    rates.take(60.0, true, false);
    assert_eq!((rates.max, rates.grew), (60.0, false));
    rates.take(61.0, false, true);
    assert_eq!((rates.max, rates.grew), (61.0, true));
}

/// 10 MB/s and 100 ms are 1 MB, and three bursts of 10 kB. Slower flows have smaller bursts.
#[test]
fn the_target_has_no_margin_and_three_bursts() {
    let sender = Sender::probing(100, 1e7);
    assert_eq!(sender.bbr.pacing, 1e7);
    assert_eq!(sender.bbr.inflight(2.0), 2_030_000);
    assert_eq!(Sender::probing(100, 1e9).bbr.burst, 65_536);
    assert_eq!(Sender::probing(100, 2e6).bbr.burst, 2 * MSS);
    assert_eq!(Sender::probing(100, 1e5).bbr.burst, MSS);
}

#[test]
fn the_first_cycle_of_a_long_path_begins_later() {
    let phases = [50, 100, 200, 300, 499, 600, 2000].map(|rtt| Sender::probing(rtt, 1e6).phase());
    assert_eq!(phases, [3, 3, 3, 4, 5, 6, 6].map(Some));
}

/// The cycles of a path of 200 ms: it begins at phase 3, and the bandwidth grows or does not.
#[test]
fn cycles_without_more_bandwidth_become_longer() {
    let mut sender = Sender::probing(200, 1e6);
    let mut starts = Vec::new();
    let mut last = 3;
    let mut rate = 1e6;
    while starts.len() < 8 {
        sender.pipe = if sender.bbr.gain > 1.0 { 1_000_000 } else { 0 };
        if starts.len() >= 5 && sender.phase() == Some(5) {
            rate += 1000.0;
        }
        sender.round(201, rate);
        let phase = sender.phase().unwrap();
        if phase < last {
            starts.push(phase);
        }
        last = phase;
    }
    // The first cycle counts as one that has found more.
    assert_eq!(starts, [3, 2, 1, 0, 0, 1, 2, 3]);
}

#[test]
fn the_phase_of_a_quarter_less_lasts_until_the_queue_is_gone() {
    let mut sender = Sender::probing(600, 1e6);
    assert_eq!(sender.phase(), Some(6));
    sender.pipe = 700_000;
    (0..4).for_each(|_| sender.round(601, 1e6));
    assert_eq!(sender.phase(), Some(6), "1.25 needs that much in the network");
    sender.pipe = 800_000;
    (0..2).for_each(|_| sender.round(601, 1e6));
    assert_eq!((sender.phase(), sender.bbr.gain), (Some(7), 0.75));
    (0..4).for_each(|_| sender.round(601, 1e6));
    assert_eq!(sender.phase(), Some(7));
    sender.pipe = 600_000;
    (0..2).for_each(|_| sender.round(601, 1e6));
    assert_eq!(sender.phase(), Some(5));
}

/// 20 kB/s and 100 ms are two segments.
#[test]
fn a_path_of_few_segments_is_probed_for_four() {
    let mut sender = Sender::probing(100, 20_000.0);
    sender.bbr.begin_phase(6, sender.now);
    assert_eq!(sender.bbr.gain, 2.0);
    sender.bbr.begin_phase(7, sender.now);
    assert_eq!(sender.bbr.gain, 0.75);
}

#[test]
fn an_rtt_that_is_little_above_the_smallest_one_confirms_it() {
    let mut sender = Sender::probing(600, 1e6);
    sender.pipe = 600_000;
    sender.rtt = Span::from_millis(629);
    (0..100).for_each(|_| sender.round(600, 1e6));
    assert!(sender.phase().is_some());
    sender.rtt = Span::from_millis(631);
    // Twenty round trips are 12 s.
    (0..20).for_each(|_| sender.round(600, 1e6));
    assert!(sender.phase().is_some());
    sender.round(600, 1e6);
    assert_eq!(sender.bbr.state, State::ProbeRtt(ProbeRtt::Emptying));
    assert_eq!((sender.segments(), sender.bbr.min_rtt), (4.0, Some(sender.rtt)));
    sender.pipe = 4 * MSS;
    sender.round(1, 1e6);
    sender.ack(1, None);
    assert!(sender.phase().is_none(), "a round and 200 ms");
    sender.round(201, 1e6);
    assert_eq!(sender.phase(), Some(6));
    assert!(sender.segments() > 1000.0);
    let mut short = Sender::probing(50, 1e6);
    short.rtt = Span::from_millis(60);
    (0..100).for_each(|_| short.round(100, 1e6));
    assert!(short.phase().is_some());
    short.round(100, 1e6);
    assert!(short.phase().is_none(), "ten seconds");
}

#[test]
fn the_fourth_loss_in_succession_halves_the_window_once_in_a_round_trip() {
    let mut sender = Sender::probing(100, 1e7);
    let before = sender.segments();
    for milliseconds in [900, 800, 700, 600, 500] {
        sender.lose(milliseconds);
    }
    sender.bbr.on_loss(&loss(sender.now));
    sender.bbr.on_recovery_exit(sender.now);
    (0..3).for_each(|i| sender.lose(100 - i));
    assert_eq!(sender.segments(), before);
    sender.lose(97);
    assert_eq!(sender.segments(), before / 2.0);
    (0..20).for_each(|i| sender.lose(50 - i));
    assert_eq!(sender.segments(), before / 2.0, "sent before the reduction");
    sender.send(20);
    (0..9).for_each(|i| sender.lose(19 - i));
    assert_eq!(sender.segments(), before / 2.0, "within a round trip");
    let phase = sender.phase().unwrap();
    sender.ack(1, None);
    assert_eq!(sender.phase(), Some(phase + 1), "the phase is over");
    sender.send(100);
    (0..9).for_each(|i| sender.lose(19 - i));
    assert_eq!(sender.segments(), before / 4.0 + 0.5);
}

#[test]
fn losses_and_marks_end_both_startups() {
    for rtt in [40, 600] {
        let mut sender = Sender::new(rtt);
        sender.send(1);
        sender.ack(10, Some(1e6));
        sender.pipe = 10_000_000;
        sender.ack(10, Some(1e6));
        let before = sender.segments();
        sender.bbr.on_congestion_mark(&loss(sender.now));
        let expected = (before / 2.0 * MSS as f64).floor() / MSS as f64;
        assert_eq!((sender.bbr.state, sender.segments()), (State::Drain, expected));
        assert!(sender.bbr.full_pipe.reached);
    }
}

#[test]
fn a_timeout_leaves_two_segments_and_a_needless_one_nothing() {
    let mut sender = Sender::probing(100, 1e7);
    let before = sender.segments();
    (0..6).for_each(|i| sender.lose(100 - i));
    sender.bbr.on_timeout(&loss(sender.now));
    assert_eq!(sender.segments(), 2.0);
    sender.send(300);
    sender.bbr.on_timeout(&Loss { repeated: true, ..loss(sender.now) });
    sender.ack(1, None);
    assert_eq!(sender.segments(), 4.0);
    sender.bbr.on_spurious_loss(0, 0);
    assert_eq!(sender.segments(), before);
    sender.send(300);
    sender.bbr.on_timeout(&loss(sender.now));
    sender.bbr.on_loss(&loss(sender.now));
    sender.bbr.on_spurious_loss(0, 0);
    assert_eq!(sender.segments(), 2.0, "a later loss is not the timeout");
}

#[test]
fn a_timeout_of_what_was_sent_before_a_reduction_belongs_to_it() {
    let mut sender = Sender::probing(100, 1e7);
    (0..6).for_each(|i| sender.lose(100 - i));
    let halved = sender.segments();
    sender.now += Span::from_millis(300);
    sender.bbr.on_timeout(&loss(sender.now));
    assert_eq!(sender.segments(), halved);
    sender.send(1);
    sender.bbr.on_timeout(&loss(sender.now));
    assert_eq!(sender.segments(), 2.0);
}

/// A fifth of what arrives is lost, and the same rate twice: pacing follows it, and the ninth round
/// forgets it.
#[test]
fn a_policer_bounds_the_rate() {
    let mut sender = Sender::probing(100, 1e6);
    let mut rounds = 0;
    while sender.bbr.policer.rate().is_none() {
        sender.bbr.lost += 10 * MSS;
        sender.send(100);
        sender.prior_delivered = sender.delivered;
        sender.bbr.begin_phase(6, sender.now);
        sender.ack(40, Some(1e6));
        rounds += 1;
        assert!(rounds < 20);
    }
    assert!((sender.bbr.policer.rate().unwrap() - 400_000.0).abs() < 1.0);
    assert_eq!(sender.bbr.pacing, 400_000.0);
    for _ in 0..8 {
        sender.round(100, 1e6);
        assert!(sender.bbr.policer.rate().is_some());
    }
    sender.round(100, 1e6);
    assert_eq!(sender.bbr.policer.rate(), None);
    assert!(sender.bbr.pacing >= 750_000.0);
}
