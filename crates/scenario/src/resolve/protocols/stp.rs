//! Flows with STP: what their controllers and settings must be.

use std::sync::Arc;

use congestion::{Controller as _, Specification};
use language::error::Problem;
use language::path::Path;
use stp::Config;

use crate::document;
use crate::model::{Lengths, Plan, Timer, Uncontrolled};
use crate::resolve::buffers;

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
        receive_buffer: buffers::fixed(written, path, problems),
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
    super::check_payload(config.mss, stp::SD_HEADER, &path, problems);
    Arc::new(config)
}

/// The sender asks for a report after a number of packets.
impl Plan for Config {
    fn lengths(&self) -> Lengths {
        Lengths { full: self.full_packet(), longest: self.longest_packet(), ack: Self::ACK }
    }

    fn mss(&self) -> u32 {
        self.mss
    }

    fn window(&self, _streams: u64) -> u64 {
        self.receive_buffer.get()
    }

    fn packets_per_ack(&self) -> u32 {
        self.packets_per_poll.min(255)
    }

    /// STAT answers POLL.
    fn receiver_sends_acks(&self) -> bool {
        false
    }

    /// A rate takes the place of the congestion window.
    fn uncontrolled(&self) -> Option<Uncontrolled> {
        self.rate.map(Uncontrolled::Rate)
    }

    fn timers(&self) -> Vec<Timer> {
        let effect = "the connection is aborted";
        vec![Timer { key: "stp.no_response", time: self.no_response, effect }]
    }

    fn controller(&self) -> congestion::Settings {
        self.controller()
    }
}
