//! Probing of XSTP.

use stp::{Config, Kind, Verdicts};
use transport::Endpoint as _;

use crate::wire::{A, B, Fate, MSS, Wire, at, config, ms};

fn probing() -> Config {
    Config { probing: true, ..config() }
}

fn cwnd(wire: &Wire) -> u64 {
    wire.ends[A].sample().cwnd / MSS
}

#[test]
fn data_waits_for_two_probes_and_a_corrupted_packet_costs_no_window() {
    let mut wire = Wire::new(&probing()).losing(|sent| sent.is(A, Kind::Data, 40)).open();
    wire.run_until(at(1000));
    wire.write(A, 10_000 * MSS);
    wire.run_until(at(2499));
    let (window, sent) = (cwnd(&wire), wire.sent(A, Kind::Data).count());
    // The loss is found at 2500 ms, before the last of the window is acknowledged.
    wire.run_until(at(3499));
    let during = wire.sent(A, Kind::Data).count();
    assert!(during < sent + 80, "{during} packets");
    let silent = wire.times(A, Kind::Data).iter().filter(|t| (2501..3500).contains(*t)).count();
    assert_eq!(silent, 0, "data waits for two round trips");
    wire.run_until(at(5000));
    assert_eq!(wire.ends[A].verdicts(), Verdicts { corruption: 1, ..Verdicts::default() });
    assert!(cwnd(&wire) >= window);
    assert_eq!(wire.ends[A].counters().fast_recoveries, 0);
}

#[test]
fn a_queue_that_has_grown_shows_congestion() {
    // From 2 s on everything takes 100 ms longer.
    let mut wire = Wire::new(&probing())
        .scripted(|sent| match sent.at >= at(2000) {
            _ if sent.is(A, Kind::Data, 40) => Fate::Lost,
            true => Fate::Late(ms(100)),
            false => Fate::Arrives,
        })
        .open();
    wire.run_until(at(1000));
    wire.write(A, 10_000 * MSS);
    wire.run_until(at(5000));
    assert_eq!(wire.ends[A].verdicts(), Verdicts { congestion: 1, ..Verdicts::default() });
    assert_eq!(wire.ends[A].counters().fast_recoveries, 1);
}

#[test]
fn an_outage_ends_with_the_old_window() {
    let is_down = |time| time >= at(2600) && time < at(6600);
    let mut wire = Wire::new(&probing())
        .losing(move |sent| sent.is(A, Kind::Data, 40) || is_down(sent.at))
        .open();
    wire.run_until(at(1000));
    wire.write(A, 10_000 * MSS);
    wire.run_until(at(3000));
    let window = cwnd(&wire);
    wire.run_until(at(9000));
    assert_eq!(wire.ends[A].verdicts(), Verdicts { outage: 1, ..Verdicts::default() });
    assert!(cwnd(&wire) >= window);
    assert!(wire.ends[B].delivered() > 100 * MSS);
    assert_eq!(wire.ends[A].abort_cause(), None);
}
