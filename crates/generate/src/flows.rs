//! Random flows with any controller, and what stands on their way.

use std::fmt::Write;

use middlebox::{
    AckDecimationSettings, AckFilterSettings, Middlebox, PacketControlSettings, SnoopSettings,
    SpoofingSettings,
};
use proptest::prelude::*;

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub(crate) ends: (usize, usize),
    pub(crate) start_ms: u32,
    /// How long after its start it stops.
    pub(crate) stop_ms: Option<u32>,
    pub(crate) controller: &'static str,
    pub(crate) recovery: &'static str,
    pub(crate) transport: String,
    pub(crate) traffic: String,
    /// Middlebox at a node of its route, with its TOML.
    pub(crate) middlebox: Option<(Middlebox, String)>,
}

fn traffic() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..300_000).prop_map(|bytes| format!("download = \"{bytes}B\"")),
        (1u32..200_000, 1u32..2000)
            .prop_map(|(b, r)| format!("download = \"{b}B\", request = \"{r}B\"")),
        Just("bulk = \"unlimited\"".to_owned()),
        (1u32..4, 1u32..4, any::<bool>()).prop_map(|(pages, connections, pipelining)| {
            let interval = if pages > 1 { "interval = \"2s\", " } else { "" };
            format!(
                "web = {{ pages = {pages}, {interval}connections = {connections}, pipelining = {pipelining} }}"
            )
        }),
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
