use super::*;
use crate::events::samples::{ack, loss};
use crate::parameters::Value;
use crate::parts::vegas_estimator::tests::{MSS, feedback};

/// Base RTT in milliseconds.
const BASE: u64 = 500;

fn vegas_with(initial_ssthresh: u64, parameters: &[(&str, Value)]) -> ScpsVegas {
    let mut values = Values::defaults(PARAMETERS);
    for (name, value) in parameters {
        values.set("scps-vegas", name, value.clone()).unwrap();
    }
    let settings =
        Settings { mss: MSS as u32, initial_window: 10 * MSS, initial_ssthresh, byte_counting: 1 };
    ScpsVegas::build(&settings, &values)
}

/// The first round has measured the base RTT, and cwnd is `segments` segments.
fn starting_with(segments: u64, parameters: &[(&str, Value)]) -> ScpsVegas {
    let mut vegas = vegas_with(u64::MAX, parameters);
    vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 2, 20, BASE) });
    vegas.window.cwnd = segments * MSS;
    vegas.noted = None;
    vegas
}

fn starting(segments: u64) -> ScpsVegas {
    starting_with(segments, &[])
}

/// In the linear phase.
fn linear(segments: u64) -> ScpsVegas {
    let mut vegas = starting(segments);
    vegas.begin_linear_phase(segments * MSS);
    vegas
}

/// An ACK of `behind` segments behind the timed one, with this RTT.
fn end_round(vegas: &mut ScpsVegas, behind: u64, rtt: u64) {
    let acknowledged = vegas.timed.unwrap() / MSS + behind;
    let sent = acknowledged + 20;
    vegas.on_feedback(&feedback(0, acknowledged, sent, rtt));
    vegas.on_ack(&ack(MSS));
}

/// A round with the backlog that the timed segment and those before it have with this RTT.
fn round(vegas: &mut ScpsVegas, rtt: u64) -> u64 {
    end_round(vegas, 1, rtt);
    vegas.window.cwnd
}

#[test]
fn the_first_round_ends_with_more_than_the_first_segment() {
    let mut vegas = vegas_with(u64::MAX, &[]);
    vegas.on_feedback(&feedback(0, 1, 11, BASE));
    vegas.on_ack(&ack(MSS));
    assert_eq!(vegas.window.cwnd, 10 * MSS);
    vegas.on_feedback(&feedback(0, 2, 12, BASE));
    vegas.on_ack(&ack(MSS));
    assert_eq!(vegas.window.cwnd, 20 * MSS);
}

#[test]
fn the_next_round_ends_with_more_than_the_first_segment_that_is_sent_in_it() {
    let mut vegas = vegas_with(u64::MAX, &[]);
    let mut acknowledge = |segments, sent| {
        vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, segments, sent, BASE) });
        vegas.on_ack(&ack(2 * MSS));
        vegas.window.cwnd / MSS
    };
    assert_eq!(acknowledge(2, 10), 20);
    assert_eq!(acknowledge(10, 22), 20);
    assert_eq!(acknowledge(11, 31), 20, "the timed segment alone");
    assert_eq!(acknowledge(12, 32), 40);
}

#[test]
fn a_round_waits_for_an_ack_with_a_sample() {
    let mut vegas = linear(41);
    let without = Feedback { round_trip: None, ..feedback(0, 30, 60, BASE) };
    vegas.on_feedback(&without);
    vegas.on_ack(&ack(MSS));
    assert_eq!(vegas.window.cwnd, 41 * MSS);
    assert_eq!(round(&mut vegas, BASE), 42 * MSS);
}

#[test]
fn a_duplicate_ack_ends_no_round() {
    let mut vegas = linear(41);
    let duplicate = Feedback { acked: 0, duplicate: true, ..feedback(0, 30, 60, BASE) };
    vegas.on_feedback(&duplicate);
    vegas.on_ack(&ack(MSS));
    assert_eq!(vegas.window.cwnd, 41 * MSS);
}

#[test]
fn below_alpha_the_window_grows_by_a_segment() {
    // 40 segments of the window less 500/520 of them: 38.46, and so 2 in the queue.
    assert_eq!(round(&mut linear(41), 520), 42 * MSS);
}

#[test]
fn from_alpha_to_beta_the_window_stays() {
    // 3 and 5 of 40 in the queue.
    for rtt in [540, 571] {
        assert_eq!(round(&mut linear(41), rtt), 41 * MSS);
    }
}

