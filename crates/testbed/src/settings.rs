//! The settings of a flow, one by one. `quic` has those of QUIC.

mod quic;

use std::fs;

use congestion::{Controller as _, Ecn};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::{AckTiming, Config, DuplicateWindow, KeepAlive, Recovery, RecoveryExit, SsthreshBasis};
use transport::{Estimator, Pacing, RtoConfig};
use units::{Bytes, Rate, Span};
use wire::IpVersion;

use crate::controllers::Controllers;
use crate::error::KernelError;
use crate::route::Metrics;

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

/// Range of `TCP_MAXSEG` (tcp(7)).
const MSS: std::ops::RangeInclusive<u32> = 88..=32_767;
/// The largest window that a socket can be given: its buffer is counted in an `int`, and is twice
/// what is asked for, of which half is the window.
const LARGEST_WINDOW: u64 = 1 << 28;
/// Range of `tcp_rto_max_ms`.
const RTO_MAX: (Span, Span) = (Span::from_secs(1), Span::from_secs(120));
/// Range of `TCP_DELACK_MAX_US`: two ticks at 100 Hz, the slowest rate, and the value of Linux.
const ACK_DELAY: (Span, Span) = (Span::from_millis(20), Span::from_millis(200));
/// The shortest time that its timers know: a tick at 250 Hz, the usual rate.
const TICK: Span = Span::from_millis(4);
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
    /// The largest window to advertise, in bytes.
    pub(crate) window: u32,
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
}

impl Kernel {
    /// The kernel that runs.
    pub(crate) fn running() -> Result<Self, KernelError> {
        // Kernels without queueing disciplines have no name for it.
        let queueing = fs::read_to_string("/proc/sys/net/core/default_qdisc").unwrap_or_default();
        Ok(Self {
            controllers: Controllers::of_this_kernel()?,
            queueing: queueing.trim().to_owned(),
        })
    }
}

/// Collects verdicts.
struct Judge(Vec<Entry>);

impl Judge {
    fn enter(
        &mut self,
        setting: &'static str,
        asked: impl ToString,
        verdict: Verdict,
        kernel: &str,
    ) {
        let (asked, kernel) = (asked.to_string(), kernel.to_owned());
        self.0.push(Entry { setting, asked, verdict, kernel });
    }

    fn applied(&mut self, setting: &'static str, asked: impl ToString, by: &str) {
        self.enter(setting, asked, Verdict::Applied, by);
    }

    fn approximated(&mut self, setting: &'static str, asked: impl ToString, instead: &str) {
        self.enter(setting, asked, Verdict::Approximated, instead);
    }

    fn rejected(&mut self, setting: &'static str, asked: impl ToString, possible: &str) {
        self.enter(setting, asked, Verdict::Rejected, possible);
    }

    /// A rule that can be turned off. The kernel's differs from that of the RFC, which applies in the
    /// simulator unless `recovery` is `"linux"`.
    fn rule_of_linux(
        &mut self,
        setting: &'static str,
        on: bool,
        recovery: Recovery,
        by: &str,
        kernel: &str,
    ) {
        if on && recovery != Recovery::Linux {
            self.approximated(setting, on, kernel);
        } else {
            self.applied(setting, on, by);
        }
    }

    /// Reports of marks (`tcp_ecn`). Linux counts marks from 6.19 on (`tcp_ecn = 3`).
    fn ecn(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::Off | Ecn::Classic => {
                self.applied("transport.ecn", ecn != Ecn::Off, "tcp_ecn");
            }
            Ecn::EachMark | Ecn::Accurate | Ecn::LowLatency => self.rejected(
                "transport.ecn",
                "\"accurate\"",
                "true or false: reports of each mark are in the simulator only",
            ),
        }
    }

    /// Applied if `fits`, else approximated.
    fn fits(&mut self, fits: bool, setting: &'static str, asked: impl ToString, kernel: &str) {
        let verdict = if fits { Verdict::Applied } else { Verdict::Approximated };
        self.enter(setting, asked, verdict, kernel);
    }
}

