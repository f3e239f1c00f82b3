//! Adaptive coding and modulation under real TCP: the rate follows a fade, and the payload arrives
//! as it was sent.

use std::fs;

use link::Modem;
use recording::Values;
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped, scenario};

#[test]
pub(crate) fn each_modem_changes_the_rate_of_real_packets_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-acm-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..3_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let fade = folder.join("fade.csv");
    fs::write(&fade, "0,0\n0.5,0\n2,8\n20,8\n1000,8\n").unwrap();
    let (server, client) = fetching(&folder);
    for modem in Modem::all() {
        let modem_table = json!({ "name": modem.name(), "bandwidth": 2e6, "delay": "50ms" });
        let channel = json!({ "es_n0": 15.5, "attenuation": fade, "modem": modem_table });
        let link = json!({ "queue": { "packets": 400 }, "forward": { "channel": channel } });
        let scenario = scenario(link, json!({}));
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0, "{}", modem.name());
        let table = ran.tables.iter().find(|table| table.name() == "acm").unwrap();
        let columns = table.columns();
        let column = |name: &str| &columns.iter().find(|one| one.name == name).unwrap().values;
        let Values::U64(changes) = column("changes") else { panic!("changes are counted") };
        assert!(changes[0] > 3, "{}: {}", modem.name(), changes[0]);
    }
    fs::remove_dir_all(&folder).unwrap();
}
