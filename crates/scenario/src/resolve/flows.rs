//! Flows with their controllers, transport and traffic.

use std::sync::Arc;

use congestion::{Specification, Value};
use tcp::{LossThreshold, Recovery};
use transport::Pacing;
use transport::SavedPath;
use units::{Bytes, Span};

use super::Numbers;
use crate::describe;
use crate::document::{self, Controller, Document, ParameterValue};
use crate::error::Problem;
use crate::model::{
    DelayedAck, Distribution, Estimator, Flow, OnOff, Rto, Traffic, Transport, Web,
};
use crate::path::Path;
use crate::suggest;

/// All flows, `count` spelt out, and for each the number of its `[[flow]]`.
pub(super) fn flows(
    document: &Document,
    numbers: &Numbers,
    problems: &mut Vec<Problem>,
) -> (Vec<Flow>, Vec<usize>) {
    let mut flows = Vec::new();
    let mut entries = Vec::new();
    for (i, flow) in document.flow.iter().enumerate() {
        let path = Path::entry("flow", i);
        let from = node(&flow.from.0, numbers, path.key("from"), problems);
        let to = node(&flow.to.0, numbers, path.key("to"), problems);
        let controller = controller(&flow.controller, &path.key("controller"), problems);
        let (Some(from), Some(to), Some(controller)) = (from, to, controller) else { continue };
        let name = flow.name.as_ref().map_or_else(|| format!("flow-{i}"), |name| name.0.clone());
        let transport = Arc::new(transport(&flow.transport, &controller));
        let traffic = traffic(&flow.traffic, &transport, &path.key("traffic"), problems);
        for copy in 0..flow.count {
            let initial_sequence = flow.transport.initial_sequence;
            flows.push(Flow {
                name: if flow.count > 1 { format!("{name}.{copy}") } else { name.clone() },
                from,
                to,
                start: flow.start,
                stop: flow.stop,
                controller: controller.clone(),
                transport: transport.clone(),
                initial_sequence: initial_sequence.unwrap_or_else(|| sequence_of(flows.len())),
                traffic,
            });
            entries.push(i);
        }
    }
    (flows, entries)
}

/// Maximum number of names in a message.
const LONGEST_LIST: usize = 12;

fn node(name: &str, nodes: &Numbers, path: Path, problems: &mut Vec<Problem>) -> Option<usize> {
    let number = nodes.get(name).copied();
    if number.is_none() {
        let names: Vec<_> = nodes.keys().map(String::as_str).collect();
        let expected = match names.len() {
            0..=LONGEST_LIST => {
                format!("one of the nodes {}", describe::list(&describe::quoted(&names), "and"))
            }
            many => format!("one of the {many} nodes"),
        };
        let near = suggest::nearest(name, names).map(|near| format!("{near:?}"));
        problems.push(Problem::new(path, expected, format!("{name:?}")).suggest(near));
    }
    number
}

