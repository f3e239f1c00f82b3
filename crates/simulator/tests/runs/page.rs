//! Pages as browsers load them: round trips on the critical path, connections, priorities.

use recording::{Recording, Values};

use crate::{run, run_with_seed};

/// A round trip of the path below in seconds.
const ROUND_TRIP_S: f64 = 0.6;

/// A path without queues whose packets take no time but the delay, and a page.
fn scenario(transport: &str, page: &str) -> String {
    format!(
        r#"duration = "60s"
[[node]]
name = "server"
[[node]]
name = "browser"
[[link]]
between = ["server", "browser"]
rate = "320Gbit/s"
delay = "300ms"
queue = "unlimited"
[[flow]]
from = "server"
to = "browser"
controller = "cubic"
transport = {{ {transport} }}
traffic = {{ page = {{ {page} }} }}
"#
    )
}

/// One object, and one after it.
const ONE: &str = r#"objects = [{ name = "index", bytes = "1kB" }]"#;
const TWO: &str =
    r#"objects = [{ name = "index", bytes = "1kB" }, { name = "image", bytes = "1kB" }]"#;
const THREE: &str = r#"objects = [{ name = "index", bytes = "1kB" }, { name = "image", bytes = "1kB", count = 2 }]"#;

/// A resolver behind the path.
const REMOTE: &str = "resolver = \"remote\"";

/// A number of the only row of a table.
fn number(recording: &Recording, table: &str, column: &str) -> f64 {
    numbers(recording, table, column)[0]
}

fn numbers(recording: &Recording, table: &str, column: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::F64(numbers) => numbers.to_vec(),
        Values::U32(numbers) => numbers.iter().map(|number| f64::from(*number)).collect(),
        other => panic!("{column} has no numbers: {other:?}"),
    }
}

const PARTS: [&str; 9] = [
    "dns_s",
    "connect_s",
    "tls_s",
    "queue_s",
    "round_trip_s",
    "server_s",
    "transfer_s",
    "compute_s",
    "delay_s",
];

#[test]
fn loads_take_the_round_trips_of_their_critical_path_to_the_microsecond() {
    let quic = "protocol = \"quic\"";
    let early = "protocol = \"quic\", quic = { zero_rtt = true }";
    // Transport, keys, round trips of which of connections and handshakes, and other seconds.
    let cases = [
        ("", format!("{ONE}, http = \"1.1\", tls = \"off\""), 2, 0.0),
        ("", format!("{ONE}, http = \"2\", tls = \"off\""), 2, 0.0),
        ("", format!("{ONE}, http = \"1.1\""), 3, 0.0),
        ("", ONE.to_owned(), 3, 0.0),
        ("", format!("{ONE}, tls = \"1.2\""), 4, 0.0),
        ("", format!("{ONE}, tls = \"1.2\", resumption = \"session\""), 3, 0.0),
        ("", format!("{ONE}, resumption = \"session\""), 3, 0.0),
        ("", format!("{ONE}, resumption = \"early-data\""), 2, 0.0),
        (quic, ONE.to_owned(), 2, 0.0),
        (early, ONE.to_owned(), 1, 0.0),
        (early, TWO.to_owned(), 2, 0.0),
        (quic, format!("{TWO}, dns = \"30ms\""), 3, 0.03),
        ("", format!("{TWO}, http = \"1.1\", tls = \"1.2\", dns = \"30ms\""), 5, 0.03),
        ("", format!("{TWO}, http = \"2\", tls = \"1.2\""), 5, 0.0),
        ("", format!("{TWO}, http = \"2\""), 4, 0.0),
        ("", format!("{ONE}, http = \"1.1\", tls = \"off\", {REMOTE}"), 3, 0.0),
        ("", format!("{TWO}, http = \"2\", {REMOTE}, dns = \"30ms\""), 5, 0.03),
        (quic, format!("{TWO}, {REMOTE}, dns = \"30ms\""), 4, 0.03),
        ("protocol = \"scps-tp\"", format!("{ONE}, tls = \"off\", {REMOTE}"), 3, 0.0),
    ];
    for (transport, page, round_trips, seconds) in cases {
        let recording = run(&scenario(transport, &page));
        let name = format!("{transport} {page}");
        let load_s = number(&recording, "page_loads", "load_s");
        let expected_s = f64::from(round_trips) * ROUND_TRIP_S + seconds;
        assert!((load_s - expected_s).abs() < 2e-6, "{name}: {load_s} and not {expected_s}");
        let counted = number(&recording, "page_loads", "round_trips");
        assert!(counted == f64::from(round_trips), "{name}: {counted} and not {round_trips}");
        let sum: f64 = PARTS.iter().map(|part| number(&recording, "page_loads", part)).sum();
        assert!((sum - load_s).abs() < 1e-9, "{name}: the parts are {sum}, the whole {load_s}");
        assert_eq!(recording.flows[0].pages[0].response_s, Some(load_s), "{name}");
    }
}

