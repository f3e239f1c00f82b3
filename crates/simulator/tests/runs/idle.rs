//! A connection that is idle and keeps its window (`idle_restart = false`).

use crate::run;

/// cwnd in bytes, sampled each round trip of 600 ms: at the end of an idle minute, and in the four
/// round trips after it.
fn after_idle(controller: &str) -> Vec<f64> {
    let recording = run(&format!(
        r#"
duration = "90s"
[[link]]
between = ["s", "c"]
delay = "300ms"
rate = "20Mbit/s"
queue = {{ bytes = "3MB" }}
[[flow]]
from = "s"
to = "c"
controller = {controller}
transport = {{ initial_ssthresh = "300kB", idle_restart = false, receive_buffer = "16MiB" }}
traffic = {{ on_off = {{ rate = "15Mbit/s", on = "3s", off = "60s", distribution = "constant" }} }}
[record]
interval = "600ms"
"#
    ));
    let series = &recording.flow_series;
    // The second burst begins at 63 s, and its first ACK comes a round trip later.
    let first = series.t_s.iter().position(|t| *t >= 63.0).unwrap();
    series.cwnd_bytes[first..first + 5].iter().map(|bytes| *bytes as f64).collect()
}

/// RFC 9438 section 5.8. On its curve the window of CUBIC grows by 21 % in the round trip after the
/// pause, in which the data of two round trips is acknowledged, and by less in each later one. With
/// the idle minute on the curve it grew by half in each.
#[test]
fn idle_time_is_no_part_of_the_curve() {
    for controller in ["\"cubic\"", "{ name = \"cubic\", variant = \"linux\" }"] {
        let windows = after_idle(controller);
        for pair in windows.windows(2) {
            assert!(pair[1] <= 1.25 * pair[0], "{controller}: {windows:?}");
        }
    }
}
