use super::*;
use crate::events::samples::loss;
use crate::parameters::Value;
use crate::parts::vegas_estimator::tests::feedback;

const MSS: u64 = 1000;
const RTT: Span = Span::from_millis(100);

const SETTINGS: Settings = Settings {
    mss: MSS as u32,
    initial_window: 10 * MSS,
    initial_ssthresh: u64::MAX,
    byte_counting: 1,
};

fn cubic_with(fast_convergence: &str, segments: u64) -> Cubic {
    let mut values = Values::defaults(PARAMETERS);
    values.set("cubic", "fast_convergence", Value::Word(fast_convergence.into())).unwrap();
    let mut cubic = Cubic::build(&SETTINGS, &values);
    cubic.window.cwnd = segments * MSS;
    cubic
}

fn cubic(segments: u64) -> Cubic {
    cubic_with("on", segments)
}

fn ack(now: Time, rtt: Span) -> Ack {
    Ack {
        now,
        acked: MSS,
        flight: 0,
        advertised: u64::MAX,
        srtt: Some(rtt),
        min_rtt: Some(rtt),
        cwnd_limited: true,
    }
}

/// ACKs a window's worth of segments, evenly over each RTT, up to `end`.
fn run(cubic: &mut Cubic, from: Time, end: Time, rtt: Span) -> Time {
    let mut now = from;
    while now < end {
        cubic.on_ack(&ack(now, rtt));
        now += Span::from_nanos(rtt.as_nanos() * MSS / cubic.window.cwnd);
    }
    now
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

#[test]
fn with_abe_a_mark_leaves_85_percent_and_w_max_is_the_window() {
    for (word, mark) in [("off", 700), ("on", 850)] {
        let mut values = Values::defaults(PARAMETERS);
        values.set("cubic", "abe", Value::Word(word.into())).unwrap();
        let mut cubic = cubic(1000);
        cubic.abe = abe::is_on(&values);
        cubic.window.ssthresh = cubic.window.cwnd;
        cubic.on_congestion_mark(&loss(1000 * MSS));
        assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (mark * MSS, mark * MSS));
        assert!((cubic.w_max - 1000.0).abs() < 1e-9);
        cubic.window.cwnd = 1000 * MSS;
        cubic.window.ssthresh = u64::MAX;
        cubic.on_congestion_mark(&loss(1000 * MSS));
        assert_eq!(cubic.window.cwnd, 700 * MSS, "slow start");
        cubic.window.cwnd = 1000 * MSS;
        cubic.on_loss(&loss(1000 * MSS));
        assert_eq!(cubic.window.cwnd, 700 * MSS);
    }
}

#[test]
fn a_spurious_loss_puts_the_curve_back() {
    let mut cubic = cubic(1000);
    cubic.on_loss(&loss(1000 * MSS));
    let now = run(&mut cubic, Time::ZERO, at(6000), RTT);
    let mut undisturbed = cubic.clone();
    let before = cubic.window;
    cubic.on_loss(&loss(before.cwnd));
    cubic.on_recovery_exit(now);
    cubic.on_spurious_loss(before.cwnd, before.ssthresh);
    for cubic in [&mut cubic, &mut undisturbed] {
        run(cubic, now, at(16_000), RTT);
    }
    assert_eq!(cubic.window, undisturbed.window);
}

#[test]
fn a_loss_leaves_seven_tenths_of_the_flight_size() {
    let mut cubic = cubic(1000);
    cubic.on_loss(&loss(900 * MSS));
    assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (630 * MSS, 630 * MSS));
    cubic.on_loss(&loss(2 * MSS));
    assert_eq!(cubic.window.cwnd, 2 * MSS);
}

#[test]
fn k_is_the_cube_root_of_what_was_lost_over_c() {
    // (1000 - 700) / 0.4 = 750; its cube root is 9.0856.
    assert!((Stage::begin(Time::ZERO, 700.0, 1000.0, 0.4).k - 9.085_603).abs() < 1e-6);
    // (40 - 14.4) / 0.4 = 64.
    assert!((Stage::begin(Time::ZERO, 14.4, 40.0, 0.4).k - 4.0).abs() < 1e-12);
}

