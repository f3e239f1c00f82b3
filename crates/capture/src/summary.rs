//! Results of connections, from their state at the end of the capture.

use sketch::Summary;

use crate::connection::{Connection, Handshake, TO_CLIENT, TO_SERVER};
use crate::flow::Times;
use crate::results::{ConnectionRecord, DirectionRecord};

/// Share of the RTT between capture and an end below which the capture is at that end.
const AT_END: f64 = 0.05;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The results of a connection. `zero_ns` is the time of the first packet of the capture.
pub(crate) fn summary(connection: &Connection, zero_ns: u64) -> ConnectionRecord {
    let [to_server, to_client] =
        [TO_SERVER, TO_CLIENT].map(|direction| direction_summary(connection, direction, zero_ns));
    let rtts @ [client, server] =
        [TO_SERVER, TO_CLIENT].map(|from| connection.missed_ns(from).map(milliseconds));
    let Handshake { server_ns, client_ns, .. } = connection.handshake;
    let since_start = |at: u64| seconds(at.saturating_sub(zero_ns));
    let mut record = ConnectionRecord {
        number: connection.number,
        client: connection.ends[0].to_string(),
        server: connection.ends[1].to_string(),
        client_known: connection.is_client_known,
        start_s: since_start(connection.first_at),
        duration_s: seconds(connection.last_at - connection.first_at),
        packets: to_server.packets + to_client.packets,
        handshake_rtt_ms: server_ns.zip(client_ns).map(|(a, b)| milliseconds(a + b)),
        client_rtt_ms: client,
        server_rtt_ms: server,
        captured_at: captured_at(rtts).map(str::to_owned),
        end: end(connection).to_owned(),
        idle_times: connection.idle.count,
        idle_s: seconds(connection.idle.total_ns),
        notes: Vec::new(),
        to_server,
        to_client,
    };
    record.notes = notes(&record);
    record
}

fn captured_at([client, server]: [Option<f64>; 2]) -> Option<&'static str> {
    let (client, server) = client.zip(server)?;
    let share = client / (client + server);
    Some(match share {
        _ if !share.is_finite() => return None,
        _ if share < AT_END => "client",
        _ if share > 1.0 - AT_END => "server",
        _ => "between",
    })
}

fn end(connection: &Connection) -> &'static str {
    match (connection.reset, connection.fins) {
        (_, [true, true]) => "closed",
        (Some(TO_SERVER), _) => "reset by client",
        (Some(_), _) => "reset by server",
        (None, [false, false]) => "open",
        (None, _) => "half-closed",
    }
}

fn direction_summary(connection: &Connection, direction: usize, zero_ns: u64) -> DirectionRecord {
    let (flow, receiver) = (&connection.flows[direction], &connection.flows[1 - direction]);
    let counts = flow.counts;
    let bytes = flow.holes.bytes + flow.holes.missing();
    let took = flow.first_data_at.map(|first| flow.last_data_at.saturating_sub(first));
    let goodput = took.filter(|&took| took > 0).map(|took| bytes as f64 * 8.0 / seconds(took));
    let scale_known = connection.sequences[1 - direction].scale.is_some();
    let since_start = |at: u64| seconds(at.saturating_sub(zero_ns));
    let rtt = times(&flow.rtt);
    let stamped = times(&flow.stamped_rtt);
    let offered = flow.offered;
    DirectionRecord {
        packets: counts.packets,
        data_segments: counts.data_segments,
        bytes,
        missing_bytes: flow.holes.missing(),
        sent_bytes: counts.sent_bytes,
        goodput_bps: goodput,
        retransmissions: counts.retransmitted,
        retransmitted_bytes: counts.retransmitted_bytes,
        fast_retransmissions: counts.fast,
        spurious_retransmissions: counts.spurious,
        other_retransmissions: counts.retransmitted - counts.fast - counts.spurious,
        repeated_segments: counts.repeated,
        out_of_order: counts.out_of_order,
        filled_gaps: counts.filled,
        gaps: counts.gaps,
        duplicate_acks: receiver.counts.duplicate_acks,
        unseen_acks: receiver.counts.unseen_acks,
        rtt_samples: flow.rtt.sketch.count() + flow.rtt.zeros,
        min_rtt_ms: flow.rtt.min.map(milliseconds),
        mean_rtt_ms: rtt.map(|it| it.mean),
        median_rtt_ms: rtt.map(|it| it.median),
        p95_rtt_ms: rtt.map(|it| it.p95),
        p99_rtt_ms: rtt.map(|it| it.p99),
        max_rtt_ms: rtt.map(|it| it.max),
        timestamp_rtt_samples: flow.stamped_rtt.sketch.count() + flow.stamped_rtt.zeros,
        min_timestamp_rtt_ms: flow.stamped_rtt.min.map(milliseconds),
        median_timestamp_rtt_ms: stamped.map(|it| it.median),
        p95_timestamp_rtt_ms: stamped.map(|it| it.p95),
        missed_rtt_ms: connection.missed_ns(direction).map(milliseconds),
        max_flight_bytes: flow.max_flight.map(i64::cast_unsigned),
        max_window_bytes: flow.max_window.filter(|_| scale_known).map(i64::cast_unsigned),
        window_limited_s: scale_known.then(|| seconds(flow.limited_ns)),
        window_full: counts.window_full,
        zero_windows: receiver.counts.zero_windows,
        zero_window_s: seconds(flow.closed_ns),
        zero_window_probes: counts.zero_window_probes,
        keep_alives: counts.keep_alives,
        stalls: flow.stalls.count,
        stalls_by_retransmission: flow.stalls.by_retransmission,
        stalls_by_window: flow.stalls.by_window,
        stalled_s: seconds(flow.stalls.total_ns),
        longest_stall_s: (flow.stalls.count > 0).then(|| seconds(flow.stalls.longest_ns)),
        longest_gap_s: seconds(flow.longest_gap_ns),
        mss: offered.and_then(|it| it.mss).map(u64::from),
        window_scale: offered.and_then(|it| it.window_scale).map(u64::from),
        sack_permitted: offered.map(|it| it.sack),
        timestamps: offered.map(|it| it.timestamps),
        longest_segment_bytes: flow.largest.into(),
        segments_longer_than_mss: flow.longer_than_mss,
        copies: counts.copies,
        resets: counts.resets,
        first_loss_sent_s: flow.first_loss.map(|it| since_start(it.sent_at)),
        first_loss_repeated_s: flow.first_loss.map(|it| since_start(it.again_at)),
        first_loss_acked_s: flow.first_loss.and_then(|it| it.acked_at).map(since_start),
    }
}

