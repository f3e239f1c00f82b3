//! Active queue management: what it resolves to, what is refused, and where a warning belongs.

use std::fmt::Write;

use link::CodelSettings;
use units::Span;

use super::{directions, over_a_link};
use explain::{WarningKind, explain};
use scenario::model::Aqm;
use scenario::{Loaded, Scenario};

/// A link whose keys are `link`, with an RTT of 540 ms.
fn text(link: &str) -> String {
    over_a_link("20Mbit/s", "270ms", link)
}

fn algorithms(link: &str) -> [Option<Aqm>; 2] {
    directions(&text(link)).map(|direction| direction.aqm)
}

#[test]
fn a_name_stands_for_the_defaults_and_none_for_a_drop_tail_queue() {
    assert_eq!(algorithms(""), [None, None]);
    for aqm in Aqm::all() {
        let link = format!("aqm = {:?}\nbackward = {{ aqm = \"none\" }}", aqm.name());
        assert_eq!(algorithms(&link), [Some(aqm), None]);
        let table = format!("aqm = {{ name = {:?} }}", aqm.name());
        assert_eq!(algorithms(&table), [Some(aqm), Some(aqm)]);
    }
    let found = algorithms("forward = { aqm = { name = \"codel\", interval = \"600ms\" } }");
    let interval = Span::from_millis(600);
    let codel = Aqm::Codel(CodelSettings { interval, ..CodelSettings::default() });
    assert_eq!(found, [Some(codel), None]);
}

#[test]
fn algorithms_that_cannot_be() {
    let wrong = [
        ("aqm = \"codle\"", "link[0].aqm"),
        ("aqm = { name = \"codell\" }", "link[0].aqm.name"),
        ("aqm = { target = \"5ms\" }", "link[0].aqm.name"),
        ("aqm = { name = \"codel\", intervall = \"100ms\" }", "link[0].aqm.intervall"),
        ("aqm = { name = \"pie\", target = \"0s\" }", "link[0].aqm.target"),
        ("aqm = { name = \"dualpi2\", max_rtt = \"5ms\" }", "link[0].aqm.max_rtt"),
        ("aqm = { name = \"red\", min_threshold = 20 }", "link[0].aqm.min_threshold"),
        (
            "forward = { aqm = { name = \"red\", max_threshold = 2 } }",
            "link[0].forward.aqm.max_threshold",
        ),
        (
            "aqm = \"codel\"\nqueue = { packets = 9, low_priority = \"refuse\" }",
            "link[0].queue.low_priority",
        ),
        (
            "aqm = \"codel\"\nforward = { ecn_marking = { packets = 5 } }",
            "link[0].forward.ecn_marking",
        ),
    ];
    let mut all = String::new();
    for (link, path) in wrong {
        let found = Scenario::parse(&text(link), "aqm.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        writeln!(all, "# {link}\n{found}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

/// The kinds of warnings about the link.
fn doubts(link: &str) -> Vec<WarningKind> {
    let loaded = Loaded::parse(&text(link), "aqm.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
    let explanation = explain(&loaded.scenario, &loaded.written);
    let of_aqm = [WarningKind::AqmBelowRtt, WarningKind::AqmWithoutEffect];
    let kinds = explanation.warnings.iter().map(|warning| warning.kind);
    kinds.filter(|kind| of_aqm.contains(kind)).collect()
}

#[test]
fn defaults_over_a_geostationary_link_are_a_warning_and_longer_times_are_none() {
    for aqm in Aqm::all() {
        let link = format!("queue = {{ packets = 2000 }}\nforward = {{ aqm = {:?} }}", aqm.name());
        assert_eq!(doubts(&link), [WarningKind::AqmBelowRtt], "{}", aqm.name());
        let near = text(&link).replace("270ms", "20ms").replace("20Mbit/s", "4Mbit/s");
        let loaded = Loaded::parse(&near, "aqm.toml", &[]).unwrap();
        let warnings = explain(&loaded.scenario, &loaded.written).warnings;
        assert!(warnings.iter().all(|w| w.kind != WarningKind::AqmBelowRtt), "{}", aqm.name());
    }
    let suited = [
        "{ name = \"codel\", target = \"30ms\", interval = \"540ms\" }",
        "{ name = \"fq-codel\", target = \"30ms\", interval = \"540ms\" }",
        "{ name = \"pie\", target = \"40ms\", alpha = 0.025, beta = 0.25 }",
        "{ name = \"dualpi2\", max_rtt = \"540ms\" }",
        "{ name = \"red\", min_threshold = 300, max_threshold = 900 }",
    ];
    for aqm in suited {
        let link = format!("queue = {{ packets = 2000 }}\nforward = {{ aqm = {aqm} }}");
        assert_eq!(doubts(&link), [], "{aqm}");
    }
    // The ACKs pass the other direction.
    assert_eq!(doubts("queue = { packets = 2000 }\nbackward = { aqm = \"codel\" }"), []);
}

#[test]
fn a_queue_that_is_full_before_the_algorithm_acts_is_a_warning() {
    for aqm in Aqm::all() {
        let link = format!("queue = {{ packets = 4 }}\nbackward = {{ aqm = {:?} }}", aqm.name());
        assert_eq!(doubts(&link), [WarningKind::AqmWithoutEffect], "{}", aqm.name());
    }
}
