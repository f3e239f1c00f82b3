//! The sending half of a connection: outstanding data, what may be sent, what is lost.
//!
//! [`Sender`] has a [`Core`], which all recoveries share, and one recovery. Parts of the core:
//!
//! - `stream`: positions in the stream; `peer`: the window of the other end
//! - `timers`: retransmission and persist
//! - `episode`: the loss that is being repaired, and the last reduction of the window
//! - `usage`: use of cwnd
//! - `buffer`: what the application has written and the sender may see
//! - `limits`: time by what holds the sender back
//! - `offload`: which segments end what Linux hands down in one piece
//! - `features`: parts that only some connections need. They are `measurement`, samples for the
//!   controller; pacing; `probes`, segments of low priority; `jump`, a larger window at the start;
//!   `loss_notice`, losses that are errors of a link; `router_feedback`; and `path_mtu`, segments
//!   of another size
//!
//! Steps:
//!
//! - `acknowledge`: an ACK arrives; windows, RTT samples, and feedback for the controller
//! - `reduction`: a mark, a loss or a timeout reduces the window
//! - `transmit`: the next segment to send
//!
//! Recoveries (`recovery`, the rules that each has):
//!
//! - `classic`: Reno, NewReno and SACK, by the RFCs
//! - `linux`: RACK-TLP and proportional rate reduction
//! - `crate::scps`: SNACK of SCPS-TP

pub(crate) mod acknowledge;
mod buffer;
mod classic;
pub(crate) mod core;
pub(crate) mod episode;
mod features;
mod jump;
mod limits;
mod linux;
mod loss_notice;
pub(crate) mod measurement;
mod offload;
mod path_mtu;
mod peer;
mod probes;
pub(crate) mod recovery;
pub(crate) mod reduction;
mod router_feedback;
mod stream;
mod timers;
pub(crate) mod transmit;
pub(crate) mod usage;

use congestion::{AnyController, Controller, Ecn, Sizing, Utilisation};
use sketch::Sketch;
use transport::{AbortCause, Counters, Limit, Range, RttEstimator};
use units::{Span, Time};

use crate::buffers::SendBuffer;
use crate::config::{Config, Recovery};
use crate::info::Outstanding;
use crate::scoreboard::Scoreboard;
use crate::scps::SnackRecovery;

use classic::Classic;
use peer::Peer;
use recovery::{AnyRecovery, LossRecovery, with_recovery};
use stream::Stream;
use timers::Timers;
use usage::HeldBy;

pub(crate) use self::core::Core;
pub(crate) use acknowledge::{Acknowledgement, Blocks};
pub use episode::Phase;
pub use loss_notice::NoticeCounters;
pub(crate) use transmit::Chunk;

/// `tcp_syn_linear_timeouts` of Linux.
const LINEAR_SYNS: u32 = 4;

/// Length of headers without options in Quick-Start, in bytes: those of IPv4 and TCP.
const IP_AND_TCP_HEADERS: u32 = 40;

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    recovery: AnyRecovery,
    core: Core,
}

impl Sender {
    pub(crate) fn new(config: &Config, controller: AnyController) -> Self {
        let recovery = AnyRecovery::new(config, controller.needs());
        Self { recovery, core: Core::new(config, controller) }
    }

    /// The SYN was sent at `now`. `retry`: not for the first time.
    pub(crate) fn syn_sent(&mut self, now: Time, config: &Config, retry: bool) {
        let Core { stream, timed, timers, rtt, limits, is_stopped, .. } = &mut self.core;
        stream.max = 1;
        *timed = if retry { None } else { Some((1, now)) };
        timers.deadline = now + rtt.rto();
        timers.last_sent = now;
        if limits.limit() == Limit::Uncounted {
            *is_stopped = false;
            limits.change(now, Limit::SetUp);
        }
        if retry {
            timers.bound_by_user_timeout(now);
        } else {
            timers.begin_user_timeout(now, config);
        }
    }

    /// The SYN was not answered in time (RFC 6298 rule 5.5).
    pub(crate) fn on_syn_timeout(&mut self, now: Time, config: &Config, opens: bool) {
        let Core { timers, rtt, .. } = &mut self.core;
        timers.retries += 1;
        if timers.retries > config.max_retries {
            timers.gave_up = Some(AbortCause::Retransmissions);
        } else if timers.retries > 1 && now >= timers.gives_up_at {
            timers.gave_up = Some(AbortCause::UserTimeout);
        }
        // Linux backs off only after the first four of an active open (`tcp_syn_linear_timeouts`).
        if !(opens && config.recovery == Recovery::Linux && timers.retries <= LINEAR_SYNS) {
            rtt.back_off(&config.rto);
        }
        timers.deadline = Time::NEVER;
    }

