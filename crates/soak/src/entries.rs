//! Entry points of fuzzers. Each parser must answer with a value or an error, and what it has
//! accepted must be taken apart without a panic. `fuzz/` has a target for each, and their corpora
//! run as an ordinary test of this crate.

use std::fs;
use std::path::Path;

use explain::explain;
use recording::load;
use scenario::{Loaded, NewValue, Override, StudySource};
use wire::{IpPacket, UdpHeader};

/// An entry for a fuzzer.
pub type Entry = fn(&[u8]);

/// All entries with the names of their corpora.
pub const ENTRIES: [(&str, Entry); 9] = [
    ("scenario", scenario),
    ("override", set),
    ("fade_csv", fade_csv),
    ("fade_parquet", fade_parquet),
    ("study", study),
    ("recording", recording),
    ("packet", packet),
    ("proxy", proxy),
    ("proxy_metrics", proxy_metrics),
];

/// A scenario file.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    read(text, &[]);
}

fn read(text: &str, sets: &[Override]) {
    match Loaded::parse(text, "fuzz.toml", sets) {
        Ok(loaded) => {
            let explanation = explain(&loaded.scenario, &loaded.written).to_string();
            assert!(!explanation.contains("NaN"), "{explanation}");
            let written = loaded.given.to_toml(&loaded.scenario, loaded.scenario.seed);
            let again = Loaded::parse(&written, "fuzz.toml", &[]);
            assert!(again.is_ok(), "what was written is not read again:\n{written}");
        }
        Err(errors) => {
            let told = errors.to_string();
            assert!(!errors.0.is_empty() && !told.is_empty());
            // The check and the types are one: nothing is left for the types to refuse.
            assert!(!told.contains("a value that the language admits"), "{told}");
        }
    }
}

/// The scenario that overrides are written over.
const OVERRIDDEN: &str = r#"
[[link]]
between = ["a", "b"]
rate = "2Mbit/s"
delay = "250ms"
forward = { queue = { packets = 64 } }
[[flow]]
from = "a"
to = "b"
controller = "newreno"
traffic = { download = "1MB" }
"#;

/// Overrides, one for each line, as `--set` has them.
pub fn set(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let sets: Vec<Override> = text.lines().take(8).filter_map(|line| line.parse().ok()).collect();
    read(OVERRIDDEN, &sets);
}

/// An attenuation file.
fn fade(bytes: &[u8], ending: &str) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let file = folder.path().join("fade").with_extension(ending);
    if fs::write(&file, bytes).is_err() {
        return;
    }
    let channel = format!("{{ eb_n0 = 12.0, code = \"uncoded\", attenuation = {file:?} }}");
    let path = "link.0.forward.channel".to_owned();
    let sets = [Override { path, value: NewValue::Typed(channel) }];
    let text = format!("duration = \"4s\"\n{OVERRIDDEN}");
    if let Ok(loaded) = Loaded::parse(&text, "fuzz.toml", &sets) {
        explain(&loaded.scenario, &loaded.written).to_string();
    }
}

/// An attenuation file with commas.
pub fn fade_csv(bytes: &[u8]) {
    fade(bytes, "csv");
}

/// An attenuation file in Parquet.
pub fn fade_parquet(bytes: &[u8]) {
    fade(bytes, "parquet");
}

/// A study file.
pub fn study(bytes: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let file = folder.path().join("study.toml");
    if fs::write(&file, bytes).is_ok() {
        match StudySource::load(&file) {
            Ok(study) => drop(study.document().to_string()),
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
}

/// A saved run. The first byte chooses the file, the rest is its content; the other file is whole.
pub fn recording(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(folder) = tempfile::tempdir() else { return };
    let file = |name: &str| folder.path().join(name);
    let name = match first % 3 {
        0 => "recording.json",
        1 => "flow_series.parquet",
        _ => "link_series.parquet",
    };
    let written = whole_recording(folder.path()) && fs::write(file(name), rest).is_ok();
    if written && let Ok(recording) = load(folder.path()) {
        recording.digest();
        recording.to_json();
    }
}

/// Saves a small recording with series.
fn whole_recording(folder: &Path) -> bool {
    let text = format!("duration = \"2s\"\n{OVERRIDDEN}[record]\ninterval = \"1s\"\n");
    let Ok(loaded) = Loaded::parse(&text, "fuzz.toml", &[]) else { return false };
    let recording = simulator::run(&loaded.scenario, 1, simulator::Options::default());
    let output = recording::OutputFolder::create(folder.join("."), true);
    output.is_ok_and(|output| output.save(&recording, &text, &[]).is_ok())
}

/// A file of the proxy. What it accepts becomes rules, which no value may add to.
pub fn proxy(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match proxy::config::Loaded::parse(text, Path::new("fuzz.toml")) {
        Ok(loaded) => {
            use proxy::rules::CHAINS;
            let rules = proxy::rules::ruleset(&loaded.config);
            assert_eq!(rules.matches("chain ").count(), CHAINS, "{rules}");
            assert_eq!(rules.matches('{').count(), rules.matches('}').count(), "{rules}");
            assert_eq!(rules.matches([';', '\\', '`', '$']).count(), 2 * CHAINS, "{rules}");
        }
        Err(errors) => assert!(!errors.0.is_empty() && !errors.to_string().is_empty()),
    }
}

/// A request to the page of metrics.
pub fn proxy_metrics(bytes: &[u8]) {
    let answer = proxy::answer_to(bytes);
    let text = str::from_utf8(&answer).unwrap_or_default();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    assert!(head.starts_with("HTTP/1.1 "), "{text}");
    // Nothing of the request comes back.
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(usize::MAX);
    assert!(body.is_empty() || body.len() == length, "{text}");
    assert_eq!(head.lines().count(), 4, "{text}");
}

/// An IP packet as the kernel backend reads it.
pub fn packet(bytes: &[u8]) {
    if let Some(mut packet) = IpPacket::read(bytes) {
        assert_eq!(packet.bytes(), bytes);
        let (destination, ports) = (packet.destination(), packet.ports());
        packet.mark();
        assert_eq!((packet.destination(), packet.ports()), (destination, ports));
        assert_eq!(packet.ecn(), wire::ip::CE);
    }
    if let Some((_, payload)) = UdpHeader::read(bytes) {
        assert!(payload.len() <= bytes.len());
    }
}
