//! Random impairments of links, as netem has them.

use std::fs;
use std::path::PathBuf;

use explain::explain;
use link::{Distribution, Duplication, Jitter, Reordering, Slots};
use scenario::Loaded;
use scenario::model::Channel;
use units::Span;

/// A link with these keys, and a flow over it.
fn load(keys: &str) -> Result<Loaded, language::Errors> {
    let text = format!(
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8Mbit/s\"\ndelay = \"300ms\"\n{keys}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ncontroller = \"reno\"\ntraffic = {{ bulk = \"unlimited\" }}\n"
    );
    Loaded::parse(&text, "impaired.toml", &[])
}

fn loaded(keys: &str) -> Loaded {
    load(keys).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The errors of a link with these keys.
fn refused(keys: &str) -> String {
    let Err(errors) = load(keys) else { panic!("{keys} is accepted") };
    errors.to_string()
}

/// The texts that `explain` has for a mechanism of the first direction: its value, and its details.
fn explained(keys: &str, key: &str) -> Vec<String> {
    let loaded = loaded(keys);
    let explanation = explain(&loaded.scenario, &loaded.written);
    let link = &explanation.links[0];
    let value = link.settings.iter().filter(|one| one.name == key).map(|one| one.text.clone());
    let details = link.effects_of(key).iter();
    value.chain(details.map(|one| format!("{}: {}", one.name, one.text))).collect()
}

/// A file with this text, in a folder of its own.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bentpipe-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn jitter_is_a_time_or_a_distribution_around_the_delay() {
    let jitter = |keys: &str| loaded(keys).scenario.links[0].forward.jitter.clone();
    assert_eq!(jitter(""), Jitter::NONE);
    assert_eq!(jitter("jitter = \"2ms\""), Jitter::UpTo(Span::from_millis(2)));
    let Jitter::Around(plain) = jitter("jitter = { variation = \"15ms\" }") else { panic!() };
    assert_eq!(plain.distribution, Distribution::Uniform);
    assert_eq!((plain.correlation, plain.reorder), (0.0, false));
    let keys = "jitter = { variation = \"15ms\", distribution = \"paretonormal\", correlation = 0.25, reorder = true }";
    let Jitter::Around(all) = jitter(keys) else { panic!() };
    assert_eq!(all.variation, Span::from_millis(15));
    assert_eq!(
        (all.distribution, all.correlation, all.reorder),
        (Distribution::ParetoNormal, 0.25, true)
    );
    let one_way = loaded("backward.jitter = { variation = \"1ms\" }").scenario;
    assert!(
        one_way.links[0].forward.jitter.is_none() && !one_way.links[0].backward.jitter.is_none()
    );
}

#[test]
fn a_distribution_is_read_from_a_file_of_iproute2() {
    let file = file("wifi.dist", "# measured\n -8192 0\n8192\t16384\n\n");
    let keys = format!("jitter = {{ variation = \"1ms\", distribution = {{ file = {file:?} }} }}");
    let Jitter::Around(around) = &loaded(&keys).scenario.links[0].forward.jitter else { panic!() };
    let Distribution::Table { values, .. } = &around.distribution else { panic!() };
    assert_eq!(**values, [-8192, 0, 8192, 16384]);
}

#[test]
fn a_file_that_is_no_distribution_is_refused_with_its_line() {
    for (name, text, expected) in [
        ("words.dist", "# head\n1 2\n3 four 5\n", "words.dist:3"),
        ("large.dist", "1\n40000\n", "large.dist:2"),
        ("empty.dist", "# nothing\n", "whole numbers from -32768 to 32767"),
        ("long.dist", &"1 2 3 4\n".repeat(4097), "at most 16384 values"),
    ] {
        let file = file(name, text);
        let distribution = format!("distribution = {{ file = {file:?} }}");
        let errors = refused(&format!("jitter = {{ variation = \"1ms\", {distribution} }}"));
        assert!(errors.contains(expected), "{errors}");
        assert_eq!(errors.matches("found").count(), 1, "both directions have it once: {errors}");
    }
    let none = "jitter = { variation = \"1ms\", distribution = { file = \"none.dist\" } }";
    assert!(refused(none).contains("no such file"));
}