    /// The other end acknowledged one of `syns` SYNs and advertised its first window. After a
    /// retransmitted SYN the initial window is one segment (RFC 5681 section 3.1). Linux keeps it
    /// after one retransmission (`tcp_init_transfer`), and takes the `echoed` timestamp as a sample
    /// where the SYN is none (`tcp_ack_update_rtt`).
    pub(crate) fn syn_acknowledged(
        &mut self,
        now: Time,
        config: &Config,
        mss: u64,
        window: u64,
        syns: u32,
        echoed: Option<Span>,
    ) {
        let core = &mut self.core;
        // Only connections with timestamps have this one.
        let options = if echoed.is_some() { config.timestamps_bytes() } else { 0 };
        core.stream.una = 1;
        core.controller.window_mut().agree_on_mss(mss);
        core.count_segments_of(mss);
        buffer::open(core);
        buffer::fill(core, config);
        core.scoreboard.acknowledge(1);
        core.timers.deadline = Time::NEVER;
        core.timers.retries = 0;
        let timed = core.timed.take().map(|(_, sent)| now.since(sent));
        let echoed = echoed.filter(|_| core.is_linux);
        if let Some(sample) = timed.or(echoed) {
            core.rtt.sample(&config.rto, sample, core.progress(1));
            core.controller.on_rtt(now, sample);
        }
        if syns > 1 {
            core.rtt.restart_after_lost_syn(&config.rto);
        }
        let most = if core.is_linux { 2 } else { 1 };
        if syns > most {
            self.begin_with_one_segment();
        }
        let core = &mut self.core;
        core.peer.advertise(window);
        core.peer.usable = window;
        if config.send_tuning.is_some() {
            buffer::write_on(core);
        }
        self.search_path(now, config, options.into());
        with_recovery!(&mut self.recovery, recovery => recovery.note_change_of_window(now));
        self.start_quickly(now, config, timed);
        self.core.look_at_limit(now);
    }

    /// Memory of a send buffer that tunes itself.
    pub(crate) fn tuned_buffer(&self) -> Option<u64> {
        let features = self.core.features.as_ref();
        features.and_then(|features| features.send_buffer.as_ref()).map(SendBuffer::size)
    }

    /// The connection is open, and its SYN has taken `round_trip` if only one was sent.
    #[cold]
    fn start_quickly(&mut self, now: Time, config: &Config, round_trip: Option<Span>) {
        let headers = u64::from(IP_AND_TCP_HEADERS + config.timestamps_bytes());
        let Core { features, stream, controller, .. } = &mut self.core;
        if let Some(quick) = features.as_mut().and_then(|features| features.quick_start()) {
            quick.start(now, round_trip, headers, stream.max, controller.window_mut());
        }
    }

    /// This end sends little data, and requests no rate from routers.
    pub(crate) fn only_answer(&mut self) {
        let features = self.core.features.as_mut();
        if let Some(quick) = features.and_then(|features| features.quick_start()) {
            quick.only_answer();
        }
    }

    /// The set-up has met congestion: a SYN was lost (RFC 5681 section 3.1) or marked (RFC 5562
    /// section 3).
    pub(crate) fn begin_with_one_segment(&mut self) {
        let window = self.core.controller.window_mut();
        window.cwnd = window.cwnd.min(window.mss);
    }

    /// The two ends have not agreed on SACK (RFC 2018 section 2).
    pub(crate) fn do_without_sack(&mut self) {
        if with_recovery!(&mut self.recovery, recovery => recovery.uses_sack()) {
            self.recovery = AnyRecovery::Classic(Classic::new(Recovery::NewReno));
            self.core.is_linux = false;
            self.core.scoreboard = Scoreboard::default();
            if let Some(features) = &mut self.core.features {
                features.measurement.do_without_recovery();
            }
        }
    }

    /// The two ends have not agreed on SNACK.
    pub(crate) fn do_without_snack(&mut self) {
        if self.snack().is_some() {
            self.recovery = AnyRecovery::Classic(Classic::new(Recovery::NewReno));
        }
    }

