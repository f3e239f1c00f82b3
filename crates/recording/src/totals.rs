//! Totals of a run. The field names are the JSON names and are stable: scripts depend on them.

pub(crate) mod flow;
pub(crate) mod kernel;
pub(crate) mod link;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod transport;

use serde::{Deserialize, Serialize};

use crate::series::{FlowSeries, LinkSeries};
use crate::tables::extra::ExtraTable;
use flow::{FlowRecord, SharedFigures};
use kernel::KernelRecord;
use link::LinkRecord;

/// Everything that one run leaves behind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// Name of the scenario.
    pub scenario: String,
    /// Backend that ran it.
    pub backend: Backend,
    /// Seed of the run.
    pub seed: u64,
    /// Version of Bentpipe that made it.
    pub version: String,
    /// Wall time of the run in seconds, or of the run that it is a copy of; no part of what is
    /// reproducible.
    pub wall_s: f64,
    /// Simulated time in seconds.
    pub simulated_s: f64,
    /// Events processed: packet arrivals and timers.
    pub events: u64,
    /// Packets sent through a link or a router's forwarding.
    pub packet_hops: u64,
    /// The run was interrupted before its end.
    pub partial: bool,
    /// One record for each flow.
    #[serde(deserialize_with = "SharedFigures::read")]
    pub flows: Vec<FlowRecord>,
    /// One record for each direction of each link.
    pub links: Vec<LinkRecord>,
    /// Jain's fairness index over the goodput of all flows; `None` without flows.
    pub jain_index: Option<f64>,
    /// How the testbed did; `None` from the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
    /// Tables that parts of the run declared by [`extra_table!`](crate::extra_table).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<ExtraTable>,
    /// Series of the flows, empty unless asked for.
    #[serde(skip)]
    pub flow_series: FlowSeries,
    /// Series of the links, empty unless asked for.
    #[serde(skip)]
    pub link_series: LinkSeries,
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In virtual time.
    #[default]
    Simulator,
    /// On the TCP of this machine's kernel, in real time.
    Kernel,
}

impl Backend {
    /// Its name on the command line and in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Kernel => "kernel",
        }
    }
}

/// Jain's fairness index, (sum x)^2 / (n sum x^2): 1 is fair, 1/n is unfair. `None` for no flow
/// or when all are zero.
pub fn jain_index(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        n += 1.0;
        sum += share;
        squares += share * share;
    }
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jain_index_of_the_adalr_table_comes_out() {
        let newreno = [322_418.0, 300_629.1, 263_129.2, 158_601.5, 129_560.8, 109_239.5];
        let index = jain_index(newreno).unwrap();
        assert!((index - 0.865_03).abs() < 1e-5, "{index}");
    }

    #[test]
    fn the_jain_index_is_one_for_equal_shares_and_one_nth_for_a_single_taker() {
        assert_eq!(jain_index([3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index([7.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index([]), None);
        assert_eq!(jain_index([0.0, 0.0]), None);
    }
}
