//! Drives a controller with the events of a QUIC sender (RFC 9002): packets that are sent,
//! acknowledged and lost.
//!
//! They become the events of a TCP sender with selective acknowledgements, in the words of RFC
//! 9002: an ACK outside of recovery is `on_ack`; a loss of data that was sent after the last
//! reduction begins a recovery (section 7.3.2), which an ACK for younger data ends; persistent
//! congestion (section 7.6) is a timeout. Probe timeouts do not reach controllers, as in RFC 9002.
//!
//! There are no samples of the delivery rate and no list of lost packets. Both are made here, from
//! `flight` and [`Delivery`].
//!
//! Careful Resume (RFC 9959) overrides the window of any controller, as with TCP. The window of the
//! jump leaves at the pace of the sender: RFC 9959 requires pacing, and leaves the factor to the
//! sender.

use std::fmt;

use congestion::{
    Ack, AnyController, Controller as _, Ecn, Feedback, Loss, Needs, PartialAck, RecoveryStyle,
    Sent,
};
use transport::{CarefulResume, Delivery, Progress, RtoConfig, RttEstimator, SavedPath};
use units::{Span, Time};

use crate::flight::Flight;

/// Datagrams that a window holds at least (RFC 9002 section 7.2, `kMinimumWindow`).
const LEAST_DATAGRAMS: u64 = 2;
/// Datagrams that a window made of a pacing rate has in addition: what waits for the receiver's
/// next ACK, which covers two, and the one that is being sent.
pub(crate) const PACED_DATAGRAMS: f64 = 3.0;

/// The last reduction of the window.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    at: Time,
    by_mark: bool,
}

/// Packets that the ACK being processed acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    /// Bytes of it, those included whose transmission quinn did not report.
    pub(crate) bytes: u64,
    /// When the youngest of them was sent.
    youngest: Option<Time>,
    /// Position up to which everything was acknowledged before.
    acknowledged_before: Option<u64>,
}

/// A controller with all that it needs to know of one path.
pub struct Driver {
    controller: AnyController,
    needs: Needs,
    pub(crate) resume: Option<Box<CarefulResume>>,
    advertised: u64,
    pub(crate) flight: Flight,
    delivery: Delivery,
    rtt: RttEstimator,
    rto: RtoConfig,
    pub(crate) batch: Batch,
    /// When the youngest packet was sent that is acknowledged.
    newest_acknowledged: Option<Time>,
    last_sent: Time,
    reduction: Option<Reduction>,
    recovering: bool,
    was_app_limited: bool,
}

impl Driver {
    /// `advertised` is the window of flow control in bytes, and `saved` the path that the
    /// connection resumes.
    pub(crate) fn new(
        mut controller: AnyController,
        advertised: u64,
        saved: Option<SavedPath>,
    ) -> Self {
        let needs = controller.needs();
        // Every connection is paced.
        controller.window_mut().paced = true;
        // Packets are marked as ECN-capable, and whether that works shows on the way.
        controller.on_ecn(needs.marks.min(Ecn::Classic));
        // Of whole packets, because no sender has more in flight.
        let initial =
            controller.window().initial / controller.window().mss * controller.window().mss;
        let resume = saved.map(|saved| CarefulResume::new(saved).after(initial));
        let rto = RtoConfig::default();
        Self {
            controller,
            needs,
            resume: resume.map(Box::new),
            advertised,
            flight: Flight::default(),
            delivery: Delivery::default(),
            rtt: RttEstimator::new(&rto),
            rto,
            batch: Batch::default(),
            newest_acknowledged: None,
            last_sent: Time::ZERO,
            reduction: None,
            recovering: false,
            was_app_limited: false,
        }
    }

    /// The controller itself, for measurements.
    pub fn controller(&self) -> &AnyController {
        &self.controller
    }

    fn mss(&self) -> u64 {
        self.controller.window().mss
    }

