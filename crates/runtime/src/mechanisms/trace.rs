//! Traces of a run: a table with the time of each trace at which the run has started, and what it
//! has lost.

use link::Seed;
use network::PortReport;
use recording::{ExtraTable, extra_table};
use scenario::Scenario;

use crate::links::counted;

extra_table! {
    /// Traces, one row for each direction that follows one.
    pub(crate) Starts("trace") of Start {
        /// Name of the link.
        link: String,
        /// `forward` or `backward`.
        direction: String,
        /// Time of the trace at which the run starts, in seconds; zero unless the phase is random.
        start_s: f64,
        /// Length of the trace in seconds; of a round, if it repeats.
        length_s: f64,
        /// Transmissions that the trace has lost and the channel has not corrupted: packets, which
        /// `corrupted_packets` of the links includes, and those of ARQ and FEC. Zero without a loss
        /// column.
        lost_packets: u64,
    }
}

/// The table for a run with `seed`; `None` without traces.
pub fn trace_table(scenario: &Scenario, seed: &Seed, ports: &[PortReport]) -> Option<ExtraTable> {
    let mut table = Starts::default();
    let traces = counted(
        scenario,
        ports,
        |direction| (!direction.trace.timeline.is_empty()).then_some(&direction.trace),
        |port| Some(port.counters.lost_packets),
    );
    for (link, direction, trace, lost_packets) in traces {
        table.push(Start {
            link,
            direction,
            start_s: link::trace_start(seed, trace.phase).as_secs_f64(),
            length_s: trace.lasts.as_secs_f64(),
            lost_packets,
        });
    }
    table.into_table().filled()
}