#[test]
fn above_beta_the_window_falls_by_half_of_the_excess_and_a_segment() {
    // 6 and 8 of 40 in the queue.
    for (rtt, left) in [(572, 39_500), (625, 38_500)] {
        assert_eq!(round(&mut linear(41), rtt), left);
    }
}

#[test]
fn what_is_acknowledged_behind_the_timed_segment_is_no_part_of_its_window() {
    // A fifth of 30 segments waits, of one segment, and of all 40 again.
    for (behind, left) in [(10, 38_500), (39, 41_000), (40, 41_000), (41, 37_500)] {
        let mut vegas = linear(40);
        end_round(&mut vegas, behind, 625);
        assert_eq!(vegas.window.cwnd, left, "{behind}");
    }
}

/// One of one waits, and that is not below an alpha of one.
#[test]
fn the_timed_segment_saw_at_least_one() {
    let mut vegas = linear(40);
    vegas.alpha = 1.0;
    end_round(&mut vegas, 40, 625);
    assert_eq!(vegas.window.cwnd, 40 * MSS);
}

#[test]
fn a_window_that_falls_is_not_in_slow_start() {
    let mut vegas = linear(41);
    round(&mut vegas, 625);
    assert!(!vegas.window.in_slow_start());
}

#[test]
fn a_window_of_a_segment_that_grows_stays_in_the_linear_phase() {
    let mut vegas = linear(1);
    assert_eq!(round(&mut vegas, BASE), 2 * MSS);
    assert!(vegas.is_linear);
}

#[test]
fn a_window_of_a_segment_begins_the_exponential_phase() {
    let mut vegas = linear(2);
    (vegas.alpha, vegas.beta) = (0.0, 0.5);
    assert_eq!(round(&mut vegas, 100_000), MSS);
    assert!(!vegas.is_linear);
}

#[test]
fn a_window_that_cannot_hold_more_than_beta_does_not_fall() {
    let mut vegas = linear(8);
    // Whatever is seen waits: 7 of 8, and 5 of 6.
    let windows: Vec<_> = (0..3).map(|_| round(&mut vegas, 100_000) / MSS).collect();
    assert_eq!(windows, [6, 6, 6]);
}

#[test]
fn up_to_gamma_the_window_doubles_at_once() {
    // 4 of 40 in the queue.
    let mut vegas = starting(41);
    assert_eq!(round(&mut vegas, 555), 82 * MSS);
    assert!(!vegas.is_linear);
}

#[test]
fn above_gamma_the_linear_phase_begins_with_the_whole_window() {
    // 5 of 40 in the queue.
    let mut vegas = starting(41);
    assert_eq!(round(&mut vegas, 571), 41 * MSS);
    assert!(vegas.is_linear && !vegas.window.in_slow_start());
    assert_eq!(round(&mut vegas, BASE), 42 * MSS);
}

fn every_other_round() -> [(&'static str, Value); 1] {
    [("slow_start", Value::Word("every-other-round".to_owned()))]
}

#[test]
fn the_window_doubles_in_every_other_round_if_chosen() {
    let mut vegas = starting_with(10, &every_other_round());
    let windows: Vec<_> = (0..5).map(|_| round(&mut vegas, BASE) / MSS).collect();
    assert_eq!(windows, [10, 20, 20, 40, 40]);
}

#[test]
fn a_round_without_growth_looks_at_no_backlog() {
    let mut vegas = starting_with(41, &every_other_round());
    round(&mut vegas, 5000);
    assert!(!vegas.is_linear);
    round(&mut vegas, 5000);
    assert!(vegas.is_linear);
}

#[test]
fn a_window_of_one_segment_doubles_in_any_round() {
    let mut vegas = starting_with(1, &every_other_round());
    assert_eq!(round(&mut vegas, BASE), 2 * MSS);
    assert_eq!(round(&mut vegas, BASE), 2 * MSS);
    assert_eq!(round(&mut vegas, BASE), 4 * MSS);
}

#[test]
fn an_initial_ssthresh_ends_the_exponential_phase() {
    let mut vegas = vegas_with(30 * MSS, &[]);
    vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 2, 20, BASE) });
    vegas.on_ack(&ack(MSS));
    let windows: Vec<_> = (0..3).map(|_| round(&mut vegas, BASE) / MSS).collect();
    assert_eq!(windows, [30, 31, 32]);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for mut vegas in [linear(41), starting(41)] {
        vegas.on_feedback(&feedback(0, 30, 60, BASE));
        vegas.on_ack(&Ack { cwnd_limited: false, ..ack(MSS) });
        assert_eq!(vegas.window.cwnd, 41 * MSS);
        vegas.on_feedback(&feedback(0, 31, 61, BASE));
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, 41 * MSS, "growth of another ACK");
    }
}

