//! Traces of a run: a table with the time of each trace at which the run has started.

use recording::{ExtraTable, extra_table};
use scenario::Scenario;

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
    }
}

/// The table for a run with `seed`; `None` without traces.
pub fn trace_table(scenario: &Scenario, seed: u64) -> Option<ExtraTable> {
    let mut table = Starts::default();
    for link in &scenario.links {
        for (side, direction) in link.sides() {
            let trace = &direction.trace;
            if !trace.timeline.is_empty() {
                table.push(Start {
                    link: link.name.clone(),
                    direction: side.to_owned(),
                    start_s: link::trace_start(seed, trace.phase).as_secs_f64(),
                    length_s: trace.lasts.as_secs_f64(),
                });
            }
        }
    }
    table.into_table().filled()
}
