//! The runs of a study: of each only a row of numbers is kept, so that memory does not grow with
//! what was simulated.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use recording::Table;
use scenario::model::Traffic;

use crate::arguments::Workers;
use crate::run::{SIGNAL_INTERVAL, threads, work};
use crate::scenario::Scenario;

/// One number of a recording, for `run_study`. `bentpipe.study.Quantity` reads its name.
#[pyclass(frozen, module = "bentpipe")]
pub struct Quantity {
    inner: recording::Quantity,
}

#[pymethods]
impl Quantity {
    /// `table` is `flows`, `links`, `pages`, `objects`, or `run` for what a recording has once.
    #[new]
    #[pyo3(signature = (table, column, *, name = None, direction = None, aggregate = "mean"))]
    fn new(
        table: &str,
        column: &str,
        name: Option<String>,
        direction: Option<String>,
        aggregate: &str,
    ) -> PyResult<Self> {
        let unknown = || PyValueError::new_err(format!("there is no {table}.{column}"));
        let aggregate = aggregate.parse().map_err(|error: recording::UnknownAggregate| {
            PyValueError::new_err(error.to_string())
        })?;
        let inner = match (table, column) {
            ("run", "jain_index") => recording::Quantity::JainIndex,
            ("run", "simulated_s") => recording::Quantity::SimulatedTime,
            _ => {
                let table = totals().find(|one| one.name() == table).ok_or_else(unknown)?;
                if !table.numbers().contains(&column) {
                    return Err(unknown());
                }
                let column = column.to_owned();
                recording::Quantity::Of { table, name, direction, column, aggregate }
            }
        };
        Ok(Self { inner })
    }

    /// Its value, None where it is undefined: a flow or link has none, or no page ever came.
    fn of(&self, recording: &crate::recording::Recording) -> Option<f64> {
        self.inner.of(&recording.inner)
    }

    /// Whether a scenario has flows, pages or links that it is taken from.
    fn is_in(&self, scenario: &Scenario) -> bool {
        let recording::Quantity::Of { name, .. } = &self.inner else { return true };
        let called = |one: &str| name.as_deref().is_none_or(|name| recording::is_called(one, name));
        self.names(&scenario.inner).any(called)
    }

    /// The names of flows, of flows with pages, or of links that it may have in a scenario.
    fn names_in(&self, scenario: &Scenario) -> Vec<String> {
        self.names(&scenario.inner).map(str::to_owned).collect()
    }
}

impl Quantity {
    fn names<'a>(&self, scenario: &'a scenario::Scenario) -> impl Iterator<Item = &'a str> {
        let (table, direction) = match &self.inner {
            recording::Quantity::Of { table, direction, .. } => {
                (Some(*table), direction.as_deref())
            }
            _ => (None, None),
        };
        let has_links = table == Some(Table::Links) && direction != Some("forwarding");
        let has_routers = table == Some(Table::Links)
            && direction.is_none_or(|direction| direction == "forwarding");
        let has_flows = table.is_some_and(|table| table != Table::Links);
        let has_pages = matches!(table, Some(Table::Pages | Table::Objects));
        let links = scenario.links.iter().filter(move |_| has_links).map(|link| &link.name);
        let routers =
            scenario.nodes.iter().filter(move |node| has_routers && node.forwarding.is_some());
        let flows = scenario.flows.iter().filter(move |flow| {
            has_flows && (!has_pages || matches!(flow.traffic, Traffic::Web { .. }))
        });
        let routers = routers.map(|node| &node.name);
        links.chain(routers).chain(flows.map(|flow| &flow.name)).map(String::as_str)
    }
}

/// The tables that are no series.
fn totals() -> impl Iterator<Item = Table> {
    [Table::Flows, Table::Links, Table::Pages, Table::Objects].into_iter()
}

/// The columns that a quantity can be, by table; `run` is what a recording has once.
#[pyfunction]
pub fn number_columns() -> BTreeMap<&'static str, Vec<&'static str>> {
    let run = ("run", vec!["jain_index", "simulated_s"]);
    totals().map(|table| (table.name(), table.numbers())).chain([run]).collect()
}

/// What is kept of a run: quantities, wall time, events.
type Kept = (Vec<Option<f64>>, f64, u64);

/// Run jobs, each the number of a scenario and a seed, and keep only numbers of each run.
///
/// `sink` is called in this thread with rows of finished runs as they come, in no particular
/// order: number of the job, quantities, wall time in seconds, events. Series are not recorded.
/// Ctrl-C raises `KeyboardInterrupt`; what was finished has been handed over then.
#[pyfunction]
#[pyo3(signature = (scenarios, jobs, quantities, sink, *, workers = None))]
pub fn run_study(
    py: Python<'_>,
    scenarios: Vec<Py<Scenario>>,
    jobs: Vec<(usize, u64)>,
    quantities: Vec<Py<Quantity>>,
    sink: Py<PyAny>,
    workers: Option<Workers>,
) -> PyResult<()> {
    let scenarios: Vec<_> = scenarios.iter().map(|one| without_series(&one.get().inner)).collect();
    let quantities: Vec<_> = quantities.iter().map(|one| one.get().inner.clone()).collect();
    let jobs = jobs.into_iter().map(|(number, seed)| {
        let scenario = scenarios.get(number).map(Arc::clone);
        scenario.map(|scenario| (scenario, seed)).ok_or_else(|| PyIndexError::new_err(number))
    });
    let jobs: Vec<_> = jobs.collect::<PyResult<_>>()?;
    let workers = threads(workers, jobs.len());
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let keep = |recording: recording::Recording| -> Kept {
        let values: Vec<_> = quantities.iter().map(|quantity| quantity.of(&recording)).collect();
        (values, recording.wall_s, recording.events)
    };
    py.detach(|| {
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for _ in 0..workers {
                let (jobs, next, stop, send) = (&jobs, &next, &stop, send.clone());
                scope.spawn(move || work(jobs, next, stop, &send, keep));
            }
            drop(send);
            let outcome = hand_over(&receive, &sink);
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    })
}

fn without_series(scenario: &Arc<scenario::Scenario>) -> Arc<scenario::Scenario> {
    let mut scenario = scenario::Scenario::clone(scenario);
    scenario.record = Default::default();
    Arc::new(scenario)
}

/// What the sink gets of a run: number of the job, quantities, wall time, events.
type Row = (usize, Vec<Option<f64>>, f64, u64);

/// Passes rows on until no worker is left, or until Ctrl-C or the sink raises. While the sink works
/// the next rows gather, so that fast runs come in batches.
fn hand_over(receive: &Receiver<(usize, Kept)>, sink: &Py<PyAny>) -> PyResult<()> {
    loop {
        let first = receive.recv_timeout(SIGNAL_INTERVAL);
        let ended = first == Err(RecvTimeoutError::Disconnected);
        let rows = first.into_iter().chain(receive.try_iter());
        let rows: Vec<Row> =
            rows.map(|(job, (values, wall_s, events))| (job, values, wall_s, events)).collect();
        Python::attach(|py| {
            if !rows.is_empty() {
                sink.call1(py, (rows,))?;
            }
            py.check_signals()
        })?;
        if ended {
            return Ok(());
        }
    }
}
