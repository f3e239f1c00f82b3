//! The simulator: builds a network and its hosts from a scenario, runs them in virtual time, and
//! fills a recording.
//!
//! The loop is in `simulation`, hosts and the ends of connections in `hosts`, transport protocols
//! in `transports`, gateways that split connections in `split`, records in `report`, and packet
//! captures in `capture`. Applications are the same for all backends.
//!
//! ```
//! # let text = r#"
//! # duration = "60s"
//! # [[link]]
//! # between = ["server", "client"]
//! # rate = "2Mbit/s"
//! # delay = "250ms"
//! # [[flow]]
//! # from = "server"
//! # to = "client"
//! # controller = "newreno"
//! # traffic = { download = "100kB" }
//! # "#;
//! let scenario = scenario::Scenario::parse(text, "geo.toml", &[]).unwrap();
//! let recording = simulator::run(&scenario, 1, simulator::Options::default());
//! assert_eq!(recording.flows[0].bytes, 100_000);
//! ```

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod build;
mod capture;
mod hosts;
mod observed;
mod report;
mod runs;
mod seed_use;
mod signals;
mod simulation;
mod split;
mod transports;
mod visible;

pub use capture::Capture;
pub use hosts::Body;
pub use observed::{Observed, Observer};
pub use report::{application_tables, tables};
pub use runs::{run, run_on_reference, run_with_seed_use};
pub use runtime::{COUNTERS, has_application_table};
pub use seed_use::SeedUse;
pub use simulation::{Controllers, Options, Progress};
