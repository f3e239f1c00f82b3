//! Texts for single keys of a random link.

use middlebox::HeaderCompression;
use proptest::prelude::*;

pub(crate) fn queue() -> impl Strategy<Value = String> {
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

pub(crate) fn channel() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("\"perfect\"".to_owned()),
        1 => prop::sample::select(vec!["{ per = 0.01 }", "{ per = 0.1 }", "{ per = 0.2, correlation = 0.5 }"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["{ ber = 1e-6 }", "{ ber = 1e-5, ecc_threshold = 1e-4 }"])
            .prop_map(str::to_owned),
        1 => (0.0..0.3f64, 1.0..20.0f64).prop_map(|(loss, burst)| format!(
            "{{ mean_loss = {loss}, mean_burst = {burst}, loss_in_burst = 0.8 }}"
        )),
        1 => (0.0..0.3f64, 1u32..200).prop_map(|(loss, burst)| format!(
            "{{ mean_loss = {loss}, mean_burst = \"{burst}ms\", loss_in_burst = 0.8 }}"
        )),
        2 => awgn(),
        1 => modem(),
    ]
}

/// A modem under the same fades, with a control loop that is too slow for some of them.
pub(crate) fn modem() -> impl Strategy<Value = String> {
    let names = prop::sample::select(link::Modem::all().map(|modem| modem.name()).to_vec());
    (-2.0..20.0f64, names, 1u32..900).prop_map(|(es_n0, name, delay)| {
        let fade = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fade.csv");
        format!(
            "{{ es_n0 = {es_n0}, attenuation = \"{fade}\", modem = {{ name = \"{name}\", bandwidth = 2e6, delay = \"{delay}ms\" }} }}"
        )
    })
}

pub(crate) fn jitter() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => (1u32..50_000).prop_map(|us| format!("jitter = \"{us}us\"\n")),
        1 => around(),
    ]
}

/// Jitter around the delay, with and without order.
fn around() -> impl Strategy<Value = String> {
    let file = concat!("{ file = \"", env!("CARGO_MANIFEST_DIR"), "/src/steps.dist\" }");
    let names = ["\"uniform\"", "\"normal\"", "\"pareto\"", "\"paretonormal\"", file];
    let correlation = prop_oneof![2 => Just(0.0), 1 => 0.0..0.99f64];
    (1u32..50_000, prop::sample::select(names.to_vec()), correlation, any::<bool>()).prop_map(
        |(us, name, correlation, reorder)| {
            format!(
                "jitter = {{ variation = \"{us}us\", distribution = {name}, correlation = {correlation}, reorder = {reorder} }}\n"
            )
        },
    )
}

/// Slots with and without limits.
fn slot() -> impl Strategy<Value = String> {
    (1u32..50, 0u32..50, 1u32..30, 0u32..3).prop_map(|(least, more, number, limit)| {
        let limit = match limit {
            0 => String::new(),
            1 => format!(", packets = {number}"),
            _ => format!(", bytes = \"{number}kB\""),
        };
        format!(
            "slot = {{ min_delay = \"{least}ms\", max_delay = \"{}ms\"{limit} }}\n",
            least + more
        )
    })
}

/// Random reordering, duplication or slots, or none of them.
pub(crate) fn impairments() -> impl Strategy<Value = String> {
    let correlation = || prop_oneof![2 => Just(0.0), 1 => 0.0..0.99f64];
    let reorder = (0.01..=1.0f64, correlation(), 1u32..6).prop_map(|(p, c, gap)| {
        format!("reorder = {{ probability = {p}, correlation = {c}, gap = {gap} }}\n")
    });
    let duplicate = (0.0..0.3f64, correlation())
        .prop_map(|(p, c)| format!("duplicate = {{ probability = {p}, correlation = {c} }}\n"));
    prop_oneof![
        4 => Just(String::new()),
        1 => reorder.boxed(),
        1 => duplicate.boxed(),
        1 => (0.0..0.1f64).prop_map(|p| format!("duplicate = {p}\n")).boxed(),
        1 => slot().boxed(),
    ]
}

