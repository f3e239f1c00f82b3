//! Recordings by their digest. A change here means that numbers move for everybody: say so in the
//! changelog.

use std::fmt::Write;

use crate::{geo, run};

const RAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fade.toml");
const FADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fade.csv");

#[test]
fn recordings_do_not_change_unnoticed() {
    let plain = "rate = \"2Mbit/s\"";
    let lossy = "rate = \"2Mbit/s\"\nchannel = { per = 0.01 }";
    let narrow = "rate = \"512kbit/s\"\nqueue = { bytes = \"20kB\" }\noverhead = \"18B\"";
    let window = r#"receive_buffer = "65535B""#;
    let scenarios = [
        ("download", geo(plain, window, r#"download = "5MB""#)),
        ("download with errors, Reno", geo(lossy, r#"recovery = "reno""#, r#"download = "2MB""#)),
        (
            "download with errors, NewReno",
            geo(lossy, r#"recovery = "newreno""#, r#"download = "2MB""#),
        ),
        ("download with errors, SACK", geo(lossy, r#"recovery = "sack""#, r#"download = "2MB""#)),
        (
            "bit errors, timestamps",
            geo(
                "rate = \"4Mbit/s\"\nchannel = { ber = 1e-6 }",
                "timestamps = true",
                r#"download = "2MB""#,
            ),
        ),
        (
            "narrow queue, bulk",
            geo(narrow, r#"delayed_ack = "off""#, r#"bulk = "unlimited""#).replace("3000s", "120s"),
        ),
        ("pages", geo(plain, window, "web = { pages = 5 }")),
        (
            "slow reader",
            geo(
                plain,
                r#"receive_buffer = "65535B", reader_rate = "300kbit/s""#,
                r#"download = "1MB""#,
            ),
        ),
        (
            "bursts of losses",
            geo(
                "rate = \"2Mbit/s\"\nforward.channel = { mean_loss = 0.005, mean_burst = 3 }",
                "",
                r#"download = "2MB""#,
            ),
        ),
        (
            "rain",
            std::fs::read_to_string(RAIN).unwrap().replace("\"fade.csv\"", &format!("{FADE:?}")),
        ),
        (
            "constant rate",
            geo(lossy, "", r#"constant = { rate = "300kbit/s" }"#).replace("3000s", "60s"),
        ),
        (
            "bursts, Pareto",
            geo(
                lossy,
                "",
                r#"on_off = { rate = "3Mbit/s", on = "1s", off = "2s", distribution = "pareto" }"#,
            )
            .replace("3000s", "60s"),
        ),
        ("series", geo(lossy, window, r#"download = "1MB""#) + "[record]\ninterval = \"500ms\"\n"),
    ];
    let mut table = String::new();
    for (name, text) in scenarios {
        let recording = run(&text);
        let flow = &recording.flows[0];
        writeln!(
            table,
            "{name:32} {:9.3} s {:6} segments {:5} again  {}",
            recording.simulated_s,
            flow.tcp().unwrap().segments_sent,
            flow.tcp().unwrap().segments_retransmitted,
            &recording.digest()[..16]
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}
