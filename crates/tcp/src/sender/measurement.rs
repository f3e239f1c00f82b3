//! Samples that controllers get with an ACK: delivery rates, round trips, marked bytes.

use congestion::{AnyController, Controller, Feedback, Needs, TcpPolicy};
use transport::{Acknowledged, Delivery, Range, RoundTrips};
use units::{Span, Time};

use crate::config::Config;

use super::acknowledge::Acknowledgement;
use super::core::Core;
use super::episode::Phase;
use super::jump::Jump;
use super::recovery::LossRecovery;

/// Records of segments in flight, as far as a controller needs them. The tag is a byte of its own,
/// because it is read with each segment and each ACK.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Records {
    /// None.
    Off,
    /// Those of the recovery, which knows each segment and measures round trips itself.
    OfRecovery,
    /// Their times, which measure round trips.
    RoundTrips(RoundTrips),
    /// All that samples of the delivery rate need.
    Samples(Delivery),
}

/// Records of segments in flight, and what the ACK that is being processed measures.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    records: Records,
    /// Bytes that the ACK being processed reports as marked, if the other end counts them.
    pub(super) marked_bytes: Option<u64>,
    /// Round-trip time that the ACK being processed measures.
    round_trip: Option<Span>,
    /// Minimum of all round-trip times of data.
    pub(super) min_rtt: Option<Span>,
}

impl Measurement {
    /// `by_recovery`: the recovery measures round trips.
    pub(super) fn new(needs: Needs, by_recovery: bool) -> Self {
        let Needs { feedback, records, round_trips, .. } = needs;
        Self {
            records: if records {
                Records::Samples(Delivery::default())
            } else if !feedback && !round_trips {
                Records::Off
            } else if by_recovery {
                Records::OfRecovery
            } else {
                Records::RoundTrips(RoundTrips::default())
            },
            marked_bytes: None,
            round_trip: None,
            min_rtt: None,
        }
    }

    /// The recovery does not measure round trips after all.
    pub(super) fn do_without_recovery(&mut self) {
        if matches!(self.records, Records::OfRecovery) {
            self.records = Records::RoundTrips(RoundTrips::default());
        }
    }

    /// Gives back the memory of segments that are no longer in flight.
    pub(super) fn shrink(&mut self) {
        match &mut self.records {
            Records::Off | Records::OfRecovery => {}
            Records::RoundTrips(round_trips) => round_trips.shrink(),
            Records::Samples(delivery) => delivery.shrink(),
        }
    }

