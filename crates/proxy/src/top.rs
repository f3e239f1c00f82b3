//! Live connections as a table, drawn once or again every second.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::connection::{Connection, Leg};
use crate::control::list;

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

/// Time between two pictures.
const EVERY: Duration = Duration::from_secs(1);
/// Lines of a connection: its own, and one for each leg.
const LINES: usize = 3;
/// Lines above the connections.
const HEAD: usize = 2;
/// Lines below them: the number of the others, and the cursor.
const FOOT: usize = 2;
const HOME: &str = "\x1b[H";
const CLEAR: &str = "\x1b[2J";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Connections at a time, and those of the picture before.
#[derive(Debug, Default)]
pub struct Picture<'a> {
    /// The state of all connections.
    pub connections: &'a [Value],
    /// The state before, and the time since then. Without it there are no rates.
    pub before: Option<(&'a [Value], Duration)>,
    /// Lines of the terminal; all connections without it.
    pub lines: Option<usize>,
}

/// A table of connections, those with the most bytes first. It fits 80 columns.
pub fn table(picture: &Picture<'_>) -> String {
    let bytes = |one: &Value| LEGS.iter().map(|leg| received(&one[*leg])).sum::<u64>();
    let mut sorted: Vec<_> = picture.connections.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(bytes(one)));
    let held: u64 = sorted.iter().filter_map(|one| one["held_bytes"].as_u64()).sum();
    let plural = if sorted.len() == 1 { "" } else { "s" };
    let mut text = format!("{} connection{plural}, {} kB held\n", sorted.len(), kilo(held));
    if sorted.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "  {:<11} {:>8} {:>6} {:>8} {:>9} {:>9} {:>11} {:>8}",
        "side", "RTT ms", "cwnd", "retrans.", "unsent kB", "sent at", "received MB", "Mbit/s",
    );
    let room = picture.lines.map(|lines| lines.saturating_sub(HEAD + FOOT) / LINES);
    let shown = room.unwrap_or(sorted.len()).min(sorted.len());
    for one in &sorted[..shown] {
        text += &connection(one, picture.before);
    }
    if shown < sorted.len() {
        let _ = writeln!(text, "{} more", sorted.len() - shown);
    }
    text
}

const LEGS: [&str; 2] = ["client_leg", "server_leg"];

/// The lines of one connection.
fn connection(one: &Value, before: Option<(&[Value], Duration)>) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let waits = LEGS.iter().filter(|leg| one[**leg]["waits_for_rate"] == true);
    let waits: String =
        waits.map(|leg| format!(", {} waits for rate", word(&one[*leg]["side"]))).collect();
    let mut text = format!(
        "{} -> {} {} s, {} kB held{}{waits}\n",
        word(&one["client"]),
        word(&one["server"]),
        one["seconds"],
        kilo(one["held_bytes"].as_u64().unwrap_or(0)),
        if one["is_connected"] == true { "" } else { ", waiting for the server" },
    );
    let same =
        |other: &&Value| other["client"] == one["client"] && other["server"] == one["server"];
    let last = before.and_then(|(all, time)| Some((all.iter().find(same)?, time)));
    for name in LEGS {
        let leg = &one[name];
        let rate = last.map(|(last, time)| {
            let bytes = received(leg).saturating_sub(received(&last[name]));
            format!("{:.2}", bytes as f64 * 8e-6 / time.as_secs_f64())
        });
        let _ = writeln!(
            text,
            "  {:<11} {:>8.1} {:>6} {:>8} {:>9} {:>9.2} {:>11.3} {:>8}",
            word(&leg["side"]),
            leg["srtt_ms"].as_f64().unwrap_or(0.0),
            leg["cwnd_segments"].to_string(),
            leg["retransmitted_segments"].to_string(),
            kilo(leg["unsent_bytes"].as_u64().unwrap_or(0)),
            leg["delivery_rate_bps"].as_u64().unwrap_or(0) as f64 * 1e-6,
            received(leg) as f64 * 1e-6,
            rate.as_deref().unwrap_or("-"),
        );
    }
    text
}

fn received(leg: &Value) -> u64 {
    leg["received_bytes"].as_u64().unwrap_or(0)
}

fn kilo(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 * 1e-3)
}

/// Draws the connections of a daemon on the terminal, again every second, until Ctrl-C ends the
/// process.
///
/// # Errors
/// No daemon answers (any more), or the terminal is gone.
pub fn watch(path: &Path) -> io::Result<Infallible> {
    let clock = Clock::start();
    let mut last: Option<(Vec<Value>, Duration)> = None;
    let mut start = CLEAR;
    loop {
        let all = list(path)?;
        let now = clock.now();
        let size = tcgetwinsize(io::stdout()).ok();
        let before = last.as_ref().map(|(all, at)| (&**all, now.saturating_sub(*at)));
        let lines = size.map(|size| usize::from(size.ws_row)).filter(|lines| *lines > 0);
        let picture = table(&Picture { connections: &all, before, lines });
        let columns = size.map_or(usize::MAX, |size| usize::from(size.ws_col));
        let mut output = format!("{start}{HOME}");
        for line in picture.lines() {
            output.extend(line.chars().take(columns));
            output += CLEAR_LINE;
            output += "\n";
        }
        output += CLEAR_BELOW;
        io::stdout().write_all(output.as_bytes())?;
        io::stdout().flush()?;
        (last, start) = (Some((all, now)), "");
        thread::sleep(EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(side: &str, received: u64) -> Value {
        json!({
            "side": side, "state": 1, "srtt_ms": 612.34, "cwnd_segments": 4000, "mss": 1448,
            "retransmitted_segments": 12, "unsent_bytes": 123_456, "waits_for_rate": false,
            "delivery_rate_bps": 123_456_789, "received_bytes": received,
        })
    }

    fn connections(count: u64, received: u64) -> Vec<Value> {
        let one = |number| {
            json!({
                "client": format!("192.168.100.{number}:50000"), "server": "203.0.113.70:443",
                "is_connected": true, "seconds": 12_345, "held_bytes": 1000,
                "client_leg": leg("terrestrial", received + number),
                "server_leg": leg("satellite", 0),
            })
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_picture_fits_the_terminal() {
        let (now, before) = (connections(100, 2_000_000), connections(100, 1_000_000));
        let before = Some((&*before, Duration::from_secs(2)));
        let text = table(&Picture { connections: &now, before, lines: Some(24) });
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with("100 connections, 100.0 kB held\n"), "{text}");
        assert!(text.ends_with("94 more\n"), "{text}");
        // 1 MB in 2 s.
        assert!(text.contains(" 4.00\n"), "{text}");
        // The connection with the most bytes is the first.
        assert!(text.lines().nth(2).is_some_and(|line| line.starts_with("192.168.100.99:")));
    }

    #[test]
    fn one_table_has_all_connections_and_no_rates() {
        let all = connections(100, 1);
        let text = table(&Picture { connections: &all, ..Picture::default() });
        assert_eq!(text.lines().count(), HEAD + LINES * 100);
        assert!(text.lines().nth(3).is_some_and(|line| line.ends_with(" -")), "{text}");
        assert_eq!(table(&Picture::default()), "0 connections, 0.0 kB held\n");
    }
}
