//! Demand assignment: what it resolves to, what is refused, and where a warning belongs.

use std::fmt::Write;

use units::{Rate, Span};

use explain::{WarningKind, explain};
use scenario::model::{Demand, DemandSettings};
use scenario::{Loaded, Scenario};

/// A link whose keys are `link`.
fn text(link: &str) -> String {
    format!(
        r#"
duration = "100s"
[[link]]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "100ms"
{link}
[[flow]]
from = "a"
to = "b"
controller = "reno"
traffic = {{ bulk = "unlimited" }}
"#
    )
}

fn demands(link: &str) -> [Option<DemandSettings>; 2] {
    let scenario = Scenario::parse(&text(link), "demand.toml", &[]);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}"));
    let link = &scenario.links[0];
    [link.forward.demand, link.backward.demand]
}

#[test]
fn a_name_stands_for_the_defaults_and_the_loop_for_the_delays_of_the_link() {
    assert_eq!(demands(""), [None, None]);
    let rate = Rate::from_bits_per_second(1_000_000);
    for demand in Demand::all() {
        let link = format!("backward = {{ demand = {:?}, delay = \"150ms\" }}", demand.name());
        let settings = demand.settings(rate, Span::from_millis(250));
        assert_eq!(demands(&link), [None, Some(settings)]);
        let link = format!("demand = {:?}\nbackward = {{ demand = \"none\" }}", demand.name());
        let settings = demand.settings(rate, Span::from_millis(200));
        assert_eq!(demands(&link), [Some(settings), None]);
    }
    let own = "{ name = \"dvb-rcs2\", frame = \"26500us\", slots = 100, cra = \"16kbit/s\", \
               vbdc = false, fca = 0.25, control_delay = \"700ms\" }";
    let [_, backward] = demands(&format!("backward = {{ demand = {own}, rate = \"2Mbit/s\" }}"));
    let expected = DemandSettings {
        frame: Span::from_nanos(26_500_000),
        slots: 100,
        cra: 16_000,
        vbdc: false,
        fca: 250_000,
        control_delay: Span::from_millis(700),
        rate: Rate::from_bits_per_second(2_000_000),
    };
    assert_eq!(backward, Some(expected));
}

