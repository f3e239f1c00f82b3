//! Every controller by the numbers of its runs. A change that is meant to move no result leaves
//! this snapshot as it is, whatever it renames; one that moves results says which in the changelog.

use std::fmt::Write;

use recording::{Recording, Table};

use crate::{geo, run};

/// The columns by which a run is known, under names that a rename would have to change here.
const COLUMNS: [(Table, &[&str]); 2] = [
    (
        Table::Flows,
        &[
            "bytes",
            "completion_s",
            "throughput_bps",
            "srtt_ms",
            "mean_rtt_ms",
            "p95_rtt_ms",
            "cwnd_bytes",
            "page_response_s",
            "segments_sent",
            "segments_retransmitted",
            "probes_sent",
            "timeouts",
            "fast_recoveries",
        ],
    ),
    (
        Table::FlowSeries,
        &["cwnd_bytes", "ssthresh_bytes", "srtt_ms", "rto_ms", "flight_bytes", "sent_bytes"],
    ),
];

/// FNV-1a over the bits of the numbers in [`COLUMNS`].
fn digest(recording: &Recording) -> u64 {
    let cells = COLUMNS.iter().flat_map(|(table, names)| {
        let columns = table.columns(recording);
        let of = |name: &&str| {
            let column = columns.iter().find(|column| column.name == *name);
            let values = &column.unwrap_or_else(|| panic!("no column {name}")).values;
            (0..values.len()).map(|row| values.number(row)).collect::<Vec<_>>()
        };
        names.iter().flat_map(of).collect::<Vec<_>>()
    });
    let bits = cells.map(|cell| cell.map_or(u64::MAX, f64::to_bits));
    bits.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Paths for every controller: random losses, a full queue, and two connections that share it.
const PATHS: [(&str, &str, &str); 3] = [
    ("losses", "rate = \"4Mbit/s\"\nchannel = { per = 0.005 }", r#"download = "2MB""#),
    ("queue", "rate = \"2Mbit/s\"\nqueue = { packets = 40 }", r#"bulk = "unlimited""#),
    ("pages", "rate = \"2Mbit/s\"\nqueue = { packets = 30 }", "web = { pages = 3 }"),
];

/// A controller and its variants, each with its setting in a scenario.
pub(crate) fn forms(entry: &congestion::Entry) -> Vec<(String, String)> {
    let name = entry.name;
    let variants = congestion::variants(name).map(|(variant, _)| {
        (format!("{name}/{variant}"), format!("{{ name = {name:?}, variant = {variant:?} }}"))
    });
    std::iter::once((name.to_owned(), format!("{name:?}"))).chain(variants).collect()
}

#[test]
fn no_number_of_any_controller_changes_unnoticed() {
    let mut table = String::new();
    for (name, setting) in congestion::entries().flat_map(forms) {
        for (path, link, traffic) in PATHS {
            for recovery in ["sack", "linux"] {
                let transport = format!("recovery = \"{recovery}\"");
                let text = geo(link, &transport, traffic)
                    .replace("3000s", "60s")
                    .replace("\"newreno\"", &setting)
                    + "[record]\ninterval = \"1s\"\n";
                let digest = digest(&run(&text));
                writeln!(table, "{name:20} {path:8} {recovery:8} {digest:016x}").unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}
