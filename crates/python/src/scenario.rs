//! Scenarios: load, build, change, explain, schema.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use prototype::errors::fields;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::model::Channel;
use scenario::{Given, Loaded, NewValue, Override, Packed, ScenarioErrors, Written};
use units::Time;

use crate::arguments::Seed;
use crate::errors::{scenario_error, value_error};
use crate::record::record;
use crate::values;

record! {
    /// One link on a route, in one direction.
    Hop {
        /// Number of the link, from zero.
        link: u32,
        /// `forward` or `backward`.
        direction: &'static str,
        /// Rate at the start in bits per second.
        rate_bps: u64,
        /// Propagation delay at the start in seconds.
        delay_s: f64,
    }
}

record! {
    /// Signal at the receiver of one direction of a link whose channel has a link budget.
    ///
    /// Attenuation is linear between the times `t_s`, and constant before the first and after the
    /// last.
    Signal {
        /// Number of the link, from zero.
        link: u32,
        /// `forward` or `backward`.
        direction: &'static str,
        /// Times in seconds.
        t_s: Vec<f64>,
        /// Attenuation against clear sky in dB.
        attenuation_db: Vec<f64>,
        /// Eb/N0 in dB, with the noise that rain adds.
        eb_n0_db: Vec<f64>,
        /// Starts of the times without lock in seconds.
        lost_s: Vec<f64>,
        /// Their ends in seconds; at most the duration of the scenario.
        locked_s: Vec<f64>,
    }
}

/// A scenario in which nothing is left open.
#[pyclass(frozen, module = "bentpipe")]
pub struct Scenario {
    pub inner: Arc<scenario::Scenario>,
    written: Written,
    given: Given,
}

impl Scenario {
    fn new(loaded: Result<Loaded, ScenarioErrors>) -> PyResult<Self> {
        let Loaded { scenario, written, given } = loaded.map_err(scenario_error)?;
        Ok(Self { inner: Arc::new(scenario), written, given })
    }

    /// Beginning of a message about a key of the scenario: its place, or nothing.
    pub fn place_of(&self, key: &testbed::Key) -> String {
        let (table, index) = match key.of {
            testbed::Of::Flow(number) => ("flow", Some(self.written.entry_of(number))),
            testbed::Of::Node(number) => ("node", self.inner.nodes[number].entry),
            testbed::Of::Beam(number) => ("beam", Some(number)),
        };
        index
            .map_or_else(String::new, |index| self.given.place(table, index, &key.path).to_string())
    }

    /// The scenario as it ran, for its folder, below a line that says where it came from.
    pub fn packed(&self, seed: u64) -> Packed {
        let packed = self.given.packed(&self.inner, seed);
        let origin = self.given.origin().replace(char::is_control, " ");
        let separator = if origin.is_empty() { "" } else { " " };
        let text = format!("# As run: {origin}{separator}--seed {seed}\n{}", packed.text);
        Packed { text, ..packed }
    }
}

#[pymethods]
impl Scenario {
    /// Read a scenario file; `sets` are overrides as `"seed=7"`.
    ///
    /// Raises `ScenarioError` with file and line when the scenario cannot be right.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new()))]
    fn load(path: PathBuf, sets: Vec<String>) -> PyResult<Self> {
        let sets = sets.iter().map(|set| set.parse().map_err(scenario_error));
        let sets: Vec<Override> = sets.collect::<PyResult<_>>()?;
        Self::new(Loaded::load(&path, &sets))
    }

    /// Read a scenario from TOML; errors name it `file`, from where names of files count.
    ///
    /// Raises `ScenarioError` with the line.
    #[staticmethod]
    #[pyo3(signature = (text, *, file = None))]
    fn parse(text: &str, file: Option<PathBuf>) -> PyResult<Self> {
        Self::new(Loaded::read_text(text, file, &[]))
    }

