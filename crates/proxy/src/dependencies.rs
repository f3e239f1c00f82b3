//! The crates that are linked into the daemon, which runs with `CAP_NET_ADMIN`.

use std::collections::BTreeSet;
use std::process::Command;

/// Most crates of the daemon, with itself and the macros of its build.
const MOST: usize = 48;
/// Parts of names of crates for which the daemon has no use: QUIC, TLS, columns of recordings.
const ABSENT: &[&str] =
    &["quinn", "rustls", "ring", "parquet", "arrow", "brotli", "zstd", "scenario", "tcp"];

/// Names of the crates in a list as `cargo tree --prefix none` prints it.
fn names(tree: &str) -> BTreeSet<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

/// The crates of `names` that the daemon must not have.
fn unwanted<'a>(names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let is_part = |name: &str, part: &str| name.split(['-', '_']).any(|word| word == part);
    let is_unwanted = |name: &&str| ABSENT.iter().any(|part| is_part(name, part));
    names.iter().copied().filter(is_unwanted).collect()
}

#[test]
fn the_daemon_has_few_crates() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--package=proxy", "--edges=normal", "--prefix=none", "--no-dedupe"]);
    cargo.args(["--locked", "--offline"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let names = names(&tree);
    assert!(names.contains("proxy") && names.contains("bentpipe-middlebox"), "{tree}");
    assert_eq!(unwanted(&names), <[&str; 0]>::default());
    assert!(names.len() <= MOST, "{} crates: {names:?}", names.len());
}

#[test]
fn an_unwanted_crate_is_found_by_a_part_of_its_name() {
    let tree = "proxy v0.1.0 (/proxy)\nzstd-sys v2.1.2\nstrsim v0.11.1\nquinn-proto v0.11.19\n";
    assert_eq!(unwanted(&names(tree)), ["quinn-proto", "zstd-sys"]);
}
