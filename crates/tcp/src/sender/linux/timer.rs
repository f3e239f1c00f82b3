//! The timer of Linux. There is one, and what starts it later takes the place of what it waited
//! for: the retransmission of the first segment, a loss that time will prove (RACK), or a tail loss
//! probe.
//!
//! Where it has waited for something else, the retransmission timeout counts from the last
//! transmission of the first segment, and not from now (`tcp_rearm_rto`, `tcp_rto_delta_us`). This
//! requires the RTO of Linux, which is at least 200 ms longer than the smoothed RTT. That of RFC
//! 6298 may be as long as the RTT, and so counts from the last cumulative acknowledgement (RFC 6298
//! section 5, rule 5.3) if that is later.

use congestion::Sizing;
use units::{Span, Time};

use super::{Chunk, Config, Core, Linux, News, Phase};
use crate::sender::{path_mtu, transmit};

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

/// Earliest expiry of a timer whose time is over already.
const SOONEST: Span = Span::from_millis(1);

/// Time from which an RTO counts. `first`: the last transmission of the first segment.
fn start_of_timeout(first: Time, advanced_at: Option<Time>) -> Time {
    advanced_at.map_or(first, |at| at.max(first))
}

impl Linux {
    /// The retransmission timer takes the place of whatever runs (`tcp_rearm_rto`).
    fn await_retransmission(&mut self, core: &mut Core, now: Time) {
        let first = core.scoreboard.flight().and_then(|flight| flight.first_sent_at());
        let before = std::mem::replace(&mut self.awaited, Awaited::Retransmission);
        let Some(first) = first else {
            core.timers.stop();
            return;
        };
        core.restart_timer(now);
        if before != Awaited::Retransmission {
            let start = start_of_timeout(first, self.advanced_at);
            let due = start + core.timers.deadline.since(now);
            core.timers.deadline = due.max(now + SOONEST);
        }
    }

    /// Likewise, and the whole time begins now.
    fn await_whole_timeout(&mut self, core: &mut Core, now: Time) {
        self.awaited = Awaited::Retransmission;
        core.restart_timer(now);
    }

    /// The first segment leaves again (`tcp_xmit_retransmit_queue`).
    pub(super) fn restart_with_first_segment(&mut self, core: &mut Core, now: Time) {
        if self.awaited == Awaited::Losses {
            return;
        }
        self.await_whole_timeout(core, now);
        if core.timers.retries > 0 {
            core.timers.bound_by_user_timeout(now);
        }
    }

    /// New data leaves (`tcp_event_new_data_sent`, `tcp_write_xmit`). `is_first`: nothing else is
    /// outstanding.
    pub(super) fn restart_with_new_data(&mut self, core: &mut Core, now: Time, is_first: bool) {
        // The probe would take the place of the retransmission timer.
        let restarts = is_first || self.awaited == Awaited::Probe;
        if !self.await_probe(core, now, false) && restarts {
            self.await_retransmission(core, now);
        }
    }

    /// The end of an ACK.
    pub(super) fn restart_after_ack(&mut self, core: &mut Core, now: Time, news: &News) {
        if news.advanced
            && let Some(advanced_at) = &mut self.advanced_at
        {
            *advanced_at = now;
        }
        if let Some(until) = news.doubtful_until {
            core.restart_timer(now);
            core.timers.deadline = core.timers.deadline.min(until + MARGIN);
            self.awaited = Awaited::Losses;
            return;
        }
        let restarts = news.advanced || news.restarts_timer;
        if restarts && !news.is_old && !self.await_probe(core, now, true) {
            self.await_retransmission(core, now);
        }
    }

    /// Starts the timer for a tail loss probe, unless something is known to be missing
    /// (`tcp_schedule_loss_probe`). It comes no later than the retransmission timer would:
    /// `advanced` if that restarts now. Returns true if it was started.
    fn await_probe(&mut self, core: &mut Core, now: Time, advanced: bool) -> bool {
        let in_order = !self.is_disordered || core.is_reduced_by_mark();
        if core.episode.phase != Phase::Open || !in_order {
            return false;
        }
        let Some(flight) = core.scoreboard.flight() else { return false };
        let Some(first) = flight.first_sent_at() else { return false };
        let mut due = now + self.probe.delay(core.rtt.srtt(), flight.is_single());
        let from = if advanced { now } else { start_of_timeout(first, self.advanced_at) };
        let timeout = from + core.timeout();
        if timeout > now {
            due = due.min(timeout);
        }
        self.awaited = Awaited::Probe;
        core.timers.deadline = due;
        core.timers.persisting = false;
        true
    }

    /// The reordering timer expired: segments within the reordering window at the last ACK are
    /// lost. A recovery that begins with it counts one segment as delivered, as in Linux
    /// (`tcp_rack_reo_timeout`).
    pub(super) fn on_losses_overdue(&mut self, core: &mut Core, now: Time, config: &Config) {
        core.renew_quota();
        self.holds_repairs = false;
        let is_lost = self.find_losses_by_time(core, now, config);
        if is_lost && core.episode.phase != Phase::FastRecovery {
            self.enter_recovery(core, now, config);
            if core.episode.phase == Phase::FastRecovery {
                self.reduce(core, core.stream.mss, false);
            }
        }
        self.await_retransmission(core, now);
        self.news = News::default();
    }

    /// One probe is out at a time: another one is none, and the retransmission timer goes on
    /// (`tcp_send_loss_probe`).
    pub(super) fn on_probe_due(&mut self, core: &mut Core, now: Time) {
        if self.probe.is_out() {
            self.await_retransmission(core, now);
            return;
        }
        core.renew_quota();
        core.episode.resend_head = true;
        self.await_whole_timeout(core, now);
    }

    /// A tail loss probe: a new segment or the FIN if the receiver takes all of it, else the last
    /// segment again (RFC 8985 section 7.3), whatever cwnd is. The retransmission timer restarts
    /// with it (section 7.2).
    pub(super) fn next_tail_probe(&mut self, core: &mut Core, now: Time) -> Option<Chunk> {
        let end = core.pass_arrived().min(core.stream.buffered);
        core.scale_window(Sizing::Segment, core.peer.usable);
        let (stream, peer) = (&core.stream, &core.peer);
        let length = end.saturating_sub(stream.max).min(stream.mss);
        let fits = length > 0 && stream.max + length <= stream.una + peer.usable;
        let fin_fits = stream.fin_waits() && stream.max < stream.una + peer.advertised;
        if fits || fin_fits {
            let end = stream.max + length + u64::from(stream.fin_follows(length));
            self.probe.on_sent(end, false);
            let chunk = transmit::send_new(core, self, now, length);
            self.await_whole_timeout(core, now);
            return Some(chunk);
        }
        path_mtu::forget_probe(core);
        let last = core.scoreboard.flight()?.last()?.range();
        if core.episode.quota == 0 {
            return None;
        }
        self.probe.on_sent(core.stream.max, true);
        self.is_probing = true;
        let chunk = transmit::repeat(core, self, now, last);
        self.is_probing = false;
        self.await_whole_timeout(core, now);
        Some(chunk)
    }
}
