//! Automatic repeat request before a run: the delay and the rate that it adds, what hosts see, and
//! where it does not fit the path.

use link::{ArqSettings, Repeat};
use serde_json::{Value as Json, json};
use units::{Bytes, Span};

use super::{Mechanism, Side};
use crate::figures::Figures;
use crate::settings::{Amount, Setting, with_parameters};
use crate::text::{per, rate, short};
use crate::warnings::WarningKind as Kind;
use scenario::model::{Channel, Direction, Flow, Scenario};

/// Automatic repeat request. Its status frames take the other direction.
pub(crate) const MECHANISM: Mechanism =
    Mechanism { key: "arq", heading: "ARQ", value, details, warnings };

fn value(side: &Side<'_>) -> Option<(Amount, String)> {
    Some(with_parameters(side.direction().arq.map(|arq| (arq.name(), data(arq)))))
}

/// The settings of ARQ, with what follows from defaults.
fn data(arq: ArqSettings) -> Json {
    let ArqSettings { repeat, persistence, window, sequence_bits, timer, header } = arq;
    let mut data = json!({
        "name": arq.name(),
        "persistence": persistence,
        "window": window,
        "sequence_bits": sequence_bits,
        "timer": timer,
        "header": Bytes(header.into()),
    });
    if let Repeat::Selective { in_order } = repeat {
        data["in_order"] = in_order.into();
    }
    data
}

/// Bytes on the line of a packet of `bytes`, with the header of ARQ.
fn framed(direction: &Direction, bytes: u32) -> u32 {
    direction.framing.bytes(bytes + direction.header())
}

/// Probability that a direction loses a packet of `bytes`, in clear sky, with all its repeats.
pub(crate) fn loss(direction: &Direction, arq: &ArqSettings, bytes: u32) -> f64 {
    arq.residual_loss(frame_loss(direction, arq, bytes))
}

/// Probability that a transmission of a packet of `bytes` is lost.
fn frame_loss(direction: &Direction, arq: &ArqSettings, bytes: u32) -> f64 {
    direction.packet_error_rate(bytes.saturating_add(arq.header))
}

/// Seconds that `bytes` take.
fn sending(direction: &Direction, bytes: u32) -> f64 {
    f64::from(bytes) * 8.0 / direction.rate.bits_per_second() as f64
}

/// Seconds from the start of a lost transmission to its repeat, where a frame of the same length
/// follows it at once and no other delays the status frame.
fn repeat_after(direction: &Direction, back: &Direction, arq: &ArqSettings, bytes: u32) -> f64 {
    let frame = sending(direction, framed(direction, bytes));
    let status = sending(back, back.framing.bytes(arq.status_bytes()));
    2.0 * frame + status + direction.delay.as_secs_f64() + back.delay.as_secs_f64()
}

/// The longest packet that a flow of the scenario sends, in bytes.
pub(crate) fn longest_packet(scenario: &Scenario) -> u32 {
    let longest = scenario.flows.iter().map(|flow| scenario.packet_bytes(flow)).max();
    u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX)
}

