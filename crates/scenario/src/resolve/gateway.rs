//! Ends of connections at gateways: what is written of a side, what its preset sets, and what is
//! taken over from the flow.

use std::sync::Arc;

use congestion::{Ecn, Specification};
use language::error::Problem;
use language::path::Path;
use middlebox::BucketSettings;
use tcp::{AckTiming, Config, DuplicateWindow, Recovery, RecoveryExit, Scps};
use transport::{Protocol, RtoConfig, SavedPath};
use units::{Bytes, Rate, SizeLimit};
use wire::IpVersion;

use super::presets::Values;
use super::protocols::quic as of_quic;
use super::protocols::{self, Places};
use super::{flows, rules};
use crate::document;
use crate::model::{Flow, GatewayEnd, Preset, SideName, Transport};

/// Send buffer where neither the side nor the flow has a limit: the maximum of Linux (tcp_wmem).
/// Without any, a proxy would never press back.
const SEND_BUFFER: Bytes = Bytes(4 << 20);

/// The written keys of a side.
pub(super) struct Side {
    pub path: Path,
    pub name: SideName,
    pub controller: Option<Specification>,
    protocol: Option<Protocol>,
    scps: Option<Scps>,
    quic: Option<quic::Settings>,
    recovery: Option<Recovery>,
    initial_window: Option<u32>,
    send_buffer: Option<Bytes>,
    receive_buffer: Option<Bytes>,
    mss: Option<u32>,
    careful_resume: Option<SavedPath>,
    pub pacing_rate: Option<Rate>,
    pub rate: Option<Rate>,
    pub burst: Option<Bytes>,
    /// Preset that decides where nothing is written.
    pub preset: Option<Preset>,
}

impl Side {
    /// Reads a side.
    pub(super) fn of(
        side: &document::ProxySide,
        name: SideName,
        preset: Option<Preset>,
        path: Path,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let document::ProxySide {
            towards: _,
            tcp,
            protocol,
            scps,
            quic,
            recovery,
            careful_resume,
            rate,
            burst,
        } = side;
        let middlebox::SplitSide {
            controller,
            initial_window,
            send_buffer,
            receive_buffer,
            mss,
            pacing_rate,
        } = tcp;
        let place = path.key("controller");
        let controller =
            controller.as_ref().and_then(|one| flows::controller(one, &place, problems));
        let side = Self {
            name,
            controller,
            protocol: protocol.map(Protocol::from),
            scps: *scps,
            quic: *quic,
            recovery: *recovery,
            initial_window: *initial_window,
            send_buffer: *send_buffer,
            receive_buffer: *receive_buffer,
            mss: *mss,
            careful_resume: *careful_resume,
            pacing_rate: *pacing_rate,
            rate: *rate,
            burst: *burst,
            preset,
            path,
        };
        side.check(problems);
        side
    }

    /// The protocol of its connections.
    pub(super) fn protocol(&self) -> Protocol {
        let of_preset = || Values::protocol(self.preset?, self.name);
        self.protocol.or_else(of_preset).unwrap_or_default()
    }

    /// The key that decides on the protocol.
    pub(super) fn place_of_protocol(&self) -> Path {
        if self.protocol.is_some() || self.preset.is_none() {
            return self.path.key("protocol");
        }
        self.place_of_preset()
    }

    /// The key of its preset.
    pub(super) fn place_of_preset(&self) -> Path {
        let mut proxy = self.path.clone();
        proxy.0.pop();
        proxy.key("preset")
    }

    /// True if its connections share a rate.
    fn has_rate(&self) -> bool {
        let of_preset = || self.preset.is_some_and(|preset| Values::has_rate(preset, self.name));
        self.rate.is_some() || of_preset()
    }

