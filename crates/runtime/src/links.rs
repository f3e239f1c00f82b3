//! Results of links: totals, and series if the scenario has them.

use network::{NodeReport, PortReport, QueueReport};
use recording::{ExtraTable, LinkRecord, LinkSample, LinkSeries};
use scenario::Scenario;
use scenario::model::Direction;
use units::{Span, Time};

use crate::mechanisms::{self, Recorders, Reports};
use crate::totals::NS_PER_MS;

/// Collects the series of links while a run goes on.
#[derive(Clone, Debug)]
pub struct LinkRecorder {
    last_sample: Time,
    last_busy: Vec<Span>,
    series: LinkSeries,
    mechanisms: Recorders,
}

/// Samples of all links.
#[derive(Clone, Debug, Default)]
pub struct LinkSamples {
    /// Series that all links have.
    pub series: LinkSeries,
    /// Tables of mechanisms that some links have.
    pub tables: Vec<ExtraTable>,
}

impl LinkRecorder {
    /// No samples yet.
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            last_sample: Time::ZERO,
            last_busy: Vec::new(),
            series: LinkSeries::default(),
            mechanisms: Recorders::new(scenario),
        }
    }

    /// Adds a row for each port, and for what mechanisms have counted. `at` must not go back.
    pub fn sample(&mut self, at: Time, ports: &[PortReport], nodes: &[NodeReport]) {
        let elapsed = at.since(self.last_sample).as_secs_f64();
        self.last_sample = at;
        self.last_busy.resize(ports.len(), Span::ZERO);
        for (number, (port, last_busy)) in (0..).zip(ports.iter().zip(&mut self.last_busy)) {
            let busy = port.busy.saturating_sub(*last_busy).as_secs_f64();
            *last_busy = port.busy;
            self.series.push(LinkSample {
                link: number,
                t_s: at.as_secs_f64(),
                queue_packets: u32::try_from(port.waiting_packets).unwrap_or(u32::MAX),
                queue_bytes: port.waiting_bytes,
                utilisation: if elapsed > 0.0 { busy / elapsed } else { 0.0 },
                dropped_packets: port.counters.dropped_packets,
                corrupted_packets: port.counters.corrupted_packets,
            });
        }
        self.mechanisms.sample(&Reports { at, ports, nodes });
    }

    /// Number of rows so far.
    pub fn rows(&self) -> usize {
        self.series.len()
    }

    /// All rows so far.
    pub fn finish(self) -> LinkSamples {
        LinkSamples { series: self.series, tables: self.mechanisms.into_tables() }
    }
}

/// The totals of the mechanisms that some links and nodes have, after a run that lasted until
/// `end`.
pub fn link_tables(
    scenario: &Scenario,
    end: Time,
    ports: &[PortReport],
    nodes: &[NodeReport],
) -> Vec<ExtraTable> {
    mechanisms::totals(scenario, &Reports { at: end, ports, nodes })
}

/// Counts of one mechanism in each direction that has it: names of the link and of the direction,
/// the settings and the counters.
pub(crate) fn counted<'a, S, C>(
    scenario: &'a Scenario,
    ports: &'a [PortReport],
    settings: impl Fn(&'a Direction) -> Option<S>,
    counters: impl Fn(&PortReport) -> Option<C>,
) -> impl Iterator<Item = (String, String, S, C)> {
    let directions = scenario
        .links
        .iter()
        .flat_map(|link| link.sides().map(|(side, direction)| (&link.name, side, direction)));
    directions.zip(ports).filter_map(move |((link, side, direction), port)| {
        let found = settings(direction).zip(counters(port));
        found.map(|(settings, counters)| (link.clone(), side.to_owned(), settings, counters))
    })
}

/// The totals of a topology's ports after a run of `end`: both directions of each link, then the
/// routers with limited forwarding.
pub fn link_records(
    scenario: &Scenario,
    end: Time,
    ports: &[PortReport],
    queues: &[QueueReport],
) -> Vec<LinkRecord> {
    let links = scenario
        .links
        .iter()
        .flat_map(|link| link.sides().map(|(side, _)| (link.name.clone(), side)));
    let routers = scenario
        .nodes
        .iter()
        .filter(|node| node.forwarding.is_some())
        .map(|node| (node.name.clone(), "forwarding"));
    let elapsed = end.as_secs_f64();
    links
        .chain(routers)
        .zip(ports.iter().zip(queues))
        .map(|((link, direction), (port, queue))| {
            let figures = queue.delay().zip(queue.bytes());
            let (delay, length) =
                figures.map(|(delay, length)| (delay.per(NS_PER_MS), length)).unzip();
            LinkRecord {
                link,
                direction: direction.to_owned(),
                utilisation: if elapsed > 0.0 { port.busy.as_secs_f64() / elapsed } else { 0.0 },
                delivered_packets: port.delivered_packets,
                delivered_bytes: port.delivered_bytes,
                dropped_packets: port.counters.dropped_packets,
                corrupted_packets: port.counters.corrupted_packets,
                max_queue_bytes: port.counters.max_waiting_bytes,
                mean_queueing_delay_ms: delay.map(|delay| delay.mean),
                median_queueing_delay_ms: delay.map(|delay| delay.median),
                p95_queueing_delay_ms: delay.map(|delay| delay.p95),
                p99_queueing_delay_ms: delay.map(|delay| delay.p99),
                max_queueing_delay_ms: delay.map(|delay| delay.max),
                mean_queue_bytes: length.map(|length| length.mean),
                median_queue_bytes: length.map(|length| length.median),
                p95_queue_bytes: length.map(|length| length.p95),
                p99_queue_bytes: length.map(|length| length.p99),
            }
        })
        .collect()
}
