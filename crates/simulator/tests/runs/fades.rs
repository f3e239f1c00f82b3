//! Links under rain: what a fade does to the packets of a run.

use std::fmt::Write;

use recording::Recording;

use crate::{parse, run};

/// A bulk sender for 60 s over a link of 1 Mbit/s on which packets are lost by `channel` alone.
fn under(channel: &str) -> String {
    format!(
        r#"
duration = "60s"
[[link]]
between = ["a", "b"]
rate = "1Mbit/s"
delay = "10ms"
queue = "unlimited"
forward = {{ channel = {channel} }}
[[flow]]
from = "a"
to = "b"
controller = "newreno"
transport = {{ recovery = "sack", receive_buffer = "64KiB", window_scaling = true }}
traffic = {{ bulk = "unlimited" }}
[record]
interval = "1s"
"#
    )
}

/// The same with a fade of these samples.
fn fade(name: &str, budget: &str, samples: &[(f64, f64)]) -> String {
    let file = std::env::temp_dir().join(format!("bentpipe-{}-{name}.csv", std::process::id()));
    let mut rows = String::new();
    samples.iter().for_each(|(time, decibels)| writeln!(rows, "{time},{decibels}").unwrap());
    std::fs::write(&file, rows).unwrap();
    under(&format!("{{ {budget}, attenuation = {:?} }}", file.to_str().unwrap()))
}

/// Packets corrupted from a to b until the last sample before `second`.
fn corrupted_before(recording: &Recording, second: f64) -> u64 {
    let series = &recording.link_series;
    let rows = (0..series.t_s.len()).filter(|row| series.link[*row] == 0);
    let before = rows.filter(|row| series.t_s[*row] < second);
    before.map(|row| series.corrupted_packets[row]).max().unwrap()
}

/// 20 dB from 20.001 s to 30 s; lock is lost at 20.00025 s and back 5 s after 30.00075 s.
const STORM: [(f64, f64); 6] =
    [(0.0, 0.0), (20.0, 0.0), (20.001, 20.0), (30.0, 20.0), (30.001, 0.0), (60.0, 0.0)];
const BUDGET: &str = "eb_n0 = 12, code = \"viterbi-3/4\", \
                      lock = { threshold = 7, hysteresis = 0, reacquisition = \"5s\" }";

#[test]
fn nothing_is_lost_in_clear_sky_and_everything_without_lock() {
    let scenario = parse(&fade("storm", BUDGET, &STORM));
    let mut left = Vec::new();
    let mut note = |observed: &simulator::Observed<'_>| {
        if observed.node == 1 && observed.from == 0 {
            left.push(observed.at.as_secs_f64() - 0.01);
        }
    };
    let options = simulator::Options { observer: Some(&mut note), ..Default::default() };
    let recording = simulator::run(&scenario, 1, options);
    let lost = 20.000_25..35.000_75;
    assert!(left.iter().all(|at| !lost.contains(at)), "a packet came through without lock");
    assert_eq!(corrupted_before(&recording, 19.0), 0);
    let corrupted = recording.links[0].corrupted_packets;
    assert!(corrupted > 0);
    // The sender goes on when its RTO, doubled meanwhile, expires after the outage.
    assert_eq!(corrupted_before(&recording, 38.0), corrupted);
    assert!(left.iter().filter(|at| **at > 40.0).count() > 1000, "{}", left.len());
}

#[test]
fn a_constant_attenuation_is_a_weaker_link() {
    let goodput = |channel: &str| run(&under(channel)).flows[0].goodput_bps;
    let weak = goodput("{ eb_n0 = 9.0, code = \"uncoded\" }");
    assert_eq!(weak, goodput("{ eb_n0 = 14, code = \"uncoded\", attenuation = 5 }"));
    let clear = goodput("{ eb_n0 = 14, code = \"uncoded\" }");
    assert!(weak < 0.7 * clear, "{weak} of {clear}");
}
