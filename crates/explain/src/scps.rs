//! SCPS-TP before a run: rates and windows that overflow a queue where no loss reduces them, and
//! data that will be missing.

use congestion::{Ecn, Specification};
use tcp::Cause;

use super::figures::{Figures, Limit, Rated};
use super::text::{bytes, rate};
use scenario::Routes;
use scenario::model::{Channel, Direction, Flow, Scenario};

/// The rates of the routes of a flow's hosts: of the one that sends the data, and of the one that
/// acknowledges it.
pub(crate) fn limits(scenario: &Scenario, routes: &Routes, flow: &Flow) -> [Option<Limit>; 2] {
    flow.ways().map(|(from, to)| {
        flow.transport.scps()?;
        let number = scenario.route_rate(routes, from, to)?;
        let bucket = scenario.route_rates[number].bucket;
        Some(Limit {
            place: format!("{} (scps.rate)", scenario.nodes[from].name),
            rate_bps: bucket.rate.bits_per_second() as f64,
            burst_bytes: bucket.burst.get() as f64,
        })
    })
}

/// Returns true if losses leave what a flow sends as it is.
fn is_uncontrolled(flow: &Flow, cause: Cause) -> bool {
    flow.controller == Specification::unlimited() || cause == Cause::Corruption
}

/// Routes with rates above what the path carries, without a congestion window that losses reduce.
pub(crate) fn rate_above(flow: &Flow, figures: &Figures) -> Option<String> {
    let scps = flow.transport.scps()?;
    let Rated { place, place_bps, routes, .. } = figures.rated.as_ref()?;
    let fits = routes.rate_bps <= *place_bps || figures.wanted() < figures.capacity_bps;
    if scps.rate.is_none() || fits || !is_uncontrolled(flow, scps.cause) {
        return None;
    }
    let those = match routes.count {
        1 => "scps.rate of ".to_owned(),
        many => format!("the rates of {many} routes (scps.rate), together "),
    };
    Some(format!(
        "{those}{} {} above the rate of {place}, {}: no loss reduces what is sent, and its queue overflows",
        rate(routes.rate_bps),
        if routes.count == 1 { "is" } else { "are" },
        rate(*place_bps),
    ))
}

/// A bucket that is larger than the queue of the bottleneck. What a full one lets through at once
/// is lost there.
pub(crate) fn burst_overflows(flow: &Flow, figures: &Figures) -> Option<String> {
    let scps = flow.transport.scps()?;
    let Rated { place, queue_bytes, routes, .. } = figures.rated.as_ref()?;
    let packet = figures.packet_bytes as f64;
    let overflows = routes.burst_bytes > (*queue_bytes)? + packet;
    (overflows && scps.rate.is_some() && is_uncontrolled(flow, scps.cause)).then(|| {
        format!(
            "the bucket of scps.rate lets {} pass at once after a pause, more than the queue of {place} holds, {}: \
             the rest is lost",
            bytes(routes.burst_bytes),
            bytes((*queue_bytes).unwrap_or_default()),
        )
    })
}

