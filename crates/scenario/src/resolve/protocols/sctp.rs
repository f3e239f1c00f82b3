//! Flows with SCTP: what their settings must be, and that its congestion control is no controller
//! of the registry.

use std::sync::Arc;

use congestion::Specification;
use language::error::Problem;
use language::path::Path;
use sctp::{Address, COMMON_HEADER, Config, DATA_HEADER, MAX_PATHS};
use units::Span;
use wire::IpVersion;

use super::Host;
use crate::document;
use crate::model::{Lengths, Plan, Timer};
use crate::resolve::buffers;

/// MTU of Ethernet.
const ETHERNET: u16 = 1500;

/// The settings of a flow with SCTP.
pub(super) fn settings(
    written: &document::Transport,
    controller: &Specification,
    host: &Host<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Arc<Config> {
    let tcp = &written.config;
    let is_written = host.tree.at(&path.key("transport").key("mss")).is_some();
    let config = Config {
        mss: if is_written { tcp.mss } else { default_mss(host.ip) },
        receive_buffer: buffers::fixed(written, path, problems),
        reads_at_once: written.reader_rate.is_none(),
        initial_ssthresh: tcp.initial_ssthresh,
        paths: written.sctp.paths.as_ref().map_or(1, Vec::len).try_into().unwrap_or(MAX_PATHS),
        address: match host.ip {
            IpVersion::V4 => Address::V4,
            IpVersion::V6 => Address::V6,
        },
        ..written.sctp.config.clone()
    };
    let reason = "SCTP has a congestion control of its own (RFC 9260 section 7)";
    super::check_no_controller(controller, reason, path, problems);
    let path = path.key("transport");
    // Chunks are padded to a multiple of 4 bytes.
    super::check_payload(config.mss, COMMON_HEADER + DATA_HEADER + 3, &path, problems);
    let path = path.key("sctp");
    for (key, rto) in [("rto_min", config.rto_min), ("rto_initial", config.rto_initial)] {
        if rto > config.rto_max {
            let expected = format!("at most `rto_max`, \"{}\"", config.rto_max);
            problems.push(Problem::new(path.key(key), expected, format!("\"{rto}\"")));
        }
    }
    Arc::new(config)
}

/// The default of TCP has no space for the headers of SCTP, which are longer: what fills an
/// Ethernet frame.
fn default_mss(ip: IpVersion) -> u32 {
    u32::from(ETHERNET - ip.header_bytes() - COMMON_HEADER - DATA_HEADER)
}

impl Plan for Config {
    fn lengths(&self) -> Lengths {
        let full = self.full_packet();
        Lengths { full, longest: full, ack: Self::ACK }
    }

    fn mss(&self) -> u32 {
        self.mss
    }

    fn window(&self, _streams: u64) -> u64 {
        self.receive_buffer.get()
    }

    fn packets_per_ack(&self) -> u32 {
        self.sack_frequency
    }

    fn least_timeout(&self) -> Option<Span> {
        Some(self.rto_min)
    }

    fn timers(&self) -> Vec<Timer> {
        let repeated = "INIT is retransmitted before its answer";
        vec![
            Timer {
                key: "sctp.cookie_life",
                time: self.cookie_life,
                effect: "no association opens",
            },
            Timer { key: "sctp.rto_max", time: self.rto_max, effect: "all data times out" },
            Timer { key: "sctp.rto_initial", time: self.rto_initial, effect: repeated },
        ]
    }

    fn has_streams(&self) -> bool {
        true
    }
}
