//! Token buckets and cells under real TCP: the payload arrives as it was sent, at the rate of the
//! tokens.

use std::fs;

use recording::Values;
use serde_json::json;
use testbed::{Options, run, shell};

use super::{fetching, is_skipped, scenario};

#[test]
pub fn real_tcp_has_the_rate_of_the_tokens_and_of_cells() {
    if is_skipped() {
        return;
    }
    let shaper = json!({ "rate": "8Mbit/s", "burst": "32kB" });
    let cells = json!({ "payload": "48B", "header": "5B" });
    for (keys, line) in [
        (json!({ "rate": "50Mbit/s", "shaper": shaper }), 8e6),
        // 1516 bytes take 32 cells of 53 bytes.
        (json!({ "rate": "8Mbit/s", "overhead": "16B", "cells": cells }), 8e6 * 1500.0 / 1696.0),
    ] {
        let keys = json!({ "queue": { "time": "60ms" }, "forward": keys });
        let flow = json!({ "traffic": { "bulk": "unlimited" }, "stop": "6s" });
        let scenario = scenario(keys.clone(), flow);
        let ran = run(&scenario, 1, Options::default()).unwrap();
        let goodput = ran.flows[0].goodput_bps;
        // Timestamps take 12 bytes of 1500.
        let expected = line * 1448.0 / 1500.0;
        assert!(
            (0.9 * expected..1.02 * expected).contains(&goodput),
            "{keys}: {goodput} of {expected}"
        );
    }
}

#[test]
pub fn a_policer_drops_packets_of_real_tcp_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-buckets-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..1_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    let policer = json!({ "rate": "4Mbit/s", "burst": "15kB" });
    let scenario = scenario(json!({ "forward": { "policer": policer } }), json!({}));
    let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
    assert_eq!(ran.status, 0);
    let table = ran.tables.iter().find(|table| table.name() == "policer").unwrap();
    let columns = table.columns();
    let count = |name: &str| match &columns.iter().find(|one| one.name == name).unwrap().values {
        Values::U64(counts) => counts[0],
        _ => panic!("{name} is a count"),
    };
    assert!(count("passed_bytes") > 1_000_000);
    assert!(count("dropped_packets") > 0);
    fs::remove_dir_all(&folder).unwrap();
}
