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
mod instruments;
mod jump;
mod linux;
mod loss_notice;
mod missing;
mod offload;
mod path_mtu;
mod probes;
mod prr;
mod rack;
mod recovery;
mod router_feedback;
mod snack;
mod spurious;
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

use instruments::Instruments;
use offload::Packet;
use usage::Usage;

pub(crate) use acknowledge::Acknowledgement;
pub use loss_notice::NoticeCounters;
pub(crate) use transmit::Chunk;

/// `tcp_syn_linear_timeouts` of Linux.
const LINEAR_SYNS: u32 = 4;

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery: a loss was found by duplicate ACKs or by SACK.
    FastRecovery,
    /// The retransmission timer expired, or the controller answers a loss as if it had: everything
    /// outstanding is sent again as ACKs allow.
    Timeout,
}

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
    // What every ACK touches stands together.
    una: u64,
    max: u64,
    /// End of the data that the application has written.
    written: u64,
    /// End of what of it the send buffer holds: all before may be sent.
    buffered: u64,
    /// The window as the receiver advertised it, in bytes from `una`.
    advertised: u64,
    /// The window as the controller takes it; the same for all but TCP-ADaLR.
    taken: u64,
    mss: u64,
    recovery: Recovery,
    phase: Phase,
    held_by: HeldBy,
    timed: Option<(u64, Time)>,
    deadline: Time,
    /// The timer that is running is the persist timer.
    persisting: bool,
    /// The first unacknowledged segment is to be sent again now.
    resend_head: bool,
    fin_queued: bool,
    /// The FIN goes with the last data, which still waited when the application closed.
    fin_rides: bool,
    duplicates: u32,
    retransmission_quota: u32,
    /// The packet that segmentation offload cuts, where that is modelled.
    packet: Option<Packet>,
    scoreboard: Scoreboard,
    controller: AnyController,
    instruments: Option<Box<Instruments>>,
    rtt: RttEstimator,

    /// Where recovery ends: behind everything that had been sent when the loss was found.
    recover: u64,
    /// Bytes sent by limited transmit since the last new ACK.
    limited: u64,
    /// How far cwnd was used in the current window.
    usage: Usage,
    /// Behind the last segment that was not full (SND.SML of Minshall).
    small_end: u64,
    /// Position sent when the window was last reduced: one reduction answers all marks of a
    /// round trip (RFC 3168 section 6.1.2).
    reduced_at: u64,
    /// It was a mark that reduced it.
    reduced_by_mark: bool,
    /// The next new data tells the receiver of a reduction.
    tell_reduction: bool,
    first_partial_ack: bool,
    /// A rescue retransmission was made in this recovery (RFC 6675 `NextSeg` rule 4).
    rescued: bool,
    retries: u32,
    persist_backoff: u32,
    /// Window probes since the other end was last heard of.
    unanswered_probes: u32,
    /// A window probe of one byte is out; it lies behind `max`.
    probing: bool,
    max_advertised: u64,
    /// Sequence number of the last window update (SND.WL1).
    window_from: u64,
    last_sent: Time,
    /// When the first retransmission since the last progress was due, or the first window probe.
    retransmits_since: Time,
    /// When the user timeout is over, if nothing is acknowledged until then.
    gives_up_at: Time,
    gave_up: Option<AbortCause>,
    counters: Counters,
}

impl Sender {
    pub(crate) fn new(config: &Config, mut controller: AnyController) -> Self {
        let instruments = Instruments::new(config, controller.needs());
        controller.window_mut().paced = instruments.as_ref().is_some_and(|i| i.paces());
        Self {
            una: 0,
            max: 0,
            written: 1,
            buffered: 1,
            advertised: 0,
            taken: 0,
            mss: u64::from(config.mss),
            recovery: config.recovery,
            phase: Phase::Open,
            held_by: HeldBy::Application,
            timed: None,
            deadline: Time::NEVER,
            persisting: false,
            resend_head: false,
            fin_queued: false,
            fin_rides: false,
            duplicates: 0,
            retransmission_quota: u32::MAX,
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
            recover: 0,
            limited: 0,
            usage: Usage::default(),
            small_end: 0,
            reduced_at: 0,
            reduced_by_mark: false,
            tell_reduction: false,
            first_partial_ack: false,
            rescued: false,
            retries: 0,
            persist_backoff: 0,
            unanswered_probes: 0,
            probing: false,
            max_advertised: 0,
            window_from: 0,
            last_sent: Time::ZERO,
            retransmits_since: Time::ZERO,
            gives_up_at: Time::NEVER,
            gave_up: None,
            counters: Counters::default(),
        }
    }

