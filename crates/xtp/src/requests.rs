//! Requests of a sender (SREQ), their numbers (SYNC) and answers (ECHO), and the timers that depend
//! on them.
//!
//! WTIMER guards each request. If it expires, the synchronising handshake begins: a CNTL with SREQ
//! and a new number, and until a report with this number arrives, those with older ones are ignored
//! and no data leaves. WTIMER doubles with each attempt up to CTIMER, and after CTIMEOUT the
//! connection is aborted. CTIMER begins the same handshake on a connection from which nothing has
//! arrived for long.
//!
//! When a request is made is reconstructed: with the first data after an idle time, with the last
//! of a stream, with data that had one when it was lost, and otherwise once in each interval. While
//! the window keeps data back and nothing is outstanding, the interval doubles with each answer
//! that opens no window, up to CTIMER.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::config::Config;

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Time,
    /// The next byte of the sender.
    next: u64,
}

/// A synchronising handshake.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    began: Time,
    attempts: u32,
    /// Number of its first request.
    first: u64,
}

/// Outcome of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Nothing,
    /// A handshake begins or goes on: a request is due.
    Handshake,
    /// No answer for CTIMEOUT.
    GivenUp,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// ECHO.
    pub(crate) echo: u64,
    /// Everything below was sent before the request.
    pub(crate) next: u64,
    /// If this is the first report that has the number.
    pub(crate) round_trip: Option<Span>,
}

/// State of the requests.
#[derive(Debug)]
pub(crate) struct Requests {
    /// The last one that was sent, and the last one that was answered.
    sent: u64,
    answered: u64,
    /// Those between them.
    open: VecDeque<Asked>,
    /// The next byte of the sender at the last one that was answered.
    answered_next: u64,
    handshake: Option<Handshake>,
    wtimer: Time,
    /// When something last arrived, and when CTIMER is looked at.
    heard: Time,
    ctimer: Time,
    /// When the next request may be made, and what multiplies the interval.
    next_due: Time,
    stalls: u32,
    /// A request is to be made at once.
    due: bool,
}

impl Requests {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            answered: 0,
            open: VecDeque::new(),
            answered_next: 0,
            handshake: None,
            wtimer: Time::NEVER,
            heard: Time::ZERO,
            ctimer: Time::NEVER,
            next_due: Time::ZERO,
            stalls: 0,
            due: false,
        }
    }

    /// Number of the last request.
    #[inline]
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    pub(crate) fn request(&mut self) {
        self.due = true;
    }

    /// Data may leave.
    #[inline]
    pub(crate) fn permits_data(&self) -> bool {
        self.handshake.is_none()
    }

    /// Returns true if a data packet that leaves now should have a request.
    #[inline]
    pub(crate) fn wants(&self, now: Time) -> bool {
        self.due || self.open.is_empty() || now >= self.next_due
    }

    /// When a request is due for data that has none.
    #[inline]
    pub(crate) fn next_due(&self) -> Time {
        self.next_due
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.wtimer.min(self.ctimer)
    }

    /// The connection is open.
    pub(crate) fn begin(&mut self, now: Time, config: &Config) {
        self.heard = now;
        self.ctimer = now + config.ctimer;
    }

    /// A packet has arrived.
    #[inline]
    pub(crate) fn hear(&mut self, now: Time) {
        self.heard = now;
    }

    /// A request leaves, when the sender's next byte is `next`. Returns its number.
    pub(crate) fn on_request(&mut self, now: Time, next: u64, timing: Timing) -> u64 {
        self.due = false;
        self.sent += 1;
        self.open.push_back(Asked { at: now, next });
        self.next_due = now + timing.interval.doubled(self.stalls).min(timing.longest);
        match self.handshake {
            Some(Handshake { began, attempts, .. }) => {
                let wait = timing.wtimer.doubled(attempts).min(timing.longest.max(timing.wtimer));
                self.wtimer = (now + wait).min(began + timing.timeout);
            }
            None if self.wtimer == Time::NEVER => self.wtimer = now + timing.wtimer,
            None => {}
        }
        self.sent
    }

    /// A report has shown that the packet of the request is lost. WTIMER begins with the next
    /// request.
    pub(crate) fn forget_wtimer(&mut self) {
        self.wtimer = Time::NEVER;
    }

    /// The window keeps data back although nothing is outstanding, or does not.
    pub(crate) fn stall(&mut self, stalls: bool) {
        self.stalls = if stalls { (self.stalls + 1).min(20) } else { 0 };
    }

    /// A report has arrived with this ECHO; `None` if it is to be ignored.
    pub(crate) fn on_report(&mut self, now: Time, echo: u64, timing: Timing) -> Option<Answer> {
        let is_before = self.handshake.is_some_and(|handshake| echo < handshake.first);
        if echo < self.answered || echo > self.sent || is_before {
            return None;
        }
        let mut asked = None;
        while self.answered < echo {
            self.answered += 1;
            asked = self.open.pop_front();
        }
        if let Some(asked) = asked {
            self.answered_next = asked.next;
            self.handshake = None;
            let is_guarding = !self.open.is_empty();
            self.wtimer = if is_guarding { now + timing.wtimer } else { Time::NEVER };
        }
        let round_trip = asked.map(|asked| now.since(asked.at));
        Some(Answer { echo, next: self.answered_next, round_trip })
    }

    /// The deadline has come.
    pub(crate) fn on_deadline(&mut self, now: Time, config: &Config) -> Expired {
        let silent_until = self.heard + config.ctimer;
        if self.ctimer <= now && silent_until > now {
            self.ctimer = silent_until;
        }
        let is_silent = self.ctimer <= now;
        if is_silent {
            self.ctimer = now + config.ctimer;
        }
        if self.wtimer > now && (!is_silent || !self.open.is_empty()) {
            return Expired::Nothing;
        }
        self.wtimer = Time::NEVER;
        let first = self.sent + 1;
        let handshake = self.handshake.get_or_insert(Handshake { began: now, attempts: 0, first });
        if now.since(handshake.began) >= config.ctimeout {
            return Expired::GivenUp;
        }
        handshake.attempts += 1;
        self.due = true;
        Expired::Handshake
    }

    /// The handshake that has just begun is the first of a series.
    pub(crate) fn handshake_begins(&self) -> bool {
        self.handshake.is_some_and(|handshake| handshake.attempts == 1)
    }

    /// The connection is over. Nothing is requested any more, except with an END.
    pub(crate) fn stop(&mut self) {
        self.open.clear();
        self.answered = self.sent;
        self.handshake = None;
        self.due = false;
        self.wtimer = Time::NEVER;
        self.ctimer = Time::NEVER;
    }
}

/// Times that follow from the round-trip time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) wtimer: Span,
    /// Between requests, and at most.
    pub(crate) interval: Span,
    pub(crate) longest: Span,
    /// CTIMEOUT.
    pub(crate) timeout: Span,
}