#[test]
fn a_connection_that_was_opened_ahead_takes_the_second_request() {
    let load = |keys: &str| {
        let page = format!("{THREE}, http = \"1.1\"{keys}");
        let recording = run(&scenario("", &page));
        ["load_s", "connections"].map(|column| number(&recording, "page_loads", column))
    };
    // The second image follows on the connection of the first one, which is free before a new one
    // is set up.
    for (keys, round_trips, connections) in [
        ("", 5.0, 1.0),
        (", preconnect = 1", 5.0, 1.0),
        (", preconnect = 2", 4.0, 2.0),
        (", preconnect = 2, dns = \"600ms\"", 5.0, 2.0),
    ] {
        let [load_s, used] = load(keys);
        let expected_s = round_trips * ROUND_TRIP_S;
        assert!((load_s - expected_s).abs() < 2e-6, "{keys}: {load_s} and not {expected_s}");
        assert!(used == connections, "{keys}: {used} connections");
    }
}

#[test]
fn lookups_are_packets_on_the_path_and_no_data_of_the_flow() {
    let by = |keys: &str| run(&scenario("", &format!("{ONE}, tls = \"off\"{keys}")));
    let (local, remote) = (by(", dns = \"600ms\""), by(&format!(", {REMOTE}")));
    let [packets, of_remote] = [&local, &remote]
        .map(|one| one.links.iter().map(|link| link.delivered_packets).sum::<u64>());
    assert_eq!(of_remote - packets, 2, "a query and an answer");
    let bytes = |one: &Recording, link: usize| one.links[link].delivered_bytes;
    // Packets of IPv4.
    assert_eq!(bytes(&remote, 0) - bytes(&local, 0), 175);
    assert_eq!(bytes(&remote, 1) - bytes(&local, 1), 70);
    assert_eq!(local.flows[0].bytes, remote.flows[0].bytes);
    assert_eq!(local.flows[0].tcp(), remote.flows[0].tcp());
    assert!((number(&remote, "page_loads", "dns_s") - ROUND_TRIP_S).abs() < 2e-6);
}

#[test]
fn a_lost_query_or_answer_is_repeated_after_five_seconds() {
    let page = format!("{ONE}, http = \"1.1\", tls = \"off\", {REMOTE}");
    let text = scenario("", &page).replace("delay", "channel = { per = 0.4 }\ndelay");
    let mut repeats = Vec::new();
    for seed in 1..30 {
        let dns_s = number(&run_with_seed(&text, seed), "page_loads", "dns_s");
        if dns_s.is_nan() {
            continue;
        }
        let losses = ((dns_s - ROUND_TRIP_S) / 5.0).round();
        assert!((dns_s - ROUND_TRIP_S - 5.0 * losses).abs() < 2e-6, "{dns_s} s with seed {seed}");
        repeats.push(losses);
    }
    // glibc gives up after the second query, and the browser begins again.
    assert!([0.0, 1.0, 2.0].iter().all(|losses| repeats.contains(losses)), "{repeats:?}");
}

