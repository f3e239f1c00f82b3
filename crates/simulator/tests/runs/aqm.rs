//! Active queue management under TCP: what it is for, with every controller.

use recording::{Recording, Values};
use scenario::model::Aqm;
use simulator::Options;

use super::{parse, run};

/// A cell of the table `aqm`, in the row of the only direction that has it.
fn total(recording: &Recording, column: &str) -> f64 {
    let table = recording.tables.iter().find(|table| table.name() == "aqm").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[0] as f64,
        Values::F64(numbers) => numbers[0],
        _ => panic!("{column} is a number"),
    }
}

fn marks(recording: &Recording) -> f64 {
    total(recording, "marked_packets")
}

/// A bottleneck of 20 Mbit/s with an RTT of 20 ms. `aqm` and `flows` are TOML.
fn access(aqm: &str, flows: &str) -> String {
    format!(
        r#"
duration = "60s"
[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
delay = "10ms"
queue = {{ packets = 1000 }}
forward = {{ aqm = {aqm} }}
{flows}
"#
    )
}

fn bulk(controller: &str, count: u32) -> String {
    format!(
        r#"
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
count = {count}
transport = {{ receive_buffer = "8MB", send_buffer = "8MB" }}
traffic = {{ bulk = "unlimited" }}
"#
    )
}

const SPARSE: &str = r#"
[[flow]]
name = "sparse"
from = "server"
to = "client"
controller = "newreno"
transport = { delayed_ack = "off" }
traffic = { constant = { rate = "100kbit/s", message = "500B" } }
"#;

#[test]
fn codel_keeps_the_queue_of_newreno_near_its_target_and_the_link_busy() {
    let recording = run(&access("\"codel\"", &bulk("newreno", 1)));
    let mean = total(&recording, "mean_queue_delay_ms");
    assert!((1.0..10.0).contains(&mean), "{mean} ms for a target of 5 ms");
    let utilisation = recording.links[0].utilisation;
    assert!(utilisation > 0.85, "{utilisation}");
    assert_eq!(recording.links[0].dropped_packets as f64, total(&recording, "dropped_packets"));
    // The same flow fills a drop-tail queue.
    let full = run(&access("\"none\"", &bulk("newreno", 1)));
    assert!(full.tables.is_empty());
    assert!(full.links[0].max_queue_bytes > 2 * recording.links[0].max_queue_bytes);
    assert!(full.flows[0].srtt_ms.unwrap() > 100.0, "{:?}", full.flows[0].srtt_ms);
}

#[test]
fn fq_codel_keeps_a_sparse_flow_apart_from_the_queue_of_another() {
    let srtt = |aqm: &str| {
        let recording = run(&access(aqm, &(bulk("cubic", 1) + SPARSE)));
        recording.flows[1].srtt_ms.unwrap()
    };
    let [apart, shared, tail] = ["\"fq-codel\"", "\"codel\"", "\"none\""].map(srtt);
    assert!(apart < 22.5, "{apart} ms where the path has 20.6 ms");
    assert!(apart < shared && shared < tail / 3.0, "{apart}, {shared} and {tail} ms");
}

#[test]
fn pie_holds_its_target_for_several_flows() {
    for (aqm, target) in [("\"pie\"", 15.0), ("{ name = \"pie\", target = \"40ms\" }", 40.0)] {
        let recording = run(&access(aqm, &bulk("newreno", 10)));
        let mean = total(&recording, "mean_queue_delay_ms");
        assert!((0.6..1.4).contains(&(mean / target)), "{mean} ms for {target} ms");
        assert!(recording.links[0].utilisation > 0.95, "{}", recording.links[0].utilisation);
    }
}

#[test]
fn dualpi2_holds_its_target_for_classic_flows() {
    let recording = run(&access("\"dualpi2\"", &bulk("cubic", 10)));
    let mean = total(&recording, "mean_queue_delay_ms");
    assert!((9.0..21.0).contains(&mean), "{mean} ms for a target of 15 ms");
    assert!(recording.links[0].utilisation > 0.95, "{}", recording.links[0].utilisation);
}

#[test]
fn red_keeps_the_queue_between_its_thresholds() {
    let aqm = "{ name = \"red\", min_threshold = 20, max_threshold = 60 }";
    let recording = run(&access(aqm, &bulk("newreno", 10)));
    // 1500 bytes take 0.6 ms.
    let packets = total(&recording, "mean_queue_delay_ms") / 0.6;
    assert!((20.0..60.0).contains(&packets), "{packets} packets");
    assert!(recording.links[0].utilisation > 0.95, "{}", recording.links[0].utilisation);
}

#[test]
fn marks_replace_drops_where_the_flow_uses_ecn() {
    for aqm in Aqm::all() {
        let flow = bulk("newreno", 4).replace("receive_buffer", "ecn = true, receive_buffer");
        let name = format!("{:?}", aqm.name());
        let recording = run(&access(&name, &flow));
        assert!(marks(&recording) > 10.0, "{name}: {} marks", marks(&recording));
        let dropped = total(&recording, "dropped_packets");
        assert!(dropped < marks(&recording), "{name}: {dropped} of {}", marks(&recording));
    }
}

/// Controllers that use ECN without being asked for it.
const NEED_MARKS: &[&str] = &["dctcp", "jersey", "new-jersey", "prague"];

/// Controllers whose probes need routers that drop packets of low priority first (Akyildiz,
/// Morabito and Palazzo, "TCP-Peach", IEEE/ACM Transactions on Networking 9(3), 2001). Before an
/// algorithm that knows no priority, they are a load that does not respond.
const NEED_PRIORITY: &[(&str, &str)] = &[("peach", "dualpi2"), ("peach", "red")];

#[test]
fn a_transfer_of_every_controller_ends_with_every_algorithm_and_marks_need_ecn() {
    let mut without_marks = Vec::new();
    let mut marked_anyway = Vec::new();
    let mut unfinished = Vec::new();
    for entry in congestion::entries() {
        for aqm in Aqm::all() {
            for ecn in [false, true] {
                let (controller, name) = (entry.name, aqm.name());
                let transport = if ecn { "ecn = true" } else { "" };
                let text = format!(
                    r#"
duration = "300s"
[[link]]
between = ["server", "client"]
rate = "5Mbit/s"
delay = "25ms"
queue = {{ packets = 300 }}
forward = {{ aqm = "{name}" }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ download = "1500kB" }}
"#
                );
                let recording = run(&text);
                let case = format!("{controller} with {name}, ecn = {ecn}");
                if !recording.flows[0].completed && unfinished.last() != Some(&(controller, name)) {
                    unfinished.push((controller, name));
                }
                let marks = marks(&recording);
                if !ecn && marks > 0.0 && marked_anyway.last() != Some(&controller) {
                    marked_anyway.push(controller);
                }
                if ecn && marks == 0.0 {
                    without_marks.push(case);
                }
            }
        }
    }
    assert_eq!(marked_anyway, NEED_MARKS);
    assert_eq!(unfinished, NEED_PRIORITY);
    // Those that fill no queue see no marks; most do.
    let cases = congestion::entries().count() * Aqm::all().len();
    assert!(without_marks.len() * 2 < cases, "{without_marks:#?}");
}

