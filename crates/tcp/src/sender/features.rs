//! Parts of a sender that only some connections need: their home, and the steps of a segment and of
//! an ACK that they follow. The box keeps them apart from what every ACK touches.

use congestion::{Controller, Needs, Sent};
use transport::{CarefulResume, KnownPath, MtuProbing, Pacer, Pacing, QuickStart, Range};
use units::Time;

use crate::buffers::SendBuffer;
use crate::config::{Config, Recovery};

use super::core::Core;
use super::jump::Jump;
use super::loss_notice::Notices;
use super::measurement::Measurement;
use super::path_mtu::Discovery;
use super::probes::Probes;
use super::usage::HeldBy;
use super::{buffer, path_mtu};

/// Parts that the controller or the configuration of a connection requires.
#[derive(Clone, Debug)]
pub(super) struct Features {
    /// Needs of the controller and of the jump.
    pub(super) needs: Needs,
    /// Records of segments, and the samples of the ACK that is being processed.
    pub(super) measurement: Measurement,
    /// Departure times. Also holds everything back while a link is known to be out (SCPS-TP).
    pub(super) pacer: Pacer,
    /// Segments of low priority, for controllers that probe for capacity.
    pub(super) probes: Option<Probes>,
    /// A larger window at the start.
    pub(super) jump: Option<Jump>,
    /// Explicit notices of losses.
    pub(super) notices: Option<Notices>,
    /// Path MTU discovery, on paths that are searched or on which a router has found a segment too
    /// large.
    pub(super) path_mtu: Option<Box<Discovery>>,
    /// The send buffer, if it tunes itself.
    pub(super) send_buffer: Option<SendBuffer>,
    /// The path as another connection has found it, until this one is open.
    pub(super) known_path: Option<KnownPath>,
    /// Something follows each segment and its acknowledgement, and not only the packets that are in
    /// a send buffer.
    follows_segments: bool,
}

impl Features {
    /// The features that a connection and its controller need, if any.
    pub(super) fn needed(config: &Config, needs: Needs) -> Option<Box<Self>> {
        let features = Self::of(config, needs);
        let needs = features.needs;
        let is_needed = features.measurement.is_on()
            || needs.pacing
            || needs.probes
            || needs.router_feedback.is_some()
            || features.notices.is_some()
            || features.jump.is_some()
            || config.scps.is_some()
            || config.send_tuning.is_some()
            || config.mtu_probing != MtuProbing::Off;
        is_needed.then(|| Box::new(features))
    }

    pub(super) fn of(config: &Config, needs: Needs) -> Self {
        let jump = Jump::of(config);
        let mut needs = match jump {
            Some(Jump::Resume(_)) => needs.or(CarefulResume::needs()),
            Some(Jump::QuickStart(_)) | None => needs,
        };
        needs.pacing |= config.pacing == Pacing::Linux;
        // An answer to a probe may report data for the first time, and is no sample by itself.
        let by_recovery = config.recovery == Recovery::Linux && !needs.probes;
        let measurement = Measurement::new(needs, by_recovery);
        Self {
            follows_segments: measurement.is_on() || needs.pacing || needs.probes || jump.is_some(),
            needs,
            measurement,
            // The memory of a send buffer is that of packets, so packets are what is paced.
            pacer: Pacer::new(match config.send_tuning {
                Some(_) => Pacing::Linux,
                None => config.pacing,
            }),
            probes: needs.probes.then(Probes::new),
            jump,
            notices: config.eln.then(Notices::default),
            path_mtu: None,
            send_buffer: config.send_tuning.as_ref().map(SendBuffer::new),
            known_path: None,
        }
    }

    /// Quick-Start, if the connection has it.
    pub(super) fn quick_start(&mut self) -> Option<&mut QuickStart> {
        match &mut self.jump {
            Some(Jump::QuickStart(quick)) => Some(quick),
            Some(Jump::Resume(_)) | None => None,
        }
    }

