//! Rules of SCTP, each with two ends and a scripted network between them.

#![allow(clippy::unwrap_used, reason = "a test fails with a panic")]

mod congestion;
mod multihoming;
mod oracle;
mod peer;
mod repair;
mod setup;
mod shutdown;
mod streams;
mod transfers;
mod window;
mod wire;
