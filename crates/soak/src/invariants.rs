//! Invariants of every recording, whatever its scenario.

use recording::{
    FlowRecord, FlowSeries, LinkRecord, LinkSeries, PageRecord, Recording, Table, Values,
};
use scenario::Scenario;
use scenario::model::Flow;

use crate::conservation::copies;

/// Rounding of a sum of rates or times.
const ROUNDING: f64 = 1e-9;
/// The clock of the timestamps, of which an RTT sample may be short, in milliseconds.
const TICK_MS: f64 = 1.0;

/// The first invariant that `recording` of `scenario` breaks.
pub(crate) fn broken(scenario: &Scenario, recording: &Recording) -> Option<String> {
    let flows = || recording.flows.iter().zip(&scenario.flows);
    let of_flows = flows().find_map(|(record, flow)| {
        let missing = skipped(recording, &record.flow);
        flow_record(record, flow, missing).map(|text| format!("flow {}: {text}", record.flow))
    });
    of_flows
        .or_else(|| links(scenario, recording))
        .or_else(|| routers(scenario, recording))
        .or_else(|| fairness(recording))
        .or_else(|| flow_series(recording))
        .or_else(|| negative_zeros(recording))
        .or_else(|| link_series(&recording.link_series, recording))
}

/// A zero with a sign, as the sum of no values is, would be shown as "-0".
fn negative_zeros(recording: &Recording) -> Option<String> {
    Table::all(recording).find_map(|table| {
        let is_negative = |value: &f64| *value == 0.0 && value.is_sign_negative();
        let columns = table.columns(recording);
        let found = columns.iter().find(|column| match &column.values {
            Values::F64(values) => values.iter().any(is_negative),
            _ => false,
        })?;
        Some(format!("-0 in {} of the table {}", found.name, table.name(recording)))
    })
}

fn flow_record(record: &FlowRecord, flow: &Flow, missing: u64) -> Option<String> {
    let finite = [
        ("start_s", Some(record.start_s)),
        ("completion_s", record.completion_s),
        ("goodput_bps", Some(record.goodput_bps)),
        ("throughput_bps", Some(record.throughput_bps)),
        ("srtt_ms", record.srtt_ms),
        ("min_rtt_ms", record.min_rtt_ms),
        ("page_response_s", record.page_response_s),
        ("burst_completion_s", record.burst_completion_s),
    ];
    let finite = finite.into_iter().filter_map(|(name, value)| Some((name, value?)));
    if let Some((name, value)) = finite.into_iter().find(|(_, value)| !value.is_finite()) {
        return Some(format!("{name} is {value}"));
    }
    let (goodput, throughput) = (record.goodput_bps, record.throughput_bps);
    if goodput < 0.0 || goodput > throughput * (1.0 + ROUNDING) {
        return Some(format!("a goodput of {goodput} of a throughput of {throughput} bit/s"));
    }
    if let (Some(srtt), Some(min)) = (record.srtt_ms, record.min_rtt_ms)
        && srtt + TICK_MS < min
    {
        return Some(format!("an srtt of {srtt} ms and a minimum RTT of {min} ms"));
    }
    if let Some(text) = rtt_figures(record) {
        return Some(text);
    }
    if let Some(text) = limits(record) {
        return Some(text);
    }
    if record.completed && record.aborted {
        return Some("completed and aborted".into());
    }
    if record.completed != record.completion_s.is_some() {
        return Some("a completion time without completion, or none with it".into());
    }
    bytes(record, flow, missing)
}

/// Bytes that best-effort transport has not delivered to the receiver of a flow.
fn skipped(recording: &Recording, flow: &str) -> u64 {
    let Some(table) = recording.tables.iter().find(|table| table.name() == "best_effort") else {
        return 0;
    };
    let columns = table.columns();
    let values =
        |name: &str| columns.iter().find(|column| column.name == name).map(|one| &one.values);
    let (Some(Values::Text(flows)), Some(Values::U64(bytes))) =
        (values("flow"), values("skipped_bytes"))
    else {
        panic!("no counts of bytes that are missing")
    };
    flows.iter().zip(bytes.iter()).filter(|(name, _)| **name == flow).map(|(_, bytes)| bytes).sum()
}

/// The shares of what held a flow back are those of a whole.
fn limits(record: &FlowRecord) -> Option<String> {
    let shares = [
        record.limited_by_set_up?,
        record.limited_by_congestion_window?,
        record.limited_by_receive_window?,
        record.limited_by_send_buffer?,
        record.limited_by_application?,
        record.limited_by_recovery?,
        record.limited_by_pacing?,
    ];
    let sum: f64 = shares.iter().sum();
    let is_right = (sum - 1.0).abs() < ROUNDING && shares.iter().all(|share| *share >= 0.0);
    (!is_right).then(|| format!("limits with shares of {shares:?}, whose sum is {sum}"))
}

