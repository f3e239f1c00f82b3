//! Runs in which only the totals of connections that are over are kept.

use network::Network;

use super::*;
use crate::runs::run_as;
use crate::transports::{Any, End};

/// Downloads one after the other, with losses. A connection is over four minutes after its data.
const SESSIONS: &str = r#"
duration = "900s"
[[link]]
between = ["server", "home"]
rate = "10Mbit/s"
delay = "250ms"
queue = { packets = 20 }
channel = { per = 1e-2 }
[[flow]]
from = "server"
to = "home"
count = 3
controller = "cubic"
traffic = { download = "100kB", request = "300B" }
sessions = { pause = "20s", length = "5s" }
[record]
interval = "10s"
"#;

fn scenario() -> Scenario {
    Scenario::parse(SESSIONS, "sessions.toml", &[]).unwrap()
}

/// Ends of the scenario after its last event, and those of them of which only totals are left.
fn ends<C: Connection>(scenario: &Scenario) -> (usize, usize) {
    let network = Network::new(runtime::topology(scenario, &Seed::new(1)));
    let options = Options::default();
    let mut simulation = Simulation::<'_, _, C>::new(scenario, Seed::new(1), network, options);
    assert!(simulation.run_events());
    let endpoints = &simulation.hosts.endpoints;
    let is_ended = |end: &&crate::hosts::Endpoint<C>| matches!(end.connection.end(), End::Ended(_));
    (endpoints.len(), endpoints.iter().filter(is_ended).count())
}

#[test]
fn ends_of_connections_that_are_over_are_deleted() {
    let (all, ended) = ends::<Any>(&scenario());
    assert!(all > 100 && ended > all / 2, "{ended} of {all} ends are deleted");
    assert_eq!(ends::<tcp::Connection>(&scenario()), (all, 0));
}

#[test]
fn recordings_do_not_depend_on_the_deletion_of_ends() {
    let scenario = scenario();
    let (deleted, _) = run_as::<Any>(&scenario, Seed::new(1), Options::default());
    let (kept, _) = run_as::<tcp::Connection>(&scenario, Seed::new(1), Options::default());
    assert_eq!(deleted.digest(), kept.digest());
    assert_eq!(deleted.events, kept.events);
    assert!(deleted.flows.iter().all(|flow| flow.max_rtt_ms > Some(500.0)));
}

#[test]
fn ends_are_kept_where_tables_look_at_more_than_totals() {
    let delivery = "record.delivery=true".parse().unwrap();
    let scenario = Scenario::parse(SESSIONS, "sessions.toml", &[delivery]).unwrap();
    assert_eq!(ends::<Any>(&scenario).1, 0);
}
