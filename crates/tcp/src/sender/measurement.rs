//! Samples that controllers get with an ACK: delivery rates, round trips, marked bytes.

use congestion::{AnyController, Controller, Feedback, Needs, TcpPolicy};
use transport::{Acknowledged, Delivery, Range};
use units::{Span, Time};

use crate::config::Config;

use super::acknowledge::Acknowledgement;
use super::core::Core;
use super::episode::Phase;
use super::jump::Jump;
use super::recovery::LossRecovery;

/// Records of segments in flight, and what the ACK that is being processed measures.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    /// Each segment has a record.
    is_on: bool,
    /// The controller needs the records themselves, and not only round trips.
    has_records: bool,
    delivery: Delivery,
    /// Bytes that the ACK being processed reports as marked, if the other end counts them.
    pub(super) marked_bytes: Option<u64>,
    /// Round-trip time that the ACK being processed measures.
    round_trip: Option<Span>,
    /// Minimum of all round-trip times of data.
    pub(super) min_rtt: Option<Span>,
}

impl Measurement {
    pub(super) fn new(needs: Needs) -> Self {
        let Needs { feedback, records, round_trips, .. } = needs;
        Self {
            is_on: feedback || records || round_trips,
            has_records: records,
            delivery: Delivery::default(),
            marked_bytes: None,
            round_trip: None,
            min_rtt: None,
        }
    }

    /// Gives back the memory of segments that are no longer in flight.
    pub(super) fn shrink(&mut self) {
        self.delivery.shrink();
    }

    /// Returns true if each segment has a record.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A segment leaves with `pipe` bytes in the network before it.
    pub(super) fn on_sent(&mut self, now: Time, range: Range, again: bool, una: u64, pipe: u64) {
        if self.is_on {
            if again {
                self.delivery.on_again(now, range, una, pipe);
            } else {
                self.delivery.on_new(now, range.len(), range.end, pipe);
            }
        }
    }

    /// All data has left with room in the window and `pipe` bytes in the network.
    pub(super) fn on_application_limit(&mut self, pipe: u64) {
        if self.has_records {
            self.delivery.on_app_limited(pipe);
        }
    }

    /// `news` are acknowledged selectively for the first time.
    pub(super) fn on_sacked(&mut self, now: Time, news: impl Iterator<Item = Range>) {
        if self.is_on {
            news.for_each(|range| self.delivery.on_sacked(now, range));
        }
    }

    /// Everything below `una` is acknowledged, of which `news` was not acknowledged selectively
    /// before.
    pub(super) fn on_acknowledged(
        &mut self,
        now: Time,
        una: u64,
        news: impl Iterator<Item = Range>,
    ) {
        if self.is_on {
            self.delivery.on_acknowledged(now, una, news.map(Range::len).sum());
        }
    }

    /// `losses` were found to be lost.
    pub(super) fn on_lost(
        &mut self,
        now: Time,
        losses: impl Iterator<Item = Range>,
        controller: &mut AnyController,
    ) {
        if self.has_records {
            for loss in losses {
                self.delivery.on_lost(now, loss, |lost| controller.on_segment_lost(lost));
            }
        }
    }

    /// Round trip of what this ACK acknowledges. After a retransmission only the timestamp can
    /// measure it, as in Linux (`tcp_ack_update_rtt`).
    fn measure(&mut self, now: Time, timestamp: Option<Span>) -> Option<Span> {
        if !self.is_on {
            return None;
        }
        let sample = self.delivery.take_round_trip(now).or(timestamp);
        self.round_trip = sample;
        if let Some(sample) = sample {
            self.min_rtt = Some(self.min_rtt.map_or(sample, |min| min.min(sample)));
        }
        sample
    }

    /// Drops the samples of an ACK that was overtaken: it measures nothing.
    fn discard(&mut self, now: Time, min_rtt: Option<Span>) {
        self.round_trip = None;
        let _ = self.delivery.take_round_trip(now);
        let _ = self.delivery.take_sample(min_rtt);
    }
}

