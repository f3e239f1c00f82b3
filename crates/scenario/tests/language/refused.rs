//! Scenarios that are refused, and the messages, which the snapshots have as a user reads them.

use std::fmt::Write;

use congestion::Controller as _;
use language::Errors;

use scenario::Scenario;

/// The list of all controllers as one word, so that a new controller changes no snapshot. Names
/// without a table end with `"none"`.
fn without_controllers(found: &str) -> String {
    let mut names: Vec<_> =
        congestion::entries().map(|entry| format!("{:?}", entry.name)).collect();
    let without_none = names.clone();
    names.push("\"none\"".to_owned());
    [names, without_none].iter().fold(found.to_owned(), |found, names| {
        let Some((last, others)) = names.split_last() else { return found };
        found.replace(&format!("{} or {last}", others.join(", ")), "(every controller)")
    })
}

/// A scenario without fault, in which each test breaks something.
const SOUND: &str = r#"duration = "100s"

[[node]]
name = "gateway"
forwarding = { rate = "1Mbit/s", buffer = "3000B" }

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"

[[link]]
between = ["gateway", "client"]
delay = "250ms"
forward = { rate = "2Mbit/s", queue = { packets = 64 } }
backward = { rate = "256kbit/s" }
channel = { ber = 1e-7 }

[[flow]]
from = "server"
to = "client"
controller = { name = "adalr", rwnd = "off" }
transport = { receive_buffer = "64KiB", delayed_ack = "200ms" }
traffic = { download = "50MB" }
"#;