/// Verdicts of `kernel` on the settings of `flow`.
pub(crate) fn judge(
    scenario: &Scenario,
    flow: &Flow,
    config: &Config,
    kernel: &Kernel,
) -> (Applied, Vec<Entry>) {
    // Without `..`, so that a new setting has to be considered here.
    let Config {
        recovery,
        ssthresh_basis,
        mss,
        receive_buffer,
        send_buffer,
        // Follows from `reader_rate`.
        reads_at_once: _,
        window_scaling,
        timestamps,
        delayed_ack,
        initial_window,
        initial_ssthresh,
        dupthresh,
        abc_limit,
        window_validation,
        rto,
        persist_timeout,
        max_retries,
        keep_alive,
        user_timeout,
        pacing,
        duplicate_window,
        recovery_exit,
        limited_transmit,
        nagle,
        idle_restart,
        ecn,
        dsack,
        mtu_probing,
        careful_resume,
        quick_start,
        eln,
        ack_control,
        // The plan rejects the protocol that has it.
        scps: _,
    } = config;
    let (controller, entries) = kernel.controllers.choose(&flow.controller);
    let mut judge = Judge(entries);
    if let Some(stop) = flow.stop {
        judge.approximated("stop", stop, "what the socket has taken by then is still sent");
    }
    judge.recovery(*recovery);
    judge.fits(
        *ssthresh_basis == SsthreshBasis::Cwnd,
        "transport.ssthresh_basis",
        format!("{ssthresh_basis:?}"),
        "what the controller in the kernel halves, most often cwnd",
    );
    let mtu = scenario.packet_bytes(flow) as u32;
    judge.mss(*mss, mtu, scenario.ip);
    judge.buffers(*receive_buffer, send_buffer.size());
    if let Some(rate) = flow.reader_rate {
        let kernel = "the sockets are read at this rate, some 1500 bytes at a time";
        judge.applied("transport.reader_rate", rate, kernel);
    }
    judge.applied("transport.window_scaling", window_scaling, "tcp_window_scaling");
    judge.applied("transport.timestamps", timestamps, "tcp_timestamps");
    judge.delayed_ack(*delayed_ack);
    judge.applied("transport.initial_window", initial_window, "initcwnd of the route");
    match initial_ssthresh.size() {
        None => judge.applied("transport.initial_ssthresh", "unlimited", "no limit"),
        Some(size) => judge.rejected(
            "transport.initial_ssthresh",
            size,
            "\"unlimited\": no kernel lets it be set for a new connection",
        ),
    }
    judge.approximated(
        "transport.dupthresh",
        dupthresh,
        "tcp_reordering, which RACK (RFC 8985) replaces by time once it has seen reordering",
    );
    judge.approximated("transport.abc_limit", abc_limit, "all that is acknowledged counts");
    judge.fits(
        *window_validation,
        "transport.window_validation",
        window_validation,
        "cwnd grows only while it limits the sender",
    );
    judge.rto(rto);
    judge.approximated("transport.persist_timeout", persist_timeout, "the RTO");
    judge.approximated(
        "transport.max_retries",
        max_retries,
        "tcp_retries2: the time that as many doubled timeouts take, without SYNs",
    );
    judge.keep_alive(*keep_alive);
    judge.user_timeout(*user_timeout);
    judge.pacing(*pacing, &kernel.queueing);
    judge.fits(
        *duplicate_window == DuplicateWindow::Advertised,
        "transport.duplicate_window",
        format!("{duplicate_window:?}"),
        "the window of the ACK before",
    );
    judge.fits(
        *recovery_exit == RecoveryExit::Ssthresh,
        "transport.recovery_exit",
        format!("{recovery_exit:?}"),
        "ssthresh",
    );
    judge.fits(
        *limited_transmit,
        "transport.limited_transmit",
        limited_transmit,
        "new data is sent on the first duplicate ACKs",
    );
    judge.rule_of_linux(
        "transport.nagle",
        *nagle,
        *recovery,
        "TCP_NODELAY",
        "Minshall's variant: a small segment waits for another small one only",
    );
    judge.rule_of_linux(
        "transport.idle_restart",
        *idle_restart,
        *recovery,
        "tcp_slow_start_after_idle",
        "cwnd halves for each RTO of silence, down to the initial window",
    );
    judge.ecn(*ecn);
    // As in the simulator: on as well for the recovery of Linux and for controllers that use reports.
    let needs = flow.controller.build(&config.controller()).needs();
    let duplicate_reports = *dsack || *recovery == Recovery::Linux || needs.duplicate_reports;
    judge.applied("transport.dsack", duplicate_reports, "tcp_dsack");
    judge.applied("transport.mtu_probing", mtu_probing.name(), "tcp_mtu_probing");
    if let Some(saved) = careful_resume {
        let asked = format!("a saved window of {}", saved.saved_cwnd);
        let possible = "none: no kernel takes the saved window of another connection";
        judge.rejected("transport.careful_resume", asked, possible);
    }
    if let Some(rate) = quick_start {
        let possible = "none: the TCP of Linux has no Quick-Start (RFC 4782); use the simulator";
        judge.rejected("transport.quick_start", rate, possible);
    }
    if *eln {
        let possible =
            "false: the TCP of Linux knows no explicit loss notification; use the simulator";
        judge.rejected("transport.eln", eln, possible);
    }
    if *ack_control {
        let possible =
            "false: the TCP of Linux has no ACK congestion control (RFC 5690); use the simulator";
        judge.rejected("transport.ack_control", ack_control, possible);
    }

    let switch = |on: bool| u8::from(on).to_string();
    let mut sysctls = vec![
        ("tcp_sack", switch(matches!(recovery, Recovery::Sack | Recovery::Linux))),
        ("tcp_dsack", switch(duplicate_reports)),
        ("tcp_window_scaling", switch(*window_scaling)),
        ("tcp_timestamps", switch(*timestamps)),
        ("tcp_ecn", switch(*ecn != Ecn::Off)),
        ("tcp_mtu_probing", (*mtu_probing as u8).to_string()),
        ("tcp_reordering", dupthresh.to_string()),
        ("tcp_retries2", max_retries.to_string()),
        ("tcp_slow_start_after_idle", switch(*idle_restart)),
        ("tcp_rto_max_ms", (rto.max.as_millis_f64() as u32).to_string()),
        ("tcp_wmem", UNLIMITED_SEND_BUFFER.to_owned()),
        // Each connection starts afresh, whatever the one before has learnt.
        ("tcp_no_metrics_save", switch(true)),
    ];
    if scenario.links.iter().any(|link| link.mtu != [None; 2]) {
        // Below its usual 552, Linux would let routers fragment.
        sysctls.push(("route/min_pmtu", LEAST_MTU.to_string()));
    }
    let applied = Applied {
        controller,
        mss: *mss,
        mtu,
        window: receive_buffer.get().min(LARGEST_WINDOW) as u32,
        send_buffer: send_buffer.size().map(|size| size.get().min(LARGEST_WINDOW) as u32),
        no_delay: !nagle,
        keep_alive: *keep_alive,
        user_timeout: *user_timeout,
        reader_rate: flow.reader_rate,
        paced: *pacing == Pacing::Linux,
        ack_delay: match delayed_ack {
            AckTiming::Fixed(delayed) if delayed.segments > 1 => Some(ack_delay(delayed.timeout)),
            AckTiming::Fixed(_) | AckTiming::Linux => None,
        },
        sysctls,
        initial_window: *initial_window,
        quick_ack: delayed_ack.segments() == 1,
        least_rto: match rto.estimator {
            Estimator::Rfc6298 => LeastRto::Whole(rto.min),
            Estimator::Linux => LeastRto::Added(rto.min),
        },
    };
    (applied, judge.0)
}

