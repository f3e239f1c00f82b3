use super::*;
use crate::controllers::leocc::LeoCc;
use crate::parameters::Value;
use crate::parts::test_path::{MSS, TestPath, settings};

const RTT: Span = Span::from_millis(100);
/// 1000 segments per second: a BDP of 100 segments.
const RATE: f64 = 1e6;

fn path() -> TestPath<Bbr> {
    let bbr = Bbr::build(&settings(), &Values::defaults(PARAMETERS));
    TestPath::new(bbr, RATE, RTT)
}

fn secs(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

/// In `ProbeBW`, a few cycles on.
fn cruising() -> TestPath<Bbr> {
    let mut path = path();
    path.run(secs(6.0), |_| {});
    assert!(matches!(path.controller.state, State::ProbeBw { .. }));
    path
}

fn loss(path: &TestPath<Bbr>) -> Loss {
    Loss { now: path.now, flight: path.pipe, repeated: false }
}

#[test]
fn startup_finds_the_rate() {
    let mut path = path();
    let mut rates = Vec::new();
    path.run(secs(2.0), |path| {
        if path.controller.state == State::Startup {
            rates.push((path.controller.progress.round, path.controller.bandwidth.max()));
        }
    });
    let bandwidth = path.controller.bandwidth.max();
    assert!((bandwidth / RATE - 1.0).abs() < 0.02, "{bandwidth}");
    assert_eq!(path.controller.min_rtt, Some(RTT), "that of the handshake");
    let at_end = |round| rates.iter().rev().find(|(r, _)| *r == round).unwrap().1;
    assert!(at_end(4) > 1.7 * at_end(3), "it doubles with each round: {rates:?}");
}

#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut path = path();
    let mut full_since = None;
    let mut ended = 0;
    path.run(secs(3.0), |path| {
        let bbr = &path.controller;
        if full_since.is_none() && bbr.bandwidth.max() > 0.98 * RATE {
            full_since = Some(bbr.progress.round);
        }
        if bbr.state == State::Startup {
            ended = bbr.progress.round;
        }
    });
    let rounds = ended - full_since.unwrap();
    assert!((2..=4).contains(&rounds), "{rounds}");
}

#[test]
fn drain_empties_the_queue() {
    let mut path = path();
    let (mut highest, mut drained) = (0.0, None);
    path.run(secs(3.0), |path| {
        let queue = path.queue();
        highest = f64::max(highest, queue);
        if drained.is_none() && matches!(path.controller.state, State::ProbeBw { .. }) {
            drained = Some(queue);
        }
    });
    assert!(highest > 0.8 * path.bdp(), "{highest}");
    assert!(drained.unwrap() < 0.15 * path.bdp(), "{drained:?}");
}

#[test]
fn probe_bw_goes_through_its_gains_in_order() {
    let mut path = cruising();
    let mut phases = Vec::new();
    path.run(secs(3.0), |path| {
        if let State::ProbeBw { phase, since } = path.controller.state
            && phases.last().is_none_or(|(last, _)| *last != phase)
        {
            phases.push((phase, since));
        }
    });
    assert!(phases.len() > 16, "{phases:?}");
    for pair in phases.windows(2) {
        assert_eq!(pair[1].0, (pair[0].0 + 1) % 8);
        let lasted = pair[1].1.since(pair[0].1);
        let expected = if pair[0].0 == 1 { 50..=106 } else { 101..=140 };
        assert!(expected.contains(&(lasted.as_millis_f64() as i32)), "{pair:?}");
    }
    assert_eq!(CYCLE.iter().sum::<f64>(), 8.0, "on average the rate of the path");
}

#[test]
fn probe_bw_uses_the_path_and_leaves_the_queue_almost_empty() {
    let mut path = cruising();
    let (delivered, mut queues) = (path.delivered, Vec::new());
    path.run(secs(3.0), |path| queues.push(path.queue()));
    let rate = (path.delivered - delivered) as f64 / 3.0;
    assert!(rate > 0.96 * RATE, "{rate}");
    let mean = queues.iter().sum::<f64>() / queues.len() as f64;
    assert!(mean < 0.2 * path.bdp(), "{mean}");
}

#[test]
fn cwnd_is_two_bandwidth_delay_products_and_room_for_bursts() {
    let path = cruising();
    let target = path.controller.inflight(CWND_GAIN, path.controller.excess);
    let two = 2.0 * path.controller.bandwidth.max() * 0.101;
    assert!(target as f64 >= two + 6.0 * MSS as f64, "{target}");
    assert!((target as f64) < two + 14.0 * MSS as f64, "{target}");
    assert_eq!(path.controller.window.cwnd, target);
}

