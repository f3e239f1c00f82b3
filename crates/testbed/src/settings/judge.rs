//! Verdicts on single settings of TCP.

use congestion::Ecn;
use scenario::model::Flow;
use tcp::{AckTiming, Config, DuplicateWindow, KeepAlive, Recovery, RecoveryExit};
use transport::{Estimator, Pacing, RtoConfig};
use units::{Bytes, Span};
use wire::IpVersion;

use super::{Entry, Kernel, LARGEST_WINDOW, LEAST_IPV6_MTU, TICK, USUAL_WRITE, Verdict};

/// Range of `TCP_MAXSEG` (tcp(7)).
const MSS: std::ops::RangeInclusive<u32> = 88..=32_767;
/// The limit of byte counting that no ACK reaches, as in a kernel without a limit.
const NO_ABC_LIMIT: u32 = 255;
/// Range of `tcp_rto_max_ms`.
const RTO_MAX: (Span, Span) = (Span::from_secs(1), Span::from_secs(120));
/// Range of `TCP_DELACK_MAX_US`: two ticks at 100 Hz, the slowest rate, and the value of Linux.
const ACK_DELAY: (Span, Span) = (Span::from_millis(20), Span::from_millis(200));

/// Collects verdicts.
pub(super) struct Judge(pub(super) Vec<Entry>);

impl Judge {
    pub(super) fn enter(
        &mut self,
        setting: &'static str,
        asked: impl ToString,
        verdict: Verdict,
        kernel: &str,
    ) {
        let (asked, kernel) = (asked.to_string(), kernel.to_owned());
        self.0.push(Entry { setting, asked, verdict, kernel });
    }

    pub(super) fn applied(&mut self, setting: &'static str, asked: impl ToString, by: &str) {
        self.enter(setting, asked, Verdict::Applied, by);
    }

    pub(super) fn approximated(
        &mut self,
        setting: &'static str,
        asked: impl ToString,
        instead: &str,
    ) {
        self.enter(setting, asked, Verdict::Approximated, instead);
    }

    pub(super) fn rejected(&mut self, setting: &'static str, asked: impl ToString, possible: &str) {
        self.enter(setting, asked, Verdict::Rejected, possible);
    }

    /// No kernel passes hints to a controller, and the times of real paths are not those of a file.
    pub(super) fn path_hints(&mut self, flow: &Flow) {
        if flow.path_hints.is_some() {
            self.rejected(
                "path_hints",
                "hints",
                "none: only controllers of the simulator get hints",
            );
        }
    }

    /// A rule that can be turned off. The kernel's differs from that of the RFC, which applies in
    /// the simulator unless `recovery` is `"linux"`.
    pub(super) fn rule_of_linux(
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
    pub(super) fn ecn(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::Off | Ecn::Classic => {
                self.applied("transport.ecn", ecn != Ecn::Off, "tcp_ecn");
            }
            Ecn::Passive => self.applied("transport.ecn", "passive", "tcp_ecn = 2"),
            Ecn::EachMark | Ecn::Accurate | Ecn::LowLatency => self.rejected(
                "transport.ecn",
                "\"accurate\"",
                "true, false or \"passive\": reports of each mark are in the simulator only",
            ),
        }
    }

    /// Applied if `fits`, else approximated.
    pub(super) fn fits(
        &mut self,
        fits: bool,
        setting: &'static str,
        asked: impl ToString,
        kernel: &str,
    ) {
        let verdict = if fits { Verdict::Applied } else { Verdict::Approximated };
        self.enter(setting, asked, verdict, kernel);
    }

    /// Windows and ACKs.
    pub(super) fn windows(&mut self, config: &Config) {
        let Config { window_scaling, timestamps, initial_window, dupthresh, .. } = config;
        self.applied("transport.window_scaling", window_scaling, "tcp_window_scaling");
        self.applied("transport.timestamps", timestamps, "tcp_timestamps");
        self.delayed_ack(config.delayed_ack);
        self.applied("transport.initial_window", initial_window, "initcwnd of the route");
        match config.initial_ssthresh.size() {
            None => self.applied("transport.initial_ssthresh", "unlimited", "no limit"),
            Some(size) => self.rejected(
                "transport.initial_ssthresh",
                size,
                "\"unlimited\": no kernel lets it be set for a new connection",
            ),
        }
        self.approximated(
            "transport.dupthresh",
            dupthresh,
            "tcp_reordering, which RACK (RFC 8985) replaces by time once it has seen reordering",
        );
        let counted = "all that is acknowledged counts";
        let counts_all = config.abc_limit == NO_ABC_LIMIT;
        self.fits(counts_all, "transport.abc_limit", config.abc_limit, counted);
        self.fits(
            config.window_validation,
            "transport.window_validation",
            config.window_validation,
            "cwnd grows only while it limits the sender",
        );
    }

    /// Time and number of attempts after which a connection gives up.
    pub(super) fn giving_up(&mut self, config: &Config) {
        self.approximated("transport.persist_timeout", config.persist_timeout, "the RTO");
        self.approximated(
            "transport.max_retries",
            config.max_retries,
            "tcp_retries2: the time that as many doubled timeouts take, without SYNs",
        );
        self.keep_alive(config.keep_alive);
        self.user_timeout(config.user_timeout);
    }