fn is_whole(time: Span, unit: Span) -> bool {
    time.round_up_to(unit) == time
}

/// The longest that an ACK waits, as far as Linux can.
fn ack_delay(asked: Span) -> Span {
    asked.clamp(ACK_DELAY.0, ACK_DELAY.1)
}

impl Judge {
    fn mss(&mut self, asked: u32, mtu: u32, ip: IpVersion) {
        let setting = "transport.mss";
        let least = match ip {
            IpVersion::V4 => *MSS.start(),
            IpVersion::V6 => LEAST_IPV6_MTU - (mtu - asked),
        };
        let reason = match ip {
            IpVersion::V6 if asked < least => "; no MTU of IPv6 is below 1280 (RFC 8200 section 5)",
            _ => "",
        };
        if (least..=*MSS.end()).contains(&asked) {
            self.applied(setting, asked, "TCP_MAXSEG, and the MTU of the interface");
        } else {
            self.rejected(setting, asked, &format!("{least} to {}{reason}", MSS.end()));
        }
    }

    fn recovery(&mut self, recovery: Recovery) {
        let setting = "transport.recovery";
        let kernel = match recovery {
            Recovery::Linux => {
                return self.applied(setting, recovery.name(), "what the kernel does");
            }
            Recovery::Sack => "SACK with RACK-TLP (RFC 8985) and PRR (RFC 6937)",
            Recovery::NewReno => "NewReno with RACK-TLP (RFC 8985) and PRR (RFC 6937)",
            Recovery::Reno => "NewReno: Linux has no older recovery",
            // The plan rejects the protocol that has it.
            Recovery::Snack => return,
        };
        self.approximated(setting, recovery.name(), kernel);
    }

