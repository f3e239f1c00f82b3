//! Demand assignment before a run: the delay that it adds, the rates of its parts, and where it does not
//! fit the path.

use link::DemandSettings;

use super::arq::longest_packet;
use super::figures::Figures;
use super::settings::{Amount, Setting};
use super::text::{rate, short};
use super::warnings::WarningKind as Kind;
use crate::model::{Direction, Flow, Link, Scenario};

/// Bytes of an ACK without options.
const ACK: u32 = 40;

/// Bits per second that a lasting load has on a direction, `overhead` included.
pub(super) fn usable_rate(direction: &Direction) -> f64 {
    let rate = direction.rate.bits_per_second() as f64;
    direction.demand.map_or(rate, |demand| rate * demand.share())
}

/// Seconds that a packet of `bytes` waits and is sent that finds the queue empty: the mean, and the shortest and
/// the longest time.
fn sparse(direction: &Direction, demand: &DemandSettings, bytes: u32) -> [f64; 3] {
    demand.sparse_delay(bytes.saturating_add(direction.overhead))
}

/// What demand assignment of a direction will do.
pub(super) fn details(scenario: &Scenario, direction: &Direction) -> Vec<Setting> {
    let Some(demand) = direction.demand else { return Vec::new() };
    let bytes = longest_packet(scenario);
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    let delay = |name: &str, bytes: u32| {
        let [mean, least, most] = sparse(direction, &demand, bytes);
        let [mean_ms, least, most] = [mean, least, most].map(|seconds| short(seconds * 1e3, 1));
        let text = format!(
            "{mean_ms}ms on average, {least}ms to {most}ms: for a packet of {bytes}B that finds the queue \
             empty, its transmission included"
        );
        setting(name, mean, text)
    };
    let slot = demand.slot_bytes(demand.rate);
    let bits = f64::from(slot) * 8.0 / demand.frame.as_secs_f64();
    let free = DemandSettings { cra: 0, vbdc: false, ..demand }.unrequested_slots() * bits;
    let constant = DemandSettings { fca: 0, vbdc: false, ..demand }.unrequested_slots() * bits;
    let frames = demand.loop_frames();
    let request = match demand.vbdc {
        true => format!(
            "slots {frames} frames after a request, which is a delay of {}ms",
            short(demand.frame.as_millis_f64() * frames as f64, 1)
        ),
        false => "no requests".to_owned(),
    };
    vec![
        delay("added delay, data", bytes),
        delay("added delay, ACK", ACK),
        setting(
            "rate",
            usable_rate(direction),
            format!(
                "{} for a lasting load; {} need no request ({} at a constant rate, and {} of free capacity \
                 where no slot is requested)",
                rate(usable_rate(direction)),
                rate(demand.unrequested_slots() * bits),
                rate(constant),
                rate(free),
            ),
        ),
        setting("slot", f64::from(slot), format!("{slot}B, overhead included")),
        setting("control loop", frames as f64 * demand.frame.as_secs_f64(), request),
    ]
}

/// The doubts about demand assignment of a direction of `link`; `flows` are those whose data or ACKs pass it.
pub(super) fn warnings(
    link: &Link,
    is_forward: bool,
    flows: &[(&Figures, &Flow)],
) -> Vec<(Kind, String)> {
    let direction = if is_forward { &link.forward } else { &link.backward };
    let Some(demand) = direction.demand else { return Vec::new() };
    let late = flows.iter().find_map(|(figures, flow)| {
        let [_, _, most] = sparse(direction, &demand, ACK);
        let rtt = figures.base_rtt_ms / 1e3 + most;
        let initial = flow.transport.rto.initial;
        (rtt > initial.as_secs_f64()).then(|| {
            format!(
                "the first round trip takes up to {:.0}ms, above the rto.initial of {initial}: a SYN may be \
                 retransmitted that was not lost; `cra` saves the control loop",
                rtt * 1e3
            )
        })
    });
    let propagation = link.forward.delay + link.backward.delay;
    let early = (demand.vbdc && demand.control_delay < propagation).then(|| {
        format!(
            "a control_delay of {} is shorter than the round trip of the link, {propagation}: a grant cannot \
             come before its request",
            demand.control_delay
        )
    });
    let found = [(Kind::DemandOutlastsRto, late), (Kind::DemandBeforeGrant, early)];
    found.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
}
