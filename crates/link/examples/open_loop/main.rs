//! Active queue management on its own, for a comparison with ns-3 (`benches/aqm.py`).
//!
//! `open_loop arrivals PATTERN` prints the packets of a pattern: time in ns, number of the flow,
//! bytes. `open_loop run ALGORITHM PATTERN` sends them through the algorithm with its defaults, and
//! prints one line of JSON.

#![expect(clippy::print_stdout, reason = "the output of the program")]

mod arrivals;
mod queue;

use std::error::Error;
use std::fmt::Write;

use link::Aqm;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let known = arrivals::PATTERNS.join(", ");
    let of = |pattern| arrivals::arrivals(pattern).ok_or(format!("patterns: {known}"));
    match arguments.as_slice() {
        ["arrivals", pattern] => {
            let mut text = String::new();
            for (at, flow) in of(pattern)? {
                writeln!(text, "{at} {flow} {}", arrivals::BYTES)?;
            }
            print!("{text}");
        }
        ["run", algorithm, pattern] => {
            let aqm = Aqm::all().into_iter().find(|aqm| aqm.name() == *algorithm);
            let aqm = aqm.ok_or("no such algorithm")?;
            let queue::Outcome { arrived, sent, dropped, mean_delay_ms } =
                queue::pass(aqm, &of(pattern)?, 1);
            println!(
                r#"{{"arrived": {arrived}, "sent": {sent}, "dropped": {dropped}, "mean_delay_ms": {mean_delay_ms:.6}}}"#
            );
        }
        _ => return Err("open_loop arrivals PATTERN | run ALGORITHM PATTERN".into()),
    }
    Ok(())
}
