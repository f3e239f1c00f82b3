//! Demand assignment under TCP, with every controller.

use link::Demand;
use recording::{Recording, Values};

use super::{parse, run};

/// A cell of the table `demand`, in the row of the only direction that has it.
fn total(recording: &Recording, column: &str) -> f64 {
    let table = recording.tables.iter().find(|table| table.name() == "demand").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[0] as f64,
        Values::F64(values) => values[0],
        _ => panic!("{column} is a number"),
    }
}

/// A GEO link whose return direction is assigned. `demand` is TOML.
fn geo(demand: &str, controller: &str, size: &str) -> String {
    format!(
        r#"
duration = "300s"
[[link]]
between = ["server", "client"]
delay = "250ms"
forward = {{ rate = "5Mbit/s", queue = {{ packets = 300 }} }}
backward = {{ rate = "256kbit/s", demand = {demand} }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
traffic = {{ download = "{size}" }}
"#
    )
}

const KINDS: [&str; 3] = [
    "\"dvb-rcs2\"",
    "{ name = \"dvb-rcs2\", cra = \"64kbit/s\" }",
    "{ name = \"dvb-rcs2\", frame = \"26500us\", slots = 10, vbdc = false, fca = 0.3 }",
];

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn a_transfer_of_every_controller_ends_with_every_kind_of_assignment() {
    for entry in congestion::entries() {
        for demand in KINDS {
            let (controller, case) = (entry.name, format!("{} with {demand}", entry.name));
            let recording = run(&geo(demand, controller, "300kB"));
            assert!(recording.flows[0].completed, "{case}");
            let used = ["cra_slots", "vbdc_slots", "fca_slots"].map(|name| total(&recording, name));
            // Of ACKs of 40 bytes two fit the longest slot. Probes of Cherry fill the queue with
            // ACKs.
            let delivered = recording.links[1].delivered_packets;
            assert!(delivered > 0 && used.iter().sum::<f64>() * 2.0 >= delivered as f64, "{case}");
        }
    }
}

/// The RTT without a queue is 500 ms and half a frame, 20 ms; requests add their loop of 520 ms to
/// it.
#[test]
fn a_user_meets_the_frame_and_the_control_loop_in_the_rtt() {
    let rtt = |demand: &str| run(&geo(demand, "newreno", "20kB")).flows[0].min_rtt_ms.unwrap();
    let plain = rtt("\"none\"");
    let constant = rtt("{ name = \"dvb-rcs2\", cra = \"256kbit/s\" }");
    let requested = rtt("\"dvb-rcs2\"");
    assert!((500.0..510.0).contains(&plain), "{plain}");
    // At most a slot.
    assert!((plain..plain + 2.6).contains(&constant), "{constant}");
    assert!((1020.0..1070.0).contains(&requested), "{requested}");
}

#[test]
fn both_engines_give_the_same_recording_with_every_kind() {
    for demand in KINDS {
        let scenario = parse(&(geo(demand, "cubic", "500kB") + "[record]\ninterval = \"1s\"\n"));
        let fast = simulator::run(&scenario, 7, simulator::Options::default());
        let slow = simulator::run_on_reference(&scenario, 7, simulator::Options::default());
        assert_eq!(fast.tables, slow.tables, "{demand}");
        assert_eq!(fast.flows, slow.flows, "{demand}");
        assert_eq!(fast.links, slow.links, "{demand}");
        let series = fast.tables.iter().find(|table| table.name() == "demand_series").unwrap();
        assert_eq!(2 * series.columns()[0].values.len(), fast.link_series.len());
    }
}

#[test]
fn all_kinds_are_tested() {
    for demand in Demand::all() {
        assert!(KINDS.iter().any(|text| text.contains(demand.name())), "{}", demand.name());
    }
}
