//! Paths of overrides with names in place of indices.

use scenario::{Override, Scenario};

const TEXT: &str = r#"duration = "9s"

[[node]]
name = "gateway"
forwarding = { rate = "1Mbit/s", buffer = "20kB" }

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"

[[link]]
between = ["gateway", "client"]
rate = "2Mbit/s"
delay = "250ms"

[[flow]]
name = "download"
from = "server"
to = "client"
controller = "reno"
traffic = { download = "50MB" }

[[flow]]
from = "server"
to = "client"
controller = "reno"
traffic = { download = "50MB" }
"#;

fn with(text: &str, set: &str) -> Result<Scenario, String> {
    let set: Override = set.parse().unwrap();
    Scenario::parse(text, "n.toml", &[set]).map_err(|errors| errors.to_string())
}

#[test]
fn a_name_stands_for_the_number_of_its_entry() {
    for (named, numbered) in [
        ("flow.download.controller=cubic", "flow.0.controller=cubic"),
        ("flow[download].transport.mss=500", "flow.0.transport.mss=500"),
        ("flow.flow-1.controller=cubic", "flow.1.controller=cubic"),
        ("node.gateway.forwarding.rate=2Mbit/s", "node.0.forwarding.rate=2Mbit/s"),
        ("link.gateway-client.delay=20ms", "link.1.delay=20ms"),
        ("link.client-gateway.backward.rate=1Mbit/s", "link.1.backward.rate=1Mbit/s"),
    ] {
        let shown = |set| format!("{:?}", with(TEXT, set).unwrap_or_else(|e| panic!("{set}: {e}")));
        assert_eq!(shown(named), shown(numbered));
        let before = format!("{:?}", Scenario::parse(TEXT, "n.toml", &[]).unwrap());
        assert_ne!(shown(named), before);
    }
}

#[test]
fn a_name_that_no_entry_or_several_have_is_refused_with_the_names() {
    let twice = TEXT.replace("[[flow]]\nfrom", "[[flow]]\nname = \"download\"\nfrom");
    // `a-b` and `c`, or `a` and `b-c`.
    let hyphens = TEXT.replace("\"server\", \"gateway\"", "\"server\", \"gateway-client\"");
    let hyphens = hyphens.replace("\"gateway\", \"client\"", "\"server-gateway\", \"client\"");
    for (text, set, words) in [
        (
            TEXT,
            "flow.dowload.controller=cubic",
            &["`download`, `flow-1`", "did you mean \"download\""][..],
        ),
        (TEXT, "node.gatway.proxy=none", &["`gateway`, or an index", "found `gatway`"]),
        (
            TEXT,
            "link.server-client.delay=1ms",
            &["`server-gateway`, `gateway-client`", "link.server-client"],
        ),
        (
            &twice,
            "flow.download.controller=cubic",
            &["`flow.0` or `flow.1`", "2 entries have this name"],
        ),
        (&hyphens, "link.server-gateway-client.delay=1ms", &["`link.0` or `link.1`"]),
        (TEXT, "flow.7.controller=cubic", &["an index from 0 to 1"]),
    ] {
        let error = with(text, set).unwrap_err();
        assert!(error.starts_with(&format!("--set {set}: ")), "{error}");
        for words in words {
            assert!(error.contains(words), "{words:?} in {error}");
        }
    }
}
