//! Points of figures of chosen connections, from a second reading of the capture.
//!
//! Each kind of lines is reduced to a fixed number of intervals, so that memory does not grow with
//! the capture: a vertical line for each interval from its lowest to its highest byte, and of steps
//! the first, last, lowest and highest point.

use std::path::Path;

use crate::connection::Seen;
use crate::error::CaptureError;
use crate::read_observed;

/// Vertical lines of one kind before they are joined.
const MOST_SINGLE: usize = 2000;
/// Intervals of joined lines.
const INTERVALS: usize = 1000;

/// Data of a connection in a time, for a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Number of the connection.
    pub connection: u64,
    /// True for data from the client to the server.
    pub to_server: bool,
    /// Times since the first packet of the capture in s.
    pub from_s: f64,
    /// End of the time in s.
    pub to_s: f64,
}

/// A vertical line: time in s since the first packet of the capture, first byte, and end, from 0.
pub type Bar = (f64, i64, i64);
/// A point of a line in steps: time in s and value.
pub type Step = (f64, f64);

/// Points of the figures of one direction of data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Segments with new data.
    pub sent: Vec<Bar>,
    /// Retransmissions, and other segments with data that was captured before.
    pub again: Vec<Bar>,
    /// SACK blocks.
    pub sacks: Vec<Bar>,
    /// Highest acknowledged byte.
    pub acked: Vec<Step>,
    /// End of the advertised window.
    pub edge: Vec<Step>,
    /// RTT samples in ms.
    pub rtt: Vec<Step>,
    /// Data in flight in bytes.
    pub flight: Vec<Step>,
    /// Advertised window in bytes.
    pub window: Vec<Step>,
    /// True if some lines were joined or points left out.
    pub reduced: bool,
}

/// Vertical lines, joined as soon as there are many.
#[derive(Clone, Debug, Default)]
struct Bars {
    single: Vec<Bar>,
    joined: Vec<Option<Bar>>,
}

impl Bars {
    fn add(&mut self, bar: Bar, place: impl Fn(f64) -> usize) {
        if self.joined.is_empty() {
            self.single.push(bar);
            if self.single.len() < MOST_SINGLE {
                return;
            }
            self.joined = vec![None; INTERVALS];
            for bar in std::mem::take(&mut self.single) {
                join(&mut self.joined[place(bar.0)], bar);
            }
            return;
        }
        join(&mut self.joined[place(bar.0)], bar);
    }

    /// All lines, and whether some are joined.
    fn all(self) -> (Vec<Bar>, bool) {
        let is_joined = !self.joined.is_empty();
        let joined = self.joined.into_iter().flatten();
        (self.single.into_iter().chain(joined).collect(), is_joined)
    }
}

fn join(joined: &mut Option<Bar>, bar: Bar) {
    *joined =
        Some(joined.map_or(bar, |(at, from, to)| (at.min(bar.0), from.min(bar.1), to.max(bar.2))));
}

/// Points of a line in steps; as soon as there are many, the first, last, lowest and highest one of
/// each interval.
///
/// Source: U. Jugel and others, "M4: a visualization-oriented time series data aggregation",
/// VLDB 2014.
#[derive(Clone, Debug, Default)]
struct Steps {
    single: Vec<Step>,
    intervals: Vec<Option<[Step; 4]>>,
}

impl Steps {
    fn add(&mut self, step: Step, place: impl Fn(f64) -> usize) {
        if self.intervals.is_empty() {
            self.single.push(step);
            if self.single.len() < MOST_SINGLE {
                return;
            }
            self.intervals = vec![None; INTERVALS];
            for step in std::mem::take(&mut self.single) {
                add_to(&mut self.intervals[place(step.0)], step);
            }
            return;
        }
        add_to(&mut self.intervals[place(step.0)], step);
    }

