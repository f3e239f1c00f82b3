//! The fast engine and the slow one give the same recording; the same seed gives the same one.

use std::fmt::Write;

use proptest::prelude::*;
use recording::Recording;
use simulator::Options;

use crate::{parse, run_with_seed};

/// Everything but the number of events, of which the slow engine has more, and the wall time.
fn comparable(mut recording: Recording) -> Recording {
    recording.events = 0;
    recording.wall_s = 0.0;
    recording
}

/// One link of a random chain or tree: the node before it, rate, delay, queue, channel, framing.
#[derive(Clone, Debug)]
struct Hop {
    from: usize,
    rate_kbps: u32,
    delay_us: u32,
    queue: String,
    channel: String,
    /// What else is written of it.
    more: String,
    changes: String,
    framing: u32,
}

#[derive(Clone, Debug)]
struct Flow {
    ends: (usize, usize),
    start_ms: u32,
    /// How long after its start it stops.
    stop_ms: Option<u32>,
    controller: &'static str,
    recovery: &'static str,
    transport: String,
    traffic: String,
}

fn queue() -> impl Strategy<Value = String> {
    let rule = || prop::sample::select(vec!["ignore", "push-out", "refuse"]);
    prop_oneof![
        Just("\"unlimited\"".to_owned()),
        (1u32..60, rule()).prop_map(|(packets, rule)| {
            format!("{{ packets = {packets}, low_priority = \"{rule}\" }}")
        }),
        (1500u32..60_000, rule()).prop_map(|(bytes, rule)| {
            format!("{{ bytes = \"{bytes}B\", low_priority = \"{rule}\" }}")
        }),
    ]
}

fn channel() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("\"perfect\"".to_owned()),
        1 => prop::sample::select(vec!["{ per = 0.01 }", "{ per = 0.1 }"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["{ ber = 1e-6 }", "{ ber = 1e-5, ecc_threshold = 1e-4 }"])
            .prop_map(str::to_owned),
        1 => (0.0..0.3f64, 1.0..20.0f64).prop_map(|(loss, burst)| format!(
            "{{ mean_loss = {loss}, mean_burst = {burst}, loss_in_burst = 0.8 }}"
        )),
        2 => awgn(),
    ]
}

fn jitter() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => (1u32..50_000).prop_map(|us| format!("jitter = \"{us}us\"\n")),
    ]
}

fn mark() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => (0u32..20, prop::sample::select(vec![1.0, 0.1, 0.002])).prop_map(|(packets, weight)| {
            format!("ecn_marking = {{ packets = {packets}, weight = {weight} }}\n")
        }),
    ]
}

/// Fades in which attenuation, and with it the loss of packets, changes while packets wait.
fn awgn() -> impl Strategy<Value = String> {
    let code = prop::sample::select(vec!["uncoded", "sequential-3/4", "viterbi-3/4"]);
    let lock = prop_oneof![
        Just(""),
        Just(", lock = { threshold = 4.5, hysteresis = 0.5, reacquisition = \"700ms\" }"),
    ];
    (8.0..12.0f64, code, lock).prop_map(|(eb_n0, code, lock)| {
        let fade = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/fade.csv");
        format!("{{ eb_n0 = {eb_n0}, code = \"{code}\", attenuation = \"{fade}\"{lock} }}")
    })
}

/// Changes at rising times, some of them periodic; for any queue but those that push out.
fn changes() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        (64u32..20_000).prop_map(|rate| format!("rate = \"{rate}kbit/s\"")),
        (0u32..300).prop_map(|delay| format!("delay = \"{delay}ms\"")),
        (0u32..300).prop_map(|delay| format!("backward = {{ delay = \"{delay}ms\" }}")),
        (1u32..900).prop_map(|outage| format!("outage = \"{outage}ms\"")),
        (1u32..900).prop_map(|outage| format!("forward = {{ outage = \"{outage}ms\" }}")),
    ];
    let every = prop_oneof![Just(String::new()), Just("every = \"1s\", ".to_owned())];
    let change = (1u32..5000, every, value);
    prop::collection::vec(change, 0..4).prop_map(|changes| {
        let mut at = 0;
        let change = |(wait, every, value)| {
            at += wait;
            format!("{{ at = \"{at}ms\", {every}{value} }}")
        };
        changes.into_iter().map(change).collect::<Vec<_>>().join(", ")
    })
}

