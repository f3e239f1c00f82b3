//! Socket options and kernel parameters that scripts set.

use congestion::Specification;
use drill::{Argument, Call, Outcome};
use tcp::Recovery;
use transport::Pacing;
use units::{Bytes, SizeLimit, Span};

use super::{Profile, Simulated, Try};

impl Simulated {
    pub(super) fn set_option(&mut self, call: &Call) -> Try<Outcome> {
        self.socket(call)?;
        let option = call.name(2).ok_or("an option without a name")?;
        let value = call.number(3);
        let before = self.connection.is_none();
        match (option, value) {
            ("SO_REUSEADDR" | "SO_PRIORITY", Some(_)) => {}
            // Looked for when the host was made.
            ("TCP_NODELAY", Some(1)) if !self.config.nagle => {}
            ("TCP_QUICKACK", Some(0)) => {}
            ("SO_LINGER", _) => self.aborts = lingers_for_nothing(call)?,
            ("TCP_MAXSEG", Some(mss)) if before => self.config.mss = mss as u32,
            ("TCP_WINDOW_CLAMP" | "SO_RCVBUF" | "SO_RCVBUFFORCE", Some(bytes)) if before => {
                self.config.receive_buffer = Bytes(bytes as u64);
            }
            ("SO_KEEPALIVE", Some(1)) if before => {
                self.config.keep_alive.get_or_insert_default();
            }
            ("TCP_KEEPIDLE", Some(seconds)) if before => {
                self.config.keep_alive.get_or_insert_default().idle = seconds_of(seconds);
            }
            ("TCP_KEEPINTVL", Some(seconds)) if before => {
                self.config.keep_alive.get_or_insert_default().interval = seconds_of(seconds);
            }
            ("TCP_KEEPCNT", Some(probes)) if before => {
                self.config.keep_alive.get_or_insert_default().probes = probes as u32;
            }
            ("TCP_USER_TIMEOUT", Some(millis)) if before => {
                self.config.user_timeout = Some(Span::from_millis(millis as u64));
            }
            ("TCP_RTO_MIN_US", Some(micros)) if before => {
                self.config.rto.min = Span::from_nanos(1000 * micros as u64);
            }
            ("TCP_RTO_MAX_MS", Some(millis)) if before => {
                self.config.rto.max = Span::from_millis(millis as u64);
            }
            ("SO_SNDBUF", Some(bytes)) if before => {
                self.config.send_buffer = SizeLimit::of(Bytes(bytes as u64))
            }
            // A rate that is never reached asks for the kernel's own.
            ("SO_MAX_PACING_RATE", Some(rate)) if before && rate >= 1_000_000_000 => {
                self.config.pacing = Pacing::Linux;
            }
            // What waits for room in the buffer is not told from what waits for the window.
            ("SO_SNDBUF", Some(_)) => {}
            ("TCP_CONGESTION", _) if before => {
                let name = call.text(3).ok_or("a controller without a name")?;
                self.choose(name)?;
            }
            _ => return Err(format!("the socket option {option} = {value:?} here")),
        }
        Ok(Outcome::Returned(0))
    }

    fn choose(&mut self, name: &str) -> Try<()> {
        let name = if name == "reno" { "newreno" } else { name };
        Specification::named(name).map_err(|error| error.to_string())?;
        self.controller = name.to_owned();
        Ok(())
    }

    pub(super) fn set_parameter(&mut self, name: &str, value: &str) -> Try<()> {
        let unknown = || format!("the kernel parameter {name} = {value}");
        let number = value.split_whitespace().next_back().and_then(|word| word.parse::<u64>().ok());
        let short = name.strip_prefix("net.ipv4.tcp_").ok_or_else(unknown)?;
        let switch = || match number {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(unknown()),
        };
        let linux = self.profile == Profile::Linux;
        match (short, number) {
            ("timestamps", _) => self.config.timestamps = switch()?,
            ("window_scaling", _) => self.config.window_scaling = switch()?,
            ("dsack", _) => self.config.dsack = switch()?,
            ("slow_start_after_idle", _) => self.config.idle_restart = switch()?,
            ("ecn", Some(0 | 1)) => {
                self.config.ecn =
                    if switch()? { congestion::Ecn::Classic } else { congestion::Ecn::Off }
            }
            ("ecn", Some(2)) => self.config.ecn = congestion::Ecn::Passive,
            ("sack", _) => {
                self.config.recovery = match (switch()?, linux) {
                    (false, _) => Recovery::NewReno,
                    (true, false) => Recovery::Sack,
                    (true, true) => Recovery::Linux,
                };
            }
            ("comp_sack_nr", Some(0)) => self.config.sack_compression = None,
            ("comp_sack_nr", Some(number)) => {
                self.config.sack_compression.get_or_insert_default().acks = number as u32;
            }
            ("comp_sack_delay_ns", Some(number)) => {
                self.config.sack_compression.get_or_insert_default().delay =
                    Span::from_nanos(number);
            }
            ("reordering", Some(number)) => self.config.dupthresh = number as u32,
            ("rmem", Some(bytes)) => match &mut self.config.receive_tuning {
                Some(tuning) => (tuning.default, tuning.max) = (second(value)?, Bytes(bytes)),
                None => self.config.receive_buffer = Bytes(bytes),
            },
            ("wmem", Some(bytes)) => {
                if let Some(tuning) = &mut self.config.send_tuning {
                    (tuning.default, tuning.max) = (second(value)?, Bytes(bytes));
                }
            }
            ("notsent_lowat", Some(bytes)) => {
                if let Some(tuning) = &mut self.config.send_tuning {
                    tuning.notsent_lowat = SizeLimit::of(Bytes(bytes));
                }
            }
            ("syn_retries" | "synack_retries" | "retries2", Some(number)) => {
                self.config.max_retries = number as u32;
            }
            ("congestion_control", _) => self.choose(value)?,
            // What the profile of Linux does anyway.
            ("frto", Some(2)) | ("early_retrans", Some(3 | 4)) | ("recovery", Some(1)) if linux => {
            }
            // Of no effect on what a simulated TCP does.
            (
                "pacing_ss_ratio" | "pacing_ca_ratio" | "tso_win_divisor" | "min_tso_segs"
                | "moderate_rcvbuf" | "no_metrics_save",
                Some(_),
            ) => {}
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// The second number of a parameter that has three.
fn second(value: &str) -> Try<Bytes> {
    let number = value.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    number.map(Bytes).ok_or_else(|| format!("three numbers, found {value}"))
}

fn seconds_of(number: i64) -> Span {
    Span::from_secs(number as u64)
}

/// Returns true if `SO_LINGER` is on and its time zero; any other time is not supported.
fn lingers_for_nothing(call: &Call) -> Try<bool> {
    let fields = match call.arguments.get(3) {
        Some(Argument::Fields(fields)) => fields.as_slice(),
        _ => &[],
    };
    let field = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
    match (field("onoff"), field("linger")) {
        (Some(Argument::Number(1)), Some(Argument::Number(0))) => Ok(true),
        (Some(Argument::Number(0)), _) => Ok(false),
        _ => Err("the option SO_LINGER with a time".to_owned()),
    }
}