#[test]
fn every_ten_seconds_four_segments_measure_the_rtt_for_200_ms_at_least() {
    let mut path = path();
    let mut visits: Vec<(Time, Time, u64)> = Vec::new();
    path.run(secs(25.0), |path| {
        let State::ProbeRtt(step) = path.controller.state else { return };
        match visits.last_mut() {
            Some((_, last, least)) if path.now.since(*last) < secs(1.0) => {
                *last = path.now;
                *least = (*least).min(path.pipe);
            }
            _ => visits.push((path.now, path.now, path.pipe)),
        }
        assert!(path.controller.window.cwnd <= 4 * MSS || step == ProbeRtt::Emptying);
    });
    assert_eq!(visits.len(), 2, "{visits:?}");
    for (from, to, least) in &visits {
        let length = to.since(*from).as_millis_f64();
        assert!((200.0..450.0).contains(&length), "{length}");
        assert!(*least <= 4 * MSS);
    }
    let between = visits[1].0.since(visits[0].1).as_secs_f64();
    assert!((9.9..10.3).contains(&between), "{between}");
    assert!(path.controller.bandwidth.max() > 0.98 * RATE, "the low rates do not count");
}

#[test]
fn on_a_long_path_the_rtt_is_measured_for_a_round() {
    let bbr = Bbr::build(&settings(), &Values::defaults(PARAMETERS));
    let mut path = TestPath::new(bbr, RATE, Span::from_millis(600));
    let (mut from, mut to) = (None, None);
    path.run(secs(25.0), |path| match path.controller.state {
        State::ProbeRtt(ProbeRtt::Measuring { .. }) => {
            from.get_or_insert(path.now);
        }
        _ if from.is_some() => {
            to.get_or_insert(path.now);
        }
        _ => {}
    });
    let length = to.unwrap().since(from.unwrap()).as_millis_f64();
    assert!((600.0..620.0).contains(&length), "{length}");
}

#[test]
fn a_lower_rtt_is_taken_at_once_and_a_higher_one_after_ten_seconds() {
    let mut path = cruising();
    let min_rtt = |path: &TestPath<Bbr>| path.controller.min_rtt.unwrap().as_millis_f64();
    path.rtt = Span::from_millis(80);
    path.run(secs(1.0), |_| {});
    let lower = min_rtt(&path);
    assert!((81.0..95.0).contains(&lower), "{lower}");
    path.rtt = Span::from_millis(120);
    path.run(secs(8.0), |_| {});
    assert_eq!(min_rtt(&path), lower);
    path.run(secs(4.0), |_| {});
    assert!((121.0..125.0).contains(&min_rtt(&path)), "{}", min_rtt(&path));
}

#[test]
fn losses_at_random_cost_little() {
    let mut path = path();
    path.loses = |number| draw(Time::ZERO, number) < 0.01;
    path.run(secs(5.0), |_| {});
    let delivered = path.delivered;
    path.run(secs(4.0), |_| {});
    let rate = (path.delivered - delivered) as f64 / 4.0;
    assert!(rate > 0.93 * RATE, "{rate}");
}

#[test]
fn the_first_round_of_recovery_sends_what_arrives_and_its_end_restores_the_window() {
    let mut path = cruising();
    let before = path.controller.window.cwnd;
    let (pipe, acked) = (path.controller.pipe, path.controller.acked);
    path.find_loss();
    assert_eq!(path.controller.window.cwnd, pipe + acked);
    assert!(path.controller.conserving);
    let mut round = None;
    path.run(secs(0.09), |path| {
        round.get_or_insert(path.controller.progress.round);
        assert_eq!(path.controller.progress.round, round.unwrap());
        assert!(path.controller.window.cwnd <= pipe + acked + MSS);
    });
    path.controller.on_recovery_exit(path.now);
    assert!(!path.controller.conserving);
    assert!(path.controller.window.cwnd >= before - 4 * MSS, "{}", path.controller.window.cwnd);
}

#[test]
fn after_the_first_round_of_recovery_the_window_grows_by_what_arrives() {
    let mut path = cruising();
    let event = loss(&path);
    path.controller.on_loss(&event);
    path.controller.conserving = false;
    path.controller.window.cwnd = 20 * MSS;
    path.controller.grow_towards_target(3 * MSS);
    assert_eq!(path.controller.window.cwnd, 23 * MSS);
}

