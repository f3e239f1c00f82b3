//! The losses of the built-in fade of `bentpipe compare`, which a channel has in addition to its
//! own.
//!
//! They are those of a modem that loses the signal: QPSK with 11 dB in clear sky behind a
//! sequential decoder, under the event of `fade.csv`. A packet has 1500 bytes.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::fmt::Write as _;

use link::{Awgn, Budget, Code, Fade, Lock};
use units::{Span, Time};

const EVENT: &str = include_str!("../../../python/bentpipe/compare/links/fade.csv");
const LOSSES: &str = include_str!("../../../python/bentpipe/compare/links/fade-losses.csv");
const STEP_MS: u64 = 500;
/// The trace holds its last value for as long as any run.
const END_S: u64 = 100_000_000;

fn budget() -> Budget {
    let rows = EVENT.lines().skip(2).map(|row| row.split_once(',').unwrap());
    let samples = rows.map(|(time, attenuation)| {
        (Time::ZERO + Span::from_secs(time.parse().unwrap()), attenuation.parse().unwrap())
    });
    let code = Code::Sequential;
    Budget {
        eb_n0: 11.0,
        code,
        errors_per_event: code.errors_per_event(),
        system_temperature: Some(150.0),
        fade: Fade::new(samples.collect()).unwrap(),
        lock: Some(Lock { threshold: 4.5, hysteresis: 1.0, reacquisition: Span::from_secs(5) }),
    }
}

/// The times in milliseconds at which the loss changes, and the loss from there on.
fn losses() -> Vec<(u64, f64)> {
    let budget = budget();
    let awgn = Awgn::new(budget.clone());
    let milliseconds = |time: Time| time.as_nanos() / 1_000_000;
    let outages: Vec<_> =
        awgn.outages().iter().map(|(from, to)| (milliseconds(*from), milliseconds(*to))).collect();
    let end =
        EVENT.lines().last().unwrap().split_once(',').unwrap().0.parse::<u64>().unwrap() * 1000;
    let mut times: Vec<_> = (0..=end / STEP_MS).map(|step| step * STEP_MS).collect();
    times.extend(outages.iter().flat_map(|(from, to)| [*from, *to]));
    times.sort_unstable();
    times.dedup();
    let loss = |ms: u64| -> f64 {
        if outages.iter().any(|(from, to)| (*from..*to).contains(&ms)) {
            return 1.0;
        }
        // In the middle of a step.
        let at = Time::ZERO + Span::from_millis(ms + STEP_MS / 2);
        let per = budget.packet_error_rate(budget.eb_n0(budget.fade.at_any(at)), 1500);
        // Less than one packet of a long run.
        if per < 1e-7 { 0.0 } else { format!("{per:.2e}").parse().unwrap() }
    };
    let mut found: Vec<_> = times.into_iter().map(|ms| (ms, loss(ms))).collect();
    found.dedup_by_key(|(_, loss)| loss.to_bits());
    found
}

#[test]
fn the_losses_are_those_of_the_modem_under_the_event() {
    let mut expected = String::from("t_s,loss_ratio\n");
    for (ms, loss) in losses() {
        writeln!(expected, "{}.{:03},{loss}", ms / 1000, ms % 1000).unwrap();
    }
    writeln!(expected, "{END_S},0").unwrap();
    let rows: Vec<_> = LOSSES.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rows == expected.lines().collect::<Vec<_>>(), "expected these rows:\n{expected}");
}

/// The decoder overflows, and then the demodulator has no lock.
#[test]
fn no_packet_passes_for_some_thirty_five_seconds() {
    let lost: Vec<_> = losses().into_iter().filter(|(_, loss)| *loss == 1.0).collect();
    let [(from, _)] = lost.as_slice() else { panic!("{lost:?}") };
    let (to, after) = losses().into_iter().find(|(ms, _)| ms > from).unwrap();
    assert!((34_000..36_000).contains(&(to - from)), "{from} to {to}");
    assert!(after < 0.5, "{after}");
}
