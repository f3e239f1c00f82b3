//! Applications that do not end in their time, and keys of times without effect.

use explain::{WarningKind, explain};
use scenario::Loaded;

use super::explained::example;

/// The messages of this kind about a flow with these keys over a link of 500 ms there and back.
fn found(keys: &str, kind: WarningKind) -> Vec<String> {
    let text = format!(
        "duration = \"30s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbit/s\"\n\
         delay = \"250ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{keys}\n"
    );
    let loaded = Loaded::parse(&text, "times.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    warnings.into_iter().filter(|one| one.kind == kind).map(|one| one.message).collect()
}

const CUBIC: &str = "controller = \"cubic\"\n";
const UDP: &str = "transport = { protocol = \"udp\" }\n";

/// Videos, tests, calls, requests and pages take a time of their own.
#[test]
fn an_application_that_the_run_cuts_short_has_a_warning() {
    for (long, message, short) in [
        (
            format!("{CUBIC}traffic = {{ video = {{ length = \"40s\" }} }}"),
            "cannot complete: its video takes at least 40s, and it has 30s",
            format!("{CUBIC}traffic = {{ video = {{ length = \"20s\" }} }}"),
        ),
        (
            format!("start = \"20s\"\n{CUBIC}traffic = {{ speedtest = {{}} }}"),
            "cannot complete: the test takes at least 28s, and it has 10s",
            format!("{CUBIC}traffic = {{ speedtest = {{}} }}"),
        ),
        (
            format!("{UDP}traffic = {{ call = {{ duration = \"31s\" }} }}"),
            "cannot complete: the call takes at least 31s, and it has 30s",
            format!("{UDP}traffic = {{ call = {{ duration = \"29s\" }} }}"),
        ),
        (
            format!("{CUBIC}traffic = {{ messages = {{ count = 11, interval = \"4s\" }} }}"),
            "cannot complete: the last request takes at least 40s, and it has 30s",
            format!("{CUBIC}traffic = {{ messages = {{ count = 5, interval = \"4s\" }} }}"),
        ),
        (
            format!(
                "stop = \"25s\"\n{CUBIC}traffic = {{ web = {{ pages = 4, interval = \"9s\" }} }}"
            ),
            "cannot complete: the start of the last page takes at least 27s, and it has 25s",
            format!("{CUBIC}traffic = {{ web = {{ pages = 3, interval = \"9s\" }} }}"),
        ),
        (
            format!("{CUBIC}traffic = {{ page = {{ site = \"news\", pages = 3 }} }}"),
            "cannot complete: the start of the last page takes at least 60s, and it has 30s",
            format!("{CUBIC}traffic = {{ page = {{ site = \"news\" }} }}"),
        ),
    ] {
        assert_eq!(found(&long, WarningKind::CannotComplete), [message], "{long}");
        let none: [String; 0] = [];
        assert_eq!(found(&short, WarningKind::CannotComplete), none, "{short}");
    }
}

/// RFC 9959: the path is another one if its RTT is at most half or more than ten times the saved
/// one. The handshake takes 500.09 ms, and a full packet and its ACK 501.2 ms.
#[test]
fn a_saved_round_trip_of_another_path_has_a_warning() {
    let of = |saved: &str| {
        let keys = format!(
            "transport = {{ careful_resume = {{ saved_cwnd = \"600kB\", saved_rtt = \"{saved}\" }} }}\n\
             {CUBIC}traffic = {{ download = \"5MB\" }}"
        );
        found(&keys, WarningKind::ResumeWithoutEffect).len()
    };
    let rtts = ["50ms", "51ms", "500ms", "1000ms", "1003ms", "2s"];
    assert_eq!(rtts.map(of), [1, 0, 0, 0, 1, 1]);
}

#[test]
fn a_stop_of_one_page_has_a_warning() {
    let none: [String; 0] = [];
    let of = |traffic: &str| {
        found(
            &format!("stop = \"10ms\"\n{CUBIC}traffic = {traffic}"),
            WarningKind::StopWithoutEffect,
        )
    };
    for traffic in ["{ web = { pages = 1 } }", "{ page = { site = \"news\" } }"] {
        let [message] = &*of(traffic) else { panic!("{traffic}") };
        assert!(message.contains("a page that is loading is loaded to its end"), "{message}");
    }
    for traffic in ["{ web = { pages = 2 } }", "{ web = {} }", "{ download = \"1MB\" }"] {
        assert_eq!(of(traffic), none, "{traffic}");
    }
}

#[test]
fn an_interval_of_one_page_is_refused() {
    let text = "duration = \"30s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10Mbit/s\"\n\
                delay = \"250ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ncontroller = \"cubic\"\n\
                traffic.web = { pages = 1, interval = \"5s\" }\n";
    let refused = Loaded::parse(text, "times.toml", &[]).err().unwrap().to_string();
    assert!(
        refused.contains("flow[0].traffic.web.interval: expected no `interval` here"),
        "{refused}"
    );
    for pages in ["2", ""] {
        let keys = if pages.is_empty() { String::new() } else { format!("pages = {pages}, ") };
        let text = text.replace("pages = 1, ", &keys);
        assert!(Loaded::parse(&text, "times.toml", &[]).is_ok(), "{text}");
    }
}

/// A noise temperature counts where rain attenuates the signal: on links and in beams.
#[test]
fn a_noise_temperature_without_rain_has_a_warning() {
    let of = |sets: &[&str]| {
        let warnings = example("beam-rain", sets).warnings;
        let noise = warnings.iter().filter(|one| one.kind == WarningKind::NoiseWithoutRain);
        noise.map(ToString::to_string).collect::<Vec<_>>()
    };
    let none: [String; 0] = [];
    assert_eq!(of(&[]), none);
    assert_eq!(of(&["beam.0.group.1.system_temperature=150"]), none);
    let dry = of(&["beam.0.group.0.system_temperature=150"]);
    let message =
        "group clear of spot: system_temperature has no effect without an attenuation or rain";
    assert!(dry.len() == 1 && dry[0].ends_with(message), "{dry:?}");
    for (attenuation, expected) in [("", 1), (", attenuation = 3.0", 0)] {
        let text = format!(
            "duration = \"30s\"\n[[link]]\nbetween = [\"a\", \"b\"]\ndelay = \"250ms\"\n\
             backward = {{ rate = \"1Mbit/s\" }}\nforward.channel = {{ es_n0 = 15.5, system_temperature = 150, \
             modem = {{ name = \"dvb-s2\", bandwidth = 1e6 }}{attenuation} }}\n[[flow]]\nfrom = \"a\"\n\
             to = \"b\"\n{CUBIC}traffic = {{ download = \"1MB\" }}\n"
        );
        let loaded = Loaded::parse(&text, "times.toml", &[]);
        let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let warnings = explain(&loaded.scenario, &loaded.written).warnings;
        let noise = warnings.iter().filter(|one| one.kind == WarningKind::NoiseWithoutRain);
        assert_eq!(noise.count(), expected, "{text}");
    }
}
