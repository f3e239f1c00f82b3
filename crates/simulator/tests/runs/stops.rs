//! Flows that stop before the run ends.

use recording::Recording;
use simulator::{Options, Progress};

use crate::{geo, parse, run};

const LINK: &str = "rate = \"1Mbit/s\"\nqueue = { packets = 20 }\nchannel = { per = 0.002 }";

/// A flow over [`LINK`] that stops at `stop`.
fn stopped(stop: &str, traffic: &str) -> Recording {
    let text = geo(LINK, "mss = 1000", traffic);
    run(&text.replace("from =", &format!("stop = \"{stop}\"\nfrom =")))
}

/// Data on its way arrives, repaired if need be, and the run does not wait for its upper bound.
#[test]
fn an_endless_flow_that_stops_is_a_transfer_of_what_it_had_sent() {
    let recording = stopped("60s", "bulk = \"unlimited\"");
    let flow = &recording.flows[0];
    assert!(flow.completed && !flow.aborted);
    let completion = flow.completion_s.unwrap();
    assert!((60.25..64.0).contains(&completion), "{completion}");
    assert_eq!(recording.simulated_s, completion);
    // 12 of the 1000 bytes are the timestamps. Nothing that was sent is missing at the end.
    assert_eq!(
        flow.bytes,
        (flow.tcp().unwrap().segments_sent - flow.tcp().unwrap().segments_retransmitted) * 988
    );
}

#[test]
fn a_download_that_is_stopped_is_not_completed() {
    for traffic in ["download = \"100MB\"", "bulk = \"100MB\""] {
        let recording = stopped("30s", traffic);
        let flow = &recording.flows[0];
        assert!(!flow.completed && flow.completion_s.is_none());
        assert!(flow.bytes > 100_000, "{}", flow.bytes);
        assert!((30.0..34.0).contains(&recording.simulated_s), "{}", recording.simulated_s);
    }
}

#[test]
fn a_stop_after_the_end_changes_nothing() {
    for traffic in ["download = \"200kB\"", "web = { pages = 2 }"] {
        let text = geo(LINK, "mss = 1000", traffic);
        assert_eq!(stopped("2000s", traffic).digest(), run(&text).digest());
    }
}

#[test]
fn a_download_that_stops_before_its_request_arrives_sends_nothing() {
    let text = geo(LINK, "mss = 1000", "download = \"100kB\", request = \"100B\"");
    let text = text.replace("from =", "stop = \"600ms\"\nfrom =");
    // The run goes on until the request has arrived.
    let longer = "[[flow]]\nfrom = \"server\"\nto = \"client\"\ncontroller = \"reno\"\n\
                  traffic = { download = \"10kB\" }\n";
    let recording = run(&(text + longer));
    assert!(recording.flows[1].completed && recording.simulated_s > 1.0);
    assert_eq!(recording.flows[0].bytes, 0);
    assert!(!recording.flows[0].completed);
}

/// Pages start every 30 s; the one that is loading is not interrupted.
#[test]
fn a_browser_that_stops_starts_no_more_pages() {
    for (stop, traffic, completed) in [
        ("61s", "web = {}", true),
        ("61s", "web = { pages = 9 }", false),
        ("75s", "web = {}", true),
        ("61s", "web = { pages = 3 }", true),
    ] {
        let recording = stopped(stop, traffic);
        let flow = &recording.flows[0];
        assert_eq!(flow.pages.len(), 3, "{stop}, {traffic}");
        assert!(flow.pages.iter().all(|page| page.response_s.is_some()));
        assert_eq!(flow.completed, completed, "{stop}, {traffic}");
        assert!((61.0..75.01).contains(&recording.simulated_s), "{}", recording.simulated_s);
    }
    // The second page was due before the stop and waited for the first.
    let recording = stopped("2s", "web = { interval = \"1s\" }");
    let pages = &recording.flows[0].pages;
    assert_eq!(pages.len(), 1);
    assert!(pages[0].response_s.is_some_and(|response| response > 2.0));
}

/// Between two events there may be millions of samples. Before, nobody was asked until all were
/// taken.
#[test]
fn a_run_that_only_takes_samples_can_be_stopped() {
    let text =
        geo(LINK, "", "download = \"1kB\"") + "start = \"900s\"\n[record]\ninterval = \"1ms\"\n";
    let text = text.replace("3000s", "1000s");
    let mut asked = Vec::new();
    let mut progress = |progress: &Progress| {
        asked.push(progress.now.as_secs_f64());
        asked.len() < 5
    };
    let options = Options { progress: Some(&mut progress), ..Options::default() };
    let recording = simulator::run(&parse(&text), 1, options);
    assert!(recording.partial);
    assert!(asked.is_sorted() && asked[4] < 100.0, "{asked:?}");
    let rows = recording.link_series.len();
    assert!((100_000..200_000).contains(&rows), "{rows}");
    assert_eq!(recording.link_series.t_s.last(), Some(&recording.simulated_s));
}

/// Data that TCP gave up may still arrive, if the network was slower than its patience.
#[test]
fn a_flow_that_was_aborted_is_not_completed_by_what_arrives_later() {
    let slow = "rate = \"1Mbit/s\"\n[[link.event]]\nat = \"1.5s\"\ndelay = \"200s\"";
    let text = geo(slow, "max_retries = 2", "bulk = \"50kB\"");
    let other = "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\ncontroller = \"reno\"\n\
         traffic = { constant = { rate = \"8kbit/s\" } }\n";
    let recording = run(&(text + other));
    let flow = &recording.flows[0];
    assert!(flow.aborted && !flow.completed && flow.completion_s.is_none(), "{flow:?}");
    assert_eq!(flow.bytes, 50_000, "the test shows nothing unless all arrives");
}

/// Each cause of death is recorded, and the flow waits for nothing.
#[test]
fn a_flow_whose_other_end_is_gone_is_aborted_with_its_cause() {
    let cut = "rate = \"1Mbit/s\"\n[[link.event]]\nat = \"20s\"\noutage = \"2000s\"";
    let bulk = "bulk = \"50MB\"";
    // A message each 1000 s.
    let silent = "constant = { rate = \"8bit/s\", message = \"1000B\" }";
    let keep_alive = "keep_alive = { idle = \"30s\", interval = \"5s\", probes = 4 }";
    for (transport, traffic, cause) in [
        ("max_retries = 3", bulk, "retransmissions"),
        ("user_timeout = \"40s\"", bulk, "user-timeout"),
        (keep_alive, silent, "keep-alive"),
    ] {
        let recording = run(&geo(cut, transport, traffic));
        let flow = &recording.flows[0];
        assert!(flow.aborted && !flow.completed, "{transport}: {flow:?}");
        assert_eq!(flow.abort_cause.as_deref(), Some(cause), "{transport}");
    }
}
