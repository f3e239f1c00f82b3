//! The retransmission timer and, while the window is closed, the persist timer. One of the two
//! runs at a time.

use transport::AbortCause;
use units::{Span, Time};

use crate::config::{Config, Recovery};

/// The longest persist interval. RFC 9293 section 3.8.6.1 requires exponential growth and leaves
/// the bound open. BSD stops at a minute, Linux at two.
const LONGEST_PERSIST: Span = Span::from_secs(60);

/// Earliest expiry of a timer whose user timeout is over already.
const SOONEST: Span = Span::from_millis(1);

/// The timer of a sender, and the limits at which it gives the connection up.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// Expiry of the timer that runs; [`Time::NEVER`] if none does.
    pub(crate) deadline: Time,
    /// The timer that runs is the persist timer.
    pub(crate) persisting: bool,
    /// A window probe of one byte is out; it lies behind SND.NXT.
    pub(crate) probing: bool,
    /// Timeouts in a row without progress.
    pub(crate) retries: u32,
    /// Number of times that the persist interval was doubled.
    pub(crate) backoff: u32,
    /// Window probes since the last segment of the other end.
    pub(crate) unanswered_probes: u32,
    /// Send time of the latest segment.
    pub(crate) last_sent: Time,
    /// Time at which the first retransmission since the last progress was due, or the first window
    /// probe.
    pub(crate) retransmits_since: Time,
    /// End of the user timeout (RFC 9293 section 3.8.3), unless something is acknowledged before.
    pub(crate) gives_up_at: Time,
    /// Cause for which the other end was given up.
    pub(crate) gave_up: Option<AbortCause>,
}

impl Timers {
    /// No timer runs.
    pub(crate) fn new() -> Self {
        Self {
            deadline: Time::NEVER,
            persisting: false,
            probing: false,
            retries: 0,
            backoff: 0,
            unanswered_probes: 0,
            last_sent: Time::ZERO,
            retransmits_since: Time::ZERO,
            gives_up_at: Time::NEVER,
            gave_up: None,
        }
    }

    /// Cause for which the other end was given up, if it was.
    pub(crate) fn gave_up(&self) -> Option<AbortCause> {
        self.gave_up
    }

    /// Timeouts in a row without progress.
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// Window probes in a row without an answer. The last segment of the other end came at `heard`.
    pub(crate) fn unanswered_window_probes(&self, heard: Time) -> u32 {
        if self.persisting && heard <= self.last_sent { self.unanswered_probes } else { 0 }
    }

    pub(crate) fn stop(&mut self) {
        self.deadline = Time::NEVER;
        self.persisting = false;
    }

    pub(crate) fn give_up(&mut self, cause: AbortCause) {
        self.gave_up = Some(cause);
        self.stop();
    }

    /// The timer that runs has expired for the first time, a fast recovery begins, or the first SYN
    /// was sent.
    pub(crate) fn begin_user_timeout(&mut self, now: Time, config: &Config) {
        self.retransmits_since = now;
        self.gives_up_at = config.user_timeout.map_or(Time::NEVER, |limit| now + limit);
    }

    /// No timer runs longer than the rest of the user timeout (Linux,
    /// `tcp_clamp_rto_to_user_timeout`).
    pub(crate) fn bound_by_user_timeout(&mut self, now: Time) {
        self.deadline = self.deadline.min(self.gives_up_at.max(now + SOONEST));
    }

    /// Cause of the end of the connection, if it ends with this retransmission timeout. The user
    /// timeout counts from the first retransmission without progress, and takes the place of the
    /// number of retransmissions (Linux, `tcp_write_timeout`). `is_closed`: the window is closed.
    pub(crate) fn timeout_ends_connection(
        &mut self,
        now: Time,
        config: &Config,
        heard: Time,
        is_closed: bool,
    ) -> Option<AbortCause> {
        if config.user_timeout.is_some() {
            let is_over = self.retries > 1 && now >= self.gives_up_at;
            return is_over.then_some(AbortCause::UserTimeout);
        }
        let is_last = if is_closed {
            self.is_silent_behind_closed_window(now, config, heard)
        } else {
            self.retries > config.max_retries
        };
        is_last.then_some(AbortCause::Retransmissions)
    }

    /// An end that has taken its window back with data outstanding is probed by retransmissions. It
    /// may keep the window closed for as long as it answers (RFC 9293 section 3.8.6.1, MUST-37).
    /// One that does not answer is given up after as many retransmissions as without a closed
    /// window; in Linux when it has been silent for twice the largest RTO since the first
    /// retransmission (`tcp_rtx_probe0_timed_out`).
    fn is_silent_behind_closed_window(&mut self, now: Time, config: &Config, heard: Time) -> bool {
        if config.recovery == Recovery::Linux {
            let most = config.rto.max + config.rto.max;
            return now.since(heard.max(self.retransmits_since)) > most;
        }
        if self.retries == 1 || heard > self.last_sent {
            self.unanswered_probes = 0;
        }
        self.unanswered_probes += 1;
        self.unanswered_probes > config.max_retries
    }

    /// The persist timer begins to run.
    pub(crate) fn begin_persisting(&mut self) {
        self.persisting = true;
        self.backoff = 0;
        self.unanswered_probes = 0;
    }

    /// Counts a probe of a closed window, unless the other end is given up. Returns true if the
    /// probe is due. RFC 9293 section 3.8.6.1: a window may stay closed for as long as its end
    /// answers probes. One that does not answer is given up like one that acknowledges nothing. The
    /// user timeout ends even a connection whose probes are answered (Linux, `tcp_probe_timer`).
    pub(crate) fn probe_window(&mut self, now: Time, config: &Config, heard: Time) -> bool {
        if heard > self.last_sent {
            self.unanswered_probes = 0;
        }
        if self.backoff == 0 {
            self.begin_user_timeout(now, config);
        } else if now >= self.gives_up_at {
            self.give_up(AbortCause::UserTimeout);
            return false;
        }
        if self.unanswered_probes >= config.max_retries {
            self.give_up(AbortCause::Retransmissions);
            return false;
        }
        self.unanswered_probes += 1;
        self.backoff += 1;
        self.probing = true;
        true
    }

    /// Time to the next probe of a closed window. It doubles `most` times at most.
    pub(crate) fn persist_interval(&self, rto: Span, config: &Config, most: u32) -> Span {
        // The first after an RTO (RFC 9293 section 3.8.6.1, SHLD-29).
        let base = rto.max(config.persist_timeout).max(Span::from_nanos(1));
        base.doubled(self.backoff.min(most)).min(LONGEST_PERSIST)
    }
}
