//! Rules of STP, each with two ends and a scripted network between them.

#![allow(clippy::unwrap_used, reason = "a test fails with a panic")]

#[path = "../../../transport/tests/harness/mod.rs"]
mod harness;

mod claims;
mod control;
mod probing;
mod release;
mod repair;
mod setup;
mod transfers;
mod window;
mod wire;
