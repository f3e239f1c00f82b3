//! The limit of byte counting (RFC 3465) with every controller: it acts, or `explain` says that it
//! does not.

use explain::{WarningKind, explain};
use scenario::Loaded;
use simulator::Options;

/// Controllers without a slow start at the beginning, in which the limit acts after a timeout.
const SUDDEN: [&str; 3] = ["cherry", "peach", "peach-plus"];
/// A controller that uses the limit after slow start, in the phase with a share of its growth.
const AFTER: &str = "new-vegas";

/// A download over a long path without losses, with an ACK for every eighth segment.
fn download(controller: &str, limit: u32) -> Loaded {
    let text = format!(
        "duration = \"60s\"\n\
         [[link]]\nbetween = [\"server\", \"client\"]\nrate = \"1Gbit/s\"\ndelay = \"100ms\"\n\
         queue = \"unlimited\"\n\
         [[flow]]\nfrom = \"server\"\nto = \"client\"\ncontroller = \"{controller}\"\n\
         traffic = {{ download = \"2MB\" }}\n\
         transport = {{ abc_limit = {limit}, delayed_ack = {{ segments = 8 }}, initial_window = 32 }}\n"
    );
    Loaded::parse(&text, "counting.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn completion_s(loaded: &Loaded) -> f64 {
    let recording = simulator::run(&loaded.scenario, 1, Options::default());
    recording.flows[0].completion_s.unwrap()
}

fn is_warned_about(loaded: &Loaded) -> bool {
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    warnings.iter().any(|warning| warning.kind == WarningKind::AbcLimitWithoutEffect)
}

#[test]
fn the_limit_of_a_host_is_no_wish_of_the_scenario() {
    for entry in congestion::entries() {
        let text = format!(
            "duration = \"1s\"\n\
             [[link]]\nbetween = [\"server\", \"client\"]\nrate = \"1Mbit/s\"\ndelay = \"100ms\"\n\
             [[flow]]\nfrom = \"server\"\nto = \"client\"\nhost = \"linux-6.18\"\n\
             controller = \"{}\"\ntraffic = {{ download = \"2kB\" }}\n",
            entry.name
        );
        if let Ok(loaded) = Loaded::parse(&text, "host.toml", &[]) {
            assert!(!is_warned_about(&loaded), "{}", entry.name);
        }
    }
}

#[test]
fn the_limit_of_byte_counting_acts_or_is_warned_about() {
    let (mut idle, mut wrong) = (Vec::new(), Vec::new());
    for entry in congestion::entries() {
        let [one, all] = [1, 255].map(|limit| download(entry.name, limit));
        assert!(!is_warned_about(&one), "{}: the default", entry.name);
        let [with_one, with_all] = [&one, &all].map(completion_s);
        let acts = with_one != with_all;
        if SUDDEN.contains(&entry.name) || entry.name == AFTER {
            let expected = (entry.name == AFTER, entry.name == AFTER);
            assert_eq!((acts, is_warned_about(&all)), expected, "{}", entry.name);
            continue;
        }
        if acts == is_warned_about(&all) {
            wrong.push((entry.name, acts));
        }
        if !acts {
            idle.push(entry.name);
        }
    }
    assert_eq!(wrong, [], "acts, and is warned about; or the reverse");
    insta::assert_snapshot!(idle.join(" "));
}
