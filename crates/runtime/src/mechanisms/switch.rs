//! Switches, and the paths of their packets: a table of totals, and one of samples, in runs that
//! have any.

use network::{Counted, NodeReport};
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::Scenario;

use crate::mechanisms::{self, Reports};

extra_table! {
    /// Totals of switches, one row for each path of each router.
    pub(crate) Totals("switch") of Total {
        /// The router that sends.
        router: String,
        /// The other one.
        to: String,
        /// The node of the path.
        via: String,
        /// Packets that the router sent over the path. Those of BFD do not count.
        packets: u64,
        /// Bytes of these packets.
        bytes: u64,
        /// Moves of the router's packets to the path. The first path carries them at the start.
        moves: u64,
        /// Time of the last move in seconds; zero without one.
        moved_s: f64,
        /// Control packets of BFD that the router sent over the path.
        sent_probes: u64,
        /// Control packets of BFD that the router received over the path.
        received_probes: u64,
    }
}

extra_table! {
    /// Samples of these counters, at the times of the series of links.
    pub(crate) Samples("switch_series") of Sample {
        /// Number of the path: its row in the table `switch`.
        path: u32,
        /// Seconds since the start of the run.
        t_s: f64,
        /// True if the path carries the packets of the router.
        carries: bool,
        /// Packets that the router sent over the path, since the start.
        packets: u64,
        /// Bytes of these packets, since the start.
        bytes: u64,
    }
}

/// The reports of paths with their numbers.
fn of_paths(reports: &[NodeReport]) -> impl Iterator<Item = (u16, &NodeReport)> {
    reports.iter().filter_map(|report| match report.place {
        Counted::Path(path) => Some((path, report)),
        Counted::Node(_) | Counted::Port(_) | Counted::Gate(_) | Counted::Tunnel(_) => None,
    })
}

/// Collects samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Samples);

impl mechanisms::Recorder for Recorder {
    const TABLES: [TableDefinition; 2] = [Totals::DEFINITION, Samples::DEFINITION];

    fn new(_: &Scenario) -> Self {
        Self::default()
    }

    fn sample(&mut self, reports: &Reports<'_>) {
        for (path, report) in of_paths(reports.nodes) {
            self.0.push(Sample {
                path: path.into(),
                t_s: reports.at.as_secs_f64(),
                carries: report.count("carries") > 0,
                packets: report.count("packets"),
                bytes: report.count("bytes"),
            });
        }
    }

    fn into_table(self) -> Option<ExtraTable> {
        self.0.into_table().filled()
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Option<ExtraTable> {
        let mut totals = Totals::default();
        let routers = scenario.switches.iter().flat_map(|switch| [0, 1].map(|end| (switch, end)));
        let paths =
            routers.flat_map(|(switch, end)| switch.via.iter().map(move |via| (switch, end, *via)));
        for ((switch, end, via), (_, report)) in paths.zip(of_paths(reports.nodes)) {
            let name = |node: usize| scenario.nodes[node].name.clone();
            totals.push(Total {
                router: name(switch.ends[end]),
                to: name(switch.ends[1 - end]),
                via: name(via),
                packets: report.count("packets"),
                bytes: report.count("bytes"),
                moves: report.count("moves"),
                moved_s: report.count("moved_ns") as f64 / 1e9,
                sent_probes: report.count("sent_probes"),
                received_probes: report.count("received_probes"),
            });
        }
        totals.into_table().filled()
    }
}
