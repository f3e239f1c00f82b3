//! Switches: what they resolve to, what is refused with its place, and what `explain` says.

use explain::{Explanation, WarningKind, explain};
use scenario::{Loaded, Scenario};

/// A ship with two paths to a hub. `top` and `switch` are TOML.
fn text(top: &str, switch: &str, flow: &str) -> String {
    format!(
        r#"
duration = "100s"
{top}
[[switch]]
{switch}
[[link]]
between = ["hub", "leo"]
rate = "20Mbit/s"
delay = "20ms"
[[link]]
between = ["leo", "ship"]
rate = "10Mbit/s"
delay = "5ms"
[[link]]
between = ["hub", "geo"]
rate = "5Mbit/s"
delay = "130ms"
[[link]]
between = ["geo", "ship"]
rate = "5Mbit/s"
delay = "120ms"
[[link]]
between = ["ship", "laptop"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "hub"
to = "laptop"
controller = "leocc"
traffic = {{ bulk = "unlimited" }}
{flow}
"#
    )
}

const BETWEEN: &str = "between = [\"ship\", \"hub\"]\nvia = [\"leo\", \"geo\"]";

fn refused(switch: &str, flow: &str) -> String {
    let text = text("", switch, flow);
    let found = Scenario::parse(&text, "test.toml", &[]);
    found.err().unwrap_or_else(|| panic!("{switch} is accepted")).to_string()
}

fn explained(text: &str) -> Explanation {
    let Loaded { scenario, written, .. } =
        Loaded::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    explain(&scenario, &written)
}

/// Each of these is refused, and the answer has these words.
#[test]
fn what_makes_no_sense_is_refused() {
    let event = "event = [{ at = \"10s\", via = \"geo\" }]";
    let rule = |text: &str| format!("{BETWEEN}\n{text}");
    let refusals = [
        (BETWEEN.to_owned(), "expected one of `event`, `file`, `outages` and `bfd`, found none"),
        (rule(&format!("{event}\nbfd = {{}}")), "found event, bfd"),
        (rule("event = [{ at = \"10s\", via = \"goe\" }]"), "did you mean \"geo\""),
        (
            rule("event = [{ at = \"10s\", via = \"geo\" }, { at = \"9s\", via = \"leo\" }]"),
            "a time after that of the event before, \"10s\"",
        ),
        (rule("event = [{ at = \"10s\", every = \"1us\", via = \"geo\" }]"), "at least 1ms"),
        (rule("bfd = {}\nlag = \"1s\""), "no `lag` with `bfd`"),
        (rule("bfd = { multiplier = 0 }"), "multiplier"),
        (rule("file = \"absent.csv\""), "absent.csv"),
        (
            format!("between = [\"ship\", \"ship\"]\nvia = [\"leo\", \"geo\"]\n{event}"),
            "two different nodes",
        ),
        (
            format!("between = [\"ship\", \"hub\"]\nvia = [\"geo\", \"leo\"]\n{event}"),
            "a node on the shortest route between \"ship\" and \"hub\"",
        ),
        (
            "between = [\"ship\", \"hub\"]\nvia = [\"leo\", \"laptop\"]\nbfd = {}".to_owned(),
            "a node between \"ship\" and \"hub\" in both directions",
        ),
        (
            "between = [\"ship\", \"hub\"]\nvia = [\"leo\", \"leo\"]\nbfd = {}".to_owned(),
            "for the second time",
        ),
        (
            "between = [\"ship\", \"hub\"]\nvia = [\"leo\", \"ship\"]\nbfd = {}".to_owned(),
            "a node between the two routers",
        ),
        (
            "between = [\"ship\", \"hubb\"]\nvia = [\"leo\", \"geo\"]".to_owned(),
            "did you mean \"hub\"",
        ),
    ];
    for (switch, words) in &refusals {
        let found = refused(switch, "");
        assert!(found.contains(words), "{switch}\n{found}");
        assert!(found.contains("test.toml:"), "{found}");
    }
    // With a queue in bandwidth-delay products, which looks at all paths.
    let between = "between = [\"ship\", \"hub\"]\nvia = [\"geo\", \"leo\"]\nbfd = {}";
    let wrong = text("", between, "")
        .replace("delay = \"120ms\"", "delay = \"120ms\"\nqueue = { bdp = 1 }");
    assert!(Scenario::parse(&wrong, "test.toml", &[]).is_err());
    let hints = "path_hints = { source = \"schedule\" }";
    let found = refused(&rule("bfd = {}"), hints);
    assert!(found.contains("whose moves only the run shows"), "{found}");
    let between = "between = [\"leo\", \"geo\"]\nvia = [\"ship\", \"hub\"]\nbfd = {}";
    let found = refused(between, "");
    assert!(found.contains("two routers that a flow crosses"), "{found}");
}

#[test]
fn moves_of_a_file_are_read_with_the_lines_of_their_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("moves.csv");
    let switch = format!("{BETWEEN}\nfile = {:?}", file.to_str().unwrap());
    let with = |rows: &str| {
        std::fs::write(&file, rows).unwrap();
        Scenario::parse(&text("", &switch, ""), "test.toml", &[])
    };
    let scenario = with("t_s,via\n10,geo\n20.5,leo\n").unwrap();
    let routes = scenario::routes(&scenario);
    let moves =
        scenario::switch_moves(&scenario, &routes, &scenario.switches[0], &scenario::Seed::new(1))
            .unwrap();
    let times: Vec<_> = moves[0].iter().map(|(at, path)| (at.as_secs_f64(), *path)).collect();
    assert_eq!(times, [(10.0, 1), (20.5, 0)]);
    for (rows, words) in [
        ("t_s,via\n10,geo\n9,leo\n", "moves.csv:3"),
        ("t_s,via\n10,goe\n", "did you mean \"geo\""),
        ("t_s,path\n10,geo\n", "a column `via`"),
        ("t_s,via\n", "at least one row"),
        ("t_s,via\nnoon,geo\n", "a time in s"),
    ] {
        let errors = with(rows).unwrap_err().to_string();
        assert!(errors.contains(words), "{errors}");
    }
}