#[test]
fn a_timeout_leaves_one_segment_and_its_end_restores_the_window() {
    let mut path = cruising();
    let before = path.controller.window.cwnd;
    for repeated in [false, true, true] {
        let event = Loss { repeated, ..loss(&path) };
        path.controller.on_timeout(&event);
        assert_eq!(path.controller.window.cwnd, MSS);
        assert_eq!(path.controller.prior_cwnd, before);
    }
    // The test path does not know of the timeout: its first ACK says that recovery is over.
    let mut first = None;
    path.run(secs(0.1), |path| {
        first.get_or_insert(path.controller.window.cwnd);
    });
    assert!(first.unwrap() >= before - 4 * MSS, "{first:?}");
    assert_eq!(path.controller.window.ssthresh, u64::MAX);
}

#[test]
fn after_silence_the_rate_is_the_bandwidth_and_the_rtt_needs_no_measuring() {
    let mut path = cruising();
    path.silent = true;
    path.run(secs(12.0), |_| {});
    path.silent = false;
    let bandwidth = path.controller.bandwidth.max();
    let cwnd = path.controller.window.cwnd;
    path.controller.on_idle();
    assert_eq!(path.controller.window.cwnd, cwnd, "the window is kept");
    let mut first = None;
    path.run(secs(0.102), |path| {
        first.get_or_insert(path.controller.state);
    });
    assert!(matches!(first, Some(State::ProbeBw { .. })), "{first:?}");
    assert!(path.controller.bandwidth.max() > 0.98 * bandwidth);
}

#[test]
fn the_rate_falls_to_that_of_the_path_within_ten_rounds() {
    let mut path = cruising();
    path.rate = RATE / 2.0;
    path.run(secs(8.0), |_| {});
    let bandwidth = path.controller.bandwidth.max();
    assert!((bandwidth / path.rate - 1.0).abs() < 0.05, "{bandwidth}");
}

#[test]
fn the_phase_in_which_probing_begins_is_never_that_of_the_low_gain() {
    let mut bbr = Bbr::build(&settings(), &Values::defaults(PARAMETERS));
    let mut seen = [0; 8];
    for n in 0..1000 {
        bbr.enter_probe_bw(Time::ZERO + Span::from_millis(17 * n));
        let State::ProbeBw { phase, .. } = bbr.state else { panic!() };
        seen[phase] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(phase, n)| phase == 1 || *n > 90), "{seen:?}");
}

#[test]
fn large_and_long_paths_do_not_overflow() {
    let settings = Settings { initial_window: 10_000 * MSS, ..settings() };
    let bbr = Bbr::build(&settings, &Values::defaults(PARAMETERS));
    let mut path = TestPath::new(bbr, 1e8, Span::from_secs(1));
    path.buffer = 1e8;
    path.run(secs(9.0), |path| assert!(path.controller.pacing.is_finite()));
    assert!(path.controller.window.cwnd > 150_000 * MSS, "{}", path.controller.window.cwnd);
}

#[test]
fn marks_of_congestion_change_nothing() {
    let mut path = cruising();
    let before = path.controller.window;
    let event = loss(&path);
    path.controller.on_congestion_mark(&event);
    assert_eq!(path.controller.window, before);
}

#[test]
fn startup_goes_on_after_a_pause_for_the_rtt_whose_rates_do_not_count() {
    let bbr = Bbr::build(&settings(), &Values::defaults(PARAMETERS));
    let mut path = TestPath::new(bbr, 1e8, Span::from_millis(900));
    let (mut before, mut after) = (None, None);
    path.run(secs(14.0), |path| {
        let bbr = &path.controller;
        match bbr.state {
            State::ProbeRtt(_) => before = before.or(Some(bbr.full_pipe.flat_rounds)),
            state if before.is_some() && after.is_none() => {
                after = Some((state, bbr.full_pipe.flat_rounds));
            }
            _ => {}
        }
    });
    assert_eq!(after, Some((State::Startup, before.unwrap())));
}

/// `bbr_init`: the smallest RTT and its ten seconds begin with the handshake, so a path whose queue
/// never lets an RTT be as small again is measured ten seconds after it.
#[test]
fn the_rtt_of_the_handshake_is_the_first_smallest_one() {
    let mut path = path();
    let opened = path.now;
    path.rtt = Span::from_millis(130);
    path.run(secs(9.9), |path| {
        assert_eq!(path.controller.min_rtt, Some(RTT), "{:?}", path.now);
        assert!(!matches!(path.controller.state, State::ProbeRtt(_)), "{:?}", path.now);
    });
    let mut measured = None;
    path.run(secs(0.3), |path| {
        if matches!(path.controller.state, State::ProbeRtt(_)) {
            measured.get_or_insert(path.now.since(opened).as_secs_f64());
        }
    });
    assert!((10.0..10.02).contains(&measured.unwrap()), "{measured:?}");
}