#[test]
fn samples_follow_the_interval_and_end_with_the_totals() {
    let text = access("\"codel\"", &bulk("newreno", 1)) + "[record]\ninterval = \"1s\"\n";
    let recording = run(&text);
    let series = recording.tables.iter().find(|table| table.name() == "aqm_series").unwrap();
    let columns = series.columns();
    let last = |name: &str| match &columns.iter().find(|one| one.name == name).unwrap().values {
        Values::U64(counts) => *counts.last().unwrap() as f64,
        Values::F64(numbers) => *numbers.last().unwrap(),
        _ => panic!("{name} is a number"),
    };
    assert_eq!(columns[0].values.len(), 61);
    assert_eq!(last("t_s"), 60.0);
    assert_eq!(last("dropped_packets"), total(&recording, "dropped_packets"));
    assert!(last("queue_delay_ms") > 0.0);
}

#[test]
fn both_engines_give_the_same_recording_with_every_algorithm() {
    for aqm in Aqm::all() {
        let flows = bulk("cubic", 2) + SPARSE;
        let text = access(&format!("{:?}", aqm.name()), &flows).replace("60s", "10s");
        let scenario = parse(&text);
        let fast = simulator::run(&scenario, 7, Options::default());
        let slow = simulator::run_on_reference(&scenario, 7, Options::default());
        assert_eq!(fast.tables, slow.tables, "{}", aqm.name());
        assert_eq!(fast.flows, slow.flows, "{}", aqm.name());
        assert_eq!(fast.links, slow.links, "{}", aqm.name());
    }
}

/// Before, a sample started the transmission that was due at its instant, and the run then took the
/// event after it for that one: the packet was sent in the past.
#[test]
fn samples_at_the_starts_of_transmissions_change_no_result() {
    for aqm in Aqm::all() {
        // 1000 bytes take 1 ms at 8 Mbit/s.
        let link = format!("rate = \"8Mbit/s\"\naqm = {:?}", aqm.name());
        let transport = "mss = 960, delayed_ack = \"off\"";
        let text = crate::geo(&link, transport, "download = \"300kB\"");
        let text = text.replace("250ms", "5ms").replace("3000s", "1s");
        let sampled = parse(&(text.clone() + "[record]\ninterval = \"10us\"\n"));
        let unsampled = simulator::run(&parse(&text), 1, Options::default());
        let fast = simulator::run(&sampled, 1, Options::default());
        let slow = simulator::run_on_reference(&sampled, 1, Options::default());
        assert_eq!(fast.flows, unsampled.flows, "{}", aqm.name());
        assert_eq!(fast.links, unsampled.links, "{}", aqm.name());
        assert_eq!(fast.flows, slow.flows, "{}", aqm.name());
        assert_eq!(fast.link_series, slow.link_series, "{}", aqm.name());
    }
}
