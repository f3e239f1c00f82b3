//! Path MTU discovery: segments of another size, and what was too large sent again.
//!
//! [`transport::PathMtu`] decides; this file acts on it. Data that was too large is not lost to
//! congestion: it is retransmitted without a reduction of cwnd (RFC 1191 section 6.4, RFC 4821
//! section 7.6.2), in segments of the new size, as after a timeout and as cwnd allows.
//!
//! Source of what the RFCs leave open: Linux 6.1 (`tcp_v4_mtu_reduced`, `tcp_simple_retransmit`,
//! `tcp_mtu_probe`, `tcp_fastretrans_alert`, `tcp_retransmit_skb`).
//!
//! Decisions:
//! - RFC 1191 section 6.4 sends one segment again, and more as ACKs arrive. Linux sends as much as
//!   cwnd has room for, and so does this.
//! - The scoreboard of other recoveries than that of Linux knows no segments: with them all that is
//!   outstanding and not sacked counts as too large, if it is more than a segment.
//! - Linux does not probe while it has SACK blocks to send. Here it may: no packet has blocks that
//!   do not fit.

use congestion::{Controller, TcpPolicy};
use transport::{Advice, KnownPath, MtuProbing, Opportunity, PathMtu, PathMtuCounters, Range};
use units::Time;

use crate::config::Config;

use super::Sender;
use super::core::Core;
use super::episode::Phase;
use super::features::Features;
use super::recovery::{LossRecovery, with_recovery};
use super::transmit;
use super::transmit::Chunk;
use super::usage::HeldBy;

/// The path MTU as the sender knows it.
#[derive(Clone, Debug)]
pub(super) struct Discovery {
    path: PathMtu,
    /// Bytes of the probe that is to be sent next.
    due: Option<u64>,
    /// The usual number of duplicate ACKs that mean a loss.
    dupthresh: u32,
}

impl Discovery {
    fn new(config: &Config, path: PathMtu) -> Box<Self> {
        Box::new(Self { path, due: None, dupthresh: config.dupthresh })
    }
}

impl Sender {
    /// Counts of path MTU discovery; `None` if the connection has none.
    pub(crate) fn path_mtu_counters(&self) -> Option<PathMtuCounters> {
        let discovery = self.core.features.as_ref()?.path_mtu.as_ref()?;
        Some(discovery.path.counters())
    }

    /// The connection is open, and `options` bytes of each segment are no payload.
    pub(super) fn search_path(&mut self, now: Time, config: &Config, options: u64) {
        let core = &mut self.core;
        let Some(features) = &mut core.features else { return };
        let known = features.known_path.take().filter(|known| known.expires > now);
        if config.mtu_probing != MtuProbing::Off || known.is_some() {
            let mut path = PathMtu::new(now, config.mtu_probing, core.stream.mss, options);
            if let Some(known) = known {
                path.start_with(known, options);
            }
            features.path_mtu = Some(Discovery::new(config, path));
            take_size(core);
        }
    }

    /// Another connection of this host has found the MTU of the path. A connection that is not open
    /// yet starts with it. One that has nothing outstanding takes it: whatever else is too large
    /// for the path draws a message of its own, by which it is known to be lost.
    pub(crate) fn know_path(&mut self, config: &Config, known: KnownPath, options: u64) {
        if self.core.stream.una == 0 {
            features_for_path(&mut self.core, config).known_path = Some(known);
        } else if self.core.stream.flight() == 0 {
            // A sender that searches has begun to when the connection was opened.
            let began = Time::ZERO;
            discovery(&mut self.core, began, config, options).path.take_over(known, options);
            take_size(&mut self.core);
        }
    }

    /// Reports of routers to this connection.
    pub(crate) fn known_path(&self, options: u64) -> Option<KnownPath> {
        self.core.features.as_ref()?.path_mtu.as_ref()?.path.known(options)
    }

    /// A router reports that it could not send the segment `quoted` on, and that its link takes
    /// segments of `size` bytes, of which `options` are no payload. A message about nothing that is
    /// outstanding may be forged (RFC 5927 section 4.1; Linux, `tcp_v4_err`).
    pub(crate) fn on_too_big(
        &mut self,
        now: Time,
        config: &Config,
        quoted: Option<u64>,
        size: u64,
        options: u64,
    ) {
        let Core { stream, .. } = &self.core;
        let outstanding = Range { start: stream.una, end: stream.max };
        let discovery = discovery(&mut self.core, now, config, options);
        let is_sent = |number| outstanding.start <= number && number <= outstanding.end;
        if !quoted.is_some_and(is_sent) {
            discovery.path.on_forged_report();
        } else if discovery.path.on_report(now, size.saturating_sub(options)) {
            discovery.path.on_retransmission();
            let core = &mut self.core;
            take_size(core);
            if outstanding.len() > core.stream.mss {
                with_recovery!(&mut self.recovery, recovery => {
                    send_too_large_again(core, recovery, now, outstanding);
                });
            }
        }
    }
}

/// Discovery of the path, which starts now unless it has started before.
fn discovery<'a>(
    core: &'a mut Core,
    now: Time,
    config: &Config,
    options: u64,
) -> &'a mut Discovery {
    let mss = core.stream.mss;
    features_for_path(core, config).path_mtu.get_or_insert_with(|| {
        Discovery::new(config, PathMtu::new(now, config.mtu_probing, mss, options))
    })
}

