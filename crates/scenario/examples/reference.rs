//! Writes the reference of scenarios:
//! `cargo run -p bentpipe-scenario --example reference > docs/scenario.md`.

#![allow(clippy::print_stdout, reason = "it is a program")]

fn main() {
    print!("{}", scenario::reference());
}