#[test]
fn the_curve_starts_at_the_reduced_window_and_is_w_max_after_k_seconds() {
    let stage = Stage::begin(Time::ZERO, 14.4, 40.0, 0.4);
    assert!((stage.w_cubic(40.0, Span::ZERO) - 14.4).abs() < 1e-9);
    assert!((stage.w_cubic(40.0, Span::from_secs(4)) - 40.0).abs() < 1e-9);
    assert!((stage.w_cubic(40.0, Span::from_secs(9)) - 90.0).abs() < 1e-9);
}

#[test]
fn the_window_reaches_w_max_after_k_and_is_concave_before_and_convex_after() {
    let mut cubic = cubic(1000);
    cubic.on_loss(&loss(1000 * MSS));
    let mut now = Time::ZERO;
    let mut windows = vec![cubic.segments()];
    for second in 1..=18 {
        now = run(&mut cubic, now, at(1000 * second), RTT);
        windows.push(cubic.segments());
    }
    let growth: Vec<f64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(growth[..8].windows(2).all(|pair| pair[1] < pair[0]), "{growth:?}");
    assert!(growth[10..].windows(2).all(|pair| pair[1] > pair[0]), "{growth:?}");
    assert!((windows[9] - 1000.0).abs() < 1.0, "{windows:?}");
    // 0.4 * (18 - 9.0856)^3 = 283.4
    assert!((windows[18] - 1283.4).abs() < 5.0, "{windows:?}");
}

#[test]
fn the_curve_is_one_of_time_and_not_of_round_trips() {
    let after_six_seconds = |rtt| {
        let mut cubic = cubic(2000);
        cubic.on_loss(&loss(2000 * MSS));
        run(&mut cubic, Time::ZERO, at(6000), rtt);
        cubic.segments()
    };
    let (terrestrial, satellite) =
        (after_six_seconds(Span::from_millis(100)), after_six_seconds(Span::from_millis(600)));
    assert!((terrestrial / satellite - 1.0).abs() < 0.01, "{terrestrial} {satellite}");
}

#[test]
fn at_a_small_rtt_the_window_is_that_of_standard_tcp() {
    // K is (6 / 0.4)^(1/3) = 2.5 s: the curve would take 2.5 s for 6 segments. W_est takes 11
    // round trips of 10 ms, 3 * 0.3 / 1.7 = 0.529 segments in each.
    let mut cubic = cubic(20);
    cubic.on_loss(&loss(20 * MSS));
    let mut grown = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..8 {
        let before = cubic.segments();
        let end = now + Span::from_millis(10);
        now = run(&mut cubic, now, end, Span::from_millis(10));
        grown.push(cubic.segments() - before);
    }
    assert!(grown.iter().all(|g| (0.48..0.58).contains(g)), "{grown:?}");
}

#[test]
fn above_the_window_before_the_loss_standard_tcp_adds_one_segment_for_each_window() {
    let mut cubic = cubic(20);
    cubic.on_loss(&loss(20 * MSS));
    let now = run(&mut cubic, Time::ZERO, at(150), Span::from_millis(10));
    assert!(cubic.segments() > 20.5, "{}", cubic.segments());
    let before = cubic.segments();
    run(&mut cubic, now, now + Span::from_millis(10), Span::from_millis(10));
    let grown = cubic.segments() - before;
    assert!((0.93..1.07).contains(&grown), "{grown}");
}

#[test]
fn the_window_grows_by_no_more_than_half_in_one_window_of_acks() {
    let mut cubic = cubic(10_000);
    cubic.on_loss(&loss(100 * MSS));
    let before = cubic.window.cwnd;
    cubic.on_ack(&ack(Time::ZERO, RTT));
    let long = Time::ZERO + Span::from_secs(100);
    cubic.on_ack(&Ack { acked: before, ..ack(long, RTT) });
    assert!(cubic.window.cwnd <= before * 3 / 2 + MSS, "{}", cubic.window.cwnd);
    assert!(cubic.window.cwnd >= before * 3 / 2 - MSS, "{}", cubic.window.cwnd);
}

#[test]
fn fast_convergence_lowers_w_max_of_a_flow_that_lost_below_the_last_one() {
    for (parameter, expected) in [("on", 680.0), ("off", 800.0)] {
        let mut cubic = cubic_with(parameter, 1000);
        cubic.on_loss(&loss(1000 * MSS));
        assert!((cubic.w_max - 1000.0).abs() < 1e-9);
        cubic.window.cwnd = 800 * MSS;
        cubic.on_loss(&loss(800 * MSS));
        assert!((cubic.w_max - expected).abs() < 1e-9, "{parameter}: {}", cubic.w_max);
    }
}