    /// The recovery of SCPS-TP, if both ends have it.
    pub(crate) fn snack(&self) -> Option<&SnackRecovery> {
        match &self.recovery {
            AnyRecovery::Snack(snack) => Some(snack),
            AnyRecovery::Classic(_) | AnyRecovery::Linux(_) => None,
        }
    }

    /// Likewise, with the rest of the sender.
    pub(crate) fn snack_mut(&mut self) -> Option<(&mut SnackRecovery, &mut Core)> {
        match &mut self.recovery {
            AnyRecovery::Snack(snack) => Some((snack, &mut self.core)),
            AnyRecovery::Classic(_) | AnyRecovery::Linux(_) => None,
        }
    }

    /// The application wrote `bytes` more. If less than a segment of what it wrote before has not
    /// left, the application has limited the sender until now. The window may not grow for having
    /// been full long ago (RFC 7661), and rates measured with what is in flight are those of the
    /// application (`CheckIfApplicationLimited` of draft-ietf-ccwg-bbr, and `tcp_sendmsg` of
    /// Linux).
    pub(crate) fn write(&mut self, config: &Config, bytes: u64) {
        let core = &mut self.core;
        if core.stream.written.saturating_sub(core.stream.max) < core.stream.mss {
            core.held_by = HeldBy::Application;
            core.note_application_limit();
        }
        core.stream.written += bytes;
        buffer::fill(core, config);
        if config.send_tuning.is_some() {
            buffer::write_on(core);
        }
        offload::look_again(&mut core.packet);
        with_recovery!(&mut self.recovery, recovery => recovery.look_at_idle_time(core));
    }

    /// The application takes back what was never sent; what any probe has carried counts as sent.
    /// Returns the bytes that remain written.
    pub(crate) fn withdraw(&mut self, config: &Config) -> u64 {
        let probed = self.core.end_of_probed_data();
        let Core { stream, timers, .. } = &mut self.core;
        let sent = (stream.max.max(1) + u64::from(timers.probing)).max(probed);
        stream.written = stream.written.min(sent);
        buffer::withdraw(&mut self.core, config);
        self.core.stream.written - 1
    }

    /// The application will write no more.
    pub(crate) fn finish(&mut self) {
        self.core.stream.fin_queued = true;
        offload::look_again(&mut self.core.packet);
    }

    /// Lets the FIN go with the last data, if that waits although the application has closed.
    #[inline]
    pub(crate) fn note_waiting_data(&mut self) {
        self.core.stream.note_waiting_data();
    }

    /// Both ends have agreed on ECN, or the connection has none.
    pub(crate) fn agree_on_ecn(&mut self, agreed: Ecn) {
        self.core.controller.on_ecn(agreed);
    }

    /// A measurement of the link that connections share.
    #[cold]
    pub(crate) fn on_utilisation(&mut self, rate: f64, used: f64, connections: u32) {
        let Some(srtt) = self.core.rtt.srtt() else { return };
        let flight = self.core.counted_flight();
        let utilisation = Utilisation { rate, used, connections, flight, srtt };
        self.core.controller.on_utilisation(&utilisation);
    }

    /// Returns true if new data is to carry the news that the window was reduced (CWR).
    pub(crate) fn take_reduction(&mut self) -> bool {
        std::mem::take(&mut self.core.reduction.is_unreported)
    }

    /// The next ACK reports `bytes` as marked (RFC 9768).
    pub(crate) fn note_marked_bytes(&mut self, bytes: u64) {
        if let Some(features) = &mut self.core.features {
            features.measurement.marked_bytes = Some(bytes);
        }
    }

    /// Takes in an acknowledgement of something that was sent, with its SACK blocks.
    #[inline(always)]
    pub(crate) fn on_acknowledgement(
        &mut self,
        now: Time,
        config: &Config,
        ack: Acknowledgement,
        blocks: Blocks<'_>,
    ) {
        let core = &mut self.core;
        match &mut self.recovery {
            AnyRecovery::Classic(classic) => {
                acknowledge::process(core, classic, now, config, &ack, blocks);
            }
            // Copies, so that the ACKs of the recovery above need not be in memory.
            AnyRecovery::Linux(linux) => {
                let (ack, blocks) = (Acknowledgement { ..ack }, Blocks { ..blocks });
                acknowledge::process_apart(core, &mut **linux, now, config, &ack, blocks);
            }
            AnyRecovery::Snack(snack) => {
                let (ack, blocks) = (Acknowledgement { ..ack }, Blocks { ..blocks });
                acknowledge::process_apart(core, &mut **snack, now, config, &ack, blocks);
            }
        }
        if core.packet.is_some() && config.send_tuning.is_some() && core.stream.unsent() == 0 {
            buffer::write_on(core);
        }
        core.note_end_of_ack(now);
    }

