//! The timer of Linux. There is one, and what starts it later takes the place of what it waited for: the
//! retransmission of the first segment, a loss that time will prove (RACK), or a tail loss probe.
//!
//! Where it has waited for something else, the retransmission timeout counts from the last transmission of the
//! first segment, and not from now (`tcp_rearm_rto`, `tcp_rto_delta_us`). This requires the RTO of Linux, which is at
//! least 200 ms longer than the smoothed RTT. That of RFC 6298 may be as long as the RTT, and so counts from the last
//! cumulative acknowledgement (RFC 6298 section 5, rule 5.3) if that is later.

use congestion::{Sizing, TcpPolicy};
use units::{Span, Time};

use crate::config::Config;

use super::{News, Phase, Sender};
use crate::sender::transmit::Chunk;

/// Events for which the one timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The retransmission timeout (`ICSK_TIME_RETRANS`).
    Retransmission,
    /// A doubtful segment will be lost (`ICSK_TIME_REO_TIMEOUT`).
    Losses,
    /// A tail loss probe (`ICSK_TIME_LOSS_PROBE`).
    Probe,
}

/// Added to the time at which a doubtful segment is lost (`TCP_TIMEOUT_MIN_US`).
const MARGIN: Span = Span::from_millis(2);

/// How soon a timer expires whose time is over already.
const SOONEST: Span = Span::from_millis(1);

/// Time from which an RTO counts. `first`: the last transmission of the first segment.
fn start_of_timeout(first: Time, advanced_at: Option<Time>) -> Time {
    advanced_at.map_or(first, |at| at.max(first))
}

impl Sender {
    /// The retransmission timer takes the place of whatever runs (`tcp_rearm_rto`).
    fn await_retransmission(&mut self, now: Time) {
        let first = self.scoreboard.flight().and_then(|flight| flight.first_sent_at());
        let Some(linux) = self.linux() else { return };
        let before = std::mem::replace(&mut linux.awaited, Awaited::Retransmission);
        let advanced_at = linux.advanced_at;
        let Some(first) = first else {
            self.timers.stop();
            return;
        };
        self.restart_timer(now);
        if before != Awaited::Retransmission {
            let due = start_of_timeout(first, advanced_at) + self.timers.deadline.since(now);
            self.timers.deadline = due.max(now + SOONEST);
        }
    }

    /// Likewise, and the whole time begins now.
    fn await_whole_timeout(&mut self, now: Time) {
        if let Some(linux) = self.linux() {
            linux.awaited = Awaited::Retransmission;
        }
        self.restart_timer(now);
    }

    /// The first segment leaves again (`tcp_xmit_retransmit_queue`).
    pub(super) fn restart_with_first_segment(&mut self, now: Time) {
        if self.known_linux().is_some_and(|linux| linux.awaited == Awaited::Losses) {
            return;
        }
        self.await_whole_timeout(now);
        if self.timers.retries > 0 {
            self.timers.bound_by_user_timeout(now);
        }
    }

    /// New data leaves (`tcp_event_new_data_sent`, `tcp_write_xmit`). `is_first`: nothing else is outstanding.
    pub(super) fn restart_with_new_data(&mut self, now: Time, is_first: bool) {
        let waits = self.known_linux().map(|linux| linux.awaited);
        if is_first || waits == Some(Awaited::Probe) {
            self.await_retransmission(now);
        }
        self.await_probe(now, false);
    }

    /// The end of an ACK.
    pub(super) fn restart_after_ack(&mut self, now: Time, news: &News) {
        if news.advanced
            && let Some(linux) = self.linux()
            && let Some(advanced_at) = &mut linux.advanced_at
        {
            *advanced_at = now;
        }
        if let Some(until) = news.doubtful_until {
            self.restart_timer(now);
            self.timers.deadline = self.timers.deadline.min(until + MARGIN);
            if let Some(linux) = self.linux() {
                linux.awaited = Awaited::Losses;
            }
            return;
        }
        let restarts = news.advanced || news.restarts_timer;
        if restarts && !news.is_old && !self.await_probe(now, true) {
            self.await_retransmission(now);
        }
    }

