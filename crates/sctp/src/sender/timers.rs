//! Deadlines: T3-rtx, heartbeats, zero window probes (RFC 9260 sections 6.1, 6.3.3, 8.1 to 8.3).

use units::Time;

use super::{Fate, Sender};
use crate::config::Config;
use crate::path::{Path, Reach};

impl Sender {
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.paths.iter().map(Path::deadline).fold(self.probe.at, Time::min)
    }

    /// The deadline has come. Returns true if the other end does not answer.
    pub(crate) fn on_deadline(&mut self, now: Time, config: &Config) -> bool {
        self.on_event(config);
        if self.probe.at <= now {
            self.probe.at = Time::NEVER;
            self.probe.is_due = true;
        }
        for path in (0..=u8::MAX).take(self.paths.len()) {
            if self.path_mut(path).t3 <= now {
                self.on_timeout(path, config);
            }
            if self.path_mut(path).on_heartbeat_deadline(now, config) {
                self.on_error(path, config);
            }
        }
        self.errors > config.max_retries
    }

    /// T3-rtx has expired (section 6.3.3).
    #[cold]
    fn on_timeout(&mut self, index: u8, config: &Config) {
        let is_probe = self.probe.is_out && self.records.len() == 1;
        let is_answered = std::mem::take(&mut self.probe.is_answered);
        let path = self.path_mut(index);
        path.t3 = Time::NEVER;
        path.measured = None;
        path.rtt.back_off(&config.rto());
        if !(is_probe && is_answered) {
            if !is_probe {
                path.window.on_timeout();
            }
            self.on_error(index, config);
        }
        self.recovery = None;
        self.counters.timeouts += 1;
        self.settled = self.acknowledged;
        self.mark_all_lost(index);
    }

    /// Everything in flight on a path is to be retransmitted.
    pub(crate) fn mark_all_lost(&mut self, path: u8) {
        for number in self.acknowledged..self.next {
            let record = self.record(number);
            if record.path == path && record.fate == Fate::Sent {
                self.mark_lost(number, Fate::TimedOut);
            }
        }
    }

    /// A timeout on a path (sections 8.1 and 8.2).
    #[cold]
    fn on_error(&mut self, path: u8, config: &Config) {
        let is_confirmed = self.path_mut(path).reach != Reach::Unconfirmed;
        self.errors += u32::from(is_confirmed);
        if self.path_mut(path).on_error(config) {
            self.events.path_failures += 1;
            self.choose_path();
        }
    }

    /// A heartbeat has come back.
    pub(crate) fn on_heartbeat_ack(&mut self, now: Time, config: &Config, path: u8, sent: Time) {
        if usize::from(path) < self.paths.len() && sent <= now {
            self.path_mut(path).on_heartbeat_ack(now, config, sent);
            self.errors = 0;
            self.choose_path();
        }
    }

    /// The path whose heartbeat is due.
    pub(crate) fn due_heartbeat(&self) -> Option<u8> {
        let due = self.paths.iter().position(Path::has_due_heartbeat)?;
        u8::try_from(due).ok()
    }
}
