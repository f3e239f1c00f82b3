//! SCPS-TP: links that are out, signals of gateways, and connections that end.

use std::sync::Arc;

use congestion::Specification;
use tcp::{Cause, Config, Connection, Scps};
use transport::{AbortCause, Endpoint};

use crate::scps::{corruption, is_data_at, retransmissions, routes, scps, timeouts};
use crate::wire::{A, B, Fate, MSS, Sent, Wire, config, ms};

/// After two timeouts, probes of a byte go after 0, 5, 6, 12, 24, 48 and 60 s, until something
/// arrives.
#[test]
fn a_link_that_is_out_is_probed_with_one_byte() {
    let route = Scps { outage_timeouts: Some(2), ..corruption() };
    let mut wire = Wire::established(&Config { max_retries: 100, ..scps(route) });
    let from = wire.now;
    wire = wire.scripted(
        move |sent| {
            if sent.at < from + ms(100_000) { Fate::Lost } else { Fate::Arrives }
        },
    );
    wire.write(A, 10 * MSS);
    wire.run_for(ms(99_000));
    assert_eq!(timeouts(&wire), 2);
    let is_probe = |sent: &Sent| sent.is_data() && sent.segment.payload == 1;
    let probes = wire.times(A, is_probe);
    let gaps: Vec<_> = probes.windows(2).map(|pair| (pair[1] - pair[0]) / 1000).collect();
    assert_eq!(gaps, [5, 6, 12, 24, 48]);
    wire.run();
    assert_eq!(wire.ends[B].delivered(), 10 * MSS);
    assert_eq!(timeouts(&wire), 2, "probes are no timeouts");
}

/// The timeout that finds the link out is no sign of congestion, and the answer to a probe measures
/// no RTT.
#[test]
fn the_timeout_that_begins_an_outage_leaves_window_and_timer() {
    for (timestamps, bytes) in [(true, 10 * MSS), (false, 10 * MSS), (false, 1)] {
        let route = Scps { outage_timeouts: Some(1), ..Scps::default() };
        let mut config = Config { idle_restart: false, timestamps, ..scps(route) };
        config.max_retries = 100;
        let mut wire = Wire::established(&config);
        wire.write(A, 20 * MSS);
        wire.run();
        let (before, from) = (wire.ends[A].info(), wire.now);
        wire = wire.scripted(move |sent| match sent.at < from + ms(20_000) {
            true => Fate::Lost,
            false => Fate::Arrives,
        });
        wire.write(A, bytes);
        wire.run_for(ms(19_000));
        let during = wire.ends[A].info();
        assert_eq!((timeouts(&wire), during.cwnd, during.rto), (1, before.cwnd, before.rto));
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 20 * MSS + bytes);
        let srtt = wire.ends[A].info().srtt.unwrap();
        assert!(srtt < ms(400), "{timestamps}: {srtt:?}");
    }
}

/// A packet of the other end shows that the link is there. Timeouts before it count no more.
#[test]
fn after_a_packet_of_the_other_end_an_outage_takes_as_many_timeouts_as_before() {
    let route = Scps { outage_timeouts: Some(2), ..corruption() };
    let mut wire = Wire::established(&Config { max_retries: 100, ..scps(route) })
        .losing(|sent| sent.by == A && sent.is_data());
    wire.write(A, MSS);
    wire.run_for(ms(4_000));
    assert_eq!(timeouts(&wire), 2);
    wire.write(B, MSS);
    wire.run_for(ms(4_000));
    assert_eq!(timeouts(&wire), 4);
}

/// Data retransmitted just before an outage is lost in it, and does not wait for its embargo.
#[test]
fn the_end_of_an_outage_ends_embargoes() {
    let mut wire = Wire::established(&Config { initial_window: 20, ..scps(corruption()) });
    let mut copies = 0;
    wire = wire.scripted(move |sent| {
        copies += u32::from(is_data_at(sent, 2));
        if is_data_at(sent, 2) && copies <= 2 { Fate::Lost } else { Fate::Arrives }
    });
    wire.write(A, 20 * MSS);
    while retransmissions(&wire) == 0 {
        wire.run_for(ms(1));
    }
    wire.ends[A].on_link_state(wire.now, true);
    wire.flush();
    wire.run_for(ms(40));
    wire.ends[A].on_link_state(wire.now, false);
    wire.flush();
    let resumed = wire.now.as_nanos() / 1_000_000;
    wire.run();
    let times = wire.times(A, |sent| is_data_at(sent, 2) && sent.segment.payload > 1);
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(times[2] <= resumed + 1, "{times:?}, {resumed}");
    assert_eq!(timeouts(&wire), 0);
}

/// The timer gives the retransmission of the first hole the time of a transmission.
#[test]
fn a_retransmission_of_the_first_hole_restarts_the_timer() {
    let route = Scps { ack_floor: ms(240), ..corruption() };
    let mut wire = Wire::established(&Config { initial_window: 20, ..scps(route) });
    wire.write(A, MSS);
    wire.run();
    let mut is_first = true;
    wire = wire.scripted(move |sent| {
        let is_lost = sent.by == A && sent.is_data() && std::mem::take(&mut is_first);
        if is_lost { Fate::Lost } else { Fate::Arrives }
    });
    wire.write(A, 10 * MSS);
    wire.run();
    assert_eq!((timeouts(&wire), retransmissions(&wire)), (0, 1));
}

