//! Features that only some connections need: feedback on each ACK, records of segments, pacing,
//! Careful Resume, Quick-Start, path MTU discovery, and the recovery of Linux.

use crate::config::Recovery;
use congestion::{Controller, Feedback, Needs, Sent, TcpPolicy, Window};
use transport::{KnownPath, MtuProbing, Pacing};
use units::{Span, Time};

use crate::config::Config;
use transport::Range;

use super::acknowledge::Acknowledgement;
use super::jump::Jump;
use super::linux::Linux;
use super::loss_notice::Notices;
use super::path_mtu::Discovery;
use super::probes::Probes;
use super::router_feedback::Returning;
use super::snack::Repair;
use super::{HeldBy, Phase, Sender};
use transport::{Acknowledged, CarefulResume, Delivery, Pacer, QuickStart};

/// Length of headers without options in Quick-Start, in bytes: those of IPv4 and TCP.
const IP_AND_TCP_HEADERS: u32 = 40;

/// Kept in a box and only for connections that ask for any of it.
#[derive(Clone, Debug)]
pub(super) struct Instruments {
    needs: Needs,
    delivery: Delivery,
    pub(super) pacer: Pacer,
    /// For controllers that send probes.
    pub(super) probes: Option<Probes>,
    /// Bytes that the ACK being processed reports as marked, if the other end counts them.
    marked_bytes: Option<u64>,
    /// The controller saw a loss in the ACK that is being processed.
    saw_loss: bool,
    jump: Option<Jump>,
    /// Notices of losses, for connections that take them.
    pub(super) notices: Option<Notices>,
    /// Recovery of SCPS-TP.
    pub(super) repair: Option<Repair>,
    /// Feedback of routers for the other end.
    pub(super) returning: Returning,
    /// The round-trip time that the ACK being processed measures, and the smallest of all.
    round_trip: Option<Span>,
    min_rtt: Option<Span>,
    /// For the recovery of Linux.
    pub(super) linux: Option<Linux>,
    /// For paths that are searched, or on which a router has found a segment too large.
    pub(super) path_mtu: Option<Box<Discovery>>,
    /// The path as another connection has found it, until this one is open.
    pub(super) known_path: Option<KnownPath>,
}

impl Instruments {
    /// The instruments that a connection and its controller need, if any.
    pub(super) fn new(config: &Config, needs: Needs) -> Option<Box<Self>> {
        let instruments = Self::of(config, needs);
        let needs = instruments.needs;
        let measures = instruments.times_segments() || needs.pacing || needs.probes;
        let is_needed = measures
            || needs.router_feedback.is_some()
            || instruments.linux.is_some()
            || instruments.notices.is_some()
            || instruments.repair.is_some()
            || instruments.jump.is_some()
            || config.mtu_probing != MtuProbing::Off;
        is_needed.then(|| Box::new(instruments))
    }

    pub(super) fn of(config: &Config, needs: Needs) -> Self {
        let linux = (config.recovery == Recovery::Linux).then(|| Linux::new(needs, config));
        let jump = Jump::of(config);
        let mut needs = match jump {
            Some(Jump::Resume(_)) => needs.or(CarefulResume::needs()),
            Some(Jump::QuickStart(_)) | None => needs,
        };
        needs.pacing |= config.pacing == Pacing::Linux;
        Self {
            needs,
            jump,
            notices: config.eln.then(Notices::default),
            repair: Repair::new(config),
            returning: Returning::default(),
            delivery: Delivery::default(),
            pacer: Pacer::new(config.pacing),
            probes: needs.probes.then(Probes::new),
            marked_bytes: None,
            saw_loss: false,
            round_trip: None,
            min_rtt: None,
            linux,
            path_mtu: None,
            known_path: None,
        }
    }

    /// Returns true if a record of each segment is kept.
    fn times_segments(&self) -> bool {
        let Needs { feedback, records, round_trips, .. } = self.needs;
        feedback || records || round_trips
    }

    /// Returns true if segments leave at a rate.
    pub(super) fn paces(&self) -> bool {
        self.needs.pacing
    }

    /// Returns true if the controller asks routers for a rate.
    pub(super) fn has_router_feedback(&self) -> bool {
        self.needs.router_feedback.is_some()
    }

    /// Quick-Start, if the connection has it.
    pub(super) fn quick_start(&mut self) -> Option<&mut QuickStart> {
        match &mut self.jump {
            Some(Jump::QuickStart(quick)) => Some(quick),
            Some(Jump::Resume(_)) | None => None,
        }
    }

