//! Programs of users on the hosts of a scenario (`bentpipe shell`).

use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use serde_json::json;
use testbed::{Program, shell};

use super::{is_skipped, over_both, program, recorded, scenario};
use scenario::Scenario;

#[test]
fn a_program_finds_the_hosts_by_name_and_its_exit_status_is_told() {
    if is_skipped() {
        return;
    }
    let scenario = scenario(json!({}), json!({}));
    for (scenario, address) in over_both(scenario.clone()).iter().zip(["10.0.0.1", "fd00::1"]) {
        let found = program(&format!("getent hosts server | grep -q '^{address} ' && exit 7"));
        assert_eq!(shell(scenario, 1, &found, &[]).unwrap().status, 7);
        assert!(!fs::read_to_string("/etc/hosts").unwrap().contains(address));
    }
    let elsewhere = Program { host: Some("serfer".to_owned()), ..program("true") };
    let refused = shell(&scenario, 1, &elsewhere, &[]).unwrap_err().to_string();
    assert!(refused.contains("an end of a flow, or a proxy: server, client"), "{refused}");
}

#[test]
fn a_name_that_no_host_has_is_answered_at_once() {
    if is_skipped() {
        return;
    }
    // With the machine's own name servers it takes ten seconds, and `timeout` ends with 124.
    let lookup = program("timeout 3 getent hosts nobody.example");
    assert_eq!(shell(&scenario(json!({}), json!({})), 1, &lookup, &[]).unwrap().status, 2);
}

#[test]
fn programs_on_two_hosts_talk_across_the_link() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-kernel-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("page"), "over the satellite").unwrap();
    // Two programs in one: the one that the shell starts has to end too.
    let serve = format!(
        "sleep 1000 & python3 -m http.server 8000 --bind server --directory {}",
        folder.display()
    );
    let server = Program { host: Some("server".to_owned()), ..program(&serve) };
    let fetch = "import time, urllib.request as u\n\
        for attempt in range(100):\n\
        \x20   try: page = u.urlopen('http://server:8000/page').read(); break\n\
        \x20   except OSError: time.sleep(0.05)\n\
        assert page == b'over the satellite'";
    let client = Program {
        host: Some("client".to_owned()),
        command: ["python3", "-c", fetch].map(Into::into).to_vec(),
    };
    for scenario in over_both(scenario(json!({}), json!({}))) {
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0);
        assert!(!commands().iter().any(|command| command.contains(&*folder.to_string_lossy())));
        // SYN-ACK and answer; SYN, ACK and request. How many ACKs and FINs there are besides is a
        // matter of who is faster.
        assert!(ran.links[0].delivered_packets >= 2 && ran.links[1].delivered_packets >= 3);
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn hosts_between_which_no_flow_runs_reach_each_other() {
    if is_skipped() {
        return;
    }
    let flow = |to: &str| json!({ "from": "server", "to": to, "controller": "cubic", "traffic": { "bulk": "1B" } });
    let link = json!({ "between": ["server", "client"], "rate": "10Mbit/s", "delay": "20ms" });
    let other = json!({ "between": ["server", "other"], "rate": "10Mbit/s", "delay": "20ms" });
    let whole = json!({ "link": [link, other], "flow": [flow("client"), flow("other")] });
    let scenario = Scenario::from_json(&whole, &[]).unwrap();
    // Nobody listens there, which only the host itself can say.
    let knock = "import socket\n\
        try: socket.create_connection(('other', 9), timeout=5)\n\
        except ConnectionRefusedError: raise SystemExit(7)";
    let client = Program {
        host: Some("client".to_owned()),
        command: ["python3", "-c", knock].map(Into::into).to_vec(),
    };
    for scenario in over_both(scenario) {
        assert_eq!(shell(&scenario, 1, &client, &[]).unwrap().status, 7, "{:?}", scenario.ip);
    }
}

/// The command lines of all processes.
fn commands() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    commands.map(|command| String::from_utf8_lossy(&command).into_owned()).collect()
}

#[test]
fn a_server_that_does_not_start_prevents_the_program() {
    if is_skipped() {
        return;
    }
    let absent =
        Program { host: Some("server".to_owned()), command: vec!["absent-program".into()] };
    let ran = shell(&scenario(json!({}), json!({})), 1, &program("exit 3"), &[absent]);
    assert!(ran.unwrap_err().to_string().starts_with("cannot start absent-program: "));
}

/// Set for the process that the test below starts of itself, and kills.
const VICTIM: &str = "BENTPIPE_RUNS_UNTIL_KILLED";

#[test]
fn a_run_that_is_killed_leaves_nothing() {
    if is_skipped() {
        return;
    }
    if std::env::var_os(VICTIM).is_some() {
        recorded(&scenario(json!({}), json!({ "traffic": { "bulk": "unlimited" } })));
        return;
    }
    let mut running = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "programs::a_run_that_is_killed_leaves_nothing"])
        .env(VICTIM, "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let process = format!("/proc/{}", running.id());
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let mut namespaces = Vec::new();
    for _ in 0..100 {
        namespaces = links(&format!("{process}/fd"));
        namespaces.retain(|link| link.starts_with("net:") && *link != own.to_string_lossy());
        if namespaces.len() == 2 {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(namespaces.len(), 2, "{namespaces:?}");
    assert!(held(&namespaces) >= 2);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(held(&namespaces), 0);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(namespaces.iter().all(|namespace| !mounts.contains(namespace.as_str())));
}

/// How many descriptors and threads of all processes hold one of these namespaces.
fn held(namespaces: &[String]) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let held = processes.flat_map(|process| {
        let process = process.path().display().to_string();
        let mut held = links(&format!("{process}/fd"));
        let threads = fs::read_dir(format!("{process}/task")).into_iter().flatten().flatten();
        held.extend(threads.flat_map(|thread| links(&format!("{}/ns", thread.path().display()))));
        held
    });
    held.filter(|link| namespaces.contains(link)).count()
}

/// Targets of the links in a folder of `/proc`; processes come and go.
fn links(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.map(|target| target.display().to_string()).collect()
}
