//! The fast engine and the slow one give the same recording; the same seed gives the same one.

use generate::{flows, hops, scenario};
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn the_fast_engine_and_the_slow_one_give_the_same_recording(
        hops in hops(), flows in flows(), forwarding: bool, seed: u64,
        interval in prop_oneof![Just(None), Just(Some(1000)), (7u32..900).prop_map(Some)],
        ipv6: bool,
    ) {
        let text = scenario(&hops, &flows, forwarding, interval, ipv6);
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
        let text = scenario(&hops, &flows, false, Some(500), false);
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
    let text = text.replace("250ms", "0ms").replace("3000s", "1s");
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
