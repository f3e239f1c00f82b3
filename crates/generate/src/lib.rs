//! Random scenarios for property tests. Only tests use this crate.
//!
//! - [`drawn`] draws a whole scenario from the JSON Schema of the language, with every key that it has;
//!   [`repaired`] makes it valid, and [`Coverage`] counts what was drawn.
//! - [`hops`] and [`flows`] are strategies for chains and trees of links, with flows of every controller.
//! - `direction` has single directions of links, for tests of the network without hosts.
//! - [`admitted`] is anything that a schema admits, for tests of the check of files.
//!
//! [`seen`] takes the model apart without `..`. A new key of a link, a node or an event does not
//! compile until it is entered there, and the test of this crate fails until the scenarios have
//! several values of it. So there is no key that the reference engine never meets.

mod coverage;
mod dice;
mod direction;
mod document;
mod repair;
mod schema;

use std::collections::BTreeMap;
use std::fmt::Write;

use link::{Change, Marking, Settings};
use middlebox::{
    AckDecimationSettings, AckFilterSettings, PacketControlSettings, SnoopSettings,
    SpoofingSettings,
};
use proptest::prelude::*;
use scenario::model::{self, Forwarding, HeaderCompression, Middlebox, Scenario};

pub use coverage::{Coverage, Drawn};
pub use dice::Dice;
pub use direction::{
    RandomDirection, assigned, changing, coding, managed, micros, prioritised, reordering,
    repeating,
};
pub use document::drawn;
pub use repair::{paths, repaired, without};
pub use schema::admitted;

/// One link of a random chain or tree: the node before it, rate, delay, queue, channel, framing.
#[derive(Clone, Debug)]
pub struct Hop {
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

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    ends: (usize, usize),
    start_ms: u32,
    /// How long after its start it stops.
    stop_ms: Option<u32>,
    controller: &'static str,
    recovery: &'static str,
    transport: String,
    traffic: String,
    /// What stands at a node of its route, with its TOML.
    middlebox: Option<(Middlebox, String)>,
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
        1 => modem(),
    ]
}

/// A modem under the same fades, with a control loop that is too slow for some of them.
fn modem() -> impl Strategy<Value = String> {
    let names = prop::sample::select(link::Modem::all().map(|modem| modem.name()).to_vec());
    (-2.0..20.0f64, names, 1u32..900).prop_map(|(es_n0, name, delay)| {
        let fade = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fade.csv");
        format!(
            "{{ es_n0 = {es_n0}, attenuation = \"{fade}\", modem = {{ name = \"{name}\", bandwidth = 2e6, delay = \"{delay}ms\" }} }}"
        )
    })
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
        1 => prop::sample::select(link::Aqm::all().map(|aqm| aqm.name()).to_vec())
            .prop_map(|name| format!("aqm = \"{name}\"\n")),
    ]
}

/// ARQ with little persistence and short windows, so that packets are given up and wait for the window.
fn arq() -> impl Strategy<Value = String> {
    let own = (0u32..3, 1u32..9, any::<bool>(), 1u32..900).prop_map(
        |(persistence, window, in_order, timer)| {
            format!(
                "arq = {{ name = \"selective-repeat\", persistence = {persistence}, window = {window}, sequence_bits = 4, in_order = {in_order}, timer = \"{timer}ms\" }}\n"
            )
        },
    );
    prop_oneof![
        4 => Just(String::new()),
        1 => prop::sample::select(link::Arq::all().map(|arq| arq.name()).to_vec())
            .prop_map(|name| format!("arq = \"{name}\"\n")),
        1 => own,
    ]
}

/// ARQ, or FEC with blocks that are short enough to be closed by their number and by their timer.
fn repair() -> impl Strategy<Value = String> {
    let own = (1u32..8, 1u32..4, 1u32..4, any::<bool>(), 1u32..900).prop_map(
        |(data, parity, depth, in_order, timer)| {
            format!(
                "fec = {{ name = \"reed-solomon\", data = {data}, parity = {parity}, depth = {depth}, in_order = {in_order}, timer = \"{timer}ms\" }}\n"
            )
        },
    );
    prop_oneof![
        6 => arq(),
        1 => prop::sample::select(link::Fec::all().map(|fec| fec.name()).to_vec())
            .prop_map(|name| format!("fec = \"{name}\"\n")),
        1 => own,
    ]
}

