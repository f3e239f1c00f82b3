//! Rules of the RFCs for TCP, one test per rule.
//!
//! `script` is one connection whose other end is played by the test; `wire` is two connections
//! with a scripted network between them.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod accurate;
mod ack_control;
mod best_effort;
mod best_effort_ends;
mod close;
mod eifel;
mod endpoint;
mod fast_retransmit;
mod linux;
mod losses;
mod messages;
mod notification;
mod options;
mod pacing;
mod path_mtu;
mod presence;
mod probes;
mod sack;
mod scps;
mod scps_outages;
mod script;
mod setup;
mod timeout;
mod transfers;
mod window;
mod wire;
