//! Automatic repeat request under real TCP: it repeats, and the payload arrives as it was sent.

use std::fs;

use link::Arq;
use recording::Values;
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped, scenario};

#[test]
pub(crate) fn each_procedure_repeats_packets_of_real_tcp_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-arq-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..3_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    for arq in Arq::all() {
        let link = json!({
            "queue": { "packets": 400 },
            "channel": { "per": 0.03 },
            "forward": { "arq": arq.name() },
        });
        let scenario = scenario(link, json!({}));
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0, "{}", arq.name());
        let table = ran.tables.iter().find(|table| table.name() == "arq").unwrap();
        let columns = table.columns();
        let column = |name: &str| &columns.iter().find(|one| one.name == name).unwrap().values;
        let count = |name: &str| match column(name) {
            Values::U64(counts) => counts[0],
            _ => panic!("{name} is a count"),
        };
        assert!(count("repeated_frames") > 0, "{}", arq.name());
        assert!(count("status_frames") > 0, "{}", arq.name());
        // 3 % of 3 % of 3 % of 3 %.
        assert!(count("given_up_packets") < 3, "{}", arq.name());
    }
    fs::remove_dir_all(&folder).unwrap();
}
