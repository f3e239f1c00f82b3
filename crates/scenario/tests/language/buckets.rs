//! Token buckets and lengths on the line: what they resolve to, what is refused, and where a
//! warning belongs.

use std::fmt::Write;

use explain::{WarningKind, explain};
use link::{Cells, Framing, Peak, TokenBucket};
use scenario::model::QueueLimit;
use scenario::{Loaded, Scenario};
use units::{Bytes, Rate};

use super::{directions, over_a_link};

/// A link of 100 Mbit/s whose keys are `link`, with an RTT of 40 ms.
fn text(link: &str) -> String {
    over_a_link("100Mbit/s", "20ms", link)
}

const BUCKET: &str = "{ rate = \"10Mbit/s\", burst = \"32kB\" }";

#[test]
fn a_table_is_a_bucket_and_none_is_none() {
    let bucket = TokenBucket::new(Rate::from_bits_per_second(10_000_000), Bytes(32_000));
    let link = format!("shaper = {BUCKET}\nbackward = {{ shaper = \"none\", policer = {BUCKET} }}");
    let [forward, backward] = directions(&text(&link));
    assert_eq!([forward.shaper, forward.policer], [Some(bucket), None]);
    assert_eq!([backward.shaper, backward.policer], [None, Some(bucket)]);
    let peak = "shaper = { rate = \"10Mbit/s\", burst = \"32kB\", peak = { rate = \"20Mbit/s\", burst = \"1540B\" } }";
    let [forward, _] = directions(&text(peak));
    let peak = Peak { rate: Rate::from_bits_per_second(20_000_000), burst: Bytes(1540) };
    assert_eq!(forward.shaper, Some(TokenBucket { peak: Some(peak), ..bucket }));
}

#[test]
fn overhead_padding_and_cells_are_one_framing() {
    let link = "overhead = \"16B\"\nmin_packet = \"64B\"\ncells = { payload = \"48B\", header = \"5B\" }\n\
                backward = { cells = \"none\" }";
    let [forward, backward] = directions(&text(link));
    let cells = Some(Cells { payload: 48, header: 5 });
    assert_eq!(forward.framing, Framing { overhead: 16, min_packet: 64, cells });
    assert_eq!(backward.framing, Framing { overhead: 16, min_packet: 64, cells: None });
}

#[test]
fn a_queue_in_time_is_at_the_rate_of_the_shaper() {
    let [forward, _] =
        directions(&text(&format!("shaper = {BUCKET}\nqueue = {{ time = \"400ms\" }}")));
    assert_eq!(forward.queue, QueueLimit::Bytes(500_000));
}

#[test]
fn a_burst_holds_the_packets_of_a_tunnel_and_its_set_up() {
    let with = |burst: u32, tunnel: &str| {
        let bucket = format!("shaper = {{ rate = \"10Mbit/s\", burst = \"{burst}B\" }}");
        let text = text(&bucket).replace("[[flow]]", &format!("[[flow]]\ntunnel = {tunnel}"));
        Scenario::parse(&text, "tunnel.toml", &[]).map(|_| ()).map_err(|errors| errors.to_string())
    };
    // Around 100 bytes an outer packet is longer.
    let wireguard = "{ name = \"wireguard\", mtu = 100, established = true }";
    assert_eq!(with(1500, wireguard), Ok(()));
    let error = with(100, wireguard).unwrap_err();
    assert!(error.contains("link[0].shaper.burst: expected at least"), "{error}");
    // The first message of QUIC has 1200 bytes at least.
    let masque = "{ name = \"masque\", mtu = 100 }";
    let error = with(1000, masque).unwrap_err();
    assert!(error.contains("link[0].shaper.burst: expected at least \"12"), "{error}");
    assert_eq!(with(1000, "{ name = \"masque\", mtu = 100, established = true }"), Ok(()));
}

