//! The sending half of a connection: what is outstanding, what may be sent, what is lost.
//!
//! - `acknowledge`: an ACK arrives; windows, RTT samples, and what recovery makes of it
//! - `recovery`: from a loss to its repair (Reno, NewReno, SACK, timeout)
//! - `transmit`: what to send next
//! - `usage`: whether cwnd is what limits the sender, and what becomes of one that is not used
//! - `timers`: retransmission and persist
//! - `linux`: recovery as in Linux, with `rack`, `tail_loss_probe`, `prr` and `spurious`
//! - `snack`: recovery of SCPS-TP, and `best_effort`, data that it gives up
//! - `offload`: which segments end what Linux hands down in one piece
//! - `instruments`: what only some connections need, among it `probes`, segments of low priority,
//!   `router_feedback`, `jump`, a larger window at the start, and `path_mtu`, segments of another size

mod acknowledge;
mod best_effort;
mod episode;
mod instruments;
mod jump;
mod linux;
mod loss_notice;
mod missing;
mod offload;
mod path_mtu;
mod peer;
mod probes;
mod prr;
mod rack;
mod recovery;
mod router_feedback;
mod snack;
mod spurious;
mod stream;
mod tail_loss_probe;
mod timers;
mod transmit;
mod usage;

use crate::config::{AckTiming, Recovery};
use congestion::{AnyController, Controller, Ecn, Utilisation};
use units::{Span, Time};

use crate::config::Config;
use crate::info::Outstanding;
use crate::scoreboard::Scoreboard;
use transport::{AbortCause, Counters, Pacing, Progress, RttEstimator};

use episode::{Episode, LastReduction};
use instruments::Instruments;
use offload::Packet;
use peer::Peer;
use stream::Stream;
use timers::Timers;
use usage::Usage;

pub(crate) use acknowledge::Acknowledgement;
pub use episode::Phase;
pub use loss_notice::NoticeCounters;
pub(crate) use transmit::Chunk;

/// `tcp_syn_linear_timeouts` of Linux.
const LINEAR_SYNS: u32 = 4;

/// Limit that held the sender back when it last stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBy {
    CongestionWindow,
    AdvertisedWindow,
    Application,
}

/// The sending half. Sequence numbers are 64 bits; the SYN is 0 and the first byte is 1.
#[derive(Debug)]
pub(crate) struct Sender {
    stream: Stream,
    peer: Peer,
    recovery: Recovery,
    held_by: HeldBy,
    /// End of the segment whose round trip is timed, and its send time.
    timed: Option<(u64, Time)>,
    timers: Timers,
    episode: Episode,
    reductions: LastReduction,
    /// The packet that segmentation offload cuts, where that is modelled.
    packet: Option<Packet>,
    scoreboard: Scoreboard,
    controller: AnyController,
    instruments: Option<Box<Instruments>>,
    rtt: RttEstimator,
    usage: Usage,
    counters: Counters,
}

impl Sender {
    pub(crate) fn new(config: &Config, mut controller: AnyController) -> Self {
        let instruments = Instruments::new(config, controller.needs());
        controller.window_mut().paced = instruments.as_ref().is_some_and(|i| i.paces());
        Self {
            stream: Stream::new(config.mss.into()),
            peer: Peer::default(),
            recovery: config.recovery,
            held_by: HeldBy::Application,
            timed: None,
            timers: Timers::new(),
            episode: Episode::new(),
            reductions: LastReduction::default(),
            packet: (config.delayed_ack == AckTiming::Linux
                || config.recovery == Recovery::Linux
                || config.pacing == Pacing::Linux)
                .then(Packet::default),
            scoreboard: if config.recovery == Recovery::Linux {
                Scoreboard::by_segment(config.mss.into())
            } else {
                Scoreboard::default()
            },
            instruments,
            controller,
            rtt: RttEstimator::new(&config.rto),
            usage: Usage::default(),
            counters: Counters::default(),
        }
    }

    /// The SYN was sent at `now`, for the `retries`-th time again.
    pub(crate) fn syn_sent(&mut self, now: Time, config: &Config, retry: bool) {
        self.stream.max = 1;
        self.timed = if retry { None } else { Some((1, now)) };
        self.timers.deadline = now + self.rtt.rto();
        self.timers.last_sent = now;
        if retry {
            self.timers.bound_by_user_timeout(now);
        } else {
            self.timers.begin_user_timeout(now, config);
        }
    }

