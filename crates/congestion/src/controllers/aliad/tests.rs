use super::*;
use crate::parameters::Value;

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(600);

/// A sender and the ACKs that it gets: one for each segment, all of a window in one round trip.
struct Path {
    aliad: Aliad,
    rtt: Span,
    min_rtt: Span,
    acknowledged: u64,
    sent: u64,
    now: Time,
}

impl Path {
    fn with(listing: usize, cwnd: u64, parameters: &[(&'static str, Value)]) -> Self {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let listing = &Aliad::LISTED[listing];
        let mut values = Values::defaults(listing.parameters);
        for (name, value) in parameters {
            values.set(listing.name, name, value.clone()).unwrap();
        }
        Self {
            aliad: Aliad::build(&settings, &values),
            rtt: RTT,
            min_rtt: RTT,
            acknowledged: 0,
            sent: cwnd * MSS,
            now: Time::ZERO + RTT,
        }
    }

    fn aliad(cwnd: u64) -> Self {
        Self::with(0, cwnd, &[])
    }

    fn word(name: &'static str, word: &str) -> (&'static str, Value) {
        (name, Value::Word(word.to_owned()))
    }

    fn feedback(&self, acked: u64) -> Feedback {
        Feedback {
            now: self.now,
            acked,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(self.rtt),
            srtt: Some(self.rtt),
            min_rtt: Some(self.min_rtt),
            acknowledged: self.acknowledged,
            sent: self.sent,
            pipe: 0,
            advertised: u64::MAX,
            peer_clock: None,
            head_sent: None,
            rate: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
        }
    }

    fn ack(&mut self, acked: u64) {
        self.acknowledged += acked;
        let feedback = self.feedback(acked);
        self.aliad.on_feedback(&feedback);
        self.aliad.on_ack(&Ack {
            now: self.now,
            acked,
            flight: self.sent - self.acknowledged,
            advertised: u64::MAX,
            srtt: Some(self.rtt),
            min_rtt: Some(self.min_rtt),
            cwnd_limited: true,
        });
        self.sent = self.sent.max(self.acknowledged + self.aliad.window.cwnd / MSS * MSS);
    }

    /// ACKs for all that is outstanding, each for `segments`. They come at one instant: Hoe's
    /// estimate learns nothing from them.
    fn round_of(&mut self, segments: u64) {
        let end = self.sent;
        while self.acknowledged < end {
            self.ack((segments * MSS).min(end - self.acknowledged));
        }
        self.now += self.rtt;
    }

    fn round(&mut self) {
        self.round_of(1);
    }

    fn gamma(&mut self, segments: u64) {
        self.aliad.window.ssthresh = segments * MSS;
    }

    fn loss(&mut self) {
        let loss = Loss { now: self.now, flight: self.sent - self.acknowledged, repeated: false };
        self.aliad.on_loss(&loss);
        self.recover();
    }

    /// All that was outstanding is acknowledged at once and a new window is sent.
    fn recover(&mut self) {
        self.acknowledged = self.sent;
        let feedback = Feedback { recovering: true, ..self.feedback(0) };
        self.aliad.on_feedback(&feedback);
        self.aliad.on_recovery_exit(self.now);
        self.sent = self.acknowledged + self.aliad.window.cwnd / MSS * MSS;
    }

    fn segments(&self) -> f64 {
        self.aliad.window.cwnd as f64 / MSS as f64
    }
}

fn near(value: f64, wanted: f64, difference: f64) {
    assert!((value - wanted).abs() <= difference, "{value} for {wanted}");
}

/// The window at 700 segments, the queue as long as the path: the loss takes half of it.
fn after_a_loss_of_half(parameters: &[(&'static str, Value)]) -> Path {
    let mut path = Path::with(0, 700, parameters);
    path.gamma(700);
    path.aliad.follow_window();
    path.aliad.delays = Delays { min: Some(RTT), max: Some(RTT + RTT), ..Delays::default() };
    path.loss();
    near(path.segments(), 350.0, 0.0);
    path
}

#[test]
fn slow_start_to_a_geo_path_of_700_segments_takes_18_rounds_half_of_them_doubling() {
    let mut path = Path::aliad(1);
    path.gamma(700);
    let mut rounds = Vec::new();
    while path.aliad.phase != Phase::Probe {
        path.ack(MSS);
        let round = (path.aliad.phase, path.aliad.round.end);
        if path.aliad.phase != Phase::Probe && rounds.last() != Some(&round) {
            rounds.push(round);
        }
    }
    let of = |phase| rounds.iter().filter(|round| round.0 == phase).count();
    assert_eq!((of(Phase::Exponential), of(Phase::Logarithmic)), (9, 9));
    near(path.segments(), 699.0, 1.0);
}

#[test]
fn the_upper_half_of_slow_start_mirrors_the_lower() {
    let mut path = Path::aliad(1);
    path.gamma(512);
    for _ in 0..8 {
        path.round();
    }
    near(path.segments(), 256.0, 0.0);
    for n in 1..=7 {
        path.round();
        near(path.segments(), 512.0 - 256.0 / f64::from(1 << n), 1.0);
    }
}

#[test]
fn a_larger_gamma_found_on_the_way_makes_slow_start_double_again() {
    let mut path = Path::aliad(10);
    path.gamma(16);
    path.round();
    assert_eq!(path.aliad.phase, Phase::Logarithmic);
    path.gamma(1000);
    let before = path.segments();
    path.round();
    near(path.segments(), 2.0 * before, 1.0);
}

#[test]
fn gamma_is_what_the_spacing_of_the_first_acks_says_of_the_path() {
    let mut path = Path::aliad(10);
    for _ in 0..10 {
        path.ack(MSS);
        path.now += Span::from_millis(1);
    }
    assert_eq!(path.aliad.window.ssthresh, 600 * MSS);
}

#[test]
fn in_a_round_the_gap_shrinks_to_one_by_alpha() {
    // The column "frozen" of the table of per-ACK rules: 350 segments to climb to 700.
    for alpha in [1.5, 2.0, 4.0, 16.0] {
        let fixed = [Path::word("alpha", "fixed"), ("alpha_ref", Value::Number(alpha))];
        for segments in [1, 2] {
            let mut path = after_a_loss_of_half(&fixed);
            path.round_of(segments);
            near((700.0 - path.segments()) / 350.0, 1.0 / alpha, 1e-4);
        }
    }
}

#[test]
fn the_climb_is_that_of_equation_4_and_leads_into_probing() {
    let mut path = after_a_loss_of_half(&[Path::word("alpha", "fixed")]);
    for n in 1..=8 {
        path.round();
        near(path.segments(), 700.0 * (1.0 - 0.5 / f64::from(1 << n)), 0.2);
        assert_eq!(path.aliad.phase, Phase::Climb);
    }
    path.round();
    assert_eq!(path.aliad.phase, Phase::Probe);
}

#[test]
fn staying_at_wmax_never_goes_beyond_it() {
    let mut path = after_a_loss_of_half(&[Path::word("at_wmax", "stay")]);
    for _ in 0..30 {
        path.round();
    }
    assert_eq!(path.aliad.phase, Phase::Climb);
    near(path.segments(), 700.0, 0.01);
}

#[test]
fn on_a_geo_path_the_window_is_back_after_one_round_trip() {
    let mut path = after_a_loss_of_half(&[]);
    path.round();
    near(path.segments(), 699.0, 0.01);
}

#[test]
fn liad_halves_the_gap_on_every_path_and_doubles_up_to_gamma() {
    let mut path = Path::with(1, 1, &[]);
    path.gamma(500);
    for n in 1..=8 {
        path.round();
        near(path.segments(), f64::from(1 << n), 0.0);
    }
    path.round();
    assert!(path.segments() >= 500.0);
    assert_eq!(path.aliad.phase, Phase::Probe);
    path.aliad.window.cwnd = 700 * MSS;
    path.aliad.delays.max = Some(RTT + RTT);
    path.loss();
    near(path.segments(), 350.0, 0.0);
    path.round();
    near(path.segments(), 525.0, 0.1);
}

#[test]
fn probing_from_the_present_window_grows_by_46_percent_on_an_empty_queue() {
    let mut path = Path::with(0, 100, &[Path::word("probe", "delay")]);
    path.gamma(100);
    path.round();
    near(path.segments(), 146.5, 0.1);
    path.round();
    near(path.segments(), 214.6, 0.7);
    // A queue that makes the RTT half as long again leaves (1.93 / 1.5 - 1) / 2 of it.
    let mut path = Path::with(0, 100, &[Path::word("probe", "delay")]);
    path.gamma(100);
    path.rtt = Span::from_secs_f64(RTT.as_secs_f64() * 1.5);
    path.round();
    near(path.segments(), 114.3, 0.3);
}

#[test]
fn probing_from_the_window_that_was_sent_grows_by_26_percent_on_an_empty_queue() {
    // r = 1 + (1.93 / r - 1) / 2.
    let mut path = Path::aliad(100);
    path.gamma(100);
    for _ in 0..10 {
        path.round();
    }
    let before = path.segments();
    path.round();
    near(path.segments() / before, 1.264, 2e-3);
}

#[test]
fn a_window_that_has_just_doubled_waits_until_its_queue_shows() {
    let mut path = after_a_loss_of_half(&[]);
    path.round();
    let before = path.segments();
    path.round();
    // W_{k-1} = 350, RTT still RTTmin: the target of 675.5 is below the window.
    near(path.segments(), before + 1.0, 0.1);
}

#[test]
fn probing_slows_down_towards_delta_and_is_linear_beyond() {
    let grown = |ratio: f64| {
        let mut path = Path::aliad(100);
        path.gamma(100);
        path.rtt = Span::from_secs_f64(RTT.as_secs_f64() * ratio);
        path.round();
        path.segments() - 100.0
    };
    near(grown(1.5), 100.0 * (1.93 / 1.5 - 1.0) / 2.0, 0.5);
    near(grown(1.92), 1.0, 0.01);
    near(grown(1.94), 1.0, 0.01);
    near(grown(3.0), 1.0, 0.01);
}

#[test]
fn doubling_begins_with_one_segment() {
    let mut path = Path::with(0, 100, &[Path::word("probe", "doubling")]);
    path.gamma(100);
    for (n, wanted) in [101.0, 103.0, 107.0, 115.0].into_iter().enumerate() {
        path.round();
        near(path.segments(), wanted, 0.1 * (n + 1) as f64);
    }
}

#[test]
fn a_single_late_ack_is_no_queue() {
    let mut path = Path::aliad(100);
    path.gamma(100);
    path.round();
    path.rtt = RTT + Span::from_millis(200);
    path.ack(MSS);
    path.rtt = RTT;
    path.ack(MSS);
    near(path.aliad.beta(), 0.0, 0.0);
}

#[test]
fn a_loss_on_an_empty_queue_removes_one_segment() {
    let mut path = Path::aliad(100);
    path.gamma(100);
    path.round();
    let before = path.segments();
    path.loss();
    near(path.segments(), before - 1.0, 0.0);
}

#[test]
fn a_loss_leaves_the_rate_that_the_bottleneck_served() {
    let mut path = Path::aliad(100);
    path.gamma(100);
    path.rtt = Span::from_millis(800);
    path.round();
    let before = path.segments();
    path.loss();
    near(path.segments(), 0.75 * before, 0.01);
}

#[test]
fn beta_stays_between_its_limits() {
    let beta = |rtt: u64, parameters: &[(&'static str, Value)]| {
        let mut path = Path::with(0, 100, parameters);
        path.gamma(100);
        path.rtt = Span::from_millis(rtt);
        path.round();
        path.aliad.beta()
    };
    near(beta(6000, &[]), 0.5, 0.0);
    near(beta(6000, &[("beta_max", Value::Number(1.0))]), 0.9, 1e-9);
    near(beta(600, &[("beta_min", Value::Number(0.2))]), 0.2, 0.0);
    near(Path::aliad(10).aliad.beta(), 0.5, 0.0);
}

#[test]
fn the_queue_of_the_last_epoch_counts_only_for_the_connection() {
    for (word, wanted) in [("epoch", 0.0), ("connection", 0.25)] {
        let mut path = Path::with(0, 100, &[Path::word("rtt_max", word)]);
        path.gamma(100);
        path.rtt = Span::from_millis(800);
        path.round();
        path.loss();
        path.rtt = RTT;
        path.round();
        near(path.aliad.beta(), wanted, 1e-9);
    }
}

#[test]
fn round_trip_times_measured_in_a_recovery_belong_to_no_epoch() {
    let mut path = Path::aliad(100);
    path.round();
    path.rtt = RTT + RTT;
    for _ in 0..3 {
        let feedback = Feedback { recovering: true, ..path.feedback(0) };
        path.aliad.on_feedback(&feedback);
    }
    near(path.aliad.beta(), 0.0, 0.0);
}

#[test]
fn a_timeout_leads_through_slow_start_to_the_climb() {
    let mut path = Path::aliad(128);
    path.gamma(128);
    path.round();
    path.rtt = RTT + RTT;
    path.ack(MSS);
    path.ack(MSS);
    path.aliad.window.cwnd = 128 * MSS;
    let loss = Loss { now: path.now, flight: 128 * MSS, repeated: false };
    path.aliad.on_timeout(&loss);
    assert_eq!((path.aliad.window.cwnd, path.aliad.window.ssthresh), (MSS, 64 * MSS));
    path.aliad.on_timeout(&Loss { repeated: true, ..loss });
    assert_eq!((path.aliad.window.cwnd, path.aliad.window.ssthresh), (MSS, 64 * MSS));
    path.sent = path.acknowledged + MSS;
    for _ in 0..5 {
        path.round();
    }
    assert_eq!(path.aliad.phase, Phase::Logarithmic);
    while path.aliad.phase == Phase::Logarithmic {
        path.round();
    }
    assert_eq!(path.aliad.phase, Phase::Climb);
    assert_eq!(path.aliad.w_max, Some(128 * MSS));
}

#[test]
fn after_an_idle_period_the_window_grows_from_the_initial_one_by_doubling() {
    let mut path = after_a_loss_of_half(&[]);
    path.aliad.window.initial = 10 * MSS;
    path.aliad.on_idle();
    path.sent = path.acknowledged + 10 * MSS;
    path.round();
    near(path.segments(), 20.0, 0.0);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut path = Path::aliad(10);
    let ack = Ack {
        now: path.now,
        acked: MSS,
        flight: 0,
        advertised: u64::MAX,
        srtt: Some(RTT),
        min_rtt: Some(RTT),
        cwnd_limited: false,
    };
    path.aliad.on_ack(&ack);
    near(path.segments(), 10.0, 0.0);
}

#[test]
fn alpha_that_would_not_grow_is_refused() {
    let mut values = Values::defaults(ALIAD);
    for (name, value) in [("alpha_ref", 1.0), ("alpha_ref", 0.67), ("alpha_exponent", 0.0)] {
        let error = values.set("aliad", name, Value::Number(value)).unwrap_err().to_string();
        assert!(error.contains("a number from"), "{error}");
    }
}

#[test]
fn a_window_of_a_hundred_thousand_segments_at_one_second_stays_finite() {
    for listing in [0, 1] {
        let mut path = Path::with(listing, 100_000, &[]);
        path.rtt = Span::from_secs(1);
        path.min_rtt = path.rtt;
        path.gamma(100_000);
        path.round();
        near(path.segments(), 146_500.0, 1.0);
        for _ in 0..10 {
            let before = path.segments();
            path.rtt = Span::from_millis(1900);
            path.round();
            path.loss();
            assert!(path.segments() >= before * 0.5 && path.segments() < before * 1.1);
        }
    }
}
