use serde_json::{Value, json};

use super::*;

fn flow(controller: Value, transport: Value) -> Flow {
    let scenario = crate::tests::scenario(json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "250ms" }],
        "flow": [{ "from": "a", "to": "b", "controller": controller, "transport": transport,
                   "traffic": { "bulk": "1B" } }],
    }));
    scenario.flows[0].clone()
}

fn kernel_of(names: &[&str]) -> Kernel {
    let controllers = names.iter().map(|name| (*name).to_owned()).collect();
    Kernel { controllers, queueing: "pfifo_fast".to_owned() }
}

fn entries(transport: Value) -> Vec<Entry> {
    judge(&flow(json!("cubic"), transport), &kernel_of(&["reno", "cubic"])).1
}

fn entry(transport: Value, setting: &str) -> Entry {
    let mut entries = entries(transport);
    entries.retain(|entry| entry.setting == setting);
    assert_eq!(entries.len(), 1, "{setting}: {entries:?}");
    entries.remove(0)
}

/// What the sockets and hosts of a flow are set to.
fn honoured(transport: Value) -> Honoured {
    judge(&flow(json!("cubic"), transport), &kernel_of(&["cubic"])).0
}

#[test]
fn every_setting_has_exactly_one_verdict_and_defaults_are_not_refused() {
    let entries = entries(json!({}));
    let mut names: Vec<_> = entries.iter().map(|entry| entry.setting).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), entries.len(), "{entries:?}");
    // All but the reader's rate and Careful Resume, which have no default to honour; RTO and
    // controller are several.
    assert_eq!(names.len(), 22 + 7 + 1, "{names:?}");
    assert!(entries.iter().all(|entry| entry.verdict != Verdict::Refused), "{entries:?}");
}

#[test]
fn what_a_kernel_cannot_do_is_refused_with_what_it_can() {
    for (transport, setting, possible) in [
        (json!({ "mss": 80 }), "transport.mss", "88 to 32767"),
        (json!({ "mss": 40_000 }), "transport.mss", "88 to 32767"),
        (json!({ "receive_buffer": "512MiB" }), "transport.receive_buffer", "at most 256MiB"),
        (json!({ "send_buffer": "512MiB" }), "transport.send_buffer", "at most 256MiB"),
        (json!({ "reader_rate": "1Mbit/s" }), "transport.reader_rate", "none: "),
        (json!({ "initial_ssthresh": "64KiB" }), "transport.initial_ssthresh", "\"unlimited\""),
        (json!({ "delayed_ack": { "segments": 4 } }), "transport.delayed_ack.segments", "1 or 2"),
        (json!({ "rto": { "max": "200s" } }), "transport.rto.max", "1s to 120s"),
        (
            json!({ "careful_resume": { "saved_window": "64KiB", "saved_rtt": "500ms" } }),
            "transport.careful_resume",
            "none: ",
        ),
    ] {
        let entry = entry(transport, setting);
        assert_eq!(entry.verdict, Verdict::Refused, "{entry:?}");
        assert!(entry.kernel.starts_with(possible), "{entry:?}");
    }
}

#[test]
fn what_a_kernel_does_its_own_way_is_reported() {
    for (transport, setting) in [
        (json!({}), "transport.recovery"),
        (json!({}), "transport.receive_buffer"),
        (json!({ "send_buffer": "64KiB" }), "transport.send_buffer"),
        (json!({}), "transport.delayed_ack"),
        (json!({}), "transport.duplicate_threshold"),
        (json!({}), "transport.byte_counting"),
        (json!({ "window_validation": false }), "transport.window_validation"),
        (json!({ "limited_transmit": false }), "transport.limited_transmit"),
        (json!({}), "transport.loss_threshold"),
        (json!({ "loss_threshold": "pipe" }), "transport.loss_threshold"),
        (json!({ "rto": { "initial": "3s" } }), "transport.rto.initial"),
        (json!({ "rto": { "gain": 0.25 } }), "transport.rto.gain"),
        (json!({}), "transport.rto.estimator"),
        (json!({}), "transport.rto.min"),
        (json!({ "rto": { "estimator": "linux", "min": "3ms" } }), "transport.rto.min"),
        (json!({}), "transport.persist_timeout"),
    ] {
        let entry = entry(transport, setting);
        assert_eq!(entry.verdict, Verdict::Reported, "{entry:?}");
    }
}

#[test]
fn losses_halve_the_window_as_in_the_kernel() {
    let entry = entry(json!({ "loss_threshold": "cwnd" }), "transport.loss_threshold");
    assert_eq!(entry.verdict, Verdict::Honoured, "{entry:?}");
}