    /// Records of segments below `una` are not needed any more, and they were not delivered.
    pub(super) fn forget_records(&mut self, una: u64) {
        self.delivery.forget(una);
    }

    /// When a segment that pacing holds back may leave, or a probe is due.
    pub(super) fn deadline(&self) -> Time {
        let probe = self.probes.as_ref().map_or(Time::NEVER, |probes| probes.due);
        self.pacer.deadline().min(probe)
    }

    /// Segments that pacing holds back may leave, and the controller may send a probe.
    /// Returns false if it is too early.
    pub(super) fn release(&mut self, now: Time) -> bool {
        if self.deadline() > now {
            return false;
        }
        self.pacer.release();
        if let Some(probes) = &mut self.probes {
            probes.due = Time::NEVER;
        }
        true
    }
}

impl Sender {
    /// Returns true if the controller asked for any of this.
    #[inline]
    pub(crate) fn has_instruments(&self) -> bool {
        self.instruments.is_some()
    }

    /// Returns true if pacing holds back whatever would be sent now.
    #[inline]
    pub(super) fn is_held_by_pacing(&mut self, now: Time) -> bool {
        self.instruments.is_some() && self.waits_for_departure(now)
    }

    /// The rate follows from cwnd, so it is cwnd that limits a sender held by pacing.
    fn waits_for_departure(&mut self, now: Time) -> bool {
        let held =
            self.instruments.as_mut().is_some_and(|instruments| instruments.pacer.holds(now));
        if held && !(self.paces_packets() && self.packet_goes_on(now)) {
            self.held_by = HeldBy::CongestionWindow;
            self.note_full_usage();
            return true;
        }
        self.instruments.as_ref().is_some_and(|instruments| instruments.path_mtu.is_some())
            && self.waits_for_mtu_probe(now)
    }

    fn paces_packets(&self) -> bool {
        self.instruments.as_ref().is_some_and(|instruments| instruments.pacer.paces_packets())
    }

    /// The earliest time at which pacing lets the next packet go, if packets are paced.
    pub(super) fn paced_departure(&self) -> Time {
        let pacer = self.instruments.as_ref().map(|instruments| &instruments.pacer);
        pacer.filter(|pacer| pacer.paces_packets()).map_or(Time::ZERO, Pacer::next_departure)
    }

    /// A segment leaves, new or again. To be called before anything counts it as sent.
    #[inline]
    pub(super) fn note_sending(&mut self, now: Time, range: Range, again: bool) {
        if self.instruments.is_some() {
            self.record_sending(now, range, again);
        }
    }

    fn record_sending(&mut self, now: Time, range: Range, again: bool) {
        let pipe_before = self.scoreboard.pipe(self.stream.una, self.stream.max);
        let Some(instruments) = &mut self.instruments else { return };
        let bytes = range.len();
        if let Some(probes) = &mut instruments.probes {
            probes.last = range;
        }
        if instruments.times_segments() {
            if again {
                instruments.delivery.on_again(now, range, self.stream.una, pipe_before);
            } else {
                instruments.delivery.on_new(now, bytes, range.end, pipe_before);
            }
        }
        if instruments.needs.feedback {
            let sent = self.stream.max.max(range.end);
            self.controller.on_sent(&Sent { now, bytes, again, sent, pipe_before });
        }
        let of_jump = instruments.jump.as_ref().and_then(Jump::pacing_rate);
        if instruments.needs.pacing || of_jump.is_some() {
            let continues =
                instruments.pacer.paces_packets() && self.packet.is_some_and(|p| p.continues(now));
            let flight = self.stream.max - self.stream.una;
            let usual =
                || instruments.pacer.rate(self.controller.window(), flight, self.rtt.srtt());
            let of_controller = of_jump.or(self.controller.pacing_rate());
            if let Some(rate) = of_controller.or_else(usual) {
                let segments = self.counters.segments;
                instruments.pacer.on_sent(now, bytes, rate, segments, continues);
            }
        }
        if !again && let Some(jump) = &mut instruments.jump {
            let flight = range.end - self.stream.una;
            jump.before_sending(now, flight, range.end, self.controller.window_mut());
        }
        if instruments.linux.is_some() {
            self.follow_sending(now, range, again);
        }
    }

