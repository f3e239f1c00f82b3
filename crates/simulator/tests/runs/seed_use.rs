//! `SeedUse` of runs: it says so if another seed gives the same events, and never if not.

use explain::{WarningKind, explain};
use recording::Recording;
use scenario::Loaded;
use simulator::{Options, SeedUse, run_with_seed_use};

use super::{lossy, parse};

fn run(text: &str, seed: u64) -> (Recording, SeedUse) {
    run_with_seed_use(&parse(text), seed, Options::default())
}

/// Returns true if the explanation says that nothing is random.
fn is_said_fixed(text: &str) -> bool {
    let loaded = Loaded::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    warnings.iter().any(|warning| warning.kind == WarningKind::NothingRandom)
}

/// The scenario with two of each flow, which share a bottleneck, and without the channel of
/// `lossy`.
fn doubled(text: &str) -> String {
    text.replace("[[flow]]", "[[flow]]\ncount = 2").replace("channel = { per = 0 }\n", "")
}

/// The recording with the seed that all are compared with.
fn of_no_seed(recording: Recording) -> String {
    Recording { seed: 0, ..recording }.digest()
}

fn download(forward: &str) -> String {
    lossy(0.0, forward, "cubic", "200kB")
}

#[test]
fn runs_in_which_nothing_is_random_gives_same_run_all_seeds() {
    let pie = "aqm = \"pie\"";
    let plain = download("");
    let hosts = plain.replace("[[flow]]", "[[flow]]\nhost = \"linux-6.18\"");
    let bbr = lossy(0.0, "", "bbr3", "200kB");
    for text in [&plain, &hosts, &bbr] {
        let (recording, seeds) = run(text, 1);
        let other = of_no_seed(run(text, 2).0);
        assert!(seeds.is_reusable() && seeds.gives_same_run(2), "{text}");
        assert_eq!(of_no_seed(recording), other, "{text}");
        assert!(is_said_fixed(&doubled(text)), "{text}");
    }
    let (_, seeds) = run(&download(pie), 1);
    assert!(!seeds.is_reusable());
}

/// Each of these seeds something, so no other seed is taken to be alike.
#[test]
fn runs_that_draw_gives_same_run_no_other_seed() {
    let at_the_link = [
        "jitter = \"2ms\"",
        "reorder = { probability = 0.1 }",
        "duplicate = { probability = 0.1 }",
        "slot = { min_delay = \"5ms\", max_delay = \"6ms\" }",
        "aqm = \"red\"",
        "aqm = \"pie\"",
        "aqm = \"dualpi2\"",
        "aqm = \"fq-codel\"",
        "channel = { per = 0.1, correlation = 0.5 }",
        "channel = { mean_loss = 0.01, mean_burst = 2 }",
    ];
    let texts = at_the_link.map(download);
    let traffic = "traffic = { download = \"200kB\" }";
    let on_off = "traffic = { on_off = { rate = \"1Mbit/s\", on = \"1s\", off = \"1s\" } }";
    let event = "event = [{ at = \"1s\", outage = \"50ms\" }]\n";
    let others = [
        download("").replace(traffic, on_off),
        download("")
            .replace("[[flow]]", &format!("{event}[[flow]]"))
            .replace("\"300s\"", "\"300s\"\nphase = \"random\""),
        download("").replace(
            traffic,
            &format!("{traffic}\nsessions = {{ pause = \"20s\", length = \"5s\" }}"),
        ),
        download("").replace(traffic, &format!("{traffic}\ntransport = {{ protocol = \"quic\" }}")),
        download("").replace(traffic, "traffic = { page = { model = \"3gpp\", pages = 1 } }"),
    ];
    for text in texts.iter().chain(&others) {
        let (_, seeds) = run(text, 1);
        assert!(!seeds.is_reusable() && !seeds.gives_same_run(2), "{text}");
        assert!(!is_said_fixed(&doubled(text)), "{text}");
    }
}

/// With few losses, a run is alike with the seeds that lose nothing, and with no others.
#[test]
fn runs_without_a_loss_gives_same_run_the_seeds_that_lose_nothing() {
    for channel in ["per = 5e-3", "ber = 4e-7"] {
        let text = lossy(0.0, "", "cubic", "200kB").replace("per = 0", channel);
        assert!(text.contains(channel));
        let runs: Vec<_> = (0..20).map(|seed| run(&text, seed)).collect();
        let losses: Vec<_> = runs
            .iter()
            .map(|(one, _)| one.links[0].corrupted_packets + one.links[1].corrupted_packets)
            .collect();
        let without = losses.iter().filter(|lost| **lost == 0).count();
        assert!((3..=17).contains(&without), "{losses:?}");
        let first = losses.iter().position(|lost| *lost == 0).unwrap();
        for (seed, (recording, seeds)) in (0..).zip(&runs) {
            let lost = losses[seed as usize];
            assert_eq!(seeds.is_reusable(), lost == 0);
            assert_eq!(runs[first].1.gives_same_run(seed), lost == 0, "{channel}, seed {seed}");
            let same = of_no_seed(recording.clone()) == of_no_seed(runs[first].0.clone());
            assert_eq!(same, lost == 0, "{channel}, seed {seed}");
        }
    }
}
