//! Header compression under TCP, with every controller.

use recording::{Recording, Values};
use scenario::model::HeaderCompression;
use simulator::Options;

use super::{parse, run};

/// A cell of the table `header_compression`, in the row of one of the directions that have it.
fn total(recording: &Recording, column: &str, row: usize) -> u64 {
    total_of(recording, "header_compression", column, row)
}

/// A cell of the table of a mechanism.
fn total_of(recording: &Recording, table: &str, column: &str, row: usize) -> u64 {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[row],
        _ => panic!("{column} is a count"),
    }
}

/// A download over a satellite link. `link` are further keys of the link, `transport` those of TCP.
fn satellite(link: &str, controller: &str, transport: &str, size: &str) -> String {
    format!(
        r#"
duration = "900s"
[[link]]
between = ["server", "client"]
delay = "25ms"
forward = {{ rate = "5Mbit/s", queue = {{ packets = 60 }} }}
backward = {{ rate = "500kbit/s" }}
{link}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ download = "{size}" }}
"#
    )
}

fn names() -> [&'static str; 4] {
    HeaderCompression::all().map(|one| one.name())
}

/// VJ cannot compress timestamps that change.
fn timestamps(scheme: &str) -> &'static str {
    if scheme == "vj" { "timestamps = false" } else { "timestamps = true" }
}

fn seconds(recording: &Recording) -> f64 {
    recording.flows[0].completion_s.unwrap()
}

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn a_transfer_of_every_controller_ends_with_every_scheme_on_a_lossy_link() {
    for entry in congestion::entries() {
        for name in names() {
            let link = format!("header_compression = \"{name}\"\nchannel = {{ per = 0.005 }}");
            let recording = run(&satellite(&link, entry.name, timestamps(name), "300kB"));
            let case = format!("{} with {name}", entry.name);
            assert!(recording.flows[0].completed, "{case}");
            assert_eq!(recording.flows[0].bytes, 300_000, "{case}");
            for row in [0, 1] {
                // Each ACK has the option of accurate ECN, which has no place in the mask.
                let is_full = row == 1 && name == "vj" && entry.name == "prague";
                let compressed = total(&recording, "compressed_packets", row);
                assert_eq!(compressed == 0, is_full, "{case}");
                let undecodable = total(&recording, "undecodable_packets", row);
                assert!(name != "scps" || undecodable == 0, "{case}");
            }
        }
    }
}

/// SCPS-TP reports what is missing in an option, which each scheme must carry unchanged.
#[test]
fn scps_tp_crosses_every_scheme_and_its_own_loses_nothing_more() {
    for name in names() {
        for form in ["simple", "vector"] {
            let link = format!("header_compression = \"{name}\"\nchannel = {{ per = 0.01 }}");
            let keys = format!("{}, protocol = \"scps-tp\"", timestamps(name));
            let keys = format!("{keys}, scps = {{ cause = \"corruption\", snack = \"{form}\" }}");
            let recording = run(&satellite(&link, "reno", &keys, "1MB"));
            let flow = &recording.flows[0];
            assert!(flow.completed, "{name}, {form}");
            assert_eq!(flow.bytes, 1_000_000, "{name}, {form}");
            for row in [0, 1] {
                assert!(total(&recording, "compressed_packets", row) > 0, "{name}, {form}");
                let undecodable = total(&recording, "undecodable_packets", row);
                assert!(name != "scps" || undecodable == 0, "{form}: {undecodable}");
            }
            assert!(recording.links[0].corrupted_packets > 0);
        }
    }
}

/// The figures of RFC 1144 and of the formats of RFC 6846, over a whole transfer.
#[test]
fn the_link_carries_shorter_headers() {
    let link = |name: &str| format!("header_compression = \"{name}\"");
    let plain =
        run(&satellite("", "cubic", "timestamps = false, receive_buffer = \"40kB\"", "1MB"));
    for (name, data, ack) in [("vj", 4.0, 7.0), ("rohc", 6.0, 5.0), ("scps", 29.0, 31.0)] {
        let recording = run(&satellite(
            &link(name),
            "cubic",
            "timestamps = false, receive_buffer = \"40kB\"",
            "1MB",
        ));
        for (row, most) in [(0, data), (1, ack)] {
            let sent = total(&recording, "sent_header_bytes", row);
            let mean = sent as f64 / total(&recording, "packets", row) as f64;
            assert!(mean < most, "{name}: {mean}");
            let saved = total(&recording, "header_bytes", row) - sent;
            let [shorter, longer] = [&recording, &plain].map(|run| {
                run.links[row].delivered_bytes as f64 / run.links[row].delivered_packets as f64
            });
            let per_packet = saved as f64 / total(&recording, "packets", row) as f64;
            assert!((longer - shorter - per_packet).abs() < 25.0, "{name}: {longer} {shorter}");
        }
        assert_eq!(total(&recording, "undecodable_packets", 0), 0, "{name}");
    }
}