/// The errors of the sound scenario with each `(old, new)` put in.
fn errors(edits: &[(&str, &str)]) -> Errors {
    let mut text = SOUND.to_owned();
    for (old, new) in edits {
        assert!(text.contains(old), "{old:?} is not in the scenario");
        text = text.replace(old, new);
    }
    match Scenario::parse(&text, "geo.toml", &[]) {
        Ok(_) => panic!("this was accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// Each fault makes exactly one error, at its path. Returns the messages.
pub(super) fn faults(cases: &[(&str, &str, &str, &str)]) -> String {
    let mut all = String::new();
    for (what, old, new, path) in cases {
        let found = errors(&[(old, new)]);
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [*path], "{what}:\n{found}");
        writeln!(all, "# {what}\n{found}\n").unwrap();
    }
    all
}

/// Path and text of the one error that a controller makes.
fn error_of(controller: &str) -> (String, String) {
    let found = errors(&[("{ name = \"adalr\", rwnd = \"off\" }", controller)]);
    let [error] = &found.0[..] else { panic!("{found}") };
    (error.path.to_string(), found.to_string())
}

#[test]
fn a_parameter_above_its_bound_is_refused_where_it_is_written() {
    for (controller, place, expected) in [
        ("{ name = \"bic\", s_min = 40 }", "s_min", "at most s_max, 32"),
        ("{ name = \"bic\", s_max = 2, s_min = 3 }", "s_min", "at most s_max, 2"),
        ("{ name = \"vegas\", alpha = 5 }", "alpha", "at most beta, 3"),
        ("{ name = \"vegas\", beta = 0.5 }", "beta", "at least alpha, 1"),
        ("{ name = \"new-vegas\", alpha = 5, beta = 4 }", "alpha", "at most beta, 4"),
    ] {
        let (path, text) = error_of(controller);
        assert_eq!(path, format!("flow[0].controller.{place}"));
        assert!(text.contains(expected), "{controller}: {text}");
        assert!(text.contains("geo.toml:22"), "{text}");
    }
}

#[test]
fn ecn_cannot_be_off_for_a_controller_that_needs_marks() {
    for entry in congestion::entries() {
        let text = super::over_a_link("1Mbit/s", "20ms", "")
            .replace("\"reno\"", &format!("{:?}", entry.name));
        let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap();
        let flow = &scenario.flows[0];
        let marks = flow.controller.build(&flow.transport.plan().controller()).needs().marks;
        let off =
            Scenario::parse(&format!("{text}transport = {{ ecn = false }}"), "test.toml", &[]);
        assert_eq!(off.is_err(), marks != congestion::Ecn::Off, "{}", entry.name);
        if let Err(errors) = off {
            let errors = errors.to_string();
            assert!(errors.contains("test.toml:13"), "{errors}");
            assert!(errors.contains(&format!("{} needs marks", entry.name)), "{errors}");
        }
    }
}

#[test]
fn a_parameter_without_an_effect_is_refused() {
    let (path, text) = error_of("{ alpha = 1, name = \"vegas\", variant = \"linux\" }");
    assert_eq!(path, "flow[0].controller.alpha");
    assert!(text.contains("variant = \"linux\""), "{text}");
    for name in ["cubic", "newreno"] {
        let (path, text) = error_of(&format!("{{ name = {name:?}, abe = \"on\" }}"));
        assert_eq!(path, "flow[0].controller.abe");
        assert!(text.contains("transport.ecn"), "{text}");
    }
}

#[test]
fn the_scenario_that_the_tests_break_is_sound() {
    Scenario::parse(SOUND, "geo.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn names_that_nobody_knows() {
    let found = faults(&[
        ("unknown key at the top", "duration =", "durration =", "durration"),
        ("unknown table", "[[node]]", "[[nodes]]", "nodes"),
        ("unknown key of a link", "rate = \"10M", "rat = \"10M", "link[0].rat"),
        ("unknown key of a direction", "queue =", "que =", "link[1].forward.que"),
        ("unknown kind of queue", "packets", "packet", "link[1].forward.queue"),
        ("unknown kind of channel", "ber", "snr", "link[1].channel"),
        (
            "key of the wrong channel",
            "ber = 1e-7",
            "per = 0.1, ecc_threshold = 0.1",
            "link[1].channel.ecc_threshold",
        ),
        ("key of another table", "from =", "mss = 1400\nfrom =", "flow[0].mss"),
        ("key that is nowhere", "from =", "colour = 1\nfrom =", "flow[0].colour"),
        ("unknown TCP setting", "delayed_ack", "delay_ack", "flow[0].transport.delay_ack"),
        ("unknown controller", "adalr", "adlar", "flow[0].controller.name"),
        (
            "controller that does not exist",
            "{ name = \"adalr\", rwnd = \"off\" }",
            "\"cubik\"",
            "flow[0].controller",
        ),
        ("unknown parameter", "rwnd", "rwind", "flow[0].controller.rwind"),
        ("unknown word of a parameter", "\"off\"", "\"of\"", "flow[0].controller.rwnd"),
        ("controller without name", "name = \"adalr\",", "", "flow[0].controller.name"),
        (
            "unknown recovery",
            "delayed_ack",
            "recovery = \"sak\", delayed_ack",
            "flow[0].transport.recovery",
        ),
        ("unknown sender", "from = \"server\"", "from = \"sever\"", "flow[0].from"),
        ("unknown receiver", "to = \"client\"", "to = \"moon\"", "flow[0].to"),
        ("unknown traffic", "download", "upload", "flow[0].traffic"),
        ("unknown key in record", "[[node]]", "[record]\nevent = true\n[[node]]", "record.event"),
    ]);
    insta::assert_snapshot!(without_controllers(&found));
}

/// Replacements in the text, each with the path of the fault.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("ambiguous unit", "10Mbit/s", "10mbps", "link[0].rate"),
    ("unit of another quantity", "\"10ms\"", "\"10MB\"", "link[0].delay"),
    ("no unit", "\"10ms\"", "\"10\"", "link[0].delay"),
    ("no text", "\"10ms\"", "10", "link[0].delay"),
    ("negative rate", "10Mbit/s", "-10Mbit/s", "link[0].rate"),
    ("rate of zero", "10Mbit/s", "0Mbit/s", "link[0].rate"),
    ("no rate", "rate = \"10Mbit/s\"\n", "", "link[0].rate"),
    (
        "no rate in one direction",
        "backward = { rate = \"256kbit/s\" }",
        "",
        "link[1].backward.rate",
    ),
    ("no delay", "delay = \"250ms\"\n", "", "link[1].delay"),
    (
        "saved window of zero",
        "delayed_ack",
        "careful_resume = { saved_cwnd = \"0B\", saved_rtt = \"600ms\" }, delayed_ack",
        "flow[0].transport.careful_resume.saved_cwnd",
    ),
    (
        "saved window without its RTT",
        "delayed_ack",
        "careful_resume = { saved_cwnd = \"1MB\" }, delayed_ack",
        "flow[0].transport.careful_resume.saved_rtt",
    ),
    ("queue of zero packets", "packets = 64", "packets = 0", "link[1].forward.queue.packets"),
    ("queue of zero bytes", "packets = 64", "bytes = \"0B\"", "link[1].forward.queue.bytes"),
    (
        "queue in packets and bytes",
        "packets = 64",
        "packets = 64, bytes = \"1kB\"",
        "link[1].forward.queue",
    ),
    (
        "unknown rule for low priority",
        "packets = 64",
        "packets = 64, low_priority = \"pushout\"",
        "link[1].forward.queue.low_priority",
    ),
    ("queue as a number", "{ packets = 64 }", "64", "link[1].forward.queue"),
    ("BER above one", "1e-7", "1.5", "link[1].channel.ber"),
    ("BER below zero", "1e-7", "-1e-7", "link[1].channel.ber"),
    ("BER that is no number", "1e-7", "nan", "link[1].channel.ber"),
    ("PER above one", "ber = 1e-7", "per = 2", "link[1].channel.per"),
    (
        "correction of every bit",
        "1e-7",
        "1e-7, ecc_threshold = 1.0",
        "link[1].channel.ecc_threshold",
    ),
    ("rate beyond the clock", "10Mbit/s", "20000Gbit/s", "link[0].rate"),
    (
        "overhead beyond 32 bits",
        "rate = \"10M",
        "overhead = \"4GiB\"\nrate = \"10M",
        "link[0].overhead",
    ),
    ("run beyond the clock", "100s", "90000h", "duration"),
    (
        "page that fills the memory",
        "download = \"50MB\"",
        "web = { embedded_objects = 4294967295 }",
        "flow[0].traffic.web.embedded_objects",
    ),
    ("negative seed", "duration =", "seed = -1\nduration =", "seed"),
    ("duration of zero", "100s", "0s", "duration"),
    ("no flow at all", "from =", "count = 0\nfrom =", "flow[0].count"),
    ("fraction of a flow", "from =", "count = 1.5\nfrom =", "flow[0].count"),
    ("two kinds of traffic", "download =", "bulk = \"unlimited\", download =", "flow[0].traffic"),
    (
        "stop before the start",
        "from =",
        "start = \"2s\"\nstop = \"1500ms\"\nfrom =",
        "flow[0].stop",
    ),
    ("stop at the start", "from =", "stop = \"0s\"\nfrom =", "flow[0].stop"),
    (
        "stop at the start of the last copy",
        "from =",
        "count = 2\nspread = \"2s\"\nstop = \"1s\"\nfrom =",
        "flow[0].stop",
    ),
    ("stop without a unit", "from =", "stop = 500\nfrom =", "flow[0].stop"),
    ("empty download", "50MB", "0B", "flow[0].traffic.download"),
    (
        "source of no rate",
        "download = \"50MB\"",
        "constant = { rate = \"0bit/s\" }",
        "flow[0].traffic.constant.rate",
    ),
    (
        "source without a rate",
        "download = \"50MB\"",
        "constant = { message = \"1kB\" }",
        "flow[0].traffic.constant.rate",
    ),
    (
        "empty message",
        "download = \"50MB\"",
        "constant = { rate = \"1kbit/s\", message = \"0B\" }",
        "flow[0].traffic.constant.message",
    ),
    (
        "bursts of no length",
        "download = \"50MB\"",
        "on_off = { rate = \"1Mbit/s\", on = \"0s\", off = \"1s\" }",
        "flow[0].traffic.on_off.on",
    ),
    (
        "bursts without silences",
        "download = \"50MB\"",
        "on_off = { rate = \"1Mbit/s\", on = \"1s\", off = \"0s\" }",
        "flow[0].traffic.on_off.off",
    ),
    (
        "unknown distribution",
        "download = \"50MB\"",
        "on_off = { rate = \"1Mbit/s\", on = \"1s\", off = \"1s\", distribution = \"paretto\" }",
        "flow[0].traffic.on_off.distribution",
    ),
    (
        "Pareto without a mean",
        "download = \"50MB\"",
        "on_off = { rate = \"1Mbit/s\", on = \"1s\", off = \"1s\", distribution = \"pareto\", shape = 1.0 }",
        "flow[0].traffic.on_off.shape",
    ),
    (
        "shape of no Pareto distribution",
        "download = \"50MB\"",
        "on_off = { rate = \"1Mbit/s\", on = \"1s\", off = \"1s\", shape = 1.5 }",
        "flow[0].traffic.on_off.shape",
    ),
    (
        "unknown key of bursts",
        "download = \"50MB\"",
        "on_off = { rate = \"1Mbit/s\", on = \"1s\", of = \"1s\", off = \"1s\" }",
        "flow[0].traffic.on_off.of",
    ),
    ("memory of zero", "3000B", "0B", "node[0].forwarding.buffer"),
    ("router without buffer", ", buffer = \"3000B\"", "", "node[0].forwarding.buffer"),
    ("date", "\"100s\"", "2026-01-01", "duration"),
    ("version of IP", "duration =", "ip = \"ipv5\"\nduration =", "ip"),
    ("number for IP", "duration =", "ip = 6\nduration =", "ip"),
    ("name for a file", "duration =", "name = \"a/b\"\nduration =", "name"),
];

#[test]
fn values_that_cannot_be() {
    let found = faults(VALUES);
    insta::assert_snapshot!(without_controllers(&found));
}

#[test]
fn graphs_that_cannot_carry_the_flows() {
    let found = faults(&[
        (
            "link to itself",
            "[\"gateway\", \"client\"]",
            "[\"client\", \"client\"]",
            "link[1].between",
        ),
        (
            "same link twice",
            "[[flow]]",
            "[[link]]\nbetween = [\"client\", \"gateway\"]\nrate = \"1Mbit/s\"\ndelay = \"0s\"\n[[flow]]",
            "link[2].between",
        ),
        (
            "three nodes",
            "\"gateway\", \"client\"]",
            "\"gateway\", \"client\", \"moon\"]",
            "link[1].between",
        ),
        ("node without a link", "name = \"gateway\"", "name = \"gatway\"", "node[0].name"),
        (
            "node twice",
            "[[link]]\nbetween = [\"s",
            "[[node]]\nname = \"gateway\"\n[[link]]\nbetween = [\"s",
            "node[1].name",
        ),
        ("flow to its own node", "to = \"client\"", "to = \"server\"", "flow[0].to"),
        (
            "unreachable node",
            "[[flow]]\nfrom = \"server\"\nto = \"client\"",
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\ndelay = \"0s\"\n\
             [[flow]]\nfrom = \"server\"\nto = \"b\"",
            "flow[0].to",
        ),
        ("memory below a packet", "3000B", "1499B", "node[0].forwarding.buffer"),
        ("single brackets", "[[flow]]", "[flow]", "flow"),
    ]);
    insta::assert_snapshot!(without_controllers(&found));
}

#[test]
fn transports_that_cannot_work() {
    let setting = |new: &'static str| ("delayed_ack = \"200ms\"", new);
    let cases = [
        ("window without scaling", setting("window_scaling = false"), "receive_buffer"),
        ("initial RTO of zero", setting("rto.initial = \"0s\""), "rto.initial"),
        ("lowest RTO of zero", setting("rto.min = \"0s\""), "rto.min"),
        ("unknown estimator", setting("rto.estimator = \"linus\""), "rto.estimator"),
        ("unknown pacing", setting("pacing = \"linus\""), "pacing"),
        ("RTO bounds", setting("rto = { min = \"2s\", max = \"1s\" }"), "rto.min"),
        ("gain above one", setting("rto.alpha = 1.5"), "rto.alpha"),
        ("gain of zero", setting("rto.beta = 0"), "rto.beta"),
        ("MSS too small", setting("mss = 63"), "mss"),
        ("MSS too large", setting("mss = 65496"), "mss"),
        ("never retransmit", setting("max_retries = 0"), "max_retries"),
        ("no idle time", setting("keep_alive.idle = \"0s\""), "keep_alive.idle"),
        ("probes too often", setting("keep_alive.interval = \"500ms\""), "keep_alive.interval"),
        ("too many probes", setting("keep_alive.probes = 128"), "keep_alive.probes"),
        ("keep-alive as a switch", setting("keep_alive = true"), "keep_alive"),
        ("no patience at all", setting("user_timeout = \"0s\""), "user_timeout"),
        ("ACK of zero segments", setting("delayed_ack.segments = 0"), "delayed_ack.segments"),
        ("send buffer below a segment", setting("send_buffer = \"1000B\""), "send_buffer"),
        ("word for a switch", setting("nagle = \"on\""), "nagle"),
        ("sequence number", setting("initial_sequence = 4294967296"), "initial_sequence"),
    ];
    let paths: Vec<_> =
        cases.iter().map(|(_, _, path)| format!("flow[0].transport.{path}")).collect();
    let mut all: Vec<_> = cases
        .iter()
        .zip(&paths)
        .map(|((what, (old, new), _), path)| (*what, *old, *new, path.as_str()))
        .collect();
    let buffer = "flow[0].transport.receive_buffer";
    all.push(("window beyond scaling", "64KiB", "2GiB", buffer));
    all.push(("buffer below a segment", "64KiB", "1000B", buffer));
    let found = faults(&all);
    insta::assert_snapshot!(without_controllers(&found));
}

#[test]
fn segments_that_fit_a_packet_of_ipv4_and_none_of_ipv6_are_refused() {
    // A router has to hold one packet.
    let memory = ("3000B", "66000B");
    let with = |mss: &'static str| [memory, ("delayed_ack = \"200ms\"", mss)];
    let ipv6 = ("duration =", "ip = \"ipv6\"\nduration =");
    let largest = with("mss = 65475").into_iter().chain([ipv6]);
    let text = largest.fold(SOUND.to_owned(), |text, (old, new)| text.replace(old, new));
    let scenario = Scenario::parse(&text, "geo.toml", &[]).unwrap();
    assert_eq!(scenario.packet_bytes(&scenario.flows[0]), 65_535);
    let [memory, mss] = with("mss = 65476");
    let found = errors(&[memory, mss, ipv6]);
    assert_eq!(found.0[0].path, "flow[0].transport.mss");
    let words = "expected at most 65475 with this `ip`, found 65476";
    assert!(found.to_string().contains(words), "{found}");
}

#[test]
fn a_default_that_breaks_a_rule_is_called_a_default() {
    let found = errors(&[("receive_buffer = \"64KiB\"", "window_scaling = false")]).to_string();
    assert!(found.contains("found the default \"4MiB\""), "{found}");
}

#[test]
fn texts_that_are_no_scenario() {
    let empty = |text: &str| Scenario::parse(text, "geo.toml", &[]).unwrap_err().to_string();
    let cases = [
        ("nothing", empty("")),
        ("empty lists", empty("link = []\nflow = []")),
        ("unclosed text", empty("name = \"geo\nseed = 1\n")),
        ("key twice", empty("seed = 1\nseed = 2\n")),
        ("no file", Scenario::load("nowhere/geo.toml", &[]).unwrap_err().to_string()),
    ];
    let all = cases.map(|(what, error)| format!("# {what}\n{error}\n"));
    let found = all.join("\n");
    insta::assert_snapshot!(without_controllers(&found));
}

#[test]
fn two_flows_of_one_name_are_refused() {
    let twin = "[[flow]]\nname = \"a\"\nfrom = \"server\"\nto = \"client\"\n\
                controller = \"reno\"\ntraffic = { bulk = \"1MB\" }\n";
    let text = SOUND.replace("[[flow]]\n", &format!("{twin}[[flow]]\nname = \"a\"\n"));
    let errors = Scenario::parse(&text, "geo.toml", &[]).unwrap_err();
    assert_eq!(errors.0[0].path, "flow[1].name");
    assert!(errors.to_string().contains("\"a\" as in flow[0]"), "{errors}");
}

#[test]
fn all_errors_are_told_at_once_in_the_order_of_the_file() {
    let found = errors(&[("10Mbit/s", "fast"), ("64 }", "0 }"), ("adalr", "adlar")]);
    let lines: Vec<_> = found.0.iter().map(|error| error.place.line).collect();
    assert_eq!(lines, [Some(9), Some(15), Some(22)]);
    insta::assert_snapshot!(without_controllers(&found.to_string()));
}

#[test]
fn a_program_gets_the_same_errors_without_lines() {
    let json = serde_json::json!({
        "link": [{ "between": ["a", "b"], "rate": "2mbps", "delay": "10ms" }],
        "flow": [{ "from": "a", "to": "b", "controller": "reno", "traffic": { "bulk": "1MB" } }],
    });
    let errors = Scenario::from_json(&json, &[]).unwrap_err();
    assert!(errors.to_string().starts_with("link[0].rate: expected a data rate"), "{errors}");
    assert_eq!((errors.0[0].place.line, &errors.0[0].place.file), (None, &None));
}

/// The error of the sound scenario with this override.
fn set(text: &str) -> String {
    let sets = match text.parse::<scenario::Override>() {
        Ok(set) => vec![set],
        Err(error) => return error.to_string(),
    };
    match Scenario::parse(SOUND, "geo.toml", &sets) {
        Ok(_) => panic!("--set {text} was accepted"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn overrides_that_change_nothing_or_break_something() {
    let cases = [
        "link.1.forwrd.rate=1Mbit/s",
        "lnk.1.rate=1Mbit/s",
        "link.7.rate=1Mbit/s",
        "link.last.rate=1Mbit/s",
        "link.rate=1Mbit/s",
        "link.1.rate=1Mbit/s",
        "link.0.rate=1mbps",
        "link.0.rate=0bit/s",
        "flow.0.controller=cubik",
        "flow.*.transport.mss=10",
        "flow.0.transport.delayed_ack.segments=1",
        "flow.0.traffic.bulk=unlimited",
        "flow.0.to=moon",
        "seed.x=1",
        "link.0.rate.x=1",
        "name.x=1",
        "seed",
        "=1",
        "",
    ];
    let found: String = cases.map(|case| format!("{}\n\n", set(case))).concat();
    insta::assert_snapshot!(without_controllers(&found));
}

/// A network whose nodes and ports would not fit their numbers, and those that just fit.
#[test]
fn there_are_at_most_so_many_nodes_and_links() {
    let chain = |links: usize, nodes: usize| {
        let rounds =
            (1..nodes).flat_map(|hop| (0..nodes - hop).map(move |from| (from, from + hop)));
        let ends = rounds.take(links).map(|(a, b)| {
            format!("{{ between = [\"n{a}\", \"n{b}\"], rate = \"1Mbit/s\", delay = \"1ms\" }}")
        });
        let links = ends.collect::<Vec<_>>().join(", ");
        format!(
            "link = [{links}]\n[[flow]]\nfrom = \"n0\"\nto = \"n1\"\ntraffic = {{ download = \"1kB\" }}\ncontroller = \"reno\"\n"
        )
    };
    let refused = |links: usize, nodes: usize| {
        let errors = Scenario::parse(&chain(links, nodes), "large.toml", &[]).unwrap_err();
        errors
            .0
            .iter()
            .map(|error| (error.path.clone(), error.expected.clone()))
            .collect::<Vec<_>>()
    };
    let at_most = |most: &str| vec![("link".to_owned(), format!("at most {most}"))];
    assert_eq!(refused(8193, 130), at_most("8192 links"));
    assert_eq!(refused(4096, 4097), at_most("4096 nodes"));
    assert!(Scenario::parse(&chain(8192, 130), "large.toml", &[]).is_ok());
}

/// Small numbers that would take all memory, or in whose runs time stands still. Before, all of
/// them ran.
#[test]
fn numbers_that_would_never_end() {
    let record = |interval: &str| format!("[record]\ninterval = \"{interval}\"\n\n[[node]]");
    let traffic = "download = \"50MB\"";
    let on_off = |rest: &str| format!("on_off = {{ rate = \"1Mbit/s\", {rest} }}");
    let found = faults(&[
        ("samples each nanosecond", "[[node]]", &record("1ns"), "record.interval"),
        ("more rows than a table has", "[[node]]", &record("19us"), "record.interval"),
        (
            "pages with more objects than a table has rows",
            traffic,
            "web = { embedded_objects = 100000, interval = \"1ms\" } }\ncount = 3 #",
            "flow[0].traffic.web",
        ),
        (
            "bytes one by one",
            traffic,
            "constant = { rate = \"320Gbit/s\", message = \"1B\" }",
            "flow[0].traffic.constant.message",
        ),
        (
            "bursts of no length",
            traffic,
            &on_off("on = \"1ms\", off = \"1ms\", distribution = \"pareto\", shape = 1.000001"),
            "flow[0].traffic.on_off.shape",
        ),
        (
            "bursts of a nanosecond",
            traffic,
            &on_off("on = \"1ns\", off = \"2ns\""),
            "flow[0].traffic.on_off.on",
        ),
        ("more flows than there is memory", "from =", "count = 100001\nfrom =", "flow[0].count"),
    ]);
    insta::assert_snapshot!(found);
}

#[test]
fn small_numbers_that_end_are_accepted() {
    for (old, new) in [
        ("[[node]]", "[record]\ninterval = \"26us\"\n[[node]]"),
        ("download = \"50MB\"", "web = { embedded_objects = 100000, interval = \"1s\" }"),
        ("download = \"50MB\"", "constant = { rate = \"80Mbit/s\", message = \"1B\" }"),
        ("download = \"50MB\"", "on_off = { rate = \"1kbit/s\", on = \"1us\", off = \"1ns\" }"),
    ] {
        let text = SOUND.replace(old, new);
        Scenario::parse(&text, "geo.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    }
}
