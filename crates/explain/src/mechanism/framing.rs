//! Lengths on the line: short packets that are padded, and cells.

use link::{Cells, Framing};
use serde_json::{Value as Json, json};
use units::Bytes;

use super::arq::longest_packet;
use super::{Mechanism, Side};
use crate::settings::{Amount, Setting};
use crate::text::short;

/// Bytes of an ACK without options.
const ACK: u32 = 40;

/// The shortest packet.
pub(crate) const MIN_PACKET: Mechanism = Mechanism {
    key: "min_packet",
    value: |side| {
        let least = Bytes(side.direction().framing.min_packet.into());
        Some((least.into(), if least == Bytes(0) { "none".into() } else { least.to_string() }))
    },
    ..Mechanism::PLAIN
};

/// Cells.
pub(crate) const CELLS: Mechanism = Mechanism {
    key: "cells",
    heading: "Bytes on the line",
    value: cells,
    details,
    ..Mechanism::PLAIN
};

fn cells(side: &Side<'_>) -> Option<(Amount, String)> {
    let bytes = |bytes: u32| Bytes(bytes.into());
    let data =
        |Cells { payload, header }| json!({ "payload": bytes(payload), "header": bytes(header) });
    let cells = side.direction().framing.cells;
    let text = cells.map_or("none".to_owned(), |Cells { payload, header }| {
        format!("{payload}B of packets and a header of {header}B")
    });
    Some((Amount::plain(cells.map_or(Json::Null, data)), text))
}

/// Bytes of a full packet and of an ACK on the line.
fn details(side: &Side<'_>) -> Vec<Setting> {
    let framing = side.direction().framing;
    if framing.is_plain() {
        return Vec::new();
    }
    let of = |name: &str, bytes: u32| {
        let line = framing.bytes(bytes);
        let share = 100.0 * f64::from(bytes) / f64::from(line.max(1));
        let text = format!(
            "{bytes}B take {line}B{}: {}% is the packet",
            number(&framing, line),
            short(share, 1)
        );
        Setting::new(name, Amount::from(f64::from(line)), text, true)
    };
    vec![of("full packet", longest_packet(side.scenario)), of("ACK", ACK)]
}

/// The number of cells.
fn number(framing: &Framing, line: u32) -> String {
    let of = |Cells { payload, header }| format!(" in {} cells", line / (payload + header));
    framing.cells.map_or(String::new(), of)
}