fn features_for_path<'a>(core: &'a mut Core, config: &Config) -> &'a mut Features {
    let needs = core.controller.needs();
    core.is_plain = false;
    core.features.get_or_insert_with(|| Box::new(Features::of(config, needs)))
}

/// Whatever of `range` is too large for the path leaves again. cwnd stays, and ssthresh is at least
/// three quarters of it (`tcp_current_ssthresh`).
fn send_too_large_again<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    range: Range,
) {
    core.episode.begin_timeout(core.stream.max);
    core.timed = None;
    core.renew_quota();
    let window = core.controller.window_mut();
    window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
    recovery.lose_too_large(core, now, range);
    core.restart_timer(now);
    core.look_at_limit(now);
}

/// The probe that is due. cwnd has a segment less for it, because it carries more than one
/// (`tcp_mtu_probe`).
pub(super) fn next_mtu_probe<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
) -> Option<Chunk> {
    let discovery = core.features.as_mut()?.path_mtu.as_mut()?;
    let size = discovery.due.take()?;
    let range = Range { start: core.stream.max, end: core.stream.max + size };
    discovery.path.on_probe_sent(range);
    let mss = core.stream.mss;
    let window = core.controller.window_mut();
    window.cwnd = window.cwnd.saturating_sub(mss).max(mss);
    Some(transmit::send_new(core, recovery, now, size))
}

/// A loss was found. If it is that of a probe, the probe was too large, and only that: its data is
/// retransmitted without a reduction, and true is returned. Otherwise a probe that is out shows
/// nothing any more.
pub(super) fn repairs_mtu_probe<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
) -> bool {
    if core.episode.phase != Phase::Open {
        return false;
    }
    let (una, after_mark) = (core.stream.una, core.reduction.is_in_window_of_mark(core.stream.una));
    let Some(path) = path(core) else { return false };
    // After a mark, what is lost may have been lost to congestion (`tcp_fastretrans_alert`).
    match if after_mark { None } else { path.on_loss(una) } {
        Some(range) => {
            let mss = core.stream.mss;
            core.controller.window_mut().cwnd += mss;
            send_too_large_again(core, recovery, now, range);
            // Without SACK, duplicate ACKs leave no room in cwnd for it.
            core.episode.resend_head = !recovery.uses_sack();
            true
        }
        None => {
            forget_probe(core);
            false
        }
    }
}

/// The retransmission timer has expired once more, and nothing has been acknowledged since the
/// first retransmission. Perhaps the path is a black hole for segments of this size.
pub(super) fn doubt_path<R: LossRecovery>(core: &mut Core, recovery: &mut R, now: Time) {
    forget_probe(core);
    let since = now.since(core.timers.retransmits_since);
    let repeated = core.timers.retries > 1;
    if repeated && path(core).is_some_and(|path| path.on_timeout(now, since)) {
        take_size(core);
        if core.is_linux {
            let all = Range { start: core.stream.una, end: core.stream.max };
            recovery.lose_too_large(core, now, all);
        }
    }
}

fn path(core: &mut Core) -> Option<&mut PathMtu> {
    let discovery = core.features.as_mut()?.path_mtu.as_mut()?;
    Some(&mut discovery.path)
}

/// Takes the size of segments that discovery has found.
fn take_size(core: &mut Core) {
    let before = core.stream.mss;
    let Some(mss) = path(core).map(|path| path.segment()) else { return };
    if mss != before {
        core.controller.window_mut().change_mss(mss);
        core.count_segments_of(mss);
    }
}

/// Returns true if nothing may leave now, so that a probe can. Something that is to be sent
/// next is a probe if it can.
#[cold]
pub(super) fn waits_for_probe(core: &mut Core, now: Time) -> bool {
    if path(core).is_some_and(|path| path.forgets(now)) {
        take_size(core);
    }
    let has_turn = core.episode.phase == Phase::Open && !core.episode.resend_head;
    if !has_turn || core.is_reduced_by_mark() {
        return false;
    }
    let in_flight = core.pipe();
    let Core { features, stream, peer, controller, .. } = core;
    let Some(discovery) = features.as_mut().and_then(|one| one.path_mtu.as_mut()) else {
        return false;
    };
    let seen = Opportunity {
        now,
        unsent: stream.unsent(),
        window_room: (stream.una + peer.advertised).saturating_sub(stream.max),
        window: peer.advertised,
        cwnd: controller.window().cwnd / stream.mss,
        in_flight: in_flight.div_ceil(stream.mss),
        reordering: controller.duplicate_threshold(discovery.dupthresh).into(),
    };
    match discovery.path.advise(&seen) {
        Advice::Segment => false,
        Advice::Wait => {
            core.held_by = HeldBy::CongestionWindow;
            true
        }
        Advice::Probe(size) => {
            discovery.due = Some(size);
            core.episode.resend_head = true;
            false
        }
    }
}

/// Everything up to `una` has arrived, perhaps a probe with it.
#[inline(never)]
pub(super) fn judge_probe(core: &mut Core, una: u64) {
    if path(core).is_some_and(|path| path.on_acknowledged(una)) {
        take_size(core);
    }
}

/// Something is about to be retransmitted. A probe that is out counts as segments of the usual
/// size then.
pub(super) fn forget_probe(core: &mut Core) {
    let mss = core.stream.mss;
    if path(core).is_some_and(PathMtu::on_retransmission)
        && let Some(flight) = core.scoreboard.flight_mut()
    {
        flight.recut(mss);
    }
}