    /// Returns true if ACKs measure round trips.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self.records, Records::Off)
    }

    /// Returns true if each segment has a record here.
    #[inline]
    pub(super) fn has_records(&self) -> bool {
        matches!(self.records, Records::RoundTrips(_) | Records::Samples(_))
    }

    /// A segment leaves with `pipe` bytes in the network before it.
    #[inline(always)]
    pub(super) fn on_sent(&mut self, now: Time, range: Range, again: bool, una: u64, pipe: u64) {
        match &mut self.records {
            Records::Off | Records::OfRecovery => {}
            Records::RoundTrips(round_trips) if again => round_trips.on_again(now, range, una, ()),
            Records::RoundTrips(round_trips) => round_trips.on_new(now, range.end, ()),
            Records::Samples(delivery) if again => delivery.on_again(now, range, una, pipe),
            Records::Samples(delivery) => delivery.on_new(now, range.len(), range.end, pipe),
        }
    }

    /// All data has left with room in the window and `pipe` bytes in the network.
    pub(super) fn on_application_limit(&mut self, pipe: u64) {
        if let Records::Samples(delivery) = &mut self.records {
            delivery.on_app_limited(pipe);
        }
    }

    /// `news` are acknowledged selectively for the first time.
    pub(super) fn on_sacked(&mut self, now: Time, news: impl Iterator<Item = Range>) {
        match &mut self.records {
            Records::Off | Records::OfRecovery => {}
            Records::RoundTrips(round_trips) => news.for_each(|range| round_trips.on_sacked(range)),
            Records::Samples(delivery) => news.for_each(|range| delivery.on_sacked(now, range)),
        }
    }

    /// Everything below `una` is acknowledged, of which `news` was not acknowledged selectively
    /// before.
    #[inline]
    pub(super) fn on_acknowledged(
        &mut self,
        now: Time,
        una: u64,
        news: impl Iterator<Item = Range>,
    ) {
        match &mut self.records {
            Records::Off | Records::OfRecovery => {}
            Records::RoundTrips(round_trips) => round_trips.on_acknowledged(una),
            Records::Samples(delivery) => {
                delivery.on_acknowledged(now, una, news.map(Range::len).sum());
            }
        }
    }

    /// Segments below `una` are given up.
    fn forget(&mut self, una: u64) {
        match &mut self.records {
            Records::Off | Records::OfRecovery => {}
            Records::RoundTrips(round_trips) => round_trips.forget(una),
            Records::Samples(delivery) => delivery.forget(una),
        }
    }

    /// `losses` were found to be lost.
    pub(super) fn on_lost(
        &mut self,
        now: Time,
        losses: impl Iterator<Item = Range>,
        controller: &mut AnyController,
    ) {
        if let Records::Samples(delivery) = &mut self.records {
            for loss in losses {
                delivery.on_lost(now, loss, |lost| controller.on_segment_lost(lost));
            }
        }
    }

    /// The round trip that the records measure with this ACK.
    #[inline]
    fn take_round_trip(&mut self, now: Time) -> Option<Span> {
        match &mut self.records {
            Records::Off | Records::OfRecovery => None,
            Records::RoundTrips(round_trips) => round_trips.take_round_trip(now),
            Records::Samples(delivery) => delivery.take_round_trip(now),
        }
    }

    /// Round trip of what this ACK acknowledges. `otherwise` is what has measured it if the records
    /// do not: the recovery, or the timestamp, which alone can measure it after a retransmission,
    /// as in Linux (`tcp_ack_update_rtt`).
    fn measure(&mut self, now: Time, otherwise: Option<Span>) -> Option<Span> {
        if !self.is_on() {
            return None;
        }
        let sample = self.take_round_trip(now).or(otherwise);
        self.round_trip = sample;
        if let Some(sample) = sample {
            self.min_rtt = Some(self.min_rtt.map_or(sample, |min| min.min(sample)));
        }
        sample
    }

    /// Drops the samples of an ACK that was overtaken: it measures nothing.
    fn discard(&mut self, now: Time, min_rtt: Option<Span>) {
        self.round_trip = None;
        let _ = self.take_round_trip(now);
        if let Records::Samples(delivery) = &mut self.records {
            let _ = delivery.take_sample(min_rtt);
        }
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
        let by_recovery = recovery.round_trip(now).filter(|_| !core.has_records());
        let by_timestamp = ack.round_trip.filter(|_| news.acked > 0);
        core.measure_round_trip(now, by_recovery.or(by_timestamp));
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
            features.measurement.forget(una);
        }
    }

    fn discard_samples(&mut self, now: Time) {
        let min_rtt = self.min_rtt();
        if let Some(features) = &mut self.features {
            features.measurement.discard(now, min_rtt);
        }
    }

    fn measure_round_trip(&mut self, now: Time, otherwise: Option<Span>) {
        let Some(features) = &mut self.features else { return };
        if let Some(sample) = features.measurement.measure(now, otherwise) {
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
        let (head_sent, rate) = match &mut measurement.records {
            Records::Off | Records::OfRecovery | Records::RoundTrips(_) => (None, None),
            Records::Samples(delivery) => (delivery.head_sent(), delivery.take_sample(min_rtt)),
        };
        if !features.needs.feedback {
            return false;
        }
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
            head_sent,
            rate,
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
