use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::Loaded;

/// A download between a server and a client.
fn flow(host: &Json) -> Json {
    json!({
        "link": [{ "between": ["server", "client"], "rate": "10Mbit/s", "delay": "300ms" }],
        "flow": [{ "from": "server", "to": "client", "host": host, "traffic": { "download": "100kB" } }],
    })
}

#[test]
fn every_profile_fits_a_flow_and_has_a_source_for_each_value() {
    for profile in PROFILES {
        Loaded::from_json(&flow(&json!(profile.name)), &[]).unwrap();
        let mut keys = BTreeSet::new();
        for value in profile.values() {
            assert!(keys.insert(value.key), "{}: {} twice", profile.name, value.key);
            assert!(KEYS.iter().any(|key| is_in(value.key, key)), "{}", value.key);
            assert!(!value.source.is_empty(), "{}: {}", profile.name, value.key);
        }
        assert!(!profile.summary.is_empty());
    }
    let names: BTreeSet<_> = PROFILES.iter().map(|profile| profile.name).collect();
    assert_eq!(names.len(), PROFILES.len());
}

#[test]
fn profiles_without_a_source_for_buffers_or_controller_are_labelled() {
    let sure = PROFILES.iter().filter(|one| !one.is_reconstructed());
    let sure: Vec<_> = sure.map(|one| one.name).collect();
    assert_eq!(
        sure,
        ["linux-4.19", "linux-5.15", "linux-6.1", "linux-6.12", "linux-6.18", "macos"]
    );
}

#[test]
fn a_key_without_a_source_is_shown_with_its_default() {
    for profile in profiles() {
        for key in KEYS {
            assert!(profile.values.iter().any(|value| is_in(value.name, key)), "{key}");
        }
        for value in &profile.values {
            assert!(!value.value.is_empty(), "{}: {}", profile.name, value.name);
        }
    }
    let bsd = profiles().into_iter().find(|profile| profile.name == "bsd-os").unwrap();
    let of = |key: &str| bsd.values.iter().find(|value| value.name == key).unwrap();
    assert_eq!(of("transport.initial_window").value, "10");
    assert_eq!(of("transport.initial_window").certainty, "no source");
    assert_eq!((&*of("controller").value, of("controller").certainty), ("newreno", "no source"));
}

#[test]
fn a_recovery_without_sack_turns_the_sack_compression_of_a_profile_off() {
    let receiver = |recovery: &str| {
        let mut document = flow(&json!("linux-6.18"));
        document["flow"][0]["transport"] = json!({ "recovery": recovery });
        let loaded = Loaded::from_json(&document, &[]).unwrap();
        loaded.scenario.flows[0].transport.tcp().unwrap().sack_compression
    };
    assert_eq!(receiver("sack").map(|one| one.acks), Some(44));
    assert_eq!(receiver("newreno"), None);
}
