//! Warnings: a scenario that runs, but probably not as intended.

use std::collections::BTreeSet;
use std::fmt;

use congestion::Value;
use language::error::Place;
use serde::Serialize;
use units::Span;

use super::FlowExplanation;
use super::PathExplanation;
use super::about::About;
use super::beam;
use super::call;
use super::cost::{self, RecordingExplanation};
use super::figures::{Figures, Load};
use super::hints;
use super::hosts;
use super::loss_notice;
use super::mechanism::feedback;
use super::mechanism::{MECHANISMS, Side};
use super::middlebox;
use super::proxy;
use super::random;
use super::scps;
use super::slow_start;
use super::switch;
use super::text::{bytes, milliseconds, rate};
use super::timers;
use super::times;
use super::tunnel;
use super::uncontrolled;
use super::window;
use scenario::Routes;
use scenario::Written;
use scenario::model::{Flow, Scenario};

/// Something that will run, but probably not as meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Kind of the warning. Its name is stable.
    pub kind: WarningKind,
    /// The flow, or the link with its direction; empty for the scenario.
    pub subject: String,
    /// The warning in words.
    pub message: String,
    /// Where the scenario has what it is about.
    #[serde(flatten)]
    pub place: Place,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, message, place, .. } = self;
        let colon = if subject.is_empty() { "" } else { ": " };
        write!(f, "{place}{subject}{colon}{message}")
    }
}

/// Declares the kinds of warnings, each with the key of its part of the scenario that causes it.
macro_rules! kinds {
    ($($kind:ident: $key:literal,)*) => {
        /// The kinds of warnings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each is described where it is found")]
        pub enum WarningKind {
            $($kind,)*
        }

        impl WarningKind {
            /// The key that causes it; empty if several do.
            pub(crate) fn key(self) -> &'static str {
                match self {
                    $(Self::$kind => $key,)*
                }
            }
        }
    };
}

kinds! {
    WindowBelowBdp: "transport.receive_buffer",
    SendBufferBelowBdp: "transport.send_buffer",
    ReceiveBufferBelowBdp: "transport.receive_buffer",
    SlowReader: "transport.reader_rate",
    SmallQueue: "",
    OwnQueueBelowBdp: "",
    HostAtOneEnd: "host",
    AcksFillReturn: "",
    Overload: "",
    LongDelayedAck: "transport.delayed_ack",
    AbcLimitWithoutEffect: "transport.abc_limit",
    RtoBelowDelayedAck: "transport.rto",
    RtoBelowRtt: "transport.rto",
    EndlessProbeRtt: "controller.probe_rtt_interval",
    EarlyVegas: "controller",
    PathHintsWithoutEffect: "path_hints",
    NoPathHints: "controller",
    EnlargedWindow: "transport.receive_buffer",
    JumpAboveWindow: "transport.careful_resume",
    ResumeWithoutEffect: "transport.careful_resume",
    RateAboveBottleneck: "",
    BucketAboveQueue: "transport.scps.rate",
    CauseHidesCongestion: "transport.scps.cause",
    SignalsWithoutEffect: "transport.scps.outage_signals",
    ErrorSignalsWithoutEffect: "transport.scps.corruption_signals",
    DataMissing: "transport.scps.best_effort",
    RetransmissionsTooLate: "transport.scps.best_effort.retransmissions",
    BufferBelowWait: "transport.receive_buffer",
    ResponseBelowRtt: "",
    StartAfterEnd: "start",
    StopAfterEnd: "stop",
    StopWithoutEffect: "stop",
    CannotComplete: "traffic",
    LongDelayOfCall: "traffic",
    HeavyLoss: "",
    NothingPasses: "",
    UselessEcc: "channel",
    NoiseWithoutRain: "channel",
    NoLock: "channel",
    NoModcod: "channel",
    GroupWithoutModcod: "es_n0",
    QueueBelowPacket: "queue",
    JitterAboveDelay: "jitter",
    SlotsBelowRate: "slot",
    CorrelationChangesShare: "",
    ShaperWithoutEffect: "shaper",
    PolicerWithoutEffect: "policer",
    PolicerBelowBdp: "policer",
    AqmBelowRtt: "aqm",
    AqmWithoutEffect: "aqm",
    MiddleboxWithoutEffect: "middlebox",
    ProxyWithoutEffect: "proxy",
    ProxyWithoutSack: "proxy",
    ArqWithoutEffect: "arq",
    ArqOutlastsRto: "arq",
    ArqWindowBelowBdp: "arq",
    ArqTimerBelowRtt: "arq",
    FecWithoutEffect: "fec",
    FecBelowBurst: "fec",
    FecTimerBelowBlock: "fec",
    FeedbackIncomplete: "feedback",
    FeedbackWithoutEffect: "feedback",
    FeedbackShared: "feedback",
    LossNoticeDoubtful: "transport.eln",
    DemandOutlastsRto: "demand",
    DemandBeforeGrant: "demand",
    DemandBelowAcks: "demand",
    CompressionWithoutEffect: "header_compression",
    CompressionSpreadsLoss: "header_compression",
    MtuBlackHole: "mtu",
    TunnelHidesFlow: "tunnel",
    EventWithoutEffect: "event",
    AchievedRate: "trace",
    TraceGap: "trace",
    NoSample: "",
    ManyEvents: "",
    NothingRandom: "",
    PhaseWithoutEvents: "",
    SwitchWithoutMoves: "",
}

