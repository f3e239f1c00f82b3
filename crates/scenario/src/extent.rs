//! The extent of a recording: how many rows it will have at most, and the memory that they take.
//!
//! Times come from the scenario alone: a run that ends earlier has fewer rows. Rows of
//! `record.events` depend on the run and are estimated in `explain`.

use applications::sessions;
use units::Span;

use crate::model::{Flow, Loading, Scenario, Way};
use crate::routes::Routes;

/// Bytes in memory of a row of `flow_series`.
pub const FLOW_ROW: u64 = 100;
/// Bytes in memory of a row of `link_series`.
pub const LINK_ROW: u64 = 48;
/// Bytes in memory of a row of `objects`.
pub const OBJECT_ROW: u64 = 32;

/// Upper bounds of the rows that samples and web pages make; with sessions, twice the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Of `flow_series`, without those of `record.events`.
    pub flow_series: u64,
    /// Of `link_series`.
    pub link_series: u64,
    /// Of `objects`.
    pub objects: u64,
}

impl Rows {
    /// The bounds for a scenario.
    pub fn of(scenario: &Scenario, routes: &Routes) -> Self {
        let objects = scenario.flows.iter().map(|flow| objects(scenario, routes, flow));
        let sampled = scenario.record.interval.map(|interval| {
            let rows = |from: Span| samples(scenario.duration.saturating_sub(from), interval);
            let flows = scenario.flows.iter().filter(|flow| flow.start <= scenario.duration);
            let of_flows = flows.map(|flow| rows(flow.start)).fold(0, u64::saturating_add);
            (of_flows, rows(Span::ZERO).saturating_mul(ports(scenario)))
        });
        let (flow_series, link_series) = sampled.unwrap_or_default();
        Self { flow_series, link_series, objects: objects.fold(0, u64::saturating_add) }
    }
}

/// Directions of links, and routers with a limit: each has a row for each sample.
pub fn ports(scenario: &Scenario) -> u64 {
    let routers = scenario.nodes.iter().filter(|node| node.forwarding.is_some()).count();
    (2 * scenario.links.len() + routers) as u64
}

/// Samples within `time`: one at its start, and the last at its end.
fn samples(time: Span, interval: Span) -> u64 {
    time.as_nanos().div_ceil(interval.as_nanos()).saturating_add(1)
}

/// Objects of all pages of a flow.
fn objects(scenario: &Scenario, routes: &Routes, flow: &Flow) -> u64 {
    let Some(loading) = flow.traffic.loading() else { return 0 };
    let time = active(scenario, flow).as_nanos();
    let page = shortest_page(scenario, routes, flow, &loading).as_nanos().max(1);
    // One at the start of the application, and one may start as the run ends.
    let most = time / page + 1;
    // Drawn ones may follow one another more quickly than on average.
    let most = if loading.is_drawn { 2 * most + 1 } else { most };
    let wanted = loading.pages.map_or(u64::MAX, u64::from);
    let pages = match &flow.sessions {
        None => wanted,
        Some(sessions) => pages_of_sessions(time, sessions, &loading),
    };
    pages.min(most).saturating_mul(loading.objects)
}

/// Pages of all sessions of a flow within `time` in nanoseconds: twice the mean and a session more,
/// because the times of sessions are drawn.
fn pages_of_sessions(time: u64, sessions: &sessions::Settings, loading: &Loading) -> u64 {
    let cycle = (sessions.pause + sessions.length).as_nanos().max(1);
    let of_length = sessions.length.as_nanos() / loading.interval.as_nanos().max(1) + 1;
    let each = loading.pages.map_or(of_length, |pages| of_length.min(pages.into()));
    (2 * (time / cycle) + 1).saturating_mul(each)
}

/// Time that an application has.
pub fn active(scenario: &Scenario, flow: &Flow) -> Span {
    let end = flow.stop.unwrap_or(scenario.duration).min(scenario.duration);
    end.saturating_sub(flow.start)
}

/// From the start of one page to the start of the next: a page takes a round trip for its main
/// object, and one for those embedded in it.
fn shortest_page(scenario: &Scenario, routes: &Routes, flow: &Flow, loading: &Loading) -> Span {
    let way = |(from, to): Way| {
        let hops = routes.path(from, to, &scenario.links);
        let delays = hops.iter().map(|hop| hop.direction(&scenario.links).least_delay());
        delays.fold(scenario.beam_delay((from, to)), |sum, delay| sum + delay)
    };
    let round_trips = flow.all_ways().map(|[data, acks]| way(data) + way(acks));
    let round_trip = round_trips.min().unwrap_or_default();
    let round_trips = if loading.objects > 1 { 2 } else { 1 };
    // Sessions may follow one another without an interval.
    let interval = if flow.sessions.is_some() { Span::ZERO } else { loading.interval };
    interval.max(round_trip * round_trips)
}
