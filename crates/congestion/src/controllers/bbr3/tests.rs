use super::model::BETA;
use super::*;
use crate::parameters::Value;
use crate::parts::delivery_model::draw;
use crate::parts::test_path::{MSS, TestPath, settings};

const RTT: Span = Span::from_millis(100);
/// 1000 segments per second: a BDP of 100 segments.
const RATE: f64 = 1e6;

fn path() -> TestPath<Bbr3> {
    let bbr = Bbr3::build(&settings(), &Values::defaults(PARAMETERS));
    TestPath::new(bbr, RATE, RTT)
}

/// The path of a flow that does not pause for the RTT.
fn path_without_pauses() -> TestPath<Bbr3> {
    let mut values = Values::defaults(PARAMETERS);
    values.set("bbr3", "probe_rtt_interval", Value::Number(1e6)).unwrap();
    TestPath::new(Bbr3::build(&settings(), &values), RATE, RTT)
}

fn secs(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

/// Runs until the flow is in `state`, for half a minute at most.
fn run_to(path: &mut TestPath<Bbr3>, state: State) {
    for _ in 0..30_000 {
        path.run(Span::from_millis(1), |_| {});
        if path.controller.state == state {
            return;
        }
    }
    panic!("never in {state:?}");
}

/// In a state of the cycle, after the first probe, with no pause for the RTT to come.
fn cycling(state: State) -> TestPath<Bbr3> {
    let mut path = path_without_pauses();
    path.run(secs(4.0), |_| {});
    run_to(&mut path, State::Down);
    run_to(&mut path, state);
    path
}

/// The states that the flow is in during `length`, each with when it began.
fn states(path: &mut TestPath<Bbr3>, length: Span) -> Vec<(State, Time)> {
    let mut states: Vec<(State, Time)> = Vec::new();
    path.run(length, |path| {
        let state = path.controller.state;
        if states.last().is_none_or(|(last, _)| *last != state) {
            states.push((state, path.now));
        }
    });
    states
}

fn lost(in_flight: u64, lost: u64, now: Time) -> LostSegment {
    LostSegment {
        now,
        sent_at: Time::ZERO,
        bytes: MSS,
        in_flight_when_sent: in_flight * MSS,
        lost_since_sent: lost * MSS,
        app_limited: false,
    }
}

#[test]
fn startup_finds_the_rate_and_ends_after_three_rounds_without_growth() {
    let mut path = path();
    let (mut full_since, mut ended) = (None, 0);
    path.run(secs(2.0), |path| {
        let bbr = &path.controller;
        if full_since.is_none() && bbr.model.max_bandwidth() > 0.98 * RATE {
            full_since = Some(bbr.progress.round);
        }
        if bbr.state == State::Startup {
            ended = bbr.progress.round;
        }
    });
    let bandwidth = path.controller.model.max_bandwidth();
    assert!((bandwidth / RATE - 1.0).abs() < 0.02, "{bandwidth}");
    let rounds = ended - full_since.unwrap();
    assert!((2..=4).contains(&rounds), "{rounds}");
    assert!(path.controller.full_pipe.reached);
    assert_eq!(path.controller.model.inflight_long, f64::INFINITY);
}

#[test]
fn startup_ends_with_the_losses_of_a_short_queue() {
    let mut path = path();
    path.buffer = 0.2 * path.bdp();
    let mut ended = None;
    path.run(secs(2.0), |path| {
        if path.controller.state != State::Startup {
            ended.get_or_insert((path.controller.model.inflight_long, path.lost));
        }
    });
    let (long, lost) = ended.unwrap();
    assert!(lost > 6 * MSS);
    let bdp = path.bdp();
    assert!((0.9 * bdp..1.6 * bdp).contains(&long), "{long}");
}

#[test]
fn losses_of_one_percent_do_not_end_startup_before_the_rate_is_found() {
    let mut path = path();
    path.loses = |number| number % 100 == 50;
    path.run(secs(2.0), |_| {});
    assert!(path.controller.full_pipe.reached);
    assert!(path.controller.model.max_bandwidth() > 0.95 * RATE);
    assert_eq!(path.controller.model.inflight_long, f64::INFINITY);
}

#[test]
fn drain_empties_the_queue() {
    let mut path = path();
    let (mut highest, mut drained) = (0.0, None);
    path.run(secs(2.0), |path| {
        let queue = path.queue();
        highest = f64::max(highest, queue);
        if path.controller.state.is_probe_bw() {
            drained.get_or_insert(queue);
        }
    });
    assert!(highest > 0.8 * path.bdp(), "{highest}");
    assert!(drained.unwrap() < 0.1 * path.bdp(), "{drained:?}");
}

#[test]
fn the_cycle_goes_down_cruises_refills_and_goes_up() {
    let mut path = cycling(State::Cruise);
    let states = states(&mut path, secs(14.0));
    let order = [State::Cruise, State::Refill, State::Up, State::Down];
    let cycle: Vec<State> =
        states.iter().map(|(state, _)| *state).filter(|s| *s != State::ProbeRtt).collect();
    assert!(cycle.len() > 12, "{cycle:?}");
    for pair in cycle.windows(2) {
        let place = order.iter().position(|state| *state == pair[0]).unwrap();
        // ProbeRTT leads from any state to CRUISE.
        assert!(pair[1] == order[(place + 1) % 4] || pair[1] == State::Cruise, "{cycle:?}");
    }
}

#[test]
fn the_flow_probes_after_two_to_three_seconds() {
    let mut path = path_without_pauses();
    path.run(secs(1.0), |_| {});
    for _ in 0..3 {
        run_to(&mut path, State::Down);
        let began = path.now;
        run_to(&mut path, State::Refill);
        let waited = path.now.since(began).as_secs_f64();
        assert!((2.0..3.01).contains(&waited), "{waited}");
    }
}

#[test]
fn on_a_short_path_the_flow_probes_after_63_rounds() {
    let bbr = Bbr3::build(&settings(), &Values::defaults(PARAMETERS));
    let mut path = TestPath::new(bbr, 1e7, Span::from_millis(10));
    path.run(secs(1.0), |_| {});
    run_to(&mut path, State::Down);
    let began = path.controller.progress.round;
    run_to(&mut path, State::Refill);
    let rounds = path.controller.progress.round - began;
    assert!((61..=64).contains(&rounds), "{rounds}");
}

#[test]
fn gains_are_those_of_the_table() {
    let gains = |state: State| (state.pacing_gain(), state.cwnd_gain());
    assert_eq!(gains(State::Startup), (2.77, 2.0));
    assert_eq!(gains(State::Drain(0)), (0.5, 2.0));
    assert_eq!(gains(State::Down), (0.9, 2.0));
    assert_eq!(gains(State::Cruise), (1.0, 2.0));
    assert_eq!(gains(State::Refill), (1.0, 2.0));
    assert_eq!(gains(State::Up), (1.25, 2.25));
    assert_eq!(gains(State::ProbeRtt), (1.0, 0.5));
}

#[test]
fn every_five_seconds_half_the_bdp_measures_the_rtt_for_200_ms_at_least() {
    let mut path = path();
    let mut visits: Vec<(Time, Time, u64)> = Vec::new();
    path.run(secs(17.0), |path| {
        if path.controller.state == State::ProbeRtt {
            match visits.last_mut() {
                Some((_, last, least)) if path.now.since(*last) < secs(1.0) => {
                    *last = path.now;
                    *least = (*least).min(path.pipe);
                }
                _ => visits.push((path.now, path.now, path.pipe)),
            }
        }
    });
    assert_eq!(visits.len(), 3, "{visits:?}");
    for (from, to, least) in &visits {
        let length = to.since(*from).as_millis_f64();
        assert!((200.0..500.0).contains(&length), "{length}");
        assert!((40 * MSS..=52 * MSS).contains(least), "{least}");
    }
    for pair in visits.windows(2) {
        let between = pair[1].0.since(pair[0].1).as_secs_f64();
        assert!((4.9..5.3).contains(&between), "{between}");
    }
    assert!(path.controller.model.max_bandwidth() > 0.98 * RATE, "the low rates do not count");
}

#[test]
fn a_probe_that_loses_more_than_two_percent_ends_and_bounds_what_is_in_flight() {
    let mut path = cycling(State::Up);
    let now = path.now;
    path.controller.on_segment_lost(&lost(150, 3, now));
    assert_eq!(path.controller.state, State::Up, "2 % and no more");
    assert_eq!(path.controller.model.inflight_long, f64::INFINITY);
    path.controller.on_segment_lost(&lost(150, 4, now));
    assert_eq!(path.controller.state, State::Down);
    // 149 segments before it, 3 of them lost: (0.02 * 149 - 3) / 0.98 = -0.02 segments more.
    let long = path.controller.model.inflight_long / MSS as f64;
    assert!((long - (149.0 - 0.02 / 0.98)).abs() < 1e-9, "{long}");
    path.controller.on_segment_lost(&lost(120, 20, now));
    assert_eq!(path.controller.model.inflight_long / MSS as f64, long, "one answer for each probe");
}

#[test]
fn the_bound_is_not_below_seven_tenths_of_the_target() {
    let mut path = cycling(State::Up);
    let target = path.controller.target_inflight();
    path.controller.on_segment_lost(&lost(20, 10, path.now));
    assert_eq!(path.controller.model.inflight_long, BETA * target);
}

#[test]
fn a_loss_while_the_application_limits_the_probe_sets_no_bound() {
    let mut path = cycling(State::Up);
    let event = LostSegment { app_limited: true, ..lost(150, 10, path.now) };
    path.controller.on_segment_lost(&event);
    assert_eq!(path.controller.state, State::Down);
    assert_eq!(path.controller.model.inflight_long, f64::INFINITY);
}

#[test]
fn the_probe_after_one_that_went_too_high_stops_at_the_bound_and_the_next_does_not() {
    let mut path = path_without_pauses();
    path.run(secs(1.0), |_| {});
    run_to(&mut path, State::Up);
    path.controller.on_segment_lost(&lost(110, 10, path.now));
    let bound = path.controller.model.inflight_long;
    run_to(&mut path, State::Up);
    let states = states(&mut path, secs(2.5));
    let order: Vec<State> =
        states.iter().map(|(state, _)| *state).filter(|s| *s != State::Cruise).collect();
    assert!(order.len() >= 5, "{order:?}, bound {bound}");
    assert_eq!(order[..5], [State::Up, State::Down, State::Refill, State::Up, State::Down]);
    let lasted: Vec<Span> = states.windows(2).map(|pair| pair[1].1.since(pair[0].1)).collect();
    assert!(lasted[0] < secs(0.1), "stopped at {bound} bytes: {lasted:?}");
    let second = states.iter().rposition(|(state, _)| *state == State::Up).unwrap();
    assert!(lasted[second] > secs(0.3), "three rounds: {lasted:?}");
}

#[test]
fn a_round_with_losses_outside_of_probes_lowers_the_short_term_bounds() {
    let mut path = cycling(State::Cruise);
    let bandwidth = path.controller.model.max_bandwidth();
    assert_eq!(path.controller.model.inflight_short, f64::INFINITY);
    path.rate = 0.8 * RATE;
    path.run(secs(0.3), |_| {});
    path.controller.on_segment_lost(&lost(100, 1, path.now));
    assert_eq!(path.controller.model.bandwidth(), bandwidth, "the round is not over");
    path.run(secs(0.25), |_| {});
    let lowered = path.controller.model.bandwidth();
    assert!((lowered / (0.8 * RATE) - 1.0).abs() < 0.03, "{lowered}");
    assert!(path.controller.model.inflight_short.is_finite());
    assert_eq!(path.controller.model.inflight_long, f64::INFINITY);
    run_to(&mut path, State::Refill);
    assert_eq!(path.controller.model.inflight_short, f64::INFINITY);
    assert_eq!(path.controller.model.bandwidth(), path.controller.model.max_bandwidth());
}

#[test]
fn a_mark_of_congestion_lowers_the_short_term_bounds_at_the_end_of_its_round() {
    let mut path = cycling(State::Cruise);
    let before = path.controller.window;
    let event = Loss { now: path.now, flight: path.pipe, repeated: false };
    path.controller.on_congestion_mark(&event);
    assert_eq!(path.controller.window, before);
    path.run(secs(0.25), |_| {});
    assert!(path.controller.model.inflight_short.is_finite());
    assert_eq!(path.controller.model.inflight_long, f64::INFINITY);
}

#[test]
fn the_short_term_bounds_fall_to_seven_tenths_at_most() {
    let mut path = cycling(State::Cruise);
    let bbr = &mut path.controller;
    let (bandwidth, cwnd) = (bbr.model.max_bandwidth(), bbr.window.cwnd as f64);
    bbr.model.forget_congestion();
    bbr.lower_short_term_bounds();
    assert_eq!(bbr.model.bandwidth(), BETA * bandwidth);
    assert_eq!(bbr.model.inflight_short, BETA * cwnd);
    bbr.lower_short_term_bounds();
    assert_eq!(bbr.model.bandwidth(), BETA * (BETA * bandwidth));
}

#[test]
fn the_long_term_bound_grows_by_one_two_and_four_segments_in_a_round() {
    let mut path = cycling(State::Up);
    let bbr = &mut path.controller;
    bbr.window.cwnd = 160 * MSS;
    bbr.model.inflight_long = 160.0 * MSS as f64;
    bbr.cwnd_limited = [true; 2];
    bbr.progress.round_began = false;
    bbr.cycle.doublings = 0;
    let mut grown = Vec::new();
    for _ in 0..4 {
        bbr.steepen_growth();
        let before = bbr.window.cwnd / MSS;
        for _ in 0..before {
            bbr.raise_inflight(MSS);
            bbr.window.cwnd = bbr.model.inflight_long as u64;
        }
        grown.push(bbr.window.cwnd / MSS - before);
    }
    assert_eq!(grown, [1, 2, 4, 8]);
}

#[test]
fn headroom_is_left_below_the_long_term_bound_while_cruising() {
    let mut path = cycling(State::Cruise);
    path.controller.model.inflight_long = 100_000.0;
    path.controller.bound_cwnd();
    assert_eq!(path.controller.window.cwnd, 85_000);
    path.controller.model.inflight_long = 4200.0;
    path.controller.bound_cwnd();
    assert_eq!(path.controller.window.cwnd, 4 * MSS, "four segments at least");
}

#[test]
fn a_short_queue_costs_few_losses_and_little_rate() {
    let mut path = path();
    path.buffer = 0.3 * path.bdp();
    path.run(secs(4.0), |_| {});
    let (delivered, lost) = (path.delivered, path.lost);
    path.run(secs(20.0), |_| {});
    let rate = (path.delivered - delivered) as f64 / 20.0;
    let losses = (path.lost - lost) as f64 / (path.delivered - delivered) as f64;
    assert!(rate > 0.85 * RATE, "{rate}");
    assert!(losses < 0.02, "{losses}");
}

#[test]
fn losses_below_the_threshold_cost_little() {
    let mut path = path();
    path.loses = |number| draw(Time::ZERO, number) < 0.002;
    path.run(secs(4.0), |_| {});
    let delivered = path.delivered;
    path.run(secs(20.0), |_| {});
    let rate = (path.delivered - delivered) as f64 / 20.0;
    assert!(rate > 0.85 * RATE, "{rate}");
}

#[test]
fn ten_times_the_bandwidth_is_found_in_the_next_probes() {
    let mut path = cycling(State::Cruise);
    path.rate = 10.0 * RATE;
    path.run(secs(20.0), |_| {});
    let bandwidth = path.controller.model.max_bandwidth();
    assert!(bandwidth > 9.5 * RATE, "{bandwidth}");
}

#[test]
fn a_tenth_of_the_bandwidth_is_known_after_two_cycles() {
    let mut path = cycling(State::Cruise);
    path.rate = 0.1 * RATE;
    path.buffer = 2.0 * path.bdp();
    path.run(secs(20.0), |_| {});
    let bandwidth = path.controller.model.max_bandwidth();
    assert!((bandwidth / path.rate - 1.0).abs() < 0.1, "{bandwidth}");
}

#[test]
fn the_end_of_recovery_restores_the_window_within_the_bounds() {
    let mut path = cycling(State::Cruise);
    let before = path.controller.window.cwnd;
    path.find_loss();
    path.controller.window.cwnd = 10 * MSS;
    path.controller.on_recovery_exit(path.now);
    assert_eq!(path.controller.window.cwnd, before);
    path.find_loss();
    path.controller.window.cwnd = 10 * MSS;
    path.controller.model.inflight_short = 50_000.0;
    path.controller.on_recovery_exit(path.now);
    assert_eq!(path.controller.window.cwnd, 50_000);
}

#[test]
fn a_timeout_leaves_one_segment_and_its_end_restores_the_window() {
    let mut path = cycling(State::Cruise);
    let before = path.controller.window.cwnd;
    for repeated in [false, true, true] {
        path.controller.on_timeout(&Loss { now: path.now, flight: path.pipe, repeated });
        assert_eq!(path.controller.window.cwnd, MSS);
        assert_eq!(path.controller.prior_cwnd, before);
    }
    // The test path does not know of the timeout: its first ACK says that recovery is over.
    let mut first = None;
    path.run(secs(0.1), |path| {
        first.get_or_insert(path.controller.window.cwnd);
    });
    assert_eq!(first, Some(before));
    assert_eq!(path.controller.window.ssthresh, u64::MAX);
}

#[test]
fn after_silence_the_rate_is_the_bandwidth_and_the_rtt_needs_no_measuring() {
    let mut path = cycling(State::Cruise);
    path.silent = true;
    path.run(secs(6.0), |_| {});
    path.silent = false;
    let (cwnd, bandwidth) = (path.controller.window.cwnd, path.controller.model.bandwidth());
    path.controller.on_idle();
    assert_eq!(path.controller.window.cwnd, cwnd, "the window is kept");
    let mut first = None;
    path.run(secs(0.102), |path| {
        first.get_or_insert((path.controller.state, path.controller.pacing));
    });
    let (state, _) = first.unwrap();
    assert_ne!(state, State::ProbeRtt);
    assert!(path.controller.model.bandwidth() > 0.98 * bandwidth);
}

#[test]
fn startup_goes_on_after_a_pause_for_the_rtt() {
    let bbr = Bbr3::build(&settings(), &Values::defaults(PARAMETERS));
    let mut path = TestPath::new(bbr, 1e7, Span::from_millis(900));
    let states: Vec<State> =
        states(&mut path, secs(14.0)).iter().map(|(state, _)| *state).collect();
    assert_eq!(states[..3], [State::Startup, State::ProbeRtt, State::Startup]);
}

#[test]
fn large_and_long_paths_do_not_overflow() {
    let settings = Settings { initial_window: 10_000 * MSS, ..settings() };
    let bbr = Bbr3::build(&settings, &Values::defaults(PARAMETERS));
    let mut path = TestPath::new(bbr, 1e8, Span::from_secs(1));
    path.buffer = 1e8;
    let mut highest = 0;
    path.run(secs(15.0), |path| {
        assert!(path.controller.pacing.is_finite());
        highest = highest.max(path.controller.window.cwnd);
    });
    assert!(highest > 100_000 * MSS, "{highest}");
}

/// Section 5.2.1: both filters begin with the RTT of the handshake, so ProbeRTT comes one interval
/// after it when no RTT is as small again.
#[test]
fn the_rtt_of_the_handshake_is_the_first_smallest_one() {
    let mut path = path();
    let opened = path.now;
    path.rtt = Span::from_millis(130);
    let mut measured = None;
    path.run(secs(6.0), |path| {
        assert_eq!(path.controller.min_rtt.smallest(), Some(RTT));
        if path.controller.state == State::ProbeRtt {
            measured.get_or_insert(path.now.since(opened).as_secs_f64());
        }
    });
    assert!((5.0..5.02).contains(&measured.unwrap()), "{measured:?}");
}

/// Section 5.3.1.3: six losses apart from each other, and not the share alone.
#[test]
fn few_bursts_of_losses_do_not_end_startup_though_they_are_more_than_two_percent() {
    let mut path = path();
    path.loses = |number| (100..112).contains(&(number % 300));
    let mut ended = None;
    path.run(secs(5.0), |path| {
        if path.controller.state != State::Startup {
            ended.get_or_insert((path.controller.model.inflight_long, path.lost));
        }
    });
    let (long, lost) = ended.unwrap();
    assert_eq!(long, f64::INFINITY, "the rate has ended Startup");
    assert!(lost > 20 * MSS, "{lost}");
}

/// Section 5.6.4.4.
#[test]
fn the_end_of_recovery_restores_the_window_that_it_began_with() {
    let mut path = cycling(State::Cruise);
    let before = path.controller.window.cwnd;
    let event = Loss { now: path.now, flight: path.pipe, repeated: false };
    path.controller.on_loss(&event);
    path.controller.window.cwnd = 10 * MSS;
    path.controller.on_recovery_exit(path.now);
    assert_eq!(path.controller.window.cwnd, before);
}

/// Section 5.3.4.3: the filter of `min_rtt` takes what is smaller, or is ten seconds younger.
#[test]
fn a_smaller_rtt_is_taken_at_once_and_a_larger_one_after_ten_seconds() {
    let mut filter = MinRtt::every(secs(5.0));
    let mut after = |seconds: f64, rtt: u64| {
        filter.take(Time::ZERO + secs(seconds), Some(Span::from_millis(rtt)));
        filter.smallest().unwrap().as_millis_f64() as u64
    };
    assert_eq!(after(0.0, 100), 100);
    assert_eq!(after(1.0, 100), 100);
    assert_eq!(after(2.0, 90), 90);
    assert_eq!(after(7.5, 120), 90, "the short filter only");
    assert_eq!(after(11.9, 110), 90);
    assert_eq!(after(12.1, 115), 110);
}

/// Section 5.6.4.2.
#[test]
fn only_a_probe_has_room_for_two_segments_more() {
    let mut path = cycling(State::Cruise);
    let mut room = |state| {
        path.controller.state = state;
        path.controller.inflight(1.0, 0.0)
    };
    let cruising = room(State::Cruise);
    assert_eq!(room(State::Up) - cruising, 2.0 * MSS as f64);
    for state in [State::Startup, State::Drain(0), State::Down, State::Refill, State::ProbeRtt] {
        assert_eq!(room(state), cruising, "{state:?}");
    }
}