fn hops() -> impl Strategy<Value = Vec<Hop>> {
    // Round numbers on purpose: they make events coincide.
    let rate = prop_oneof![Just(8_000u32), Just(1_000), 64u32..20_000];
    let delay = prop_oneof![Just(0u32), Just(1_000), Just(250_000), 1u32..300_000];
    let hop = (
        any::<prop::sample::Index>(),
        rate,
        delay,
        queue(),
        channel(),
        (mark(), jitter()),
        changes(),
        0u32..40,
    );
    prop::collection::vec(hop, 1..5).prop_map(|hops| {
        let hop =
            |(number, (from, rate_kbps, delay_us, queue, channel, more, changes, framing))| {
                let (from, queue): (prop::sample::Index, String) = (from, queue);
                let pushes_out = queue.contains("push-out");
                let changes = if pushes_out { String::new() } else { changes };
                let (mark, jitter): (String, String) = more;
                let more = if pushes_out { mark } else { mark + &jitter };
                let from = from.index(number + 1);
                Hop { from, rate_kbps, delay_us, queue, channel, more, changes, framing }
            };
        hops.into_iter().enumerate().map(hop).collect()
    })
}

fn traffic() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..300_000).prop_map(|bytes| format!("download = \"{bytes}B\"")),
        (1u32..200_000, 1u32..2000)
            .prop_map(|(b, r)| format!("download = \"{b}B\", request = \"{r}B\"")),
        Just("bulk = \"unlimited\"".to_owned()),
        (1u32..4, 1u32..4, any::<bool>()).prop_map(|(pages, connections, pipelining)| format!(
            "web = {{ pages = {pages}, interval = \"2s\", connections = {connections}, pipelining = {pipelining} }}"
        )),
        (8u32..3000, 100u32..4000).prop_map(|(rate, message)| format!(
            "constant = {{ rate = \"{rate}kbit/s\", message = \"{message}B\" }}"
        )),
        (8u32..3000, prop::sample::select(vec!["exponential", "pareto", "constant"])).prop_map(
            |(rate, lengths)| format!(
                "on_off = {{ rate = \"{rate}kbit/s\", on = \"300ms\", off = \"700ms\", distribution = \"{lengths}\" }}"
            )
        ),
    ]
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let transport = (
        prop_oneof![Just(65_535u32), 3_000u32..1_000_000],
        any::<[bool; 5]>(),
        prop::sample::select(vec!["\"off\"", "\"200ms\"", "\"40ms\""]),
        prop::sample::select(vec![1000u32, 1460, 536]),
        prop_oneof![3 => Just(None), 1 => (20u32..2000).prop_map(Some)],
    )
        .prop_map(|(buffer, [timestamps, limited, nagle, ecn, dsack], delayed_ack, mss, reader)| {
            let mut text = format!(
                "receive_buffer = \"{buffer}B\", timestamps = {timestamps}, limited_transmit = {limited}, nagle = {nagle}, ecn = {ecn}, dsack = {dsack}, delayed_ack = {delayed_ack}, mss = {mss}"
            );
            if let Some(rate) = reader {
                write!(text, ", reader_rate = \"{rate}kbit/s\"").unwrap();
            }
            text
        });
    let flow = (
        any::<[prop::sample::Index; 2]>(),
        prop_oneof![Just(0u32), Just(1000), 0u32..3000],
        prop_oneof![2 => Just(None), 1 => (1u32..9000).prop_map(Some)],
        prop::sample::select(congestion::entries().map(|entry| entry.name).collect::<Vec<_>>()),
        prop::sample::select(vec!["reno", "newreno", "sack", "linux"]),
        transport,
        traffic(),
    );
    prop::collection::vec(flow, 1..7).prop_map(|flows| {
        let flow = |([from, to], start_ms, stop_ms, controller, recovery, transport, traffic): (
            [prop::sample::Index; 2],
            _,
            _,
            _,
            _,
            _,
            _,
        )| {
            // The numbers of two different nodes; `scenario` brings them into range.
            let ends = (from.index(60), 1 + to.index(59));
            Flow { ends, start_ms, stop_ms, controller, recovery, transport, traffic }
        };
        flows.into_iter().map(flow).collect()
    })
}

