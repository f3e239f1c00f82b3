//! Bentpipe for Rust programs: load a scenario, run it on the simulator, read the recording.
//!
//! Other crates of the workspace are parts; this one is the entrance, and names only what a user
//! needs. The Python package has the same and more: studies, reports and the Linux testbed.
//!
//! # Run a scenario
//!
//! ```
//! let text = r#"
//!     duration = "60s"
//!
//!     [[link]]
//!     between = ["server", "client"]
//!     rate = "2Mbit/s"
//!     delay = "250ms"
//!
//!     [[flow]]
//!     from = "server"
//!     to = "client"
//!     controller = "cubic"
//!     traffic = { download = "500kB" }
//! "#;
//! let scenario = bentpipe::Scenario::parse(text, "geo.toml", &[])?;
//! let recording = bentpipe::run(&scenario, scenario.seed);
//!
//! let flow = &recording.flows[0];
//! assert!(flow.completed);
//! assert_eq!(flow.bytes, 500_000);
//! // At least the serialisation time, and never faster than the link.
//! assert!(flow.completion_s.is_some_and(|time| time > 2.0));
//! assert!(flow.goodput_bps < 2e6);
//! # Ok::<(), bentpipe::ScenarioErrors>(())
//! ```
//!
//! # Load a file and change values
//!
//! Scenario files have the same keys as everywhere, and overrides are those of `--set`.
//!
//! ```
//! use bentpipe::Scenario;
//!
//! let sets = ["flow.0.controller=hybla".parse()?, "flow.0.traffic={download=\"200kB\"}".parse()?];
//! let scenario = Scenario::load("../../examples/geo-download.toml", &sets)?;
//! assert_eq!(scenario.flows[0].controller.entry().name, "hybla");
//! # Ok::<(), bentpipe::ScenarioErrors>(())
//! ```
//!
//! Mistakes are reported before anything runs, each with its line and the nearest valid name:
//!
//! ```
//! let errors = bentpipe::Scenario::parse("duratoin = '60s'", "geo.toml", &[]).unwrap_err();
//! let text = errors.to_string();
//! assert!(text.contains("geo.toml:1") && text.contains("duration"), "{text}");
//! ```
//!
//! # Many runs
//!
//! [`run_all`] uses all cores. Recordings come in the order of the jobs and do not depend on the
//! number of threads. [`run_each`] keeps only part of each recording and can be cancelled.
//!
//! ```
//! use std::sync::Arc;
//! use bentpipe::{Job, Quantity, Scenario};
//!
//! # let text = "[[link]]\nbetween = ['a', 'b']\nrate = '2Mbit/s'\ndelay = '250ms'
//! # channel = { per = 1e-2 }
//! # [[flow]]\nfrom = 'a'\nto = 'b'\ncontroller = 'reno'\ntraffic = { download = '100kB' }";
//! let scenario = Arc::new(Scenario::parse(text, "lossy.toml", &[])?);
//! let jobs: Vec<Job> =
//!     (1..=5).map(|seed| Job { scenario: Arc::clone(&scenario), seed }).collect();
//! let recordings = bentpipe::run_all(&jobs, None);
//!
//! let time = Quantity::named("flows", "completion_s", None, None, "mean").expect("a column");
//! let times: Vec<f64> = recordings.iter().filter_map(|recording| time.of(recording)).collect();
//! assert_eq!(times.len(), 5);
//! assert!(times.iter().any(|other| *other != times[0]), "losses differ between seeds");
//! # Ok::<(), bentpipe::ScenarioErrors>(())
//! ```
//!
//! # Keep a recording
//!
//! ```
//! use bentpipe::OutputFolder;
//!
//! # let text = "[[link]]\nbetween = ['a', 'b']\nrate = '2Mbit/s'\ndelay = '250ms'
//! # [[flow]]\nfrom = 'a'\nto = 'b'\ncontroller = 'reno'\ntraffic = { download = '100kB' }";
//! # let place = tempfile::tempdir()?;
//! # let folder = place.path().join("run");
//! let scenario = bentpipe::Scenario::parse(text, "small.toml", &[])?;
//! let recording = bentpipe::run(&scenario, 1);
//! OutputFolder::create(&folder, false)?.save(&recording, text, &[])?;
//! assert_eq!(bentpipe::load(&folder)?.digest(), recording.digest());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use batch::{Aggregate, Job, Quantity, UnknownQuantity, number_columns, run_all, run_each};
pub use congestion::{Entry, entries as controllers};
pub use explain::explain;
pub use recording::{
    Column, FlowFigures, FlowRecord, LinkRecord, LoadError, OutputError, OutputFolder, Recording,
    Table, Values, load,
};
pub use scenario::{Override, Scenario, ScenarioError, ScenarioErrors, model, schema};
pub use simulator::{Options, Progress};

/// Runs `scenario` on the simulator. The result depends on the scenario and `seed` only, but for
/// `wall_s`, the wall time of the run.
pub fn run(scenario: &Scenario, seed: u64) -> Recording {
    batch::run(scenario, seed, Options::default())
}

/// As [`run`], with an observer of progress that can stop the run, and the other [`Options`].
///
/// ```
/// # let text = "[[link]]\nbetween = ['a', 'b']\nrate = '100Mbit/s'\ndelay = '5ms'
/// # [[flow]]\nfrom = 'a'\nto = 'b'\ncontroller = 'reno'\ntraffic = { bulk = 'unlimited' }";
/// let scenario = bentpipe::Scenario::parse(text, "endless.toml", &[])?;
/// let mut stop = |_: &bentpipe::Progress| false;
/// let options = bentpipe::Options { progress: Some(&mut stop), ..Default::default() };
/// assert!(bentpipe::run_with(&scenario, 1, options).partial);
/// # Ok::<(), bentpipe::ScenarioErrors>(())
/// ```
pub fn run_with<'a>(scenario: &'a Scenario, seed: u64, options: Options<'a>) -> Recording {
    batch::run(scenario, seed, options)
}
