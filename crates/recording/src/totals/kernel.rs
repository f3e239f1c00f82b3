//! Additional results of a run on the kernel: accuracy of the emulation, and the settings as
//! applied by the kernel. The field names are the JSON names.

use crate::totals::record::record;

record! {
    ($) kernel_record;
    /// How well the testbed emulated the network, and what the kernel did with each setting.
    KernelRecord {
        /// Release of the kernel.
        release: String,
        /// True if packets were delivered within the tolerance and none was lost outside links.
        valid: bool,
        /// Largest allowed 99th percentile of the delay error in milliseconds.
        tolerance_ms: f64,
        /// Packets whose delivery was timed.
        timed_packets: u64,
        /// Median of the delay error in milliseconds.
        delay_error_p50_ms: f64,
        /// 99th percentile of the delay error in milliseconds.
        delay_error_p99_ms: f64,
        /// Maximum delay error in milliseconds.
        delay_error_max_ms: f64,
        /// Packets lost between a host and the network, outside of the scenario's links.
        lost_packets: u64,
        /// Packets addressed to no host of the scenario.
        stray_packets: u64,
        /// Rates of the links into hosts.
        rates: Vec<RateRecord>,
        /// Settings of each kind of flow.
        settings: Vec<SettingRecord>,
    }
}

record! {
    ($) rate_record;
    /// The rate of one direction of a link while it was busy.
    RateRecord {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// Rate of the scenario in bits per second.
        configured_bps: f64,
        /// Measured rate, link-layer overhead included; None without packets back to back.
        achieved_bps: Option<f64>,
    }
}

record! {
    ($) setting_record;
    /// A setting as applied by the kernel.
    SettingRecord {
        /// The first flow with these settings.
        flow: String,
        /// Path in the flow, as `transport.rto.min`, or in a link on its way.
        setting: String,
        /// Value in the scenario.
        asked: String,
        /// `applied`, or `approximated` if the kernel does something else.
        verdict: String,
        /// Value or behaviour of the kernel.
        kernel: String,
        /// Of `transport.receive_buffer` the largest window that receivers advertised, in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        largest_window_bytes: Option<u64>,
    }
}