#[test]
fn jitter_that_cannot_be_is_refused() {
    for (keys, expected) in [
        ("jitter = { distribution = \"normal\" }", "variation"),
        ("jitter = { variation = \"0ms\" }", "1ns"),
        ("jitter = { variation = \"1ms\", correlation = 1 }", "below 1"),
        ("jitter = { variation = \"1ms\", distribution = \"gauss\" }", "\"normal\""),
        ("jitter = { variation = \"1ms\", distribution = \"norml\" }", "did you mean \"normal\""),
        ("jitter = { variation = \"1ms\", corelation = 0.1 }", "did you mean `correlation`"),
        (
            "jitter = { variation = \"1ms\", reorder = true }\narq = \"go-back-n\"",
            "false with `arq`",
        ),
        (
            "jitter = { variation = \"1ms\", reorder = true }\nfec = \"reed-solomon\"",
            "false with `fec`",
        ),
        (
            "jitter = { variation = \"1ms\", reorder = true }\nheader_compression = \"rohc\"",
            "false with `header_compression`",
        ),
        (
            "jitter = { variation = \"1ms\" }\nqueue = { packets = 9, low_priority = \"push-out\" }",
            "no jitter",
        ),
    ] {
        let errors = refused(keys);
        assert!(errors.contains(expected), "{keys}: {errors}");
    }
    // Jitter that keeps the order goes with all of them.
    loaded("jitter = { variation = \"1ms\" }\narq = \"go-back-n\"\nheader_compression = \"rohc\"");
}

#[test]
fn jitter_is_explained_with_its_mean_and_quantiles() {
    let keys = "jitter = { variation = \"15ms\", distribution = \"normal\", correlation = 0.25 }";
    assert_eq!(
        explained(keys, "jitter"),
        [
            "normal 15ms",
            "distribution: normal around 299.99ms: 98 % from 264.99ms to 334.91ms, at most 352.84ms",
            "standard_deviation: 15ms",
            "correlation: 0.25 from packet to packet",
            "reorder: packets keep their order",
        ]
    );
    assert_eq!(explained("jitter = \"2ms\"", "jitter"), ["up to 2ms"]);
}

#[test]
fn delays_that_would_be_negative_are_warned_of() {
    let warnings = |keys: &str| {
        let loaded = loaded(keys);
        let found = explain(&loaded.scenario, &loaded.written).warnings;
        found.into_iter().map(|one| one.message).filter(|one| one.contains("negative")).count()
    };
    assert_eq!(warnings("jitter = { variation = \"100ms\", distribution = \"normal\" }"), 0);
    assert_eq!(warnings("jitter = { variation = \"200ms\", distribution = \"normal\" }"), 2);
}

#[test]
fn packets_are_sent_at_once_or_arrive_twice_with_a_probability() {
    let direction = |keys: &str| loaded(keys).scenario.links[0].forward.clone();
    assert_eq!(direction("").reordering, None);
    let all = direction("reorder = { probability = 0.25, correlation = 0.5, gap = 5 }");
    assert_eq!(all.reordering, Some(Reordering { probability: 0.25, correlation: 0.5, gap: 5 }));
    assert!(!all.reorder && all.overtakes());
    let plain = direction("reorder = { probability = 0.25 }").reordering.unwrap();
    assert_eq!((plain.correlation, plain.gap), (0.0, 1));
    let duplication = |probability, correlation| Some(Duplication { probability, correlation });
    assert_eq!(direction("duplicate = 0.01").duplication, duplication(0.01, 0.0));
    assert_eq!(direction("duplicate = 0").duplication, None);
    let table = "duplicate = { probability = 0.1, correlation = 0.5 }";
    assert_eq!(direction(table).duplication, duplication(0.1, 0.5));
}

#[test]
fn reordering_and_duplication_that_cannot_be_are_refused() {
    for (keys, expected) in [
        ("reorder = { gap = 5 }", "probability"),
        ("reorder = { probability = 0 }", "above 0"),
        ("reorder = { probability = 0.1, gap = 0 }", "at least 1"),
        ("reorder = { probability = 1.5 }", "at most 1"),
        ("reorder = { probability = 0.1 }\ndelay = \"0s\"", "no table where the delay is 0s"),
        ("reorder = { probability = 0.1 }\narq = \"go-back-n\"", "false with `arq`"),
        ("reorder = { probability = 0.1 }\nheader_compression = \"rohc\"", "false with `header"),
        ("duplicate = 2", "from 0 to 1"),
        ("duplicate = { probability = 0.1, correlation = 1 }", "below 1"),
        ("duplicate = 0.1\narq = \"go-back-n\"", "0 with `arq`"),
        ("duplicate = 0.1\nfec = \"reed-solomon\"", "0 with `fec`"),
        ("duplicate = 0.1\nqueue = { packets = 9, low_priority = \"push-out\" }", "no duplicate"),
    ] {
        let keys = keys.replace("delay = \"0s\"", "forward.delay = \"0s\"");
        let errors = refused(&keys);
        assert!(errors.contains(expected), "{keys}: {errors}");
        assert!(errors.starts_with("impaired.toml:"), "{errors}");
    }
}