#[test]
fn queries_for_which_a_queue_has_no_room_are_repeated() {
    let images = (0..8).map(|number| {
        format!("{{ name = \"i{number}\", bytes = \"1kB\", origin = \"o{number}\" }}")
    });
    let images: Vec<_> = images.collect();
    let objects =
        format!("objects = [{{ name = \"index\", bytes = \"1kB\" }}, {}]", images.join(", "));
    // A query takes 10 ms to send.
    let narrow = "delay = \"300ms\"\nbackward = { rate = \"56kbit/s\", queue = { packets = 3 } }";
    let page = format!("{objects}, tls = \"off\", {REMOTE}");
    let text = scenario("", &page).replace("delay = \"300ms\"", narrow);
    let recording = run(&text);
    assert!(recording.links[1].dropped_packets >= 4, "{}", recording.links[1].dropped_packets);
    let known = numbers(&recording, "page_objects", "known_s");
    let requests = numbers(&recording, "page_objects", "request_s");
    let waits = known.iter().zip(&requests).skip(1).map(|(known, request)| request - known);
    let late = waits.clone().filter(|wait| *wait > 5.0).count();
    assert_eq!(
        late,
        4,
        "one is sent, three wait, and four are lost: {:?}",
        waits.collect::<Vec<_>>()
    );
}

#[test]
fn lookups_cross_a_split_proxy_and_belong_to_their_session() {
    let page = format!("{ONE}, http = \"1.1\", tls = \"off\", {REMOTE}");
    let split = scenario("", &page).replace(
        "[[link]]\nbetween = [\"server\", \"browser\"]",
        "[[node]]\nname = \"gateway\"\nproxy = { satellite = { towards = [\"browser\"] } }\n\
         [[link]]\nbetween = [\"server\", \"gateway\"]\nrate = \"320Gbit/s\"\n\
         delay = \"10ms\"\nqueue = \"unlimited\"\n\
         [[link]]\nbetween = [\"gateway\", \"browser\"]",
    );
    let recording = run(&split);
    let dns_s = number(&recording, "page_loads", "dns_s");
    assert!((dns_s - ROUND_TRIP_S - 0.02).abs() < 2e-6, "{dns_s}");

    let sessions = "sessions = { length = \"20s\", pause = \"5s\" }\ncontroller";
    let text = scenario("", &page).replace("duration = \"60s\"", "duration = \"10min\"");
    let recording = run(&text.replace("controller", sessions));
    let loads = numbers(&recording, "page_loads", "dns_s");
    assert!(loads.len() > 1, "{loads:?}");
    for dns_s in loads {
        assert!((dns_s - ROUND_TRIP_S).abs() < 2e-6, "{dns_s}");
    }
}

#[test]
fn times_of_servers_and_computations_are_on_the_path_and_delays_too() {
    let page = r#"http = "2", tls = "off", objects = [
        { name = "index", bytes = "1kB", server_time = "100ms", compute = "50ms" },
        { name = "script", bytes = "1kB", compute = "70ms",
          after = [{ object = "index", at = "first-byte", delay = "10ms" }] },
        { name = "image", bytes = "1kB", after = "script" }]"#;
    let recording = run(&scenario("", &page.replace('\n', " ")));
    let number = |column| number(&recording, "page_loads", column);
    // Connection, index, script and image; the index computes while the script is on its way.
    assert!((number("load_s") - (4.0 * ROUND_TRIP_S + 0.1 + 0.01 + 0.07)).abs() < 2e-6);
    assert!((number("server_s") - 0.1).abs() < 1e-9);
    assert!((number("compute_s") - 0.07).abs() < 1e-9);
    assert!((number("delay_s") - 0.01).abs() < 1e-9);
    assert!((number("connect_s") - ROUND_TRIP_S).abs() < 2e-6);
    assert!(number("round_trips") == 4.0);
}

#[test]
fn one_object_computes_at_a_time() {
    let page = r#"http = "2", tls = "off", objects = [
        { name = "index", bytes = "1kB" },
        { name = "script", bytes = "1kB", compute = "70ms", count = 3 }]"#;
    let recording = run(&scenario("", &page.replace('\n', " ")));
    let load_s = number(&recording, "page_loads", "load_s");
    assert!((load_s - (3.0 * ROUND_TRIP_S + 0.21)).abs() < 2e-6, "{load_s}");
}

