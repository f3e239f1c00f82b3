//! The queue before a link: its limit, its marks, and a limit that holds no packet.

use serde_json::{Value as Json, json};
use units::Bytes;

use super::{Mechanism, Side};
use crate::settings::Amount;
use crate::text::bytes;
use crate::warnings::WarningKind as Kind;
use scenario::model::{LowPriority, Marking, QueueLimit, Scenario};

/// The queue.
pub(crate) const MECHANISM: Mechanism = Mechanism {
    key: "queue",
    value: |side| {
        let (limit, low_priority) = (side.direction().queue, side.direction().low_priority);
        Some((queue_data(limit, low_priority), queue(limit, low_priority) + &as_written(side)))
    },
    warnings: |side| {
        let small = small_queue(side.scenario, side.direction().queue);
        small.map(|text| (Kind::QueueBelowPacket, text)).into_iter().collect()
    },
    ..Mechanism::PLAIN
};

/// ECN marks by the length of a FIFO.
pub(crate) const MARKING: Mechanism =
    Mechanism { key: "ecn_marking", value: marking, ..Mechanism::PLAIN };

/// The time or the bandwidth-delay products of which a limit in bytes was made.
fn as_written(side: &Side<'_>) -> String {
    let link = &side.written.document["link"][side.number()];
    let tables = [&link[side.name()]["queue"], &link["queue"]];
    let written = tables.into_iter().find(|table| !table.is_null()).unwrap_or(&Json::Null);
    match (&written["time"], &written["bdp"]) {
        (Json::String(time), _) => format!(", {time}"),
        (_, Json::Number(bdp)) => format!(", {bdp} BDP"),
        _ => String::new(),
    }
}

fn marking(side: &Side<'_>) -> Option<(Amount, String)> {
    let marking = side.direction().ecn_marking;
    let data = |mark: Marking| json!({ "packets": mark.packets, "weight": mark.weight });
    let value = Amount::plain(marking.map_or(Json::Null, data));
    Some((value, marking.map_or("never".into(), mark)))
}

fn queue_data(limit: QueueLimit, low_priority: LowPriority) -> Amount {
    let low_priority = match low_priority {
        LowPriority::Ignore => "ignore",
        LowPriority::PushOut => "push-out",
        LowPriority::Refuse => "refuse",
    };
    Amount::plain(match limit {
        QueueLimit::Packets(packets) => json!({ "packets": packets, "low_priority": low_priority }),
        QueueLimit::Bytes(bytes) => json!({ "bytes": bytes, "low_priority": low_priority }),
        QueueLimit::Unlimited => Json::Null,
    })
}

fn queue(limit: QueueLimit, low_priority: LowPriority) -> String {
    let limit = match limit {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => Bytes(bytes).to_string(),
        QueueLimit::Unlimited => "unlimited".into(),
    };
    match low_priority {
        LowPriority::Ignore => limit,
        LowPriority::PushOut => format!("{limit}, pushes out low priority"),
        LowPriority::Refuse => format!("{limit}, refuses low priority"),
    }
}

fn mark(mark: Marking) -> String {
    format!("above {:?} packets, weight {:?}", mark.packets, mark.weight)
}

fn small_queue(scenario: &Scenario, queue: QueueLimit) -> Option<String> {
    let QueueLimit::Bytes(queue) = queue else { return None };
    let packet = scenario.flows.iter().map(|flow| scenario.packet_bytes(flow)).max()?;
    (queue < packet).then(|| {
        format!("a queue of {} never holds a full packet of {packet} bytes", bytes(queue as f64))
    })
}
