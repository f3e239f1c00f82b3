//! The cost of a run before it runs: rows and memory of its recording, and events that no packet
//! causes.
//!
//! An event of the simulator is the arrival of a packet, a timer, a write of an application or a
//! sample. Most scenarios have one or two events per packet and hop. Some have many more:
//! applications that write what TCP cannot take, probes by the window and not by the data, samples
//! and changes of links faster than packets. A scenario with more than [`MOST_PER_PACKET`] of them
//! for each packet, and more than [`FEW`] in all, has a warning.

use congestion::Controller;
use serde::Serialize;
use transport::Protocol;
use units::{Bytes, Rate, Span};

use super::about::About;
use super::{FlowExplanation, text};
use scenario::Routes;
use scenario::extent::{FLOW_ROW, LINK_ROW, OBJECT_ROW, Rows, active};
use scenario::model::{Flow, Scenario, Writes};
use scenario::shortest_cycle;

/// Events for each packet of data beyond which there is a warning.
pub(crate) const MOST_PER_PACKET: f64 = 100.0;
/// Events that take a second at most, of any kind.
const FEW: f64 = 1e6;

/// Events of TCP that take the time of one write to a QUIC stream.
const EVENTS_OF_QUIC: f64 = 4.0;
/// Kept writes that quinn searches in the time of one event of TCP. For each piece of a packet it
/// passes over all that are not acknowledged (`SendBuffer::get`).
const SEARCHED: f64 = 1000.0;

/// Rows and memory of a recording, at most. A run that ends earlier has fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingExplanation {
    /// Rows of `flow_series` by samples.
    pub flow_series_rows: u64,
    /// Rows of `link_series`.
    pub link_series_rows: u64,
    /// Rows of `flow_series` by `record.events`, estimated: a change for each segment that arrives,
    /// and one for each that is acknowledged.
    pub event_rows: u64,
    /// Rows of `objects`.
    pub object_rows: u64,
    /// Memory of these rows, in bytes.
    pub memory_bytes: u64,
}

impl RecordingExplanation {
    pub(crate) fn of(
        scenario: &Scenario,
        routes: &Routes,
        flows: &[(FlowExplanation, &Flow)],
    ) -> Self {
        let rows = Rows::of(scenario, routes);
        let packets = flows.iter().map(|(explanation, flow)| packets(scenario, explanation, flow));
        let events = if scenario.record.events { 2.0 * packets.sum::<f64>() } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, reason = "an estimate, which saturates")]
        let event_rows = events as u64;
        Self {
            flow_series_rows: rows.flow_series,
            link_series_rows: rows.link_series,
            event_rows,
            object_rows: rows.objects,
            memory_bytes: FLOW_ROW
                .saturating_mul(rows.flow_series.saturating_add(event_rows))
                .saturating_add(LINK_ROW * rows.link_series)
                .saturating_add(OBJECT_ROW * rows.objects),
        }
    }

    /// Returns true if there is more than totals.
    pub(crate) fn has_rows(&self) -> bool {
        self.memory_bytes > 0
    }

    /// For people: how many rows of what, and their memory.
    pub(crate) fn text(&self) -> String {
        let parts = [
            (self.flow_series_rows, "rows of flow_series"),
            (self.event_rows, "rows of flow_series for changes (estimated)"),
            (self.link_series_rows, "rows of link_series"),
            (self.object_rows, "rows of objects"),
        ];
        let parts = parts.into_iter().filter(|(rows, _)| *rows > 0);
        let parts: Vec<_> = parts.map(|(rows, what)| format!("{rows} {what}")).collect();
        format!("at most {}: {}", parts.join(", "), text::bytes(self.memory_bytes as f64))
    }
}

/// Full segments that one flow sends at most, without retransmissions; at least one.
fn packets(scenario: &Scenario, explanation: &FlowExplanation, flow: &Flow) -> f64 {
    let figures = &explanation.figures;
    let seconds = active(scenario, flow).as_secs_f64();
    let carried = figures.bounds.goodput_bps() * seconds / 8.0;
    let size = flow.traffic.size().map(|size| size.get() as f64);
    let pages = flow.traffic.loading().map(|loading| {
        let interval = loading.interval.as_secs_f64().max(figures.propagation_rtt_ms / 1e3);
        let pages = loading.pages.map_or(f64::INFINITY, f64::from);
        loading.bytes as f64 * pages.min((seconds / interval).ceil())
    });
    let offered = figures.offered.map(|offered| offered.mean_bps * seconds / 8.0);
    let wanted = size.or(pages).or(offered).unwrap_or(f64::INFINITY);
    let segment = f64::from(flow.transport.plan().full_payload());
    explanation.count as f64 * (carried.min(wanted) / segment).max(1.0)
}

