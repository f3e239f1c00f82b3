//! Controllers for background transfers: alone they use the link, and some leave it to NewReno.

use crate::run;

/// Bytes of a background flow and of a NewReno flow that begins 60 s later, in 180 s on a link of
/// 10 Mbit/s with an RTT of 100 ms and a queue of two bandwidth-delay products.
fn shares(controller: &str) -> (u64, u64) {
    let recording = run(&format!(
        r#"
duration = "180s"
[[link]]
between = ["server", "client"]
delay = "50ms"
forward = {{ rate = "10Mbit/s", queue = {{ packets = 170 }} }}
backward = {{ rate = "10Mbit/s" }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ recovery = "linux", receive_buffer = "8MiB" }}
traffic = {{ bulk = "unlimited" }}
[[flow]]
from = "server"
to = "client"
controller = "newreno"
start = "60s"
transport = {{ recovery = "linux", receive_buffer = "8MiB" }}
traffic = {{ bulk = "unlimited" }}
"#
    ));
    (recording.flows[0].bytes, recording.flows[1].bytes)
}

/// What the link carries while the background flow is alone, and afterwards.
const ALONE: f64 = 10e6 / 8.0 * 60.0;
const SHARED: f64 = 2.0 * ALONE;

/// The sawtooth of NewReno raises the delay, and each time TCP-LP leaves with all but a segment.
#[test]
fn tcp_lp_uses_an_idle_link_and_leaves_it_to_newreno() {
    let (background, newreno) = shares("lp");
    assert!(background as f64 > 0.75 * ALONE, "{background} bytes");
    assert!(newreno as f64 > 0.9 * SHARED, "{newreno} bytes");
}

/// It pauses for a tenth of the time, and keeps what it has while the sawtooth of the other leaves less
/// than 60 ms of queue: of two bandwidth-delay products that is a good part of the time.
#[test]
fn ledbat_plus_plus_uses_an_idle_link() {
    let (background, _) = shares("ledbat-plus-plus");
    assert!(background as f64 > 0.75 * ALONE, "{background} bytes");
}