    /// Make a scenario from values, with the names and units of a scenario file.
    ///
    ///     link = {"between": ["server", "client"], "rate": "2Mbit/s", "delay": "250ms"}
    ///     flow = {"from": "server", "to": "client", "controller": "cubic",
    ///             "traffic": {"download": "5MB"}}
    ///     Scenario.build(name="geo", duration="600s", link=[link], flow=[flow])
    ///
    /// Keys are those of docs/scenario.md: `link` and `flow` are lists of dictionaries, quantities
    /// texts with their unit. None is the default. Scalars of NumPy and paths may stand for numbers
    /// and texts. Raises `ScenarioError` with the path of the value and the nearest valid name.
    #[staticmethod]
    #[pyo3(signature = (**keys))]
    fn build(py: Python<'_>, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let empty = PyDict::new(py);
        let json = values::table(keys.unwrap_or(&empty), "")?;
        Self::new(Loaded::from_json(&json, &[]))
    }

    /// A new scenario with values changed, each at its path.
    ///
    ///     scenario.with_({"flow.0.controller": "cubic", "link.*.delay": "280ms"})
    ///     scenario.with_(seed=7, flow__0__traffic={"download": "5MB"})
    ///
    /// Paths are those of `--set`; in keywords two underscores stand for a dot. They count from
    /// zero, `*` means all of a list. Changes apply in their order. Raises `ScenarioError`.
    #[pyo3(signature = (changes = None, /, **named))]
    fn with_(
        &self,
        changes: Option<&Bound<'_, PyDict>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut sets = Vec::new();
        for (path, value) in changes.into_iter().flatten() {
            sets.push(change(path.extract()?, &value)?);
        }
        for (name, value) in named.into_iter().flatten() {
            sets.push(change(name.extract::<String>()?.replace("__", "."), &value)?);
        }
        Self::new(self.given.with(&sets))
    }

    /// The scenario as a file that runs to the same recording, by default with its own seed.
    ///
    /// Changes are part of it, its name and seed are written out, and names of files are absolute.
    #[pyo3(signature = (*, seed = None))]
    fn to_toml(&self, seed: Option<Seed>) -> String {
        self.given.to_toml(&self.inner, seed.map_or(self.inner.seed, |Seed(seed)| seed))
    }

    /// The scenario as a file for a folder that can be moved, and the files that it names.
    ///
    /// Each file has its name in the folder and its present place. The text is that of `to_toml`,
    /// with the content of files of `bentpipe orbit` in the place of their names.
    fn to_toml_with_files(&self) -> (String, Vec<(String, PathBuf)>) {
        let Packed { text, files } = self.given.packed(&self.inner, self.inner.seed);
        (text, files)
    }

    /// The same scenario with the flows of its mixes in place of these.
    fn without_mixes(&self) -> PyResult<Self> {
        Self::new(self.given.without_mixes())
    }

