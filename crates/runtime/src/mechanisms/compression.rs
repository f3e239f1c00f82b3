//! Header compression of the links of a scenario, and what it did: a table of totals, and one of
//! samples, in runs that have it.

use middlebox::{Coded, CompressorCounters, Decompressor, DecompressorCounters, Seen, Visible};
use network::{Compressor, Counted, Fabric, NodeId, Packet};
use recording::extra_table;
use scenario::Scenario;
use units::Time;

use crate::mechanisms::{self, Reports};
use crate::nodes::Passing;
use crate::topology::number;

extra_table! {
    /// Totals of header compression, one row for each direction that has it.
    pub(crate) Totals("header_compression") of Total {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// The scheme.
        scheme: String,
        /// Packets that the compressor has sent.
        packets: u64,
        /// Those whose header became shorter.
        compressed_packets: u64,
        /// Headers in full, or all of them that may change, although their context was known.
        refreshes: u64,
        /// Bytes of TCP/IP headers before compression.
        header_bytes: u64,
        /// Bytes of the same headers on the link. It can be more, because full headers of ROHC have
        /// a checksum of their own.
        sent_header_bytes: u64,
        /// Packets that arrived, but whose header could not be restored.
        undecodable_packets: u64,
        /// Contexts that could be used again after such packets.
        repairs: u64,
        /// Messages of the decompressor to the compressor.
        feedback_packets: u64,
        /// Those that have arrived.
        arrived_feedback_packets: u64,
    }
}

extra_table! {
    /// Samples of header compression, at the times of the series of links.
    pub(crate) Samples("header_compression_series") of Sample {
        /// Number of the link direction in the recording's `links`.
        link: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// Bytes of TCP/IP headers before compression, since the start.
        header_bytes: u64,
        /// Bytes of the same headers on the link, since the start.
        sent_header_bytes: u64,
        /// Packets whose header could not be restored, since the start.
        undecodable_packets: u64,
        /// Refreshes since the start.
        refreshes: u64,
    }
}

/// Content of a packet on a link with header compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnLink {
    /// The port of its compressor.
    pub port: u16,
    /// Its length without compression.
    pub bytes: u16,
    pub coded: Coded,
}

/// The far end of a port with header compression.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub port: u16,
    /// The node with the compressor, and the port that leads there.
    pub from: NodeId,
    pub reverse: u16,
    pub decompressor: Decompressor,
}

impl Receiver {
    /// Names of what is counted, and how many.
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        // Without `..`, so that a new counter has to stand in the table.
        let DecompressorCounters { undecodable_packets, repairs, feedback_packets } =
            self.decompressor.counters();
        [
            ("undecodable_packets", undecodable_packets),
            ("repairs", repairs),
            ("feedback_packets", feedback_packets),
        ]
    }
}

/// The compressor of one port.
#[derive(Clone, Debug)]
struct Sender {
    port: u16,
    compressor: middlebox::Compressor,
}

impl<B: Visible> Compressor<Passing<B>> for Sender {
    fn leaves(&mut self, now: Time, packet: &mut Packet<Passing<B>>) {
        if packet.body.feedback().is_some() {
            return;
        }
        let &mut Packet { bytes, ecn, .. } = packet;
        let seen = Seen { header: packet.body.header(), bytes, ecn };
        let (coded, sent) = self.compressor.compress(now, &seen);
        packet.body.compressed = Some(OnLink { port: self.port, bytes, coded });
        packet.bytes = sent;
    }

    fn on_feedback(&mut self, packet: &Packet<Passing<B>>) {
        if let Some(feedback) = packet.body.feedback() {
            self.compressor.on_feedback(feedback);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        // Without `..`, so that a new counter has to stand in the table.
        let CompressorCounters {
            packets,
            compressed_packets,
            refreshes,
            header_bytes,
            sent_header_bytes,
            arrived_feedback_packets,
        } = self.compressor.counters();
        vec![
            ("packets", packets),
            ("compressed_packets", compressed_packets),
            ("refreshes", refreshes),
            ("header_bytes", header_bytes),
            ("sent_header_bytes", sent_header_bytes),
            ("arrived_feedback_packets", arrived_feedback_packets),
        ]
    }

    fn boxed_clone(&self) -> Box<dyn Compressor<Passing<B>>> {
        Box::new(self.clone())
    }
}

/// Returns true if a link of the scenario compresses headers.
pub(crate) fn is_in_use(scenario: &Scenario) -> bool {
    scenario.links.iter().any(|link| link.header_compression.iter().any(Option::is_some))
}

/// Sets the compressors of the scenario's links, before any packet is sent. Returns their far ends.
pub(crate) fn set_compressors<B: Visible>(
    scenario: &Scenario,
    fabric: &mut (impl Fabric<Passing<B>> + ?Sized),
) -> Vec<Receiver> {
    let mut receivers = Vec::new();
    for (place, link) in scenario.links.iter().enumerate() {
        for (side, settings) in link.header_compression.into_iter().enumerate() {
            let Some(settings) = settings else { continue };
            let port = 2 * place + side;
            let compressor = middlebox::Compressor::new(settings, scenario.ip);
            let sender = Sender { port: number(port), compressor };
            fabric.set_compressor(port, Box::new(sender));
            receivers.push(Receiver {
                port: number(port),
                from: NodeId(number(link.ends[side])),
                reverse: number(port ^ 1),
                decompressor: Decompressor::new(settings),
            });
        }
    }
    receivers
}

/// Has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorder;

impl mechanisms::Recorder for Recorder {
    type Totals = Totals;
    type Samples = Samples;

    fn new(_: &Scenario) -> Self {
        Self
    }

    fn sample(&mut self, reports: &Reports<'_>, samples: &mut Samples) {
        for (port, report) in reports.counted(Counted::port) {
            samples.push(Sample {
                link: port.into(),
                t_s: reports.at.as_secs_f64(),
                header_bytes: report.count("header_bytes"),
                sent_header_bytes: report.count("sent_header_bytes"),
                undecodable_packets: report.count("undecodable_packets"),
                refreshes: report.count("refreshes"),
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        for (port, report) in reports.counted(Counted::port) {
            let (place, side) = (usize::from(port / 2), usize::from(port % 2));
            let link = &scenario.links[place];
            let Some(scheme) = link.header_compression[side] else { continue };
            totals.push(Total {
                link: link.name.clone(),
                direction: ["forward", "backward"][side].to_owned(),
                scheme: scheme.name().to_owned(),
                packets: report.count("packets"),
                compressed_packets: report.count("compressed_packets"),
                refreshes: report.count("refreshes"),
                header_bytes: report.count("header_bytes"),
                sent_header_bytes: report.count("sent_header_bytes"),
                undecodable_packets: report.count("undecodable_packets"),
                repairs: report.count("repairs"),
                feedback_packets: report.count("feedback_packets"),
                arrived_feedback_packets: report.count("arrived_feedback_packets"),
            });
        }
        totals
    }
}