#[test]
fn assignments_that_cannot_be() {
    let wrong = [
        ("demand = \"dvb-rcs\"", "link[0].demand"),
        ("demand = { slots = 3 }", "link[0].demand.name"),
        ("demand = { name = \"dvb-rcs2\", slots = 0 }", "link[0].demand.slots"),
        ("demand = { name = \"dvb-rcs2\", frame = \"0s\" }", "link[0].demand.frame"),
        ("demand = { name = \"dvb-rcs2\", fca = 1.5 }", "link[0].demand.fca"),
        ("demand = { name = \"dvb-rcs2\", rbdc = true }", "link[0].demand.rbdc"),
        ("demand = { name = \"dvb-rcs2\", cra = \"2Mbit/s\" }", "link[0].demand.cra"),
        (
            "backward = { demand = { name = \"dvb-rcs2\", frame = \"1ms\", slots = 126 } }",
            "link[0].backward.demand.slots",
        ),
        ("demand = { name = \"dvb-rcs2\", vbdc = false }", "link[0].demand.vbdc"),
        (
            "backward = { demand = \"dvb-rcs2\", delay = \"101s\" }",
            "link[0].backward.demand.control_delay",
        ),
        (
            "forward = { arq = \"go-back-n\" }\nbackward = { demand = \"dvb-rcs2\" }",
            "link[0].backward.demand",
        ),
        ("fec = \"reed-solomon\"\nforward = { demand = \"dvb-rcs2\" }", "link[0].forward.demand"),
    ];
    let mut all = String::new();
    for (link, path) in wrong {
        let found = Scenario::parse(&text(link), "demand.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        writeln!(all, "# {link}\n{found}\n").unwrap();
    }
    insta::assert_snapshot!(all);
    demands("forward = { fec = \"reed-solomon\" }\nbackward = { demand = \"dvb-rcs2\" }");
    demands("arq = \"none\"\nfec = \"none\"\ndemand = \"dvb-rcs2\"");
}

/// The kinds of warnings about demand assignment of the link.
fn doubts(link: &str) -> Vec<WarningKind> {
    let loaded = Loaded::parse(&text(link), "demand.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let of_demand = [WarningKind::DemandOutlastsRto, WarningKind::DemandBeforeGrant];
    warnings.iter().map(|warning| warning.kind).filter(|kind| of_demand.contains(kind)).collect()
}

#[test]
fn a_loop_that_does_not_fit_the_link_or_the_rto_is_a_warning() {
    // A round trip of 200 ms, and at most a frame, the loop of 200 ms and a slot.
    assert_eq!(doubts("backward = { demand = \"dvb-rcs2\" }"), []);
    let with = |delay: &str| {
        format!(
            "demand = {{ name = \"dvb-rcs2\", control_delay = \"{delay}\" }}\nforward = {{ demand = \"none\" }}"
        )
    };
    assert_eq!(doubts(&with("900ms")), [WarningKind::DemandOutlastsRto]);
    assert_eq!(doubts(&with("199ms")), [WarningKind::DemandBeforeGrant]);
    let constant = with("900ms").replace("rcs2\"", "rcs2\", cra = \"1Mbit/s\"");
    assert_eq!(doubts(&constant), []);
}

/// The ACKs of ten flows fill 32 kbit/s, although those of each alone do not.
#[test]
fn acks_that_the_assignment_cannot_carry_are_a_warning() {
    let warned = |demand: &str, count: u32, transport: &str| {
        let link = format!("backward = {{ rate = \"32kbit/s\", {demand} }}");
        let flow = format!("[[flow]]\ncount = {count}\ntransport = {{ {transport} }}");
        let text = text(&link).replace("[[flow]]", &flow);
        let loaded = Loaded::parse(&text, "demand.toml", &[]);
        let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
        let warnings = explain(&loaded.scenario, &loaded.written).warnings;
        let mut found = warnings.iter().filter(|one| one.kind == WarningKind::DemandBelowAcks);
        found.next().map(|one| one.message.clone())
    };
    let constant = |cra: &str| {
        format!("demand = {{ name = \"dvb-rcs2\", cra = \"{cra}\", vbdc = false, slots = 4 }}")
    };
    // 1 Mbit/s of payload needs an ACK of 52 bytes for each 2896 bytes of data: 18 kbit/s.
    let narrow = warned(&constant("17kbit/s"), 10, "").unwrap();
    assert!(narrow.contains("the ACKs of 10 flows take up to"), "{narrow}");
    assert!(narrow.contains("grants at most"), "{narrow}");
    assert_eq!(warned(&constant("17kbit/s"), 10, "ack_control = true"), None);
    assert_eq!(warned(&constant("17kbit/s"), 10, "delayed_ack = { segments = 4 }"), None);
    assert_eq!(warned(&constant("24kbit/s"), 10, ""), None);
    // With requests the rate suffices, but what waits for its grant does not fit a short queue.
    let requests = "demand = { name = \"dvb-rcs2\", slots = 4 }, queue = { packets = ";
    let short = warned(&format!("{requests}3 }}"), 10, "").unwrap();
    assert!(short.contains("wait for a grant of the control loop"), "{short}");
    assert_eq!(warned(&format!("{requests}100 }}"), 10, ""), None);
    assert_eq!(warned("queue = { packets = 3 }", 10, ""), None, "without demand assignment");
}

#[test]
fn the_explanation_has_delay_rate_and_loop() {
    let link = "backward = { demand = { name = \"dvb-rcs2\", cra = \"250kbit/s\", fca = 0.5 } }";
    let loaded = Loaded::parse(&text(link), "demand.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let rows = explanation.links[1].effects_of("demand");
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value.as_f64();
    // A slot has 1.25 ms and 156 bytes; 200 ms are five frames.
    assert_eq!(value("slot"), Some(156.0));
    assert_eq!(value("control loop"), Some(0.2));
    assert_eq!(value("rate"), Some(32.0 * 156.0 * 8.0 / 0.04));
    let [_, backward] = demands(link);
    assert_eq!(value("added delay, ACK"), Some(backward.unwrap().sparse_delay(40)[0]));
    assert!(explanation.links[0].effects_of("demand").is_empty());
    let printed = explanation.to_string();
    assert!(printed.contains("Demand assignment b -> a"), "{printed}");
}

/// Without requests a lasting load has the rate of CRA.
#[test]
fn the_bottleneck_is_what_is_assigned() {
    let link = "forward = { demand = { name = \"dvb-rcs2\", cra = \"250kbit/s\", vbdc = false } }";
    let loaded = Loaded::parse(&text(link), "demand.toml", &[]).unwrap();
    let figures = &explain(&loaded.scenario, &loaded.written).flows[0].figures;
    let bits = 8.0 * 156.0 * 8.0 / 0.04;
    assert!((figures.bottleneck_bps - bits).abs() < 1.0, "{}", figures.bottleneck_bps);
}