    /// Nobody answered the SYN in time (RFC 6298 rule 5.5).
    pub(crate) fn on_syn_timeout(&mut self, now: Time, config: &Config, opens: bool) {
        self.timers.retries += 1;
        if self.timers.retries > config.max_retries {
            self.timers.gave_up = Some(AbortCause::Retransmissions);
        } else if self.timers.retries > 1 && now >= self.timers.gives_up_at {
            self.timers.gave_up = Some(AbortCause::UserTimeout);
        }
        // Linux backs off only after the first four of an active open (`tcp_syn_linear_timeouts`).
        if !(opens && config.recovery == Recovery::Linux && self.timers.retries <= LINEAR_SYNS) {
            self.rtt.back_off(&config.rto);
        }
        self.timers.deadline = Time::NEVER;
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
        // Only connections with timestamps have this one.
        let options = if echoed.is_some() { config.timestamps_bytes() } else { 0 };
        self.stream.una = 1;
        self.stream.fill_buffer(config.send_buffer);
        self.stream.mss = mss;
        self.controller.window_mut().agree_on_mss(mss);
        self.count_segments_of(mss);
        self.scoreboard.acknowledge(1);
        self.timers.deadline = Time::NEVER;
        self.timers.retries = 0;
        let timed = self.timed.take().map(|(_, sent)| now.since(sent));
        let echoed = echoed.filter(|_| self.recovers_like_linux());
        if let Some(sample) = timed.or(echoed) {
            self.rtt.sample(&config.rto, sample, self.progress(1));
            self.controller.on_rtt(now, sample);
        }
        if syns > 1 {
            self.rtt.restart_after_lost_syn();
        }
        let most = if self.recovers_like_linux() { 2 } else { 1 };
        if syns > most {
            self.begin_with_one_segment();
        }
        self.peer.advertise(window);
        self.peer.usable = window;
        if self.has_instruments() {
            self.note_change_of_window(now);
            self.search_path(now, config, options.into());
            self.start_quickly(now, config, timed);
        }
    }

    /// This end sends no data to speak of, and asks no router for a rate.
    pub(crate) fn only_answer(&mut self) {
        if let Some(quick) = self.instruments.as_mut().and_then(|one| one.quick_start()) {
            quick.only_answer();
        }
    }

    /// The set-up has met congestion: a SYN was lost (RFC 5681 section 3.1) or marked (RFC 5562 section 3).
    pub(crate) fn begin_with_one_segment(&mut self) {
        let window = self.controller.window_mut();
        window.cwnd = window.cwnd.min(window.mss);
    }

    /// The two ends have not agreed on SACK (RFC 2018 section 2).
    pub(crate) fn do_without_sack(&mut self) {
        if self.uses_sack() {
            self.recovery = Recovery::NewReno;
            self.scoreboard = Scoreboard::default();
            if let Some(instruments) = &mut self.instruments {
                instruments.linux = None;
            }
        }
    }

    /// The application wrote `bytes` more. If all before them, but for less than a segment, had
    /// left, it was the application that limited the sender until now: the window may not grow for
    /// having been full long ago (RFC 7661), and rates measured with what is on its way are those
    /// of the application (`CheckIfApplicationLimited` of draft-ietf-ccwg-bbr; Linux asks at the
    /// same point, in `tcp_sendmsg`).
    pub(crate) fn write(&mut self, config: &Config, bytes: u64) {
        if self.stream.written.saturating_sub(self.stream.max) < self.stream.mss {
            self.held_by = HeldBy::Application;
            self.note_application_limit();
        }
        self.stream.written += bytes;
        self.stream.fill_buffer(config.send_buffer);
        self.look_at_packet_again();
        self.look_at_idle_time();
    }

    /// The application takes back what was never sent; what any probe has carried counts as sent.
    /// Returns the bytes that remain written.
    pub(crate) fn withdraw(&mut self, config: &Config) -> u64 {
        let sent = (self.stream.max.max(1) + u64::from(self.timers.probing))
            .max(self.end_of_probed_data());
        self.stream.written = self.stream.written.min(sent);
        self.stream.fill_buffer(config.send_buffer);
        self.stream.written - 1
    }

    /// The application will write no more.
    pub(crate) fn finish(&mut self) {
        self.stream.fin_queued = true;
        self.look_at_packet_again();
    }

    /// Both ends have agreed on ECN, or the connection has none.
    pub(crate) fn tell_ecn(&mut self, agreed: Ecn) {
        self.controller.on_ecn(agreed);
    }

    /// A measurement of the link that connections share.
    #[cold]
    pub(crate) fn on_utilisation(&mut self, rate: f64, used: f64, connections: u32) {
        let Some(srtt) = self.rtt.srtt() else { return };
        let flight = self.counted_flight();
        self.controller.on_utilisation(&Utilisation { rate, used, connections, flight, srtt });
    }

    /// Returns true if new data is to carry the news that the window was reduced (CWR).
    pub(crate) fn take_reduction(&mut self) -> bool {
        std::mem::take(&mut self.reductions.is_unreported)
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(crate) fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Returns true if there may be something to send. Most ends of a satellite link only receive, and are
    /// asked after each segment.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.episode.resend_head
            || self.episode.phase != Phase::Open
            || self.stream.buffered > self.stream.max
            || self.stream.fin_waits()
    }