/// Percentiles rise. The minimum is that of the last connection, so it is only compared with the
/// maximum.
fn rtt_figures(record: &FlowRecord) -> Option<String> {
    let rising = [record.median_rtt_ms, record.p95_rtt_ms, record.p99_rtt_ms, record.max_rtt_ms];
    let (mean, max) = (record.mean_rtt_ms?, record.max_rtt_ms?);
    let min = record.min_rtt_ms.unwrap_or(0.0);
    let is_right = rising.is_sorted() && mean <= max && min <= max;
    (!is_right).then(|| format!("a minimum RTT of {min} ms, mean of {mean} ms and {rising:?}"))
}

/// Percentiles rise, and the mean is not above the maximum.
fn queueing_figures(record: &LinkRecord) -> Option<String> {
    let max = record.max_queue_bytes as f64;
    let delays = [
        record.median_queueing_delay_ms,
        record.p95_queueing_delay_ms,
        record.p99_queueing_delay_ms,
        record.max_queueing_delay_ms,
    ];
    let lengths =
        [record.median_queue_bytes, record.p95_queue_bytes, record.p99_queue_bytes, Some(max)];
    let is_right = delays.is_sorted()
        && lengths.is_sorted()
        && record.mean_queueing_delay_ms? <= record.max_queueing_delay_ms?
        && record.mean_queue_bytes? <= max;
    (!is_right).then(|| format!("a maximum queue of {max} B, {delays:?} ms and {lengths:?} B"))
}

/// Bytes that were delivered, and bytes that are missing for good, against the amount to deliver.
fn bytes(record: &FlowRecord, flow: &Flow, missing: u64) -> Option<String> {
    let arrived = record.bytes + missing;
    // In sessions there are as many transfers as there is time for.
    let transfer = flow.traffic.size().filter(|_| flow.sessions.is_none()).map(units::Bytes::get);
    let pages = flow.traffic.web().map(|web| web.page() * record.pages.len() as u64);
    if let Some(loading) = flow.traffic.loading() {
        let complete = record.pages.iter().filter(|page| page.response_s.is_some());
        let of_objects = |page: &PageRecord| page.objects.iter().map(|one| one.bytes).sum::<u64>();
        let bytes: u64 = if loading.is_drawn {
            complete.clone().map(of_objects).sum()
        } else {
            loading.bytes * complete.clone().count() as u64
        };
        if arrived < bytes {
            let pages = complete.count();
            return Some(format!("{pages} pages with {bytes} B in {} B", record.bytes));
        }
    }
    let size = transfer.or(pages).or(record.offered_bytes)?;
    if arrived > size {
        return Some(format!("{} B delivered and {missing} B missing of {size} B", record.bytes));
    }
    (transfer.is_some() && record.completed && arrived != size)
        .then(|| format!("completed with {} and {missing} B missing of {size} B", record.bytes))
}

fn links(scenario: &Scenario, recording: &Recording) -> Option<String> {
    // After the directions of links come the forwarding engines of nodes.
    let schemes = scenario.links.iter().flat_map(|link| link.header_compression);
    let schemes = schemes.chain(std::iter::repeat(None));
    recording.links.iter().zip(schemes).find_map(|(link, scheme)| {
        let place = format!("{} {}", link.link, link.direction);
        if !(0.0..=1.0 + ROUNDING).contains(&link.utilisation) {
            return Some(format!("{place}: a utilisation of {}", link.utilisation));
        }
        if let Some(text) = queueing_figures(link) {
            return Some(format!("{place}: {text}"));
        }
        let header = scheme.map_or(wire::tcp::HEADER, |scheme| scheme.shortest_header());
        (link.delivered_bytes < link.delivered_packets * u64::from(header)).then(|| {
            format!("{place}: {} packets of {} B", link.delivered_packets, link.delivered_bytes)
        })
    })
}

/// Routers with feedback (XCP, EBN, Quick-Start): each packet that a direction has delivered has
/// passed its router once, a rate is lowered only in a field that was treated, and only Quick-Start
/// denies requests.
fn routers(scenario: &Scenario, recording: &Recording) -> Option<String> {
    let table = recording.tables.iter().find(|table| table.name() == "feedback")?;
    let columns = table.columns();
    let values =
        |name: &str| columns.iter().find(|column| column.name == name).map(|one| &one.values);
    let texts = |name: &str| match values(name) {
        Some(Values::Text(texts)) => texts.clone(),
        _ => panic!("no texts of {name}"),
    };
    let counts = |name: &str| match values(name) {
        Some(Values::U64(counts)) => counts.to_vec(),
        _ => panic!("no counts of {name}"),
    };
    let [links, directions, protocols] = ["link", "direction", "feedback"].map(texts);
    let [treated, lowered, denied, others] =
        ["treated_packets", "lowered_packets", "denied_packets", "other_packets"].map(counts);
    let copies = copies(scenario, recording);
    (0..links.len()).find_map(|row| {
        let is_here = |record: &LinkRecord| {
            record.link == links[row] && record.direction == directions[row]
        };
        let place = recording.links.iter().position(is_here)?;
        // A router does not see the copies that are made on the way.
        let delivered = recording.links[place].delivered_packets - copies[place];
        let (treated, lowered, denied) = (treated[row], lowered[row], denied[row]);
        let is_right = lowered <= treated
            && denied <= lowered
            && (denied == 0 || protocols[row] == "quick-start")
            && treated + others[row] >= delivered;
        (!is_right).then(|| {
            format!(
                "{} {}: its {} router has treated {treated} packets, lowered {lowered}, denied {denied} and passed \
                 on {} others, and {delivered} packets were delivered",
                links[row], directions[row], protocols[row], others[row]
            )
        })
    })
}

