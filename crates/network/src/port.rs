//! Totals of a port.

use link::{Counters, FeedbackCounters, Queueing};
use sketch::Summary;
use units::{Rate, Span};

/// Totals of an output port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortReport {
    /// Delivered packets.
    pub delivered_packets: u64,
    /// Delivered bytes, without overhead.
    pub delivered_bytes: u64,
    /// Dropped and corrupted packets, and the maximum queue.
    pub counters: Counters,
    /// Time spent transmitting.
    pub busy: Span,
    /// Packets that wait.
    pub waiting_packets: usize,
    /// Bytes that wait.
    pub waiting_bytes: u64,
    /// Packets that a filter has taken out of the queue.
    pub filtered_packets: u64,
    /// Totals of the port's router; `None` without one.
    pub feedback: Option<FeedbackCounters>,
}

/// Queueing delays of an output port, and lengths of its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// Those of packets that waited.
    pub queueing: Queueing,
    /// Packets that did not wait.
    pub unqueued_packets: u64,
    /// Rate of the port at the start, in bits per second.
    rate_bps: u64,
    max_waiting_bytes: u64,
}

impl QueueReport {
    /// The report of a port with this rate and these totals.
    pub(crate) fn new(queueing: Queueing, rate: Rate, report: &PortReport) -> Self {
        let Counters { accepted_packets, max_waiting_bytes, .. } = report.counters;
        let waiting = queueing.delay.count() + report.waiting_packets as u64;
        let unqueued_packets = accepted_packets - waiting;
        let rate_bps = rate.bits_per_second();
        Self { queueing, unqueued_packets, rate_bps, max_waiting_bytes }
    }

    /// Queueing delay in nanoseconds, from the arrival of a packet to the start of its
    /// transmission, over all packets whose transmission has started; `None` without any.
    pub fn delay(&self) -> Option<Summary> {
        self.queueing.delay.summary(self.unqueued_packets)
    }

    /// Length of the queue in bytes that packets find, over the same packets: zero for one that
    /// does not wait. `None` without any.
    ///
    /// Where the rate never changes, these are the bytes that the link sends in the delay of the
    /// packet, which is what is before it. Elsewhere they are the bytes that wait when it has
    /// joined. The two differ by less than a packet. No percentile is above the maximum.
    pub fn bytes(&self) -> Option<Summary> {
        let found = match &self.queueing.bytes {
            Some(bytes) => bytes.summary(self.unqueued_packets)?,
            None => self.delay()?.per(8e9 / self.rate_bps as f64),
        };
        let max = self.max_waiting_bytes as f64;
        let [median, p95, p99] = [found.median, found.p95, found.p99].map(|bytes| bytes.min(max));
        Some(Summary { mean: found.mean.min(max), median, p95, p99, max })
    }
}
