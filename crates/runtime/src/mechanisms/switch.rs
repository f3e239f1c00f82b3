//! Switches, and the paths of their packets: a table of totals, and one of samples, in runs that
//! have any.

use network::Counted;
use recording::extra_table;
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
        for (path, report) in reports.counted(Counted::path) {
            samples.push(Sample {
                path: path.into(),
                t_s: reports.at.as_secs_f64(),
                carries: report.count("carries") > 0,
                packets: report.count("packets"),
                bytes: report.count("bytes"),
            });
        }
    }

    fn totals(scenario: &Scenario, reports: &Reports<'_>) -> Totals {
        let mut totals = Totals::default();
        let routers = scenario.switches.iter().flat_map(|switch| [0, 1].map(|end| (switch, end)));
        let paths =
            routers.flat_map(|(switch, end)| switch.via.iter().map(move |via| (switch, end, *via)));
        for ((switch, end, via), (_, report)) in paths.zip(reports.counted(Counted::path)) {
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
        totals
    }
}
