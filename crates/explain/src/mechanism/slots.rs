//! Slots before a run: their delays, and the rate that their limits allow.

use link::Slots;
use serde_json::{Value as Json, json};
use units::{Bytes, Span};

use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::text::rate;
use crate::warnings::WarningKind as Kind;

/// Slots in which packets arrive.
pub(crate) const MECHANISM: Mechanism = Mechanism {
    key: "slot",
    heading: "Slots",
    value: |side| {
        let slots = side.direction().slots;
        let data = |slots: Slots| {
            json!({
                "min_delay_s": slots.min_delay.as_secs_f64(),
                "max_delay_s": slots.max_delay.as_secs_f64(),
                "packets": slots.packets,
                "bytes": slots.bytes,
            })
        };
        let text = slots.map_or("none".into(), delays);
        Some((Amount::plain(slots.map_or(Json::Null, data)), text))
    },
    details: |side| {
        let Some(slots) = side.direction().slots else { return Vec::new() };
        let text = format!("{} until a slot opens, {} on average", delays(slots), mean(slots));
        let mut found = vec![Setting::new("delay", mean(slots).into(), text, true)];
        if let Some(packets) = slots.packets {
            let text = format!("{packets} in a slot");
            found.push(Setting::new("packets", Amount::plain(packets), text, true));
        }
        if let Some(bytes) = slots.bytes {
            let text = format!("{} in a slot, and the packet that goes beyond them", Bytes(bytes));
            found.push(Setting::new("bytes", Bytes(bytes).into(), text, true));
        }
        if let Some(most) = most(side, slots) {
            found.push(Setting::new("rate", most.into(), rate(most), true));
        }
        found
    },
    warnings: |side| {
        let slow = slow(side).map(|text| (Kind::SlotsBelowRate, text));
        slow.into_iter().collect()
    },
};

fn delays(slots: Slots) -> String {
    match slots.min_delay == slots.max_delay {
        true => slots.min_delay.to_string(),
        false => format!("{} to {}", slots.min_delay, slots.max_delay),
    }
}

fn mean(slots: Slots) -> Span {
    Span::from_nanos(slots.min_delay.as_nanos().midpoint(slots.max_delay.as_nanos()))
}

/// The rate in bit/s that full packets have in slots with a limit.
fn most(side: &Side<'_>, slots: Slots) -> Option<f64> {
    let flows = side.scenario.flows.iter();
    let packet = flows.map(|flow| side.scenario.packet_bytes(flow)).max()?;
    let framing = side.direction().framing;
    let packet =
        u32::try_from(packet).map_or(packet as f64, |bytes| f64::from(framing.bytes(bytes)));
    let packets = slots.packets.map_or(f64::INFINITY, f64::from);
    let of_bytes = slots.bytes.map_or(f64::INFINITY, |bytes| (bytes as f64 / packet).ceil());
    let packets = packets.min(of_bytes);
    packets.is_finite().then(|| packets * packet * 8.0 / mean(slots).as_secs_f64())
}

/// Slots that let packets go more slowly than the link sends them: they wait behind the queue
/// without a limit.
fn slow(side: &Side<'_>) -> Option<String> {
    let slots = side.direction().slots?;
    let most = most(side, slots)?;
    let sent = side.direction().rate.bits_per_second() as f64;
    (most < sent).then(|| {
        format!(
            "slots let at most {} go of the {} that the link sends: more packets wait for slots, and the queue \
             does not limit them",
            rate(most),
            rate(sent),
        )
    })
}