    /// Rules between its keys.
    fn check(&self, problems: &mut Vec<Problem>) {
        if let (Some(burst), false) = (self.burst, self.has_rate()) {
            let place = self.path.key("burst");
            let found = format!("\"{burst}\"");
            problems.push(Problem::new(place, "`rate` with it, or no `burst`", found));
        }
        if let Some(rate) = self.scps.and_then(|scps| scps.rate) {
            let place = self.path.key("scps").key("rate");
            let problem = Problem::new(place, "no `rate`", format!("\"{rate}\""));
            let key = self.name.key();
            problems.push(problem.because(format!("the rate of the route is `{key}.rate`")));
        }
        let protocol = self.protocol();
        let is_best_effort = self.scps.is_some_and(|scps| scps.best_effort.is_some());
        if is_best_effort && protocol == Protocol::ScpsTp {
            problems.push(protocols::no_best_effort(&self.path.key("scps")));
        }
        let keys = [
            ("scps", self.scps.is_some()),
            ("quic", self.quic.is_some()),
            ("recovery", self.recovery.is_some()),
            ("initial_window", self.initial_window.is_some()),
            ("send_buffer", self.send_buffer.is_some()),
            ("receive_buffer", self.receive_buffer.is_some()),
            ("mss", self.mss.is_some()),
            ("careful_resume", self.careful_resume.is_some()),
        ];
        let all: Vec<_> = Protocol::ALL.iter().map(|one| one.entry()).collect();
        let keys = keys.into_iter().filter(|(_, is_written)| *is_written).map(|(key, _)| key);
        problems.extend(protocols::refused(protocol.entry(), &all, keys, &self.path));
    }

    /// QUIC, if its connections speak it.
    pub(super) fn quic(&self) -> Option<quic::Settings> {
        (self.protocol() == Protocol::Quic).then(|| self.quic.unwrap_or_default())
    }

    /// The settings of QUIC, if its connections speak it.
    fn settings_of_quic(
        &self,
        controller: &Specification,
        problems: &mut Vec<Problem>,
    ) -> Option<Transport> {
        let [place, table] = ["controller", "quic"].map(|key| self.path.key(key));
        let settings = of_quic::settings(self.quic()?, controller, place, &table, problems);
        Some(Transport::Quic(settings))
    }

    /// SCPS-TP, if its connections speak it.
    fn scps(&self) -> Option<Scps> {
        let of_preset = || self.preset.map_or_else(Scps::default, Values::scps);
        let settings = || self.scps.unwrap_or_else(of_preset);
        (self.protocol() == Protocol::ScpsTp).then(settings)
    }
}

/// The end of a gateway on a side, for a flow. `values` are those of the preset of the side.
pub(super) fn end(
    flow: &Flow,
    side: &Side,
    values: Values,
    ip: IpVersion,
    problems: &mut Vec<Problem>,
) -> GatewayEnd {
    let own = side.controller.as_ref().or(values.controller.as_ref());
    let controller = own.unwrap_or(&flow.controller).clone();
    let of_tcp = || Transport::Tcp(Arc::new(transport(flow, side, own, &values)));
    let transport = side.settings_of_quic(&controller, problems).unwrap_or_else(of_tcp);
    let path = &side.path;
    if let Some(parameter) =
        own.and_then(Specification::only_with_marks).filter(|_| transport.ecn() == Ecn::Off)
    {
        let path = path.key("controller").key(parameter);
        let problem = Problem::new(path, "\"off\" without ECN", "\"on\"");
        problems.push(problem.because("it has an effect for flows with transport.ecn = true only"));
    }
    let places = Places::of_side(path, side.has_rate() || side.pacing_rate.is_some());
    protocols::check_settings(&transport, &controller, &places, problems);
    // What is wrong with the flow's own settings is reported there.
    let mut of_flow = Vec::new();
    rules::check_transport(flow.written_transport(), 1, path, &mut of_flow);
    if of_flow.is_empty() {
        rules::check_transport(&transport, 1, path, problems);
    }
    let headers = u64::from(ip.header_bytes() + wire::tcp::HEADER);
    let packet = Bytes(u64::from(transport.plan().mss()) + headers);
    let pacing = side.pacing_rate.map(|rate| BucketSettings { rate, burst: packet, packet });
    GatewayEnd { side: side.name, controller, has_own_controller: own.is_some(), transport, pacing }
}

