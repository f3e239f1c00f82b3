//! A controller of another crate: registered once, then known by its name like the built-in ones.
//!
//! In a program of its own, because the registry is that of the process.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{
    Allowed, Controller, Entry, Listed, Loss, NameTaken, Parameter, Repair, Settings, Status,
    TcpPolicy, Values, Window, register,
};
use recording::Recording;
use scenario::Scenario;
use simulator::Options;

/// Standard TCP that keeps another share of the flight after a loss.
#[derive(Debug)]
struct Gentle {
    window: Window,
    kept: f64,
}

impl Listed for Gentle {
    const LISTED: &'static [Entry] = &[Entry {
        name: "lenient",
        summary: "Keeps a larger share of the flight after a loss",
        source: "this test",
        status: Status::Experimental,
        repair: Repair::PartialAcks,
        parameters: &[Parameter {
            name: "kept",
            default: "0.5",
            allowed: Allowed::Range(0.1, 0.9),
            meaning: "Share of the flight size that ssthresh becomes",
        }],
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self { window: Window::new(settings), kept: values.number("kept") }
    }
}

impl Controller for Gentle {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        ((loss.flight as f64 * self.kept) as u64).max(2 * self.window.mss)
    }
}

impl TcpPolicy for Gentle {}

/// The same name again.
#[derive(Debug)]
struct Impostor(Gentle);

impl Listed for Impostor {
    const LISTED: &'static [Entry] = &[Entry { name: "reno", ..Gentle::LISTED[0] }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self(Gentle::build(settings, values))
    }
}

impl Controller for Impostor {
    fn window(&self) -> &Window {
        self.0.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.0.window_mut()
    }
}

impl TcpPolicy for Impostor {}

fn text(controller: &str) -> String {
    format!(
        r#"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "250ms"
channel = {{ per = 0.002 }}
[[flow]]
from = "server"
to = "client"
controller = {controller}
traffic = {{ download = "5MB" }}
"#
    )
}

fn run(controller: &str) -> Recording {
    let scenario = Scenario::parse(&text(controller), "test.toml", &[]);
    simulator::run(&scenario.unwrap_or_else(|e| panic!("{e}")), 1, Options::default())
}

#[test]
fn a_registered_controller_is_known_by_its_name() {
    let before = Scenario::parse(&text("\"lenient\""), "test.toml", &[]).unwrap_err();
    assert!(!before.to_string().is_empty());
    let known = |schema: serde_json::Value| schema.to_string().contains("\"lenient\"");
    assert!(!known(scenario::schema()), "nothing has registered it");

    register::<Gentle>().unwrap();

    assert!(known(scenario::schema()));
    assert_eq!(congestion::find("lenient").unwrap().status, Status::Experimental);
    assert_eq!(register::<Gentle>(), Err(NameTaken { name: "lenient" }));
    assert_eq!(register::<Impostor>(), Err(NameTaken { name: "reno" }));

    // With the share of standard TCP it is standard TCP, behind a vtable.
    let (own, mut external) = (run("\"newreno\""), run("\"lenient\""));
    let named = |recording: &Recording| recording.flows[0].controller.to_string();
    assert_eq!(
        (named(&external), external.flows[0].controller_status.to_string()),
        ("lenient".into(), "experimental".into())
    );
    external.flows[0].controller = own.flows[0].controller.clone();
    external.flows[0].controller_status = own.flows[0].controller_status.clone();
    assert_eq!(external.digest(), own.digest());

    let gentler = run("{ name = \"lenient\", kept = 0.8 }");
    let time = |recording: &Recording| recording.flows[0].completion_s;
    assert!(time(&gentler) < time(&external), "{:?} and {:?}", time(&gentler), time(&external));

    let refused = Scenario::parse(&text("{ name = \"lenient\", kept = 2 }"), "test.toml", &[]);
    assert!(refused.is_err(), "a parameter out of its range");
}
