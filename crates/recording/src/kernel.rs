//! What a run on a real kernel has to tell beside its totals: how well the network was emulated, and
//! what the kernel made of the scenario's settings. The field names are the JSON names.

use serde::{Deserialize, Serialize};

/// How a run on a real kernel is to be taken.
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
    /// What became of the settings of each kind of flow.
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
    /// As packets were delivered, framing included; `None` if no two were sent back to back.
    pub achieved_bps: Option<f64>,
}

/// What a kernel made of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// The first flow of those with these settings.
    pub flow: String,
    /// Its path in the flow, `transport.rto.min`, or in a link on its way.
    pub setting: String,
    /// What the scenario asks for.
    pub asked: String,
    /// `honoured`, or `reported`: the kernel does something else, and the run says so.
    pub verdict: String,
    /// What the kernel does.
    pub kernel: String,
    /// Of `transport.receive_buffer` the largest window that receivers advertised, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_window_bytes: Option<u64>,
}
