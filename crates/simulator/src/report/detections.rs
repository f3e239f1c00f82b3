//! Changes of the path that senders detect, compared with those of the scenario.
//!
//! Decisions:
//! - A change counts if it lies between the first and the last ACK of a connection. All others
//!   could not be seen.
//! - The first detection at or after a change and within `settle` of it is one of the change,
//!   unless another change comes first. All other detections are false alarms.

use congestion::{Detection, Specification, Watched};
use link::Seed;
use recording::{ExtraTable, extra_table};
use scenario::model::{Flow, HintSource};
use scenario::{Scenario, path_changes};
use units::{Span, Time};

extra_table! {
    /// Detected changes of the path, one row for each flow with a detector: sums over its
    /// connections.
    pub(super) Changes("path_changes") of Change {
        /// Name of the flow.
        flow: String,
        /// The rule of the detector.
        rule: String,
        /// Changes of the path during its connections, by the scenario.
        changes: u64,
        /// Changes that were detected.
        detected: u64,
        /// Changes that were not.
        missed: u64,
        /// Detections that belong to no change.
        false_alarms: u64,
        /// Mean time from a change to its detection in milliseconds; NaN without any.
        mean_delay_ms: f64,
        /// Longest such time in milliseconds; NaN without any.
        max_delay_ms: f64,
        /// Mean distance between a change and the time at which the detector takes it to be, in
        /// milliseconds; NaN without any.
        mean_error_ms: f64,
    }
}

extra_table! {
    /// Detections, in the order of the connections of each flow.
    pub(super) Detections("path_changes_series") of DetectionRow {
        /// Number of the flow.
        flow: u32,
        /// Number of the connection, in the order of their first ACKs.
        connection: u32,
        /// Sign of the change: `gap`, `rise` or `fall` of the smallest RTT.
        sign: String,
        /// Time of the detection in seconds.
        t_s: f64,
        /// Time at which the detector takes the change to be, in seconds.
        at_s: f64,
        /// Time of the change of the scenario in seconds; NaN for a false alarm.
        change_s: f64,
    }
}

/// Both tables; none without a flow that detects changes. `senders` are the controllers of the
/// flows.
pub(crate) fn tables<'a>(
    scenario: &Scenario,
    seed: &Seed,
    senders: impl Iterator<Item = &'a Specification>,
) -> Vec<ExtraTable> {
    let mut totals = Changes::default();
    let mut rows = Detections::default();
    let mut routes = None;
    for (number, (flow, sender)) in (0..).zip(scenario.flows.iter().zip(senders)) {
        let (Some(log), Some((rule, settle))) = (sender.detections(), detector(flow)) else {
            continue;
        };
        let routes = routes.get_or_insert_with(|| scenario::routes(scenario));
        let changes = path_changes(scenario, routes, flow, seed);
        let mut sum = Sum::default();
        for (connection, watched) in (0..).zip(log.connections()) {
            let found = compared(&watched, &changes, settle);
            sum.add(&watched, &changes, &found);
            for (detection, change) in found {
                rows.push(DetectionRow {
                    flow: number,
                    connection,
                    sign: detection.sign.name().to_owned(),
                    t_s: detection.now.as_secs_f64(),
                    at_s: detection.at.as_secs_f64(),
                    change_s: change.map_or(f64::NAN, Time::as_secs_f64),
                });
            }
        }
        totals.push(sum.row(flow.name.clone(), rule.to_owned()));
    }
    [totals.into_table().filled(), rows.into_table().filled()].into_iter().flatten().collect()
}

/// The rule of the detector of a flow, and its time to settle.
fn detector(flow: &Flow) -> Option<(&'static str, Span)> {
    match flow.path_hints.as_ref()?.source {
        HintSource::Detector { detector, .. } => Some((detector.rule.name(), detector.settle)),
        HintSource::Schedule { .. } | HintSource::Clock { .. } => None,
    }
}

/// Each detection with the change that it belongs to.
fn compared(watched: &Watched, changes: &[Time], settle: Span) -> Vec<(Detection, Option<Time>)> {
    let mut last = None;
    let with_change = |detection: &Detection| {
        let number = changes.partition_point(|at| *at <= detection.now).checked_sub(1)?;
        let at = changes[number];
        let is_seen = at >= watched.first && detection.now.since(at) <= settle;
        let is_first = last.replace(number) != Some(number);
        (is_seen && is_first).then_some(at)
    };
    let found: Vec<_> = watched.detections.iter().map(with_change).collect();
    watched.detections.iter().copied().zip(found).collect()
}

/// Sums over the connections of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    changes: u64,
    detected: u64,
    false_alarms: u64,
    /// In milliseconds.
    delays: f64,
    longest: f64,
    errors: f64,
}

impl Sum {
    fn add(&mut self, watched: &Watched, changes: &[Time], found: &[(Detection, Option<Time>)]) {
        let seen = changes.iter().filter(|at| (watched.first..=watched.last).contains(at));
        self.changes += seen.count() as u64;
        for (detection, change) in found {
            let Some(change) = change else {
                self.false_alarms += 1;
                continue;
            };
            let ms = |from: Time, to: Time| 1e3 * to.since(from).as_secs_f64();
            let delay = ms(*change, detection.now);
            self.detected += 1;
            self.delays += delay;
            self.longest = self.longest.max(delay);
            let at = detection.at;
            self.errors += ms(at.min(*change), at.max(*change));
        }
    }

    fn row(&self, flow: String, rule: String) -> Change {
        let of_detected = |value: f64| if self.detected > 0 { value } else { f64::NAN };
        Change {
            flow,
            rule,
            changes: self.changes,
            detected: self.detected,
            missed: self.changes - self.detected,
            false_alarms: self.false_alarms,
            mean_delay_ms: of_detected(self.delays / self.detected as f64),
            max_delay_ms: of_detected(self.longest),
            mean_error_ms: of_detected(self.errors / self.detected as f64),
        }
    }
}
