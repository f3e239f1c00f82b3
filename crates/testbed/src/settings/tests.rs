use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::controllers::tests::kernel_with;

/// A scenario of one flow.
fn scenario(controller: Value, transport: Value) -> Scenario {
    crate::tests::scenario(json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "250ms" }],
        "flow": [{ "from": "a", "to": "b", "controller": controller, "transport": transport,
                   "traffic": { "bulk": "1B" } }],
    }))
}

/// A kernel that brings these controllers.
pub(crate) fn kernel_of(names: &[&str]) -> Kernel {
    Kernel {
        controllers: kernel_with(names, &[]),
        queueing: "pfifo_fast".to_owned(),
        release: "6.18.44".to_owned(),
    }
}

/// Verdicts of a kernel that has `controllers` on the only flow.
fn judged(scenario: &Scenario, controllers: &[&str]) -> (Applied, Vec<Entry>) {
    let flow = &scenario.flows[0];
    judge(scenario, flow, flow.transport.tcp().unwrap(), &kernel_of(controllers))
}

fn entries(transport: Value) -> Vec<Entry> {
    judged(&scenario(json!("reno"), transport), &["reno", "cubic"]).1
}

fn entry(transport: Value, setting: &str) -> Entry {
    let mut entries = entries(transport);
    entries.retain(|entry| entry.setting == setting);
    assert_eq!(entries.len(), 1, "{setting}: {entries:?}");
    entries.remove(0)
}

/// Settings of the sockets and hosts of a flow.
pub(crate) fn applied(transport: Value) -> Applied {
    judged(&scenario(json!("cubic"), transport), &["cubic"]).0
}

#[test]
fn every_setting_has_exactly_one_verdict_and_defaults_are_not_rejected() {
    let entries = entries(json!({}));
    let mut names: Vec<_> = entries.iter().map(|entry| entry.setting).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), entries.len(), "{entries:?}");
    // All but the reader's rate, Careful Resume and Quick-Start, which have no default to honour;
    // RTO and controller are several.
    assert_eq!(names.len(), 26 + 7 + 1, "{names:?}");
    assert!(entries.iter().all(|entry| entry.verdict != Verdict::Rejected), "{entries:?}");
}

#[test]
fn hints_that_the_path_changes_are_rejected() {
    for transport in [json!({}), json!({ "protocol": "quic" })] {
        let mut scenario = scenario(json!("reno"), transport);
        let hints = scenario::model::PathHints {
            source: scenario::model::HintSource::Schedule { threshold: Span::ZERO },
            lead: Span::ZERO,
            late: Span::ZERO,
            early: Span::ZERO,
            error: Span::ZERO,
            missed: 0.0,
        };
        Arc::make_mut(&mut scenario.flows[0].settings).path_hints = Some(hints);
        let flow = &scenario.flows[0];
        let entries = match &flow.transport {
            scenario::model::Transport::Quic(own) => judge_quic(flow, own),
            _ => judged(&scenario, &["reno"]).1,
        };
        let found = entries.iter().find(|entry| entry.setting == "path_hints").unwrap();
        assert_eq!(found.verdict, Verdict::Rejected);
        assert!(found.kernel.contains("only controllers of the simulator"), "{found:?}");
    }
}