/// Lets the recovery judge what is outstanding, and then gives the controller its feedback on an
/// ACK. Returns true if the controller has seen a loss in it.
#[inline(always)]
pub(crate) fn give_feedback<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    ack: &Acknowledgement,
    news: AckedBytes,
) -> bool {
    if R::SKIPS_OLD_ACKS && ack.is_old {
        recovery.judge(core, now, config, ack, 0);
        core.discard_samples(now);
        return false;
    }
    if core.follows_segments() {
        core.measure_round_trip(now, ack.round_trip, news.acked);
    }
    recovery.judge(core, now, config, ack, news.acked);
    if !core.follows_segments() {
        return false;
    }
    let copy;
    let ack = if R::FOLLOWS_ACKS {
        ack
    } else {
        // So that the ACKs of a plain sender need not be in memory.
        copy = Acknowledgement { ..*ack };
        &copy
    };
    core.describe_ack(now, ack, recovery.counted(news))
}

impl Core {
    /// Drops the records of segments below `una`, which were given up.
    pub(crate) fn forget_records_below(&mut self, una: u64) {
        if let Some(features) = &mut self.features {
            features.measurement.delivery.forget(una);
        }
    }

    fn discard_samples(&mut self, now: Time) {
        let min_rtt = self.min_rtt();
        if let Some(features) = &mut self.features {
            features.measurement.discard(now, min_rtt);
        }
    }

    fn measure_round_trip(&mut self, now: Time, by_timestamp: Option<Span>, acked: u64) {
        let Some(features) = &mut self.features else { return };
        let timestamp = by_timestamp.filter(|_| acked > 0);
        if let Some(sample) = features.measurement.measure(now, timestamp) {
            self.controller.on_rtt(now, sample);
        }
    }

    #[inline(never)]
    fn describe_ack(&mut self, now: Time, ack: &Acknowledgement, news: AckedBytes) -> bool {
        let min_rtt = self.min_rtt();
        let reduced_by_mark = self.is_reduced_by_mark();
        let mut pipe = self.pipe();
        if pipe < self.counted_flight() {
            // Something is missing, which controllers see by less than what is outstanding.
            pipe = pipe.min(self.stream.flight().saturating_sub(1));
        }
        let is_recovering = self.episode.phase != Phase::Open;
        let Self { features, stream, peer, controller, rtt, .. } = self;
        let Some(features) = features else { return false };
        if let Some(quick) = features.quick_start() {
            let (acknowledged, sacked) = (stream.una, news.sacked_bytes);
            let ack = Acknowledged { now, acknowledged, sacked, is_recovering };
            quick.on_ack(&ack, controller.window_mut());
        }
        let measurement = &mut features.measurement;
        let rate = measurement.delivery.take_sample(min_rtt);
        if !features.needs.feedback {
            return false;
        }
        let records = measurement.has_records;
        let feedback = Feedback {
            now,
            acked: news.acked,
            sacked: news.sacked,
            duplicate: news.duplicate,
            recovering: is_recovering || (reduced_by_mark && !features.needs.own_recovery),
            round_trip: measurement.round_trip,
            srtt: rtt.srtt(),
            min_rtt,
            acknowledged: stream.una,
            sent: stream.max,
            pipe,
            advertised: peer.advertised,
            peer_clock: ack.peer_clock,
            marked: ack.marked,
            // Selective acknowledgements do not count: they would count again when the data is
            // acknowledged (RFC 8257 section 3.3).
            marked_bytes: if ack.marked {
                measurement.marked_bytes.unwrap_or(news.acked)
            } else {
                0
            },
            needless: ack.needless.len(),
            head_sent: measurement.delivery.head_sent().filter(|_| records),
            rate: rate.filter(|_| records),
        };
        if let Some(Jump::Resume(resume)) = &mut features.jump {
            resume.on_feedback(&feedback, controller.window_mut());
        }
        controller.on_feedback(&feedback);
        controller.finds_loss(&feedback)
    }
}

/// Data that an ACK acknowledges, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckedBytes {
    /// Acknowledged cumulatively, as controllers count it.
    pub(crate) acked: u64,
    /// Acknowledged selectively for the first time, as controllers count it.
    pub(crate) sacked: u64,
    /// Likewise, but always in bytes of the stream.
    pub(crate) sacked_bytes: u64,
    /// It is a duplicate ACK.
    pub(crate) duplicate: bool,
}

impl AckedBytes {
    pub(crate) fn new(acked: u64, sacked: u64, duplicate: bool) -> Self {
        Self { acked, sacked, sacked_bytes: sacked, duplicate }
    }
}