/// A router that gives feedback, or none.
fn feedback() -> impl Strategy<Value = String> {
    let xcp = (0.1..0.6f64, 0.0..0.5f64, 0.0..0.3f64).prop_map(|(alpha, beta, gamma)| {
        format!("alpha = {alpha}, beta = {beta}, gamma = {gamma}")
    });
    let own = xcp.prop_map(|xcp| format!("feedback = {{ name = \"xcp\", {xcp} }}\n"));
    let ebn = (0.1..1.0f64, 0.0..1.0f64).prop_map(|(target, drain)| {
        format!("feedback = {{ name = \"ebn\", target = {target}, drain = {drain} }}\n")
    });
    let quick = (0.1..1.0f64, 10u32..3000).prop_map(|(threshold, interval)| {
        format!(
            "feedback = {{ name = \"quick-start\", threshold = {threshold}, interval = \"{interval}ms\" }}\n"
        )
    });
    let names = link::Feedback::all().map(|feedback| feedback.name()).to_vec();
    prop_oneof![
        6 => Just(String::new()),
        2 => prop::sample::select(names).prop_map(|name| format!("feedback = \"{name}\"\n")),
        1 => own,
        1 => ebn,
        1 => quick,
    ]
}

/// What repairs losses, or demand assignment, which excludes it, in frames that are shorter than a run.
fn repair_or_demand() -> impl Strategy<Value = String> {
    let own = (1u32..200, 1u32..8, prop::option::of(1u32..64), any::<bool>(), 0.01..1.0f64, 0u32..900)
        .prop_map(|(frame, slots, cra, vbdc, fca, control_delay)| {
            let cra = cra.map_or(String::new(), |cra| format!("cra = \"{cra}kbit/s\", "));
            format!(
                "demand = {{ name = \"dvb-rcs2\", frame = \"{frame}ms\", slots = {slots}, {cra}vbdc = {vbdc}, fca = {fca}, control_delay = \"{control_delay}ms\" }}\n"
            )
        });
    prop_oneof![
        8 => repair(),
        1 => prop::sample::select(link::Demand::all().map(|demand| demand.name()).to_vec())
            .prop_map(|name| format!("demand = \"{name}\"\n")),
        1 => own,
    ]
}

/// Header compression, mostly with its defaults.
fn compression() -> impl Strategy<Value = String> {
    let names = HeaderCompression::all().map(|one| one.name()).to_vec();
    let own = (1u8..4, 1u8..4, 1u32..900, any::<bool>()).prop_map(
        |(repeats, connections, millis, has_feedback)| {
            let more = match has_feedback {
                true => format!("name = \"rohc\", nack_interval = \"{millis}ms\""),
                false => format!(
                    "name = \"rohc-unidirectional\", refresh_packets = {millis}, dynamic_interval = \"{millis}ms\""
                ),
            };
            format!(
                "header_compression = {{ {more}, repeats = {repeats}, connections = {connections} }}\n"
            )
        },
    );
    prop_oneof![
        4 => Just(String::new()),
        1 => prop::sample::select(names)
            .prop_map(|name| format!("header_compression = \"{name}\"\n")),
        1 => own,
    ]
}

/// An MTU that either version of IP may have.
fn mtu() -> impl Strategy<Value = &'static str> {
    let filtered = "mtu = { bytes = 1280, icmp = \"filtered\" }\n";
    prop_oneof![4 => Just(""), 1 => Just("mtu = 1400\n"), 1 => Just(filtered)]
}

/// The default, which becomes smaller where a host is at a link with an MTU.
const USUAL_MSS: &str = ", mss = 1460";

/// VJ, which knows IPv4 only.
const VJ: &str = "header_compression = \"vj\"\n";

