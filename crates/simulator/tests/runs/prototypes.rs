//! Controllers that are in no registry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use congestion::{
    Ack, AnyController, Controller, External, Settings, Specification, TcpPolicy, Window,
};
use simulator::{Controllers, Options};

use crate::{geo, parse, run};

/// Reno as a stranger, which gives up after some ACKs.
#[derive(Debug)]
struct Stranger {
    reno: AnyController,
    acks_left: Arc<AtomicU32>,
}

impl Controller for Stranger {
    fn window(&self) -> &Window {
        self.reno.window()
    }

    fn window_mut(&mut self) -> &mut Window {
        self.reno.window_mut()
    }

    fn on_ack(&mut self, ack: &Ack) {
        let left = self.acks_left.load(Ordering::Relaxed);
        self.acks_left.store(left.saturating_sub(1), Ordering::Relaxed);
        self.reno.on_ack(ack);
    }
}

impl TcpPolicy for Stranger {}

/// Strangers for one flow.
struct For {
    flow: usize,
    acks_left: Arc<AtomicU32>,
}

impl For {
    fn flow(flow: usize, acks: u32) -> Self {
        Self { flow, acks_left: Arc::new(AtomicU32::new(acks)) }
    }
}

impl Controllers for For {
    fn describe(&self, flow: usize) -> Option<(&str, &str)> {
        (flow == self.flow).then_some(("stranger", "unknown"))
    }

    fn build(&self, flow: usize, settings: &Settings) -> Option<Box<dyn External>> {
        let reno = Specification::named("reno").unwrap().build(settings);
        let stranger = Stranger { reno, acks_left: self.acks_left.clone() };
        (flow == self.flow).then(|| Box::new(stranger) as Box<dyn External>)
    }

    fn failed(&self) -> bool {
        self.acks_left.load(Ordering::Relaxed) == 0
    }
}

/// Two flows with losses.
fn scenario() -> String {
    let link = r#"rate = "2Mbit/s"
channel = { per = 0.01 }"#;
    let flow = geo(link, "", r#"download = "300kB""#);
    let second = flow[flow.find("[[flow]]").unwrap()..].replace("newreno", "cubic");
    format!("{flow}{second}")
}

#[test]
fn a_flow_with_the_same_rules_from_elsewhere_runs_the_same() {
    let ours = run(&scenario());
    let others = For::flow(0, u32::MAX);
    let options = Options { controllers: Some(&others), ..Options::default() };
    let mut theirs = simulator::run(&parse(&scenario()), 1, options);
    let named = |recording: &recording::Recording| {
        recording
            .flows
            .iter()
            .map(|f| (f.controller.to_string(), f.controller_status.to_string()))
            .collect::<Vec<_>>()
    };
    let published = |name: &str| (name.to_owned(), "published".to_owned());
    assert_eq!(named(&ours), [published("newreno"), published("cubic")]);
    assert_eq!(named(&theirs), [("stranger".into(), "unknown".into()), published("cubic")]);
    assert!(others.acks_left.load(Ordering::Relaxed) < u32::MAX, "the stranger heard of ACKs");
    theirs.flows[0].controller = "newreno".into();
    theirs.flows[0].controller_status = "published".into();
    assert_eq!(theirs.digest(), ours.digest());
}

#[test]
fn a_run_stops_at_the_event_at_which_a_controller_fails() {
    let events = |acks| {
        let others = For::flow(1, acks);
        let options = Options { controllers: Some(&others), ..Options::default() };
        let recording = simulator::run(&parse(&scenario()), 1, options);
        assert!(recording.partial);
        recording.events
    };
    assert!(events(20) < events(21));
    assert!(events(21) < events(40));
}
