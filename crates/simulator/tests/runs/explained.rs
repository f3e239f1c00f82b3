//! Runs keep to what their explanation says of them before: nothing that it rules out happens.

use explain::{Explanation, WarningKind, explain};
use recording::Recording;
use scenario::Loaded;
use simulator::Options;

fn run(text: &str) -> (Explanation, Recording) {
    let loaded = Loaded::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let explanation = explain(&loaded.scenario, &loaded.written);
    (explanation, simulator::run(&loaded.scenario, 1, Options::default()))
}

fn scenario(link: &str, flow: &str) -> String {
    format!(
        "duration = \"60s\"\n[[link]]\nbetween = [\"a\", \"b\"]\n{link}\n[[flow]]\nfrom = \"a\"\n\
         to = \"b\"\ncontroller = \"cubic\"\n{flow}\n"
    )
}

/// Downloads over links with few ACKs, events, buckets and outages. Some complete, some cannot.
#[test]
fn what_cannot_complete_does_not_and_bounds_hold() {
    let asymmetric = "delay = \"250ms\"\nforward = { rate = \"20Mbit/s\", queue = { bdp = 1 } }\n\
                      backward = { rate = \"32kbit/s\" }";
    let fast = "rate = \"20Mbit/s\"\ndelay = \"20ms\"\nqueue = { bdp = 1 }";
    let roomy = "rate = \"20Mbit/s\"\ndelay = \"20ms\"\nqueue = { bytes = \"1MB\" }";
    let slow = "rate = \"100kbit/s\"\ndelay = \"20ms\"";
    let event = |link: &str, keys: &str| format!("{link}\nevent = [{{ {keys} }}]");
    let narrow = "transport = { receive_buffer = \"64KiB\" }\n";
    let [small, large] =
        ["10MB", "50MB"].map(|size| format!("traffic = {{ download = \"{size}\" }}"));
    let late = format!("start = \"2s\"\n{small}");
    let cases = [
        (asymmetric.to_owned(), large.clone(), true),
        (fast.to_owned(), large.clone(), true),
        (slow.to_owned(), late.clone(), false),
        (event(slow, "at = \"1s\", rate = \"100Mbit/s\""), late.clone(), true),
        (event(fast, "at = \"4s\", rate = \"10kbit/s\""), late.clone(), false),
        (event(fast, "at = \"4s\", outage = \"100s\""), late.clone(), false),
        (event(fast, "at = \"1s\", every = \"2s\", outage = \"1.9s\""), large.clone(), false),
        (format!("{roomy}\nshaper = {{ rate = \"100kbit/s\", burst = \"20MB\" }}"), small, true),
        (event(fast, "at = \"1s\", delay = \"1ms\""), format!("{narrow}{late}"), true),
        (fast.replace("20ms", "900ms"), format!("{narrow}{late}"), false),
        (fast.to_owned(), format!("stop = \"1s\"\n{large}"), false),
    ];
    for (link, flow, completes) in cases {
        let (explanation, recording) = run(&scenario(&link, &flow));
        let mut warnings = explanation.warnings.iter();
        let cannot = warnings.any(|warning| warning.kind == WarningKind::CannotComplete);
        let found = &recording.flows[0];
        assert_eq!((found.completed, cannot), (completes, !completes), "{link}\n{flow}");
        let most = explanation.flows[0].figures.bounds.bytes();
        assert!(found.bytes as f64 <= most, "{} of {most}: {link}\n{flow}", found.bytes);
    }
}

/// Findings of the soak: a browser goes on after its stop, the parity of the last block comes after
/// its data, and a session that ends completes.
#[test]
fn bounds_hold_for_stops_of_browsers_parity_and_sessions() {
    let slow = "rate = \"300kbit/s\"\ndelay = \"1ms\"";
    let web = "stop = \"2s\"\ntransport = { receive_buffer = \"9000B\" }\ntraffic = { web = {} }";
    let bulk = "traffic = { bulk = \"unlimited\" }";
    let coded =
        "rate = \"762887bit/s\"\ndelay = \"1ms\"\nforward.fec = { name = \"reed-solomon\" }";
    let sessions = "stop = \"2s\"\nsessions = { pause = \"50ms\", length = \"200ms\" }\n\
                    traffic = { download = \"1000GB\" }";
    for (link, flow, duration) in
        [(slow, web, "60s"), (coded, bulk, "200ms"), (coded, bulk, "2s"), (slow, sessions, "60s")]
    {
        let text = scenario(link, flow).replace("\"60s\"", &format!("\"{duration}\""));
        let (explanation, recording) = run(&text);
        let (found, most) = (&recording.flows[0], explanation.flows[0].figures.bounds.bytes());
        assert!(found.bytes as f64 <= most, "{} of {most}: {text}", found.bytes);
        let mut warnings = explanation.warnings.iter();
        let cannot = warnings.any(|warning| warning.kind == WarningKind::CannotComplete);
        assert!(!(cannot && found.completed), "{text}");
    }
}