    /// When segments may be sent.
    pub(super) fn sending(&mut self, config: &Config) {
        let Config { duplicate_window, recovery_exit, limited_transmit, recovery, .. } = config;
        self.fits(
            *duplicate_window == DuplicateWindow::Advertised,
            "transport.duplicate_window",
            format!("{duplicate_window:?}"),
            "the window of the ACK before",
        );
        self.fits(
            *recovery_exit == RecoveryExit::Ssthresh,
            "transport.recovery_exit",
            format!("{recovery_exit:?}"),
            "ssthresh",
        );
        self.fits(
            *limited_transmit,
            "transport.limited_transmit",
            limited_transmit,
            "new data is sent on the first duplicate ACKs",
        );
        self.rule_of_linux(
            "transport.nagle",
            config.nagle,
            *recovery,
            "TCP_NODELAY",
            "Minshall's variant: a small segment waits for another small one only",
        );
        self.rule_of_linux(
            "transport.idle_restart",
            config.idle_restart,
            *recovery,
            "tcp_slow_start_after_idle",
            "cwnd halves for each RTO of silence, down to the initial window",
        );
    }

    /// Mechanisms that the TCP of Linux does not have.
    pub(super) fn unknown_to_linux(&mut self, config: &Config) {
        if let Some(saved) = config.careful_resume {
            let asked = format!("a saved window of {}", saved.saved_cwnd);
            let possible = "none: no kernel takes the saved window of another connection";
            self.rejected("transport.careful_resume", asked, possible);
        }
        if let Some(rate) = config.quick_start {
            let possible =
                "none: the TCP of Linux has no Quick-Start (RFC 4782); use the simulator";
            self.rejected("transport.quick_start", rate, possible);
        }
        if config.eln {
            let possible =
                "false: the TCP of Linux knows no explicit loss notification; use the simulator";
            self.rejected("transport.eln", true, possible);
        }
        if config.ack_control {
            let possible = "false: the TCP of Linux has no ACK congestion control (RFC 5690); use the simulator";
            self.rejected("transport.ack_control", true, possible);
        }
        if let Some(offload) = config.receive_offload {
            let possible = "none: the devices of the kernel backend give each packet to TCP alone; use the simulator";
            self.rejected(
                "transport.receive_offload",
                format!("a window of {}", offload.window),
                possible,
            );
        }
        let compression = match config.sack_compression {
            Some(one) => format!("up to {} ACKs for at most {}", one.acks, one.delay),
            None => "off".to_owned(),
        };
        self.applied(
            "transport.sack_compression",
            compression,
            "tcp_comp_sack_nr and tcp_comp_sack_delay_ns",
        );
    }

    pub(super) fn mss(&mut self, asked: u32, mtu: u32, ip: IpVersion) {
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

    pub(super) fn recovery(&mut self, recovery: Recovery) {
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

    pub(super) fn receive_buffer(&mut self, config: &Config, kernel: &Kernel) {
        let (setting, largest) = ("transport.receive_buffer", Bytes(LARGEST_WINDOW));
        let receive = config.receive_buffer;
        if let Some(tuning) = config.receive_tuning {
            let asked = format!("{} to {}", tuning.default, tuning.max);
            let by = format!(
                "tcp_rmem; it grows by the rule of this kernel, {}, whatever `growth` says",
                kernel.release
            );
            self.approximated(setting, asked, &by);
        } else if receive > largest {
            self.rejected(setting, receive, &format!("at most {largest}"));
        } else {
            self.approximated(
                setting,
                receive,
                "TCP_WINDOW_CLAMP; the window opens to it as data arrives, at first perhaps by two segments \
                 too far",
            );
        }
    }

    pub(super) fn send_buffer(&mut self, config: &Config) {
        let (setting, largest) = ("transport.send_buffer", Bytes(LARGEST_WINDOW));
        if let Some(tuning) = config.send_tuning {
            if tuning.write.get() > USUAL_WRITE {
                let most = Bytes(USUAL_WRITE);
                self.rejected("traffic.write", tuning.write, &format!("at most {most}"));
            }
            if let Some(size) = tuning.notsent_lowat.size() {
                self.applied("transport.send_buffer.notsent_lowat", size, "tcp_notsent_lowat");
            }
            return self.applied(
                setting,
                format!("{} to {}", tuning.default, tuning.max),
                "tcp_wmem",
            );
        }
        match config.send_buffer.size() {
            None => self.applied(setting, "unlimited", "it grows with cwnd"),
            Some(size) if size > largest => {
                self.rejected(setting, size, &format!("at most {largest}"));
            }
            Some(size) => self.approximated(
                setting,
                size,
                "SO_SNDBUF: twice as much, which counts the memory of packets and not their data",
            ),
        }
    }

    pub(super) fn delayed_ack(&mut self, asked: AckTiming) {
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

    pub(super) fn pacing(&mut self, asked: Pacing, queueing: &str) {
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

    pub(super) fn keep_alive(&mut self, asked: Option<KeepAlive>) {
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

    pub(super) fn user_timeout(&mut self, asked: Option<Span>) {
        let Some(timeout) = asked else { return };
        if is_whole(timeout, Span::from_millis(1)) {
            self.applied("transport.user_timeout", timeout, "TCP_USER_TIMEOUT");
        } else {
            self.rejected("transport.user_timeout", timeout, "whole milliseconds");
        }
    }

    pub(super) fn rto(&mut self, asked: &RtoConfig) {
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

fn is_whole(time: Span, unit: Span) -> bool {
    time.round_up_to(unit) == time
}

/// The longest that an ACK waits, as far as Linux can.
pub(super) fn ack_delay(asked: Span) -> Span {
    asked.clamp(ACK_DELAY.0, ACK_DELAY.1)
}
