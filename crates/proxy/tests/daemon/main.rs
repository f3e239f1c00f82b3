//! Tests of the daemon with real processes in namespaces. One program, because each is compiled and
//! linked for itself.

#![allow(clippy::unwrap_used, reason = "a test fails where its lab does")]
#![allow(clippy::disallowed_methods, reason = "these tests are in real time")]

mod faults;
mod forward;
mod lab;
mod late;
mod load;
mod nat;
mod node;
mod relay;
mod setup;
mod upgrade;