#[test]
fn reordering_and_duplication_are_explained_with_their_shares() {
    assert_eq!(
        explained("reorder = { probability = 0.2, gap = 5 }", "reorder"),
        [
            "20 % at once",
            "share: 11.111 % of the packets are sent at once and overtake those that take the delay of 300ms",
            "probability: 20 %",
            "correlation: 0 of the random numbers",
            "gap: at most one of 5 packets",
        ]
    );
    assert_eq!(explained("", "duplicate"), ["none"]);
    let found = explained("duplicate = { probability = 0.1, correlation = 0.25 }", "duplicate");
    assert_eq!(found[0], "10 %");
    assert!(
        found[1].starts_with("share: 1.75 %") && found[1].ends_with("arrive do so twice"),
        "{found:?}"
    );
    assert_eq!(
        found[3],
        "correlation: 0.25 of the random numbers, which makes the share another than 10 %"
    );
}

#[test]
fn losses_with_a_correlation_are_explained_with_their_share() {
    let channel = |keys: &str| loaded(keys).scenario.links[0].forward.channel.clone();
    assert_eq!(
        channel("channel = { per = 0.02, correlation = 0 }"),
        Channel::PacketErrors { per: 0.02 }
    );
    let Channel::Correlated(errors) = channel("channel = { per = 0.02, correlation = 0.25 }")
    else {
        panic!("another channel")
    };
    assert_eq!((errors.per, errors.correlation), (0.02, 0.25));
    assert!((errors.mean_loss / 5.71e-5 - 1.0).abs() < 0.01, "{}", errors.mean_loss);
    let found = explained("channel = { per = 0.3, correlation = 0.5 }", "channel");
    assert_eq!(
        found,
        [
            "correlated, loses 12.943 %",
            "mean_loss: 12.943 % of the packets",
            "per: 30 %",
            "correlation: 0.5 of the random numbers, which makes the share another than 30 %",
        ]
    );
    for (keys, expected) in [
        (
            "channel = { per = 0.02, correlation = 0.25 }",
            "5.71e-3 % and not 2 % of the packets are lost",
        ),
        (
            "duplicate = { probability = 0.1, correlation = 0.25 }",
            "1.75 % and not 10 % of the packets arrive twice",
        ),
        (
            "reorder = { probability = 0.1, correlation = 0.25 }",
            "1.75 % and not 10 % of the packets are sent at once",
        ),
    ] {
        let loaded = loaded(keys);
        let found = explain(&loaded.scenario, &loaded.written).warnings;
        assert!(found.iter().any(|one| one.message.contains(expected)), "{keys}: {found:?}");
    }
    let loaded = loaded("channel = { per = 0.5, correlation = 0.25 }");
    let found = explain(&loaded.scenario, &loaded.written).warnings;
    assert!(found.iter().all(|one| !one.message.contains("correlation")), "{found:?}");
    assert!(refused("channel = { per = 0.1, correlation = 1 }").contains("below 1"));
    assert!(refused("channel = { correlation = 0.1 }").contains("per"));
}

#[test]
fn slots_have_delays_and_limits() {
    let slots = |keys: &str| loaded(keys).scenario.links[0].forward.slots;
    assert_eq!(slots(""), None);
    let [least, most] = [20, 30].map(Span::from_millis);
    let plain = Slots { min_delay: least, max_delay: least, packets: None, bytes: None };
    assert_eq!(slots("slot = { min_delay = \"20ms\" }"), Some(plain));
    let all = "slot = { min_delay = \"20ms\", max_delay = \"30ms\", packets = 4, bytes = \"6kB\" }";
    let limited = Slots { max_delay: most, packets: Some(4), bytes: Some(6000), ..plain };
    assert_eq!(slots(all), Some(limited));
    for (keys, expected) in [
        ("slot = { packets = 4 }", "min_delay"),
        ("slot = { min_delay = \"0s\" }", "1ns"),
        ("slot = { min_delay = \"2ms\", max_delay = \"1ms\" }", "at least the `min_delay` of 2ms"),
        ("slot = { min_delay = \"2ms\", packets = 0 }", "at least 1"),
        (
            "slot = { min_delay = \"2ms\" }\njitter = { variation = \"1ms\", reorder = true }",
            "no slot where packets overtake",
        ),
        ("slot = { min_delay = \"2ms\" }\narq = \"go-back-n\"", "no slot with `arq`"),
        ("slot = { min_delay = \"2ms\" }\nreorder = { probability = 0.1 }", "no slot where"),
    ] {
        let errors = refused(keys);
        assert!(errors.contains(expected), "{keys}: {errors}");
    }
    assert_eq!(
        explained("slot = { min_delay = \"20ms\", max_delay = \"30ms\", packets = 4 }", "slot"),
        [
            "20ms to 30ms",
            "delay: 20ms to 30ms until a slot opens, 25ms on average",
            "packets: 4 in a slot",
            "rate: 1.92Mbit/s",
        ]
    );
}
