//! Bounds of what small numbers ask for: rows of a recording, writes and bursts of an application.
//! Beyond them a number is a slip of its unit: the run would take all memory, or its time would
//! stand still.

use language::error::Problem;
use language::path::Path;
use units::{Bytes, Rate, Span};

use crate::extent::{Rows, active, ports};
use crate::model::{Distribution, Flow, OnOff, Scenario, Writes};
use crate::routes::Routes;

/// Rows of a table of a recording: two gigabytes of the largest.
pub(crate) const MOST_ROWS: u64 = 20_000_000;

/// Writes of one application in a second. A write is a system call, and none is faster.
pub(crate) const MOST_WRITES: u64 = 10_000_000;

/// Bursts of one application in a second.
pub(crate) const MOST_BURSTS: u64 = 1_000_000;

const SECOND: u64 = 1_000_000_000;

/// Checks the number of rows that samples and web pages have in a recording.
pub(super) fn recorded(
    scenario: &Scenario,
    entries: &[usize],
    routes: &Routes,
    problems: &mut Vec<Problem>,
) {
    let rows = Rows::of(scenario, routes);
    if rows.flow_series.max(rows.link_series) > MOST_ROWS
        && let Some(interval) = scenario.record.interval
    {
        let each = ports(scenario).max(scenario.flows.len() as u64);
        let least = scenario.duration.as_nanos().div_ceil((MOST_ROWS / each).max(2) - 1);
        let expected = format!("at least \"{}\" with this `duration`", Span::from_nanos(least));
        let path = Path::default().key("record").key("interval");
        let problem = Problem::new(path, expected, format!("\"{interval}\""));
        problems.push(problem.because(format!(
            "a table has at most {MOST_ROWS} rows, and a sample is one for each flow and each \
             direction of a link"
        )));
    }
    if rows.objects > MOST_ROWS {
        let flow = scenario.flows.iter().position(|flow| flow.traffic.loading().is_some());
        let entry = flow.and_then(|flow| entries.get(flow)).copied().unwrap_or_default();
        let key = flow.map_or("web", |flow| scenario.flows[flow].traffic.key());
        let path = Path::entry("flow", entry).key("traffic").key(key);
        let expected = format!("pages with at most {MOST_ROWS} objects in all");
        let problem = Problem::new(path, expected, format!("up to {}", rows.objects));
        let objects = if key == "web" { "`embedded_objects`" } else { "objects" };
        problems.push(problem.because(format!(
            "each is a row of the recording; a longer `interval`, fewer `pages` and fewer \
             {objects} have fewer"
        )));
    }
}

/// Problems of the writes and bursts of an application, at any rate of TCP.
pub(super) fn application(scenario: &Scenario, flow: &Flow, path: &Path) -> Vec<Problem> {
    let path = path.key("traffic");
    let Some(Writes { rate, message, pattern }) = flow.traffic.writes() else { return Vec::new() };
    let path = path.key(flow.traffic.key());
    let bursts = pattern.and_then(|pattern| bursts(scenario, flow, &pattern, &path));
    writes(rate, message, &path).into_iter().chain(bursts).collect()
}

/// Small messages at a high rate.
fn writes(rate: Rate, message: Bytes, path: &Path) -> Option<Problem> {
    let least = rate.bits_per_second().div_ceil(8 * MOST_WRITES);
    (message.get() < least).then(|| {
        let expected = format!("at least \"{least}B\" with this `rate`");
        let problem = Problem::new(path.key("message"), expected, format!("\"{message}\""));
        problem.because(format!("an application writes at most {MOST_WRITES} times in a second"))
    })
}

/// Short bursts and pauses. Those of Pareto are hardly longer than the shortest if the shape is
/// near 1.
fn bursts(scenario: &Scenario, flow: &Flow, pattern: &OnOff, path: &Path) -> Option<Problem> {
    let least = Span::from_nanos(SECOND / MOST_BURSTS);
    let shortest = shortest_cycle(pattern);
    if shortest >= least || active(scenario, flow) <= least {
        return None;
    }
    let reason = format!("there are at most {MOST_BURSTS} bursts in a second");
    Some(match pattern.distribution {
        Distribution::Pareto { shape } => {
            let mean = (pattern.on + pattern.off).as_secs_f64();
            let expected = "a shape, `on` and `off` with bursts and pauses of at least \"1us\"";
            let found = format!("{shape:?} with {:.3e} s", mean * (shape - 1.0) / shape);
            Problem::new(path.key("shape"), expected, found).because(reason)
        }
        Distribution::Exponential | Distribution::Constant => {
            let expected = format!("at least \"{least}\" with `off`");
            let found = format!("\"{}\" with \"{}\"", pattern.on, pattern.off);
            Problem::new(path.key("on"), expected, found).because(reason)
        }
    })
}

/// A burst with the pause behind it: the shortest of Pareto, the mean of others.
pub fn shortest_cycle(pattern: &OnOff) -> Span {
    let mean = pattern.on + pattern.off;
    match pattern.distribution {
        Distribution::Pareto { shape } => {
            Span::from_secs_f64(mean.as_secs_f64() * (shape - 1.0) / shape)
        }
        Distribution::Exponential | Distribution::Constant => mean,
    }
}
