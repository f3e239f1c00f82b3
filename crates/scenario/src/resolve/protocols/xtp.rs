//! Flows with XTP: what their settings must be, and that they have no congestion controller.

use std::sync::Arc;

use congestion::Specification;
use language::error::Problem;
use language::path::Path;
use units::Bytes;
use wire::IpVersion;
use xtp::Config;

use crate::document;
use crate::model::{Lengths, Plan, Timer, Uncontrolled};
use crate::resolve::buffers;

/// The settings of a flow with XTP.
pub(super) fn settings(
    written: &document::Transport,
    controller: &Specification,
    ip: IpVersion,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Arc<Config> {
    let tcp = &written.config;
    let config = Config {
        mss: tcp.mss,
        receive_buffer: buffers::fixed(written, path, problems),
        reads_at_once: written.reader_rate.is_none(),
        initial_window: tcp.initial_window,
        ip_header: ip.header_bytes(),
        ..written.xtp.clone()
    };
    let reason = "XTP has no congestion control: `xtp.rate` and the window bound its sender";
    super::check_no_controller(controller, reason, path, problems);
    let path = path.key("transport");
    super::check_payload(config.mss, xtp::HEADER, &path, problems);
    check_rate(&config, &path.key("xtp"), problems);
    Arc::new(config)
}

/// RATE and BURST are numbers of 32 bits of bytes, and a burst lets a full packet out.
fn check_rate(config: &Config, path: &Path, problems: &mut Vec<Problem>) {
    let most = u64::from(u32::MAX);
    if let Some(rate) = config.rate.filter(|rate| rate.bits_per_second() > 8 * most) {
        let expected = format!("at most {}bit/s", 8 * most);
        let problem = Problem::new(path.key("rate"), expected, format!("\"{rate}\""));
        problems.push(problem.because("RATE has 32 bits, in bytes per second"));
    }
    let Some(burst) = config.burst else { return };
    let place = path.key("burst");
    let (least, found) = (config.full_packet(), format!("\"{burst}\""));
    let sizes = format!("{} to {}", Bytes(least), Bytes(most));
    if config.rate.is_none() {
        let problem = Problem::new(place, "`rate` too", found);
        problems.push(problem.because("a burst is what leaves in an interval of burst / rate"));
    } else if burst.get() < least {
        let problem = Problem::new(place, sizes, found);
        let reason = format!("a full packet has {least} bytes with the headers of XTP and IP");
        problems.push(problem.because(reason));
    } else if burst.get() > most {
        let problem = Problem::new(place, sizes, found);
        problems.push(problem.because("BURST has 32 bits, in bytes"));
    }
}

/// The receiver reports a few times in each round trip, whatever the number of packets is.
impl Plan for Config {
    fn lengths(&self) -> Lengths {
        let full = self.full_packet() - u64::from(self.ip_header);
        Lengths { full, longest: full, ack: Self::ACK }
    }

    fn mss(&self) -> u32 {
        self.mss
    }

    fn window(&self, _streams: u64) -> u64 {
        self.receive_buffer.get()
    }

    fn packets_per_ack(&self) -> u32 {
        255
    }

    /// The sender requests reports.
    fn receiver_sends_acks(&self) -> bool {
        false
    }

    fn uncontrolled(&self) -> Option<Uncontrolled> {
        Some(self.rate.map_or(Uncontrolled::Window, Uncontrolled::Rate))
    }

    fn timers(&self) -> Vec<Timer> {
        let aborted = "the connection is aborted";
        let repeated = "FIRST is repeated before its answer";
        vec![
            Timer { key: "xtp.ctimeout", time: self.ctimeout, effect: aborted },
            Timer { key: "xtp.wtimer", time: self.wtimer, effect: repeated },
        ]
    }
}
