//! Totals of one direction of a link.

use super::record::record;

record! {
    ($) link_record;
    /// Totals of one direction of a link, or of a router's forwarding.
    LinkRecord {
        /// Name of the link, or of the node for a router's forwarding.
        link: String,
        /// `forward`, `backward` or `forwarding`.
        direction: String,
        /// Share of the run during which it was transmitting, from 0 to 1.
        #[serde(deserialize_with = "crate::json::number")]
        utilisation: f64,
        /// Packets delivered to the far end.
        delivered_packets: u64,
        /// Bytes delivered to the far end, without link-layer overhead.
        delivered_bytes: u64,
        /// Packets dropped by the full queue.
        dropped_packets: u64,
        /// Packets corrupted by the channel.
        corrupted_packets: u64,
        /// Maximum queue in bytes.
        max_queue_bytes: u64,
        /// Mean queueing delay in milliseconds, exact.
        ///
        /// From the arrival of a packet at the queue to the start of its transmission, over all
        /// packets that were not dropped. None without packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_queueing_delay_ms: Option<f64>,
        /// Median of the queueing delay in milliseconds; relative error at most 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median_queueing_delay_ms: Option<f64>,
        /// 95th percentile of the queueing delay in milliseconds; relative error at most 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p95_queueing_delay_ms: Option<f64>,
        /// 99th percentile of the queueing delay in milliseconds; relative error at most 0.8 %.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p99_queueing_delay_ms: Option<f64>,
        /// Maximum queueing delay in milliseconds; exact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_queueing_delay_ms: Option<f64>,
        /// Mean queue in bytes that packets find before them.
        ///
        /// Over packets and not over time, with an error of less than one packet. None without
        /// packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_queue_bytes: Option<f64>,
        /// Median of the same queue in bytes; error at most 0.8 % and one packet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median_queue_bytes: Option<f64>,
        /// 95th percentile of the same queue in bytes; error at most 0.8 % and one packet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p95_queue_bytes: Option<f64>,
        /// 99th percentile of the same queue in bytes; error at most 0.8 % and one packet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        p99_queue_bytes: Option<f64>,
    }
}
