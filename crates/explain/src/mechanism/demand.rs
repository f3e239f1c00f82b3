//! Demand assignment before a run: the delay that it adds, the rates of its parts, and where it
//! does not fit the path.

use link::DemandSettings;
use serde_json::{Value as Json, json};
use units::Rate;

use super::arq::longest_packet;
use super::{Mechanism, Side};
use crate::FlowExplanation;
use crate::settings::{Amount, Setting, with_parameters};
use crate::text::{self, rate, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Direction, Flow, QueueLimit};
use scenario::rates::usable_rate;

/// Bytes of an ACK without options.
const ACK: u32 = 40;

/// Demand assignment.
pub(crate) const MECHANISM: Mechanism =
    Mechanism { key: "demand", heading: "Demand assignment", value, details, warnings };

fn value(side: &Side<'_>) -> Option<(Amount, String)> {
    Some(with_parameters(side.direction().demand.map(|demand| (demand.name(), data(demand)))))
}

/// The settings of demand assignment, with what follows from defaults.
fn data(demand: DemandSettings) -> Json {
    let DemandSettings { frame, slots, cra, vbdc, fca, control_delay, rate: _ } = demand;
    let cra = (cra > 0).then(|| Rate::from_bits_per_second(cra));
    json!({
        "name": demand.name(),
        "frame": frame,
        "slots": slots,
        "cra": cra,
        "vbdc": vbdc,
        "fca": f64::from(fca) / 1e6,
        "control_delay": control_delay,
    })
}

/// Seconds that a packet of `bytes` waits and is sent that finds the queue empty: the mean, and the
/// shortest and the longest time.
fn sparse(direction: &Direction, demand: &DemandSettings, bytes: u32) -> [f64; 3] {
    demand.sparse_delay(direction.framing.bytes(bytes))
}

fn details(side: &Side<'_>) -> Vec<Setting> {
    let (scenario, direction) = (side.scenario, side.direction());
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

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let (link, direction) = (side.link(), side.direction());
    let Some(demand) = direction.demand else { return Vec::new() };
    let late = side.with_any().find_map(|(figures, flow)| {
        let [_, _, most] = sparse(direction, &demand, ACK);
        let rtt = figures.base_rtt_ms / 1e3 + most;
        let initial = flow.transport.tcp()?.rto.initial;
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
    let found = [
        (Kind::DemandOutlastsRto, late),
        (Kind::DemandBeforeGrant, early),
        (Kind::DemandBelowAcks, filled_by_acks(side, demand)),
    ];
    found.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
}

/// A queue that overflows by ACKs: they take more than slots can be granted for, or more of them
/// wait for their grants than the queue holds.
///
/// Flows with control of their ACKs adapt to it, and one flow whose ACKs alone fill the direction
/// has a warning of its own.
fn filled_by_acks(side: &Side<'_>, demand: DemandSettings) -> Option<String> {
    let direction = side.direction();
    let adapts = |flow: &Flow| flow.transport.tcp().is_some_and(|config| config.ack_control);
    let flows = side.with_acks().filter(|(_, flow)| !adapts(flow));
    let (mut bits, mut longest, mut number) = (0.0, 0.0_f64, 0);
    for (FlowExplanation { figures, count, .. }, flow) in flows {
        let share = figures.capacity_bps / figures.bottleneck_flows.max(1) as f64;
        let goodput = share.min(figures.window_limit_bps).min(figures.wanted());
        if figures.ack_limit_bps < goodput {
            return None;
        }
        let plan = flow.transport.plan();
        let payload = f64::from(plan.full_payload()) * 8.0;
        let each = payload * plan.packets_per_ack_at(figures.segment_time_ms / 1e3);
        let ack = scenario::rates::framed(direction, side.scenario.ack_bytes(flow) as f64) * 8.0;
        bits += *count as f64 * goodput / each * ack;
        longest = longest.max(ack);
        number += count;
    }
    let whose = if number == 1 { "the flow".to_owned() } else { format!("{number} flows") };
    let help = "`transport.ack_control`, fewer ACKs (`transport.delayed_ack`) or `middlebox = \"ack-filter\"` \
                helps";
    let granted = usable_rate(direction);
    if bits > granted {
        return Some(format!(
            "the ACKs of {whose} take up to {}, and the assignment grants at most {}: the queue overflows; {help}",
            rate(bits),
            rate(granted)
        ));
    }
    // What needs a request waits for the control loop, on average.
    let slots = f64::from(demand.slot_bytes(demand.rate)) * 8.0 / demand.frame.as_secs_f64();
    let requested =
        (bits - DemandSettings { fca: 0, ..demand }.unrequested_slots() * slots).max(0.0);
    let waiting = requested * demand.loop_frames() as f64 * demand.frame.as_secs_f64();
    let room = match direction.queue {
        QueueLimit::Packets(packets) => f64::from(packets) * longest,
        QueueLimit::Bytes(bytes) => bytes as f64 * 8.0,
        QueueLimit::Unlimited => return None,
    };
    (demand.vbdc && waiting > room).then(|| {
        format!(
            "the ACKs of {whose} take up to {}, of which {} wait for a grant of the control loop, and the queue holds \
             {}: it overflows; `cra`, {help}",
            rate(bits),
            text::bytes(waiting / 8.0),
            text::bytes(room / 8.0)
        )
    })
}
