//! Flows with STP: what their controllers and settings must be.

use std::sync::Arc;

use congestion::{Controller as _, Specification};
use language::error::Problem;
use language::path::Path;
use stp::Config;
use tcp::{AckTiming, DelayedAck, Recovery};
use units::SizeLimit;

use crate::document;

/// The settings of a flow with STP.
pub(super) fn settings(
    written: &document::Transport,
    controller: &Specification,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Arc<Config> {
    let tcp = &written.config;
    let config = Config {
        mss: tcp.mss,
        receive_buffer: tcp.receive_buffer,
        reads_at_once: written.reader_rate.is_none(),
        initial_window: tcp.initial_window,
        initial_ssthresh: tcp.initial_ssthresh,
        ..written.stp.clone()
    };
    let name = controller.entry().name;
    if let Some(missing) = stp::missing(&controller.build(&config.controller()).needs()) {
        let expected = "a controller that runs over STP";
        let problem = Problem::new(path.key("controller"), expected, format!("{name:?}"));
        problems.push(problem.because(format!("{name} needs {missing}, which STP does not have")));
    }
    let path = path.key("transport");
    let largest = u16::MAX - stp::SD_HEADER - IP_HEADER;
    if config.mss > u32::from(largest) {
        let expected = format!("at most {largest}");
        let problem = Problem::new(path.key("mss"), expected, config.mss.to_string());
        problems.push(problem.because("a packet has at most 65535 bytes with its headers"));
    }
    Arc::new(config)
}

/// The larger of both versions.
const IP_HEADER: u16 = 40;

/// A TCP with packets of the same payload, as much in flight and about as many ACKs: what is computed of a flow
/// before a run follows from it.
pub(super) fn as_tcp(config: &Config) -> tcp::Config {
    let segments = config.packets_per_poll.min(255);
    tcp::Config {
        recovery: Recovery::Sack,
        mss: config.mss,
        timestamps: false,
        receive_buffer: config.receive_buffer,
        reads_at_once: config.reads_at_once,
        send_buffer: SizeLimit::UNLIMITED,
        initial_window: config.initial_window,
        initial_ssthresh: config.initial_ssthresh,
        abc_limit: 255,
        delayed_ack: AckTiming::Fixed(DelayedAck { segments, timeout: config.poll_interval }),
        ..tcp::Config::default()
    }
}