fn details(side: &Side<'_>) -> Vec<Setting> {
    let (direction, back) = (side.direction(), side.back());
    let Some(arq) = direction.arq else { return Vec::new() };
    let bytes = longest_packet(side.scenario);
    let lost = frame_loss(direction, &arq, bytes);
    let bytes_on_line = f64::from(framed(direction, bytes));
    let again = repeat_after(direction, back, &arq, bytes);
    let slots = again / sending(direction, framed(direction, bytes));
    let sent = arq.transmissions(lost, slots);
    let mean = again * arq.mean_repeats(lost);
    let status = f64::from(back.framing.bytes(arq.status_bytes()));
    let frames = direction.rate.bits_per_second() as f64 / (bytes_on_line * 8.0);
    let status_rate = (frames * status * 8.0).min(back.rate.bits_per_second() as f64);
    let share = 100.0 * status_rate / back.rate.bits_per_second() as f64;
    let order = match arq.repeat {
        Repeat::Selective { in_order: false } => "the packet alone, which others overtake",
        _ => "it and all packets behind it",
    };
    let setting =
        |name: &str, value: f64, text: String| Setting::new(name, Amount::from(value), text, true);
    vec![
        setting(
            "added delay",
            again,
            format!(
                "{}ms for each repeat, {}ms on average: for {order}",
                short(again * 1e3, 1),
                short(mean * 1e3, 3)
            ),
        ),
        setting(
            "added rate",
            sent,
            format!(
                "{}B on each packet, and {} transmissions of a packet of {bytes}B",
                arq.header,
                short(sent, 4)
            ),
        ),
        setting(
            "status frames",
            status_rate,
            format!(
                "up to {} of the other direction, {} % of its rate",
                rate(status_rate),
                short(share, 1)
            ),
        ),
        setting(
            "hosts see",
            arq.residual_loss(lost),
            format!(
                "the delay, and a PER of {} instead of {}; queues before the link see packets, and not frames",
                per(arq.residual_loss(lost)),
                per(lost)
            ),
        ),
    ]
}

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let (direction, back) = (side.direction(), side.back());
    let Some(arq) = direction.arq else { return Vec::new() };
    let bytes = longest_packet(side.scenario);
    let lost = frame_loss(direction, &arq, bytes);
    let again = repeat_after(direction, back, &arq, bytes);
    let repeats =
        side.with_any().filter_map(|(figures, flow)| outlasts(&arq, again, figures, flow));
    let found = [
        (Kind::ArqWithoutEffect, without_effect(&arq, direction, lost)),
        (
            Kind::ArqOutlastsRto,
            repeats.filter(|_| lost > 0.0).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, text)| text),
        ),
        (
            Kind::ArqWindowBelowBdp,
            small_window(&arq, again, sending(direction, framed(direction, bytes))),
        ),
        (Kind::ArqTimerBelowRtt, short_timer(&arq, again)),
    ];
    found.into_iter().filter_map(|(kind, text)| Some((kind, text?))).collect()
}

fn without_effect(arq: &ArqSettings, direction: &Direction, lost: f64) -> Option<String> {
    if arq.persistence == 0 {
        return Some(
            "persistence = 0 repeats nothing: ARQ only adds headers and status frames".into(),
        );
    }
    // A modem loses packets in fades.
    let is_perfect = lost == 0.0 && !matches!(direction.channel, Channel::Acm { .. });
    is_perfect
        .then(|| "the channel corrupts nothing: ARQ only adds headers and status frames".to_owned())
}

/// By how much the last repeat comes after the RTO, in seconds, if it does.
fn outlasts(
    arq: &ArqSettings,
    again: f64,
    figures: &Figures,
    flow: &Flow,
) -> Option<(f64, String)> {
    let rtt = figures.base_rtt_ms / 1e3;
    // An RTO is never below the smoothed RTT, nor below its minimum.
    let rto = flow.transport.plan().least_timeout()?.as_secs_f64().max(rtt);
    let last = rtt + f64::from(arq.persistence) * again;
    let fits = ((rto - rtt) / again).floor();
    let help = if fits < 1.0 {
        "not even one repeat stays below".to_owned()
    } else {
        format!("persistence = {fits:.0} stays below")
    };
    (arq.persistence > 0 && last > rto).then(|| {
        let text = format!(
            "{} repeats take an RTT of {:.0}ms to {:.0}ms, above an RTO of {:.0}ms: hosts retransmit what \
             the link still repeats; {help}",
            arq.persistence,
            rtt * 1e3,
            last * 1e3,
            rto * 1e3
        );
        (last - rto, text)
    })
}

/// The window is what the sender may have sent until the first answer.
fn small_window(arq: &ArqSettings, again: f64, frame: f64) -> Option<String> {
    let needed = (again / frame).ceil();
    (f64::from(arq.window) < needed).then(|| {
        format!(
            "a window of {} frames is sent before the first answer can come, and the link idles: \
             full packets need {needed:.0}",
            arq.window
        )
    })
}

fn short_timer(arq: &ArqSettings, again: f64) -> Option<String> {
    (arq.timer.as_secs_f64() < again).then(|| {
        format!(
            "the timer of {} expires before an answer can come after {}: frames are repeated that were not lost",
            arq.timer,
            Span::from_secs_f64(again)
        )
    })
}