/// All warnings, flow by flow, then link by link, then node by node.
pub(crate) fn warnings(
    scenario: &Scenario,
    written: &Written,
    (routes, load): (&Routes, &Load),
    recording: &RecordingExplanation,
    flows: &[(FlowExplanation, &Flow)],
) -> Vec<Warning> {
    use WarningKind as Kind;
    let warning = |kind, about: About, subject: &str, message| Warning {
        kind,
        subject: subject.into(),
        message,
        place: about.place(kind, scenario, written),
    };
    let mut warnings = Vec::new();
    for (entry, (explanation, flow)) in flows.iter().enumerate() {
        let about = About::Flow(entry);
        let figures = &explanation.figures;
        let legs = proxy::legs(scenario, routes, load, flow);
        if legs.is_empty() {
            let together = window::together(scenario, flows, (entry, figures));
            let found = of_connection(flow, figures, &explanation.paths, together).into_iter();
            warnings
                .extend(found.map(|(kind, text)| warning(kind, about, &explanation.name, text)));
        }
        for leg in &legs {
            let [from, to] = [leg.flow.from, leg.flow.to].map(|node| &scenario.nodes[node].name);
            let subject = format!("{}, leg {from} -> {to}", explanation.name);
            let together = window::together(scenario, flows, (entry, &leg.figures));
            let found = of_connection(&leg.flow, &leg.figures, &[], together).into_iter();
            warnings.extend(found.map(|(kind, text)| warning(kind, about, &subject, text)));
        }
        let found = of_application(scenario, (routes, load), flow, figures);
        let found = found.into_iter().filter_map(|(kind, message)| Some((kind, about, message?)));
        let silent = feedback::flow(scenario, routes, flow).into_iter();
        let found =
            found.chain(silent.map(|(about, text)| (Kind::FeedbackIncomplete, about, text)));
        let notice = loss_notice::flow(scenario, routes, flow).into_iter();
        let found = found.chain(notice.map(|text| (Kind::LossNoticeDoubtful, about, text)));
        let hidden = explanation.tunnel.as_ref().and_then(tunnel::warning).into_iter();
        let found = found.chain(hidden.map(|(kind, text)| (kind, about, text)));
        let found = found.map(|(kind, about, text)| warning(kind, about, &explanation.name, text));
        warnings.extend(found);
    }
    for side in Side::all(scenario, written, routes, flows) {
        let place = format!("{} {}", side.link().name, side.name());
        let about = About::Side(side.number(), side.name());
        let found = MECHANISMS.iter().flat_map(|mechanism| (mechanism.warnings)(&side));
        warnings.extend(found.map(|(kind, text)| warning(kind, about, &place, text)));
    }
    let mut entries = BTreeSet::new();
    for (number, node) in scenario.nodes.iter().enumerate() {
        let found = match number < scenario.linked_nodes() {
            true => middlebox::warnings(scenario, routes, flows, number),
            // One terminal stands for all with the same `[[node]]`.
            false if node.middlebox.is_none() || !entries.insert(node.entry) => Vec::new(),
            false => {
                let own = proxy::at_terminal(scenario, written, flows, number);
                middlebox::warnings(scenario, routes, &own, number)
            }
        };
        let found = found.into_iter().chain(proxy::warnings(flows, number));
        let about = About::Node(number);
        warnings.extend(found.map(|(kind, text)| warning(kind, about, &node.name, text)));
    }
    let found = of_run(scenario, written, routes, recording, flows).into_iter();
    warnings.extend(found.map(|(kind, about, of, text)| warning(kind, about, &of, text)));
    warnings
}