    /// All points, and whether some are left out.
    fn all(self) -> (Vec<Step>, bool) {
        if self.intervals.is_empty() {
            return (self.single, false);
        }
        let mut steps = Vec::new();
        for [first, last, low, high] in self.intervals.into_iter().flatten() {
            let mut inner = [low, high];
            inner.sort_by(|a, b| a.0.total_cmp(&b.0));
            steps.extend([first, inner[0], inner[1], last]);
        }
        steps.dedup();
        (steps, true)
    }
}

fn add_to(interval: &mut Option<[Step; 4]>, step: Step) {
    let [_, last, low, high] = interval.get_or_insert([step; 4]);
    *last = step;
    if step.1 < low.1 {
        *low = step;
    }
    if step.1 > high.1 {
        *high = step;
    }
}

/// Points of a request that are being collected.
#[derive(Clone, Debug, Default)]
struct Collected {
    sent: Bars,
    again: Bars,
    sacks: Bars,
    acked: Steps,
    edge: Steps,
    rtt: Steps,
    flight: Steps,
    window: Steps,
}

impl Collected {
    /// Takes a segment of the data, or an ACK for it.
    fn take(
        &mut self,
        at_s: f64,
        place: impl Fn(f64) -> usize + Copy,
        seen: &Seen<'_>,
        is_data: bool,
    ) {
        // The first byte of data is byte 0 of the figure.
        let byte = |position: i64| position - 1;
        if is_data {
            if seen.end > seen.start {
                let again = seen.repeated || seen.verdict.kind.is_retransmission();
                let bars = if again { &mut self.again } else { &mut self.sent };
                bars.add((at_s, byte(seen.start), byte(seen.end)), place);
                if let Some(flight) = seen.flight {
                    self.flight.add((at_s, flight as f64), place);
                }
            }
            return;
        }
        let Some(ack) = seen.ack else { return };
        self.acked.add((at_s, byte(ack) as f64), place);
        if let Some(edge) = seen.edge {
            self.edge.add((at_s, byte(edge) as f64), place);
            self.window.add((at_s, (edge - ack) as f64), place);
        }
        for &(from, to) in seen.sacks {
            self.sacks.add((at_s, byte(from), byte(to)), place);
        }
        if let Some(sample) = seen.sample.filter(|sample| sample.unambiguous && ack > 1) {
            self.rtt.add((at_s, sample.rtt_ns as f64 / 1e6), place);
        }
    }

    fn graph(self) -> Graph {
        let (sent, a) = self.sent.all();
        let (again, b) = self.again.all();
        let (sacks, c) = self.sacks.all();
        let (acked, d) = self.acked.all();
        let (edge, e) = self.edge.all();
        let (rtt, f) = self.rtt.all();
        let (flight, g) = self.flight.all();
        let (window, _) = self.window.all();
        let reduced = a || b || c || d || e || f || g;
        Graph { sent, again, sacks, acked, edge, rtt, flight, window, reduced }
    }
}

/// Reads the capture again, and collects the points of each request.
///
/// # Errors
/// Those of [`crate::read`].
pub fn graphs(
    path: &Path,
    requests: &[Request],
    progress: impl FnMut(u64) -> bool,
) -> Result<Vec<Graph>, CaptureError> {
    let mut collected = vec![Collected::default(); requests.len()];
    let mut zero = None;
    read_observed(path, progress, |seen| {
        let zero = *zero.get_or_insert(seen.zero_ns);
        for (request, collected) in requests.iter().zip(&mut collected) {
            let at_s = seen.at_ns.saturating_sub(zero) as f64 / 1e9;
            let within = request.from_s <= at_s && at_s <= request.to_s;
            if seen.connection == request.connection && within {
                let is_data = seen.to_server == request.to_server;
                collected.take(at_s, |at_s| interval(request, at_s), seen, is_data);
            }
        }
    })?;
    Ok(collected.into_iter().map(Collected::graph).collect())
}

/// Number of the interval of a time.
fn interval(request: &Request, at_s: f64) -> usize {
    let length = (request.to_s - request.from_s).max(1e-9);
    let place = (at_s - request.from_s) / length * INTERVALS as f64;
    // Negative and too large values end up at the ends.
    (place as usize).min(INTERVALS - 1)
}
