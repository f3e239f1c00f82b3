//! Hosts with profiles of Linux on the kernel of this machine.

use serde_json::json;
use testbed::{Program, shell, unset_for_programs};

use super::{is_skipped, program, recorded, scenario, total};

#[test]
fn a_profile_sets_the_sysctls_of_its_namespace() {
    if is_skipped() {
        return;
    }
    let hosts = json!({ "from": "linux-6.18", "to": "linux-6.12" });
    let scenario = scenario(json!({}), json!({ "host": hosts }));
    for (host, rmem) in [("server", "4096 131072 33554432"), ("client", "4096 131072 6291456")] {
        for (file, expected) in
            [("tcp_rmem", rmem), ("tcp_wmem", "4096 16384 4194304"), ("tcp_rto_max_ms", "120000")]
        {
            let text =
                format!("test \"$(tr '\\t' ' ' < /proc/sys/net/ipv4/{file})\" = '{expected}'");
            let read = Program { host: Some(host.to_owned()), ..program(&text) };
            let ran = shell(&scenario, 1, &read, &[]).unwrap();
            assert_eq!(ran.status, 0, "{host}: {file} is not {expected}");
        }
    }
}

#[test]
fn programs_have_the_congestion_control_of_the_flows_and_notes_name_what_they_have_not() {
    if is_skipped() {
        return;
    }
    // Every kernel allows Reno to each namespace, and has another default.
    let file = "/proc/sys/net/ipv4/tcp_congestion_control";
    let of_machine = std::fs::read_to_string(file).unwrap();
    let reno = json!({ "host": "linux-6.18", "controller": "newreno" });
    let whole = scenario(json!({}), reno);
    for host in ["server", "client"] {
        let read = program(&format!("test \"$(cat {file})\" = reno"));
        let read = Program { host: Some(host.to_owned()), ..read };
        assert_eq!(shell(&whole, 1, &read, &[]).unwrap().status, 0, "{host}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), of_machine);
    assert_eq!(unset_for_programs(&whole).unwrap(), Vec::<String>::new());
    let fixed = scenario(json!({}), json!({ "controller": "newreno" }));
    let notes = unset_for_programs(&fixed).unwrap();
    let options = "transport.delayed_ack, transport.receive_buffer";
    let note = |host: &str| {
        format!(
            "programs on {host} have their own {options}, because only an option of a socket sets it"
        )
    };
    assert_eq!(notes, [note("server"), note("client")]);
}

#[test]
fn a_limit_of_unsent_data_is_a_sysctl_of_the_host() {
    if is_skipped() {
        return;
    }
    let flow = json!({ "host": "linux-6.18", "traffic": { "download": "2MB" },
                       "transport": { "send_buffer": { "notsent_lowat": "128KiB" } } });
    let whole = scenario(json!({ "delay": "50ms", "rate": "20Mbit/s" }), flow);
    let read = program("test $(cat /proc/sys/net/ipv4/tcp_notsent_lowat) = 131072");
    let read = Program { host: Some("server".to_owned()), ..read };
    assert_eq!(shell(&whole, 1, &read, &[]).unwrap().status, 0);
    let recording = recorded(&whole);
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    let settings = &recording.kernel.as_ref().unwrap().settings;
    let lowat = "transport.send_buffer.notsent_lowat";
    let found = settings.iter().find(|one| one.setting == lowat).unwrap();
    assert_eq!((&*found.verdict, &*found.kernel), ("applied", "tcp_notsent_lowat"));
}

#[test]
fn a_download_between_hosts_of_linux_6_18_tunes_the_buffers_of_the_kernel() {
    if is_skipped() {
        return;
    }
    let link = json!({ "delay": "100ms", "rate": "20Mbit/s" });
    let scenario =
        scenario(link, json!({ "host": "linux-6.18", "traffic": { "download": "2MB" } }));
    let recording = recorded(&scenario);
    assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
    let settings = &recording.kernel.as_ref().unwrap().settings;
    let by = |name: &str| {
        let found: Vec<_> = settings.iter().filter(|one| one.setting == name).collect();
        // Both ends have the same, so each verdict is there once.
        assert_eq!(found.len(), 1, "{name}");
        (found[0].verdict.clone(), found[0].kernel.clone())
    };
    assert_eq!(by("transport.send_buffer"), ("applied".to_owned(), "tcp_wmem".to_owned()));
    assert!(by("transport.receive_buffer").1.contains("the rule of this kernel, "));
    assert_eq!(by("transport.recovery").0, "applied");
    assert_eq!(by("transport.delayed_ack").0, "applied");
}

#[test]
fn the_kernel_agrees_on_ecn_as_the_ends_have_it() {
    if is_skipped() {
        return;
    }
    let link = json!({ "delay": "20ms", "rate": "5Mbit/s", "forward": { "aqm": "codel" } });
    let marks = |ecn: serde_json::Value| {
        let flow = json!({ "host": "linux-6.18", "transport": { "ecn": ecn },
                           "traffic": { "download": "2MB" } });
        let recording = recorded(&scenario(link.clone(), flow));
        assert!(recording.flows[0].completed, "{:?}", recording.flows[0]);
        let settings = &recording.kernel.as_ref().unwrap().settings;
        let found = settings.iter().filter(|one| one.setting == "transport.ecn");
        assert!(found.clone().all(|one| one.verdict == "applied"), "{settings:?}");
        let asked: Vec<_> = found.map(|one| one.asked.clone()).collect();
        (total(&recording.tables, "aqm", "marked_packets", 0), asked)
    };
    let (marked, asked) = marks(json!({ "from": "passive", "to": true }));
    assert_eq!(asked, ["passive at server", "true at client"]);
    assert!(marked > 0);
    assert_eq!(marks(json!("passive")), (0, vec!["passive".to_owned()]));
    assert_eq!(marks(json!({ "from": true, "to": "passive" })).0, 0);
}