    /// Everything that the application has written is sent, and the windows would take more.
    #[inline]
    pub(super) fn note_application_limit(&mut self) {
        if self.instruments.is_some() {
            self.record_application_limit();
        }
    }

    fn record_application_limit(&mut self) {
        let pipe = self.scoreboard.pipe(self.stream.una, self.stream.max);
        let room = self.controller.window().cwnd >= pipe + self.stream.mss;
        // What is delivered is counted in bytes.
        let pipe = pipe.min(self.stream.flight());
        if let Some(instruments) = &mut self.instruments
            && instruments.needs.records
            && room
        {
            instruments.delivery.on_app_limited(pipe);
        }
    }

    /// A SACK block is about to enter the scoreboard.
    #[inline]
    pub(super) fn note_sack_block(&mut self, now: Time, block: Range) {
        if self.instruments.is_some() {
            self.record_sack_block(now, block);
        }
    }

    fn record_sack_block(&mut self, now: Time, block: Range) {
        let Some(instruments) = &mut self.instruments else { return };
        if instruments.times_segments() {
            for news in self.scoreboard.holes(block.start, block.end) {
                instruments.delivery.on_sacked(now, news);
            }
        }
        if instruments.linux.is_some() {
            self.follow_sack_block(now, block);
        }
    }

    /// Data that `ack` acknowledges is about to leave the scoreboard; up to `before` it was before.
    #[inline]
    pub(super) fn note_acknowledgement(&mut self, now: Time, before: u64, ack: &Acknowledgement) {
        if self.instruments.is_some() {
            self.record_acknowledgement(now, before, ack);
        }
    }

    fn record_acknowledgement(&mut self, now: Time, before: u64, ack: &Acknowledgement) {
        let una = ack.number;
        let Some(instruments) = &mut self.instruments else { return };
        if instruments.times_segments() {
            let news = self.scoreboard.holes(before, una).map(Range::len).sum();
            instruments.delivery.on_acknowledged(now, una, news);
        }
        if instruments.linux.is_some() {
            self.follow_acknowledgement(now, ack);
        }
        self.judge_mtu_probe(una);
    }

    /// Gives the controller the round trip of what this ACK acknowledges. After a retransmission only
    /// the timestamp can measure it, as in Linux (`tcp_ack_update_rtt`).
    fn measure_round_trip(&mut self, now: Time, ack: &Acknowledgement, acked: u64) {
        let Some(instruments) = &mut self.instruments else { return };
        if !instruments.times_segments() {
            return;
        }
        let timestamp = ack.round_trip.filter(|_| acked > 0);
        let sample = instruments.delivery.take_round_trip(now).or(timestamp);
        instruments.round_trip = sample;
        if let Some(sample) = sample {
            instruments.min_rtt = Some(instruments.min_rtt.map_or(sample, |min| min.min(sample)));
            self.controller.on_rtt(now, sample);
        }
    }

    /// The smallest round-trip time of data, as controllers see it.
    #[inline]
    pub(super) fn min_rtt(&self) -> Option<Span> {
        let exact = self.instruments.as_ref().and_then(|instruments| instruments.min_rtt);
        exact.or_else(|| self.rtt.min())
    }

    /// Data between two positions that is not sacked was found to be lost.
    #[inline]
    pub(super) fn note_losses(&mut self, now: Time, from: u64, to: u64) {
        if self.instruments.is_some() {
            self.record_losses(now, from, to);
        }
    }

    fn record_losses(&mut self, now: Time, from: u64, to: u64) {
        let Some(instruments) = &mut self.instruments else { return };
        if instruments.needs.records {
            let controller = &mut self.controller;
            for hole in self.scoreboard.holes(from, to) {
                instruments.delivery.on_lost(now, hole, |lost| controller.on_segment_lost(lost));
            }
        }
    }

    /// Bytes that the ACK being processed reports as marked, if the other end counts them.
    pub(super) fn marked_by_this_ack(&self) -> Option<u64> {
        self.instruments.as_ref()?.marked_bytes
    }

    /// The next ACK reports `bytes` as marked (RFC 9768).
    pub(crate) fn note_marked_bytes(&mut self, bytes: u64) {
        if let Some(instruments) = &mut self.instruments {
            instruments.marked_bytes = Some(bytes);
        }
    }

    /// Tells the controller about an ACK, if it needs to know.
    #[inline]
    pub(super) fn give_feedback(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
        sacked: u64,
        duplicate: bool,
    ) {
        if self.instruments.is_some() {
            self.describe_ack(now, config, ack, acked, sacked, duplicate);
        }
    }

