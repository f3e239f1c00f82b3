//! Hosts that hold ACKs back: fewer packets on the return link, and the same transfer.

use recording::Recording;

use crate::run;

fn download(forward: &str, transport: &str) -> String {
    format!(
        r#"
duration = "120s"
[[link]]
between = ["server", "client"]
[link.forward]
rate = "50Mbit/s"
delay = "300ms"
queue = {{ bytes = "3.75MB" }}
{forward}
[link.backward]
rate = "5Mbit/s"
delay = "300ms"
[[flow]]
from = "server"
to = "client"
controller = "cubic"
transport = {{ recovery = "linux", rto.estimator = "linux", {transport} }}
traffic = {{ download = "40MB" }}
"#
    )
}

/// Packets of the return link, and the completion time in seconds.
fn acks(forward: &str, transport: &str) -> (u64, f64) {
    acks_of(&download(forward, transport))
}

fn acks_of(text: &str) -> (u64, f64) {
    let recording: Recording = run(text);
    let fct = recording.flows[0].completion_s.expect("a download that ends");
    (recording.links[1].delivered_packets, fct)
}

#[test]
fn sack_compression_sends_a_part_of_the_acks_of_a_recovery() {
    let lossy = "channel = { per = 1e-3 }";
    for ack in ["delayed_ack = \"linux\"", "delayed_ack = \"200ms\""] {
        let (all, before) = acks(lossy, ack);
        let (compressed, after) = acks(lossy, &format!("{ack}, sack_compression = {{}}"));
        assert!(10 * compressed < 9 * all, "{ack}: {compressed} of {all}");
        assert!((after / before - 1.0).abs() < 0.05, "{ack}: {after} s and {before} s");
    }
    // Without losses there is nothing to compress.
    assert_eq!(acks("", "sack_compression = {}"), acks("", ""));
}

#[test]
fn receive_offload_sends_one_ack_for_a_burst() {
    // A slot of 5 ms has 21 segments at 50 Mbit/s. Linux sets PSH at the end of each packet of
    // segmentation offload, which ends a batch. HyStart++ without pacing grows by at most eight
    // segments for an ACK (RFC 9406 section 4.2), so with ACKs of 21 segments slow start takes
    // longer.
    for (recovery, segments, longer) in [("linux", 2, 0.05), ("sack", 5, 0.3)] {
        let keys = format!("recovery = {recovery:?}, timestamps = false");
        let slots = |keys: &str| {
            let text = download("slot = { min_delay = \"5ms\" }", keys);
            acks_of(&text.replacen("recovery = \"linux\", ", "", 1))
        };
        let (all, before) = slots(&keys);
        let (batches, after) = slots(&format!("{keys}, receive_offload = {{}}"));
        assert!(segments * batches < all, "{recovery}: {batches} of {all}");
        assert!((after / before - 1.0).abs() < longer, "{recovery}: {after} s and {before} s");
    }
    // Segments that are 240 us apart are batches of one.
    let (alone, plain) = (acks("", "receive_offload = {}").0, acks("", "").0);
    assert_eq!(alone, plain);
}

#[test]
fn sack_compression_without_sack_is_refused() {
    let text = download("", "sack_compression = {}").replace("\"linux\", rto", "\"newreno\", rto");
    let error = scenario::Scenario::parse(&text, "test.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("sack_compression"), "{error}");
    assert!(error.contains("recovery \"sack\" or \"linux\""), "{error}");
}
