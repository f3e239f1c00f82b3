//! Best-effort transport of SCPS-TP: what arrives, how late, and that everything ends with honest
//! counts.

use recording::{ExtraTable, FlowRecord, Recording, Values};
use scenario::Scenario;
use simulator::Options;

use super::scps::geo;
use super::{parse, run};

const DEDICATED: &str = r#"cause = "corruption", rate = "2Mbit/s""#;

/// Keys of `scps` with a number of retransmissions and the timeout of the receiver.
fn best_effort(retransmissions: u32, timeout: &str) -> String {
    format!(
        "best_effort = {{ retransmissions = {retransmissions}, receive_timeout = \"{timeout}\" }}"
    )
}

/// Given up and skipped, in bytes and holes, of the only flow.
fn counts(recording: &Recording) -> [u64; 4] {
    let is_it = |table: &&ExtraTable| table.name() == "best_effort";
    let table = recording.tables.iter().find(is_it).expect("a table");
    let columns = table.columns();
    let names = ["given_up_bytes", "given_up_holes", "skipped_bytes", "skipped_holes"];
    names.map(|name| {
        let column = columns.iter().find(|column| column.name == name).unwrap();
        let Values::U64(numbers) = &column.values else { panic!("{name} has no counts") };
        assert_eq!(numbers.len(), 1);
        numbers[0]
    })
}

fn retransmitted(flow: &FlowRecord) -> u64 {
    flow.protocol.tcp().unwrap().segments_retransmitted
}