/// A signal stops everything but probes, with every controller, although packets of the other end
/// still arrive. The next signal lets the rest follow at once.
#[test]
fn a_signalled_outage_leaves_probes_until_the_next_signal() {
    for entry in congestion::entries() {
        for cause in [Cause::Congestion, Cause::Corruption] {
            let config = scps(Scps { cause, ..Scps::default() });
            let controller = Specification::named(entry.name).unwrap();
            let end = |sequence| {
                let controller = controller.build(&config.controller());
                Connection::new(Arc::new(config.clone()), controller, sequence)
            };
            let mut wire = Wire::of([end(1_000), end(2_000_000)]).open();
            wire.run_for(ms(150));
            wire.write(A, 300 * MSS);
            wire.run_for(ms(230));
            let name = entry.name;
            assert!(wire.ends[A].info().acknowledged < 300 * MSS, "{name}");
            wire.ends[A].on_link_state(wire.now, true);
            wire.flush();
            wire.forget();
            let timeouts_before = timeouts(&wire);
            wire.run_for(ms(20_000));
            let is_more = |sent: &Sent| sent.segment.payload > 1;
            assert_eq!(wire.sent(A, is_more).count(), 0, "{name}, {cause:?}");
            wire.ends[A].on_link_state(wire.now, false);
            wire.flush();
            let resumed = wire.now;
            wire.run();
            let first = wire.sent(A, is_more).next().map(|sent| sent.at);
            assert!(
                first.is_some_and(|at| at <= resumed + ms(100)),
                "{name}, {cause:?}: {first:?}"
            );
            assert_eq!(wire.ends[B].delivered(), 300 * MSS, "{name}, {cause:?}");
            assert_eq!(timeouts(&wire), timeouts_before, "{name}, {cause:?}");
        }
    }
}

/// Also if nothing is outstanding: what is written meanwhile waits.
#[test]
fn an_idle_connection_waits_for_the_end_of_a_signalled_outage() {
    let mut wire = Wire::established(&scps(Scps::default()));
    for is_out in [true, true] {
        wire.ends[A].on_link_state(wire.now, is_out);
    }
    wire.write(A, 10 * MSS);
    wire.run_for(ms(5000));
    assert_eq!(wire.ends[B].delivered(), 0);
    wire.ends[A].on_link_state(wire.now, false);
    wire.flush();
    wire.run();
    assert_eq!(wire.ends[B].delivered(), 10 * MSS);
}

/// A signal of errors counts for the second in which the gateway is silent, and a smoothed RTT of
/// 100 ms.
#[test]
fn losses_are_corruption_for_a_second_and_a_round_trip_after_a_signal_of_errors() {
    // Segment 50 leaves with the signal, and its loss is reported at least 116 ms later. The second
    // after it ends with segment 175. The loss of 160 is reported later, within the smoothed RTT
    // more.
    let cases = [(50, true, 0), (140, true, 0), (160, true, 0), (190, true, 1), (50, false, 1)];
    for (lost, takes, reductions) in cases {
        let route = Scps { corruption_signals: takes, ..Scps::default() };
        let mut wire = Wire::established(&Config { initial_window: 60, ..scps(route) })
            .losing(move |sent| is_data_at(sent, lost) && sent.nth == lost as usize + 1);
        for segment in 0..300 {
            if segment == 50 {
                wire.ends[A].on_corruption(wire.now);
            }
            wire.write(A, MSS);
            wire.run_for(ms(8));
        }
        wire.run();
        assert_eq!(wire.ends[B].delivered(), 300 * MSS);
        let info = wire.ends[A].info();
        assert_eq!((info.retransmissions, timeouts(&wire)), (1, 0), "{lost}");
        assert_eq!(wire.ends[A].counters().fast_recoveries, reductions, "{lost}, {takes}");
    }
}

/// TCP has no such messages, nor has an end of SCPS-TP whose other end is one of TCP.
#[test]
fn a_connection_of_tcp_takes_no_signal() {
    for a in [config(), scps(corruption())] {
        let mut wire = Wire::between(&a, &config()).open();
        wire.run_for(ms(150));
        wire.ends[A].on_link_state(wire.now, true);
        wire.ends[A].on_corruption(wire.now);
        wire.write(A, 10 * MSS);
        wire.run_for(ms(1000));
        assert_eq!(wire.ends[B].delivered(), 10 * MSS);
    }
}

#[test]
fn a_link_that_stays_out_ends_the_connection() {
    let route = Scps { outage_timeouts: Some(1), ..corruption() };
    let mut wire = Wire::established(&scps(route)).losing(|_| true);
    wire.write(A, 10 * MSS);
    wire.run();
    assert_eq!(wire.ends[A].abort_cause(), Some(AbortCause::Retransmissions));
    assert_eq!(wire.sent(A, |sent| sent.segment.payload == 1).count(), 32);
}

#[test]
fn an_abort_resets_the_other_end() {
    for route in routes() {
        let mut wire = Wire::established(&scps(route)).losing(|sent| is_data_at(sent, 1));
        wire.write(A, 10 * MSS);
        wire.run_for(ms(120));
        wire.ends[A].abort();
        wire.flush();
        wire.run();
        assert!(wire.ends.iter().all(|end| end.abort_cause().is_some()), "{route:?}");
    }
}