fn times(times: &Times) -> Option<Summary> {
    let summary = times.sketch.summary(times.zeros)?.per(1e6);
    // Within the error of the sketch, a percentile can be below the minimum, which is exact.
    let least = |value: f64| value.max(times.min.map_or(0.0, milliseconds));
    let Summary { mean, median, p95, p99, max } = summary;
    Some(Summary { mean, median: least(median), p95: least(p95), p99: least(p99), max })
}

/// Sentences on what limits the results of a connection.
fn notes(record: &ConnectionRecord) -> Vec<String> {
    let ConnectionRecord { to_server, to_client, .. } = record;
    let mut notes = Vec::new();
    let both = [to_server, to_client];
    if both.iter().any(|one| one.packets == 0) {
        notes.push(
            "One direction only: no RTT, flight size or window of its data is known.".to_owned(),
        );
    }
    let unknown = both.iter().any(|one| one.data_segments > 0 && one.window_limited_s.is_none());
    if unknown {
        let lacks = if record.client_known { "Not both SYNs were" } else { "The SYN was not" };
        notes
            .push(format!("{lacks} captured: the scale of the window and its limits are unknown."));
    }
    let longer: u64 = both.iter().map(|one| one.segments_longer_than_mss).sum();
    if longer > 0 {
        notes.push(format!(
            "{longer} segments are longer than the MSS: the capture was taken where a host offloads \
             segmentation, so one of them is several on the link."
        ));
    }
    let copies: u64 = both.iter().map(|one| one.copies).sum();
    if copies > 0 {
        notes.push(format!(
            "{copies} packets were captured twice, or duplicated by the network; the second ones are left out."
        ));
    }
    let missing: u64 = both.iter().map(|one| one.missing_bytes).sum();
    if missing > 0 {
        notes.push(format!("{missing} bytes of data are not in the capture."));
    }
    notes.extend(missed(record));
    notes
}

/// A sentence on the part of the RTT that the samples of the main direction miss.
fn missed(record: &ConnectionRecord) -> Option<String> {
    let ConnectionRecord { to_server, to_client, .. } = record;
    let is_download = to_client.bytes > to_server.bytes;
    let (main, sender) = if is_download { (to_client, "server") } else { (to_server, "client") };
    if main.rtt_samples == 0 {
        return None;
    }
    let missed = main.missed_rtt_ms?;
    let place = match record.captured_at.as_deref() {
        Some("between") | None => "between the ends",
        Some(end) if end == sender => return None,
        Some(_) => "at the receiver",
    };
    Some(format!(
        "Captured {place}: RTTs of the data miss the part between capture and {sender}, {missed:.1} ms."
    ))
}
