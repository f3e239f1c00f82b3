use std::collections::BTreeSet;

use language::overrides::Override;
use serde_json::{Value as Json, json};

use super::*;
use crate::{Loaded, Scenario};

const HOME: &str = r#"
[[link]]
between = ["gateway", "home"]
rate = "20Mbit/s"
delay = "260ms"

[[mix]]
name = "evening"
preset = "household"
from = "gateway"
to = "home"
controller = "cubic"
"#;

fn flow(to: &str) -> String {
    format!(
        "[[flow]]\nname = \"own\"\nfrom = \"gateway\"\nto = \"{to}\"\ncontroller = \"reno\"\n\
         traffic = {{ download = \"1MB\" }}\n"
    )
}

fn of(mix: &Json) -> Result<Loaded, String> {
    let document = json!({
        "link": [{ "between": ["gateway", "home"], "rate": "20Mbit/s", "delay": "260ms" }],
        "mix": [mix],
    });
    Loaded::from_json(&document, &[]).map_err(|errors| errors.to_string())
}

fn mix(preset: &str) -> Json {
    json!({ "preset": preset, "from": "gateway", "to": "home", "controller": "cubic" })
}

fn with(key: &str, value: impl Into<Json>) -> Json {
    let mut mix = mix("household");
    mix[key] = value.into();
    mix
}

fn names(scenario: &Scenario) -> Vec<&str> {
    scenario.flows.iter().map(|flow| flow.name.as_str()).collect()
}

/// Everything that a flow has.
fn shown(scenario: &Scenario) -> String {
    format!("{:?}", scenario.flows)
}

#[test]
fn every_mix_has_a_source_and_flows_that_run() {
    let mut found = BTreeSet::new();
    for preset in MIXES {
        let Loaded { scenario, .. } = of(&mix(preset.name)).unwrap();
        assert!(scenario.flows.len() > 3, "{}", preset.name);
        assert!(!preset.source.is_empty() && !preset.summary.is_empty());
        assert!(found.insert(preset.name));
        for flow in &scenario.flows {
            assert!(flow.sessions.is_some() || flow.stop.is_some(), "{}", flow.name);
        }
    }
}

#[test]
fn a_mix_stands_for_the_flows_that_one_would_write() {
    let loaded = Loaded::parse(HOME, "home.toml", &[]).unwrap();
    let written = loaded.given.values(&loaded.scenario);
    assert!(written.get("mix").is_none());
    let again = Loaded::from_json(&written, &[]).unwrap();
    assert_eq!(shown(&again.scenario), shown(&loaded.scenario));
    let expected = [
        "evening-pages.0",
        "evening-pages.1",
        "evening-videos",
        "evening-calls",
        "evening-game",
        "evening-downloads",
    ];
    assert_eq!(names(&loaded.scenario), expected);
    // The text keeps the mix.
    let text = loaded.given.to_toml(&loaded.scenario, 7);
    assert!(text.contains("[[mix]]") && !text.contains("[[flow]]"), "{text}");
    let again = Scenario::parse(&text, "again.toml", &[]).unwrap();
    assert_eq!(shown(&again), shown(&loaded.scenario));
}

/// The flows of a terminal of OpenBACH as one would write them.
const TERMINAL: &str = r#"
[[flow]]
name = "terminal-#-transfer"
from = "server"
to = "terminal-#"
start = "FROM"
stop = "END"
controller = "cubic"
traffic = { download = "10MB" }

[[flow]]
name = "terminal-#-video"
from = "server"
to = "terminal-#"
start = "FROM"
stop = "END"
controller = "cubic"
traffic.video = { length = "60s", ladder = ["300kbit/s", "750kbit/s", "1.2Mbit/s", "1.85Mbit/s", "4.3Mbit/s"] }

[[flow]]
name = "terminal-#-pages"
count = 2
from = "server"
to = "terminal-#"
start = "FROM"
stop = "END"
controller = "cubic"
traffic.page = { site = "news", pages = 5, interval = "12s" }

[[flow]]
name = "terminal-#-call"
from = "server"
to = "terminal-#"
start = "FROM"
stop = "END"
transport = { protocol = "udp" }
traffic = { call = { codec = "g711", jitter_buffer = "twice-jitter" } }
"#;