    /// The SYN was sent at `now`, for the `retries`-th time again.
    pub(crate) fn syn_sent(&mut self, now: Time, config: &Config, retry: bool) {
        self.max = 1;
        self.timed = if retry { None } else { Some((1, now)) };
        self.deadline = now + self.rtt.rto();
        self.last_sent = now;
        if retry {
            self.bound_by_user_timeout(now);
        } else {
            self.begin_user_timeout(now, config);
        }
    }

    /// Nobody answered the SYN in time (RFC 6298 rule 5.5).
    pub(crate) fn on_syn_timeout(&mut self, now: Time, config: &Config, opens: bool) {
        self.retries += 1;
        if self.retries > config.max_retries {
            self.gave_up = Some(AbortCause::Retransmissions);
        } else if self.retries > 1 && now >= self.gives_up_at {
            self.gave_up = Some(AbortCause::UserTimeout);
        }
        // Linux backs off only after the first four of an active open (`tcp_syn_linear_timeouts`).
        if !(opens && config.recovery == Recovery::Linux && self.retries <= LINEAR_SYNS) {
            self.rtt.back_off(&config.rto);
        }
        self.deadline = Time::NEVER;
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
        self.una = 1;
        self.note_buffer(config);
        self.mss = mss;
        self.controller.window_mut().agree_on_mss(mss);
        self.count_segments_of(mss);
        self.scoreboard.acknowledge(1);
        self.deadline = Time::NEVER;
        self.retries = 0;
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
        self.set_window(window);
        self.taken = window;
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
        if self.written.saturating_sub(self.max) < self.mss {
            self.held_by = HeldBy::Application;
            self.note_application_limit();
        }
        self.written += bytes;
        self.note_buffer(config);
        self.look_at_packet_again();
        self.look_at_idle_time();
    }

    /// The application takes back what was never sent; what any probe has carried counts as sent.
    /// Returns the bytes that remain written.
    pub(crate) fn withdraw(&mut self, config: &Config) -> u64 {
        let sent = (self.max.max(1) + u64::from(self.probing)).max(self.end_of_probed_data());
        self.written = self.written.min(sent);
        self.note_buffer(config);
        self.written - 1
    }

    /// The application will write no more.
    pub(crate) fn finish(&mut self) {
        self.fin_queued = true;
        self.look_at_packet_again();
    }

    /// Something else happens after the application has closed. Data that has not left by now waited
    /// when it closed, and the FIN goes with the last of it. After data that leaves as soon as it is
    /// written the FIN is a segment of its own, as in Linux (`tcp_send_fin`); RFC 9293 section 3.10.4
    /// allows both.
    #[inline]
    pub(crate) fn note_waiting_data(&mut self) {
        self.fin_rides |= self.fin_queued && self.max < self.written;
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
        std::mem::take(&mut self.tell_reduction)
    }