    /// Nothing is outstanding and the window is the known one: an acknowledgement that comes with
    /// the other end's next data says nothing new, but that it is the latest.
    #[inline]
    pub(crate) fn knows_already(&mut self, sequence: u64, window: u64) -> bool {
        let known = self.stream.una == self.stream.max
            && window == self.peer.advertised
            && !self.timers.persisting;
        if known {
            self.peer.window_from = self.peer.window_from.max(sequence);
        }
        known
    }

    /// Likewise as windows count it. With `recovery = "linux"` each segment is a full one (`packets_out`).
    #[inline]
    pub(crate) fn counted_flight(&self) -> u64 {
        let flight = self.scoreboard.flight();
        flight.map_or_else(|| self.stream.flight(), |segments| segments.unacknowledged())
    }

    /// A full segment has `mss` bytes.
    fn count_segments_of(&mut self, mss: u64) {
        if let Some(flight) = self.scoreboard.flight_mut() {
            flight.set_mss(mss);
        }
    }

    /// Returns true if nothing that is outstanding is known to be lost or to have arrived out of order.
    #[cold]
    pub(crate) fn is_in_order(&self) -> bool {
        self.episode.phase == Phase::Open
            && self.episode.duplicates == 0
            && self.scoreboard.pipe(self.stream.una, self.stream.max) == self.counted_flight()
    }

    /// The number of a segment without data. It is SND.NXT (RFC 9293 section 3.10.7.4), but not
    /// beyond the window, where the other end would refuse it. There may be data beyond: of a
    /// controller that takes the window as larger, or sent before the window shrank. Linux:
    /// `tcp_acceptable_seq`.
    #[inline]
    pub(crate) fn number_without_data(&self) -> u64 {
        self.stream.max.min(self.stream.una + self.peer.advertised)
    }

    /// Returns true if data was sent beyond the advertised window.
    pub(crate) fn exceeds_window(&self) -> bool {
        self.stream.max > self.stream.una + self.peer.advertised
    }

    /// Returns true if everything below `number` was sent.
    #[inline]
    pub(crate) fn may_be_acknowledged(&self, number: u64) -> bool {
        number <= self.stream.max
            || (self.timers.probing && number == self.stream.una + 1)
            || self.has_probed(number)
    }

    /// The connection is over: no timer runs any more, and nothing is to be sent.
    pub(crate) fn stop(&mut self) {
        self.timers.stop();
        self.instruments = None;
        self.episode.resend_head = false;
        self.episode.phase = Phase::Open;
        self.stream.buffered = self.stream.max;
    }

    /// Returns true if cwnd stands still or falls after a mark, as it does in Linux until something beyond
    /// what was outstanding is acknowledged (`TCP_CA_CWR`).
    pub(crate) fn is_reduced_by_mark(&self) -> bool {
        self.reductions.by_mark
            && self.recovers_like_linux()
            && self.stream.una <= self.reductions.at
    }

    /// Returns true if a recovery goes on with what a mark has begun. In Linux this is so until something beyond what was
    /// outstanding is acknowledged (`tcp_enter_recovery`), while a timeout then reduces again (`tcp_enter_loss`).
    fn goes_on_with_mark(&self) -> bool {
        self.reductions.is_in_window_of_mark(self.stream.una) || self.is_reduced_by_mark()
    }

    /// State of the flight.
    pub(crate) fn outstanding(&self) -> Outstanding {
        self.scoreboard.outstanding(self.stream.una, self.stream.max)
    }

    pub(crate) fn phase(&self) -> Phase {
        self.episode.phase
    }

    pub(crate) fn controller(&self) -> &AnyController {
        &self.controller
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn deadline(&self) -> Time {
        self.timers.deadline.min(self.instruments.as_ref().map_or(Time::NEVER, |i| i.deadline()))
    }

    /// Position of a sample that is one of `per_round` in a round trip.
    #[inline]
    fn progress(&self, per_round: u64) -> Progress {
        Progress { per_round, acknowledged: self.stream.una, sent: self.stream.max }
    }

    fn uses_sack(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Linux)
    }
}

/// For tests: what has to hold between the numbers of a sender.
#[cfg(test)]
impl Sender {
    pub(crate) fn recount(&self) {
        assert!(
            self.stream.una <= self.stream.max,
            "{} acknowledged of {}",
            self.stream.una,
            self.stream.max
        );
        let end = self.stream.written + u64::from(self.stream.fin_queued);
        assert!(self.stream.max <= end.max(1), "{} sent of {end}", self.stream.max);
        if self.stream.una > 0 && self.timers.gave_up.is_none() {
            self.scoreboard.recount(self.stream.una, self.stream.max);
        }
        let window = self.controller.window();
        assert!(window.cwnd >= window.mss, "cwnd {} of {}", window.cwnd, window.mss);
        assert!(self.counters.retransmissions <= self.counters.segments);
    }
}