    fn describe_ack(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
        sacked: u64,
        duplicate: bool,
    ) {
        if self.recovers_like_linux() {
            if self.is_ack_old() {
                self.judge_outstanding(now, config, ack, 0);
                self.forget_measurements(now);
                return;
            }
            self.measure_round_trip(now, ack, acked);
            self.judge_outstanding(now, config, ack, acked);
        } else {
            self.measure_round_trip(now, ack, acked);
        }
        let min_rtt = self.min_rtt();
        let reduced_by_mark = self.is_reduced_by_mark();
        let (counted_acked, counted_sacked) = self.counted_by_this_ack(acked, sacked);
        let mut pipe = self.scoreboard.pipe(self.stream.una, self.stream.max);
        if pipe < self.counted_flight() {
            // Something is missing, which controllers see by less than what is outstanding.
            pipe = pipe.min(self.stream.flight().saturating_sub(1));
        }
        let Some(instruments) = &mut self.instruments else { return };
        if let Some(quick) = instruments.quick_start() {
            let is_recovering = self.episode.phase != Phase::Open;
            let ack = Acknowledged { now, acknowledged: self.stream.una, sacked, is_recovering };
            quick.on_ack(&ack, self.controller.window_mut());
        }
        let rate = instruments.delivery.take_sample(min_rtt);
        if !instruments.needs.feedback {
            return;
        }
        let records = instruments.needs.records;
        let counted = instruments.marked_bytes;
        let feedback = Feedback {
            now,
            acked: counted_acked,
            sacked: counted_sacked,
            duplicate,
            recovering: self.episode.phase != Phase::Open
                || (reduced_by_mark && !instruments.needs.own_recovery),
            round_trip: instruments.round_trip,
            srtt: self.rtt.srtt(),
            min_rtt,
            acknowledged: self.stream.una,
            sent: self.stream.max,
            pipe,
            advertised: self.peer.advertised,
            peer_clock: ack.peer_clock,
            marked: ack.marked,
            // Selective acknowledgements do not count: they would count again when the data is
            // acknowledged (RFC 8257 section 3.3).
            marked_bytes: if ack.marked { counted.unwrap_or(counted_acked) } else { 0 },
            needless: ack.needless.len(),
            head_sent: instruments.delivery.head_sent().filter(|_| records),
            rate: rate.filter(|_| records),
        };
        if let Some(Jump::Resume(resume)) = &mut instruments.jump {
            resume.on_feedback(&feedback, self.controller.window_mut());
        }
        self.controller.on_feedback(&feedback);
        instruments.saw_loss = self.controller.finds_loss(&feedback);
    }

    /// An ACK that was overtaken measures nothing.
    fn forget_measurements(&mut self, now: Time) {
        let min_rtt = self.min_rtt();
        if let Some(instruments) = &mut self.instruments {
            instruments.round_trip = None;
            let _ = instruments.delivery.take_round_trip(now);
            let _ = instruments.delivery.take_sample(min_rtt);
        }
    }

    /// Last step of an ACK, after the controller has all of its feedback.
    pub(super) fn finish_ack(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        window_moved: bool,
    ) {
        let Some(instruments) = &mut self.instruments else { return };
        let saw_loss = std::mem::take(&mut instruments.saw_loss);
        if instruments.linux.is_some() {
            self.recover_after_ack(now, config, ack, window_moved, saw_loss);
        } else if saw_loss {
            self.enter_recovery_early(now, config);
        }
        if let Some((jump, window)) = self.jump() {
            jump.after_ack(window);
        }
    }

    /// The larger window of the start, if there is any, and the window that it overrides.
    #[inline]
    pub(super) fn jump(&mut self) -> Option<(&mut Jump, &mut Window)> {
        let jump = self.instruments.as_mut()?.jump.as_mut()?;
        Some((jump, self.controller.window_mut()))
    }

    /// The connection is open, and its SYN has taken `round_trip` if only one was sent.
    #[cold]
    pub(super) fn start_quickly(&mut self, now: Time, config: &Config, round_trip: Option<Span>) {
        let headers = u64::from(IP_AND_TCP_HEADERS + config.timestamps_bytes());
        let Some(quick) = self.instruments.as_mut().and_then(|one| one.quick_start()) else {
            return;
        };
        quick.start(now, round_trip, headers, self.stream.max, self.controller.window_mut());
    }
}
