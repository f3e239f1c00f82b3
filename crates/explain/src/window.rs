//! Windows and queues before a run: a window below the bandwidth-delay product, and a queue that
//! does not keep a link busy while a window grows again.

use scenario::UNSCALED_WINDOW;
use scenario::model::{Flow, Scenario, Traffic, Transport};

use super::FlowExplanation;
use super::bounds::{self, Active};
use super::figures::Figures;
use super::text::{bytes, rate};

/// From this share of the capacity on, a window is as good as the whole; a few per cent are not
/// worth a word.
const WHOLE: f64 = 0.95;

/// Payload rate in bit/s that the flows of a bottleneck reach together, if window and application
/// alone limit them. `own` are the figures of a flow of entry number `entry`, or of one of its
/// legs.
///
/// Copies of a flow do all the same. Of other flows counts what lasts: endless transfers, the mean
/// rate of applications that have one, and finite transfers by their mean rate in the time that
/// they have. Pages, videos and speed tests pause or end, and count nothing.
pub(crate) fn together(
    scenario: &Scenario,
    flows: &[(FlowExplanation, &Flow)],
    (entry, own): (usize, &Figures),
) -> f64 {
    let others = flows.iter().enumerate().filter(|(number, _)| *number != entry);
    let there = others.filter(|(_, (one, _))| one.figures.bottleneck == own.bottleneck);
    let lasting = |figures: &Figures, flow: &Flow| {
        let seconds = Active::of(scenario, flow).seconds();
        let mean = match (figures.offered, flow.traffic.size()) {
            (Some(offered), _) => offered.mean_bps,
            (None, Some(size)) => size.get() as f64 * 8.0 / seconds,
            (None, None) if matches!(flow.traffic, Traffic::Bulk { .. }) => f64::INFINITY,
            (None, None) => 0.0,
        };
        figures.window_limit_bps.min(mean)
    };
    let others = there.map(|(_, (one, flow))| one.count as f64 * lasting(&one.figures, flow));
    flows[entry].0.count as f64 * own.window_limit_bps + others.sum::<f64>()
}

/// A window below the bandwidth-delay product, unless flows fill the bottleneck `together`, in
/// bit/s of payload.
pub(crate) fn small_window(flow: &Flow, figures: &Figures, together: f64) -> Option<String> {
    let is_advice = bounds::sends_beyond_window(flow);
    let most = if is_advice { figures.window_limit_bps } else { figures.bounds.window_bps };
    let is_filled = together >= WHOLE * figures.capacity_bps;
    let is_whole = most.max(figures.window_limit_bps) >= WHOLE * figures.capacity_bps;
    if is_filled || is_whole || most >= figures.wanted() {
        return None;
    }
    if let Some(config) = flow.transport.tcp() {
        let by_sender = config.send_buffer.get() < config.receive_buffer.get();
        let is_tuned =
            if by_sender { config.send_tuning.is_some() } else { config.receive_tuning.is_some() };
        // They have warnings of their own.
        if is_tuned {
            return None;
        }
    }
    let streams = match flow.traffic.streams() {
        1 => String::new(),
        many => format!("{many} x "),
    };
    let cure = match &flow.transport {
        Transport::Quic(_) => format!(
            "; it is the smallest of {streams}stream_receive_window, receive_window and send_window"
        ),
        Transport::Tcp(config)
            if !config.window_scaling && figures.window_bytes <= UNSCALED_WINDOW =>
        {
            "; a larger one needs window_scaling".to_owned()
        }
        _ => String::new(),
    };
    Some(format!(
        "the window of {} ({} segments) is below the BDP of {} ({:.1} segments): at most {} of {}{}{cure}",
        bytes(figures.window_bytes as f64),
        figures.window_segments,
        bytes(figures.bdp_bytes),
        figures.bdp_segments,
        rate(most),
        rate(figures.capacity_bps),
        if is_advice { ", unless `rwnd` sends beyond it" } else { "" },
    ))
}

/// A queue that is small compared with the bandwidth-delay product. It matters only where windows
/// can fill it.
pub(crate) fn small_queue(figures: &Figures) -> Option<String> {
    if !figures.has_window {
        return None;
    }
    let queue = figures.bottleneck_queue_bytes?;
    let all = queue * figures.bottleneck_queues as f64;
    let bdp = figures.least_bdp_bytes();
    let senders = f64::from(figures.connections) * figures.bottleneck_flows as f64;
    let window = figures.window_segments as f64 * senders;
    let overflows = window * figures.packet_bytes as f64 > bdp + all;
    (overflows && all < bdp / 4.0).then(|| {
        let queues = match figures.bottleneck_queues {
            0 | 1 => "the queue".to_owned(),
            many => format!("each of {many} queues"),
        };
        format!(
            "{queues} before {} holds {}, {:.0} % of the BDP: a halved window leaves the link idle",
            figures.bottleneck,
            bytes(queue),
            100.0 * queue / figures.bdp_bytes
        )
    })
}
