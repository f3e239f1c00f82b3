//! Lists the controllers of this folder, for the build scripts that compile them.

use std::path::Path;

/// The controllers, each in a file of its own.
pub fn controllers(sources: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(sources).expect("bpf/ is there").flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".c").map(str::to_owned))
        .collect();
    names.sort();
    names
}