    /// An ACK that was overtaken.
    #[cold]
    pub(crate) fn on_old_acknowledgement(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        blocks: Blocks<'_>,
    ) {
        let core = &mut self.core;
        with_recovery!(&mut self.recovery, recovery => {
            acknowledge::process_old(core, recovery, now, config, ack, blocks);
        });
        core.look_at_limit(now);
    }

    /// The deadline has passed. The last segment of the other end came at `heard`.
    pub(crate) fn on_deadline(&mut self, now: Time, config: &Config, heard: Time) {
        let core = &mut self.core;
        if let Some(features) = &mut core.features
            && features.release(now)
        {
            offload::look_again(&mut core.packet);
        }
        with_recovery!(&mut self.recovery, recovery => {
            recovery.on_timer(core, now, config);
            if core.timers.deadline > now {
                return;
            }
            if core.timers.persisting {
                core.on_persist_timeout(now, config, heard);
            } else {
                recovery.on_retransmission_timeout(core, now, config, heard);
            }
        });
        core.look_at_limit(now);
    }

    /// The next piece to be sent, or `None` when the sender has to wait for an ACK, for the
    /// window, for the application or for a timer.
    #[inline(always)]
    pub(crate) fn next_chunk<const IN_A_ROW: bool>(
        &mut self,
        now: Time,
        config: &Config,
    ) -> Option<Chunk> {
        let in_burst = IN_A_ROW && transmit::is_in_burst(self);
        if let AnyRecovery::Classic(classic) = &mut self.recovery
            && (in_burst || self.core.sends_by_windows())
        {
            let core = &mut self.core;
            let length = if in_burst {
                core.stream.mss
            } else if let Some(held_by) = core.burst.stop {
                core.note_stop(now, held_by);
                return None;
            } else if core.is_bounded {
                core.scale_window(Sizing::Segment, core.peer.usable);
                let available = core.stream.unsent();
                transmit::next_length::<_, false>(core, classic, now, config, available)?
            } else {
                let available = core.stream.unsent();
                transmit::next_length::<_, IN_A_ROW>(core, classic, now, config, available)?
            };
            core.episode.count_limited(length);
            return Some(transmit::send_new(core, classic, now, length));
        }
        if in_burst
            && let AnyRecovery::Linux(linux) = &mut self.recovery
            && let Some(chunk) = offload::next_in_row(&mut self.core, linux, now, config)
        {
            return Some(Chunk { ..chunk });
        }
        self.choose_chunk(now, config, IN_A_ROW)
    }

    /// Likewise by all the rules. `in_a_row`: nothing but this happens to the connection until
    /// there is none, so that segments of a packet may leave in a row.
    #[inline(always)]
    fn choose_chunk(&mut self, now: Time, config: &Config, in_a_row: bool) -> Option<Chunk> {
        let Self { core, recovery } = self;
        let chunk = if config.send_tuning.is_some() {
            offload::next_chunk(core, recovery, now, config, in_a_row)
        } else if core.is_held_back(now) {
            None
        } else {
            match recovery {
                AnyRecovery::Classic(classic) if core.packet.is_none() => {
                    transmit::next_chunk_alone(core, classic, now, config)
                }
                AnyRecovery::Classic(classic) => {
                    transmit::next_chunk_apart(core, classic, now, config, in_a_row)
                }
                AnyRecovery::Linux(linux) => {
                    transmit::next_chunk_apart(core, &mut **linux, now, config, in_a_row)
                }
                AnyRecovery::Snack(snack) => {
                    transmit::next_chunk_apart(core, &mut **snack, now, config, in_a_row)
                }
            }
        }?;
        // A copy, so that the chunks of all other calls need not be in memory.
        Some(Chunk { ..chunk })
    }

