//! POLLs of a sender: their numbers, their answers, and the timers that depend on them (Q.2110:
//! VT(PS), VT(PA), VT(PD), Timer_POLL, Timer_KEEP-ALIVE, Timer_IDLE, Timer_NO-RESPONSE).
//!
//! A POLL is sent after a number of packets, when Timer_POLL expires, and when data waits for a
//! window and no POLL is unanswered. In SSCOP the last one comes each time that the window closes.
//! Here the congestion window closes after nearly every STAT, and such POLLs would multiply. While
//! others are unanswered, one is sent only for half of the usual number of packets or more, which
//! is our choice.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::config::Config;

/// State of the POLLs.
#[derive(Debug)]
pub(crate) struct Polls {
    /// VT(PS): the last one that was sent.
    sent: u64,
    /// VT(PA): the last one that was answered.
    answered: u64,
    /// Times at which those between them were sent.
    times: VecDeque<Time>,
    /// VT(PD): data packets since the last one.
    packets: u32,
    /// One is to be sent at once.
    due: bool,
    /// Data is waiting or unacknowledged.
    is_active: bool,
    /// When the next one is due.
    timer: Time,
    /// When the connection is aborted.
    no_response: Time,
}

impl Polls {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            answered: 0,
            times: VecDeque::new(),
            packets: 0,
            due: false,
            is_active: false,
            timer: Time::NEVER,
            no_response: Time::NEVER,
        }
    }

    /// VT(PS).
    #[inline]
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns true if data that waits for a window is a reason for a POLL. It is if an answer
    /// would cover packets that earlier ones do not, or if the connection has been idle.
    #[inline]
    pub(crate) fn may_ask(&self, config: &Config) -> bool {
        match self.times.is_empty() {
            true => self.packets > 0 || !self.is_active,
            false => self.packets >= config.packets_per_poll.div_ceil(2),
        }
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    pub(crate) fn request(&mut self) {
        self.due = true;
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.timer.min(self.no_response)
    }

    /// A data packet leaves. Returns true if a POLL has to go with it or behind it.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time, config: &Config) -> bool {
        if !self.is_active {
            self.is_active = true;
            self.timer = now + config.poll_interval;
        }
        self.packets += 1;
        self.packets >= config.packets_per_poll
    }

    /// A POLL leaves. Returns its number.
    pub(crate) fn on_poll(&mut self, now: Time, config: &Config) -> u64 {
        if self.times.is_empty() {
            self.no_response = now + config.no_response;
        }
        self.sent += 1;
        self.times.push_back(now);
        self.packets = 0;
        self.due = false;
        self.timer = now + self.interval(config);
        self.sent
    }

    fn interval(&self, config: &Config) -> Span {
        if self.is_active { config.poll_interval } else { config.keep_alive }
    }

    /// A STAT answers POLL `number`. Returns the round-trip time; `None` if the POLL was answered
    /// before. An error if there was no such POLL, or a later one has an answer.
    pub(crate) fn on_stat(
        &mut self,
        now: Time,
        number: u64,
        config: &Config,
    ) -> Result<Option<Span>, Stale> {
        if number < self.answered || number > self.sent {
            return Err(Stale);
        }
        let mut sent_at = None;
        while self.answered < number {
            self.answered += 1;
            sent_at = self.times.pop_front();
        }
        self.no_response =
            if self.times.is_empty() { Time::NEVER } else { now + config.no_response };
        Ok(sent_at.map(|sent_at| now.since(sent_at)))
    }

    /// Nothing is waiting or unacknowledged.
    pub(crate) fn rest(&mut self, now: Time, config: &Config) {
        self.is_active = false;
        self.timer = now + config.idle;
    }

    /// Data is waiting.
    pub(crate) fn wake(&mut self) {
        self.is_active = true;
    }

    /// The deadline has come. Returns true if the other end does not answer.
    pub(crate) fn on_deadline(&mut self, now: Time) -> bool {
        if self.timer <= now {
            self.timer = Time::NEVER;
            self.due = true;
        }
        self.no_response <= now
    }

    /// The connection is over.
    pub(crate) fn stop(&mut self) {
        self.times.clear();
        self.due = false;
        self.timer = Time::NEVER;
        self.no_response = Time::NEVER;
    }
}

/// A STAT that answers no POLL, or an older one than the last STAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale;
