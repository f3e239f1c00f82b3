//! Scenarios that are made from others, and written down.

use std::fs;

use serde_json::json;

use scenario::{Loaded, NewValue, Override};

const RAIN: &str = r#"# a link in the rain
duration = "10s"

[[link]]
between = ["hub", "ship"]
rate = "2Mbit/s"
delay = "250ms"
channel = { eb_n0 = 11.0, code = "sequential-3/4", attenuation = { file = "rain.csv", outside = "hold" } }

[[flow]]
from = "hub"
to = "ship"
controller = "reno"
traffic = { bulk = "unlimited" }
"#;

fn by_program(path: &str, value: serde_json::Value) -> Override {
    Override { path: path.to_owned(), value: NewValue::Program(value) }
}

/// The scenario in a folder with its fade.
fn rain() -> (tempfile::TempDir, Loaded) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rain.csv"), "0,1.5\n10,3\n").unwrap();
    fs::write(folder.path().join("rain.toml"), RAIN).unwrap();
    let loaded = Loaded::load(folder.path().join("rain.toml"), &[]).unwrap();
    (folder, loaded)
}

/// All that runs.
fn model(loaded: &Loaded) -> String {
    format!("{:?}", loaded.scenario)
}

#[test]
fn changes_are_laid_over_earlier_ones() {
    let (_folder, base) = rain();
    let typed = ["flow.0.controller=cubic".parse().unwrap()];
    let changed = base.given.with(&typed).unwrap();
    let changed = changed.given.with(&[by_program("link.0.delay", json!("1s"))]).unwrap();
    assert_eq!(changed.scenario.flows[0].controller.entry().name, "cubic");
    assert_eq!(changed.scenario.links[0].forward.delay.as_secs_f64(), 1.0);
    assert_eq!(base.scenario.flows[0].controller.entry().name, "reno");
    assert!(
        changed
            .given
            .origin()
            .ends_with("rain.toml --set 'flow.0.controller=cubic' --set 'link.0.delay=\"1s\"'")
    );
}

#[test]
fn a_wrong_change_is_named_as_it_was_made() {
    let (_folder, base) = rain();
    let right = ["seed=7".parse().unwrap()];
    let changed = base.given.with(&right).unwrap();
    let error = changed.given.with(&[by_program("seed", json!("8"))]).unwrap_err();
    assert_eq!(error.0[0].place.set.as_deref(), Some("with seed=\"8\""));
    let error = changed.given.with(&["seed=x".parse().unwrap()]).unwrap_err();
    assert_eq!(error.0[0].place.set.as_deref(), Some("--set seed=x"));
}

#[test]
fn a_scenario_written_down_is_the_same_from_anywhere() {
    let (folder, base) = rain();
    let changed = base.given.with(&[by_program("duration", json!("9s"))]).unwrap();
    let text = changed.given.to_toml(&changed.scenario, 3);
    let again = Loaded::parse(&text, "elsewhere/other.toml", &[]).unwrap();
    assert_eq!(again.scenario.seed, 3);
    let expected = changed.given.with(&["seed=3".parse().unwrap()]).unwrap();
    let place = folder.path().join("rain.csv").display().to_string();
    assert_eq!(model(&again).replace(&place, "rain.csv"), model(&expected));
}

#[test]
fn a_packed_scenario_has_its_files_beside_it() {
    let (folder, base) = rain();
    let packed = base.given.packed(&base.scenario, 1);
    let [(name, place)] = &packed.files[..] else { panic!("{:?}", packed.files) };
    assert_eq!((name.as_str(), place), ("input-0.csv", &folder.path().join("rain.csv")));
    let there = tempfile::tempdir().unwrap();
    fs::copy(place, there.path().join(name)).unwrap();
    fs::write(there.path().join("scenario.toml"), &packed.text).unwrap();
    drop(folder);
    let again = Loaded::load(there.path().join("scenario.toml"), &[]).unwrap();
    let model = |loaded: &Loaded| model(loaded).replace("input-0.csv", "rain.csv");
    assert_eq!(model(&again), model(&base));
}

#[test]
fn what_nobody_changed_keeps_its_comments() {
    let text = RAIN.replace("{ file = \"rain.csv\", outside = \"hold\" }", "1.5");
    let loaded = Loaded::parse(&text, "rain.toml", &[]).unwrap();
    let written = loaded.given.to_toml(&loaded.scenario, 5);
    assert_eq!(written, format!("name = \"rain\"\nseed = 5\n{text}"));
    let changed = loaded.given.with(&["seed=6".parse().unwrap()]).unwrap();
    assert!(!changed.given.to_toml(&changed.scenario, 6).contains('#'));
}