    /// Returns true if there may be something to send. Most ends of a satellite link only receive,
    /// and this is called after each segment.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        let Core { stream, episode, .. } = &self.core;
        episode.resend_head
            || episode.phase != Phase::Open
            || stream.buffered > stream.max
            || stream.fin_waits()
    }

    /// Nothing is outstanding and the window is the known one: an acknowledgement that comes with
    /// the other end's next data says nothing new, but that it is the latest.
    #[inline]
    pub(crate) fn knows_already(&mut self, sequence: u64, window: u64) -> bool {
        let Core { stream, peer, timers, .. } = &mut self.core;
        let known = stream.una == stream.max && window == peer.advertised && !timers.persisting;
        if known {
            peer.window_from = peer.window_from.max(sequence);
        }
        known
    }

    /// Returns true if a SACK block reports outstanding data that was not known to have arrived.
    pub(crate) fn is_news(&self, block: Range) -> bool {
        let Core { stream, scoreboard, .. } = &self.core;
        let (start, end) = (block.start.max(stream.una), block.end.min(stream.max));
        start < end && scoreboard.holes(start, end).next().is_some()
    }

    /// Returns true if nothing that is outstanding is known to be lost or to have arrived out of
    /// order.
    #[cold]
    pub(crate) fn is_in_order(&self) -> bool {
        let Core { episode, .. } = &self.core;
        episode.phase == Phase::Open
            && episode.duplicates == 0
            && self.core.pipe() == self.core.counted_flight()
    }

    /// The number of a segment without data. It is SND.NXT (RFC 9293 section 3.10.7.4), but not
    /// beyond the window, where the other end would refuse it. There may be data beyond: of a
    /// controller that takes the window as larger, or sent before the window shrank. Linux:
    /// `tcp_acceptable_seq`.
    #[inline]
    pub(crate) fn number_without_data(&self) -> u64 {
        let Core { stream, peer, .. } = &self.core;
        stream.max.min(stream.una + peer.advertised)
    }

    /// Returns true if data was sent beyond the advertised window.
    pub(crate) fn exceeds_window(&self) -> bool {
        let Core { stream, peer, .. } = &self.core;
        stream.max > stream.una + peer.advertised
    }

    /// The connection is over: no timer runs any more, and nothing is to be sent.
    pub(crate) fn stop(&mut self) {
        let core = &mut self.core;
        core.timers.stop();
        core.is_stopped = true;
        core.features = None;
        core.may_probe = false;
        core.episode.resend_head = false;
        core.episode.phase = Phase::Open;
        core.stream.buffered = core.stream.max;
    }

    #[inline]
    pub(crate) fn stream(&self) -> &Stream {
        &self.core.stream
    }

    #[inline]
    pub(crate) fn peer(&self) -> &Peer {
        &self.core.peer
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.core.timers
    }

    pub(crate) fn controller(&self) -> &AnyController {
        &self.core.controller
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.core.rtt
    }

    /// Takes the RTT samples, and gives back spare memory.
    #[cold]
    pub(crate) fn rest(&mut self) -> Sketch {
        if let Some(features) = &mut self.core.features {
            features.measurement.shrink();
        }
        self.core.rtt.take_samples()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.core.counters
    }

    pub(crate) fn phase(&self) -> Phase {
        self.core.episode.phase
    }

    /// Returns true if the rules of Linux count where the RFCs leave a choice.
    pub(crate) fn is_linux(&self) -> bool {
        self.core.is_linux
    }

    /// Returns true if cwnd stands still or falls after a mark, with the recovery of Linux.
    pub(crate) fn is_reduced_by_mark(&self) -> bool {
        self.core.is_reduced_by_mark()
    }

    /// Flight size as windows count it.
    pub(crate) fn counted_flight(&self) -> u64 {
        self.core.counted_flight()
    }

    /// State of the flight.
    pub(crate) fn outstanding(&self) -> Outstanding {
        let Core { stream, scoreboard, .. } = &self.core;
        scoreboard.outstanding(stream.una, stream.max)
    }

    /// Counts of notices of losses, if the connection takes them.
    pub(crate) fn notice_counters(&self) -> Option<NoticeCounters> {
        Some(self.core.features.as_ref()?.notices.as_ref()?.counters())
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        let features = self.core.features.as_ref();
        self.core.timers.deadline.min(features.map_or(Time::NEVER, |one| one.deadline()))
    }
}

#[cfg(test)]
mod tests;
