//! The corpora of the fuzz targets as an ordinary test: what once broke a parser breaks none again.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failed test may panic")]

use std::fs;
use std::path::PathBuf;

use soak::entries::ENTRIES;

fn corpora() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus").into()
}

#[test]
fn no_input_of_the_corpora_panics() {
    for (name, entry) in ENTRIES {
        let mut inputs: Vec<_> =
            fs::read_dir(corpora().join(name)).unwrap().map(|file| file.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in &inputs {
            println!("{}", input.display());
            let bytes = fs::read(input).unwrap();
            entry(&bytes);
            // And what is left of it when it is cut or a bit is wrong.
            for part in 1..4 {
                entry(&bytes[..bytes.len() * part / 4]);
                let mut wrong = bytes.clone();
                if let Some(byte) = wrong.get_mut(bytes.len() * part / 4) {
                    *byte ^= 1 << part;
                }
                entry(&wrong);
            }
        }
    }
}

#[test]
fn the_corpora_are_small() {
    let files = ENTRIES.iter().flat_map(|(name, _)| fs::read_dir(corpora().join(name)).unwrap());
    let sizes: Vec<_> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(sizes.iter().sum::<u64>() < 500_000 && sizes.len() < 500);
}