#[test]
fn explain_shows_paths_and_moves() {
    let times =
        "event = [{ at = \"10s\", via = \"geo\" }, { at = \"20s\", via = \"leo\" }]\nlag = \"1s\"";
    let found = explained(&text("", &format!("{BETWEEN}\n{times}"), ""));
    let shown = found.to_string();
    for line in [
        "Switch between ship and hub",
        "leo     ship -> leo -> hub: round trip 50ms, at most 10Mbit/s",
        "geo     ship -> geo -> hub: round trip 500ms, at most 5Mbit/s",
        "of ship: to geo at 10s, to leo at 20s",
        "of hub: to geo at 11s, to leo at 21s",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let never = explained(&text("", &format!("{BETWEEN}\noutages = {{}}"), ""));
    assert!(never.warnings.iter().any(|one| one.kind == WarningKind::SwitchWithoutMoves));
    assert!(found.warnings.iter().all(|one| one.kind != WarningKind::SwitchWithoutMoves));
    let only = explained(&text("", &format!("{BETWEEN}\nbfd = {{}}"), "")).to_string();
    assert!(only.contains("moves   in the run only"), "{only}");
}

/// With a random phase the moves of events are later together with those of links.
#[test]
fn a_random_phase_moves_the_events_of_switches() {
    let switch = format!("{BETWEEN}\nevent = [{{ at = \"10s\", every = \"20s\", via = \"geo\" }}]");
    let scenario =
        Scenario::parse(&text("phase = \"random\"", &switch, ""), "test.toml", &[]).unwrap();
    let routes = scenario::routes(&scenario);
    let first = |seed| {
        let moves = scenario::switch_moves(
            &scenario,
            &routes,
            &scenario.switches[0],
            &scenario::Seed::new(seed),
        );
        moves.unwrap()[0][0].0.as_secs_f64()
    };
    assert_eq!(first(3), 10.0 + scenario.event_delay(&scenario::Seed::new(3)).as_secs_f64());
    assert!(
        first(3) != first(4) && scenario.event_delay(&scenario::Seed::new(3)).as_secs_f64() > 0.0
    );
}

/// Random documents, most of which have mistakes: none of them is a panic, and switches with each
/// rule are accepted.
#[test]
fn random_documents_with_a_switch_are_answered() {
    let schema = scenario::schema();
    for rule in ["event", "outages", "bfd"] {
        let mut accepted = 0;
        for seed in 0..40 {
            let mut dice = generate::Dice::new(seed);
            let wanted = [format!("switch.{rule}")];
            let drawn = generate::drawn(&schema, &wanted, &mut dice);
            let found = generate::repaired(drawn, &schema, &mut dice);
            let switches = found.map(|(_, loaded)| loaded.scenario.switches);
            accepted += switches.unwrap_or_default().len();
        }
        assert!(accepted > 5, "{accepted} switches with {rule}");
    }
}
