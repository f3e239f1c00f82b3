//! `variant = "picoquic"`, from the scenario to the completion time.

use super::run;

/// A download over a geostationary satellite with the settings of picoquic's tests: 300 ms one way,
/// 250 and 3 Mbit/s, queues of one bandwidth-delay product.
fn download(controller: &str, protocol: &str, rates: [f64; 2], per: f64, size: &str) -> String {
    let transport = match protocol {
        "quic" => {
            "quic = { stream_receive_window = \"37500kB\", send_window = \"37500kB\", ack_threshold = 10 }"
        }
        _ => "recovery = \"linux\"\nreceive_buffer = \"37500kB\"",
    };
    let link = |rate: f64| {
        let queue = rate * 1e6 / 8.0 * 0.6;
        format!("rate = \"{rate}Mbit/s\", queue = {{ bytes = \"{queue:.0}B\" }}")
    };
    let [forward, backward] = rates.map(link);
    format!(
        r#"
duration = "4000s"
[[link]]
between = ["server", "client"]
delay = "300ms"
forward = {{ {forward}, channel = {{ per = {per} }} }}
backward = {{ {backward} }}
[[flow]]
from = "server"
to = "client"
controller = {controller}
traffic = {{ download = "{size}" }}
[flow.transport]
protocol = "{protocol}"
{transport}
"#
    )
}

const BBR: &str = "{ name = \"bbr\", variant = \"picoquic\" }";
const PICOQUIC: &str = "{ name = \"cubic\", variant = \"picoquic\" }";

fn completion_s(text: &str) -> f64 {
    run(text).flows[0].completion_s.unwrap()
}

/// One lost packet in a hundred holds CUBIC down, and picoquic's goes on: over both protocols.
#[test]
fn isolated_losses_cost_little() {
    for protocol in ["tcp", "quic"] {
        let time = |controller, per| {
            completion_s(&download(controller, protocol, [50.0, 10.0], per, "10MB"))
        };
        let clean = time(PICOQUIC, 0.0);
        let lossy = time(PICOQUIC, 0.01);
        let cubic = time("\"cubic\"", 0.01);
        assert!(lossy < 2.0 * clean, "{protocol}: {lossy} s, and {clean} s without losses");
        assert!(cubic > 5.0 * lossy, "{protocol}: {lossy} s, and cubic {cubic} s");
    }
}

/// The first window of a long path has six times the segments, and half of the peak rate follows: a
/// download of 10 MB ends two round trips before that of Linux's BBR, and losses cost it little.
#[test]
fn a_long_path_is_filled_sooner() {
    for protocol in ["tcp", "quic"] {
        let time = |controller, per| {
            completion_s(&download(controller, protocol, [50.0, 10.0], per, "10MB"))
        };
        let [linux, clean, lossy] = [time("\"bbr\"", 0.0), time(BBR, 0.0), time(BBR, 0.01)];
        assert!(clean + 1.2 < linux, "{protocol}: {clean} s, and bbr {linux} s");
        assert!(lossy < 1.5 * clean, "{protocol}: {lossy} s, and {clean} s without losses");
    }
}
