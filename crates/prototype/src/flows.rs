//! Which flows have a controller in Python, and how they get theirs.

use std::sync::{Arc, OnceLock};

use congestion::External;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyType};
use scenario::model::Flow;

use crate::errors::ControllerError;

use crate::base::Controller;
use crate::bridge::{Bridge, Failure, Method};
use crate::values::unexpected;
use crate::window::Settings;

/// Name for every flow that is not named.
const OTHERS: &str = "*";

/// A class, or what else makes controllers when it is called with settings.
struct Maker {
    callable: Py<PyAny>,
    /// Their name in recordings; known when the first is made.
    name: OnceLock<String>,
}

/// The controllers in Python of one run.
pub struct Prototypes {
    makers: Vec<Maker>,
    /// The maker of each flow.
    of_flows: Vec<Option<usize>>,
    failure: Arc<Failure>,
}

impl Prototypes {
    /// `given` has names of flows and what makes their controllers.
    pub fn new(given: &Bound<'_, PyMapping>, flows: &[Flow]) -> PyResult<Self> {
        let mut names = Vec::new();
        let mut makers = Vec::new();
        for item in given.items()? {
            let (name, callable) = item.extract::<(String, Bound<'_, PyAny>)>()?;
            makers.push(Maker::new(&name, &callable)?);
            names.push(name);
        }
        for name in &names {
            let known = name == OTHERS || flows.iter().any(|flow| is_called(flow, name));
            if !known {
                return Err(unknown_flow(given.py(), name, flows));
            }
        }
        let of_flows = flows.iter().map(|flow| {
            let exact = names.iter().position(|name| *name == flow.name);
            let copy = || names.iter().position(|name| is_called(flow, name));
            exact.or_else(copy).or_else(|| names.iter().position(|name| name == OTHERS))
        });
        let of_flows: Vec<_> = of_flows.collect();
        let has_one =
            |(flow, maker): &(&Flow, &Option<usize>)| !flow.transport.is_tcp() && maker.is_some();
        if let Some((flow, _)) = flows.iter().zip(&of_flows).find(has_one) {
            let (name, protocol) = (&flow.name, flow.protocol().name());
            let message = format!(
                "controllers: expected flows with TCP; flow {name:?} has protocol = {protocol:?}"
            );
            return Err(ControllerError::new_err(message));
        }
        let is_taken_over = |flow: &Flow| {
            let mut ends = flow.gateways.iter().flat_map(|gateway| &gateway.ends);
            ends.find(|end| !end.transport.is_tcp() && !end.has_own_controller)
                .map(|end| (end.side.key(), end.protocol().name()))
        };
        let prototypes = flows.iter().zip(&of_flows).filter(|(_, maker)| maker.is_some());
        for (flow, _) in prototypes {
            if let Some((side, protocol)) = is_taken_over(flow) {
                let message = format!(
                    "controllers: expected connections with TCP; proxies on the way of flow {:?} \
                     have protocol = {protocol:?}, which needs a `controller` of the {side} side",
                    flow.name
                );
                return Err(ControllerError::new_err(message));
            }
        }
        Ok(Self { of_flows, makers, failure: Arc::default() })
    }

    /// Exception that one of them has raised.
    pub fn take_error(&self) -> Option<PyErr> {
        self.failure.take()
    }

    /// Where their exceptions go.
    pub fn failure(&self) -> Arc<Failure> {
        Arc::clone(&self.failure)
    }

    /// The controller in Python of one end of a connection; `None` if the flow has none, or if one
    /// of them has raised an exception.
    pub fn bridge(&self, flow: usize, settings: &congestion::Settings) -> Option<Bridge> {
        let maker = self.maker(flow)?;
        if self.failure.happened() {
            return None;
        }
        let built = Python::attach(|py| maker.make(py, settings, self.failure()));
        built.map_err(|error| self.failure.raise(error)).ok()
    }

    fn maker(&self, flow: usize) -> Option<&Maker> {
        Some(&self.makers[self.of_flows[flow]?])
    }
}

impl simulator::Controllers for Prototypes {
    fn describe(&self, flow: usize) -> Option<(&str, &str)> {
        let name = self.maker(flow)?.name.get().map_or("python", String::as_str);
        Some((name, "prototype"))
    }

    fn build(&self, flow: usize, settings: &congestion::Settings) -> Option<Box<dyn External>> {
        Some(Box::new(self.bridge(flow, settings)?))
    }

    fn failed(&self) -> bool {
        self.failure.happened()
    }
}

impl Maker {
    fn new(flow: &str, callable: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = OnceLock::new();
        let class = callable.cast::<PyType>().ok();
        let right =
            class.map_or(Ok(callable.is_callable()), |c| c.is_subclass_of::<Controller>())?;
        if !right {
            let what = format!("controllers[{flow:?}]");
            return Err(unexpected(&what, "a class that inherits bentpipe.Controller", callable));
        }
        if let Some(class) = class {
            check_events(class)?;
            // Nobody else has it yet.
            let _ = name.set(shown(class)?);
        }
        Ok(Self { callable: callable.clone().unbind(), name })
    }

    fn make(
        &self,
        py: Python<'_>,
        settings: &congestion::Settings,
        failure: Arc<Failure>,
    ) -> PyResult<Bridge> {
        let made = self.callable.bind(py).call1((Settings::from(*settings),))?;
        let object = made.cast::<Controller>().map_err(|_| {
            let what = self.callable.bind(py).repr().map(|repr| repr.to_string());
            unexpected(&what.unwrap_or_default(), "to make a bentpipe.Controller", &made)
        })?;
        if self.name.get().is_none() {
            check_events(&object.get_type())?;
            let _ = self.name.set(shown(&object.get_type())?);
        }
        Bridge::new(object, failure)
    }
}

/// The class as recordings call it.
fn shown(class: &Bound<'_, PyType>) -> PyResult<String> {
    Ok(format!("python:{}", class.name()?))
}

/// Copies of one entry go by its name as well.
fn is_called(flow: &Flow, name: &str) -> bool {
    let copy = flow.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    flow.name == name || copy.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn unknown_flow(py: Python<'_>, name: &str, flows: &[Flow]) -> PyErr {
    let flows: Vec<_> = flows.iter().map(|flow| flow.name.as_str()).collect();
    let nearest = nearest(py, name, &flows);
    nearest.map_or_else(
        |error| error,
        |nearest| {
            ControllerError::new_err(format!("controllers: there is no flow {name:?}{nearest}"))
        },
    )
}

/// A method named like an event that does not exist would never be called.
fn check_events(class: &Bound<'_, PyType>) -> PyResult<()> {
    let py = class.py();
    let known: Vec<_> = Method::ALL.iter().map(|method| method.name(py).to_string()).collect();
    for name in class.dir()? {
        let name = name.to_string();
        if name.starts_with("on_") && !known.contains(&name) {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            let nearest = nearest(py, &name, &known)?;
            let class = class.name()?;
            let message = format!("{class}: there is no event {name:?}{nearest}");
            return Err(ControllerError::new_err(message));
        }
    }
    Ok(())
}

/// `; did you mean ...?`
fn nearest(py: Python<'_>, name: &str, known: &[&str]) -> PyResult<String> {
    py.import("bentpipe.console")?.call_method1("nearest", (name, known))?.extract()
}