fn fairness(recording: &Recording) -> Option<String> {
    let index = recording.jain_index?;
    let least = 1.0 / recording.flows.len() as f64;
    (!(least - ROUNDING..=1.0 + ROUNDING).contains(&index))
        .then(|| format!("a Jain index of {index}"))
}

/// Rows of one flow rise, and end with its totals.
fn flow_series(recording: &Recording) -> Option<String> {
    let FlowSeries {
        flow,
        t_s,
        cwnd_bytes: _,
        ssthresh_bytes: _,
        srtt_ms: _, // NaN before the first sample
        rto_ms,
        flight_bytes: _,
        delivered_bytes,
        sent_bytes,
        retransmitted,
        probes_sent,
        goodput_bps: _,
        throughput_bps: _,
    } = &recording.flow_series;
    let mut last: Vec<Option<usize>> = vec![None; recording.flows.len()];
    for row in 0..t_s.len() {
        let number = flow[row] as usize;
        if !(t_s[row].is_finite() && rto_ms[row].is_finite()) {
            return Some(format!("row {row} of flow_series has a time that is not finite"));
        }
        if delivered_bytes[row] > sent_bytes[row] {
            let (delivered, sent) = (delivered_bytes[row], sent_bytes[row]);
            return Some(format!("row {row} of flow_series: {delivered} B delivered, {sent} sent"));
        }
        if let Some(before) = last[number].replace(row) {
            let falls = |column: &[u64]| column[row] < column[before];
            let counters = [delivered_bytes, sent_bytes, retransmitted, probes_sent];
            if t_s[row] < t_s[before] || counters.into_iter().any(|column| falls(column)) {
                return Some(format!("flow_series runs back in row {row}"));
            }
        }
    }
    let ends =
        last.iter().zip(&recording.flows).filter_map(|(row, record)| Some(((*row)?, record)));
    let differs = |(row, record): &(usize, &FlowRecord)| delivered_bytes[*row] > record.bytes;
    let found = ends.into_iter().find(differs);
    found.map(|(row, record)| format!("row {row} has more than the {} B of its flow", record.bytes))
}

fn link_series(series: &LinkSeries, recording: &Recording) -> Option<String> {
    let LinkSeries {
        link,
        t_s,
        queue_packets,
        queue_bytes,
        utilisation,
        dropped_packets,
        corrupted_packets,
    } = series;
    let mut last: Vec<Option<usize>> = vec![None; recording.links.len()];
    for row in 0..t_s.len() {
        if !(0.0..=1.0 + ROUNDING).contains(&utilisation[row]) || !t_s[row].is_finite() {
            return Some(format!(
                "row {row} of link_series has a utilisation of {}",
                utilisation[row]
            ));
        }
        if (queue_packets[row] == 0) != (queue_bytes[row] == 0) {
            return Some(format!(
                "row {row} of link_series: packets without bytes, or bytes without packets"
            ));
        }
        if let Some(before) = last[link[row] as usize].replace(row) {
            let falls = |column: &[u64]| column[row] < column[before];
            if t_s[row] < t_s[before] || falls(dropped_packets) || falls(corrupted_packets) {
                return Some(format!("link_series runs back in row {row}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TCP-EBN over a link whose router answers it.
    fn ebn() -> (Scenario, Recording) {
        let text = r#"
duration = "5s"
[[link]]
between = ["a", "b"]
rate = "4Mbit/s"
delay = "20ms"
feedback = "ebn"
[[flow]]
from = "a"
to = "b"
controller = "ebn"
traffic = { bulk = "unlimited" }
"#;
        let scenario =
            Scenario::parse(text, "ebn.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
        let recording = simulator::run(&scenario, 1, simulator::Options::default());
        (scenario, recording)
    }

    #[test]
    fn a_router_that_has_seen_fewer_packets_than_its_link_delivered_is_found() {
        let (scenario, mut recording) = ebn();
        assert_eq!(broken(&scenario, &recording), None);
        // Packets that nobody has treated: as if an engine did not ask its router.
        recording.links[0].delivered_packets += 1000;
        recording.links[0].delivered_bytes += 1_000_000;
        let found = broken(&scenario, &recording).unwrap();
        assert!(found.contains("its ebn router has treated"), "{found}");
    }
}
