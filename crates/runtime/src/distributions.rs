//! Distributions as recordings have them: in milliseconds and bytes.

use network::QueueReport;
use recording::{QueueingRecord, RttRecord};
use sketch::{Sketch, Summary};

const NS_PER_MS: f64 = 1e6;

/// Key figures of RTT samples in nanoseconds; `None` without a sample.
pub fn rtt_record(samples: &Sketch) -> Option<RttRecord> {
    let Summary { mean, median, p95, p99, max } = samples.summary(0)?.per(NS_PER_MS);
    Some(RttRecord {
        mean_rtt_ms: mean,
        median_rtt_ms: median,
        p95_rtt_ms: p95,
        p99_rtt_ms: p99,
        max_rtt_ms: max,
    })
}

/// Key figures of a queue; `None` without packets.
pub(crate) fn queueing_record(queue: &QueueReport) -> Option<QueueingRecord> {
    let delay = queue.delay()?.per(NS_PER_MS);
    // Its maximum is one of the totals.
    let Summary { mean, median, p95, p99, max: _ } = queue.bytes()?;
    Some(QueueingRecord {
        mean_queueing_delay_ms: delay.mean,
        median_queueing_delay_ms: delay.median,
        p95_queueing_delay_ms: delay.p95,
        p99_queueing_delay_ms: delay.p99,
        max_queueing_delay_ms: delay.max,
        mean_queue_bytes: mean,
        median_queue_bytes: median,
        p95_queue_bytes: p95,
        p99_queue_bytes: p99,
    })
}
