//! Hosts: what buffers that tune themselves let through on a path, with the command that mends it,
//! and queues that drop packets of their own host.

use congestion::Controller as _;
use scenario::Routes;
use scenario::model::{Flow, Scenario, Traffic};
use transport::Pacing;

use crate::figures::{Figures, Load};
use crate::places::first_place;
use crate::text::{bytes, rate};

/// Share of the memory of a send buffer that is data, with packets of a millisecond.
const DATA: f64 = 0.95;
/// Memory of a send buffer for each byte of the BDP: the data, a third that is free before a writer
/// wakes up, and some room.
const SEND: f64 = 1.6;
/// Window for each byte of the BDP that repairs a loss without a pause.
const RECEIVE: f64 = 2.0;
/// Sizes are whole mebibytes.
const MIB: f64 = 1_048_576.0;

/// A send buffer whose largest size is below what the path holds, unless the flows of the
/// bottleneck reach its rate `together`, in bit/s.
pub(crate) fn send_buffer(flow: &Flow, figures: &Figures, together: f64) -> Option<String> {
    let tuning = flow.transport.tcp()?.send_tuning?;
    let data = tuning.max.get() as f64 * DATA;
    let most = data * 8.0 / figures.bounds.least_rtt_ms * 1e3;
    let with_others = together - figures.window_limit_bps;
    let is_enough = 2.0 / 3.0 * (most + with_others) >= figures.capacity_bps;
    if is_enough || 2.0 / 3.0 * most >= figures.wanted() {
        return None;
    }
    let wanted = (SEND * figures.bdp_bytes / MIB).ceil() * MIB;
    Some(format!(
        "the send buffer grows to {} of memory, of which two thirds to all are in flight: {} to {} of {} over this path. \
         `sysctl -w net.ipv4.tcp_wmem=\"4096 16384 {wanted:.0}\"` on the sender mends it",
        tuning.max,
        rate(2.0 / 3.0 * most),
        rate(most),
        rate(figures.capacity_bps),
    ))
}

/// A receive buffer whose largest window is below what the path holds, unless the flows of the
/// bottleneck reach its rate `together`, in bit/s.
pub(crate) fn receive_buffer(flow: &Flow, figures: &Figures, together: f64) -> Option<String> {
    let config = flow.transport.tcp()?;
    let tuning = config.receive_tuning?;
    let window = config.receive_buffer.get() as f64;
    let most = window * 8.0 / figures.bounds.least_rtt_ms * 1e3;
    let with_others = together - figures.window_limit_bps;
    if most + with_others >= 0.95 * figures.capacity_bps || most >= figures.wanted() {
        return None;
    }
    let wanted = RECEIVE * figures.bdp_bytes * tuning.max.get() as f64 / window;
    let wanted = (wanted / MIB).ceil() * MIB;
    Some(format!(
        "the receive buffer grows to {} of memory, of which {} are window: at most {} of {} over this path. \
         `sysctl -w net.ipv4.tcp_rmem=\"4096 131072 {wanted:.0}\"` on the receiver mends it",
        tuning.max,
        bytes(window),
        rate(most),
        rate(figures.capacity_bps),
    ))
}

/// A profile at one end only, as that of a group of terminals, and no word about the other end.
pub(crate) fn at_one_end(flow: &Flow) -> Option<String> {
    let [from, to] = &flow.hosts.as_ref()?.ends;
    let (with, name, without) = match (from.profile, to.profile) {
        (Some(profile), None) if to.is_of_node => ("sender", profile.name, "receiver"),
        (None, Some(profile)) if from.is_of_node => ("receiver", profile.name, "sender"),
        _ => return None,
    };
    Some(format!(
        "only the {with} has a host, {name}: the {without} has the TCP of the RFCs. `host = \"{name}\"` in the flow \
         sets both ends"
    ))
}

/// A queue that drops the packets of its own host after each pause of an application.
///
/// Segments that nothing paces leave together when an application writes after a pause, up to a
/// window. A kernel makes them wait in the socket while its interface has packets of the connection
/// (Linux: TCP small queues, `tcp_limit_output_bytes`), so that none is lost in the host.
pub(crate) fn own_queue(
    scenario: &Scenario,
    (routes, load): (&Routes, &Load),
    flow: &Flow,
    figures: &Figures,
) -> Option<String> {
    let written = at_once(&flow.traffic)?;
    let controller = flow.controller.build(&flow.transport.plan().controller());
    let is_paced = flow.transport.tcp()?.pacing == Pacing::Linux || controller.needs().pacing;
    let own = first_place(scenario, (routes, load), flow)?;
    let queue = own.queue?;
    let is_fast = 2e3 * own.time <= figures.segment_time_ms;
    let overflows = queue < figures.bdp_bytes.min(written);
    (overflows && is_fast && !is_paced).then(|| {
        format!(
            "the queue before {} holds {}, less than the BDP of {}: after a pause a window leaves its host at \
             once, and what the queue does not hold is lost. A real host waits instead (TCP small queues): \
             give this link `queue = \"unlimited\"`",
            own.name,
            bytes(queue),
            bytes(figures.bdp_bytes),
        )
    })
}

/// Bytes that an application with pauses writes at once: a page, or the largest segment of a video.
fn at_once(traffic: &Traffic) -> Option<f64> {
    match traffic {
        Traffic::Video(video) => {
            let largest = video.ladder.last()?.bits_per_second() as f64 / 8.0;
            Some(largest * video.segment.as_secs_f64())
        }
        other => other.loading().map(|loading| loading.bytes as f64),
    }
}
