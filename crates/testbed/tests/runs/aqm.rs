//! Active queue management before real TCP: it decides, and the payload arrives as it was sent.

use std::fs;

use link::Aqm;
use recording::{ExtraTable, Values};
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped, scenario, total};

/// Packets that active queue management dropped and marked in a direction.
fn decisions(tables: &[ExtraTable], aqm: &str) -> u64 {
    let table = tables.iter().find(|table| table.name() == "aqm").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|column| column.name == "aqm").unwrap().values {
        Values::Text(names) => assert_eq!(names[..], [aqm]),
        _ => panic!("a name"),
    }
    ["dropped_packets", "marked_packets"].map(|name| total(tables, "aqm", name, 0)).iter().sum()
}

#[test]
pub(crate) fn each_algorithm_decides_before_real_tcp_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let name = format!("bentpipe-aqm-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..3_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    for aqm in Aqm::all() {
        let link = json!({ "queue": { "packets": 400 }, "forward": { "aqm": aqm.name() } });
        let scenario = scenario(link, json!({}));
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0, "{}", aqm.name());
        assert!(decisions(&ran.tables, aqm.name()) > 0, "{}", aqm.name());
    }
    fs::remove_dir_all(&folder).unwrap();
}
