//! Links that change while a run goes on.

use recording::Recording;

use crate::run;

/// A flow of 60 s over a link of 8 Mbit/s and 100 ms there and back that changes.
fn changing(changes: &str, traffic: &str) -> Recording {
    let text = format!(
        r#"
duration = "60s"
[record]
interval = "100ms"
[[link]]
between = ["server", "client"]
rate = "8Mbit/s"
delay = "50ms"
queue = "unlimited"
event = [{changes}]
[[flow]]
from = "server"
to = "client"
controller = "newreno"
transport = {{ delayed_ack = "off", receive_buffer = "1MB" }}
traffic = {{ {traffic} }}
"#
    );
    run(&text)
}

/// Bits that came out of the forward direction in a run, in millions.
fn megabits(recording: &Recording) -> f64 {
    recording.links[0].delivered_bytes as f64 * 8.0 / 1e6
}

#[test]
fn a_full_link_carries_what_its_rates_add_up_to() {
    let always = megabits(&changing("", "bulk = \"unlimited\""));
    let recording =
        changing("{ at = \"30s\", forward = { rate = \"2Mbit/s\" } }", "bulk = \"unlimited\"");
    let lost = always - megabits(&recording);
    assert!((lost / (30.0 * 6.0) - 1.0).abs() < 0.005, "{lost} Mbit");
    // Both rates are the whole rate of their time.
    let utilisation = recording.links[0].utilisation;
    assert!((0.98..1.0).contains(&utilisation), "{utilisation}");
}

#[test]
fn an_outage_takes_its_time_of_a_full_link_and_no_packet() {
    let always = changing("", "bulk = \"unlimited\"");
    let silent = "{ at = \"10s\", every = \"20s\", forward = { outage = \"200ms\" } }";
    let recording = changing(silent, "bulk = \"unlimited\"");
    let lost = megabits(&always) - megabits(&recording);
    assert!((lost / (3.0 * 0.2 * 8.0) - 1.0).abs() < 0.05, "{lost} Mbit");
    let [before, after] = [&always, &recording].map(|one| one.links[0].utilisation);
    assert!((before - after - 3.0 * 0.2 / 60.0).abs() < 1e-3, "{before} and {after}");
    let flow = &recording.flows[0];
    assert_eq!(
        (flow.tcp().unwrap().segments_retransmitted, recording.links[0].dropped_packets),
        (0, 0)
    );
    // The queue of the second before is there when the link sends again.
    let series = &recording.link_series;
    let rows = (0..series.len()).filter(|row| series.link[*row] == 0);
    let silent = rows.filter(|row| (10.05..10.15).contains(&series.t_s[*row]));
    for row in silent {
        assert!(series.queue_packets[row] > 100 && series.utilisation[row] < 0.02, "row {row}");
    }
}

#[test]
fn the_round_trip_is_that_of_the_delay_of_its_time() {
    let changes = "{ at = \"20s\", delay = \"150ms\" }, { at = \"40s\", forward = { delay = \"5ms\" }, backward = { delay = \"20ms\" } }";
    let recording = changing(changes, "constant = { rate = \"400kbit/s\", message = \"1000B\" }");
    let series = &recording.flow_series;
    let srtt = |at: f64| {
        let row = series.t_s.iter().position(|t| *t >= at).unwrap();
        series.srtt_ms[row]
    };
    for (at, propagation) in [(19.9, 100.0), (39.9, 300.0), (59.9, 25.0)] {
        let queueing = srtt(at) - propagation;
        assert!((0.0..2.5).contains(&queueing), "{} ms at {at} s", srtt(at));
    }
    assert_eq!(
        recording.flows[0].tcp().unwrap().segments_retransmitted,
        0,
        "no packet overtook another"
    );
}

#[test]
fn routes_stay_those_of_the_delays_at_the_start() {
    let text = r#"
duration = "30s"
[[link]]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "10ms"
[[link.event]]
at = "10s"
delay = "400ms"
[[link]]
between = ["a", "c"]
rate = "1Mbit/s"
delay = "10ms"
[[link]]
between = ["c", "b"]
rate = "1Mbit/s"
delay = "10ms"
[[flow]]
from = "a"
to = "b"
controller = "reno"
traffic = { bulk = "unlimited" }
"#;
    let recording = run(text);
    let delivered: Vec<_> = recording.links.iter().map(|link| link.delivered_packets).collect();
    assert!(delivered[0] > 1000, "{delivered:?}");
    assert_eq!(delivered[2..], [0; 4]);
}