    fn buffers(&mut self, receive: Bytes, send: Option<Bytes>) {
        let largest = Bytes(LARGEST_WINDOW);
        if receive > largest {
            self.rejected("transport.receive_buffer", receive, &format!("at most {largest}"));
        } else {
            self.approximated(
                "transport.receive_buffer",
                receive,
                "TCP_WINDOW_CLAMP; the window opens to it as data arrives, at first perhaps by two segments \
                 too far",
            );
        }
        match send {
            None => self.applied("transport.send_buffer", "unlimited", "it grows with cwnd"),
            Some(size) if size > largest => {
                self.rejected("transport.send_buffer", size, &format!("at most {largest}"));
            }
            Some(size) => self.approximated(
                "transport.send_buffer",
                size,
                "SO_SNDBUF: twice as much, which counts the memory of packets and not their data",
            ),
        }
    }

    fn delayed_ack(&mut self, asked: AckTiming) {
        let delayed = match asked {
            AckTiming::Fixed(delayed) => delayed,
            AckTiming::Linux => {
                let kernel = "what the kernel does";
                return self.applied("transport.delayed_ack", "linux", kernel);
            }
        };
        match delayed.segments {
            1 => self.applied("transport.delayed_ack", "off", "quickack of the route"),
            2 => {
                let kernel = format!(
                    "each second segment, each of the first ones, and at most {} (TCP_DELACK_MAX_US)",
                    ack_delay(delayed.timeout)
                );
                self.approximated("transport.delayed_ack", delayed.timeout, &kernel);
            }
            more => {
                let possible = "1 or 2 segments";
                self.rejected("transport.delayed_ack.segments", more, possible);
            }
        }
    }

    fn pacing(&mut self, asked: Pacing, queueing: &str) {
        let setting = "transport.pacing";
        match asked {
            Pacing::Linux => {
                let by = "SO_MAX_PACING_RATE, with no rate that a link could reach";
                self.applied(setting, "linux", by);
            }
            Pacing::Controller if queueing == "fq" => {
                self.approximated(
                    setting,
                    "controller",
                    "all are paced, as net.core.default_qdisc is fq",
                );
            }
            Pacing::Controller => self.applied(setting, "controller", "only bbr asks for it"),
        }
    }

    fn keep_alive(&mut self, asked: Option<KeepAlive>) {
        let Some(KeepAlive { idle, interval, probes }) = asked else { return };
        for (setting, time, by) in [
            ("transport.keep_alive.idle", idle, "TCP_KEEPIDLE"),
            ("transport.keep_alive.interval", interval, "TCP_KEEPINTVL"),
        ] {
            if is_whole(time, Span::from_secs(1)) {
                self.applied(setting, time, by);
            } else {
                self.rejected(setting, time, "whole seconds");
            }
        }
        self.applied("transport.keep_alive.probes", probes, "TCP_KEEPCNT");
    }

    fn user_timeout(&mut self, asked: Option<Span>) {
        let Some(timeout) = asked else { return };
        if is_whole(timeout, Span::from_millis(1)) {
            self.applied("transport.user_timeout", timeout, "TCP_USER_TIMEOUT");
        } else {
            self.rejected("transport.user_timeout", timeout, "whole milliseconds");
        }
    }

    fn rto(&mut self, asked: &RtoConfig) {
        let RtoConfig { estimator, initial, min, max, granularity, alpha, beta, k } = asked;
        self.fits(
            *estimator == Estimator::Linux,
            "transport.rto.estimator",
            format!("{estimator:?}").to_lowercase(),
            "the largest mean deviation of a round trip",
        );
        let one = Span::from_secs(1);
        self.fits(*initial == one, "transport.rto.initial", initial, "1s");
        match estimator {
            Estimator::Rfc6298 => self.approximated(
                "transport.rto.min",
                min,
                "the least that is added to srtt is this without the propagation delay (rto_min)",
            ),
            Estimator::Linux => {
                let kernel = format!("rto_min of the route, at least {TICK}");
                self.fits(*min >= TICK, "transport.rto.min", min, &kernel);
            }
        }
        if (RTO_MAX.0..=RTO_MAX.1).contains(max) {
            self.applied("transport.rto.max", max, "tcp_rto_max_ms");
        } else {
            let possible = format!("{} to {}", RTO_MAX.0, RTO_MAX.1);
            self.rejected("transport.rto.max", max, &possible);
        }
        self.approximated("transport.rto.granularity", granularity, "the tick of the kernel");
        let fixed = [
            ("transport.rto.alpha", *alpha, 0.125),
            ("transport.rto.beta", *beta, 0.25),
            ("transport.rto.k", *k, 4.0),
        ];
        for (setting, asked, kernel) in fixed {
            self.fits(asked == kernel, setting, asked, &kernel.to_string());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