/// Signals of outages on a route without any.
pub(crate) fn silent_signals(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Option<String> {
    let has_outage = |direction: &Direction| {
        let changes = [&direction.timeline, &direction.trace.timeline];
        changes.iter().any(|one| one.changes().iter().any(|change| change.outage.is_some()))
    };
    let takes = flow.transport.scps().is_some_and(|scps| scps.outage_signals);
    let mut hops =
        flow.ways().into_iter().flat_map(|(from, to)| routes.path(from, to, &scenario.links));
    (takes && !hops.any(|hop| has_outage(hop.direction(&scenario.links)))).then(|| {
        "outage_signals has no effect: no link of the route has an outage by an event or a trace".to_owned()
    })
}

/// Signals of errors on a route without any, or where all losses count as errors.
pub(crate) fn silent_errors(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Option<String> {
    let scps = flow.transport.scps().filter(|scps| scps.corruption_signals)?;
    if scps.cause == Cause::Corruption {
        return Some("corruption_signals has no effect with cause = \"corruption\"".to_owned());
    }
    let shows_errors = |direction: &Direction| {
        let has_errors =
            direction.channel != Channel::Perfect || direction.trace_means().loss > 0.0;
        has_errors && direction.arq.is_none() && direction.fec.is_none()
    };
    let [(from, to), _] = flow.ways();
    let mut hops = routes.path(from, to, &scenario.links).into_iter();
    (!hops.any(|hop| shows_errors(hop.direction(&scenario.links)))).then(|| {
        "corruption_signals has no effect: no link on the way of the data has errors that ARQ or FEC do not hide"
            .to_owned()
    })
}

/// Data that is lost too often, or found missing for too long, does not arrive.
pub(crate) fn missing_data(flow: &Flow) -> Option<String> {
    let best_effort = flow.transport.scps()?.best_effort?;
    let given_up = match best_effort.retransmissions {
        0 => "lost".to_owned(),
        number => format!("lost {} times", number + 1),
    };
    Some(format!(
        "best_effort: some data will be missing at the end, what is {given_up} or comes more than {} behind later data. \
         Goodput and bytes count what has arrived",
        best_effort.receive_timeout
    ))
}

/// The receiver passes a hole before any retransmission can fill it.
pub(crate) fn late_retransmissions(flow: &Flow, figures: &Figures) -> Option<String> {
    let best_effort = flow.transport.scps()?.best_effort?;
    let timeout = best_effort.receive_timeout.as_millis_f64();
    (best_effort.retransmissions > 0 && timeout < figures.bounds.least_rtt_ms).then(|| {
        format!(
            "a receive_timeout of {} is shorter than the RTT of {:.1}ms: retransmissions arrive too late",
            best_effort.receive_timeout, figures.bounds.least_rtt_ms
        )
    })
}

/// Data that arrives while the receiver waits at a hole fills the receive buffer.
pub(crate) fn full_buffer(flow: &Flow, figures: &Figures) -> Option<String> {
    let best_effort = flow.transport.scps()?.best_effort?;
    let waits = best_effort.receive_timeout.as_secs_f64() + figures.base_rtt_ms / 1e3;
    let senders = f64::from(figures.connections) * figures.bottleneck_flows.max(1) as f64;
    let arrives = figures.wanted().min(figures.capacity_bps / senders) / 8.0 * waits;
    let buffer = flow.transport.tcp()?.receive_buffer.get() as f64;
    let is_finite = flow.traffic.size().is_some_and(|size| size.get() as f64 <= buffer);
    let passes = best_effort.receive_threshold.is_some();
    (arrives > buffer && !is_finite && !passes).then(|| {
        format!(
            "{} arrive while the receiver waits at a hole for receive_timeout, and fill the receive buffer of {}: \
             the window closes. A receive_threshold or a shorter receive_timeout avoids it",
            bytes(arrives),
            bytes(buffer),
        )
    })
}

/// A window that overflows the queue of the bottleneck: these losses are congestion, and count as
/// corruption.
pub(crate) fn window_overflows(flow: &Flow, figures: &Figures) -> Option<String> {
    let scps = flow.transport.scps()?;
    let queue = figures.bottleneck_queue_bytes?;
    if scps.cause != Cause::Corruption || scps.rate.is_some() || flow.transport.ecn() != Ecn::Off {
        return None;
    }
    let senders = f64::from(figures.connections) * figures.bottleneck_flows.max(1) as f64;
    let payload = u64::from(flow.transport.plan().full_payload());
    let size = flow.traffic.size().map_or(u64::MAX, |size| size.get().div_ceil(payload));
    let segments = size.min(figures.window_segments);
    let window = segments as f64 * figures.packet_bytes as f64 * senders;
    let room = figures.bdp_bytes + queue;
    (window > room && figures.wanted() >= figures.capacity_bps).then(|| {
        format!(
            "cause = \"corruption\", and a window of up to {} fills more than the BDP and the queue of {}, {}: losses \
             there are congestion, and no loss reduces the window. A smaller receive_buffer or `scps.rate` avoids \
             them",
            bytes(window),
            figures.bottleneck,
            bytes(room),
        )
    })
}