    /// Starts the timer for a tail loss probe, unless something is known to be missing
    /// (`tcp_schedule_loss_probe`). It comes no later than the retransmission timer would: `advanced`
    /// if that restarts now. Returns whether it was started.
    fn await_probe(&mut self, now: Time, advanced: bool) -> bool {
        let in_order = self.known_linux().is_some_and(|linux| !linux.is_disordered);
        if self.episode.phase != Phase::Open || !(in_order || self.is_reduced_by_mark()) {
            return false;
        }
        let srtt = self.rtt.srtt();
        let rto = self.rtt.rto() + self.controller.extra_rto();
        let Some(flight) = self.scoreboard.flight() else { return false };
        let Some(first) = flight.first_sent_at() else { return false };
        let is_single = flight.is_single();
        let Some(linux) = self.linux() else { return false };
        let mut due = now + linux.probe.delay(srtt, is_single);
        let from = if advanced { now } else { start_of_timeout(first, linux.advanced_at) };
        let timeout = from + rto;
        if timeout > now {
            due = due.min(timeout);
        }
        linux.awaited = Awaited::Probe;
        self.timers.deadline = due;
        self.timers.persisting = false;
        true
    }

    /// The timer has expired. What it waited for comes unless that is a retransmission, and the timer runs on.
    pub(in crate::sender) fn on_other_deadline(&mut self, now: Time, config: &Config) {
        if self.timers.deadline > now || self.timers.persisting {
            return;
        }
        match self.known_linux().map(|linux| linux.awaited) {
            Some(Awaited::Losses) => self.on_losses_overdue(now, config),
            Some(Awaited::Probe) => self.on_probe_due(now),
            Some(Awaited::Retransmission) | None => {}
        }
    }

    /// The reordering timer expired: segments within the reordering window at the last ACK are lost. A recovery
    /// that begins with it counts one segment as delivered, as in Linux (`tcp_rack_reo_timeout`).
    fn on_losses_overdue(&mut self, now: Time, config: &Config) {
        self.episode.quota = self.controller.retransmission_quota();
        if let Some(linux) = self.linux() {
            linux.holds_repairs = false;
        }
        if self.find_losses_by_time(now, config) && self.episode.phase != Phase::FastRecovery {
            self.enter_recovery(now, config);
            if self.episode.phase == Phase::FastRecovery {
                self.reduce(self.stream.mss, false);
            }
        }
        self.await_retransmission(now);
        if let Some(linux) = self.linux() {
            linux.news = News::default();
        }
    }

    /// One probe is out at a time: another one is none, and the retransmission timer goes on
    /// (`tcp_send_loss_probe`).
    fn on_probe_due(&mut self, now: Time) {
        if self.known_linux().is_some_and(|linux| linux.probe.is_out()) {
            self.await_retransmission(now);
            return;
        }
        self.episode.quota = self.controller.retransmission_quota();
        self.episode.resend_head = true;
        self.await_whole_timeout(now);
    }

    /// A tail loss probe: a new segment or the FIN if the receiver takes all of it, else the last segment again (RFC 8985
    /// section 7.3). cwnd is not asked. The retransmission timer restarts with it (section 7.2).
    pub(in crate::sender) fn next_tail_probe(&mut self, now: Time) -> Option<Chunk> {
        let end = self.pass_arrived().min(self.stream.buffered);
        let state = self.send_state();
        self.peer.usable =
            self.controller.advertised_window(Sizing::Segment, self.peer.usable, &state);
        let length = end.saturating_sub(self.stream.max).min(self.stream.mss);
        let fits = length > 0 && self.stream.max + length <= self.stream.una + self.peer.usable;
        if fits
            || (self.stream.fin_waits() && self.stream.max < self.stream.una + self.peer.advertised)
        {
            let end = self.stream.max + length + u64::from(self.stream.fin_follows(length));
            self.linux()?.probe.on_sent(end, false);
            let chunk = self.send_new(now, length);
            self.await_whole_timeout(now);
            return Some(chunk);
        }
        self.forget_mtu_probe();
        let last = self.scoreboard.flight()?.last()?.range();
        let max = self.stream.max;
        if self.episode.quota == 0 {
            return None;
        }
        let linux = self.linux()?;
        linux.probe.on_sent(max, true);
        linux.is_probing = true;
        let chunk = self.repeat(now, last);
        self.linux()?.is_probing = false;
        self.await_whole_timeout(now);
        Some(chunk)
    }
}
