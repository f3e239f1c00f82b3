//! Header compression of real packets: headers become shorter, and the payload arrives as it was
//! sent.

use std::fs;

use scenario::model::HeaderCompression;
use serde_json::json;
use testbed::shell;
use wire::IpVersion;

use super::{fetching, is_skipped, over_both, recorded, scenario};

/// A cell of the table `header_compression`, in the row of a direction.
fn total(tables: &[recording::ExtraTable], column: &str, row: usize) -> u64 {
    super::total(tables, "header_compression", column, row)
}

#[test]
pub(crate) fn each_scheme_compresses_real_headers_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-headers-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..1_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    for scheme in HeaderCompression::all() {
        let link = json!({
            "queue": { "packets": 400 },
            "channel": { "per": 0.002 },
            "header_compression": scheme.name(),
        });
        // VJ compresses no timestamps that change.
        let flow = json!({ "transport": { "timestamps": false } });
        let both = over_both(scenario(link, flow));
        for scenario in both.into_iter().filter(|one| scheme.knows(one.ip)) {
            let case = format!("{} over {:?}", scheme.name(), scenario.ip);
            let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
            assert_eq!(ran.status, 0, "{case}");
            for row in [0, 1] {
                let total = |column: &str| total(&ran.tables, column, row);
                assert!(total("compressed_packets") > 0, "{case}");
                assert!(total("sent_header_bytes") < total("header_bytes"), "{case}");
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Headers of real TCP are as long on the link as the model expects them before a run.
#[test]
fn headers_of_real_tcp_are_as_long_as_explained() {
    if is_skipped() {
        return;
    }
    for scheme in HeaderCompression::all() {
        let link = json!({ "queue": { "packets": 2000 }, "header_compression": scheme.name() });
        let flow = json!({ "transport": { "timestamps": false, "recovery": "linux" } });
        let recording = recorded(&scenario(link, flow));
        let tables = &recording.tables;
        for (row, payload) in [(0, 1460), (1, 0)] {
            let bytes = total(tables, "sent_header_bytes", row) as f64;
            let real = bytes / total(tables, "packets", row) as f64;
            let expected = scheme.mean_header(IpVersion::V4, payload, false);
            let case = scheme.name();
            assert!((real - expected).abs() < 3.0, "{case}: {real} and {expected} bytes");
        }
        assert_eq!(total(tables, "undecodable_packets", 0), 0);
    }
}