/// Warnings of a flow as a whole: of its times, its load and its hints.
fn of_application(
    scenario: &Scenario,
    (routes, load): (&Routes, &Load),
    flow: &Flow,
    figures: &Figures,
) -> Vec<(WarningKind, Option<String>)> {
    use WarningKind as Kind;
    vec![
        (Kind::Overload, overload(figures)),
        (Kind::OwnQueueBelowBdp, hosts::own_queue(scenario, (routes, load), flow, figures)),
        (Kind::StartAfterEnd, start(scenario, flow)),
        (Kind::StopAfterEnd, stop(scenario, flow)),
        (Kind::CannotComplete, duration(scenario, flow, figures)),
        (Kind::CannotComplete, times::cut_short(scenario, flow)),
        (Kind::NothingPasses, silent(figures)),
        (Kind::StopWithoutEffect, times::idle_stop(scenario, flow)),
        (Kind::HeavyLoss, lossy(figures)),
        (Kind::PathHintsWithoutEffect, hints::without_effect(scenario, routes, flow)),
        (Kind::NoPathHints, hints::missing(flow)),
        (Kind::SignalsWithoutEffect, scps::silent_signals(scenario, routes, flow)),
        (Kind::ErrorSignalsWithoutEffect, scps::silent_errors(scenario, routes, flow)),
    ]
}

/// The warnings about the run as a whole, with their subjects.
fn of_run(
    scenario: &Scenario,
    written: &Written,
    routes: &Routes,
    recording: &RecordingExplanation,
    flows: &[(FlowExplanation, &Flow)],
) -> Vec<(WarningKind, About, String, String)> {
    use WarningKind as Kind;
    let key = |kind, key, subject: &str, text| (kind, About::Key(key), subject.to_owned(), text);
    let mut found = Vec::new();
    found.extend(interval(scenario).map(|text| key(Kind::NoSample, "record", "record", text)));
    let costs = cost::warnings(scenario, recording, flows).into_iter();
    found.extend(costs.map(|(about, name, text)| (Kind::ManyEvents, about, name, text)));
    let random = nothing_random(scenario, flows);
    found.extend(random.map(|text| key(Kind::NothingRandom, "", "", text)));
    for (number, switch) in switch::explain(scenario, routes).iter().enumerate() {
        let about = About::Switch(number);
        let still = switch::without_moves(switch);
        let still = still.map(|text| (Kind::SwitchWithoutMoves, about, "switch".to_owned(), text));
        found.extend(still);
    }
    for (number, beam) in scenario.beams.iter().enumerate() {
        let text = "system_temperature has no effect without an attenuation or rain";
        let dry = beam::rainless(beam).map(|(group, one)| {
            let about = About::Group(number, group);
            let name = format!("group {} of {}", one.name, beam.name);
            (Kind::NoiseWithoutRain, about, name, text.to_owned())
        });
        found.extend(dry);
    }
    found.extend(
        beam::weak_signals(scenario)
            .into_iter()
            .map(|(about, name, text)| (Kind::GroupWithoutModcod, about, name, text)),
    );
    let phase = phase_without_events(scenario, written);
    found.extend(phase.map(|text| key(Kind::PhaseWithoutEvents, "phase", "", text)));
    found
}

