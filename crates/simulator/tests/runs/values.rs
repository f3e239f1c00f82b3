//! Every controller by the numbers of its runs. A change that is meant to move no result leaves this
//! snapshot as it is, whatever it renames; one that moves results says which in the changelog.

use std::fmt::Write;

use crate::{geo, run};

/// What meets every controller: random losses, a full queue, and two connections that share it.
const PATHS: [(&str, &str, &str); 3] = [
    ("losses", "rate = \"4Mbit/s\"\nchannel = { per = 0.005 }", r#"download = "2MB""#),
    ("queue", "rate = \"2Mbit/s\"\nqueue = { packets = 40 }", r#"bulk = "unlimited""#),
    ("pages", "rate = \"2Mbit/s\"\nqueue = { packets = 30 }", "web = { pages = 3 }"),
];

/// A controller and its variants, each with its setting in a scenario.
fn forms(entry: &congestion::Entry) -> Vec<(String, String)> {
    let name = entry.name;
    let variants = congestion::variants(name).map(|(variant, _)| {
        (format!("{name}/{variant}"), format!("{{ name = {name:?}, variant = {variant:?} }}"))
    });
    std::iter::once((name.to_owned(), format!("{name:?}"))).chain(variants).collect()
}

#[test]
fn no_number_of_any_controller_changes_unnoticed() {
    let mut table = String::new();
    for (name, setting) in congestion::entries().flat_map(forms) {
        for (path, link, traffic) in PATHS {
            for recovery in ["sack", "linux"] {
                let transport = format!("recovery = \"{recovery}\"");
                let text = geo(link, &transport, traffic)
                    .replace("3000s", "60s")
                    .replace("\"newreno\"", &setting)
                    + "[record]\ninterval = \"1s\"\n";
                let digest = run(&text).value_digest();
                writeln!(table, "{name:20} {path:8} {recovery:8} {}", &digest[..16]).unwrap();
            }
        }
    }
    insta::assert_snapshot!(table);
}
