//! Runs a scenario file on the kernel of this machine and prints its recording as JSON.

use std::path::Path;

use scenario::{Loaded, Override};
use testbed::Options;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (file, sets) = arguments.split_first().ok_or("usage: run FILE [PATH=VALUE]...")?;
    let sets = sets.iter().map(|set| set.parse()).collect::<Result<Vec<Override>, _>>()?;
    let loaded = Loaded::load(Path::new(file), &sets)?;
    let recording = testbed::run(&loaded.scenario, loaded.scenario.seed, Options::default())?;
    #[expect(clippy::print_stdout, reason = "the point of this program")]
    {
        print!("{}", recording.to_json_pretty());
    }
    Ok(())
}
