//! Demand assignment under real TCP: packets wait for their slots, and the payload arrives as it
//! was sent.

use std::fs;

use link::Demand;
use recording::Values;
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped, scenario};

#[test]
pub(crate) fn demand_assignment_delays_real_tcp_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-demand-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..1_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    for demand in Demand::all() {
        let link = json!({
            "queue": { "packets": 400 },
            "backward": { "demand": { "name": demand.name(), "cra": "100kbit/s", "fca": 0.1 } },
        });
        let scenario = scenario(link, json!({}));
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0, "{}", demand.name());
        let table = ran.tables.iter().find(|table| table.name() == "demand").unwrap();
        let columns = table.columns();
        let column = |name: &str| &columns.iter().find(|one| one.name == name).unwrap().values;
        let count = |name: &str| match column(name) {
            Values::U64(counts) => counts[0],
            _ => panic!("{name} is a count"),
        };
        for counter in ["requests", "cra_slots", "vbdc_slots", "fca_slots", "sent_packets"] {
            assert!(count(counter) > 0, "{}: {counter}", demand.name());
        }
        let Values::F64(mean) = column("mean_access_delay_ms") else { panic!("a number") };
        // A slot has 1.25 ms. No packet waits for longer than a frame, the loop of 40 ms and a
        // frame, and the queue before it.
        assert!((1.25..400.0).contains(&mean[0]), "{}: {} ms", demand.name(), mean[0]);
    }
    fs::remove_dir_all(&folder).unwrap();
}