/// Fades in which attenuation, and with it the loss of packets, changes while packets wait.
fn awgn() -> impl Strategy<Value = String> {
    let code = prop::sample::select(vec!["uncoded", "sequential-3/4", "viterbi-3/4"]);
    let lock = prop_oneof![
        Just(""),
        Just(", lock = { threshold = 4.5, hysteresis = 0.5, reacquisition = \"700ms\" }"),
    ];
    (8.0..12.0f64, code, lock).prop_map(|(eb_n0, code, lock)| {
        let fade = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fade.csv");
        format!("{{ eb_n0 = {eb_n0}, code = \"{code}\", attenuation = \"{fade}\"{lock} }}")
    })
}

/// A trace; for any queue but those that push out.
fn trace() -> impl Strategy<Value = String> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    prop_oneof![
        4 => Just(String::new()),
        1 => Just(format!("trace = \"{here}/trace.csv\"\n")),
        1 => Just(format!("trace = {{ file = \"{here}/trace.csv\", phase = \"random\" }}\n")),
        1 => Just(format!(
            "trace = {{ deliveries = \"{here}/deliveries.txt\", delays = \"{here}/delays.txt\", loop = true }}\n"
        )),
        1 => Just(format!(
            "trace = {{ delays = \"{here}/delays.txt\", loop = true, phase = \"random\" }}\n"
        )),
    ]
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

/// Further keys of a link.
type Texts = (String, String, String, String, (String, String));

