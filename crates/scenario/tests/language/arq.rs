//! Automatic repeat request: what it resolves to, what is refused, and where a warning belongs.

use std::fmt::Write;

use link::Repeat;
use units::Span;

use super::{directions, over_a_link};
use explain::{WarningKind, explain};
use scenario::model::{Arq, ArqSettings};
use scenario::{Loaded, Scenario};

/// A link whose keys are `link`, with an RTT of 540 ms.
fn text(link: &str) -> String {
    over_a_link("20Mbit/s", "270ms", link)
}

fn procedures(link: &str) -> [Option<ArqSettings>; 2] {
    directions(&text(link)).map(|direction| direction.arq)
}

#[test]
fn a_name_stands_for_the_defaults_and_the_timer_for_the_link() {
    assert_eq!(procedures(""), [None, None]);
    // Twice 270 ms, and four frames of 1514 bytes at 20 Mbit/s.
    let timer = Span::from_nanos(540_000_000 + 4 * 605_600);
    for arq in Arq::all() {
        let link = format!("arq = {:?}\nbackward = {{ arq = \"none\" }}", arq.name());
        assert_eq!(procedures(&link), [Some(arq.settings(timer)), None]);
    }
    let [forward, _] = procedures("forward = { arq = \"selective-repeat\" }");
    assert_eq!(forward.map(|arq| arq.window), Some(16_384));
    let [forward, _] = procedures("forward = { arq = \"go-back-n\" }");
    assert_eq!(forward.map(|arq| arq.window), Some(32_767));
    let own = "{ name = \"selective-repeat\", timer = \"1s\", window = 64, sequence_bits = 7, \
               persistence = 9, in_order = false, header = \"6B\" }";
    let [_, backward] = procedures(&format!("backward = {{ arq = {own} }}"));
    let expected = ArqSettings {
        repeat: Repeat::Selective { in_order: false },
        persistence: 9,
        window: 64,
        sequence_bits: 7,
        timer: Span::from_secs(1),
        header: 6,
    };
    assert_eq!(backward, Some(expected));
}

#[test]
fn the_timer_covers_the_longest_delay_and_the_lowest_rate_of_events() {
    let event = "event = [{ at = \"1s\", delay = \"300ms\" }, { at = \"2s\", rate = \"2Mbit/s\" }]";
    let [forward, _] = procedures(&format!("arq = \"go-back-n\"\n{event}"));
    let timer = Span::from_nanos(600_000_000 + 4 * 6_056_000);
    assert_eq!(forward.map(|arq| arq.timer), Some(timer));
}

#[test]
fn procedures_that_cannot_be() {
    let wrong = [
        ("arq = \"selective\"", "link[0].arq"),
        ("arq = { persistence = 3 }", "link[0].arq.name"),
        ("arq = { name = \"go-back-n\", in_order = false }", "link[0].arq.in_order"),
        ("arq = { name = \"go-back-n\", window = 0 }", "link[0].arq.window"),
        ("arq = { name = \"go-back-n\", header = \"0B\" }", "link[0].arq.header"),
        ("arq = { name = \"go-back-n\", sequence_bits = 32 }", "link[0].arq.sequence_bits"),
        ("arq = { name = \"go-back-n\", window = 128, sequence_bits = 7 }", "link[0].arq.window"),
        ("arq = { name = \"selective-repeat\", window = 16385 }", "link[0].arq.window"),
        (
            "backward = { arq = { name = \"selective-repeat\", window = 5, sequence_bits = 3 } }",
            "link[0].backward.arq.window",
        ),
    ];
    let mut all = String::new();
    for (link, path) in wrong {
        let found = Scenario::parse(&text(link), "arq.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        writeln!(all, "# {link}\n{found}\n").unwrap();
    }
    insta::assert_snapshot!(all);
    for fits in ["\"go-back-n\", window = 127", "\"selective-repeat\", window = 64"] {
        procedures(&format!("arq = {{ name = {fits}, sequence_bits = 7 }}"));
    }
}

/// The kinds of warnings about ARQ on the link.
fn doubts(link: &str) -> Vec<WarningKind> {
    let loaded = Loaded::parse(&text(link), "arq.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let of_arq = [
        WarningKind::ArqWithoutEffect,
        WarningKind::ArqOutlastsRto,
        WarningKind::ArqWindowBelowBdp,
        WarningKind::ArqTimerBelowRtt,
    ];
    warnings.iter().map(|warning| warning.kind).filter(|kind| of_arq.contains(kind)).collect()
}

#[test]
fn arq_that_does_not_fit_the_path_is_a_warning() {
    let lossy = |arq: &str| format!("channel = {{ per = 0.01 }}\nforward = {{ arq = {arq} }}");
    // The RTO is 1 s: one repeat after 540 ms does not fit, and with 10 ms all three do.
    assert_eq!(doubts(&lossy("\"selective-repeat\"")), [WarningKind::ArqOutlastsRto]);
    let near = lossy("\"selective-repeat\"") + "\nbackward = { delay = \"9ms\" }";
    assert_eq!(doubts(&near), [WarningKind::ArqOutlastsRto]);
    let near = text(&lossy("\"selective-repeat\"")).replace("270ms", "10ms");
    let loaded = Loaded::parse(&near, "arq.toml", &[]).unwrap();
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    assert!(warnings.iter().all(|warning| warning.kind != WarningKind::ArqOutlastsRto));
    let short = "{ name = \"go-back-n\", persistence = 0, timer = \"500ms\", window = 800 }";
    let all = [
        WarningKind::ArqWithoutEffect,
        WarningKind::ArqWindowBelowBdp,
        WarningKind::ArqTimerBelowRtt,
    ];
    assert_eq!(doubts(&lossy(short)), all);
    assert_eq!(doubts("backward = { arq = \"go-back-n\" }"), [WarningKind::ArqWithoutEffect]);
}

#[test]
fn the_explanation_has_delay_rate_and_what_hosts_see() {
    let link = "channel = { per = 0.01 }\nforward = { arq = \"selective-repeat\" }";
    let loaded = Loaded::parse(&text(link), "arq.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let rows = explanation.links[0].effects_of("arq");
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value.as_f64();
    // 540 ms, two frames of 1514 bytes and a status frame of 22 bytes at 20 Mbit/s.
    let again = 0.54 + (2.0 * 1514.0 + 22.0) * 8.0 / 20e6;
    assert!((value("added delay").unwrap() - again).abs() < 1e-9);
    assert!((value("added rate").unwrap() - 1.010_101).abs() < 1e-6);
    assert!((value("hosts see").unwrap() - 1e-8).abs() < 1e-15);
    let status = 20e6 * 22.0 / 1514.0;
    assert!((value("status frames").unwrap() - status).abs() < 1.0);
    assert!((explanation.flows[0].figures.per - 1e-8).abs() < 1e-15);
    assert!(explanation.links[1].effects_of("arq").is_empty());
    let printed = explanation.to_string();
    assert!(printed.contains("ARQ a -> b"), "{printed}");
}
