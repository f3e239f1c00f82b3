//! Compares the segments of captures with tshark's:
//! `cargo run -p capture --example against_tshark -- FILE...`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../tests/tshark/mod.rs"]
mod tshark;

use std::path::PathBuf;

fn main() {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        println!("{}", path.display());
        let Some(theirs) = tshark::tsharks(&path) else {
            println!("  tshark is not installed");
            return;
        };
        for (field, it) in tshark::differences(&theirs, &tshark::ours(&path)) {
            let place =
                if it.differing > 0 { format!(", first {}", it.first) } else { String::new() };
            if it.tshark + it.here > 0 {
                println!(
                    "  {field}: tshark {}, here {}, differing {}{place}",
                    it.tshark, it.here, it.differing
                );
            }
        }
    }
}