/// One to four links of a chain or tree.
pub fn hops() -> impl Strategy<Value = Vec<Hop>> {
    // Round numbers on purpose: they make events coincide.
    let rate = prop_oneof![Just(8_000u32), Just(1_000), 64u32..20_000];
    let delay = prop_oneof![Just(0u32), Just(1_000), Just(250_000), 1u32..300_000];
    let hop = (
        any::<prop::sample::Index>(),
        rate,
        delay,
        queue(),
        channel(),
        (
            mark(),
            jitter(),
            trace(),
            repair_or_demand(),
            (feedback(), (compression(), mtu()).prop_map(|(text, mtu)| text + mtu)),
        ),
        changes(),
        0u32..40,
    );
    prop::collection::vec(hop, 1..5).prop_map(|hops| {
        let hop =
            |(number, (from, rate_kbps, delay_us, queue, channel, more, changes, framing))| {
                let (from, queue): (prop::sample::Index, String) = (from, queue);
                let pushes_out = queue.contains("push-out");
                let (channel, changes): (String, String) = (channel, changes);
                // A modem determines the rate, which changes.
                let adapts = channel.contains("modem");
                let channel = if adapts && pushes_out { "\"perfect\"".to_owned() } else { channel };
                let is_own = adapts && changes.contains("rate");
                let changes = if is_own { String::new() } else { changes };
                let changes = if pushes_out { String::new() } else { changes };
                let (mark, jitter, trace, repair, (feedback, compression)): Texts = more;
                // A router with feedback needs the whole rate.
                let is_assigned = repair.starts_with("demand");
                let repair = if is_assigned { repair } else { repair + &feedback };
                let trace = if adapts { String::new() } else { trace };
                // Active queue management decides about low priority itself.
                let gives_way = queue.contains("push-out") || queue.contains("refuse");
                let mark = if gives_way && mark.starts_with("aqm") { String::new() } else { mark };
                let more = if pushes_out { mark } else { mark + &jitter + &trace } + &repair;
                let more = more + &compression;
                // Nothing else may rely on the order, and a delay of a trace falls.
                let keeps_order =
                    ["arq", "fec", "header_compression"].iter().any(|key| more.contains(key));
                let overtakes = more.contains("trace = ") && !keeps_order && framing % 2 == 0;
                let more = if overtakes { more + "reorder = true\n" } else { more };
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

/// A middlebox, mostly with its defaults.
fn middlebox() -> impl Strategy<Value = (Middlebox, String)> {
    let default = prop::sample::select(Middlebox::all().to_vec())
        .prop_map(|middlebox| (middlebox, format!("{:?}", middlebox.name())));
    let rule = prop::sample::select(vec!["cake", "cake-aggressive", "ns-2"]).prop_map(|rule| {
        let filter = Middlebox::AckFilter(AckFilterSettings::default());
        (filter, format!("{{ name = \"ack-filter\", rule = {rule:?} }}"))
    });
    let every = (2u32..9, 1u32..200).prop_map(|(every, hold)| {
        let decimation = Middlebox::AckDecimation(AckDecimationSettings::default());
        let table =
            format!("{{ name = \"ack-decimation\", every = {every}, hold = \"{hold}ms\" }}");
        (decimation, table)
    });
    let cache = (1u32..200, 1u32..4, any::<bool>()).prop_map(|(cache, dupacks, eln)| {
        let snoop = Middlebox::Snoop(SnoopSettings::default());
        (
            snoop,
            format!("{{ name = \"snoop\", cache = {cache}, dupacks = {dupacks}, eln = {eln} }}"),
        )
    });
    let patience = (0u32..3000, 1u32..5, 0u32..90).prop_map(|(patience, dupacks, hold)| {
        let control = Middlebox::PacketControl(PacketControlSettings::default());
        let table = format!(
            "{{ name = \"packet-control\", patience = \"{patience}ms\", dupacks = {dupacks}, hold = \"{hold}ms\" }}"
        );
        (control, table)
    });
    let store = (1000u32..500_000, 1u32..5).prop_map(|(store, dupacks)| {
        let proxy = Middlebox::SpoofingProxy(SpoofingSettings::default());
        let table =
            format!("{{ name = \"spoofing-proxy\", store = \"{store}B\", dupacks = {dupacks} }}");
        (proxy, table)
    });
    prop_oneof![default, rule, every, cache, patience, store]
}

/// One to six flows between any two nodes.
pub fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let transport = (
        prop_oneof![Just(65_535u32), 3_000u32..1_000_000],
        any::<[bool; 6]>(),
        prop::sample::select(vec!["", ", ecn = true", ", ecn = \"accurate\""]),
        prop::sample::select(vec!["\"off\"", "\"200ms\"", "\"40ms\"", "\"linux\""]),
        prop::sample::select(vec![1000u32, 1460, 536]),
        prop::sample::select(vec!["off", "black-hole", "always"]),
        prop_oneof![3 => Just(None), 1 => (20u32..2000).prop_map(Some)],
        prop_oneof![2 => Just(None), 1 => (80u32..20_000).prop_map(Some)],
    )
        .prop_map(|(buffer, switches, ecn, delayed_ack, mss, probing, reader, quick)| {
            let [timestamps, limited, nagle, dsack, eln, ack_control] = switches;
            let ack_control = ack_control && delayed_ack != "\"linux\"";
            let mut text = format!(
                "receive_buffer = \"{buffer}B\", timestamps = {timestamps}, limited_transmit = {limited}, nagle = {nagle}{ecn}, dsack = {dsack}, eln = {eln}, ack_control = {ack_control}, delayed_ack = {delayed_ack}, mss = {mss}, mtu_probing = {probing:?}"
            );
            if let Some(rate) = reader {
                write!(text, ", reader_rate = \"{rate}kbit/s\"").expect("a text takes all");
            }
            if let Some(rate) = quick {
                write!(text, ", quick_start = \"{rate}kbit/s\"").expect("a text takes all");
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
        prop_oneof![3 => Just(None), 1 => middlebox().prop_map(Some)],
    );
    prop::collection::vec(flow, 1..7).prop_map(|flows| {
        let flow = |(
            ends,
            start_ms,
            stop_ms,
            controller,
            recovery,
            transport,
            traffic,
            middlebox,
        ): ([prop::sample::Index; 2], _, _, _, _, _, _, _)| {
            let [from, to] = ends;
            // The numbers of two different nodes; `scenario` brings them into range.
            let ends = (from.index(60), 1 + to.index(59));
            Flow { ends, start_ms, stop_ms, controller, recovery, transport, traffic, middlebox }
        };
        flows.into_iter().map(flow).collect()
    })
}

/// The nodes from one to another in the tree of `hops`, both included.
fn route(hops: &[Hop], from: usize, to: usize) -> Vec<usize> {
    let parent = |node: &usize| node.checked_sub(1).map(|link| hops[link].from);
    let to_root = |node| std::iter::successors(Some(node), parent).collect::<Vec<_>>();
    let (mut up, mut down) = (to_root(from), to_root(to));
    let mut meeting = 0;
    while let (Some(a), Some(b)) = (up.last(), down.last())
        && a == b
    {
        meeting = *a;
        up.pop();
        down.pop();
    }
    up.push(meeting);
    up.extend(down.into_iter().rev());
    up
}

/// The middleboxes of `flows` by their nodes, at most one each: between the ends of the flow, or in the
/// queues of its sender.
fn placed(hops: &[Hop], flows: &[Flow]) -> BTreeMap<usize, String> {
    let mut placed = BTreeMap::new();
    for flow in flows {
        let Some((middlebox, text)) = &flow.middlebox else { continue };
        let (from, to) = ends(hops, flow);
        let route = route(hops, from, to);
        let place = match middlebox.is_in_queues() {
            true => Some(route[(route.len() - 1) / 2]),
            false => (route.len() > 2).then(|| route[1]),
        };
        if let Some(node) = place {
            placed.entry(node).or_insert_with(|| text.clone());
        }
    }
    placed
}

/// The numbers of the two nodes of a flow.
fn ends(hops: &[Hop], flow: &Flow) -> (usize, usize) {
    let nodes = hops.len() + 1;
    let from = flow.ends.0 % nodes;
    (from, (from + 1 + flow.ends.1 % (nodes - 1)) % nodes)
}

/// The scenario file. With `forwarding` the first node is a router with a limit; `interval` is that
/// of the samples in milliseconds.
pub fn scenario(
    hops: &[Hop],
    flows: &[Flow],
    forwarding: bool,
    interval: Option<u32>,
    ipv6: bool,
) -> String {
    let mut text = "duration = \"15s\"\n".to_owned();
    if ipv6 {
        text += "ip = \"ipv6\"\n";
    }
    if let Some(interval) = interval {
        write!(text, "[record]\ninterval = \"{interval}ms\"\n").expect("a text takes all");
    }
    let mut placed = placed(hops, flows);
    if forwarding {
        let (rate, buffer) = if ipv6 { (3, 30) } else { (4, 20) };
        write!(
            text,
            "[[node]]\nname = \"n0\"\nforwarding = {{ rate = \"{rate}Mbit/s\", buffer = \"{buffer}kB\" }}\n"
        )
        .expect("a text takes all");
        if let Some(middlebox) = placed.remove(&0) {
            writeln!(text, "middlebox = {middlebox}").expect("a text takes all");
        }
    }
    for (node, middlebox) in placed {
        write!(text, "[[node]]\nname = \"n{node}\"\nmiddlebox = {middlebox}\n")
            .expect("a text takes all");
    }
    for (number, hop) in hops.iter().enumerate() {
        let Hop { from, rate_kbps, delay_us, queue, channel, more, changes, framing } = hop;
        let to = number + 1;
        let more = if ipv6 { more.replace(VJ, "") } else { more.clone() };
        write!(
            text,
            "[[link]]\nbetween = [\"n{from}\", \"n{to}\"]\nrate = \"{rate_kbps}kbit/s\"\ndelay = \"{delay_us}us\"\nqueue = {queue}\noverhead = \"{framing}B\"\nevent = [{changes}]\n{more}forward = {{ channel = {channel} }}\n"
        )
        .expect("a text takes all");
    }
    let has_mtu = hops.iter().any(|hop| hop.more.contains("mtu = "));
    for flow in flows {
        let (from, to) = ends(hops, flow);
        let transport = &flow.transport;
        let transport = if has_mtu { transport.replace(USUAL_MSS, "") } else { transport.clone() };
        write!(
            text,
            "[[flow]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nstart = \"{}ms\"\ncontroller = \"{}\"\ntransport = {{ recovery = \"{}\", {} }}\ntraffic = {{ {} }}\n",
            flow.start_ms, flow.controller, flow.recovery, transport, flow.traffic
        )
        .expect("a text takes all");
        if let Some(stop) = flow.stop_ms {
            writeln!(text, "stop = \"{}ms\"", flow.start_ms + stop).expect("a text takes all");
        }
    }
    text
}

/// Keys with their values, as far as the network engines see them.
pub fn seen(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let Scenario {
        ip,
        nodes,
        links,
        flows,
        // Of both engines alike: what is not sent over the network.
        name: _,
        duration: _,
        seed: _,
        phase: _, // it moves `link.event.at`
        delay_tolerance: _,
        record: _,
    } = scenario;
    found.push(("ip", format!("{ip:?}")));
    found.push(("flow", flows.len().to_string()));
    for model::Node {
        name: _,
        forwarding,
        middlebox,
        // Its node is a host: the engines see no difference.
        proxy: _,
    } in nodes
    {
        found.push(("node.middlebox", format!("{middlebox:?}")));
        found.push(("node.forwarding", format!("{forwarding:?}")));
        if let Some(Forwarding { rate, buffer }) = forwarding {
            found.push(("node.forwarding.rate", format!("{rate}")));
            found.push(("node.forwarding.buffer", format!("{buffer}")));
        }
    }
    for model::Link { name: _, ends, forward, backward, header_compression, mtu } in links {
        found.push(("link.between", format!("{ends:?}")));
        found.push(("link.header_compression", format!("{header_compression:?}")));
        found.push(("link.mtu", format!("{mtu:?}")));
        direction(forward, &mut found);
        direction(backward, &mut found);
    }
    found
}

fn direction(direction: &Settings, found: &mut Vec<(&'static str, String)>) {
    let Settings {
        rate,
        delay,
        jitter,
        queue,
        low_priority,
        ecn_marking,
        aqm,
        arq,
        fec,
        feedback,
        demand,
        overhead,
        channel,
        trace,
        timeline,
        reorder,
    } = direction;
    found.push(("link.rate", rate.to_string()));
    found.push(("link.delay", delay.to_string()));
    found.push(("link.jitter", jitter.to_string()));
    found.push(("link.queue", format!("{queue:?}")));
    found.push(("link.queue.low_priority", format!("{low_priority:?}")));
    found.push(("link.overhead", overhead.to_string()));
    found.push(("link.channel", format!("{channel:?}")));
    if let Some(Marking { packets, weight }) = ecn_marking {
        found.push(("link.ecn_marking.packets", packets.to_string()));
        found.push(("link.ecn_marking.weight", weight.to_string()));
    }
    found.push(("link.aqm", format!("{:?}", aqm.map(|aqm| aqm.name()))));
    found.push(("link.trace", trace.timeline.changes().len().to_string()));
    found.push(("link.trace.phase", trace.phase.to_string()));
    found.push(("link.reorder", reorder.to_string()));
    found.push(("link.arq", format!("{arq:?}")));
    found.push(("link.fec", format!("{fec:?}")));
    found.push(("link.feedback", format!("{feedback:?}")));
    found.push(("link.demand", format!("{demand:?}")));
    for Change { at, every, rate, delay, outage, loss } in trace.timeline.changes() {
        found.push(("link.trace.at", format!("{at} {every:?}")));
        found.push(("link.trace.values", format!("{rate:?} {delay:?} {outage:?}")));
        found.push(("link.trace.loss", format!("{loss:?}")));
    }
    for Change { at, every, rate, delay, outage, loss: _ } in timeline.changes() {
        found.push(("link.event.at", at.to_string()));
        found.push(("link.event.every", format!("{every:?}")));
        found.push(("link.event.rate", format!("{rate:?}")));
        found.push(("link.event.delay", format!("{delay:?}")));
        found.push(("link.event.outage", format!("{outage:?}")));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    use super::*;

    #[test]
    fn every_key_that_the_engines_see_has_several_values() {
        let mut runner = TestRunner::deterministic();
        let mut values: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for number in 0..200 {
            let hops = hops().new_tree(&mut runner).unwrap().current();
            let flows = flows().new_tree(&mut runner).unwrap().current();
            let [forwarding, ipv6] = [number % 2 == 0, number % 3 == 0];
            let text = scenario(&hops, &flows, forwarding, None, ipv6);
            let scenario = Scenario::parse(&text, "random.toml", &[]).unwrap();
            for (key, value) in seen(&scenario) {
                values.entry(key).or_default().insert(value);
            }
        }
        let constant: Vec<_> = values.iter().filter(|(_, all)| all.len() < 2).collect();
        assert_eq!(constant, []);
    }
}
