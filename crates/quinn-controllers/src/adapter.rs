//! quinn's interface of congestion controllers on top of that of this laboratory: quinn's reports
//! are those of a [`Driver`], with instants.
//!
//! quinn gives no samples of the delivery rate and no list of lost packets: the driver makes both.
//! The window of a jump of Careful Resume leaves at quinn's pace, 1.25 windows per round trip.
//!
//! quinn blocks a packet that would fill the window exactly, and TCP sends it. The window that
//! quinn sees has one byte more, so that both have the same number of packets in flight.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use congestion::{AnyController, Controller as _};
use quinn_proto::RttEstimator as QuinnRtt;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use units::Time;

use crate::driver::Driver;
use crate::factory::Factory;

/// A controller of the laboratory that quinn can use.
pub struct Adapter {
    factory: Arc<Factory>,
    driver: Driver,
    /// Time zero of controllers.
    epoch: Instant,
}

impl Adapter {
    pub(crate) fn new(factory: Arc<Factory>, driver: Driver, epoch: Instant) -> Self {
        Self { factory, driver, epoch }
    }

    /// The controller itself, for measurements.
    pub fn controller(&self) -> &AnyController {
        self.driver.controller()
    }

    fn time(&self, instant: Instant) -> Time {
        let passed = instant.saturating_duration_since(self.epoch);
        Time::from_nanos(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.time(now);
        self.driver.on_sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        _rtt: &QuinnRtt,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.driver.on_ack(now, sent, bytes);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        let now = self.time(now);
        self.driver.on_end_acks(now, in_flight, app_limited);
    }

    /// quinn reports marks as a loss of nothing.
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        self.driver.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.driver.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.driver.window().saturating_add(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.driver.controller().window().cwnd;
        let ssthresh = self.driver.controller().window().ssthresh;
        metrics.ssthresh = (ssthresh < u64::MAX).then_some(ssthresh);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "for a log; it saturates"
        )]
        let bits = |rate: f64| (8.0 * rate) as u64;
        metrics.pacing_rate = self.driver.pacing_rate().map(bits);
        metrics
    }

    /// quinn copies the controller when the port of the other end changes. The copy has the
    /// windows, and learns the path as a new controller does. It does not jump again.
    fn clone_box(&self) -> Box<dyn Controller> {
        let mss = u16::try_from(self.controller().window().mss).unwrap_or(u16::MAX);
        let mut copy = self.factory.clone().adapter(self.epoch, mss);
        copy.epoch = self.epoch;
        copy.driver.continue_from(&self.driver);
        Box::new(copy)
    }

    fn initial_window(&self) -> u64 {
        self.controller().window().initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("controller", self.controller()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
