//! The events that a controller of `crates/congestion` gets in a replay, and the windows of the one
//! in C, as text.
//!
//! `crates/congestion/tests/kernel_windows.rs` plays such texts, so that it compares with the
//! kernel's own controllers without the kernel's sources. Times are in microseconds since the line
//! before, all else in segments. A line is one call, and the numbers behind `=` are the windows of
//! the one in C after it:
//!
//! ```text
//! open WINDOW SSTHRESH        a connection begins; its handshake took 20 ms
//! send SEGMENTS
//! ack TIME ACKED NEW RTT PIPE CLOCK DELIVERED STATE    NEW: of those, those not reported
//!                             before; CLOCK: milliseconds of the peer's clock since the last
//!                             ACK; DELIVERED: bytes, while the sampled one was in flight;
//!                             STATE: open or repairing, and echo if it reports marks; then one
//!                             of
//!     partial                     recovery goes on
//!     grow LIMITED                1 when cwnd holds the sender back, else 0
//!     recovered                   recovery is over
//! duplicate TIME PIPE
//! loss FLIGHT                 FLIGHT in bytes
//! mark FLIGHT
//! timeout TIME FLIGHT REPEATED
//! undo CWND SSTHRESH          in bytes, of before the reduction
//! idle TIME
//! = CWND
//! ssthresh SSTHRESH
//! ```

use std::fmt::Write as _;

/// An ACK and what it measures.
pub(crate) struct Ack {
    pub(crate) now: u64,
    pub(crate) acked: u64,
    /// Of those, the ones that no SACK had reported.
    pub(crate) new: u64,
    pub(crate) rtt: u32,
    pub(crate) pipe: u64,
    pub(crate) peer_clock: u32,
    /// Bytes delivered while the sampled one was in flight.
    pub(crate) in_flight: u64,
    pub(crate) repairing: bool,
    pub(crate) marked: bool,
}

/// The text so far; none when nobody wants it.
#[derive(Default)]
pub(crate) struct Journal {
    text: Option<String>,
    now: u64,
    peer_clock: u32,
}

macro_rules! line {
    ($journal:ident, $($format:tt)+) => {{
        if let Some(text) = &mut $journal.text {
            // A String takes all that is written.
            let _ = writeln!(text, $($format)+);
        }
    }};
}

impl Journal {
    pub(crate) fn begin(now: u64, window: u64, ssthresh: u32) -> Self {
        Self { text: Some(format!("open {window} {ssthresh}\n")), now, peer_clock: 0 }
    }

    pub(crate) fn into_text(self) -> String {
        self.text.unwrap_or_default()
    }

    /// Time since the line before.
    fn passed(&mut self, now: u64) -> u64 {
        now.saturating_sub(std::mem::replace(&mut self.now, now))
    }

    pub(crate) fn send(&mut self, segments: u64) {
        line!(self, "send {segments}");
    }

    pub(crate) fn ack(&mut self, ack: &Ack) {
        let passed = self.passed(ack.now);
        let clock = ack.peer_clock.wrapping_sub(self.peer_clock);
        self.peer_clock = ack.peer_clock;
        let Ack { acked, new, rtt, pipe, in_flight, .. } = ack;
        let state = if ack.repairing { "repairing" } else { "open" };
        let echo = if ack.marked { " echo" } else { "" };
        line!(self, "ack {passed} {acked} {new} {rtt} {pipe} {clock} {in_flight} {state}{echo}");
    }

    pub(crate) fn partial(&mut self) {
        line!(self, "partial");
    }

    pub(crate) fn grow(&mut self, limited: bool) {
        line!(self, "grow {}", u8::from(limited));
    }

    pub(crate) fn recovered(&mut self) {
        line!(self, "recovered");
    }

    pub(crate) fn duplicate(&mut self, now: u64, pipe: u64) {
        let passed = self.passed(now);
        line!(self, "duplicate {passed} {pipe}");
    }

    pub(crate) fn loss(&mut self, flight: u64) {
        line!(self, "loss {flight}");
    }

    pub(crate) fn mark(&mut self, flight: u64) {
        line!(self, "mark {flight}");
    }

    pub(crate) fn timeout(&mut self, now: u64, flight: u64, repeated: bool) {
        let passed = self.passed(now);
        line!(self, "timeout {passed} {flight} {}", u8::from(repeated));
    }

    pub(crate) fn undo(&mut self, cwnd: u64, ssthresh: u64) {
        line!(self, "undo {cwnd} {ssthresh}");
    }

    pub(crate) fn idle(&mut self, now: u64) {
        let passed = self.passed(now);
        line!(self, "idle {passed}");
    }

    pub(crate) fn cwnd(&mut self, segments: u32) {
        line!(self, "= {segments}");
    }

    pub(crate) fn ssthresh(&mut self, segments: u32) {
        line!(self, "ssthresh {segments}");
    }
}