    /// Time at which a segment that pacing holds back may leave, or a probe is due.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        let probe = self.probes.as_ref().map_or(Time::NEVER, |probes| probes.due);
        self.pacer.deadline().min(probe)
    }

    /// Returns true if something may hold segments back: pacing, or a search of the path MTU.
    #[inline(always)]
    fn may_hold(&self, now: Time) -> bool {
        self.pacer.next_departure() > now || self.path_mtu.is_some()
    }

    /// Returns true if all segments of a packet may leave once its first has left.
    pub(super) fn lets_packets_go(&self) -> bool {
        self.probes.is_none()
            && self.jump.is_none()
            && self.path_mtu.is_none()
            && (!self.needs.pacing || self.pacer.paces_packets())
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

impl Core {
    /// Returns true if something follows each segment and its acknowledgement.
    #[inline(always)]
    pub(super) fn follows_segments(&self) -> bool {
        self.features.as_ref().is_some_and(|features| features.follows_segments)
    }

    /// Returns true if records follow the arrival of segments.
    #[inline(always)]
    pub(super) fn has_records(&self) -> bool {
        self.features.as_ref().is_some_and(|features| features.measurement.has_records())
    }

    /// Returns true if a connection with features holds back whatever would be sent now.
    #[inline(always)]
    pub(super) fn is_held_back(&mut self, now: Time) -> bool {
        let may_hold = self.features.as_ref().is_some_and(|features| features.may_hold(now));
        let is_held = may_hold && self.waits_for_departure(now);
        if is_held {
            self.look_at_present_limit(now);
        }
        is_held
    }

    /// Returns true if pacing, or a search of the path MTU, holds back whatever would be sent now.
    /// A paced rate follows from cwnd, so it is cwnd that limits the sender then.
    fn waits_for_departure(&mut self, now: Time) -> bool {
        let Some(features) = &mut self.features else { return false };
        let held = features.pacer.holds(now);
        let (by_packet, has_path) = (features.pacer.paces_packets(), features.path_mtu.is_some());
        if held && !(by_packet && self.packet_goes_on(now)) {
            self.held_by = HeldBy::CongestionWindow;
            self.usage.note_full(self.stream.max);
            return true;
        }
        has_path && path_mtu::waits_for_probe(self, now)
    }

    /// The earliest time at which pacing lets the next packet go, if packets are paced.
    pub(super) fn paced_departure(&self) -> Time {
        let pacer = self.features.as_ref().map(|features| &features.pacer);
        pacer.filter(|pacer| pacer.paces_packets()).map_or(Time::ZERO, Pacer::next_departure)
    }

    /// A segment leaves, new or again, and nothing counts it as sent yet.
    #[inline(never)]
    pub(super) fn record_sending(&mut self, now: Time, range: Range, again: bool) {
        let Self { features, stream, controller, packet, scoreboard, .. } = self;
        let Some(features) = features else { return };
        if let Some(buffer) = &mut features.send_buffer
            && !again
            && !packet.as_ref().is_some_and(|packet| packet.continues(now))
        {
            if buffer.looks_between_packets(now) {
                buffer.check(&buffer::positions(stream), || {
                    let window = buffer::congestion_window(controller);
                    (scoreboard.pipe(stream.una, stream.max) < window.cwnd).then_some(window)
                });
            }
            buffer.on_packet(now, range.start);
        }
        if !features.follows_segments {
            return;
        }
        if let Some(probes) = &mut features.probes {
            probes.last = range;
        }
        self.follow_segment(now, range, again);
    }

    /// Likewise of a connection whose segments something follows: their records, the controller and
    /// pacing. All else is as it was with the segment before, if this one leaves in a row with it.
    #[inline(always)]
    pub(super) fn follow_segment(&mut self, now: Time, range: Range, again: bool) {
        let row_goes_on = self.row_goes_on_behind(range.end);
        let Self { features, stream, controller, rtt, packet, counters, scoreboard, .. } = self;
        let Some(features) = features else { return };
        let bytes = range.len();
        let pipe_before = scoreboard.pipe(stream.una, stream.max);
        features.measurement.on_sent(now, range, again, stream.una, pipe_before);
        if features.needs.feedback {
            let sent = stream.max.max(range.end);
            controller.on_sent(&Sent { now, bytes, again, sent, pipe_before });
        }
        let of_jump = features.jump.as_ref().and_then(Jump::pacing_rate);
        if features.needs.pacing || of_jump.is_some() {
            let pacer = &mut features.pacer;
            let continues = pacer.paces_packets() && packet.is_some_and(|p| p.continues(now));
            let usual = || pacer.rate(controller.window(), stream.flight(), rtt.srtt());
            if row_goes_on {
                pacer.on_sent_in_row(bytes, continues);
            } else if let Some(rate) = of_jump.or(controller.pacing_rate()).or_else(usual) {
                pacer.on_sent(now, bytes, rate, counters.segments, continues);
            }
        }
        if !again && let Some(jump) = &mut features.jump {
            let flight = range.end - stream.una;
            jump.before_sending(now, flight, range.end, controller.window_mut());
        }
    }

    /// A row of segments ends before its last one. Pacing has not set a departure time for those
    /// that have left.
    #[cold]
    pub(super) fn end_paced_row(&mut self, now: Time) {
        let Self { features, stream, controller, rtt, counters, .. } = self;
        if let Some(features) = features
            && features.needs.pacing
        {
            let pacer = &mut features.pacer;
            let usual = || pacer.rate(controller.window(), stream.flight(), rtt.srtt());
            if let Some(rate) = controller.pacing_rate().or_else(usual) {
                pacer.on_sent(now, 0, rate, counters.segments - 1, true);
            }
        }
    }

    /// Everything that the application has written is sent. If the windows would take more, rates
    /// measured with what is in flight are those of the application.
    #[inline]
    pub(super) fn note_application_limit(&mut self) {
        // What is delivered is counted in bytes.
        if self.features.is_some() && self.pipe_has_room() {
            let pipe = self.pipe().min(self.stream.flight());
            if let Some(features) = &mut self.features {
                features.measurement.on_application_limit(pipe);
            }
        }
    }

    /// Data between two positions that is not sacked was found to be lost.
    #[inline]
    pub(super) fn note_losses(&mut self, now: Time, from: u64, to: u64) {
        let Self { features, scoreboard, controller, .. } = self;
        if let Some(features) = features {
            features.measurement.on_lost(now, scoreboard.holes(from, to), controller);
        }
    }

    /// A loss or a mark has reduced the window: the larger window of the start was too large.
    pub(super) fn stop_jump(&mut self) {
        if let Some(features) = &mut self.features
            && let Some(jump) = &mut features.jump
        {
            jump.on_loss(self.controller.window_mut());
        }
    }

    /// Pacing, if the connection has it. It holds everything back while a link is known to be out.
    pub(crate) fn pacer(&mut self) -> Option<&mut Pacer> {
        self.features.as_mut().map(|features| &mut features.pacer)
    }
}