/// The controller with its parameters. The schema, which is made from the registry, has checked
/// both already; what the registry refuses all the same is reported in its words.
fn controller(
    controller: &Controller,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Specification> {
    let (name, parameters) = match controller {
        Controller::Name(name) => (name, None),
        Controller::Table { name, parameters } => (name, Some(parameters)),
    };
    let mut specification = match Specification::named(name) {
        Ok(specification) => specification,
        Err(error) => {
            problems.push(Problem::new(path.clone(), "a controller", error.to_string()));
            return None;
        }
    };
    for (key, value) in parameters.into_iter().flatten() {
        let value = match value {
            ParameterValue::Number(number) => Value::Number(*number),
            ParameterValue::Word(word) => Value::Word(word.clone()),
        };
        let found = value.to_string();
        if let Err(error) = specification.set(key, value) {
            let problem = Problem::new(path.key(key), "a value that is allowed", found);
            problems.push(problem.because(error.to_string()));
        }
    }
    Some(specification)
}

fn transport(written: &document::Transport, controller: &Specification) -> Transport {
    let rto = &written.rto;
    Transport {
        recovery: recovery(written, controller),
        ssthresh_basis: match written.ssthresh_basis {
            document::LossThreshold::FlightSize => LossThreshold::FlightSize,
            document::LossThreshold::Pipe => LossThreshold::Pipe,
            document::LossThreshold::Cwnd => LossThreshold::Cwnd,
        },
        mss: written.mss,
        receive_buffer: written.receive_buffer,
        send_buffer: written.send_buffer.size(),
        reader_rate: written.reader_rate,
        window_scaling: written.window_scaling,
        timestamps: written.timestamps,
        delayed_ack: delayed_ack(written.delayed_ack),
        initial_window: written.initial_window,
        initial_ssthresh: written.initial_ssthresh.size(),
        dupthresh: written.dupthresh,
        abc_limit: written.abc_limit,
        window_validation: written.window_validation,
        rto: Rto {
            estimator: match rto.estimator {
                document::Estimator::Rfc6298 => Estimator::Rfc6298,
                document::Estimator::Linux => Estimator::Linux,
            },
            initial: rto.initial,
            min: rto.min.unwrap_or(least_rto(rto.estimator)),
            max: rto.max,
            granularity: rto.granularity,
            alpha: rto.alpha,
            beta: rto.beta,
            k: rto.k,
        },
        persist_timeout: written.persist_timeout,
        max_retries: written.max_retries,
        pacing: match written.pacing {
            document::Pacing::Controller => Pacing::Controller,
            document::Pacing::Linux => Pacing::Linux,
        },
        limited_transmit: written.limited_transmit,
        nagle: written.nagle,
        idle_restart: written.idle_restart,
        ecn: written.ecn,
        dsack: written.dsack,
        careful_resume: written.careful_resume.map(|saved| SavedPath {
            window: saved.saved_cwnd.get(),
            rtt: saved.saved_rtt,
            max_jump: saved.max_jump.size().map_or(u64::MAX, Bytes::get),
        }),
    }
}

/// Of RFC 6298 rule 2.4, and `TCP_RTO_MIN` of Linux.
fn least_rto(estimator: document::Estimator) -> Span {
    match estimator {
        document::Estimator::Rfc6298 => Span::from_secs(1),
        document::Estimator::Linux => Span::from_millis(200),
    }
}

fn recovery(written: &document::Transport, controller: &Specification) -> Recovery {
    let named = written.recovery.as_ref().and_then(|word| {
        Recovery::ALL.into_iter().find(|(name, _)| *name == word.0).map(|(_, recovery)| recovery)
    });
    named.unwrap_or(controller.entry().repair.into())
}

/// Spreads the flows over the sequence space: Knuth's multiplicative hash, 2^32 over the golden
/// ratio. A capture then shows which flow a segment belongs to, and some flows wrap.
fn sequence_of(flow: usize) -> u32 {
    (flow as u32).wrapping_add(1).wrapping_mul(2_654_435_769)
}

fn delayed_ack(written: document::DelayedAck) -> DelayedAck {
    match written {
        document::DelayedAck::Off(_) => DelayedAck { segments: 1, timeout: Span::ZERO },
        document::DelayedAck::Timeout(timeout) => {
            DelayedAck { segments: document::every_second(), timeout }
        }
        document::DelayedAck::Table { segments, timeout } => DelayedAck { segments, timeout },
    }
}

fn traffic(
    written: &document::Traffic,
    transport: &Transport,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Traffic {
    let segment = Bytes(transport.full_payload());
    match written {
        document::Traffic::Download { download, request } => {
            Traffic::Download { size: *download, request: *request }
        }
        document::Traffic::Bulk { bulk } => Traffic::Bulk {
            size: match bulk {
                document::Bulk::Unlimited(_) => None,
                document::Bulk::Size(size) => Some(*size),
            },
        },
        document::Traffic::Web { web } => Traffic::Web(Web {
            pages: web.pages,
            interval: web.interval,
            main_object: web.main_object,
            embedded_objects: web.embedded_objects,
            embedded_object: web.embedded_object,
            request: web.request,
            connections: web.connections,
            pipelining: web.pipelining,
            keep_alive: match web.keep_alive {
                document::KeepAlive::Off(_) => None,
                document::KeepAlive::Timeout(timeout) => Some(timeout),
            },
        }),
        document::Traffic::Constant { constant } => {
            Traffic::Constant { rate: constant.rate, message: constant.message.unwrap_or(segment) }
        }
        document::Traffic::OnOff { on_off } => Traffic::OnOff {
            rate: on_off.rate,
            message: on_off.message.unwrap_or(segment),
            pattern: OnOff {
                on: on_off.on,
                off: on_off.off,
                distribution: distribution(on_off, &path.key("on_off"), problems),
            },
        },
    }
}

/// The shape that ns-2 has for its Pareto source.
const USUAL_SHAPE: f64 = 1.5;

fn distribution(
    written: &document::OnOff,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Distribution {
    if let Some(shape) = written.shape
        && written.distribution != document::Distribution::Pareto
    {
        let expected = "`distribution = \"pareto\"` with it";
        let problem = Problem::new(path.key("shape"), expected, format!("{shape:?} alone"));
        problems.push(problem.because("no other distribution has a shape"));
    }
    match written.distribution {
        document::Distribution::Exponential => Distribution::Exponential,
        document::Distribution::Pareto => {
            Distribution::Pareto { shape: written.shape.unwrap_or(USUAL_SHAPE) }
        }
        document::Distribution::Constant => Distribution::Constant,
    }
}
