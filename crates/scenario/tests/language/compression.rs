//! Header compression: what it resolves to, what is refused, and where a warning belongs.

use std::fmt::Write;

use units::Span;

use explain::{WarningKind, explain};
use scenario::model::HeaderCompression;
use scenario::{Loaded, Scenario};

/// A link whose keys are `link`. `scenario` are keys of the scenario, and `transport` those of TCP.
fn text(scenario: &str, link: &str, transport: &str) -> String {
    format!(
        r#"
duration = "100s"
{scenario}
[[link]]
between = ["a", "b"]
rate = "12Mbit/s"
delay = "20ms"
{link}
[[flow]]
from = "a"
to = "b"
controller = "reno"
transport = {{ {transport} }}
traffic = {{ bulk = "unlimited" }}
"#
    )
}

fn schemes(link: &str) -> [Option<HeaderCompression>; 2] {
    let scenario = Scenario::parse(&text("", link, ""), "headers.toml", &[]);
    scenario.unwrap_or_else(|errors| panic!("{errors}")).links[0].header_compression
}

#[test]
fn a_name_stands_for_the_defaults() {
    assert_eq!(schemes(""), [None, None]);
    for scheme in HeaderCompression::all() {
        let name = scheme.name();
        let link = format!(
            "header_compression = {name:?}\nbackward = {{ header_compression = \"none\" }}"
        );
        assert_eq!(schemes(&link), [Some(scheme), None]);
    }
    let [_, own] = schemes(
        "backward = { header_compression = { name = \"rohc\", repeats = 2, nack_interval = \"90ms\" } }",
    );
    let Some(HeaderCompression::Rohc(own)) = own else { panic!("{own:?}") };
    assert_eq!((own.repeats, own.connections), (2, 16));
    assert_eq!(own.nack_interval, Span::from_millis(90));
}

#[test]
fn compression_that_cannot_be() {
    let wrong = [
        ("", "header_compression = \"vjj\"", "link[0].header_compression"),
        ("", "header_compression = { repeats = 3 }", "link[0].header_compression.name"),
        (
            "",
            "header_compression = { name = \"vj\", connections = 2 }",
            "link[0].header_compression.connections",
        ),
        (
            "",
            "header_compression = { name = \"rohc\", refresh_packets = 9 }",
            "link[0].header_compression.refresh_packets",
        ),
        (
            "ip = \"ipv6\"",
            "forward = { header_compression = \"vj\" }",
            "link[0].forward.header_compression",
        ),
        ("ip = \"ipv6\"", "header_compression = \"vj\"", "link[0].header_compression"),
    ];
    let mut all = String::new();
    for (scenario, link, path) in wrong {
        let found = Scenario::parse(&text(scenario, link, ""), "headers.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        writeln!(all, "# {link}\n{found}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

fn loaded(link: &str, transport: &str) -> Loaded {
    let loaded = Loaded::parse(&text("", link, transport), "headers.toml", &[]);
    loaded.unwrap_or_else(|errors| panic!("{errors}"))
}

/// The kinds of warnings about header compression of the link.
fn doubts(link: &str, transport: &str) -> Vec<WarningKind> {
    let loaded = loaded(link, transport);
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let of_headers = [WarningKind::CompressionWithoutEffect, WarningKind::CompressionSpreadsLoss];
    warnings.iter().map(|warning| warning.kind).filter(|kind| of_headers.contains(kind)).collect()
}

#[test]
fn vj_on_a_lossy_link_and_with_timestamps_is_a_warning() {
    let forward = |more: &str| format!("forward = {{ header_compression = \"vj\"{more} }}");
    assert_eq!(doubts(&forward(""), "timestamps = false"), []);
    assert_eq!(doubts(&forward(""), "timestamps = true"), [WarningKind::CompressionWithoutEffect]);
    let lossy = forward(", channel = { per = 0.01 }");
    assert_eq!(doubts(&lossy, "timestamps = false"), [WarningKind::CompressionSpreadsLoss]);
    let repeated = forward(", channel = { per = 0.01 }, arq = \"selective-repeat\"");
    assert_eq!(doubts(&repeated, "timestamps = false"), []);
    let others = HeaderCompression::all().map(|one| one.name());
    for name in others.into_iter().filter(|name| *name != "vj") {
        assert_eq!(doubts(&lossy.replace("vj", name), "timestamps = true"), [], "{name}");
    }
}

#[test]
fn the_explanation_has_lengths_of_headers_and_the_tolerated_loss() {
    let loaded = loaded("header_compression = \"rohc\"", "timestamps = false");
    let explanation = explain(&loaded.scenario, &loaded.written);
    let rows = explanation.links[0].effects_of("header_compression");
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value.as_f64();
    assert!((5.0..5.2).contains(&value("headers of data").unwrap()));
    assert!((4.0..4.2).contains(&value("headers of ACKs").unwrap()));
    assert_eq!(value("tolerated loss"), Some(3.0));
    let printed = explanation.to_string();
    assert!(printed.contains("Header compression a <-> b"), "{printed}");
}