#[test]
fn sack_compression_is_that_of_the_scenario_or_off() {
    let values = |transport: Value| {
        let sysctls = applied(transport).sysctls;
        let of = |name: &str| sysctls.iter().find(|(one, _)| *one == name).map(|(_, v)| v.clone());
        [of("tcp_comp_sack_nr"), of("tcp_comp_sack_delay_ns")]
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(values(json!({})), [some("0"), None]);
    let compression = json!({ "sack_compression": { "delay": "2ms", "acks": 10 } });
    assert_eq!(values(compression), [some("10"), some("2000000")]);
}

#[test]
fn what_a_kernel_cannot_do_is_rejected_with_what_it_can() {
    for (transport, setting, possible) in [
        (json!({ "mss": 80 }), "transport.mss", "88 to 32767"),
        (json!({ "mss": 40_000 }), "transport.mss", "88 to 32767"),
        (json!({ "receive_buffer": "512MiB" }), "transport.receive_buffer", "at most 256MiB"),
        (json!({ "send_buffer": "512MiB" }), "transport.send_buffer", "at most 256MiB"),
        (json!({ "initial_ssthresh": "64KiB" }), "transport.initial_ssthresh", "\"unlimited\""),
        (json!({ "delayed_ack": { "segments": 4 } }), "transport.delayed_ack.segments", "1 or 2"),
        (json!({ "rto": { "max": "200s" } }), "transport.rto.max", "1s to 120s"),
        (
            json!({ "careful_resume": { "saved_cwnd": "64KiB", "saved_rtt": "500ms" } }),
            "transport.careful_resume",
            "none: ",
        ),
        (json!({ "quick_start": "5Mbit/s" }), "transport.quick_start", "none: "),
        (json!({ "eln": true }), "transport.eln", "false: "),
        (json!({ "ack_control": true }), "transport.ack_control", "false: "),
        (json!({ "receive_offload": {} }), "transport.receive_offload", "none: "),
        (
            json!({ "keep_alive": { "idle": "1500ms" } }),
            "transport.keep_alive.idle",
            "whole seconds",
        ),
        (
            json!({ "keep_alive": { "interval": "1100ms" } }),
            "transport.keep_alive.interval",
            "whole seconds",
        ),
        (json!({ "user_timeout": "1500us" }), "transport.user_timeout", "whole milliseconds"),
    ] {
        let entry = entry(transport, setting);
        assert_eq!(entry.verdict, Verdict::Rejected, "{entry:?}");
        assert!(entry.kernel.starts_with(possible), "{entry:?}");
    }
}

#[test]
fn segments_so_small_that_no_mtu_of_ipv6_is_are_rejected() {
    let mss = |mss: u32, ip: IpVersion| {
        let mut scenario = scenario(json!("cubic"), json!({ "mss": mss }));
        scenario.ip = ip;
        let (applied, mut entries) = judged(&scenario, &["cubic"]);
        entries.retain(|entry| entry.setting == "transport.mss");
        (applied.mtu, entries[0].verdict, entries[0].kernel.clone())
    };
    assert!(matches!(mss(1220, IpVersion::V6), (1280, Verdict::Applied, _)));
    assert!(matches!(mss(1219, IpVersion::V4), (1259, Verdict::Applied, _)));
    let (_, verdict, possible) = mss(1219, IpVersion::V6);
    assert_eq!(verdict, Verdict::Rejected);
    let expected = "1220 to 32767; no MTU of IPv6 is below 1280 (RFC 8200 section 5)";
    assert_eq!(possible, expected);
    assert_eq!(mss(40_000, IpVersion::V6).2, "1220 to 32767");
}

#[test]
fn what_a_kernel_does_its_own_way_is_approximated() {
    for (transport, setting) in [
        (json!({}), "transport.recovery"),
        (json!({}), "transport.receive_buffer"),
        (json!({ "send_buffer": "64KiB" }), "transport.send_buffer"),
        (json!({}), "transport.delayed_ack"),
        (json!({}), "transport.dupthresh"),
        (json!({}), "transport.abc_limit"),
        (json!({ "window_validation": false }), "transport.window_validation"),
        (json!({ "limited_transmit": false }), "transport.limited_transmit"),
        (json!({}), "transport.ssthresh_basis"),
        (json!({ "ssthresh_basis": "pipe" }), "transport.ssthresh_basis"),
        (json!({ "rto": { "initial": "3s" } }), "transport.rto.initial"),
        (json!({ "rto": { "alpha": 0.25 } }), "transport.rto.alpha"),
        (json!({}), "transport.rto.estimator"),
        (json!({}), "transport.rto.min"),
        (json!({ "rto": { "estimator": "linux", "min": "3ms" } }), "transport.rto.min"),
        (json!({}), "transport.persist_timeout"),
    ] {
        let entry = entry(transport, setting);
        assert_eq!(entry.verdict, Verdict::Approximated, "{entry:?}");
    }
}

#[test]
fn the_delayed_acks_of_the_kernel_are_what_it_does_when_nothing_is_set() {
    let transport = json!({ "delayed_ack": "linux" });
    let entry = entry(transport.clone(), "transport.delayed_ack");
    assert_eq!(entry.verdict, Verdict::Applied, "{entry:?}");
    let applied = applied(transport);
    assert_eq!((applied.ack_delay, applied.quick_ack), (None, false));
}

#[test]
fn keep_alive_and_user_timeout_become_socket_options() {
    let transport = json!({
        "keep_alive": { "idle": "10s", "interval": "5s", "probes": 3 }, "user_timeout": "2500ms",
    });
    for setting in ["keep_alive.idle", "keep_alive.interval", "keep_alive.probes", "user_timeout"] {
        let entry = entry(transport.clone(), &format!("transport.{setting}"));
        assert_eq!(entry.verdict, Verdict::Applied, "{entry:?}");
    }
    let applied = applied(transport);
    let (idle, interval) = (Span::from_secs(10), Span::from_secs(5));
    assert_eq!(applied.keep_alive, Some(KeepAlive { idle, interval, probes: 3 }));
    assert_eq!(applied.user_timeout, Some(Span::from_millis(2500)));
}

#[test]
fn a_reader_may_be_slow() {
    let entry = entry(json!({ "reader_rate": "1Mbit/s" }), "transport.reader_rate");
    assert_eq!(entry.verdict, Verdict::Applied, "{entry:?}");
    let rate = Rate::from_bits_per_second(1_000_000);
    assert_eq!(applied(json!({ "reader_rate": "1Mbit/s" })).reader_rate, Some(rate));
}

#[test]
fn losses_halve_the_window_as_in_the_kernel() {
    let entry = entry(json!({ "ssthresh_basis": "cwnd" }), "transport.ssthresh_basis");
    assert_eq!(entry.verdict, Verdict::Applied, "{entry:?}");
}

#[test]
fn what_is_asked_for_as_in_linux_is_applied() {
    for setting in
        ["transport.rto.estimator", "transport.rto.min", "transport.pacing", "transport.abc_limit"]
    {
        let transport =
            json!({ "rto": { "estimator": "linux" }, "pacing": "linux", "abc_limit": 255 });
        let entry = entry(transport, setting);
        assert_eq!(entry.verdict, Verdict::Applied, "{entry:?}");
    }
    assert!(applied(json!({ "pacing": "linux" })).paced);
    assert!(!applied(json!({})).paced);
}

#[test]
fn a_kernel_that_paces_all_says_so_where_only_controllers_shall_ask_for_it() {
    let verdict = |pacing: &str, queueing: &str| {
        let kernel = Kernel { queueing: queueing.to_owned(), ..kernel_of(&["cubic"]) };
        let scenario = scenario(json!("cubic"), json!({ "pacing": pacing }));
        let flow = &scenario.flows[0];
        let (_, entries) = judge(&scenario, flow, flow.transport.tcp().unwrap(), &kernel);
        entries.into_iter().find(|entry| entry.setting == "transport.pacing").unwrap().verdict
    };
    assert_eq!(verdict("controller", "fq"), Verdict::Approximated);
    assert_eq!(verdict("controller", "fq_codel"), Verdict::Applied);
    assert_eq!(verdict("linux", "fq"), Verdict::Applied);
}

#[test]
fn a_flow_that_stops_is_told_what_is_still_sent() {
    let mut scenario = scenario(json!("cubic"), json!({}));
    let stops = |scenario: &Scenario| {
        let (_, entries) = judged(scenario, &["cubic"]);
        entries.into_iter().find(|entry| entry.setting == "stop")
    };
    assert_eq!(stops(&scenario), None);
    Arc::make_mut(&mut scenario.flows[0].settings).stop = Some(Span::from_secs(2));
    assert_eq!(stops(&scenario).unwrap().verdict, Verdict::Approximated);
}

/// The kernel has rules of its own, which the simulator follows with the recovery of Linux only.
#[test]
fn rules_of_linux_are_applied_where_the_simulator_follows_them() {
    for (setting, name) in
        [("nagle", "transport.nagle"), ("idle_restart", "transport.idle_restart")]
    {
        for (recovery, on, verdict) in [
            ("sack", true, Verdict::Approximated),
            ("newreno", true, Verdict::Approximated),
            ("linux", true, Verdict::Applied),
            ("sack", false, Verdict::Applied),
        ] {
            let mut transport = json!({ "recovery": recovery });
            transport[setting] = json!(on);
            assert_eq!(entry(transport, name).verdict, verdict, "{setting} = {on}, {recovery}");
        }
    }
}

#[test]
fn switches_become_settings_of_the_host() {
    let sysctl = |transport: Value, name: &str| {
        let sysctls = applied(transport).sysctls;
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
    assert_eq!(sysctl(json!({ "ecn": "passive" }), "tcp_ecn"), Some("2".to_owned()));
    // The recovery of Linux has duplicate reports in the simulator, whatever `dsack` says.
    assert_eq!(sysctl(json!({ "recovery": "linux" }), "tcp_dsack"), Some("1".to_owned()));
    let counted = entry(json!({ "ecn": "accurate" }), "transport.ecn").verdict;
    assert_eq!(counted, Verdict::Rejected);
    assert_eq!(sysctl(json!({ "recovery": "newreno" }), "tcp_sack"), Some("0".to_owned()));
    assert_eq!(sysctl(json!({ "rto": { "max": "30s" } }), "tcp_rto_max_ms"), Some("30000".into()));
}

#[test]
fn the_least_retransmission_timeout_is_kept_beside_the_delay_of_the_path() {
    let applied = applied(json!({ "rto": { "min": "1s" } }));
    assert_eq!(applied.metrics(Span::from_millis(500)).rto_min_ms, Some(500));
    assert_eq!(applied.metrics(Span::ZERO).rto_min_ms, Some(1000));
    assert_eq!(applied.metrics(Span::from_secs(2)).rto_min_ms, Some(4));
    let linux = self::applied(json!({ "rto": { "estimator": "linux" } }));
    assert_eq!(linux.metrics(Span::from_millis(500)).rto_min_ms, Some(200));
}
