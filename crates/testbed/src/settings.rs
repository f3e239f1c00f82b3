//! The settings of a flow, one by one: `judge` has those of TCP, `quic` those of QUIC.

mod judge;
mod quic;

use std::fs;

use congestion::{Controller as _, Ecn};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::{AckTiming, Config, KeepAlive, Recovery, SsthreshBasis};
use transport::{Estimator, Pacing};
use units::{Rate, Span};
use wire::IpVersion;

use crate::controllers::Controllers;
use crate::error::KernelError;
use crate::route::Metrics;

use self::judge::{Judge, ack_delay};

pub(crate) use self::quic::judge as judge_quic;

/// The least MTU of IPv4 (RFC 791 section 3.2).
pub(crate) const LEAST_MTU: u32 = 68;
/// The least MTU of IPv6 (RFC 8200 section 5).
const LEAST_IPV6_MTU: u32 = 1280;

/// The least MTU of a version of IP.
pub(crate) fn least_mtu(ip: IpVersion) -> u32 {
    match ip {
        IpVersion::V4 => LEAST_MTU,
        IpVersion::V6 => LEAST_IPV6_MTU,
    }
}

/// The largest window that a socket can be given: its buffer is counted in an `int`, and is twice
/// what is asked for, of which half is the window.
const LARGEST_WINDOW: u64 = 1 << 28;
/// The shortest time that its timers know: a tick at 250 Hz, the usual rate.
const TICK: Span = Span::from_millis(4);
/// Bytes of a write, where they do not count.
pub(crate) const USUAL_WRITE: u64 = 1 << 18;
/// `tcp_wmem` for a send buffer without limit: far above what any path here holds.
const UNLIMITED_SEND_BUFFER: &str = "4096 65536 1073741824";

/// Verdict on a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The kernel does what the scenario has.
    Applied,
    /// It does something else, which the recording says.
    Approximated,
    /// The run does not start.
    Rejected,
}

impl Verdict {
    /// The word in recordings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Approximated => "approximated",
            Self::Rejected => "rejected",
        }
    }
}

/// A setting and its treatment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its path in the flow.
    pub(crate) setting: &'static str,
    /// Value in the scenario.
    pub(crate) asked: String,
    /// Verdict.
    pub(crate) verdict: Verdict,
    /// Value or behaviour of the kernel, or its possible values if it is rejected.
    pub(crate) kernel: String,
}

/// Settings of the sockets and hosts of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Name of the controller in the kernel.
    pub(crate) controller: String,
    /// Largest payload with options.
    pub(crate) mss: u32,
    /// MTU of the interface: the longest packet.
    pub(crate) mtu: u32,
    /// The largest window to advertise, in bytes; of a buffer that tunes itself it is an estimate.
    pub(crate) window: u32,
    /// The receive buffer tunes itself.
    pub(crate) tunes_window: bool,
    /// Most bytes of a write.
    pub(crate) write: u64,
    /// Bytes for the send buffer; `None` lets it grow.
    pub(crate) send_buffer: Option<u32>,
    /// Send small segments at once.
    pub(crate) no_delay: bool,
    /// Probe idle connections.
    pub(crate) keep_alive: Option<KeepAlive>,
    /// Abort a connection after this time without progress.
    pub(crate) user_timeout: Option<Span>,
    /// How fast the application reads; `None` reads at once.
    pub(crate) reader_rate: Option<Rate>,
    /// The longest an ACK waits; `None` where each segment is acknowledged anyway, or where the
    /// kernel's own delay is meant.
    pub(crate) ack_delay: Option<Span>,
    /// Segments leave no faster than a rate, whatever the controller.
    pub(crate) paced: bool,
    /// Files below `/proc/sys/net/ipv4` and what to write into them.
    pub(crate) sysctls: Vec<(&'static str, String)>,
    /// Initial window in segments.
    pub(crate) initial_window: u32,
    quick_ack: bool,
    least_rto: LeastRto,
}

/// The lower bound of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeastRto {
    /// Of the timer itself.
    Whole(Span),
    /// Of what it adds to the smoothed RTT.
    Added(Span),
}

