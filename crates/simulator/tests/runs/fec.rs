//! Forward error correction under TCP, with every controller.

use link::Fec;

use super::{lossy, parse, run, total};

/// A link with an RTT of 50 ms and a PER of 3 %. `fec` is TOML.
fn with_code(fec: &str, controller: &str, size: &str) -> String {
    lossy(0.03, &format!("fec = {fec}"), controller, size)
}

const CODES: [&str; 3] = [
    "\"reed-solomon\"",
    "{ name = \"reed-solomon\", data = 8, parity = 3, depth = 4 }",
    "{ name = \"reed-solomon\", data = 4, parity = 2, in_order = false, timer = \"5ms\" }",
];

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn a_transfer_of_every_controller_ends_with_every_code_and_loses_less_than_without() {
    for entry in congestion::entries() {
        for fec in CODES {
            let (controller, case) = (entry.name, format!("{} with {fec}", entry.name));
            let recording = run(&with_code(fec, controller, "500kB"));
            assert!(recording.flows[0].completed, "{case}");
            assert!(total(&recording, "fec", "repaired_packets") > 0, "{case}");
            let [lost, data] =
                ["lost_packets", "data_packets"].map(|name| total(&recording, "fec", name));
            // Without a code 3 % are lost, and 500 kB have about 340 packets.
            assert!(lost * 50 <= data, "{case}: {lost} of {data}");
        }
    }
}

#[test]
fn fec_hides_loss_from_a_sender_that_takes_it_for_congestion() {
    let strong = CODES[1];
    let [without, with] = ["\"none\"", strong].map(|fec| {
        let recording = run(&with_code(fec, "newreno", "2MB"));
        recording.flows[0].completion_s.unwrap()
    });
    assert!(with * 1.5 < without, "{with} s with FEC and {without} s without");
}

#[test]
fn both_engines_give_the_same_recording_with_every_code() {
    for fec in CODES {
        let text = with_code(fec, "cubic", "1MB")
            .replace("forward = {", "backward = { fec = \"reed-solomon\" }\nforward = {");
        let text = text + "[record]\ninterval = \"1s\"\n";
        let scenario = parse(&text);
        let fast = simulator::run(&scenario, 7, simulator::Options::default());
        let slow = simulator::run_on_reference(&scenario, 7, simulator::Options::default());
        assert_eq!(fast.tables, slow.tables, "{fec}");
        assert_eq!(fast.flows, slow.flows, "{fec}");
        assert_eq!(fast.links, slow.links, "{fec}");
        let series = fast.tables.iter().find(|table| table.name() == "fec_series").unwrap();
        let rows = series.columns()[0].values.len();
        assert_eq!(rows, fast.link_series.len(), "both directions have FEC");
    }
}

#[test]
fn all_codes_are_tested() {
    for fec in Fec::all() {
        assert!(CODES.iter().any(|text| text.contains(fec.name())), "{}", fec.name());
    }
}
