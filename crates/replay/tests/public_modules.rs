//! Controllers against public modules, where those are: `BENTPIPE_MODULES` names the folders of
//! their files of C, divided by colons, and `BENTPIPE_KERNEL` a kernel's sources, by default the
//! newest of `/usr/src`. Without them the test says what is missing and compares nothing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, which says what it skips")]

use std::path::PathBuf;

use replay::Library;
use replay::modules::Module;
use replay::paced::{self, Followed};
use replay::sources;

/// Paths to compare over.
const PATHS: usize = 8;
/// Share of the ACKs after which both are near each other, of pairs without a reason to differ.
const NEAR: f64 = 0.99;

fn folders() -> Option<Vec<PathBuf>> {
    let named = std::env::var_os("BENTPIPE_MODULES");
    if named.is_none() {
        println!("skipped: BENTPIPE_MODULES names no folders of public modules");
    }
    Some(std::env::split_paths(&named?).collect())
}

#[test]
fn controllers_follow_public_modules() {
    let Some(folders) = folders() else { return };
    let kernel = std::env::var_os("BENTPIPE_KERNEL").map(PathBuf::from);
    let source = match sources::find(kernel.as_deref()) {
        Ok(source) => source,
        Err(message) => {
            println!("skipped: {message} (BENTPIPE_KERNEL)");
            return;
        }
    };
    for folder in folders {
        let module = Module::of(&folder).unwrap();
        let load = |path: &std::path::Path| Library::load(path).map_err(|error| error.to_string());
        let library = sources::library(&source, Some(&folder), load).unwrap();
        for pair in module.pairs {
            let comparison = pair.comparison(library).unwrap();
            let mut sum = Followed::default();
            for path in pair.paths(PATHS) {
                sum += paced::follow(&comparison, &path).unwrap();
            }
            let near = sum.near_windows.min(sum.near_rates) as f64 / sum.acks as f64;
            println!("{} {}: {near:.4}", module.name, pair.parameters());
            assert_eq!(near >= NEAR, pair.reason.is_none(), "{pair:?}: {near:.4}");
        }
    }
}