#[test]
fn http_1_1_has_six_connections_to_an_origin_and_the_others_one() {
    let objects = r#"objects = [
        { name = "index", bytes = "1kB" },
        { name = "image", bytes = "1kB", count = 12 },
        { name = "other", bytes = "1kB", origin = "elsewhere", count = 2 }]"#;
    // The index after two round trips. Then the first connection has an image in each, and the new
    // ones from the fourth on: six have twelve after five, and twelve have one each.
    let cases = [
        ("", "http = \"1.1\", tls = \"off\"", 6 + 2, 5),
        ("", "http = \"1.1\", tls = \"off\", connections = 12", 12 + 2, 4),
        ("", "http = \"2\", tls = \"off\"", 2, 4),
        ("protocol = \"quic\"", "http = \"3\"", 2, 4),
    ];
    for (transport, keys, connections, round_trips) in cases {
        let page = format!("{keys}, {}", objects.replace('\n', " "));
        let recording = run(&scenario(transport, &page));
        let counted = number(&recording, "page_loads", "connections");
        assert!(counted == f64::from(connections), "{keys}: {counted} connections");
        let load_s = number(&recording, "page_loads", "load_s");
        let expected_s = f64::from(round_trips) * ROUND_TRIP_S;
        assert!((load_s - expected_s).abs() < 2e-6, "{keys}: {load_s} and not {expected_s}");
    }
}

#[test]
fn a_style_overtakes_pictures_that_were_requested_before_it() {
    let objects = r#"objects = [
        { name = "index", bytes = "1kB" },
        { name = "picture", bytes = "2MB", count = 2 },
        { name = "style", bytes = "1kB", kind = "style",
          after = [{ object = "index", delay = "10ms" }] }]"#;
    let times = |transport: &str, keys: &str| {
        let page = format!("{keys}, {}", objects.replace('\n', " "));
        let text = scenario(transport, &page).replace("320Gbit/s", "20Mbit/s");
        let recording = run(&text);
        numbers(&recording, "page_objects", "done_s")
    };
    for (transport, keys) in [("", "http = \"2\""), ("protocol = \"quic\"", "http = \"3\"")] {
        let done = times(transport, keys);
        assert!(done[3] < done[1].min(done[2]) / 2.0, "{keys}: {done:?}");
    }
}

#[test]
fn a_warm_browser_keeps_connections_and_names_and_a_cold_one_does_not() {
    for (visits, round_trips) in [("warm", 1.0), ("cold", 3.0)] {
        let keys = format!("pages = 2, interval = \"10s\", visits = \"{visits}\", dns = \"50ms\"");
        let recording = run(&scenario("", &format!("{ONE}, {keys}")));
        let loads = numbers(&recording, "page_loads", "load_s");
        let dns_s = if visits == "cold" { 0.05 } else { 0.0 };
        assert!((loads[0] - (3.0 * ROUND_TRIP_S + 0.05)).abs() < 2e-6, "{loads:?}");
        assert!((loads[1] - (round_trips * ROUND_TRIP_S + dns_s)).abs() < 2e-6, "{loads:?}");
        assert_eq!(recording.flows[0].pages.len(), 2);
        assert!(recording.flows[0].completed);
    }
}

#[test]
fn each_built_in_page_loads_by_each_version_of_http() {
    for site in ["news", "shop", "search", "application"] {
        let by = |transport: &str, http: &str| {
            let page = format!("site = \"{site}\", http = \"{http}\", dns = \"20ms\"");
            let text = scenario(transport, &page).replace("320Gbit/s", "50Mbit/s");
            let recording = run(&text);
            assert!(recording.flows[0].completed, "{site} by HTTP/{http}");
            number(&recording, "page_loads", "load_s")
        };
        // More than the round trips that are needed, and less than a request after the other.
        let times = [by("", "1.1"), by("", "2"), by("protocol = \"quic\"", "3")];
        assert!(times.iter().all(|time| (4.0..20.0).contains(time)), "{site}: {times:?}");
    }
}

/// The sizes of the objects of each page, and the times of its start and end.
type Drawn = (Vec<u64>, f64, f64);

/// The pages of the model, over a path without queues.
fn drawn(transport: &str, keys: &str, edit: impl Fn(String) -> String) -> Vec<Drawn> {
    drawn_with_seed(1, transport, keys, edit)
}

