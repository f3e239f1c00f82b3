//! Live connections as a table, with the columns of `ss -ti`.

use std::fmt::Write;

use serde_json::Value;

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
                 bytes_received:{}",
                word(&leg["side"]),
                leg["srtt_ms"].as_f64().unwrap_or(0.0),
                leg["cwnd_segments"],
                leg["mss"],
                leg["retransmitted_segments"],
                leg["unsent_bytes"],
                leg["delivery_rate_bps"],
                leg["received_bytes"],
            );
        }
    }
    text
}