/// Queue drops are before the compressor and damage nothing.
#[test]
fn a_packet_that_the_queue_drops_damages_no_context() {
    let link = "header_compression = \"vj\"";
    let recording = run(&satellite(link, "newreno", "timestamps = false", "3MB"));
    assert!(recording.links[0].dropped_packets > 0);
    assert_eq!(total(&recording, "undecodable_packets", 0), 0);
}

/// RFC 1144 for a link without errors, RFC 6846 for others: with VJ each lost packet takes those
/// behind it.
#[test]
fn losses_cost_more_with_vj_than_with_rohc() {
    let with = |name: &str| {
        let link = format!("header_compression = \"{name}\"\nchannel = {{ per = 0.01 }}");
        run(&satellite(&link, "newreno", "timestamps = false", "2MB"))
    };
    let [none, vj, rohc] = ["none", "vj", "rohc"].map(with);
    assert!(none.tables.is_empty());
    // Each loss takes several packets behind it, and with ROHC only four losses in a row take any.
    let [by_vj, by_rohc] = [&vj, &rohc].map(|run| total(run, "undecodable_packets", 0));
    assert!(by_vj > 3 * vj.links[0].corrupted_packets, "{by_vj}");
    assert_eq!(by_rohc, 0);
    assert!(seconds(&vj) > 2.0 * seconds(&none), "{} and {} s", seconds(&vj), seconds(&none));
    assert!(seconds(&rohc) < 1.2 * seconds(&none), "{} and {} s", seconds(&rohc), seconds(&none));
    let [timeouts, without] = [&vj, &none].map(|run| run.flows[0].tcp().unwrap().timeouts);
    assert!(timeouts > without, "{timeouts} and {without}");
}

/// The repair of ROHC: feedback takes the other direction of the link.
#[test]
fn feedback_repairs_a_context_after_a_burst() {
    let link = |name: &str| {
        format!("header_compression = {name}\nchannel = {{ mean_loss = 0.01, mean_burst = 8 }}")
    };
    for (name, has_feedback) in [("\"rohc\"", true), ("\"rohc-unidirectional\"", false)] {
        let recording = run(&satellite(&link(name), "cubic", "recovery = \"sack\"", "2MB"));
        assert!(recording.flows[0].completed, "{name}");
        assert!(total(&recording, "undecodable_packets", 0) > 0, "{name}");
        assert!(total(&recording, "repairs", 0) > 0, "{name}");
        assert!(total(&recording, "refreshes", 0) > 0, "{name}");
        assert_eq!(total(&recording, "feedback_packets", 0) > 0, has_feedback, "{name}");
    }
}

/// Everything else that a direction can have.
#[test]
fn both_engines_give_the_same_recording_with_every_scheme() {
    let others = [
        "",
        "arq = \"selective-repeat\"",
        "fec = \"reed-solomon\"",
        "aqm = \"codel\"",
        "jitter = \"3ms\"",
        "feedback = \"xcp\"",
        "demand = \"dvb-rcs2\"",
    ];
    for name in names() {
        for other in others {
            let link = format!(
                "header_compression = \"{name}\"\nchannel = {{ mean_loss = 0.01, mean_burst = 6 }}\n{other}"
            );
            let controller = if other.starts_with("feedback") { "xcp" } else { "cubic" };
            let text = satellite(&link, controller, "ecn = true, recovery = \"sack\"", "500kB")
                + "[record]\ninterval = \"1s\"\n";
            let scenario = parse(&text);
            let fast = simulator::run(&scenario, 7, Options::default());
            let slow = simulator::run_on_reference(&scenario, 7, Options::default());
            let case = format!("{name} with {other}");
            assert!(fast.flows[0].completed, "{case}");
            let series =
                fast.tables.iter().find(|table| table.name() == "header_compression_series");
            assert_eq!(series.unwrap().columns()[0].values.len(), fast.link_series.len(), "{case}");
            let [fast, slow] = [fast, slow].map(|run| Recording { events: 0, ..run }.digest());
            assert_eq!(fast, slow, "{case}");
        }
    }
}

/// The field of XCP crosses a link with compression: otherwise the sender would be standard TCP,
/// which overruns the queue in its first slow start.
#[test]
fn feedback_of_routers_crosses_a_compressed_link() {
    let with = |name: &str, transport: &str| {
        let link = format!("feedback = \"xcp\"\nheader_compression = \"{name}\"");
        run(&satellite(&link, "xcp", transport, "10MB"))
    };
    for name in names() {
        let [recording, plain] = [name, "none"].map(|scheme| with(scheme, timestamps(name)));
        assert_eq!(recording.links[0].dropped_packets, 0, "{name}");
        assert!(seconds(&recording) < 1.02 * seconds(&plain), "{name}: {}", seconds(&recording));
        let [treated, of_plain] =
            [&recording, &plain].map(|run| total_of(run, "feedback", "treated_packets", 0));
        assert_eq!(treated, of_plain, "{name}");
    }
    let link = "header_compression = \"rohc\"";
    let standard = run(&satellite(link, "newreno", "timestamps = true", "10MB"));
    assert!(standard.links[0].dropped_packets > 0);
}