impl Applied {
    /// The metrics of the route to the other end, `rtt` away.
    ///
    /// Linux does not bound the timer but what it adds to the smoothed RTT. As that is at least the
    /// propagation delay, the rest of the bound is the smallest addition that keeps it.
    pub(crate) fn metrics(&self, rtt: Span) -> Metrics {
        let added = match self.least_rto {
            LeastRto::Whole(least) => least.saturating_sub(rtt),
            LeastRto::Added(least) => least,
        };
        Metrics {
            initial_window: Some(self.initial_window),
            quick_ack: self.quick_ack,
            rto_min_ms: Some(
                added.max(TICK).round_up_to(Span::from_millis(1)).as_millis_f64() as u32
            ),
        }
    }
}

/// Features of this machine's kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// The congestion controllers that sockets can choose.
    pub(crate) controllers: Controllers,
    /// The queueing discipline of new interfaces.
    pub(crate) queueing: String,
    /// Its release, such as `6.18.44`.
    pub(crate) release: String,
}

impl Kernel {
    /// The kernel that runs.
    pub(crate) fn running() -> Result<Self, KernelError> {
        // Kernels without queueing disciplines have no name for it.
        let queueing = fs::read_to_string("/proc/sys/net/core/default_qdisc").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Self {
            controllers: Controllers::of_this_kernel()?,
            queueing: queueing.trim().to_owned(),
            release: release.trim().to_owned(),
        })
    }
}

/// Verdicts of `kernel` on the settings of `flow`.
pub(crate) fn judge(
    scenario: &Scenario,
    flow: &Flow,
    config: &Config,
    kernel: &Kernel,
) -> (Applied, Vec<Entry>) {
    let (controller, entries) = kernel.controllers.choose(&flow.controller);
    let mtu = scenario.packet_bytes(flow) as u32;
    // As in the simulator: on as well for the recovery of Linux and for controllers that use
    // reports.
    let needs = flow.controller.build(&config.controller()).needs();
    let duplicate_reports =
        config.dsack || config.recovery == Recovery::Linux || needs.duplicate_reports;
    let mut judge = Judge(entries);
    judge.path_hints(flow);
    if let Some(stop) = flow.stop {
        judge.approximated("stop", stop, "what the socket has taken by then is still sent");
    }
    judge.recovery(config.recovery);
    judge.fits(
        config.ssthresh_basis == SsthreshBasis::Cwnd,
        "transport.ssthresh_basis",
        format!("{:?}", config.ssthresh_basis),
        "what the controller in the kernel halves, most often cwnd",
    );
    judge.mss(config.mss, mtu, scenario.ip);
    judge.receive_buffer(config, kernel);
    judge.send_buffer(config);
    if let Some(rate) = flow.reader_rate {
        let kernel = "the sockets are read at this rate, some 1500 bytes at a time";
        judge.applied("transport.reader_rate", rate, kernel);
    }
    judge.windows(config);
    judge.rto(&config.rto);
    judge.giving_up(config);
    judge.pacing(config.pacing, &kernel.queueing);
    judge.sending(config);
    judge.ecn(config.ecn);
    judge.applied("transport.dsack", duplicate_reports, "tcp_dsack");
    judge.applied("transport.mtu_probing", config.mtu_probing.name(), "tcp_mtu_probing");
    judge.unknown_to_linux(config);
    let sysctls = sysctls(scenario, config, duplicate_reports);
    (applied(flow, config, controller, mtu, sysctls), judge.0)
}

/// Without `..`, so that a new setting has to be considered in `judge`, `applied` and `sysctls`.
const _: fn(&Config) = |config| {
    let Config {
        recovery: _,
        ssthresh_basis: _,
        mss: _,
        receive_buffer: _,
        receive_tuning: _,
        send_buffer: _,
        send_tuning: _,
        // Follows from `reader_rate`.
        reads_at_once: _,
        window_scaling: _,
        timestamps: _,
        delayed_ack: _,
        initial_window: _,
        initial_ssthresh: _,
        dupthresh: _,
        abc_limit: _,
        window_validation: _,
        rto: _,
        persist_timeout: _,
        max_retries: _,
        keep_alive: _,
        user_timeout: _,
        pacing: _,
        duplicate_window: _,
        recovery_exit: _,
        limited_transmit: _,
        nagle: _,
        idle_restart: _,
        ecn: _,
        dsack: _,
        mtu_probing: _,
        careful_resume: _,
        quick_start: _,
        eln: _,
        ack_control: _,
        receive_offload: _,
        sack_compression: _,
        // The plan rejects the protocol that has it.
        scps: _,
    } = config;
};