#[test]
fn the_example_of_openbach_has_the_flows_of_its_three_terminals() {
    let example = include_str!("../../../../examples/openbach-mix.toml");
    let links = example.split("[[mix]]").next().unwrap();
    let terminal = |number: usize| {
        let start = 5 * (number - 1);
        let text = TERMINAL.replace('#', &number.to_string());
        // The letter stands in END, too.
        let text = text.replace(&format!("U{number}TIL"), &format!("{}s", start + 60));
        let text = text.replace("END", &format!("{}s", start + 60));
        text.replace("FROM", &format!("{start}s"))
    };
    let text: String = links.to_owned() + &(1..=3).map(terminal).collect::<String>();
    let by_hand = Scenario::parse(&text, "hand.toml", &[]).unwrap();
    let written = Scenario::parse(example, "example.toml", &[]).unwrap();
    assert_eq!(names(&written), names(&by_hand));
    assert_eq!(shown(&written), shown(&by_hand));
}

#[test]
fn flows_of_mixes_follow_the_own_flows() {
    let text = HOME.to_owned() + &flow("home");
    let loaded = Loaded::parse(&text, "home.toml", &[]).unwrap();
    assert_eq!(names(&loaded.scenario)[..2], ["own", "evening-pages.0"]);
    assert_eq!(loaded.given.place("flow", 0, "controller").line, Some(17));
    assert_eq!(loaded.given.place("flow", 1, "controller").line, Some(12));
    assert_eq!(loaded.given.place("flow", 1, "sessions").line, Some(9));
}

#[test]
fn keys_of_a_mix_hold_for_its_flows() {
    let mut mix = with("parts", json!(["calls", "downloads"]));
    mix["count"] = 3.into();
    mix["activity"] = 2.into();
    mix["start"] = "10s".into();
    mix["transport"] = json!({ "mss": 1000 });
    let Loaded { scenario, .. } = of(&mix).unwrap();
    let (calls, downloads) = scenario.flows.split_at(3);
    assert_eq!(
        names(&scenario)[..4],
        ["mix-0-calls.0", "mix-0-calls.1", "mix-0-calls.2", "mix-0-downloads.0"]
    );
    assert_eq!(downloads.len(), 3);
    for flow in downloads {
        assert_eq!(flow.sessions.unwrap().pause.as_secs_f64(), 360.0);
        assert_eq!(flow.sessions.unwrap().length.as_secs_f64(), 120.0);
        assert_eq!(flow.start.as_secs_f64(), 10.0);
        assert_eq!(flow.transport.plan().mss(), 1000);
        assert_eq!(flow.controller.entry().name, "cubic");
    }
    assert_eq!(calls[0].protocol().name(), "udp");
    let Loaded { scenario, .. } = of(&json!({
        "preset": "openbach", "from": "gateway", "to": "home", "controller": "cubic", "start": "5s",
    }))
    .unwrap();
    assert!(scenario.flows.iter().all(|flow| flow.stop.unwrap().as_secs_f64() == 65.0));
}

#[test]
fn wrong_mixes_are_reported_at_their_place() {
    let wrong = [
        (with("preset", "houshold"), "did you mean \"household\""),
        (with("parts", json!(["call"])), "did you mean \"calls\""),
        (with("parts", json!(["calls"])), "mix[0].controller: expected a part over a stream"),
        (with("to", "hom"), "mix[0].to: expected one of the nodes"),
        (with("spread", "1s"), "mix[0].spread: expected a `count` above 1"),
        (with("stop", "0s"), "mix[0].stop"),
        (with("name", "a".repeat(60)), "mix[0].name: expected at most 54 characters"),
        (with("transport", json!({ "protocol": "udp" })), "mix[0]"),
    ];
    for (mix, expected) in wrong {
        let error = of(&mix).unwrap_err();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    let mut silent = mix("openbach");
    silent["activity"] = 2.into();
    assert!(of(&silent).unwrap_err().contains("mix[0].activity: expected a part with sessions"));
    let mut alone = mix("household");
    alone.as_object_mut().unwrap().remove("controller");
    let error = of(&alone).unwrap_err();
    assert!(error.contains("mix[0].controller") && error.contains("mix-0-pages"), "{error}");
    let without = HOME.split("[[mix]]").next().unwrap();
    let error = Scenario::parse(without, "home.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("at least one [[flow]] or [[mix]]"), "{error}");
    let mistyped = HOME.replace("to = \"home\"", "to = \"hoem\"");
    let error = Scenario::parse(&mistyped, "home.toml", &[]).unwrap_err().to_string();
    assert!(error.starts_with("home.toml:11:"), "{error}");
}

#[test]
fn a_mix_has_a_name_in_overrides_and_its_flows_have_none() {
    let set = |text: &str| vec![text.parse::<Override>().unwrap()];
    let changed = Loaded::parse(HOME, "home.toml", &set("mix.evening.preset=office")).unwrap();
    assert!(names(&changed.scenario).contains(&"evening-application.4"));
    let error = Loaded::parse(HOME, "home.toml", &set("flow.evening-pages.controller=reno"));
    assert!(error.unwrap_err().to_string().contains("flow"));
}