/// The warnings about one connection: that of a flow, or of one of its legs.
///
/// The flows of its bottleneck reach `together` bit/s of payload.
fn of_connection(
    flow: &Flow,
    figures: &Figures,
    paths: &[PathExplanation],
    together: f64,
) -> Vec<(WarningKind, String)> {
    // Events may have shortened the round trip when it counts.
    let least = figures.bounds.least_rtt_ms;
    let longest = paths.iter().map(|path| path.base_rtt_ms).fold(least, f64::max);
    use WarningKind as Kind;
    let found = [
        (Kind::WindowBelowBdp, window::small_window(flow, figures, together)),
        (Kind::SlowReader, reader(flow, figures)),
        (Kind::SmallQueue, window::small_queue(figures)),
        (Kind::EndlessProbeRtt, timers::endless_probe_rtt(flow, figures)),
        (Kind::EarlyVegas, timers::early_vegas(flow, figures)),
        (Kind::AcksFillReturn, acks(flow, figures)),
        (Kind::JumpAboveWindow, resumed_window(flow, figures)),
        (Kind::ResumeWithoutEffect, other_path(flow, figures)),
        (Kind::RateAboveBottleneck, uncontrolled::above_bottleneck(flow, figures)),
        (Kind::ResponseBelowRtt, timers::response_below_rtt(flow, longest)),
        (Kind::LongDelayOfCall, call::long_delay(flow, figures)),
    ];
    let of_tcp = match flow.transport.is_tcp() {
        true => vec![
            (Kind::HostAtOneEnd, hosts::at_one_end(flow)),
            (Kind::SendBufferBelowBdp, hosts::send_buffer(flow, figures, together)),
            (Kind::ReceiveBufferBelowBdp, hosts::receive_buffer(flow, figures, together)),
            (Kind::LongDelayedAck, delayed_ack(flow)),
            (Kind::AbcLimitWithoutEffect, slow_start::limit_without_effect(flow)),
            (Kind::RtoBelowDelayedAck, timers::rto_below_delayed_ack(flow)),
            (Kind::RtoBelowRtt, timers::rto_below_rtt(flow, figures)),
            (Kind::EnlargedWindow, enlarged_window(flow)),
            (Kind::RateAboveBottleneck, scps::rate_above(flow, figures)),
            (Kind::BucketAboveQueue, scps::burst_overflows(flow, figures)),
            (Kind::CauseHidesCongestion, scps::window_overflows(flow, figures)),
            (Kind::DataMissing, scps::missing_data(flow)),
            (Kind::RetransmissionsTooLate, scps::late_retransmissions(flow, figures)),
            (Kind::BufferBelowWait, scps::full_buffer(flow, figures)),
        ],
        false => Vec::new(),
    };
    let found = found.into_iter().chain(of_tcp);
    found.filter_map(|(kind, message)| Some((kind, message?))).collect()
}

/// Phase effects: Floyd and Jacobson, "On traffic phase effects in packet-switched gateways"
/// (1992).
fn nothing_random(scenario: &Scenario, flows: &[(FlowExplanation, &Flow)]) -> Option<String> {
    let (shared, _) = flows.iter().find(|(found, _)| found.figures.bottleneck_flows > 1)?;
    random::is_fixed(scenario).then(|| {
        format!(
            "nothing is random: every seed gives the same, and flows that share {} may fall into step \
             (phase effects); `jitter` on access links breaks it",
            shared.figures.bottleneck
        )
    })
}

/// A random phase moves the events of links and switches only.
fn phase_without_events(scenario: &Scenario, written: &Written) -> Option<String> {
    let is_random = written.document["phase"] == "random";
    (is_random && scenario.phase == Span::ZERO).then(|| {
        "`phase` has no effect, because no link and no switch has an event before the end; attenuation \
             series keep their time"
            .into()
    })
}

fn reader(flow: &Flow, figures: &Figures) -> Option<String> {
    let reader = flow.reader_rate?;
    let carried = figures.capacity_bps.min(figures.window_limit_bps).min(figures.ack_limit_bps);
    let delivered = carried.min(figures.wanted());
    let slow = (reader.bits_per_second() as f64) < delivered;
    slow.then(|| format!("the application reads at {reader}, slower than the network delivers"))
}

fn acks(flow: &Flow, figures: &Figures) -> Option<String> {
    if flow.transport.tcp().is_some_and(|config| config.ack_control) {
        return None;
    }
    let transport = flow.transport.plan();
    if !transport.receiver_sends_acks() {
        return None;
    }
    // Terminals of a beam share a carrier, and each acknowledges its own data on its own channel.
    let share = figures.capacity_bps / figures.bottleneck_queues.max(1) as f64;
    let possible = share.min(figures.window_limit_bps);
    let wanted = 0.999 * possible.min(figures.wanted());
    (figures.ack_limit_bps < wanted).then(|| {
        let counted = transport.packets_per_ack();
        let per_ack = transport.packets_per_ack_at(figures.segment_time_ms / 1e3);
        let often = match (transport.time_between_acks(), counted) {
            (Some(time), _) if per_ack > f64::from(counted) => time.to_string(),
            (_, 1) => format!("segment of {}", bytes(f64::from(transport.mss()))),
            (_, n) => format!("{n} segments of {}", bytes(f64::from(transport.mss()))),
        };
        format!(
            "an ACK for every {often} fills {} ({}) from {} of payload on: above it ACKs wait, and are lost where \
             their queue is full",
            figures.return_bottleneck,
            rate(figures.return_bottleneck_bps),
            rate(figures.ack_limit_bps),
        )
    })
}

