//! Goodput over buffer and loss, compared with theory, and limits that no snapshot can bless away.

use std::fmt::Write;

use crate::{geo, run_with_seed};

const MSS: f64 = 1460.0;
const RTT: f64 = 0.5;

/// Mathis, Semke, Mahdavi, Ott: MSS/RTT * C/sqrt(p) with C = sqrt(3/2) when each segment is
/// acknowledged and sqrt(3/4) when every second one is.
fn mathis(per: f64, acked_segments: f64) -> f64 {
    MSS * 8.0 / RTT * (1.5 / acked_segments / per).sqrt()
}

/// Padhye, Firoiu, Towsley, Kurose, equation 30: with timeouts of `rto` seconds.
fn padhye(per: f64, acked_segments: f64, rto: f64) -> f64 {
    let b = acked_segments;
    let halvings = RTT * (2.0 * b * per / 3.0).sqrt();
    let timeouts =
        rto * (3.0 * (3.0 * b * per / 8.0).sqrt()).min(1.0) * per * (1.0 + 32.0 * per * per);
    MSS * 8.0 / (halvings + timeouts)
}

/// Mean goodput of five long transfers.
fn goodput(per: f64, window: u32, delayed_ack: &str) -> f64 {
    let link = format!(
        "rate = \"100Mbit/s\"\nqueue = \"unlimited\"\nforward = {{ channel = {{ per = {per:e} }} }}"
    );
    let transport = format!(
        r#"recovery = "sack", receive_buffer = "{window}B", delayed_ack = {delayed_ack}, initial_ssthresh = "15kB", initial_window = 2"#
    );
    let text = geo(&link, &transport, r#"bulk = "unlimited""#).replace("3000s", "4000s");
    let seeds = 1..=5;
    seeds.map(|seed| run_with_seed(&text, seed).flows[0].goodput_bps).sum::<f64>() / 5.0
}

#[test]
fn goodput_follows_the_window_and_the_root_of_the_loss() {
    let mut table =
        "   per  delack   window |  goodput    window/RTT    Mathis    Padhye  kbit/s\n".to_owned();
    for (delayed_ack, acked_segments) in [("\"off\"", 1.0), ("\"200ms\"", 2.0)] {
        for per in [1e-3, 3e-3, 1e-2, 3e-2] {
            for window in [16_384u32, 65_535, 1_048_576] {
                let measured = goodput(per, window, delayed_ack);
                let by_window = f64::from(window) * 8.0 / RTT;
                let (mathis, padhye) =
                    (mathis(per, acked_segments), padhye(per, acked_segments, 1.0));
                writeln!(
                    table,
                    "{per:6} {delayed_ack:>7} {window:8} | {:8.0}  {:12.0}  {:8.0}  {:8.0}",
                    measured / 1e3,
                    by_window / 1e3,
                    mathis / 1e3,
                    padhye / 1e3
                )
                .unwrap();
                let bound = by_window.min(mathis);
                assert!(measured < 1.06 * bound, "more than theory allows\n{table}");
                if window == 1_048_576 {
                    assert!((measured / padhye - 1.0).abs() < 0.1, "not what theory says\n{table}");
                }
            }
        }
    }
    insta::assert_snapshot!(table);
}
