//! Virtual time: builds a network and its hosts from a scenario, runs them, fills a recording.
//!
//! The loop is in `simulation`, hosts and their TCP endpoints in `hosts`, what is written down in
//! `report`, and packets in `capture`. What applications do is the same in every bed.

mod build;
mod capture;
mod hosts;
mod report;
mod simulation;

pub use capture::Capture;
pub use hosts::Body;
pub use simulation::{Controllers, Observed, Observer, Options, Progress, run, run_with_oracle};
