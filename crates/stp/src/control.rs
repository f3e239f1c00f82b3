//! Control of the amount that is sent: a congestion window, or a rate.
//!
//! STP has slow start and congestion avoidance like TCP (reconstructed from the abstract of its
//! paper). Here any controller of the laboratory that needs nothing but acknowledgements, losses
//! and round-trip times computes the window. A STAT counts as one acknowledgement. Losses of one
//! window count once: those below the recovery point belong to the last one (as in RFC 9002
//! section 7.3.2).
//!
//! With a rate, packets leave one by one, only the receiver's credit limits what is outstanding,
//! and losses change nothing.

use congestion::{Ack, AnyController, Controller as _, Loss, PartialAck, RecoveryStyle};
use transport::{Pacer, Pacing};
use units::{Rate, Span, Time};

use crate::config::Config;

/// State of the control of one sender.
#[derive(Debug)]
pub(crate) struct Controlled {
    controller: AnyController,
    takes_round_trips: bool,
    paced: Option<Paced>,
    /// Losses below this packet have been answered.
    recovery_end: u64,
    is_recovering: bool,
    /// The window has kept data back since the last STAT.
    has_limited: bool,
}

#[derive(Debug)]
struct Paced {
    pacer: Pacer,
    rate: Rate,
    ip_header: u16,
}

/// Changes by a report of the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) now: Time,
    /// Bytes acknowledged for the first time, in order or not.
    pub(crate) acked: u64,
    /// Bytes in the network after it.
    pub(crate) flight: u64,
    /// VT(A).
    pub(crate) acknowledged: u64,
    /// Credit in bytes.
    pub(crate) advertised: u64,
    pub(crate) srtt: Option<Span>,
    pub(crate) min_rtt: Option<Span>,
}

impl Controlled {
    pub(crate) fn new(config: &Config, controller: AnyController) -> Self {
        let needs = controller.needs();
        let paced = config.rate.map(|rate| Paced {
            pacer: Pacer::new(Pacing::Controller),
            rate,
            ip_header: config.ip_header,
        });
        Self {
            controller,
            takes_round_trips: needs.round_trips,
            paced,
            recovery_end: 0,
            is_recovering: false,
            has_limited: false,
        }
    }

    pub(crate) fn controller(&self) -> &AnyController {
        &self.controller
    }

    /// The window in bytes.
    #[inline]
    pub(crate) fn window(&self) -> u64 {
        if self.paced.is_some() { u64::MAX } else { self.controller.window().cwnd }
    }

    /// Returns true if a packet of `bytes` may leave while `flight` are in the network. One always
    /// may.
    #[inline]
    pub(crate) fn admits(&mut self, flight: u64, bytes: u64) -> bool {
        let admits = flight == 0 || flight + bytes <= self.window();
        self.has_limited |= !admits;
        admits
    }

    /// Returns true if the rate keeps the next packet back.
    #[inline]
    pub(crate) fn holds(&mut self, now: Time) -> bool {
        self.paced.as_mut().is_some_and(|paced| paced.pacer.holds(now))
    }

    /// When the packet that the rate keeps back may leave.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.paced.as_ref().map_or(Time::NEVER, |paced| paced.pacer.deadline())
    }

    /// The deadline has come.
    pub(crate) fn release(&mut self) {
        if let Some(paced) = &mut self.paced {
            paced.pacer.release();
        }
    }

    /// A packet of `bytes` leaves.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u16) {
        if let Some(paced) = &mut self.paced {
            let bytes = u64::from(bytes) + u64::from(paced.ip_header);
            let rate = paced.rate.bits_per_second() as f64 / 8.0;
            paced.pacer.on_sent(now, bytes, rate, 0, false);
        }
    }

    /// A round-trip time was measured.
    pub(crate) fn on_rtt(&mut self, now: Time, sample: Span) {
        if self.takes_round_trips {
            self.controller.on_rtt(now, sample);
        }
    }

    /// A report acknowledges data.
    pub(crate) fn on_report(&mut self, report: &Report) {
        if self.paced.is_some() {
            return;
        }
        if self.is_recovering && report.acknowledged >= self.recovery_end {
            self.is_recovering = false;
            self.controller.on_recovery_exit(report.now);
        } else if self.is_recovering {
            let (acked, style) = (report.acked, RecoveryStyle::Pipe);
            self.controller.on_partial_ack(&PartialAck { acked, style });
        } else {
            self.controller.on_ack(&Ack {
                now: report.now,
                acked: report.acked,
                flight: report.flight,
                advertised: report.advertised,
                srtt: report.srtt,
                min_rtt: report.min_rtt,
                cwnd_limited: self.has_limited,
            });
        }
        self.has_limited = false;
    }

    /// Packet `number` is lost, the highest of those that a report names. `sent` is VT(S). Returns
    /// true for the first loss of a window.
    pub(crate) fn is_first_loss(&mut self, number: u64, sent: u64) -> bool {
        let is_first = self.paced.is_none() && number >= self.recovery_end;
        if is_first {
            self.recovery_end = sent;
        }
        is_first
    }

    /// The network is congested: the window falls. `flight` was in the network when the loss was
    /// found.
    pub(crate) fn reduce(&mut self, now: Time, flight: u64) {
        self.is_recovering = true;
        self.controller.on_loss(&Loss { now, flight, repeated: false });
    }
}
