//! Keys of profiles that are refused, and keys that a profile makes needless.

use scenario::{Loaded, Scenario};

/// A download between two nodes. `node` and `flow` are TOML.
fn download(node: &str, flow: &str) -> String {
    format!(
        r#"
{node}
[[link]]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "300ms"
[[flow]]
from = "server"
to = "client"
{flow}
traffic = {{ download = "1MB" }}
"#
    )
}

fn refused(node: &str, flow: &str) -> String {
    let errors = Scenario::parse(&download(node, flow), "host.toml", &[]);
    errors.err().map_or_else(|| panic!("{node}{flow} is accepted"), |errors| errors.to_string())
}

#[track_caller]
fn is_refused(node: &str, flow: &str, messages: &[&str]) {
    let answer = refused(node, flow);
    for message in messages {
        assert!(answer.contains(message), "{message} is not in {answer}");
    }
}

const SERVER: &str = "[[node]]\nname = \"server\"\n";

#[test]
fn a_flow_has_a_controller_or_a_profile() {
    is_refused("", "", &["flow[0].controller: expected \"", "found nothing", "without a `host`"]);
    is_refused("", "host = \"none\"", &["flow[0].controller"]);
    is_refused("", "host = { from = \"none\" }", &["flow[0].controller"]);
    let only_to = download("", "host = { to = \"linux-6.18\" }");
    let scenario = Scenario::parse(&only_to, "host.toml", &[]).unwrap();
    assert_eq!(scenario.flows[0].controller.entry().name, "newreno", "that of the RFC");
}

#[test]
fn an_unknown_profile_names_its_place_and_the_nearest_version() {
    for (name, nearest) in [
        ("linux-6.17", "linux-6.18"),
        ("linux-5.4", "linux-5.15"),
        ("freebsd-13", "freebsd-14"),
        ("windows-8", "windows-10"),
        ("mac-os", "macos"),
    ] {
        let meant = format!("did you mean \"{nearest}\"?");
        is_refused("", &format!("host = {name:?}"), &["host.toml:10:8: flow[0].host", &meant]);
        let each = format!("host = {{ from = \"linux-6.18\", to = {name:?} }}");
        is_refused("", &each, &["flow[0].host.to", &meant]);
        let node = format!("{SERVER}host = {name:?}");
        is_refused(&node, "controller = \"cubic\"", &["node[0].host", &meant]);
    }
}

#[test]
fn a_profile_is_for_tcp() {
    for protocol in ["quic", "stp", "scps-tp"] {
        let flow = format!(
            "host = \"linux-6.18\"\ncontroller = \"cubic\"\ntransport.protocol = {protocol:?}"
        );
        let expected = format!("no `host` with protocol = {protocol:?}");
        is_refused("", &flow, &["flow[0].host", &expected, "a profile has settings of TCP"]);
        // That of a node is for the flows over TCP that it has, and here it has none.
        let flow = flow.replace("host = \"linux-6.18\"\n", "");
        let node = format!("{SERVER}host = \"linux-6.18\"");
        is_refused(&node, &flow, &["node[0].host", "at which a flow over TCP begins or ends"]);
    }
}

#[test]
fn a_node_with_a_proxy_has_no_profile() {
    let node = format!("{SERVER}host = \"linux-6.18\"\nproxy = \"pepsal\"");
    is_refused(&node, "controller = \"cubic\"", &["no `host` at a node with a `proxy`"]);
}

#[test]
fn a_written_key_that_a_value_of_the_profile_contradicts_is_answered_with_its_name() {
    let flow = "host = \"linux-6.18\"\ntransport.rto.max = \"100ms\"";
    is_refused("", flow, &["flow[0].transport.rto.min", "found \"200ms\" of host linux-6.18"]);
    let flow = "host = \"linux-6.12\"\ntransport.receive_buffer = { default = \"8MiB\" }";
    is_refused("", flow, &["receive_buffer.max", "found \"6MiB\" of host linux-6.12"]);
}

#[test]
fn a_profile_at_one_end_only_has_a_warning() {
    let cubic = "controller = \"cubic\"";
    let at = |name: &str| format!("[[node]]\nname = \"{name}\"\nhost = \"linux-6.18\"\n");
    let both = format!("{}{}", at("server"), at("client"));
    for (node, flow, expected) in [
        (&*at("client"), cubic, Some("only the receiver has a host, linux-6.18: the sender")),
        (&*at("server"), "", Some("only the sender has a host, linux-6.18: the receiver")),
        (&*both, "", None),
        ("", "host = \"linux-6.18\"", None),
        ("", cubic, None),
    ] {
        let loaded = Loaded::parse(&download(node, flow), "host.toml", &[]).unwrap();
        let warnings = explain::explain(&loaded.scenario, &loaded.written).warnings;
        let found: Vec<_> =
            warnings.iter().filter(|one| one.kind == explain::WarningKind::HostAtOneEnd).collect();
        assert_eq!(found.len(), usize::from(expected.is_some()), "{node}{flow}: {found:?}");
        if let (Some(expected), [found]) = (expected, &*found) {
            assert!(found.message.contains(expected), "{}", found.message);
        }
    }
}
