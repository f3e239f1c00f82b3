//! Looks over the shoulder of a congestion controller, because quinn's statistics lack what is in
//! flight, ssthresh, samples of the round-trip time and the number of recoveries.

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use crate::clock::span;

/// Measurements of one end.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Bytes in flight.
    pub(crate) flight: u64,
    /// Bytes sent since that number was known.
    pub(crate) sent: u64,
    /// Number of ACKs of new data.
    pub(crate) acks: u64,
    /// When the youngest acknowledged packet was sent.
    pub(crate) newest_acknowledged: Option<Instant>,
    /// No packet is acknowledged yet that was sent after the last loss (RFC 9002 section 7.3.2).
    pub(crate) is_repairing: bool,
    /// The controller's slow start threshold, if it has one.
    pub(crate) ssthresh: Option<u64>,
    /// The controller's window, of which quinn's may be a little more.
    pub(crate) cwnd: u64,
    /// Losses after which data was sent that was not lost then.
    pub(crate) recoveries: u32,
    /// Times that all packets of a longer period were lost.
    pub(crate) persistent: u32,
    /// Samples of the round-trip time in nanoseconds that the owner has not taken yet.
    pub(crate) round_trips: Vec<u64>,
}

impl Measured {
    /// Bytes in flight now.
    pub(crate) fn in_flight(&self) -> u64 {
        self.flight + self.sent
    }
}

/// Shared by quinn's connection and its owner, which do not run at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    measured: Mutex<Measured>,
    /// Number of questions for the window since the last [`Meter::forget_questions`].
    questions: AtomicU32,
}

impl Meter {
    pub(crate) fn new() -> Self {
        let measured = Mutex::new(Measured {
            flight: 0,
            sent: 0,
            acks: 0,
            newest_acknowledged: None,
            is_repairing: false,
            ssthresh: None,
            cwnd: 0,
            recoveries: 0,
            persistent: 0,
            round_trips: Vec::new(),
        });
        Self(Arc::new(Shared { measured, questions: AtomicU32::new(0) }))
    }

    /// Counts the questions for the window from now on.
    pub(crate) fn forget_questions(&self) {
        self.0.questions.store(0, Ordering::Relaxed);
    }

    /// Number of questions for the window.
    pub(crate) fn questions(&self) -> u32 {
        self.0.questions.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> MutexGuard<'_, Measured> {
        self.0.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes controllers with a meter.
pub(crate) struct Metered {
    pub(crate) inner: Arc<dyn ControllerFactory + Send + Sync>,
    pub(crate) meter: Meter,
}

impl ControllerFactory for Metered {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        let watcher = Watcher {
            inner,
            meter: self.meter.clone(),
            youngest: None,
            newest_acknowledged: None,
            reduced_at: None,
        };
        watcher.note(0);
        Box::new(watcher)
    }
}

struct Watcher {
    inner: Box<dyn Controller>,
    meter: Meter,
    /// When the youngest packet was sent that the ACK being processed acknowledges.
    youngest: Option<Instant>,
    /// When the youngest packet was sent that is acknowledged.
    newest_acknowledged: Option<Instant>,
    reduced_at: Option<Instant>,
}

impl Watcher {
    fn note(&self, in_flight: u64) {
        let metrics = self.inner.metrics();
        let mut measured = self.meter.read();
        measured.flight = in_flight;
        measured.sent = 0;
        measured.ssthresh = metrics.ssthresh;
        measured.cwnd = metrics.congestion_window;
    }
}

impl Controller for Watcher {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        self.meter.read().sent += bytes;
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.youngest = self.youngest.max(Some(sent));
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        self.note(in_flight);
        let youngest = self.youngest.take();
        if let Some(sent) = youngest.filter(|_| youngest > self.newest_acknowledged) {
            self.newest_acknowledged = youngest;
            let sample = span(now.saturating_duration_since(sent));
            let mut measured = self.meter.read();
            measured.round_trips.push(sample.as_nanos());
            measured.acks += 1;
            measured.newest_acknowledged = youngest;
            measured.is_repairing &= self.reduced_at.is_some_and(|reduced_at| sent <= reduced_at);
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        let is_new = self.reduced_at.is_none_or(|reduced_at| sent > reduced_at);
        if is_new {
            self.reduced_at = Some(now);
        }
        let mut measured = self.meter.read();
        let flight = (measured.flight, measured.sent);
        drop(measured);
        self.note(flight.0.saturating_sub(lost_bytes));
        measured = self.meter.read();
        measured.sent = flight.1;
        measured.is_repairing |= is_new && lost_bytes > 0;
        measured.recoveries += u32::from(is_new && lost_bytes > 0);
        measured.persistent += u32::from(is_persistent_congestion);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.meter.0.questions.fetch_add(1, Ordering::Relaxed);
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            meter: self.meter.clone(),
            youngest: self.youngest,
            newest_acknowledged: self.newest_acknowledged,
            reduced_at: self.reduced_at,
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