    /// The written values as a dictionary, with name and seed, changes and no other defaults.
    ///
    /// Flows of mixes stand behind the flows of the scenario, and no `mix` is left. Names of files
    /// are absolute.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields(py, &self.given.values(&self.inner))
    }

    /// Every value that will be used, defaults included, with figures and warnings.
    ///
    /// A `bentpipe.Explanation`: its text is for people, its fields are data with units.
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let explanation = explain::explain(&self.inner, &self.written);
        let fields = fields(py, &explanation)?;
        let class = py.import("bentpipe.explanation")?.getattr("Explanation")?;
        class.call_method1("of", (fields, explanation.to_string()))
    }

    /// The links on the way of a flow's data, or `back` on that of its ACKs, in order.
    ///
    /// A flow with several paths (`transport.sctp.paths`) has one route for each `path`.
    ///
    /// `IndexError` when there is no such flow or path. The rule of routes is in docs/scenario.md.
    #[pyo3(signature = (flow = 0, *, back = false, path = 0))]
    fn route(&self, flow: usize, back: bool, path: usize) -> PyResult<Vec<Hop>> {
        let scenario = &self.inner;
        let missing = || PyIndexError::new_err(format!("flow: there is no flow {flow}"));
        let flow = scenario.flows.get(flow).ok_or_else(missing)?;
        let missing = || PyIndexError::new_err(format!("path: the flow has no path {path}"));
        let [data, acks] = flow.all_ways().nth(path).ok_or_else(missing)?;
        let (from, to) = if back { acks } else { data };
        let hops = scenario::routes(scenario).path(from, to, &scenario.links);
        let hop = |hop: scenario::Hop| {
            let direction = hop.direction(&scenario.links);
            Hop {
                link: hop.link,
                direction: if hop.forward { "forward" } else { "backward" },
                rate_bps: direction.mean_of(direction.rate).bits_per_second(),
                delay_s: direction.delay.as_secs_f64(),
            }
        };
        Ok(hops.into_iter().map(hop).collect())
    }

    /// Signals of all directions of links whose channel has a link budget (`eb_n0`).
    fn signals(&self) -> Vec<Signal> {
        let end = Time::ZERO + self.inner.duration;
        let links = self.inner.links.iter().zip(0u32..);
        let directions = links.flat_map(|(link, number)| {
            [(number, "forward", &link.forward), (number, "backward", &link.backward)]
        });
        directions
            .filter_map(|(link, direction, found)| {
                let Channel::Awgn { awgn, .. } = &found.channel else { return None };
                let samples = awgn.budget().fade.samples();
                let seconds = |at: Time| at.min(end).as_secs_f64();
                let lost = awgn.outages().iter().filter(|(from, _)| *from < end);
                Some(Signal {
                    link,
                    direction,
                    t_s: samples.iter().map(|(at, _)| at.as_secs_f64()).collect(),
                    attenuation_db: samples.iter().map(|(_, db)| *db).collect(),
                    eb_n0_db: samples.iter().map(|(_, db)| awgn.budget().eb_n0(*db)).collect(),
                    lost_s: lost.clone().map(|(from, _)| seconds(*from)).collect(),
                    locked_s: lost.map(|(_, to)| seconds(*to)).collect(),
                })
            })
            .collect()
    }

    /// Name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// Seed that a run takes when it is given none.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Longest delay of the events of links in seconds, with `phase = "random"`; otherwise 0.
    #[getter]
    fn longest_event_delay_s(&self) -> f64 {
        self.inner.phase.as_secs_f64()
    }

    /// Delay of the events of all links in seconds in a run with `seed`.
    ///
    /// The default is the scenario's own seed. 0 without `phase = "random"`.
    #[pyo3(signature = (seed = None))]
    fn event_delay_s(&self, seed: Option<Seed>) -> f64 {
        let seed = seed.map_or(self.inner.seed, |Seed(seed)| seed);
        self.inner.event_delay(&scenario::Seed::new(seed)).as_secs_f64()
    }

    /// Upper bound of the simulated time in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration.as_secs_f64()
    }

    /// Equal scenarios give equal runs for equal seeds.
    fn __eq__(&self, other: &Self) -> bool {
        self.to_toml(None) == other.to_toml(None)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.to_toml(None).hash(&mut hasher);
        hasher.finish()
    }

    /// For copies and for other processes of this machine: files are named and not carried along.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("parse")?, (slf.get().to_toml(None),)))
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?}>", self.inner.name)
    }
}

/// One change of `with_`.
fn change(path: String, value: &Bound<'_, PyAny>) -> PyResult<Override> {
    if value.is_none() {
        return Err(value_error(&path, "a value", "None"));
    }
    let value = NewValue::Program(values::json(value, &path)?);
    Ok(Override { path, value })
}

/// The JSON Schema of the scenario language.
#[pyfunction]
pub fn schema() -> String {
    scenario::schema().to_string()
}

/// The reference of the scenario language in Markdown: `docs/scenario.md`.
#[pyfunction]
pub fn reference() -> String {
    scenario::reference()
}

/// The files that a scenario in TOML refers to, in their order.
///
/// Those that files of `bentpipe orbit` refer to are among them. All names count from `folder`.
/// None if the text is not TOML.
#[pyfunction]
pub fn scenario_files(text: &str, folder: PathBuf) -> Vec<String> {
    scenario::files(text, &folder)
}

/// Returns true if the values of a path of the scenario language can be names of files.
#[pyfunction]
pub fn names_a_file(path: &str) -> bool {
    scenario::names_a_file(path)
}