/// `bbr_high_gain` and `bbr_drain_gain` count in 1/256: 2.885 rounded up, its inverse rounded down.
#[test]
fn gains_of_startup_and_drain_are_whole_steps_of_the_kernel() {
    let mut bbr = Bbr::build(&settings(), &Values::defaults(PARAMETERS));
    bbr.on_rtt(Time::ZERO + RTT, RTT);
    // Ten segments in 100 ms, times the gain, less 1 %.
    let initial = 10.0 * MSS as f64 / 0.1;
    assert!((bbr.pacing / initial - 0.99 * 2.886_718_75).abs() < 1e-9, "{}", bbr.pacing);
    let mut path = path();
    let mut drained = None;
    path.run(secs(3.0), |path| {
        if path.controller.state == State::Drain {
            drained = Some(path.controller.pacing / path.controller.bandwidth.max());
        }
    });
    assert!((drained.unwrap() - 0.99 * 0.343_75).abs() < 1e-9, "{drained:?}");
}

/// A flow that never pauses for the RTT, whose rates would not count.
fn path_without_pauses() -> TestPath<Bbr> {
    let mut values = Values::defaults(PARAMETERS);
    values.set("bbr", "probe_rtt_interval", Value::Number(1e6)).unwrap();
    TestPath::new(Bbr::build(&settings(), &values), RATE, RTT)
}

#[test]
fn lower_rates_replace_the_largest_after_ten_rounds_unless_the_application_limits_them() {
    for (limited, expected) in [(false, 0.5 * RATE), (true, RATE)] {
        let mut path = path_without_pauses();
        path.run(secs(3.0), |_| {});
        path.rate = 0.5 * RATE;
        path.app_limited = limited;
        path.run(secs(8.0), |_| {});
        let bandwidth = path.controller.bandwidth.max();
        assert!((bandwidth / expected - 1.0).abs() < 0.05, "{bandwidth}, limited: {limited}");
    }
}

#[test]
fn no_event_gives_ssthresh_a_meaning() {
    let mut path = cruising();
    let event = loss(&path);
    assert_eq!(path.controller.threshold_after_loss(&event), u64::MAX);
    path.controller.on_loss(&event);
    path.controller.on_timeout(&event);
    assert_eq!(path.controller.window.ssthresh, u64::MAX);
}

fn leocc() -> LeoCc {
    LeoCc::build(&settings(), &Values::defaults(LeoCc::LISTED[0].parameters))
}

/// `bbr_ssthresh` comes before `bbr_main` of the same ACK.
#[test]
fn a_loss_keeps_the_window_before_its_ack_where_the_order_is_that_of_a_module() {
    fn kept<R: Rules>(mut bbr: Machine<R>, later: Span) -> u64 {
        let at = Time::ZERO + secs(1.0);
        bbr.before = (at, 30 * MSS);
        bbr.window.cwnd = 32 * MSS;
        bbr.on_loss(&Loss { now: at + later, flight: 0, repeated: false });
        bbr.prior_cwnd / MSS
    }
    assert_eq!(kept(leocc(), Span::ZERO), 30);
    assert_eq!(kept(leocc(), RTT), 32, "found without an ACK");
    assert_eq!(kept(path().controller, Span::ZERO), 32);
}

/// `bbr_packets_in_net_at_edt` adds a burst while the gain is above 1.
#[test]
fn the_next_burst_counts_while_a_module_probes_for_more() {
    let mut leocc = leocc();
    (leocc.gain, leocc.pacing) = (1.25, 1e7);
    assert_eq!(leocc.next_burst(), leocc.burst());
    assert!(leocc.burst() > 0);
    leocc.gain = 1.0;
    assert_eq!(leocc.next_burst(), 0);
    let mut bbr = path().controller;
    bbr.gain = 1.25;
    assert_eq!(bbr.next_burst(), 0);
}

/// The kernel does not pace at a rate of zero.
#[test]
fn a_bandwidth_of_zero_ends_pacing_in_a_module() {
    fn paced<R: Rules>(mut bbr: Machine<R>) -> bool {
        bbr.full_pipe.reach();
        bbr.set_pacing(1.25, 0.0);
        bbr.pacing_rate().is_some()
    }
    assert!(!paced(leocc()));
    assert!(paced(path().controller), "the rate before");
}