#[test]
fn buckets_that_cannot_be() {
    let with = |more: &str| format!("shaper = {BUCKET}\n{more}");
    let wrong = [
        ("shaper = \"10Mbit/s\"".to_owned(), "link[0].shaper"),
        ("shaper = { rate = \"10Mbit/s\" }".to_owned(), "link[0].shaper.burst"),
        ("policer = { rate = \"0bit/s\", burst = \"9kB\" }".to_owned(), "link[0].policer.rate"),
        ("shaper = { rate = \"1Mbit/s\", burst = \"9kB\", brust = \"1B\" }".to_owned(), "link[0].shaper.brust"),
        // tbf of Linux drops packets that are longer than its burst.
        ("shaper = { rate = \"1Mbit/s\", burst = \"1499B\" }".to_owned(), "link[0].shaper.burst"),
        ("forward = { policer = { rate = \"1Mbit/s\", burst = \"1kB\" } }".to_owned(), "link[0].forward.policer.burst"),
        (
            "cells = { payload = \"48B\", header = \"5B\" }\nshaper = { rate = \"1Mbit/s\", burst = \"1600B\" }".to_owned(),
            "link[0].shaper.burst",
        ),
        (
            "shaper = { rate = \"1Mbit/s\", burst = \"9kB\", peak = { rate = \"2Mbit/s\", burst = \"1kB\" } }".to_owned(),
            "link[0].shaper.peak.burst",
        ),
        (
            "shaper = { rate = \"1Mbit/s\", burst = \"9kB\", peak = { rate = \"1Mbit/s\", burst = \"9kB\" } }".to_owned(),
            "link[0].shaper.peak.rate",
        ),
        (with("backward = { shaper = \"none\", arq = \"selective-repeat\" }"), "link[0].shaper"),
        (with("forward = { fec = \"reed-solomon\" }"), "link[0].shaper"),
        (with("demand = \"dvb-rcs2\""), "link[0].shaper"),
        (with("forward = { header_compression = \"rohc\" }"), "link[0].shaper"),
        ("cells = { payload = \"0B\", header = \"5B\" }".to_owned(), "link[0].cells.payload"),
        ("cells = { payload = \"48B\" }".to_owned(), "link[0].cells.header"),
        ("min_packet = 64".to_owned(), "link[0].min_packet"),
    ];
    let mut all = String::new();
    for (link, path) in &wrong {
        let errors = Scenario::parse(&text(link), "buckets.toml", &[]).expect_err(link);
        let paths: Vec<_> = errors.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [*path], "{link}\n{errors}");
        writeln!(all, "{errors}").unwrap();
    }
    insta::assert_snapshot!(all);
}

/// The kinds of warnings about buckets.
fn doubts(link: &str) -> Vec<WarningKind> {
    let loaded = Loaded::parse(&text(link), "buckets.toml", &[]).unwrap();
    let of_buckets = [
        WarningKind::ShaperWithoutEffect,
        WarningKind::PolicerWithoutEffect,
        WarningKind::PolicerBelowBdp,
    ];
    let kinds =
        explain(&loaded.scenario, &loaded.written).warnings.into_iter().map(|warning| warning.kind);
    kinds.filter(|kind| of_buckets.contains(kind)).collect()
}

#[test]
fn a_bucket_that_is_always_full_and_one_below_the_bdp_are_warnings() {
    assert_eq!(doubts(&format!("forward = {{ shaper = {BUCKET} }}")), []);
    let fast = "{ rate = \"100Mbit/s\", burst = \"600kB\" }";
    let found = doubts(&format!("forward = {{ shaper = {fast}, policer = {fast} }}"));
    assert_eq!(found, [WarningKind::ShaperWithoutEffect, WarningKind::PolicerWithoutEffect]);
    // The BDP is 50 kB.
    assert_eq!(
        doubts(&format!("forward = {{ policer = {BUCKET} }}")),
        [WarningKind::PolicerBelowBdp]
    );
    let large = "{ rate = \"10Mbit/s\", burst = \"60kB\" }";
    assert_eq!(doubts(&format!("forward = {{ policer = {large} }}")), []);
}

#[test]
fn figures_are_those_of_the_slowest_part() {
    let rate = |link: &str| {
        let loaded = Loaded::parse(&text(link), "buckets.toml", &[]).unwrap();
        explain(&loaded.scenario, &loaded.written).flows[0].figures.capacity_bps
    };
    let plain = rate("");
    for key in ["shaper", "policer"] {
        assert!((rate(&format!("{key} = {BUCKET}")) - plain / 10.0).abs() < 1.0, "{key}");
    }
    // 1516 bytes take 32 cells of 53 bytes.
    let atm = rate("overhead = \"16B\"\ncells = { payload = \"48B\", header = \"5B\" }");
    assert!((atm - plain * 1500.0 / (32.0 * 53.0)).abs() < 1.0, "{atm}");
}
