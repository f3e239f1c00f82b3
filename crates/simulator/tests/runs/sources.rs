//! Sources with a rate of their own.

use recording::{FlowRecord, Recording};

use crate::{geo, run};

const LINK: &str = "rate = \"1Mbit/s\"\nqueue = { packets = 50 }";
const BURSTS: &str = "on_off = { rate = \"800kbit/s\", on = \"2s\", off = \"3s\" }";

/// A flow over a link that stops at `stop`.
fn stopped(link: &str, transport: &str, stop: &str, traffic: &str) -> Recording {
    let text = geo(link, transport, traffic);
    run(&text.replace("from =", &format!("stop = \"{stop}\"\nfrom =")))
}

/// The only flow of a recording, which offered something.
fn flow(recording: &Recording) -> (&FlowRecord, u64) {
    let flow = &recording.flows[0];
    (flow, flow.offered_bytes.unwrap())
}

#[test]
fn a_rate_below_that_of_the_link_arrives_as_it_is_written() {
    let traffic = "constant = { rate = \"400kbit/s\" }";
    let recording = stopped(LINK, "", "100s", traffic);
    let (flow, offered) = flow(&recording);
    // A message of 1448 bytes every 28.96 ms, the first at the start.
    assert_eq!((offered, flow.bytes), (3454 * 1448, 3454 * 1448));
    assert!(flow.completed && flow.burst_completion_s.is_none());
    assert!((100.25..100.6).contains(&flow.completion_s.unwrap()), "{flow:?}");
    // A write is a segment; only those of the handshake's time may have been joined.
    assert_eq!(flow.tcp().unwrap().segments_sent, 3454);
}

#[test]
fn messages_have_the_length_that_is_asked_for() {
    let traffic = "constant = { rate = \"80kbit/s\", message = \"100B\" }";
    let segments = |transport: &str| {
        let recording = stopped(LINK, transport, "100s", traffic);
        let (flow, offered) = flow(&recording);
        assert_eq!(offered, 1_000_000);
        (flow.tcp().unwrap().segments_sent, offered - flow.bytes)
    };
    // All 10,000 but those that waited for the handshake.
    let (sent, held) = segments("nagle = false");
    assert!((9_900..=10_000).contains(&sent) && held == 0, "{sent}, {held}");
    // Nagle's algorithm joins those of a segment, and holds what is less when the source stops.
    let (sent, held) = segments("nagle = true");
    assert!(sent < 1_000 && (1..1448).contains(&held), "{sent}, {held}");
}

#[test]
fn what_tcp_does_not_take_waits_and_is_offered_all_the_same() {
    let recording = stopped(LINK, "", "60s", "constant = { rate = \"2Mbit/s\" }");
    let (flow, offered) = flow(&recording);
    assert!((offered as f64 * 8.0 / 60.0 / 2e6 - 1.0).abs() < 1e-3, "{offered}");
    assert!(flow.completed);
    assert!((0.4..0.5).contains(&(flow.bytes as f64 / offered as f64)), "{flow:?}");
    // What waited in the application at the stop is not sent.
    assert!((60.0..62.0).contains(&recording.simulated_s), "{}", recording.simulated_s);
}

#[test]
fn a_source_without_a_stop_goes_on_until_the_run_ends() {
    let text = geo(LINK, "", "constant = { rate = \"400kbit/s\" }").replace("3000s", "50s");
    let recording = run(&text);
    let (flow, offered) = flow(&recording);
    assert_eq!(recording.simulated_s, 50.0);
    assert!(!flow.completed && !flow.aborted);
    // What was written less than half a second ago is on its way.
    assert!(offered > flow.bytes && offered - flow.bytes < 25_000, "{offered}, {flow:?}");
}

#[test]
fn every_controller_is_offered_the_same_load() {
    let lossy = format!("{LINK}\nchannel = {{ per = 0.02 }}");
    let offered = |controller: &str| {
        let text = geo(&lossy, "", BURSTS).replace("newreno", controller);
        let recording = run(&text.replace("3000s", "300s"));
        assert!(recording.flows[0].tcp().unwrap().segments_retransmitted > 0);
        flow(&recording).1
    };
    assert!(["reno", "cubic", "hybla"].map(offered).iter().all(|load| *load == offered("adalr")));
}

#[test]
fn the_bursts_of_a_flow_do_not_depend_on_the_other_flows() {
    let offered = |other: &str| {
        let flow = format!(
            "[[flow]]\nfrom = \"server\"\nto = \"client\"\ncontroller = \"reno\"\n\
             traffic = {{ {BURSTS} }}\n"
        );
        let recording = run(&(geo(LINK, "", other).replace("3000s", "100s") + &flow));
        recording.flows[1].offered_bytes.unwrap()
    };
    let alone = offered("download = \"1B\"");
    assert_eq!(alone, offered(BURSTS));
    assert_eq!(alone, offered("web = {}"));
}

/// The window that earlier bursts have opened holds all 69 segments of a burst.
#[test]
fn a_burst_after_a_silence_starts_with_a_small_window_only_where_tcp_restarts() {
    let traffic = "on_off = { rate = \"20Mbit/s\", on = \"40ms\", off = \"10s\", distribution = \"constant\" }";
    let completion = |transport: &str| {
        let recording = stopped("rate = \"10Mbit/s\"", transport, "300s", traffic);
        let (flow, offered) = flow(&recording);
        assert_eq!((flow.bytes, offered), (30 * 100_000, 30 * 100_000));
        assert!(flow.completed);
        flow.burst_completion_s.unwrap()
    };
    let (restarted, kept) = (completion("idle_restart = true"), completion("idle_restart = false"));
    // 100 kB take 80 ms on the link and 250 ms on their way, and not one round trip.
    assert!((0.33..0.6).contains(&kept), "{kept}");
    assert!(restarted > kept + 1.0, "{restarted} and {kept}");
}

/// The run goes on for another flow.
#[test]
fn a_source_whose_connection_was_given_up_offers_nothing_more() {
    let broken = "rate = \"1Mbit/s\"\nchannel = { per = 1 }";
    let source = "constant = { rate = \"8kbit/s\" }";
    let text = geo(broken, "max_retries = 2", source).replace("3000s", "1000s");
    let other = format!(
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ncontroller = \"reno\"\ntraffic = {{ {source} }}\n"
    );
    let recording = run(&(text + &other));
    let (flow, offered) = flow(&recording);
    assert!(flow.aborted && flow.bytes == 0);
    assert!(offered < 100_000, "{offered}");
    assert!(recording.flows[1].offered_bytes.unwrap() > 990_000);
}