#[test]
fn after_a_timeout_the_first_stage_is_convex_from_its_start() {
    let mut cubic = cubic(2000);
    cubic.on_loss(&loss(2000 * MSS));
    cubic.on_timeout(&loss(1000 * MSS));
    assert!((cubic.prior - 1400.0).abs() < 1e-12, "{}", cubic.prior);
    assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (MSS, 700 * MSS));
    cubic.on_timeout(&Loss { repeated: true, ..loss(MSS) });
    assert_eq!(cubic.window.ssthresh, 700 * MSS);
    cubic.window.cwnd = 700 * MSS;
    cubic.on_ack(&ack(at(5000), RTT));
    let stage = cubic.stage.unwrap();
    assert!(stage.k.abs() < 1e-12);
    assert!((cubic.w_max - 700.0).abs() < 1e-12);
    run(&mut cubic, at(5000), at(15_000), RTT);
    // 700 + 0.4 * 10^3
    assert!((cubic.segments() - 1100.0).abs() < 15.0, "{}", cubic.segments());
}

#[test]
fn time_in_which_the_window_is_not_used_does_not_count() {
    let mut cubic = cubic(1000);
    cubic.on_loss(&loss(1000 * MSS));
    cubic.on_ack(&ack(at(0), RTT));
    cubic.on_ack(&ack(at(100), RTT));
    cubic.on_ack(&Ack { cwnd_limited: false, ..ack(at(60_000), RTT) });
    cubic.on_ack(&ack(at(60_050), RTT));
    assert_eq!(cubic.stage.unwrap().elapsed, Span::from_millis(150));
}

#[test]
fn after_an_idle_period_a_new_stage_climbs_to_the_old_w_max() {
    let mut cubic = cubic(1000);
    cubic.on_loss(&loss(1000 * MSS));
    cubic.on_ack(&ack(at(0), RTT));
    cubic.on_idle();
    assert_eq!(cubic.window.cwnd, 10 * MSS);
    cubic.window.cwnd = 700 * MSS;
    cubic.on_ack(&ack(at(90_000), RTT));
    let stage = cubic.stage.unwrap();
    assert_eq!(stage.elapsed, Span::ZERO);
    assert!((stage.k - 9.085_603).abs() < 1e-6, "{}", stage.k);
}

#[test]
fn each_loss_begins_a_new_stage() {
    let mut cubic = cubic(1000);
    cubic.on_loss(&loss(1000 * MSS));
    run(&mut cubic, at(0), at(3000), RTT);
    cubic.on_loss(&loss(900 * MSS));
    cubic.on_ack(&ack(at(4000), RTT));
    assert_eq!(cubic.stage.unwrap().elapsed, Span::ZERO);
}

#[test]
fn growth_of_less_than_a_byte_for_an_ack_is_not_lost() {
    let mut cubic = cubic(1_000_000);
    cubic.on_loss(&loss(1_000_000 * MSS));
    let before = cubic.window.cwnd;
    cubic.stage =
        Some(Stage { k: 1.0, w_est: 0.0, ..Stage::begin(at(0), 700_000.0, 1_000_000.0, 0.4) });
    cubic.w_max = 700_000.4;
    for _ in 0..10_000 {
        cubic.on_ack(&ack(at(0), RTT));
    }
    assert!(cubic.window.cwnd > before, "nothing in 10000 ACKs");
}

/// The average window over sixteen losses, each 1 / p segments after the last.
fn average_window(p: f64, rtt: Span) -> f64 {
    let mut cubic = cubic_with("off", 40);
    cubic.on_loss(&loss(40 * MSS));
    let (mut now, mut measured_from) = (Time::ZERO, Time::ZERO);
    for losses in 0..32 {
        if losses == 16 {
            measured_from = now;
        }
        for _ in 0..(1.0 / p) as u64 {
            cubic.on_ack(&ack(now, rtt));
            now += Span::from_nanos(rtt.as_nanos() * MSS / cubic.window.cwnd);
        }
        cubic.on_loss(&Loss { flight: cubic.window.cwnd, ..loss(0) });
    }
    16.0 / p * rtt.as_secs_f64() / now.since(measured_from).as_secs_f64()
}