/// Without retransmissions the share of the bytes that arrives is that of the packets.
#[test]
fn what_errors_destroy_is_missing_and_nothing_else() {
    for form in ["simple", "vector"] {
        let scps = format!("{DEDICATED}, snack = \"{form}\", {}", best_effort(0, "200ms"));
        let recording = run(&geo([0.01, 0.0], "none", &scps, r#"bulk = "unlimited""#));
        let flow = &recording.flows[0];
        let [given_up, _, skipped, holes] = counts(&recording);
        let corrupted = recording.links[0].corrupted_packets;
        let missing = skipped as f64 / (flow.bytes + skipped) as f64;
        assert!((0.009..0.011).contains(&missing), "{form}: {missing}");
        // All that is lost before the end, in whole segments.
        assert!(skipped.is_multiple_of(1448) && holes <= corrupted, "{form}");
        assert!(skipped.abs_diff(1448 * corrupted) <= 10 * 1448, "{form}: {skipped}, {corrupted}");
        // The receiver passes some holes before the sender hears of them.
        let known = given_up as f64 / skipped as f64;
        assert!((0.95..=1.01).contains(&known), "{form}: {given_up}, {skipped}");
        assert_eq!(retransmitted(flow), 0, "{form}");
        let capacity = 2e6 * 1448.0 / 1500.0 * 0.99;
        let share = flow.goodput_bps / capacity;
        assert!((0.98..=1.0).contains(&share), "{form}: {share}");
        let goodput = flow.bytes as f64 * 8.0 / 300.0;
        assert!((flow.goodput_bps - goodput).abs() < 1.0, "{form}");
    }
}

/// One retransmission leaves the share of those that are lost twice.
#[test]
fn a_retransmission_leaves_the_square_of_the_error_rate() {
    let scps = format!("{DEDICATED}, {}", best_effort(1, "2s"));
    let recording = run(&geo([0.05, 0.0], "none", &scps, r#"bulk = "unlimited""#));
    let [_, _, skipped, _] = counts(&recording);
    let missing = skipped as f64 / (recording.flows[0].bytes + skipped) as f64;
    assert!((0.0015..0.0035).contains(&missing), "{missing}");
}

/// The longest time in which no byte is delivered, of a source that writes every 10 ms.
fn longest_stall(best_effort: &str) -> f64 {
    let scps = format!("{DEDICATED}, ack_floor = \"0ms\"{best_effort}");
    let traffic = r#"constant = { rate = "1Mbit/s", message = "1250B" }"#;
    let text = geo([0.01, 0.0], "none", &scps, traffic);
    let recording = run(&format!("record = {{ events = true }}\n{text}"));
    let series = &recording.flow_series;
    let mut last = None;
    let mut longest: f64 = 0.0;
    for (at, delivered) in series.t_s.iter().zip(&series.delivered_bytes) {
        if let Some((since, before)) = last
            && delivered <= before
        {
            // The first window is not scaled, and is used up in the first round trip.
            longest = longest.max(if since > 3.0 { at - since } else { 0.0 });
            continue;
        }
        last = Some((*at, delivered));
    }
    longest
}

/// Data behind a lost packet waits for the time of the receiver, and without best effort for a
/// round trip.
#[test]
fn the_time_of_the_receiver_bounds_what_a_loss_delays() {
    for (timeout, seconds) in [("50ms", 0.05), ("200ms", 0.2)] {
        let stall = longest_stall(&format!(", {}", best_effort(0, timeout)));
        assert!((seconds..seconds + 0.03).contains(&stall), "{timeout}: {stall} s");
    }
    let reliable = longest_stall("");
    assert!(reliable > 0.5, "{reliable} s");
}

#[test]
fn both_engines_give_the_same_recording_of_best_effort() {
    for traffic in [
        r#"download = "1MB""#,
        "web = { pages = 3 }",
        r#"on_off = { rate = "1Mbit/s", on = "300ms", off = "300ms" }"#,
    ] {
        let scps = format!("{DEDICATED}, {}", best_effort(0, "150ms"));
        let text = geo([0.02; 2], "none", &scps, traffic).replace("300s", "40s");
        let scenario = parse(&format!("record = {{ interval = \"100ms\" }}\n{text}"));
        let mut fast = simulator::run(&scenario, 1, Options::default());
        let slow = simulator::run_on_reference(&scenario, 1, Options::default());
        fast.events = slow.events;
        assert_eq!(fast.digest(), slow.digest(), "{traffic}");
        assert!(counts(&fast)[2] > 0, "{traffic}: nothing is missing");
    }
}

/// Losses of data and of ACKs with every controller: each transfer ends, and no byte is counted
/// that did not arrive.
#[test]
fn every_controller_delivers_what_it_does_not_skip() {
    for entry in congestion::entries() {
        for (cause, retransmissions) in [("congestion", 0), ("corruption", 0), ("corruption", 1)] {
            let scps = format!("cause = \"{cause}\", {}", best_effort(retransmissions, "300ms"));
            let recording = run(&geo([0.02; 2], entry.name, &scps, r#"download = "500kB""#));
            let flow = &recording.flows[0];
            assert!(flow.completed, "{}, {scps}", entry.name);
            let [_, _, skipped, holes] = counts(&recording);
            assert_eq!(flow.bytes + skipped, 500_000, "{}, {scps}", entry.name);
            assert!(holes > 0 || retransmissions > 0, "{}, {scps}", entry.name);
            let active = flow.completion_s.unwrap();
            assert!((flow.goodput_bps - flow.bytes as f64 * 8.0 / active).abs() < 1e-6);
        }
    }
}

/// An application counts bytes of the stream, and skipped ones are among them: pages end, and
/// sources stop.
#[test]
fn pages_and_sources_end_with_holes_in_them() {
    for reader in ["", r#", reader_rate = "1Mbit/s""#] {
        let scps = format!("{DEDICATED}, {}", best_effort(0, "150ms"));
        let of = |traffic: &str| {
            let text = geo([0.05; 2], "none", &scps, traffic);
            text.replace(" } }\ntraffic", &format!(" }}{reader} }}\ntraffic"))
        };
        let pages = run(&of("web = { pages = 5, pipelining = true, embedded_objects = 6 }"));
        let flow = &pages.flows[0];
        assert!(flow.completed && flow.pages.len() == 5, "{reader}");
        assert!(flow.pages.iter().all(|page| page.response_s.is_some()), "{reader}");
        let size: u64 = flow.pages.iter().flat_map(|page| &page.objects).map(|one| one.bytes).sum();
        let [_, _, skipped, _] = counts(&pages);
        assert!(skipped > 0, "{reader}");
        assert_eq!(flow.bytes + skipped, size, "{reader}");
        for traffic in [
            r#"on_off = { rate = "800kbit/s", on = "300ms", off = "300ms" }"#,
            r#"constant = { rate = "800kbit/s" }"#,
        ] {
            let stopped = format!("{traffic} }}\nstop = \"20s\" #");
            let source = run(&of(&stopped));
            let flow = &source.flows[0];
            assert!(flow.completed, "{reader}, {traffic}");
            let [_, _, skipped, _] = counts(&source);
            assert!(
                skipped > 0 && flow.bytes + skipped <= flow.offered_bytes.unwrap(),
                "{traffic}"
            );
        }
        // A download that is stopped.
        let cut = run(&of("download = \"50MB\" }\nstop = \"20s\" #"));
        assert!(!cut.flows[0].completed && counts(&cut)[2] > 0);
        // What waits for the reader at the end of the source is read.
        assert!(cut.simulated_s < 60.0, "{reader}: {}", cut.simulated_s);
    }
}

/// The hole before the FIN alone is told, and nothing is left to read.
#[test]
fn a_slow_reader_ends_if_the_last_data_is_missing() {
    for level in ["", r#", receive_threshold = "1B""#] {
        let best_effort = best_effort(0, "150ms").replace(" }", &format!("{level} }}"));
        let scps = format!("{DEDICATED}, {best_effort}");
        let mut ends = 0;
        for seed in 1..60 {
            let text = geo([0.3, 0.0], "none", &scps, r#"bulk = "5kB""#);
            let text = text.replace(" } }\ntraffic", " }, reader_rate = \"100kbit/s\" }\ntraffic");
            let recording = simulator::run(&parse(&text), seed, Options::default());
            assert!(recording.flows[0].completed, "{seed}{level}");
            let [_, _, skipped, _] = counts(&recording);
            assert_eq!(recording.flows[0].bytes + skipped, 5000, "{seed}{level}");
            ends += u64::from(skipped % 1448 != 0);
        }
        assert!(ends > 0, "the last segment was never missing");
    }
}

/// Series count what arrived, as totals do.
#[test]
fn series_end_with_the_bytes_that_arrived() {
    let scps = format!("{DEDICATED}, {}", best_effort(0, "150ms"));
    let text = geo([0.02; 2], "none", &scps, r#"download = "1MB""#);
    let recording = run(&format!("record = {{ interval = \"50ms\" }}\n{text}"));
    let delivered = &recording.flow_series.delivered_bytes;
    assert!(delivered.is_sorted());
    assert_eq!(delivered.last(), Some(&recording.flows[0].bytes));
    assert!(recording.flow_series.goodput_bps.iter().all(|rate| rate.is_nan() || *rate >= 0.0));
}

/// The SYNs of a capture offer it, and no others do.
#[test]
fn a_capture_has_the_bit_of_best_effort() {
    for (is_offered, bits) in [(true, 0xe0), (false, 0x60)] {
        let more =
            if is_offered { format!(", {}", best_effort(0, "150ms")) } else { String::new() };
        let scps = format!("{DEDICATED}{more}");
        let scenario = parse(&geo([0.02, 0.0], "none", &scps, r#"download = "50kB""#));
        let mut bytes = Vec::new();
        let mut capture = simulator::Capture::new(&mut bytes, &scenario).unwrap();
        let mut observer = |observed: &simulator::Observed<'_>| capture.observe(observed);
        let options = Options { observer: Some(&mut observer), ..Options::default() };
        simulator::run(&scenario, 1, options);
        capture.finish().unwrap();
        let options: Vec<_> = bytes.windows(4).filter(|four| four[..2] == [20, 4]).collect();
        assert!(!options.is_empty() && options.iter().all(|four| four[2..] == [bits, 0]));
    }
}

/// Runs with and without it have the tables that they are to have.
#[test]
fn only_runs_with_best_effort_have_its_table() {
    let text = geo([0.0; 2], "none", DEDICATED, r#"download = "50kB""#);
    let recording = run(&text);
    assert!(recording.tables.iter().all(|table| table.name() != "best_effort"));
    let scps = format!("{DEDICATED}, {}", best_effort(0, "150ms"));
    let recording = run(&geo([0.0; 2], "none", &scps, r#"download = "50kB""#));
    assert_eq!(counts(&recording), [0; 4]);
    assert!(Scenario::parse(&text, "a", &[]).is_ok());
}
