//! Queues in time and in bandwidth-delay products.

use explain::explain;
use scenario::Loaded;
use scenario::model::QueueLimit;

/// Two links in a row, the second one with these keys, and a flow over both in the direction of
/// data.
fn load(keys: &str, flows: &str) -> Result<Loaded, language::Errors> {
    let text = format!(
        "[[link]]\nbetween = [\"a\", \"m\"]\nrate = \"1Gbit/s\"\ndelay = \"20ms\"\n\
         [[link]]\nbetween = [\"m\", \"b\"]\nrate = \"8Mbit/s\"\ndelay = \"280ms\"\n{keys}\n{flows}"
    );
    Loaded::parse(&text, "queues.toml", &[])
}

const FLOW: &str = "[[flow]]\nfrom = \"a\"\nto = \"b\"\ncontroller = \"reno\"\n\
                    traffic = { bulk = \"unlimited\" }\n";

/// Limits of both directions of the second link, in bytes.
fn limits(keys: &str, flows: &str) -> [u64; 2] {
    let loaded = load(keys, flows).unwrap_or_else(|errors| panic!("{errors}"));
    let link = &loaded.scenario.links[1];
    [&link.forward, &link.backward].map(|side| match side.queue {
        QueueLimit::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_time_counts_at_the_rate_of_the_direction() {
    let keys = "queue = { time = \"400ms\" }\nbackward = { rate = \"1Mbit/s\" }";
    assert_eq!(limits(keys, FLOW), [400_000, 50_000]);
    let trace = "forward.trace = \"none.csv\"";
    assert!(load(&format!("queue = {{ time = \"1s\" }}\n{trace}"), FLOW).is_err());
}

/// 8 Mbit/s and 600 ms are 600 kB. The ACKs of the flow take the other direction, whose round trip
/// is the same.
#[test]
fn bandwidth_delay_products_have_the_longest_round_trip_of_the_flows() {
    assert_eq!(limits("queue = { bdp = 1 }", FLOW), [600_000, 600_000]);
    let short = "[[flow]]\nfrom = \"m\"\nto = \"b\"\ncontroller = \"reno\"\n\
                 traffic = { bulk = \"unlimited\" }\n";
    assert_eq!(limits("queue = { bdp = 0.5 }", short)[0], 280_000);
    assert_eq!(limits("queue = { bdp = 0.5 }", &format!("{short}{FLOW}"))[0], 300_000);
}

/// A gateway splits the flow, so that the connection over the second link has 560 ms.
#[test]
fn a_leg_between_gateways_has_its_own_round_trip() {
    let proxy = "[[node]]\nname = \"m\"\nproxy = \"pepsal\"\n";
    assert_eq!(limits("queue = { bdp = 1 }", &format!("{proxy}{FLOW}"))[0], 560_000);
}

#[test]
fn the_explanation_has_the_bytes_and_what_was_written() {
    let loaded =
        load("queue = { bdp = 0.5 }\nbackward.queue = { time = \"100ms\" }", FLOW).unwrap();
    let links = explain(&loaded.scenario, &loaded.written).links;
    let queue = |link: usize| {
        links[link].settings.iter().find(|one| one.name == "queue").unwrap().text.clone()
    };
    assert_eq!(queue(2), "300kB, 0.5 BDP");
    assert_eq!(queue(3), "100kB, 100ms");
}

#[test]
fn what_cannot_be_a_limit_is_answered() {
    let cases = [
        ("queue = { bdp = 0 }", FLOW, "above 0"),
        ("queue = { bdp = 1, packets = 5 }", FLOW, "`packets`"),
        ("queue = { time = \"0s\" }", FLOW, "1us"),
        ("queue = { time = 400 }", FLOW, "400"),
        ("queue = { bpd = 1 }", FLOW, "bdp"),
    ];
    for (keys, flows, expected) in cases {
        let Err(errors) = load(keys, flows) else { panic!("{keys}") };
        assert!(errors.to_string().contains(expected), "{keys}: {errors}");
    }
    let aside = "[[flow]]\nfrom = \"a\"\nto = \"m\"\ncontroller = \"reno\"\n\
                 traffic = { bulk = \"unlimited\" }\n";
    let Err(errors) = load("forward.queue = { bdp = 1 }", aside) else { panic!("nothing crosses") };
    assert_eq!(errors.0[0].path, "link[1].forward.queue", "{errors}");
}
