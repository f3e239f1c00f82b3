//! Live connections as a table, with the columns of `ss -ti`.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::connection::{Connection, Leg};

/// The state of a connection, for `top`.
pub(crate) fn describe(connection: &Connection, now_s: u32) -> Value {
    let leg = |leg: Leg| {
        let info = connection.info(leg).unwrap_or_default();
        json!({
            "side": connection.side_of(leg).key(),
            "state": info.state,
            "srtt_ms": f64::from(info.srtt_us) / 1e3,
            "cwnd_segments": info.cwnd_segments,
            "mss": info.mss,
            "retransmitted_segments": info.retransmitted_segments,
            "unsent_bytes": info.unsent_bytes,
            "delivery_rate_bps": info.delivery_rate.saturating_mul(8),
            "received_bytes": connection.delivered_from(leg),
            "waits_for_rate": connection.waits_for_rate(leg.other()),
        })
    };
    json!({
        "client": connection.client.to_string(),
        "server": connection.server.to_string(),
        "is_connected": connection.is_connected(),
        "seconds": now_s.saturating_sub(connection.opened_s),
        "held_bytes": connection.held(),
        "client_leg": leg(Leg::Client),
        "server_leg": leg(Leg::Server),
    })
}

/// A table of connections, those with the most bytes first.
pub fn table(connections: &[Value]) -> String {
    let bytes = |one: &Value| {
        ["client_leg", "server_leg"]
            .iter()
            .map(|leg| one[leg]["received_bytes"].as_u64().unwrap_or(0))
            .sum::<u64>()
    };
    let mut sorted: Vec<_> = connections.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(bytes(one)));
    let mut text = format!("{} connections\n", sorted.len());
    for one in sorted {
        let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let _ = writeln!(
            text,
            "{} -> {} {} s, {} bytes held{}",
            word(&one["client"]),
            word(&one["server"]),
            one["seconds"],
            one["held_bytes"],
            if one["is_connected"] == true { "" } else { ", waiting for the server" },
        );
        for leg in ["client_leg", "server_leg"] {
            let leg = &one[leg];
            let _ = writeln!(
                text,
                "    {:<12} rtt:{:.3} cwnd:{} mss:{} retrans:{} notsent:{} delivery_rate:{}bps \
                 bytes_received:{}{}",
                word(&leg["side"]),
                leg["srtt_ms"].as_f64().unwrap_or(0.0),
                leg["cwnd_segments"],
                leg["mss"],
                leg["retransmitted_segments"],
                leg["unsent_bytes"],
                leg["delivery_rate_bps"],
                leg["received_bytes"],
                if leg["waits_for_rate"] == true { " waits for rate" } else { "" },
            );
        }
    }
    text
}