/// Events that no packet of data causes, by what causes most of them.
struct Extra {
    events: f64,
    cause: String,
}

/// Cost of the application of a flow and the probes of its controller.
fn extra(scenario: &Scenario, explanation: &FlowExplanation, flow: &Flow) -> Extra {
    let seconds = active(scenario, flow).as_secs_f64();
    let copies = explanation.count as f64;
    let Some(written) = flow.traffic.writes() else { return probes(explanation, flow) };
    let Writes { rate, message, pattern } = written;
    let writes =
        written.share() * seconds * rate.bits_per_second() as f64 / 8.0 / message.get() as f64;
    let bursts = pattern.map_or(0.0, |pattern| seconds / shortest_cycle(&pattern).as_secs_f64());
    let all = copies * (writes + bursts);
    let cause = format!("the application writes {} times", text::count(all));
    let written = if flow.protocol() == Protocol::Quic {
        let kept = kept_writes(explanation, rate, message);
        let searched = format!("and QUIC searches up to {} writes for each", text::count(kept));
        Extra {
            events: all * (EVENTS_OF_QUIC + kept / SEARCHED),
            cause: format!("{cause}, {searched}"),
        }
    } else {
        Extra { events: all, cause }
    };
    let probed = probes(explanation, flow);
    if probed.events > written.events { probed } else { written }
}

/// Writes that quinn keeps until they are acknowledged, each in a piece of its own.
fn kept_writes(explanation: &FlowExplanation, rate: Rate, message: Bytes) -> f64 {
    let figures = &explanation.figures;
    let in_flight = rate.bits_per_second() as f64 / 8.0 * figures.propagation_rtt_ms / 1e3;
    (in_flight.min(figures.window_bytes as f64) / message.get() as f64).max(1.0)
}

/// The start of a connection with probes sends one for each segment of the window, whatever it has
/// to send. Each is answered, and both pass all hops.
fn probes(explanation: &FlowExplanation, flow: &Flow) -> Extra {
    let figures = &explanation.figures;
    let nothing = Extra { events: 0.0, cause: String::new() };
    if !flow.controller.build(&flow.transport.plan().controller()).needs().probes {
        return nothing;
    }
    let hops = (explanation.route.len() + explanation.return_route.len()).saturating_sub(2);
    let connections = explanation.count as f64 * f64::from(figures.connections);
    let probes = figures.window_segments as f64 * connections;
    Extra {
        events: probes * hops as f64,
        cause: format!(
            "the controller sends {} probes, one for each segment of the window of {}",
            text::count(probes),
            text::bytes(figures.window_bytes as f64)
        ),
    }
}

/// Warnings about events that no packet causes: what causes them, its name, and the text.
pub(crate) fn warnings(
    scenario: &Scenario,
    recording: &RecordingExplanation,
    flows: &[(FlowExplanation, &Flow)],
) -> Vec<(About, String, String)> {
    let of_flows = flows.iter().enumerate().filter_map(|(entry, (explanation, flow))| {
        let sent = packets(scenario, explanation, flow);
        let text = warning(extra(scenario, explanation, flow), sent)?;
        Some((About::Flow(entry), explanation.name.clone(), text))
    });
    let all = flows.iter().map(|(explanation, flow)| packets(scenario, explanation, flow)).sum();
    let rows = recording.flow_series_rows.saturating_add(recording.link_series_rows) as f64;
    let sampled = Extra { events: rows, cause: format!("samples are {} rows", text::count(rows)) };
    let of_samples =
        warning(sampled, all).map(|text| (About::Key("record"), "record".to_owned(), text));
    let changes = changes(scenario);
    let changed =
        Extra { events: changes, cause: format!("links change {} times", text::count(changes)) };
    let changing = scenario.links.iter().position(|link| {
        [&link.forward, &link.backward].iter().any(|side| side.changes().next().is_some())
    });
    let of_changes = changing.and_then(|link| {
        let text = warning(changed, all)?;
        Some((About::Link(link), "link events".to_owned(), text))
    });
    of_flows.chain(of_samples).chain(of_changes).collect()
}

fn warning(extra: Extra, packets: f64) -> Option<String> {
    let each = extra.events / packets;
    (extra.events > FEW && each > MOST_PER_PACKET).then(|| {
        format!(
            "{}, for at most {} packets of data: {} events for each, which take most of the time",
            extra.cause,
            text::count(packets),
            text::count(each)
        )
    })
}

/// How often links change in a run.
fn changes(scenario: &Scenario) -> f64 {
    let sides = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let all = sides.flat_map(|side| side.changes());
    let times = all.map(|change| {
        let left = scenario.duration.saturating_sub(change.at);
        match change.every {
            Some(every) => left.as_secs_f64() / every.max(Span::from_nanos(1)).as_secs_f64(),
            None => 1.0,
        }
    });
    times.sum()
}