#[test]
fn where_standard_tcp_is_faster_the_average_window_is_that_of_the_tables_of_section_5_1() {
    for (p, published) in [(1e-3, 38.0), (1e-4, 120.0), (1e-5, 379.0)] {
        let average = average_window(p, Span::from_millis(10));
        assert!((average / published - 1.0).abs() < 0.05, "p = {p}: {average}");
    }
}

#[test]
fn elsewhere_the_curve_is_back_at_w_max_with_the_loss_rate_of_the_tables() {
    // The tables assume that each loss comes where the curve is flat. The average over the
    // concave part is (3 + beta) / 4 of W_max.
    for (p, published) in [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0)] {
        let rtt = Span::from_millis(100);
        let w_max = published * 4.0 / 3.7;
        let mut cubic = cubic_with("off", 0);
        cubic.window.cwnd = (w_max * MSS as f64) as u64;
        cubic.on_loss(&Loss { flight: cubic.window.cwnd, ..loss(0) });
        let (mut now, mut segments) = (Time::ZERO, 0);
        while cubic.stage.is_none_or(|stage| stage.elapsed.as_secs_f64() < stage.k) {
            cubic.on_ack(&ack(now, rtt));
            now += Span::from_nanos(rtt.as_nanos() * MSS / cubic.window.cwnd);
            segments += 1;
        }
        let error = f64::from(segments) * p - 1.0;
        assert!(error.abs() < 0.01, "p = {p}: {segments} segments");
    }
}

#[test]
fn slow_start_that_ends_without_a_loss_is_followed_by_the_convex_curve() {
    let mut cubic = cubic(100);
    assert!(cubic.needs().feedback);
    for round in 0..7 {
        for i in 1..=20 {
            let acknowledged = 20 * round + i;
            let rtt = if round == 0 { 100 } else { 200 };
            cubic.on_feedback(&feedback(0, acknowledged, acknowledged + 20, rtt));
        }
    }
    assert_eq!(cubic.window.ssthresh, 100 * MSS);
    cubic.on_ack(&ack(at(0), RTT));
    assert!(cubic.stage.unwrap().k.abs() < 1e-12);
    assert!((cubic.w_max - 100.0).abs() < 1e-12);
}

#[test]
fn a_loss_ends_what_looks_for_the_end_of_slow_start() {
    let mut values = Values::defaults(PARAMETERS);
    values.set("cubic", "slow_start", Value::Word("standard".into())).unwrap();
    assert!(!Cubic::build(&SETTINGS, &values).needs().feedback);
    let mut cubic = cubic(100);
    cubic.on_loss(&loss(100 * MSS));
    cubic.on_timeout(&loss(70 * MSS));
    cubic.on_ack(&Ack { acked: 8 * MSS, ..ack(at(0), RTT) });
    assert_eq!(cubic.window.cwnd, 2 * MSS, "standard growth after a timeout");
}

/// Equation 2: K = cbrt((W_max - cwnd) / C). With eight times C the curve is back in half of the
/// time, and with `reno_friendly = "off"` it is the curve that decides on a short path.
#[test]
fn parameters_set_c_and_the_reno_friendly_region() {
    let built = |name: &str, value: Value| {
        let mut values = Values::defaults(PARAMETERS);
        values.set("cubic", name, value).unwrap();
        Cubic { window: cubic(100).window, ..Cubic::build(&SETTINGS, &values) }
    };
    let after = |mut cubic: Cubic, rtt: Span, end: Time| {
        cubic.on_loss(&loss(100 * MSS));
        run(&mut cubic, Time::ZERO, end, rtt);
        cubic
    };
    let k = |c: f64| after(built("c", Value::Number(c)), RTT, at(200)).stage.unwrap().k;
    assert!((k(0.4) / k(3.2) - 2.0).abs() < 1e-9);
    let short = Span::from_millis(1);
    let window = |word: &str| {
        after(built("reno_friendly", Value::Word(word.into())), short, at(500)).segments()
    };
    assert!(window("on") > 150.0, "{}", window("on"));
    assert!(window("off") < 100.0, "{}", window("off"));
}
