//! Adaptive coding and modulation: a fade takes rate before it takes packets, on both engines.

use recording::{Recording, Values};

use super::{parse, run};

/// 10 dB within the given seconds, from 20 s on for 30 s, on a link of 2 MHz with an RTT of 50 ms.
fn faded(seconds: f64, modem: &str, controller: &str) -> String {
    let folder = std::env::temp_dir().join(format!("bentpipe-acm-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("fade-{seconds}.csv"));
    let end = 50.0 + seconds;
    let fade = format!("0,0\n20,0\n{},10\n50,10\n{end},0\n200,0\n", 20.0 + seconds);
    std::fs::write(&file, fade).unwrap();
    format!(
        r#"
duration = "80s"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "25ms"
queue = {{ packets = 60 }}
forward.channel = {{ es_n0 = 15.5, attenuation = {file:?}, modem = {modem} }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
traffic = {{ bulk = "unlimited" }}
[record]
interval = "500ms"
"#
    )
}

const MODEMS: [&str; 2] = [
    "{ name = \"dvb-s2\", bandwidth = 2e6 }",
    "{ name = \"dvb-s2x\", bandwidth = 2e6, roll_off = 0.1, margin = 0.1, delay = \"1s\" }",
];

fn numbers(recording: &Recording, table: &str, column: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    match &table.columns().iter().find(|one| one.name == column).unwrap().values {
        Values::F64(numbers) => numbers.to_vec(),
        Values::U64(counts) => counts.iter().map(|count| *count as f64).collect(),
        _ => panic!("{column} is a number"),
    }
}

#[test]
fn a_slow_fade_takes_rate_and_no_packet_of_any_controller() {
    for entry in congestion::entries() {
        let recording = run(&faded(20.0, MODEMS[0], entry.name));
        assert_eq!(recording.links[0].corrupted_packets, 0, "{}", entry.name);
        assert_eq!(numbers(&recording, "acm", "lost_s"), [0.0]);
        assert!(numbers(&recording, "acm", "changes")[0] > 10.0);
        assert!(recording.links[0].delivered_bytes > 1_000_000, "{}", entry.name);
    }
}

#[test]
fn a_fast_fade_takes_packets_until_the_modem_follows() {
    let recording = run(&faded(0.2, MODEMS[0], "cubic"));
    let lost = numbers(&recording, "acm", "lost_s")[0];
    // The delay of the loop, and at most two intervals of measurements and the fade.
    assert!((0.5..0.9).contains(&lost), "{lost}");
    assert!(recording.links[0].corrupted_packets > 10);
}

/// The rate of the series is the rate at which the link delivers.
#[test]
fn the_series_has_the_rate_of_the_link() {
    let recording = run(&faded(5.0, MODEMS[0], "cubic"));
    let rates = numbers(&recording, "acm_series", "rate_bps");
    let [before, within] = [30, 90].map(|row| rates[row]);
    assert_eq!(before, 6_865_900.0, "32APSK 5/6, 4.11954 bits in each of 2 MHz / 1.2 symbols");
    assert_eq!(within, 2_645_327.0, "QPSK 4/5, 1.587196 bits");
    let bytes = &recording.flow_series.delivered_bytes;
    let mbps = (bytes[95] - bytes[75]) as f64 * 8.0 / 10.0;
    assert!((0.85..1.0).contains(&(mbps / within)), "{mbps} of {within}");
    let least = numbers(&recording, "acm", "min_rate_bps")[0];
    assert_eq!(least, within);
}

#[test]
fn both_engines_give_the_same_recording_with_every_modem() {
    for modem in MODEMS {
        for seconds in [0.2, 5.0] {
            let scenario = parse(&faded(seconds, modem, "cubic"));
            let fast = simulator::run(&scenario, 7, simulator::Options::default());
            let slow = simulator::run_on_reference(&scenario, 7, simulator::Options::default());
            assert_eq!(fast.tables, slow.tables, "{modem}");
            assert_eq!(fast.flows, slow.flows, "{modem}");
            assert_eq!(fast.links, slow.links, "{modem}");
        }
    }
}