/// Data that is written and never sent stays in the application.
fn overload(figures: &Figures) -> Option<String> {
    let offered = figures.offered?;
    let bounds = &figures.bounds;
    let (who, mean, bound) = if offered.mean_bps > bounds.goodput_bps() {
        ("the application writes".to_owned(), offered.mean_bps, bounds.goodput_bps())
    } else if offered.bottleneck_bps > bounds.bottleneck_bps {
        let who = format!("the applications that share {} write", figures.bottleneck);
        (who, offered.bottleneck_bps, bounds.bottleneck_bps)
    } else {
        return None;
    };
    Some(format!(
        "{who} {} on average, and the path carries at most {}: the backlog grows until the end",
        rate(mean),
        rate(bound)
    ))
}

/// The receiver's window has to leave room for the jump (RFC 9959).
fn resumed_window(flow: &Flow, figures: &Figures) -> Option<String> {
    let saved = flow.transport.plan().careful_resume()?;
    let jump = saved.jump();
    (jump > figures.window_bytes).then(|| {
        format!(
            "careful_resume jumps to {}, more than the window of {}",
            bytes(jump as f64),
            bytes(figures.window_bytes as f64)
        )
    })
}

/// A saved round trip that is not that of the path: the sender does not jump (RFC 9959).
fn other_path(flow: &Flow, figures: &Figures) -> Option<String> {
    let saved = flow.transport.plan().careful_resume()?;
    let [least, most] = figures.rtts_ms();
    let [shortest, longest] = saved.rtts().map(Span::as_millis_f64);
    (most <= shortest || least > longest).then(|| {
        format!(
            "careful_resume has no effect without a queue: with a saved_rtt of {} it jumps if the RTT is above \
             {shortest:.1}ms and at most {longest:.1}ms, and that of the path is {}",
            saved.saved_rtt,
            match least == most {
                true => milliseconds(least),
                false => format!("{} to {}", milliseconds(least), milliseconds(most)),
            }
        )
    })
}

fn delayed_ack(flow: &Flow) -> Option<String> {
    let timeout = flow.transport.tcp()?.delayed_ack.longest();
    (timeout > Span::from_millis(500))
        .then(|| format!("ACKs wait up to {timeout}; RFC 5681 section 4.2 requires at most 500ms"))
}

/// The parameter `rwnd` of a controller is how far it trusts the advertised window.
fn enlarged_window(flow: &Flow) -> Option<String> {
    let (_, value) = flow.controller.values().iter().find(|(p, _)| p.name == "rwnd")?;
    let Value::Word(mode) = value else { return None };
    (mode != "off").then(|| {
        format!(
            "rwnd = {mode:?} sends beyond the advertised window, and the receiver may drop data \
             that does not fit its buffer; \"off\" keeps flow control"
        )
    })
}

fn start(scenario: &Scenario, flow: &Flow) -> Option<String> {
    (flow.start >= scenario.duration).then(|| {
        format!("starts at {}, after the end of the run ({})", flow.start, scenario.duration)
    })
}

fn stop(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let stop = flow.stop.filter(|stop| *stop >= scenario.duration)?;
    Some(format!("stops at {stop}, after the end of the run ({})", scenario.duration))
}

/// More data than links and windows let pass. Data may be missing at the end of best effort,
/// datagrams have no end, and a session that ends completes.
fn duration(scenario: &Scenario, flow: &Flow, figures: &Figures) -> Option<String> {
    let size = flow.traffic.size()?.get() as f64;
    let most = figures.bounds.bytes();
    let end = flow.stop.unwrap_or(scenario.duration);
    let time = end.min(scenario.duration).saturating_sub(flow.start);
    let is_whole = !flow.is_best_effort() && flow.sessions.is_none();
    let counts = figures.has_window && is_whole && time > Span::ZERO;
    (most < size && counts).then(|| {
        let (most, size) = (bytes(most), bytes(size));
        format!("cannot complete: at most {most} of {size} pass in the {time} that it has")
    })
}

/// An outage for as long as the flow lasts. A transfer with a size has a warning of its own.
fn silent(figures: &Figures) -> Option<String> {
    (figures.bounds.capacity_bps <= 0.0 && figures.bounds.seconds > 0.0).then(|| {
        "no packet of its data passes: a link on its way has an outage as long as the flow lasts".into()
    })
}

fn lossy(figures: &Figures) -> Option<String> {
    (figures.per > 0.5)
        .then(|| format!("{:.1} % of the full packets are corrupted", 100.0 * figures.per))
}

fn interval(scenario: &Scenario) -> Option<String> {
    let interval = scenario.record.interval?;
    (interval > scenario.duration)
        .then(|| format!("no samples, because the interval of {interval} exceeds the run"))
}