fn drawn_with_seed(
    seed: u64,
    transport: &str,
    keys: &str,
    edit: impl Fn(String) -> String,
) -> Vec<Drawn> {
    let page = format!("model = \"3gpp\", {keys}");
    let text = scenario(transport, &page).replace("duration = \"60s\"", "duration = \"1h\"");
    let recording = run_with_seed(&edit(text), seed);
    assert_eq!(recording.flows[0].completed, keys.contains("pages = 9"), "{keys}");
    let pages = recording.flows[0].pages.iter().filter(|page| page.response_s.is_some());
    let sizes = |page: &recording::PageRecord| page.objects.iter().map(|one| one.bytes).collect();
    pages.map(|page| (sizes(page), page.start_s, page.start_s + page.response_s.unwrap())).collect()
}

#[test]
fn all_controllers_transports_and_queues_load_the_same_drawn_pages() {
    let same = |text: String| text;
    let pages = drawn("", "pages = 9", same);
    assert_eq!(pages.len(), 9);
    let sizes = |pages: &[Drawn]| pages.iter().map(|page| page.0.clone()).collect::<Vec<_>>();
    let pauses = |pages: &[Drawn]| -> Vec<f64> {
        pages.windows(2).map(|pair| pair[1].1 - pair[0].2).collect()
    };
    let others = [
        drawn("", "pages = 9", |text| text.replace("cubic", "bbr")),
        drawn("", "pages = 9, http = \"1.1\", visits = \"warm\"", same),
        drawn("protocol = \"quic\"", "pages = 9", same),
        drawn("", "pages = 9", |text| text.replace("320Gbit/s", "2Mbit/s")),
    ];
    for other in &others {
        assert_eq!(sizes(other), sizes(&pages));
        // The pages are read for the same times, from whenever they were there.
        for (pause, known) in pauses(other).iter().zip(pauses(&pages)) {
            assert!((pause - known).abs() < 1e-6, "{pause} and not {known}");
        }
    }
    assert!(others[3][0].2 > pages[0].2 + 0.01, "the slower link is as fast");
    let seed = drawn_with_seed(2, "", "pages = 9", same);
    assert_ne!(sizes(&seed), sizes(&pages));
    let pages: Vec<_> = sizes(&pages);
    assert!(pages.windows(2).any(|pair| pair[0] != pair[1]), "{pages:?}");
}

#[test]
fn the_main_object_of_a_drawn_page_is_parsed_before_the_others_are_requested() {
    let page = "model = \"3gpp\", pages = 9, http = \"2\", tls = \"off\"";
    let text = scenario("", page).replace("duration = \"60s\"", "duration = \"1h\"");
    let recording = run(&text);
    let column = |column| numbers(&recording, "page_objects", column);
    let (known, computed, done) = (column("known_s"), column("computed_s"), column("done_s"));
    let page = column("page");
    let mut embedded = 0;
    let mut main = 0;
    for row in 0..page.len() {
        if row == 0 || page[row] > page[row - 1] {
            main = row;
            assert!(computed[row] > done[row], "{}", page[row]);
        } else {
            embedded += 1;
            assert!((known[row] - computed[main]).abs() < 1e-9, "row {row}");
        }
    }
    assert!(embedded > 0);
}

#[test]
fn sessions_of_drawn_pages_differ_from_one_another() {
    let with_sessions = |text: String| {
        let sessions = "sessions = { pause = \"10s\", length = \"60s\" }\ntransport";
        text.replace("transport", sessions)
    };
    let pages = drawn("", "pages = 1", with_sessions);
    assert!(pages.len() > 20, "{}", pages.len());
    let mut main: Vec<u64> = pages.iter().map(|page| page.0[0]).collect();
    main.sort_unstable();
    main.dedup();
    assert!(main.len() > pages.len() * 9 / 10, "{} of {}", main.len(), pages.len());
}

#[test]
fn no_load_begins_after_the_stop_even_if_one_was_due_during_the_last_load() {
    let page =
        r#"objects = [{ name = "one", bytes = "900B" }], pages = "unlimited", interval = "40ms""#;
    let stop = |stop: &str| {
        scenario("", page).replace("controller", &format!("stop = \"{stop}\"\ncontroller"))
    };
    let loads = |text: &str| numbers(&run(text), "page_loads", "start_s").len();
    assert_eq!(loads(&stop("1ms")), 1);
    // A load takes three round trips and more, so the second one begins as the first one ends.
    assert_eq!(loads(&stop("2s")), 2);
}