pub(crate) fn mark() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => (0u32..20, prop::sample::select(vec![1.0, 0.1, 0.002])).prop_map(|(packets, weight)| {
            format!("ecn_marking = {{ packets = {packets}, weight = {weight} }}\n")
        }),
        1 => prop::sample::select(link::Aqm::all().map(|aqm| aqm.name()).to_vec())
            .prop_map(|name| format!("aqm = \"{name}\"\n")),
    ]
}

/// ARQ with little persistence and short windows, so that packets are given up and wait for the
/// window.
pub(crate) fn arq() -> impl Strategy<Value = String> {
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
pub(crate) fn repair() -> impl Strategy<Value = String> {
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
pub(crate) fn feedback() -> impl Strategy<Value = String> {
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

/// A mechanism that repairs losses, or demand assignment, which excludes it, in frames that are
/// shorter than a run.
pub(crate) fn repair_or_demand() -> impl Strategy<Value = String> {
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

/// Token buckets and cells, mostly none of them. Their bursts hold the longest packet in its cells.
pub(crate) fn buckets() -> impl Strategy<Value = String> {
    let bucket = (64u32..20_000, 6000u32..60_000, prop::option::of(6000u32..9000)).prop_map(
        |(kbps, burst, peak)| {
            let peak = peak.map_or(String::new(), |bytes| {
                format!(", peak = {{ rate = \"{}kbit/s\", burst = \"{bytes}B\" }}", 2 * kbps)
            });
            format!("{{ rate = \"{kbps}kbit/s\", burst = \"{burst}B\"{peak} }}")
        },
    );
    let framing = (prop::option::of(41u32..300), prop::option::of((40u32..100, 0u32..20)));
    let framing = framing.prop_map(|(least, cells)| {
        let least = least.map_or(String::new(), |bytes| format!("min_packet = \"{bytes}B\"\n"));
        let cells = cells.map_or(String::new(), |(payload, header)| {
            format!("cells = {{ payload = \"{payload}B\", header = \"{header}B\" }}\n")
        });
        least + &cells
    });
    let shaper = bucket.clone().prop_map(|bucket| format!("shaper = {bucket}\n"));
    let policer = bucket.prop_map(|bucket| format!("policer = {bucket}\n"));
    let none = || Just(String::new());
    (
        prop_oneof![4 => none(), 1 => shaper],
        prop_oneof![4 => none(), 1 => policer],
        prop_oneof![3 => none(), 1 => framing],
    )
        .prop_map(|(shaper, policer, framing)| shaper + &policer + &framing)
}

/// Header compression, mostly with its defaults.
pub(crate) fn compression() -> impl Strategy<Value = String> {
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
pub(crate) fn mtu() -> impl Strategy<Value = &'static str> {
    let filtered = "mtu = { bytes = 1280, icmp = \"filtered\" }\n";
    prop_oneof![4 => Just(""), 1 => Just("mtu = 1400\n"), 1 => Just(filtered)]
}

/// Fades in which attenuation, and with it the loss of packets, changes while packets wait.
pub(crate) fn awgn() -> impl Strategy<Value = String> {
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
pub(crate) fn trace() -> impl Strategy<Value = String> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    prop_oneof![
        4 => Just(String::new()),
        1 => Just(format!("trace = \"{here}/trace.csv\"\n")),
        1 => Just(format!("trace = {{ file = \"{here}/walk.csv\", phase = \"random\" }}\n")),
        1 => Just(format!(
            "trace = {{ deliveries = \"{here}/deliveries.txt\", delays = \"{here}/delays.txt\", loop = true }}\n"
        )),
        1 => Just(format!(
            "trace = {{ delays = \"{here}/delays.txt\", loop = true, phase = \"random\" }}\n"
        )),
    ]
}

/// Changes at rising times, some of them periodic; for any queue but those that push out.
pub(crate) fn changes() -> impl Strategy<Value = String> {
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
