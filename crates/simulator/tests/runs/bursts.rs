//! Loss bursts in packets and in time, as a transfer meets them.

use crate::{geo, run_with_seed};

/// Completion times in seconds of 200 downloads of 10 kB at a mean loss of 2 %.
fn completions(mean_burst: &str) -> Vec<f64> {
    let channel = format!(
        "rate = \"10Mbit/s\"\nforward = {{ channel = {{ mean_loss = 0.02, mean_burst = {mean_burst} }} }}"
    );
    let text = geo(&channel, "recovery = \"linux\"", "download = \"10kB\"");
    let of_seed = |seed| run_with_seed(&text, seed).flows[0].completion_s.unwrap_or(f64::INFINITY);
    (1..=200).map(of_seed).collect()
}

/// 20 packets of 1500 bytes take 24 ms. The retransmission after a timeout of a second is beyond
/// such a burst, and two in a row are needed for more than some seconds. A burst that waits for 20
/// packets takes one retransmission after another, and each waits twice as long.
#[test]
fn a_burst_in_time_is_over_when_the_retransmission_comes() {
    let slowest = |burst| completions(burst).into_iter().fold(0.0, f64::max);
    let (in_time, in_packets) = (slowest("\"24ms\""), slowest("20"));
    assert!(in_time < 10.0, "{in_time}");
    assert!(in_packets > 60.0, "{in_packets}");
}