    /// The window in bytes. A pacing rate becomes a window: with a rate r and a round-trip time t,
    /// a sender has r * t in flight.
    pub fn window(&self) -> u64 {
        let cwnd = self.controller.window().cwnd;
        let of_controller = || self.controller.pacing_rate().filter(|_| self.needs.pacing);
        let of_jump = self.resume.as_ref().and_then(|resume| resume.pacing_rate());
        let rate = of_jump.or_else(of_controller);
        let paced = rate
            .zip(self.rtt.srtt())
            .map(|(rate, srtt)| rate * srtt.as_secs_f64() + PACED_DATAGRAMS * self.mss() as f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it saturates, and the smaller of both counts"
        )]
        let paced = paced.map_or(u64::MAX, |bytes| bytes as u64);
        cwnd.min(paced).max(LEAST_DATAGRAMS * self.mss())
    }

    fn needs_round_trips(&self) -> bool {
        self.needs.round_trips || self.needs.feedback || self.needs.records
    }

    /// An ACK acknowledges `bytes` of what was sent at `sent`. Others may follow.
    /// [`on_end_acks`](Self::on_end_acks) ends them.
    pub fn on_ack(&mut self, now: Time, sent: Time, bytes: u64) {
        let before = self.flight.acknowledged();
        self.batch.acknowledged_before.get_or_insert(before);
        let place = self.flight.acknowledge(sent, bytes);
        if self.needs.records && place.len() > 0 {
            self.delivery.on_sacked(now, place);
        }
        self.batch.bytes += bytes;
        self.batch.youngest = self.batch.youngest.max(Some(sent));
    }

    /// Takes the round-trip time of the ACK, if it acknowledges younger data than all before.
    /// Returns it.
    fn measure_round_trip(&mut self, now: Time) -> Option<Span> {
        let youngest = self.batch.youngest?;
        if self.newest_acknowledged.is_some_and(|newest| youngest <= newest) {
            return None;
        }
        self.newest_acknowledged = Some(youngest);
        let sample = now.since(youngest);
        let progress = Progress {
            per_round: (self.flight.outstanding() / (2 * self.mss())).max(1),
            acknowledged: self.flight.acknowledged(),
            sent: self.flight.sent(),
        };
        self.rtt.sample(&self.rto, sample, progress);
        if self.needs_round_trips() {
            self.controller.on_rtt(now, sample);
        }
        Some(sample)
    }

    fn give_feedback(
        &mut self,
        now: Time,
        cumulative: u64,
        round_trip: Option<Span>,
        in_flight: u64,
    ) {
        let acknowledged = self.flight.acknowledged();
        let rate = if self.needs.records {
            // The data was counted when quinn reported it.
            self.delivery.on_acknowledged(now, acknowledged, 0);
            self.delivery.take_sample(self.rtt.min())
        } else {
            None
        };
        if !self.needs.feedback && self.resume.is_none() {
            return;
        }
        let sacked = self.batch.bytes.saturating_sub(cumulative);
        let feedback = Feedback {
            now,
            acked: cumulative,
            sacked,
            duplicate: cumulative == 0,
            recovering: self.recovering,
            round_trip,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            acknowledged,
            sent: self.flight.sent(),
            pipe: in_flight,
            advertised: self.advertised,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: self.delivery.head_sent().filter(|_| self.needs.records),
            rate,
        };
        if let Some(resume) = &mut self.resume {
            // No packet is retransmitted, so all that is acknowledged has arrived now.
            let feedback = Feedback { sacked: self.batch.bytes, ..feedback };
            resume.on_feedback(&feedback, self.controller.window_mut());
        }
        if self.needs.feedback {
            self.controller.on_feedback(&feedback);
        }
    }

    /// The window of the jump was too large.
    fn stop_jump(&mut self) {
        if let Some(resume) = &mut self.resume {
            resume.on_loss(self.controller.window_mut());
        }
    }

    /// Returns true if the youngest of the acknowledged packets was sent after the last reduction.
    fn ends_recovery(&self, youngest: Option<Time>) -> bool {
        let reduced_at = self.reduction.map(|reduction| reduction.at);
        youngest.zip(reduced_at).is_none_or(|(youngest, reduced_at)| youngest > reduced_at)
    }

    fn on_mark(&mut self, now: Time, flight: u64) {
        if !self.recovering && self.controller.answers_mark(now) {
            self.controller.on_congestion_mark(&Loss { now, flight, repeated: false });
            self.stop_jump();
            self.reduction = Some(Reduction { at: now, by_mark: true });
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.controller.on_loss(loss);
        self.stop_jump();
        self.reduction = Some(Reduction { at: loss.now, by_mark: false });
        self.recovering = true;
    }

    fn note_lost(&mut self, now: Time, youngest: Time, bytes: u64) {
        let Self { flight, delivery, controller, needs, .. } = self;
        flight.lose(youngest, bytes, |range| {
            if needs.records {
                delivery.on_lost(now, range, |lost| controller.on_segment_lost(lost));
            }
        });
    }

    /// `bytes` are sent, in one packet or in several.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        let mut pipe = self.flight.outstanding();
        if pipe == 0 {
            self.controller.on_start(now);
            if self.rtt.srtt().is_some() && now.since(self.last_sent) > self.rtt.rto() {
                self.controller.on_idle();
            }
        }
        self.last_sent = now;
        // With segmentation offload one report covers several packets.
        let mss = self.mss();
        let mut left = bytes;
        while left > 0 {
            let bytes = left.min(mss);
            left -= bytes;
            self.flight.send(now, bytes);
            if self.needs.records {
                self.delivery.on_new(now, bytes, self.flight.sent(), pipe);
            }
            if self.needs.feedback {
                let sent = self.flight.sent();
                let again = false;
                self.controller.on_sent(&Sent { now, bytes, again, sent, pipe_before: pipe });
            }
            pipe += bytes;
            if let Some(resume) = &mut self.resume {
                resume.on_sent(pipe, self.flight.sent(), self.controller.window_mut());
            }
        }
    }

    /// All acknowledgements of an ACK are known. `in_flight` bytes are left, and `app_limited` is
    /// true if the application does not fill the window.
    pub fn on_end_acks(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        // Packets without data alone say nothing.
        let Some(before) = self.batch.acknowledged_before else { return };
        let round_trip = self.measure_round_trip(now);
        if let Some(srtt) = self.rtt.srtt() {
            self.flight.reconcile(in_flight, now - srtt * 2);
        }
        let cumulative = (self.flight.acknowledged() - before).min(self.batch.bytes);
        self.give_feedback(now, cumulative, round_trip, in_flight);
        let Batch { bytes: acked, youngest, .. } = std::mem::take(&mut self.batch);
        // The application's limit concerns what is sent from here on.
        if app_limited && self.needs.records && !self.was_app_limited {
            self.delivery.on_app_limited(in_flight);
        }
        self.was_app_limited = app_limited;
        if !self.recovering {
            self.controller.on_ack(&Ack {
                now,
                acked,
                flight: in_flight,
                advertised: self.advertised,
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min(),
                cwnd_limited: !app_limited,
            });
        } else if self.ends_recovery(youngest) {
            self.recovering = false;
            self.controller.on_recovery_exit(now);
        } else {
            self.controller.on_partial_ack(&PartialAck { acked, style: RecoveryStyle::Pipe });
        }
        if let Some(resume) = &self.resume {
            resume.after_ack(self.controller.window_mut());
        }
    }

    /// `lost_bytes` are lost, the youngest of which were sent at `sent`; zero stands for a mark.
    pub fn on_congestion_event(
        &mut self,
        now: Time,
        sent: Time,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let flight = self.flight.outstanding();
        let earlier = self.reduction.filter(|reduction| sent <= reduction.at);
        // quinn reports marks as a loss of nothing.
        if lost_bytes == 0 {
            if earlier.is_none() {
                self.on_mark(now, flight);
            }
            return;
        }
        self.note_lost(now, sent, lost_bytes);
        let loss = Loss { now, flight, repeated: false };
        if is_persistent_congestion {
            self.controller.on_timeout(&Loss { repeated: earlier.is_some(), ..loss });
            self.controller.window_mut().count_singly_after_timeout();
            if let Some(resume) = &mut self.resume {
                resume.on_timeout();
            }
            self.reduction = Some(Reduction { at: now, by_mark: false });
            self.recovering = false;
            return;
        }
        match earlier {
            None => self.on_loss(&loss),
            Some(Reduction { by_mark: true, at }) => {
                self.controller.on_loss_after_mark(&loss);
                self.stop_jump();
                self.reduction = Some(Reduction { at, by_mark: false });
            }
            Some(_) => {}
        }
    }

    /// Packets have at most this many bytes from now on.
    pub(crate) fn on_mtu_update(&mut self, mtu: u16) {
        self.controller.window_mut().change_mss(u64::from(mtu));
    }

    /// A pacing rate that the controller sets, in bytes per second.
    pub(crate) fn pacing_rate(&self) -> Option<f64> {
        self.controller.pacing_rate().filter(|_| self.needs.pacing)
    }

    /// Takes the windows of another path, and does not resume one.
    pub(crate) fn continue_from(&mut self, other: &Self) {
        self.resume = None;
        *self.controller.window_mut() = *other.controller.window();
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("controller", &self.controller).finish_non_exhaustive()
    }
}