/// The settings of an end: those of the flow, where the side has no other. `own` is the controller
/// of the side.
fn transport(flow: &Flow, side: &Side, own: Option<&Specification>, values: &Values) -> Config {
    let of_flow = flow.written_transport().tcp().cloned().unwrap_or_default();
    let host = &*of_flow;
    let scps = side.scps();
    let recovery = recovery(host, side, own, values);
    // Settings that only some recoveries have are not taken over by the others.
    let counts = matches!(recovery, Recovery::Reno | Recovery::NewReno);
    let send_buffer = match side.send_buffer.or(values.send_buffer) {
        Some(size) => SizeLimit::of(size),
        None if host.send_buffer == SizeLimit::UNLIMITED => SizeLimit::of(SEND_BUFFER),
        None => host.send_buffer,
    };
    // Everything else is that of the flow. A test compares each option with the table of
    // docs/path.md.
    let config = Config {
        recovery,
        reads_at_once: false,
        send_buffer,
        // Buffers of gateways have one size.
        send_tuning: None,
        receive_tuning: None,
        receive_buffer: side
            .receive_buffer
            .or(values.receive_buffer)
            .unwrap_or(host.receive_buffer),
        initial_window: side.initial_window.unwrap_or(host.initial_window),
        mss: side.mss.unwrap_or(host.mss),
        careful_resume: side.careful_resume,
        duplicate_window: match counts {
            true => host.duplicate_window,
            false => DuplicateWindow::Advertised,
        },
        sack_compression: host.sack_compression.filter(|_| !counts),
        recovery_exit: match recovery {
            Recovery::NewReno => host.recovery_exit,
            _ => RecoveryExit::Ssthresh,
        },
        scps,
        ..host.clone()
    };
    match (host.scps, scps) {
        (None, None) | (Some(_), Some(_)) => config,
        (None, Some(_)) => from_tcp_to_scps(config, values),
        (Some(_), None) => from_scps_to_tcp(config),
    }
}

/// Settings of an end of SCPS-TP for a flow of TCP. Options that SCPS-TP lacks get their defaults.
fn from_tcp_to_scps(config: Config, values: &Values) -> Config {
    let least = values.least_rto.unwrap_or(flows::LEAST_RTO_OF_SCPS);
    let of_tcp = Config::default();
    Config {
        rto: RtoConfig { min: least, ..config.rto },
        delayed_ack: match config.delayed_ack {
            AckTiming::Linux => of_tcp.delayed_ack,
            fixed @ AckTiming::Fixed(_) => fixed,
        },
        dupthresh: of_tcp.dupthresh,
        // There is nothing to send on duplicate ACKs.
        limited_transmit: false,
        dsack: of_tcp.dsack,
        eln: of_tcp.eln,
        pacing: of_tcp.pacing,
        mtu_probing: of_tcp.mtu_probing,
        quick_start: of_tcp.quick_start,
        ack_control: of_tcp.ack_control,
        receive_offload: of_tcp.receive_offload,
        sack_compression: of_tcp.sack_compression,
        ..config
    }
}

/// Settings of an end of TCP for a flow of SCPS-TP.
fn from_scps_to_tcp(config: Config) -> Config {
    let rto = RtoConfig { min: config.rto.estimator.least_rto(), ..config.rto };
    Config { rto, limited_transmit: Config::default().limited_transmit, ..config }
}

/// The recovery of an end: that of the side, or of its controller, or of the flow.
fn recovery(host: &Config, side: &Side, own: Option<&Specification>, values: &Values) -> Recovery {
    if side.protocol() == Protocol::ScpsTp {
        return Recovery::Snack;
    }
    let of_preset = values.recovery.filter(|_| side.controller.is_none());
    let of_controller = || own.map(|own| own.entry().repair.into());
    let of_flow = match host.recovery {
        Recovery::Snack => Config::default().recovery,
        of_tcp => of_tcp,
    };
    side.recovery.or(of_preset).or_else(of_controller).unwrap_or(of_flow)
}