#[test]
fn what_is_asked_for_as_in_linux_is_honoured() {
    for setting in ["transport.rto.estimator", "transport.rto.min", "transport.pacing"] {
        let transport = json!({ "rto": { "estimator": "linux" }, "pacing": "linux" });
        let entry = entry(transport, setting);
        assert_eq!(entry.verdict, Verdict::Honoured, "{entry:?}");
    }
    assert!(honoured(json!({ "pacing": "linux" })).paced);
    assert!(!honoured(json!({})).paced);
}

#[test]
fn a_kernel_that_paces_all_says_so_where_only_controllers_shall_ask_for_it() {
    let verdict = |pacing: &str, queueing: &str| {
        let kernel = Kernel { queueing: queueing.to_owned(), ..kernel_of(&["cubic"]) };
        let (_, entries) = judge(&flow(json!("cubic"), json!({ "pacing": pacing })), &kernel);
        entries.into_iter().find(|entry| entry.setting == "transport.pacing").unwrap().verdict
    };
    assert_eq!(verdict("controller", "fq"), Verdict::Reported);
    assert_eq!(verdict("controller", "fq_codel"), Verdict::Honoured);
    assert_eq!(verdict("linux", "fq"), Verdict::Honoured);
}

#[test]
fn a_flow_that_stops_is_told_what_is_still_sent() {
    let mut flow = flow(json!("cubic"), json!({}));
    let stops = |flow: &Flow| {
        let (_, entries) = judge(flow, &kernel_of(&["cubic"]));
        entries.into_iter().find(|entry| entry.setting == "stop")
    };
    assert_eq!(stops(&flow), None);
    flow.stop = Some(Span::from_secs(2));
    assert_eq!(stops(&flow).unwrap().verdict, Verdict::Reported);
}

#[test]
fn switches_become_settings_of_the_host() {
    let sysctl = |transport: Value, name: &str| {
        let sysctls = honoured(transport).sysctls;
        sysctls.iter().find(|(sysctl, _)| *sysctl == name).map(|(_, value)| value.clone())
    };
    for (setting, name) in [
        ("window_scaling", "tcp_window_scaling"),
        ("timestamps", "tcp_timestamps"),
        ("idle_restart", "tcp_slow_start_after_idle"),
        ("ecn", "tcp_ecn"),
        ("dsack", "tcp_dsack"),
    ] {
        for on in [true, false] {
            let mut transport = json!({ "receive_buffer": "65535B" });
            transport[setting] = json!(on);
            assert_eq!(sysctl(transport, name), Some(u8::from(on).to_string()), "{setting}");
        }
    }
    assert_eq!(sysctl(json!({ "recovery": "newreno" }), "tcp_sack"), Some("0".to_owned()));
    assert_eq!(sysctl(json!({ "rto": { "max": "30s" } }), "tcp_rto_max_ms"), Some("30000".into()));
}

#[test]
fn the_least_retransmission_timeout_is_kept_beside_the_delay_of_the_path() {
    let honoured = honoured(json!({ "rto": { "min": "1s" } }));
    assert_eq!(honoured.metrics(Span::from_millis(500)).rto_min_ms, 500);
    assert_eq!(honoured.metrics(Span::ZERO).rto_min_ms, 1000);
    assert_eq!(honoured.metrics(Span::from_secs(2)).rto_min_ms, 4);
    let linux = self::honoured(json!({ "rto": { "estimator": "linux" } }));
    assert_eq!(linux.metrics(Span::from_millis(500)).rto_min_ms, 200);
}

#[test]
fn a_controller_of_our_own_comes_before_the_one_of_the_kernel() {
    let name = |controller: &str, available: &[&str]| {
        judge(&flow(json!(controller), json!({})), &kernel_of(available)).0.controller
    };
    assert_eq!(name("hybla", &["reno", "hybla", "bp_hybla"]), "bp_hybla");
    assert_eq!(name("hybla", &["reno", "hybla"]), "hybla");
    assert_eq!(name("newreno", &["reno"]), "reno");
}

#[test]
fn a_controller_that_the_kernel_lacks_is_refused_and_so_are_parameters() {
    let judged = |controller: Value| {
        let (_, mut entries) = judge(&flow(controller, json!({})), &kernel_of(&["reno", "cubic"]));
        entries.remove(0)
    };
    let unknown = judged(json!("adalr"));
    assert_eq!(unknown.verdict, Verdict::Refused);
    assert_eq!(unknown.kernel, "one that this kernel has: reno, cubic");
    let mut flow = flow(json!("cubic"), json!({}));
    flow.controller.set("fast_convergence", congestion::Value::Word("off".to_owned())).unwrap();
    let (_, entries) = judge(&flow, &kernel_of(&["cubic"]));
    assert_eq!(entries[0].verdict, Verdict::Refused, "{:?}", entries[0]);
    assert_eq!(entries[0].asked, "fast_convergence = off");
}