/// Files below `/proc/sys/net/ipv4`, and their contents.
fn sysctls(
    scenario: &Scenario,
    config: &Config,
    duplicate_reports: bool,
) -> Vec<(&'static str, String)> {
    let switch = |on: bool| u8::from(on).to_string();
    let mut sysctls = vec![
        ("tcp_sack", switch(config.recovery.has_sack())),
        ("tcp_dsack", switch(duplicate_reports)),
        ("tcp_window_scaling", switch(config.window_scaling)),
        ("tcp_timestamps", switch(config.timestamps)),
        ("tcp_ecn", number_of(config.ecn).to_string()),
        ("tcp_mtu_probing", (config.mtu_probing as u8).to_string()),
        ("tcp_reordering", config.dupthresh.to_string()),
        ("tcp_retries2", config.max_retries.to_string()),
        ("tcp_slow_start_after_idle", switch(config.idle_restart)),
        ("tcp_rto_max_ms", (config.rto.max.as_millis_f64() as u32).to_string()),
        (
            "tcp_wmem",
            config.send_tuning.map_or(UNLIMITED_SEND_BUFFER.to_owned(), |tuning| {
                format!("4096 {} {}", tuning.default.get(), tuning.max.get())
            }),
        ),
        ("tcp_notsent_lowat", lowat(config).to_string()),
        ("tcp_comp_sack_nr", config.sack_compression.map_or(0, |one| one.acks).to_string()),
        // Each connection starts afresh, whatever the one before has learnt.
        ("tcp_no_metrics_save", switch(true)),
    ];
    if let Some(tuning) = config.receive_tuning {
        let (default, max) = (tuning.default.get(), tuning.max.get());
        sysctls.push(("tcp_rmem", format!("4096 {default} {max}")));
    }
    if let Some(compression) = config.sack_compression {
        sysctls.push(("tcp_comp_sack_delay_ns", compression.delay.as_nanos().to_string()));
    }
    if scenario.links.iter().any(|link| link.mtu != [None; 2]) {
        // Below its usual 552, Linux would let routers fragment.
        sysctls.push(("route/min_pmtu", LEAST_MTU.to_string()));
    }
    sysctls
}

/// The value of `tcp_notsent_lowat`; without a limit that of the kernel.
fn lowat(config: &Config) -> u32 {
    let limit = config.send_tuning.and_then(|tuning| tuning.notsent_lowat.size());
    limit.map_or(u32::MAX, |size| size.get() as u32)
}

/// The value of `tcp_ecn`.
fn number_of(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::Off => 0,
        Ecn::Passive => 2,
        Ecn::Classic | Ecn::EachMark | Ecn::Accurate | Ecn::LowLatency => 1,
    }
}

/// Settings of the sockets and hosts of a flow.
fn applied(
    flow: &Flow,
    config: &Config,
    controller: String,
    mtu: u32,
    sysctls: Vec<(&'static str, String)>,
) -> Applied {
    // A buffer that tunes itself gets its sizes by a sysctl.
    let send_buffer = config.send_buffer.size().filter(|_| config.send_tuning.is_none());
    Applied {
        controller,
        mss: config.mss,
        mtu,
        window: config.receive_buffer.get().min(LARGEST_WINDOW) as u32,
        tunes_window: config.receive_tuning.is_some(),
        write: config.send_tuning.map_or(USUAL_WRITE, |tuning| tuning.write.get()),
        send_buffer: send_buffer.map(|size| size.get().min(LARGEST_WINDOW) as u32),
        no_delay: !config.nagle,
        keep_alive: config.keep_alive,
        user_timeout: config.user_timeout,
        reader_rate: flow.reader_rate,
        paced: config.pacing == Pacing::Linux,
        ack_delay: match config.delayed_ack {
            AckTiming::Fixed(delayed) if delayed.segments > 1 => Some(ack_delay(delayed.timeout)),
            AckTiming::Fixed(_) | AckTiming::Linux => None,
        },
        sysctls,
        initial_window: config.initial_window,
        quick_ack: config.delayed_ack.segments() == 1,
        least_rto: match config.rto.estimator {
            Estimator::Rfc6298 => LeastRto::Whole(config.rto.min),
            Estimator::Linux => LeastRto::Added(config.rto.min),
        },
    }
}

#[cfg(test)]
pub(crate) mod tests;
