//! Comparison with tshark, segment by segment.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use capture::{Kind, Seen};

/// Value of a field of a segment.
type Value = fn(&Seen<'_>) -> bool;

/// Fields of Wireshark, without `tcp.analysis.`, and their values here.
const FLAGS: [(&str, Value); 12] = [
    ("retransmission", |seen| seen.verdict.kind.is_retransmission()),
    ("fast_retransmission", |seen| seen.verdict.kind == Kind::Fast),
    ("spurious_retransmission", |seen| seen.verdict.kind == Kind::Spurious),
    ("out_of_order", |seen| seen.verdict.kind == Kind::OutOfOrder),
    ("lost_segment", |seen| seen.verdict.gap),
    ("ack_lost_segment", |seen| seen.verdict.unseen_ack),
    ("duplicate_ack", |seen| seen.verdict.duplicate_ack),
    ("zero_window", |seen| seen.verdict.zero_window),
    ("zero_window_probe", |seen| seen.verdict.zero_window_probe),
    ("window_full", |seen| seen.verdict.window_full),
    ("window_update", |seen| seen.verdict.window_update),
    ("keep_alive", |seen| seen.verdict.keep_alive),
];

/// A segment with the flags above, its RTT in ns and the flight size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub connection: u64,
    pub flags: Vec<bool>,
    pub rtt_ns: Option<u64>,
    /// No part of the data was retransmitted.
    pub unambiguous: bool,
    pub flight: Option<i64>,
}

/// Counts of one field: in tshark, here, and segments that differ, with the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub tshark: u64,
    pub here: u64,
    pub differing: u64,
    pub first: u64,
}

/// Segments by this crate.
pub fn ours(path: &Path) -> BTreeMap<u64, Row> {
    let mut rows = BTreeMap::new();
    let take = |seen: &Seen<'_>| {
        let row = Row {
            connection: seen.connection,
            flags: FLAGS.iter().map(|(_, value)| value(seen)).collect(),
            // tshark shows no RTT of zero.
            rtt_ns: seen.sample.map(|sample| sample.rtt_ns).filter(|&rtt| rtt > 0),
            unambiguous: seen.sample.is_some_and(|sample| sample.unambiguous && sample.rtt_ns > 0),
            flight: seen.flight.filter(|_| seen.end > seen.start),
        };
        rows.insert(seen.packet, row);
    };
    capture::read_observed(path, |_| true, take).expect("a capture");
    rows
}

/// Segments by tshark; `None` if it is not installed.
pub fn tsharks(path: &Path) -> Option<BTreeMap<u64, Row>> {
    let mut command = Command::new("tshark");
    command.args([
        "-n",
        "-Y",
        "tcp && !icmp && !icmpv6",
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        "-r",
    ]);
    command.arg(path);
    let fields =
        ["frame.number", "tcp.stream", "tcp.analysis.ack_rtt", "tcp.analysis.bytes_in_flight"];
    for field in fields {
        command.args(["-e", field]);
    }
    for (flag, _) in FLAGS {
        command.args(["-e", &format!("tcp.analysis.{flag}")]);
    }
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).expect("text");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let row = Row {
            connection: cells[1].parse::<u64>().expect("a stream") + 1,
            rtt_ns: cells[2].parse::<f64>().ok().map(|rtt| (rtt * 1e9).round() as u64),
            flight: cells[3].parse().ok(),
            flags: cells[4..].iter().map(|cell| !cell.is_empty()).collect(),
            unambiguous: true,
        };
        (cells[0].parse().expect("a number"), row)
    };
    Some(text.lines().map(row).collect())
}

/// Differences by field.
pub fn differences(
    tshark: &BTreeMap<u64, Row>,
    ours: &BTreeMap<u64, Row>,
) -> BTreeMap<&'static str, Difference> {
    let mut found: BTreeMap<&'static str, Difference> = BTreeMap::new();
    let mut note = |field, number: u64, theirs: bool, here: bool, same: bool| {
        let difference = found.entry(field).or_default();
        difference.tshark += u64::from(theirs);
        difference.here += u64::from(here);
        if !same {
            difference.differing += 1;
            if difference.differing == 1 {
                difference.first = number;
            }
        }
    };
    for (&number, theirs) in tshark {
        let Some(own) = ours.get(&number) else {
            note("packet", number, true, false, false);
            continue;
        };
        note("packet", number, true, true, own.connection == theirs.connection);
        for (place, (flag, _)) in FLAGS.iter().enumerate() {
            let (a, b) = (theirs.flags[place], own.flags[place]);
            note(flag, number, a, b, a == b);
        }
        let near = |a: u64, b: u64| a.abs_diff(b) <= 1;
        let same = match (theirs.rtt_ns, own.rtt_ns) {
            (Some(a), Some(b)) => near(a, b),
            (None, None) => true,
            _ => false,
        };
        note("ack_rtt", number, theirs.rtt_ns.is_some(), own.rtt_ns.is_some(), same);
        if own.unambiguous {
            note("ack_rtt, unambiguous", number, theirs.rtt_ns.is_some(), true, same);
        }
        if let (Some(a), Some(b)) = (theirs.flight, own.flight) {
            note("bytes_in_flight", number, true, true, a == b);
        }
    }
    found
}
