//! Automatic repeat request under TCP, with every controller.

use link::Arq;

use super::{lossy, parse, run, total};

/// A link with an RTT of 50 ms and a PER of 10 %. `arq` is TOML.
fn with_procedure(arq: &str, controller: &str, size: &str) -> String {
    lossy(0.1, &format!("arq = {arq}"), controller, size)
}

const PROCEDURES: [&str; 4] = [
    "\"go-back-n\"",
    "\"selective-repeat\"",
    "{ name = \"selective-repeat\", in_order = false }",
    "{ name = \"selective-repeat\", persistence = 1, window = 8, sequence_bits = 4 }",
];

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn a_transfer_of_every_controller_ends_with_every_procedure_and_loses_less_than_without() {
    for entry in congestion::entries() {
        for arq in PROCEDURES {
            let (controller, case) = (entry.name, format!("{} with {arq}", entry.name));
            let recording = run(&with_procedure(arq, controller, "500kB"));
            assert!(recording.flows[0].completed, "{case}");
            assert!(total(&recording, "arq", "repeated_frames") > 0, "{case}");
            let [lost, sent] =
                ["given_up_packets", "frames"].map(|name| total(&recording, "arq", name));
            // With one repeat 1 % is lost, and 500 kB have about 340 packets.
            assert!(lost * 20 <= sent, "{case}: {lost} of {sent}");
        }
    }
}

#[test]
fn arq_hides_loss_from_a_sender_that_takes_it_for_congestion() {
    let [without, with] = ["\"none\"", "\"selective-repeat\""].map(|arq| {
        let recording = run(&with_procedure(arq, "newreno", "2MB"));
        recording.flows[0].completion_s.unwrap()
    });
    assert!(with * 3.0 < without, "{with} s with ARQ and {without} s without");
}

/// Status frames take the rate of the other direction: one for each frame that arrives.
#[test]
fn status_frames_use_the_other_direction_and_are_corrupted_there() {
    let recording = run(&with_procedure("\"selective-repeat\"", "newreno", "2MB"));
    let plain = run(&with_procedure("\"none\"", "newreno", "2MB"));
    assert!(plain.tables.is_empty());
    let [frames, repeated, skips, status] =
        ["frames", "repeated_frames", "skip_frames", "status_frames"]
            .map(|name| total(&recording, "arq", name));
    let repeats = repeated + skips;
    assert!(status <= frames + repeats);
    assert!(status as f64 > 0.8 * (frames + repeats) as f64, "{status} of {frames} + {repeats}");
    let back = total(&recording, "arq", "received_status_frames") as f64 / status as f64;
    let forth =
        1.0 - total(&recording, "arq", "corrupted_frames") as f64 / (frames + repeats) as f64;
    // Five standard deviations of about 1600 frames are 3.7 %.
    assert!([back, forth].iter().all(|share| (share - 0.9).abs() < 0.037), "{back}, {forth}");
    assert_eq!(recording.links[0].corrupted_packets, 0, "all are repeated");
}

#[test]
fn both_engines_give_the_same_recording_with_every_procedure() {
    for arq in PROCEDURES {
        let text = with_procedure(arq, "cubic", "1MB")
            .replace("forward = {", "backward = { arq = \"go-back-n\" }\nforward = {");
        let text = text + "[record]\ninterval = \"1s\"\n";
        let scenario = parse(&text);
        let fast = simulator::run(&scenario, 7, simulator::Options::default());
        let slow = simulator::run_on_reference(&scenario, 7, simulator::Options::default());
        assert_eq!(fast.tables, slow.tables, "{arq}");
        assert_eq!(fast.flows, slow.flows, "{arq}");
        assert_eq!(fast.links, slow.links, "{arq}");
        let series = fast.tables.iter().find(|table| table.name() == "arq_series").unwrap();
        let rows = series.columns()[0].values.len();
        assert_eq!(rows, fast.link_series.len(), "both directions have ARQ");
    }
}

#[test]
fn all_procedures_are_tested() {
    for arq in Arq::all() {
        assert!(PROCEDURES.iter().any(|text| text.contains(arq.name())), "{}", arq.name());
    }
}
