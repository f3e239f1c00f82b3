//! Links that change while packets of the real kernel pass them.

use scenario::Scenario;
use serde_json::json;
use units::Span;

use crate::{is_skipped, recorded, scenario};

#[test]
fn the_round_trip_of_packets_follows_a_link_that_changes() {
    if is_skipped() {
        return;
    }
    let changes = json!([{ "at": "1500ms", "delay": "60ms" },
                         { "at": "3s", "forward": { "delay": "5ms" } }]);
    let traffic = json!({ "constant": { "rate": "1Mbit/s", "message": "1000B" } });
    let flow = json!({ "stop": "5s", "traffic": traffic });
    let mut scenario = scenario(json!({ "event": changes }), flow);
    scenario.record.interval = Some(Span::from_millis(50));
    let recording = recorded(&scenario);
    let series = &recording.flow_series;
    for (at, propagation) in [(1.4, 40.0), (2.9, 120.0), (4.5, 65.0)] {
        let row = series.t_s.iter().position(|t| *t >= at).unwrap();
        let waited = series.srtt_ms[row] - propagation;
        // A packet takes 1 ms, the smoothed RTT has some way to go, and the machine may be busy.
        assert!((0.0..6.0).contains(&waited), "{} ms at {at} s", series.srtt_ms[row]);
    }
    let kernel = recording.kernel.as_ref().unwrap();
    assert!(kernel.rates.is_empty(), "no single rate: {:?}", kernel.rates);
}

#[test]
fn a_link_is_as_fast_as_it_is_at_the_time_and_silent_in_an_outage() {
    if is_skipped() {
        return;
    }
    let changes = json!([{ "at": "2s", "rate": "2Mbit/s" }, { "at": "3s", "outage": "1s" }]);
    let link = json!({ "event": changes, "queue": { "packets": 1000 } });
    let flow = json!({ "traffic": { "bulk": "unlimited" } });
    let mut scenario = Scenario { duration: Span::from_secs(4), ..scenario(link, flow) };
    scenario.record.interval = Some(Span::from_millis(50));
    let recording = recorded(&scenario);
    let series = &recording.flow_series;
    let megabits = |from: f64, to: f64| {
        let row = |at: f64| series.t_s.iter().position(|t| *t >= at).unwrap_or(series.len() - 1);
        let bytes = series.delivered_bytes[row(to)] - series.delivered_bytes[row(from)];
        bytes as f64 * 8.0 / 1e6
    };
    // 1448 of 1500 bytes are payload.
    let [fast, slow, silent] = [(1.0, 2.0), (2.1, 3.0), (3.2, 3.9)].map(|(a, b)| megabits(a, b));
    assert!((9.0..10.2).contains(&fast), "{fast} Mbit");
    assert!((1.5..1.95).contains(&slow), "{slow} Mbit");
    assert!(silent < 0.05, "{silent} Mbit");
}