    /// Returns true if there may be something to send. Most ends of a satellite link only receive, and are
    /// asked after each segment.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.resend_head
            || self.phase != Phase::Open
            || self.buffered > self.max
            || self.fin_waits()
    }

    /// Nothing is outstanding and the window is the known one: an acknowledgement that comes with
    /// the other end's next data says nothing new, but that it is the latest.
    #[inline]
    pub(crate) fn knows_already(&mut self, sequence: u64, window: u64) -> bool {
        let known = self.una == self.max && window == self.advertised && !self.persisting;
        if known {
            self.window_from = self.window_from.max(sequence);
        }
        known
    }

    /// Flight size in bytes: sent and not acknowledged (RFC 5681 section 2).
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.max - self.una
    }

    /// Likewise as windows count it. With `recovery = "linux"` each segment is a full one (`packets_out`).
    #[inline]
    pub(crate) fn counted_flight(&self) -> u64 {
        let flight = self.scoreboard.flight();
        flight.map_or_else(|| self.flight(), |segments| segments.unacknowledged())
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
        self.phase == Phase::Open
            && self.duplicates == 0
            && self.scoreboard.pipe(self.una, self.max) == self.counted_flight()
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The number of a segment without data. It is SND.NXT (RFC 9293 section 3.10.7.4), but not
    /// beyond the window, where the other end would refuse it. There may be data beyond: of a
    /// controller that takes the window as larger, or sent before the window shrank. Linux:
    /// `tcp_acceptable_seq`.
    #[inline]
    pub(crate) fn number_without_data(&self) -> u64 {
        self.max.min(self.una + self.advertised)
    }

    /// Returns true if data was sent beyond the advertised window.
    pub(crate) fn exceeds_window(&self) -> bool {
        self.max > self.una + self.advertised
    }

    /// Returns true if the FIN was sent and acknowledged.
    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.fin_queued && self.una > self.written
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    /// Returns true if everything below `number` was sent.
    #[inline]
    pub(crate) fn may_be_acknowledged(&self, number: u64) -> bool {
        number <= self.max || (self.probing && number == self.una + 1) || self.has_probed(number)
    }

    /// The largest window that the other end has ever advertised (MAX.SND.WND of RFC 5961).
    pub(crate) fn max_advertised(&self) -> u64 {
        self.max_advertised
    }

    /// The connection is over: no timer runs any more, and nothing is to be sent.
    pub(crate) fn stop(&mut self) {
        self.stop_timer();
        self.instruments = None;
        self.resend_head = false;
        self.phase = Phase::Open;
        self.buffered = self.max;
    }

    pub(crate) fn advertised(&self) -> u64 {
        self.advertised
    }

    /// Returns true if cwnd stands still or falls after a mark, as it does in Linux until something beyond
    /// what was outstanding is acknowledged (`TCP_CA_CWR`).
    pub(crate) fn is_reduced_by_mark(&self) -> bool {
        self.reduced_by_mark && self.recovers_like_linux() && self.una <= self.reduced_at
    }

    /// Returns true if a recovery goes on with what a mark has begun. In Linux this is so until something beyond what was
    /// outstanding is acknowledged (`tcp_enter_recovery`), while a timeout then reduces again (`tcp_enter_loss`).
    fn goes_on_with_mark(&self) -> bool {
        self.is_in_window_of_mark() || self.is_reduced_by_mark()
    }

    /// Returns true if a mark has reduced the window that is outstanding now.
    fn is_in_window_of_mark(&self) -> bool {
        self.reduced_by_mark && self.una < self.reduced_at
    }

    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// Window probes in a row that nobody has answered. The other end was heard of last at `heard`.
    pub(crate) fn unanswered_window_probes(&self, heard: Time) -> u32 {
        if self.persisting && heard <= self.last_sent { self.unanswered_probes } else { 0 }
    }

    /// Returns true if something is outstanding or waits to be sent.
    pub(crate) fn is_busy(&self) -> bool {
        self.flight() > 0 || self.written > self.max || self.fin_waits()
    }

    /// State of the flight.
    pub(crate) fn outstanding(&self) -> Outstanding {
        self.scoreboard.outstanding(self.una, self.max)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
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

    /// Why the other end was given up, if it was.
    pub(crate) fn gave_up(&self) -> Option<AbortCause> {
        self.gave_up
    }

    pub(crate) fn deadline(&self) -> Time {
        self.deadline.min(self.instruments.as_ref().map_or(Time::NEVER, |i| i.deadline()))
    }

    fn set_window(&mut self, window: u64) {
        self.advertised = window;
        self.max_advertised = self.max_advertised.max(window);
    }

    /// Position of a sample that is one of `per_round` in a round trip.
    #[inline]
    fn progress(&self, per_round: u64) -> Progress {
        Progress { per_round, acknowledged: self.una, sent: self.max }
    }

    /// Written or acknowledged data has changed, and so the data that the send buffer lets the
    /// application have handed over.
    fn note_buffer(&mut self, config: &Config) {
        self.buffered = self.written.min(self.una.saturating_add(config.send_buffer.get()));
    }

    fn uses_sack(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Linux)
    }
}

/// For tests: what has to hold between the numbers of a sender.
#[cfg(test)]
impl Sender {
    pub(crate) fn recount(&self) {
        assert!(self.una <= self.max, "{} acknowledged of {}", self.una, self.max);
        let end = self.written + u64::from(self.fin_queued);
        assert!(self.max <= end.max(1), "{} sent of {end}", self.max);
        if self.una > 0 && self.gave_up.is_none() {
            self.scoreboard.recount(self.una, self.max);
        }
        let window = self.controller.window();
        assert!(window.cwnd >= window.mss, "cwnd {} of {}", window.cwnd, window.mss);
        assert!(self.counters.retransmissions <= self.counters.segments);
    }
}
