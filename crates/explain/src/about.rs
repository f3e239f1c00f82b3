//! Subject of a warning, and its place in the scenario.

use language::error::Place;

use super::warnings::WarningKind as Kind;
use scenario::Written;
use scenario::model::Scenario;

/// The part of a scenario that a warning is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    /// The `[[flow]]` of this number.
    Flow(usize),
    /// The link of this number.
    Link(usize),
    /// A direction of the link of this number: `forward` or `backward`.
    Side(usize, &'static str),
    /// The node of this number.
    Node(usize),
    /// A key of the scenario; an empty one is the scenario as a whole.
    Key(&'static str),
}

impl About {
    /// The place of the key that causes warnings of this kind. If it was not written, that of the part.
    ///
    /// A key of a direction may also be written for both directions of its link.
    pub(crate) fn place(self, kind: Kind, scenario: &Scenario, written: &Written) -> Place {
        let tables = match self {
            Self::Flow(entry) => vec![format!("flow[{entry}]")],
            Self::Link(link) => vec![format!("link[{link}]")],
            Self::Side(link, side) => vec![format!("link[{link}].{side}"), format!("link[{link}]")],
            Self::Node(node) => {
                let number = written.node(&scenario.nodes[node].name);
                number.map(|number| format!("node[{number}]")).into_iter().collect()
            }
            Self::Key(key) => return written.place([key]),
        };
        let mut paths: Vec<_> =
            tables.iter().map(|table| format!("{table}.{}", key(kind))).collect();
        // The header of a table only shows the kind of table.
        paths.extend(
            tables.iter().flat_map(|table| {
                ["between", "name", "from"].map(|name| format!("{table}.{name}"))
            }),
        );
        paths.extend(tables);
        written.place(paths.iter().map(String::as_str))
    }
}

/// The key that causes warnings of a kind; empty if several do.
fn key(kind: Kind) -> &'static str {
    match kind {
        Kind::WindowBelowBdp => "transport.receive_buffer",
        Kind::SlowReader => "transport.reader_rate",
        Kind::LongDelayedAck => "transport.delayed_ack",
        Kind::RtoBelowDelayedAck | Kind::RtoBelowRtt => "transport.rto",
        Kind::EarlyVegas => "controller",
        Kind::EndlessProbeRtt => "controller.probe_rtt_interval",
        Kind::EnlargedWindow => "transport.receive_buffer",
        Kind::CauseHidesCongestion => "transport.scps.cause",
        Kind::BucketAboveQueue => "transport.scps.rate",
        Kind::SignalsWithoutEffect => "transport.scps.outage_signals",
        Kind::ErrorSignalsWithoutEffect => "transport.scps.corruption_signals",
        Kind::DataMissing => "transport.scps.best_effort",
        Kind::RetransmissionsTooLate => "transport.scps.best_effort.retransmissions",
        Kind::BufferBelowWait => "transport.receive_buffer",
        Kind::JumpAboveWindow => "transport.careful_resume",
        Kind::LossNoticeDoubtful => "transport.eln",
        Kind::StartAfterEnd => "start",
        Kind::StopAfterEnd => "stop",
        Kind::CannotComplete => "traffic",
        Kind::UselessEcc | Kind::NoiseWithoutRain | Kind::NoLock | Kind::NoModcod => "channel",
        Kind::QueueBelowPacket => "queue",
        Kind::AqmBelowRtt | Kind::AqmWithoutEffect => "aqm",
        Kind::MiddleboxWithoutEffect => "middlebox",
        Kind::ProxyWithoutEffect => "proxy",
        Kind::ArqWithoutEffect
        | Kind::ArqOutlastsRto
        | Kind::ArqWindowBelowBdp
        | Kind::ArqTimerBelowRtt => "arq",
        Kind::FecWithoutEffect | Kind::FecBelowBurst | Kind::FecTimerBelowBlock => "fec",
        Kind::FeedbackIncomplete | Kind::FeedbackWithoutEffect | Kind::FeedbackShared => "feedback",
        Kind::DemandOutlastsRto | Kind::DemandBeforeGrant | Kind::DemandBelowAcks => "demand",
        Kind::CompressionWithoutEffect | Kind::CompressionSpreadsLoss => "header_compression",
        Kind::MtuBlackHole => "mtu",
        Kind::EventWithoutEffect => "event",
        Kind::SmallQueue
        | Kind::AcksFillReturn
        | Kind::Overload
        | Kind::RateAboveBottleneck
        | Kind::ResponseBelowRtt
        | Kind::HeavyLoss
        | Kind::ManyEvents
        | Kind::NoSample
        | Kind::PhaseWithoutEvents
        | Kind::NothingRandom => "",
    }
}