#[test]
fn the_window_does_not_grow_beyond_that_of_the_receiver() {
    for (mut vegas, expected) in [(starting(30), [40, 40]), (linear(39), [40, 40])] {
        for expected in expected {
            let end = vegas.timed.unwrap() / MSS;
            let feedback = feedback(0, end + 1, end + 21, BASE);
            vegas.on_feedback(&Feedback { advertised: 40 * MSS, ..feedback });
            vegas.on_ack(&ack(MSS));
            assert_eq!(vegas.window.cwnd, expected * MSS);
        }
        assert_eq!(round(&mut vegas, BASE) > 41 * MSS, !vegas.is_linear, "the phase stays");
    }
}

#[test]
fn the_window_settles_with_a_backlog_between_alpha_and_beta() {
    // A path of 50 segments: what is above it waits, and the RTT grows with it.
    let mut vegas = starting(10);
    let mut windows = Vec::new();
    for _ in 0..40 {
        let rtt = BASE.max(BASE * vegas.window.cwnd / (50 * MSS));
        windows.push(round(&mut vegas, rtt) / MSS);
    }
    assert_eq!(windows[..3], [20, 40, 80], "twice the path is not above it in its first round");
    let waiting = windows[39] - 50;
    assert!((3..=5).contains(&waiting), "{windows:?}");
}

#[test]
fn the_base_rtt_is_the_smallest_of_the_connection() {
    let mut vegas = linear(41);
    for _ in 0..3000 {
        round(&mut vegas, 560);
    }
    // 450 ms once, then 5 of 40 again.
    let kept = vegas.window.cwnd;
    round(&mut vegas, 450);
    assert_eq!(vegas.window.cwnd, kept + MSS);
    assert_eq!(vegas.base_rtt, Some(Span::from_millis(450)));
    vegas.window.cwnd = 41 * MSS;
    // 8 of 40 wait now.
    assert_eq!(round(&mut vegas, 560), 38_500);
}

#[test]
fn a_loss_halves_the_window_and_begins_the_linear_phase() {
    let mut vegas = starting(41);
    vegas.on_loss(&loss(30 * MSS));
    vegas.on_recovery_exit(units::Time::ZERO);
    assert_eq!(vegas.window.cwnd, 20_500);
    assert!(vegas.is_linear && !vegas.window.in_slow_start());
    assert_eq!(round(&mut vegas, BASE), 21_500);
}

#[test]
fn a_loss_that_leaves_a_segment_begins_the_exponential_phase() {
    for segments in [1, 2] {
        let mut vegas = linear(segments);
        vegas.on_loss(&loss(MSS));
        assert_eq!((vegas.window.cwnd, vegas.is_linear), (MSS, false));
    }
}

#[test]
fn a_round_that_ends_in_recovery_measures_nothing() {
    let mut vegas = linear(41);
    vegas.on_loss(&loss(41 * MSS));
    let end = vegas.timed.unwrap() / MSS;
    for (acknowledged, rtt) in [(end + 5, 300), (end + 30, 5000)] {
        let recovering = feedback(0, acknowledged, acknowledged + 20, rtt);
        vegas.on_feedback(&Feedback { recovering: true, ..recovering });
    }
    assert_eq!((vegas.window.cwnd, vegas.base_rtt), (20_500, Some(Span::from_millis(BASE))));
    // The segment is timed that was sent then.
    assert_eq!(vegas.timed, Some((end + 30 + 20 + 1) * MSS));
}

#[test]
fn a_mark_takes_back_the_growth_of_its_ack() {
    let mut vegas = starting(40);
    vegas.on_feedback(&feedback(0, 30, 60, BASE));
    vegas.on_congestion_mark(&loss(40 * MSS));
    vegas.on_ack(&ack(MSS));
    assert_eq!(vegas.window.cwnd, 20 * MSS);
}

#[test]
fn a_timeout_leaves_a_segment_and_half_the_window_as_ssthresh() {
    let mut vegas = linear(41);
    vegas.on_timeout(&loss(10 * MSS));
    assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (MSS, 20_500));
    vegas.on_timeout(&Loss { repeated: true, ..loss(MSS) });
    assert_eq!((vegas.window.cwnd, vegas.window.ssthresh), (MSS, 20_500));
    assert!(!vegas.is_linear);
    let mut vegas = linear(3);
    vegas.on_timeout(&loss(MSS));
    assert_eq!(vegas.window.ssthresh, 2 * MSS);
}

