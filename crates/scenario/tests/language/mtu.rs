//! The MTU of links in the language.

use serde_json::json;

use scenario::Scenario;

/// RFC 9293 section 3.7.1: the default becomes what fits, and what is written must fit.
#[test]
fn a_host_at_a_narrow_link_has_segments_that_fit() {
    let link = json!({ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "1ms", "mtu": 1400 });
    let flow = |transport| {
        json!([{ "from": "a", "to": "b", "controller": "reno", "transport": transport,
                 "traffic": { "bulk": "1MB" } }])
    };
    let parsed = |transport| {
        let whole = json!({ "link": [link.clone()], "flow": flow(transport) });
        Scenario::from_json(&whole, &[])
    };
    let fitted = parsed(json!({})).unwrap();
    assert_eq!(fitted.flows[0].transport.plan().mss(), 1360);
    assert!(parsed(json!({ "mss": 1360 })).is_ok());
    let refused = parsed(json!({ "mss": 1361 })).unwrap_err().to_string();
    assert!(refused.contains("at most 1360"), "{refused}");
}
