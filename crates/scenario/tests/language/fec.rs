//! Forward error correction: what it resolves to, what is refused, and where a warning belongs.

use std::fmt::Write;

use units::Span;

use super::{directions, over_a_link};
use explain::{WarningKind, explain};
use scenario::model::{Fec, FecSettings};
use scenario::{Loaded, Scenario};

/// A link whose keys are `link`.
fn text(link: &str) -> String {
    over_a_link("12Mbit/s", "20ms", link)
}

fn codes(link: &str) -> [Option<FecSettings>; 2] {
    directions(&text(link)).map(|direction| direction.fec)
}

#[test]
fn a_name_stands_for_the_defaults_and_the_timer_for_two_groups() {
    assert_eq!(codes(""), [None, None]);
    // Two times 30 packets of 1506 bytes at 12 Mbit/s.
    let timer = Span::from_nanos(2 * 30 * 1_004_000);
    for fec in Fec::all() {
        let link = format!("fec = {:?}\nbackward = {{ fec = \"none\" }}", fec.name());
        assert_eq!(codes(&link), [Some(fec.settings(|_| timer)), None]);
    }
    let slower = "event = [{ at = \"1s\", rate = \"1.2Mbit/s\" }]";
    let [forward, _] = codes(&format!("fec = \"reed-solomon\"\n{slower}"));
    assert_eq!(forward.map(|fec| fec.timer), Some(Span::from_nanos(2 * 30 * 10_040_000)));
    let own = "{ name = \"reed-solomon\", data = 200, parity = 55, depth = 7, timer = \"1s\", \
               in_order = false, header = \"4B\" }";
    let [_, backward] = codes(&format!("backward = {{ fec = {own} }}"));
    let expected = FecSettings {
        data: 200,
        parity: 55,
        depth: 7,
        timer: Span::from_secs(1),
        in_order: false,
        header: 4,
    };
    assert_eq!(backward, Some(expected));
}

#[test]
fn codes_that_cannot_be() {
    let wrong = [
        ("fec = \"reed\"", "link[0].fec"),
        ("fec = { data = 3 }", "link[0].fec.name"),
        ("fec = { name = \"reed-solomon\", data = 0 }", "link[0].fec.data"),
        ("fec = { name = \"reed-solomon\", depth = 0 }", "link[0].fec.depth"),
        ("fec = { name = \"reed-solomon\", persistence = 3 }", "link[0].fec.persistence"),
        ("fec = { name = \"reed-solomon\", data = 200, parity = 56 }", "link[0].fec.parity"),
        (
            "backward = { fec = { name = \"reed-solomon\", data = 254, parity = 2 } }",
            "link[0].backward.fec.parity",
        ),
        ("arq = \"go-back-n\"\nfec = \"reed-solomon\"", "link[0].fec"),
        ("arq = \"go-back-n\"\nforward = { fec = \"reed-solomon\" }", "link[0].forward.fec"),
    ];
    let mut all = String::new();
    for (link, path) in wrong {
        let found = Scenario::parse(&text(link), "fec.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        writeln!(all, "# {link}\n{found}\n").unwrap();
    }
    insta::assert_snapshot!(all);
    codes("forward = { arq = \"go-back-n\" }\nbackward = { fec = \"reed-solomon\" }");
    codes("arq = \"none\"\nfec = \"reed-solomon\"");
}

/// The kinds of warnings about FEC on the link.
fn doubts(link: &str) -> Vec<WarningKind> {
    let loaded = Loaded::parse(&text(link), "fec.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let of_fec = [
        WarningKind::FecWithoutEffect,
        WarningKind::FecBelowBurst,
        WarningKind::FecTimerBelowBlock,
    ];
    warnings.iter().map(|warning| warning.kind).filter(|kind| of_fec.contains(kind)).collect()
}

#[test]
fn fec_that_does_not_fit_the_link_is_a_warning() {
    assert_eq!(doubts("forward = { fec = \"reed-solomon\" }"), [WarningKind::FecWithoutEffect]);
    let lossy = |fec: &str| format!("channel = {{ per = 0.01 }}\nforward = {{ fec = {fec} }}");
    assert_eq!(doubts(&lossy("\"reed-solomon\"")), []);
    let short = "{ name = \"reed-solomon\", timer = \"20ms\" }";
    assert_eq!(doubts(&lossy(short)), [WarningKind::FecTimerBelowBlock]);
    let bursts = |depth: u32| {
        let fec = format!("{{ name = \"reed-solomon\", depth = {depth} }}");
        lossy(&fec).replace("per = 0.01", "mean_loss = 0.01, mean_burst = 10")
    };
    assert_eq!(doubts(&bursts(1)), [WarningKind::FecBelowBurst]);
    assert_eq!(doubts(&bursts(4)), []);
}

#[test]
fn the_explanation_has_delay_rate_and_what_hosts_see() {
    let link = "channel = { per = 0.01 }\nforward = { fec = \"reed-solomon\" }";
    let loaded = Loaded::parse(&text(link), "fec.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let rows = explanation.links[0].effects_of("fec");
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value.as_f64();
    let [forward, _] = codes(link);
    let residual = forward.unwrap().residual_loss(0.01);
    assert_eq!(value("hosts see"), Some(residual));
    assert!((explanation.flows[0].figures.per - residual).abs() < 1e-15);
    let bytes = 30.0 * 1506.0 + 3.0 * 1509.0;
    assert!((value("added rate").unwrap() - bytes / 45_000.0).abs() < 1e-12);
    assert!((value("added delay").unwrap() - bytes * 8.0 / 12e6).abs() < 1e-12);
    assert_eq!(value("repairs"), Some(3.0));
    assert!(explanation.links[1].effects_of("fec").is_empty());
    let printed = explanation.to_string();
    assert!(printed.contains("FEC a -> b"), "{printed}");
}
