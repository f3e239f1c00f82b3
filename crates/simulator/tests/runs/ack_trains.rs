//! ACKs that come in trains: the way back is open for a millisecond in each slot, as over Wi-Fi,
//! cable and many satellite return channels.

use std::fs;

use scenario::Loaded;
use simulator::Options;

/// Goodput in Mbit/s of `bbr` over 100 Mbit/s and 20 ms in 30 s, with a train of ACKs every `slot`
/// milliseconds.
fn goodput(slot: u32) -> f64 {
    let folder =
        std::env::temp_dir().join(format!("bentpipe-trains-{}-{slot}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (open, end) = (f64::from(slot - 1) / 1e3, f64::from(slot) / 1e3);
    let trace = format!("t_s,rate_mbps\n0,0\n{open},1000\n{end},0\n");
    fs::write(folder.join("slots.csv"), trace).unwrap();
    let path = folder.join("trains.toml");
    fs::write(&path, SCENARIO).unwrap();
    let loaded = Loaded::load(&path, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    fs::remove_dir_all(&folder).unwrap();
    simulator::run(&loaded.scenario, 1, Options::default()).flows[0].goodput_bps / 1e6
}

const SCENARIO: &str = r#"
duration = "30s"
[[link]]
between = ["server", "ap"]
rate = "100Mbit/s"
delay = "10ms"
queue = { bytes = "500kB" }
[[link]]
between = ["ap", "client"]
delay = "0ms"
rate = "1Gbit/s"
queue = { packets = 10000 }
backward = { trace = { file = "slots.csv", loop = true } }
[[flow]]
from = "server"
to = "client"
controller = "bbr"
transport = { recovery = "linux", receive_buffer = "16MiB" }
traffic = { bulk = "unlimited" }
"#;

/// Linux 6.18 on the kernel backend, median of two runs. A train in each 20 ms is as long as ten
/// rounds of `ProbeRTT`: the samples of four segments replaced the bandwidth of the path, and it
/// took seconds to measure it again.
#[test]
fn bbr_has_the_goodput_of_the_kernel_with_trains_of_acks() {
    for (slot, kernel) in [(5, 94.6), (10, 94.6), (20, 94.5), (40, 93.2), (80, 69.0)] {
        let measured = goodput(slot);
        assert!((measured / kernel - 1.0).abs() < 0.1, "{slot} ms: {measured} and {kernel}");
    }
}
