//! Applications that people use, as state machines without I/O.
//!
//! Each application has a folder of its own: its settings, its rules, and the figures that people
//! judge it by. Time is an argument. The caller carries the messages: both backends do, and tests.
//!
//! - [`call`]: a voice call with its jitter buffer, and the E-model of ITU-T G.107
//! - [`messages`]: requests and answers at a period
//! - [`three_gpp`]: web pages of the 3GPP model, whose sizes are drawn
//! - [`video`]: an adaptive video, with the rules that choose bit rates
//! - [`speedtest`]: several connections each way, with latency under load
//! - [`sessions`]: when any of them begins and ends again

pub mod call;
mod delays;
pub mod messages;
pub mod sessions;
pub mod speedtest;
pub mod three_gpp;
pub mod video;

pub use delays::{Delays, Percentiles};