fn scenario(hops: &[Hop], flows: &[Flow], forwarding: bool, interval: Option<u32>) -> String {
    let nodes = hops.len() + 1;
    let mut text = "duration = \"15s\"\n".to_owned();
    if let Some(interval) = interval {
        write!(text, "[record]\ninterval = \"{interval}ms\"\n").unwrap();
    }
    if forwarding {
        text += "[[node]]\nname = \"n0\"\nforwarding = { rate = \"4Mbit/s\", buffer = \"20kB\" }\n";
    }
    for (number, hop) in hops.iter().enumerate() {
        let Hop { from, rate_kbps, delay_us, queue, channel, more, changes, framing } = hop;
        let to = number + 1;
        write!(
            text,
            "[[link]]\nbetween = [\"n{from}\", \"n{to}\"]\nrate = \"{rate_kbps}kbit/s\"\ndelay = \"{delay_us}us\"\nqueue = {queue}\noverhead = \"{framing}B\"\nevent = [{changes}]\n{more}forward = {{ channel = {channel} }}\n"
        )
        .unwrap();
    }
    for flow in flows {
        let from = flow.ends.0 % nodes;
        let to = (from + 1 + flow.ends.1 % (nodes - 1)) % nodes;
        write!(
            text,
            "[[flow]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nstart = \"{}ms\"\ncontroller = \"{}\"\ntransport = {{ recovery = \"{}\", {} }}\ntraffic = {{ {} }}\n",
            flow.start_ms, flow.controller, flow.recovery, flow.transport, flow.traffic
        )
        .unwrap();
        if let Some(stop) = flow.stop_ms {
            writeln!(text, "stop = \"{}ms\"", flow.start_ms + stop).unwrap();
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_engine_and_the_slow_one_give_the_same_recording(
        hops in hops(), flows in flows(), forwarding: bool, seed: u64,
        interval in prop_oneof![Just(None), Just(Some(1000)), (7u32..900).prop_map(Some)],
    ) {
        let text = scenario(&hops, &flows, forwarding, interval);
        let scenario = parse(&text);
        let fast = simulator::run(&scenario, seed, Options::default());
        let slow = simulator::run_on_reference(&scenario, seed, Options::default());
        prop_assert!(slow.events >= fast.events);
        let (fast, slow) = (comparable(fast), comparable(slow));
        prop_assert_eq!(format!("{:#?}", fast.flows), format!("{:#?}", slow.flows), "{}", text);
        prop_assert_eq!(format!("{:#?}", fast.links), format!("{:#?}", slow.links), "{}", text);
        prop_assert_eq!(fast.digest(), slow.digest(), "{}", text);
    }

    #[test]
    fn the_same_seed_gives_the_same_recording(hops in hops(), flows in flows(), seed: u64) {
        let text = scenario(&hops, &flows, false, Some(500));
        prop_assert_eq!(run_with_seed(&text, seed).digest(), run_with_seed(&text, seed).digest());
    }
}

const LOSSY: &str = r#"
duration = "60s"
[[link]]
between = ["a", "b"]
rate = "2Mbit/s"
delay = "250ms"
channel = { per = 0.01 }
[[flow]]
from = "a"
to = "b"
controller = "newreno"
count = 3
traffic = { bulk = "unlimited" }
"#;

/// Before, the slow engine still counted a packet as waiting that started at the very instant of a
/// sample.
#[test]
fn a_sample_at_the_instant_at_which_a_packet_starts_is_the_same_for_both_engines() {
    // 1000 bytes take 1 ms at 8 Mbit/s, and samples are taken each microsecond.
    let text =
        crate::geo("rate = \"8Mbit/s\"", "mss = 960, delayed_ack = \"off\"", "bulk = \"100kB\"")
            + "[record]\ninterval = \"1us\"\n";
    let text = text.replace("250ms", "0ms");
    let scenario = parse(&text);
    let fast = simulator::run(&scenario, 1, Options::default());
    let slow = simulator::run_on_reference(&scenario, 1, Options::default());
    assert!(fast.link_series.queue_packets.iter().any(|packets| *packets > 0));
    assert_eq!(fast.link_series, slow.link_series);
}

#[test]
fn a_recording_does_not_depend_on_the_number_of_threads() {
    let alone: Vec<_> = (0..8).map(|seed| run_with_seed(LOSSY, seed).digest()).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|seed| scope.spawn(move || run_with_seed(LOSSY, seed).digest())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn another_seed_gives_other_losses() {
    let damaged = |seed| run_with_seed(LOSSY, seed).links[0].corrupted_packets;
    let counts: Vec<_> = (0..5).map(damaged).collect();
    assert!(counts.iter().any(|count| *count != counts[0]), "{counts:?}");
    assert!(counts.iter().all(|count| *count > 0));
}