/// With demand assignment, compressed ACKs take fewer slots. Requests count whole headers, so more
/// slots stay unused.
#[test]
fn slots_carry_compressed_packets() {
    let with = |name: &str| {
        let text = satellite(
            &format!("header_compression = \"{name}\""),
            "cubic",
            "receive_buffer = \"2MB\"",
            "5MB",
        );
        let rate = "backward = { rate = \"500kbit/s\"";
        run(&text.replace(rate, &format!("{rate}, demand = \"dvb-rcs2\"")))
    };
    let [plain, rohc] = ["none", "rohc"].map(with);
    let [used, used_by_rohc] = [&plain, &rohc].map(|run| total_of(run, "demand", "vbdc_slots", 0));
    assert!(2 * used_by_rohc < used, "{used_by_rohc} of {used}");
    let [unused, unused_by_rohc] =
        [&plain, &rohc].map(|run| total_of(run, "demand", "unused_slots", 0));
    assert!(unused_by_rohc > unused, "{unused_by_rohc} and {unused}");
    assert!(rohc.flows[0].completed);
}

/// Slots of both directions start at the same instants, and feedback arrives just then: it acts on
/// packets that leave after it.
#[test]
fn both_engines_agree_where_feedback_arrives_at_the_start_of_a_slot() {
    let link = "demand = \"dvb-rcs2\"\nchannel = { per = 0.1 }\n\
                header_compression = { name = \"rohc\", repeats = 2, nack_interval = \"138ms\" }";
    let text = satellite(link, "newreno", "recovery = \"sack\"", "45kB").replace("25ms", "0us");
    let scenario = parse(&text);
    let mut feedback = 0;
    for seed in 1..40 {
        let fast = simulator::run(&scenario, seed, Options::default());
        let slow = simulator::run_on_reference(&scenario, seed, Options::default());
        feedback += total(&fast, "feedback_packets", 0) + total(&fast, "feedback_packets", 1);
        let [fast, slow] = [fast, slow].map(|run| Recording { events: 0, ..run }.digest());
        assert_eq!(fast, slow, "seed {seed}");
    }
    assert!(feedback > 10, "{feedback}");
}

/// A link in the middle of the path: packets go on behind its decompressor.
#[test]
fn a_compressed_link_may_be_in_the_middle_of_the_path() {
    let outer = |ends: &str| {
        format!("[[link]]\nbetween = [{ends}]\nrate = \"100Mbit/s\"\ndelay = \"1ms\"\n")
    };
    for name in names() {
        let inner = satellite(
            &format!("header_compression = \"{name}\""),
            "cubic",
            timestamps(name),
            "500kB",
        );
        let inner = inner.replace("between = [\"server\", \"client\"]", "between = [\"a\", \"b\"]");
        let outer = outer("\"server\", \"a\"") + &outer("\"b\", \"client\"");
        let recording = run(&inner.replace("[[flow]]", &(outer + "[[flow]]")));
        assert!(recording.flows[0].completed, "{name}");
        for row in [0, 1] {
            assert!(total(&recording, "compressed_packets", row) > 0, "{name}");
        }
    }
}

/// A link in the middle of the path, with a middlebox at either end.
#[test]
fn middleboxes_at_the_ends_of_a_compressed_link_see_whole_headers() {
    for name in names() {
        let text = format!(
            r#"
duration = "600s"
[[node]]
name = "hub"
middlebox = "snoop"
[[node]]
name = "terminal"
middlebox = "ack-filter"
[[link]]
between = ["server", "hub"]
rate = "100Mbit/s"
delay = "1ms"
[[link]]
between = ["hub", "terminal"]
delay = "100ms"
forward = {{ rate = "5Mbit/s" }}
backward = {{ rate = "20kbit/s" }}
channel = {{ per = 0.01 }}
header_compression = "{name}"
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
controller = "cubic"
transport = {{ {} }}
traffic = {{ download = "500kB" }}
"#,
            timestamps(name)
        );
        let scenario = parse(&text);
        let fast = simulator::run(&scenario, 3, Options::default());
        assert!(fast.flows[0].completed, "{name}");
        assert!(total(&fast, "compressed_packets", 1) > 0, "{name}");
        let slow = simulator::run_on_reference(&scenario, 3, Options::default());
        let [fast, slow] = [fast, slow].map(|run| Recording { events: 0, ..run }.digest());
        assert_eq!(fast, slow, "{name}");
    }
}
