//! Forward error correction under real TCP: it rebuilds packets, and the payload arrives as it was
//! sent.

use std::fs;

use link::Fec;
use recording::Values;
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped, scenario};

#[test]
pub(crate) fn each_code_rebuilds_packets_of_real_tcp_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-fec-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..3_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    for fec in Fec::all() {
        let link = json!({
            "queue": { "packets": 400 },
            "channel": { "per": 0.01 },
            "forward": { "fec": fec.name() },
        });
        let scenario = scenario(link, json!({}));
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0, "{}", fec.name());
        let table = ran.tables.iter().find(|table| table.name() == "fec").unwrap();
        let columns = table.columns();
        let column = |name: &str| &columns.iter().find(|one| one.name == name).unwrap().values;
        let count = |name: &str| match column(name) {
            Values::U64(counts) => counts[0],
            _ => panic!("{name} is a count"),
        };
        assert!(count("repaired_packets") > 0, "{}", fec.name());
        assert!(count("parity_packets") > 0, "{}", fec.name());
        // One in 25,000 is left of 1 %, and somewhat more in short blocks.
        assert!(count("lost_packets") < 3, "{}", fec.name());
    }
    fs::remove_dir_all(&folder).unwrap();
}
