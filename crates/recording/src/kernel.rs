//! Additional results of a run on the kernel: accuracy of the emulation, and the settings as applied
//! by the kernel. The field names are the JSON names.

use serde::{Deserialize, Serialize};

/// Accuracy and settings of a run on the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// Release of the kernel.
    pub release: String,
    /// Whether the network was emulated well enough: packets were delivered within the tolerance,
    /// and none was lost outside the scenario's links.
    pub valid: bool,
    /// The largest allowed 99th percentile of the delay error, in milliseconds.
    pub tolerance_ms: f64,
    /// Packets whose delivery was timed.
    pub timed_packets: u64,
    /// How much later than computed packets were delivered: median, in milliseconds.
    pub delay_error_p50_ms: f64,
    /// 99th percentile.
    pub delay_error_p99_ms: f64,
    /// Maximum.
    pub delay_error_max_ms: f64,
    /// Packets lost between a host and the network, which no scenario asks for.
    pub lost_packets: u64,
    /// Packets that no host of the scenario was to get.
    pub stray_packets: u64,
    /// Rates of the links into hosts.
    pub rates: Vec<RateRecord>,
    /// Settings as applied, for each kind of flow.
    pub settings: Vec<SettingRecord>,
}

/// The rate of one direction of a link while it had always something to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateRecord {
    /// Name of the link.
    pub link: String,
    /// `forward` or `backward`.
    pub direction: String,
    /// As the scenario has it, in bits per second.
    pub configured_bps: f64,
    /// Rate of delivered packets, including overhead; `None` if no two were sent back to back.
    pub achieved_bps: Option<f64>,
}

/// A setting as applied by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// The first flow of those with these settings.
    pub flow: String,
    /// Its path in the flow, `transport.rto.min`, or in a link on its way.
    pub setting: String,
    /// The value in the scenario.
    pub asked: String,
    /// `applied`, or `approximated` if the kernel does something else.
    pub verdict: String,
    /// The value or behaviour of the kernel.
    pub kernel: String,
    /// Of `transport.receive_buffer` the largest window that receivers advertised, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_window_bytes: Option<u64>,
}