#[test]
fn a_timeout_takes_back_the_growth_of_the_last_ack_and_times_another_segment() {
    let mut vegas = starting(41);
    vegas.on_feedback(&feedback(0, 30, 60, BASE));
    vegas.on_timeout(&loss(30 * MSS));
    vegas.on_ack(&ack(MSS));
    assert_eq!((vegas.window.cwnd, vegas.timed), (MSS, None));
}

#[test]
fn the_exponential_phase_goes_on_beyond_ssthresh() {
    let mut vegas = linear(8);
    vegas.on_timeout(&loss(8 * MSS));
    vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 40, 60, BASE) });
    vegas.on_ack(&ack(2 * MSS));
    let windows: Vec<_> = (0..4).map(|_| round(&mut vegas, BASE) / MSS).collect();
    assert_eq!(windows, [4, 8, 16, 32]);
}

#[test]
fn while_a_timeout_is_repaired_slow_start_goes_up_to_ssthresh() {
    let mut vegas = linear(8);
    vegas.on_timeout(&loss(8 * MSS));
    for acknowledged in 0..20 {
        let repairing = feedback(0, acknowledged, 60, BASE);
        vegas.on_feedback(&Feedback { recovering: true, ..repairing });
        vegas.on_ack(&ack(MSS));
        assert_eq!(vegas.window.cwnd, (2 + acknowledged).min(4) * MSS);
    }
}

#[test]
fn after_four_timeouts_in_a_row_the_base_rtt_is_measured_again() {
    for timeouts in [3, 4] {
        let mut vegas = linear(41);
        for _ in 0..timeouts {
            vegas.on_timeout(&loss(MSS));
        }
        vegas.on_feedback(&Feedback { acked: 2 * MSS, ..feedback(0, 40, 60, 900) });
        let expected = if timeouts == 4 { 900 } else { BASE };
        assert_eq!(vegas.base_rtt, Some(Span::from_millis(expected)));
    }
}

#[test]
fn timeouts_with_an_ack_between_them_are_not_in_a_row() {
    let mut vegas = linear(41);
    for _ in 0..8 {
        vegas.on_timeout(&loss(MSS));
        vegas.on_feedback(&feedback(0, 40, 60, 900));
    }
    assert_eq!(vegas.base_rtt, Some(Span::from_millis(BASE)));
}

#[test]
fn after_a_spurious_loss_window_and_phase_are_what_they_were() {
    for (vegas, is_linear) in [(starting(41), false), (linear(41), true)] {
        for is_timeout in [false, true] {
            let mut vegas = vegas.clone();
            let before = vegas.window;
            if is_timeout {
                vegas.on_timeout(&loss(41 * MSS));
                vegas.on_timeout(&Loss { repeated: true, ..loss(MSS) });
            } else {
                vegas.on_loss(&loss(41 * MSS));
            }
            vegas.on_spurious_loss(before.cwnd, before.ssthresh);
            assert_eq!((vegas.window.cwnd, vegas.is_linear), (41 * MSS, is_linear));
        }
    }
}

#[test]
fn an_idle_period_leaves_the_initial_window_in_the_exponential_phase() {
    let mut vegas = linear(41);
    vegas.on_idle();
    assert_eq!(vegas.window.cwnd, 10 * MSS);
    assert_eq!(round(&mut vegas, BASE), 20 * MSS);
    let mut vegas = linear(8);
    vegas.on_idle();
    assert_eq!(round(&mut vegas, BASE), 9 * MSS, "a window below the initial one stays");
}

#[test]
fn a_window_of_100_000_segments_and_an_rtt_of_a_minute_are_followed() {
    let mut vegas = linear(100_001);
    vegas.base_rtt = None;
    assert_eq!(round(&mut vegas, 60_000), 100_002 * MSS);
    // 100 001 segments less 100 001 / 1.001: 100.
    assert_eq!(round(&mut vegas, 60_060), 100_002 * MSS - 95 * MSS / 2 - MSS);
}

#[test]
fn a_round_trip_of_no_time_is_no_sample() {
    let mut vegas = linear(41);
    assert_eq!(round(&mut vegas, 0), 41 * MSS);
    assert_eq!(vegas.base_rtt, Some(Span::from_millis(BASE)));
}
