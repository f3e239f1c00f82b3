//! Totals of flows that gateways split: counts of all legs, no RTT of one of them, and the delivery
//! time from host to host.

use recording::{Recording, Values};

use super::proxy::{flow, legs, satellite};
use super::run;

const TERMINAL: &str = "satellite = { towards = [\"terminal\"], controller = \"hybla\" }";

/// The cell of the first flow in the table of delivery times.
fn delivery(recording: &Recording, column: &str) -> f64 {
    delivery_of(recording, 0, column)
}

/// The cell of a flow in this table.
fn delivery_of(recording: &Recording, flow: usize, column: &str) -> f64 {
    let table = recording.tables.iter().find(|one| one.name() == "delivery").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::F64(values) => values[flow],
        Values::U64(values) => values[flow] as f64,
        _ => panic!("{column} is a number"),
    }
}

fn has_delivery(recording: &Recording) -> bool {
    recording.tables.iter().any(|one| one.name() == "delivery")
}

#[test]
fn the_counts_of_a_split_flow_are_those_of_all_legs() {
    for entry in congestion::entries() {
        for (from, to) in [("server", "terminal"), ("terminal", "server")] {
            let flow = flow(from, to, entry.name, "bulk = \"2MB\"");
            let recording = run(&satellite(&format!("{{ {TERMINAL} }}"), 0.01, &flow));
            let (row, case) = (&recording.flows[0], format!("{} from {from}", entry.name));
            let tcp = row.tcp().unwrap();
            let sum = |column| legs(&recording, column).iter().sum::<u64>();
            assert_eq!(tcp.segments_sent, sum("segments_sent"), "{case}");
            assert_eq!(tcp.segments_retransmitted, sum("segments_retransmitted"), "{case}");
            assert!(tcp.segments_retransmitted >= 5, "{case}: the satellite leg loses 1 %");
            assert_eq!(tcp.timeouts, sum("timeouts"), "{case}");
            assert_eq!(tcp.fast_recoveries, sum("fast_recoveries"), "{case}");
            assert_eq!(
                (row.srtt_ms, row.min_rtt_ms, row.mean_rtt_ms),
                (None, None, None),
                "{case}"
            );
            assert!(row.throughput_bps > row.goodput_bps, "{case}: retransmissions are sent too");
        }
    }
}

/// The queue is at the gateway, where the RTT of no leg shows it: half a second of the satellite
/// link and more.
#[test]
fn the_delivery_time_of_a_split_flow_has_the_time_in_the_gateway() {
    let keys = format!("{{ {TERMINAL}, limits = {{ relay_buffer = \"1MiB\" }} }}");
    let flow = flow("server", "terminal", "cubic", "bulk = \"unlimited\"");
    let text = satellite(&keys, 0.0, &flow).replace("600s", "60s");
    let recording = run(&text);
    let p95 = delivery(&recording, "p95_ms");
    let held = legs(&recording, "held_bytes")[0] as f64;
    // What waits at the gateway leaves at the rate of the satellite link, 10 Mbit/s.
    assert!(held > 0.9e6 && p95 > 260.0 + held * 8.0 / 10e6 * 1e3 * 0.8, "{p95} {held}");
    assert!(recording.flows[0].mean_rtt_ms.is_none());
}

#[test]
fn the_delivery_time_of_a_lone_packet_is_that_of_its_way() {
    for (proxy, count) in [("", 1), ("{ satellite = { towards = [\"terminal\"] } }", 1)] {
        let flow = flow("server", "terminal", "cubic", "download = \"1000B\"");
        let recording =
            run(&format!("{}\n[record]\ndelivery = true\n", satellite(proxy, 0.0, &flow)));
        assert_eq!(delivery(&recording, "samples"), f64::from(count), "{proxy:?}");
        // 260 ms, and 1052 bytes at 100 and 10 Mbit/s. The sketch has an error of 1 %, its maximum
        // none.
        let expected = 260.0 + 1052.0 * 8.0 * (1.0 / 100e3 + 1.0 / 10e3);
        let found = delivery(&recording, "max_ms");
        assert!((found - expected).abs() < 0.01, "{proxy:?}: {found} instead of {expected}");
    }
}

/// Before, the time of data counted from its arrival where the sending end had taken the number of
/// the gateway's.
#[test]
fn the_delivery_time_of_a_flow_that_crosses_unsplit_is_that_of_its_way() {
    let keys = "{ satellite = { towards = [\"terminal\"] }, \
                limits = { connections = 1, at_limit = \"pass\" } }";
    for (from, to) in [("server", "terminal"), ("terminal", "server")] {
        let flow = flow(from, to, "cubic", "download = \"1000B\"");
        let recording = run(&satellite(keys, 0.0, &format!("{flow}\n{flow}")));
        let found = delivery_of(&recording, 1, "max_ms");
        // 260 ms, and two packets, which take 4.2 ms each on the return link.
        assert!((260.0..270.0).contains(&found), "from {from}: {found}");
    }
}

/// A loss adds its repair, which is a round trip at least, and reordered data waits for it.
#[test]
fn delivery_times_have_the_repairs_and_cost_nothing_else() {
    let flow = flow("server", "terminal", "newreno", "download = \"2MB\"");
    let plain = satellite("", 0.01, &flow);
    let measured = run(&format!("{plain}\n[record]\ndelivery = true\n"));
    assert!(delivery(&measured, "max_ms") > 260.0 + 520.0);
    let without = run(&plain);
    assert!(!has_delivery(&without));
    assert_eq!((&without.flows, &without.links), (&measured.flows, &measured.links));
    assert_eq!((without.events, without.packet_hops), (measured.events, measured.packet_hops));
    assert!(without.flows[0].mean_rtt_ms.is_some());
}
