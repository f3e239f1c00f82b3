//! Flows with their controllers, transport and traffic.

use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;

use applications::{call, speedtest, video};
use congestion::{Controller as _, Ecn, ParameterError, Specification, Value};
use language::describe;
use language::error::Problem;
use language::path::Path;
use language::suggest;
use language::tree::Tree;
use tcp::{AckTiming, Config, DelayedAck, Recovery};
use transport::{Protocol, RtoConfig};
use units::{Bytes, Span};

use super::beams::Ends;
use super::{Numbers, buffers, hints, hosts, protocols};
use crate::document::{self, Controller, Document, ParameterValue};
use crate::model::{
    Distribution, Flow, FlowPath, FlowSettings, Gateway, OnOff, Traffic, Transport, Web,
};
use crate::page;

/// All flows, `count` spelt out, and for each the number of its `[[flow]]`.
pub(super) fn flows(
    document: &Document,
    (tree, directory): (&Tree, &FilePath),
    ends: &Ends<'_>,
    problems: &mut Vec<Problem>,
) -> (Vec<Flow>, Vec<usize>) {
    let mut flows = Vec::new();
    let mut entries = Vec::new();
    let none: Arc<Vec<Gateway>> = Arc::default();
    let no_paths: Arc<Vec<FlowPath>> = Arc::default();
    for (i, flow) in document.flow.iter().enumerate() {
        let path = Path::entry("flow", i);
        let from = end(&flow.from.0, ends, path.key("from"), problems);
        let to = end(&flow.to.0, ends, path.key("to"), problems);
        let (Some(from), Some(to)) = (from, to) else { continue };
        let places = MOST_FLOWS - flows.len();
        let Some(count) = copies(flow, [&from, &to], places, &path, problems) else { continue };
        if count == 1 && !ends.is_group(&flow.from.0) && !ends.is_group(&flow.to.0) {
            problems.extend(spread_alone(flow, &path));
        }
        let host = protocols::Host { ip: document.ip, tree };
        let settings = hosts::settings(document, i, &host, problems);
        let Some(settings) = settings else { continue };
        let name = flow.name.as_ref().map_or_else(|| format!("flow-{i}"), |name| name.0.clone());
        let settings = hosts::of_writes(settings, flow, &path, problems);
        let hosts::Settings { transport, controller, hosts } = settings;
        let carried = Carried { transport: &transport, tree, directory };
        let traffic = traffic(&flow.traffic, &carried, &path.key("traffic"), problems);
        let Some(traffic) = traffic else { continue };
        let transport = hosts::opened(transport, hosts.as_deref(), &traffic);
        let transport =
            protocols::of_application(transport, &traffic, document.ip, &path, problems);
        protocols::check_flow(&transport, &controller, &path, problems);
        check_marks(flow, (&transport, &controller), &path, problems);
        if flow.sessions.is_some() {
            check_sessions(&traffic, &path, problems);
        }
        let of_entry = (i, &transport);
        let path_hints = hints::of_flow(document, tree, of_entry, &controller, problems);
        let initial_sequence = flow.transport.initial_sequence;
        let settings = Arc::new(FlowSettings {
            stop: flow.stop,
            controller,
            path_hints,
            transport,
            hosts,
            reader_rate: flow.transport.reader_rate,
            traffic,
            sessions: flow.sessions,
        });
        flows.reserve_exact(count);
        for copy in 0..count {
            let node_of = |nodes: &Range<usize>| match nodes.len() {
                1 => nodes.start,
                _ => nodes.start + copy / flow.count as usize,
            };
            flows.push(Flow {
                name: if count > 1 { format!("{name}.{copy}") } else { name.clone() },
                from: node_of(&from),
                to: node_of(&to),
                start: flow.start + share_of(flow.spread, copy, count),
                initial_sequence: initial_sequence.unwrap_or_else(|| sequence_of(flows.len())),
                paths: no_paths.clone(),
                gateways: none.clone(),
                tunnel: None,
                settings: settings.clone(),
            });
            entries.push(i);
        }
    }
    (flows, entries)
}

/// Number of the flows of a `[[flow]]` between these nodes, of which `places` are left.
fn copies(
    flow: &document::Flow,
    [from, to]: [&Range<usize>; 2],
    places: usize,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<usize> {
    if from.len() > 1 && to.len() > 1 {
        let expected = "a node, or one terminal of a group, with a group at `from`";
        problems.push(Problem::new(path.key("to"), expected, format!("{:?}", flow.to.0)));
        return None;
    }
    let count = (flow.count as usize).saturating_mul(from.len().max(to.len()));
    if count > places {
        let expected = format!("at most {places} more");
        let problem = Problem::new(path.key("count"), expected, count.to_string());
        problems.push(problem.because(format!("a scenario has at most {MOST_FLOWS} flows")));
        return None;
    }
    Some(count)
}

/// Demands of a controller and of a transport on each other.
fn check_marks(
    flow: &document::Flow,
    (transport, controller): (&Transport, &Specification),
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    if let Some(parameter) = controller.only_with_marks().filter(|_| transport.ecn() == Ecn::Off) {
        let path = path.key("controller").key(parameter);
        let problem = Problem::new(path, "\"off\" without ECN", "\"on\"");
        problems.push(problem.because("it has an effect with transport.ecn = true only"));
    }
    let off = document::EcnOfEnd::Switch(false);
    let is_off = flow.transport.ecn.is_some_and(|ecn| ecn.ends().contains(&off));
    if is_off && controller.build(&transport.plan().controller()).needs().marks != Ecn::Off {
        let name = controller.entry().name;
        let path = path.key("transport").key("ecn");
        let problem = Problem::new(path, "true or \"accurate\"", "false");
        problems.push(problem.because(format!("the controller {name} needs marks")));
    }
    if let Some(config) = transport.tcp()
        && let (Some(_), Some(asked)) = (config.careful_resume, config.quick_start)
    {
        let path = path.key("transport").key("quick_start");
        let problem = Problem::new(path, "no quick_start", format!("\"{asked}\""));
        problems.push(problem.because("the window of the start is that of careful_resume"));
    }
}

/// Flows of a scenario, in a few gigabytes of memory.
const MOST_FLOWS: usize = 1_000_000;

/// Maximum number of names in a message.
const LONGEST_LIST: usize = 12;

/// The start of a copy among all of a flow, from the first one on.
fn share_of(spread: Option<Span>, copy: usize, count: usize) -> Span {
    let nanos = spread.map_or(0, |spread| u128::from(spread.as_nanos()));
    let share = nanos * copy as u128 / count as u128;
    Span::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
}

/// One flow has nothing to spread. A group of one terminal may grow, as in a search for its size.
fn spread_alone(flow: &document::Flow, path: &Path) -> Option<Problem> {
    let spread = flow.spread?;
    let expected = "a `count` above 1 or a group of terminals with it";
    Some(Problem::new(path.key("spread"), expected, format!("\"{spread}\" for one flow")))
}

/// The number of a node that a link joins.
pub(super) fn node(
    name: &str,
    numbers: &Numbers,
    path: Path,
    problems: &mut Vec<Problem>,
) -> Option<usize> {
    let number = numbers.get(name).copied();
    let names = || numbers.keys().map(String::as_str).collect();
    number.or_else(|| unknown(name, names(), path, problems))
}

/// The nodes of an end: one, or the terminals of a group.
pub(super) fn end(
    name: &str,
    ends: &Ends<'_>,
    path: Path,
    problems: &mut Vec<Problem>,
) -> Option<Range<usize>> {
    ends.named(name).or_else(|| unknown(name, ends.names(), path, problems))
}

/// Reports a name that no node has.
pub(super) fn unknown<T>(
    name: &str,
    names: Vec<&str>,
    path: Path,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let expected = match names.len() {
        0..=LONGEST_LIST => {
            format!("one of the nodes {}", describe::list(&describe::quoted(&names), "and"))
        }
        many => format!("one of the {many} nodes"),
    };
    let near = suggest::nearest(name, names);
    problems.push(Problem::new(path, expected, format!("{name:?}")).suggest(near));
    None
}

/// The controller with its parameters. The schema, which is made from the registry, has checked
/// both already; what the registry refuses all the same is reported in its words.
pub(super) fn controller(
    controller: &Controller,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Specification> {
    let (name, parameters) = match controller {
        Controller::Name(name) => (name, None),
        Controller::Table { name, parameters } => (name, Some(parameters)),
    };
    let unlimited = Specification::unlimited();
    if unlimited.entry().name == name {
        return Some(unlimited);
    }
    let mut specification = match Specification::named(name) {
        Ok(specification) => specification,
        Err(error) => {
            problems.push(Problem::new(path.clone(), "a controller", error.to_string()));
            return None;
        }
    };
    // The other parameters are those of the variant.
    let is_variant = |key: &str| key == congestion::VARIANT.name;
    let mut given: Vec<_> = parameters.into_iter().flatten().collect();
    given.sort_by_key(|(key, _)| !is_variant(key));
    for &(key, value) in &given {
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
    if let Err(error) = specification.check() {
        problems.push(unordered(&error, path, |name| given.iter().any(|(key, _)| *key == name)));
    }
    Some(specification)
}

/// Two parameters that do not fit: the place is the one that the scenario sets.
fn unordered(error: &ParameterError, path: &Path, is_set: impl Fn(&str) -> bool) -> Problem {
    let ParameterError::Order { lower, low, upper, high } = error else {
        return Problem::new(path.clone(), "parameters that fit", error.to_string());
    };
    let problem = if is_set(lower) {
        Problem::new(path.key(lower), format!("at most {upper}, {high}"), low.to_string())
    } else {
        Problem::new(path.key(upper), format!("at least {lower}, {low}"), high.to_string())
    };
    problem.because(error.to_string())
}

/// The settings of TCP or SCPS-TP with every short form and dependent default resolved.
pub(super) fn transport(written: &document::Transport, controller: &Specification) -> Config {
    let rto = written.rto.config;
    let config = Config {
        recovery: written.recovery.unwrap_or(controller.entry().repair.into()),
        delayed_ack: delayed_ack(written.delayed_ack),
        rto: RtoConfig { min: written.rto.min.unwrap_or(rto.estimator.least_rto()), ..rto },
        ecn: match written.ecn {
            None => Ecn::Off,
            Some(document::Ecn::Both(form)) => form.into(),
            // Each end has its own, which `hosts` writes in place of the table.
            Some(document::Ecn::Ends(_)) => Ecn::Passive,
        },
        reads_at_once: written.reader_rate.is_none(),
        ..buffers::of(written)
    };
    if written.protocol != Protocol::ScpsTp {
        return config;
    }
    let least = written.rto.min.unwrap_or(LEAST_RTO_OF_SCPS);
    Config {
        recovery: Recovery::Snack,
        rto: RtoConfig { min: least, ..config.rto },
        // There is nothing to send on duplicate ACKs.
        limited_transmit: false,
        scps: Some(written.scps),
        ..config
    }
}

/// The lower bound of the RTO in the reference implementation of SCPS-TP.
pub(super) const LEAST_RTO_OF_SCPS: Span = Span::from_millis(250);

/// Spreads the flows over the sequence space: Knuth's multiplicative hash, 2^32 over the golden
/// ratio. A capture then shows which flow a segment belongs to, and some flows wrap.
fn sequence_of(flow: usize) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "a scenario has a million flows at most")]
    let flow = flow as u32;
    flow.wrapping_add(1).wrapping_mul(2_654_435_769)
}

fn delayed_ack(written: document::DelayedAck) -> AckTiming {
    AckTiming::Fixed(match written {
        document::DelayedAck::Linux(_) => return AckTiming::Linux,
        document::DelayedAck::Off(_) => DelayedAck { segments: 1, timeout: Span::ZERO },
        document::DelayedAck::Timeout(timeout) => DelayedAck { timeout, ..DelayedAck::default() },
        document::DelayedAck::Table(table) => table,
    })
}

/// The transport of a flow, and the scenario with the folder of its file, for its traffic.
struct Carried<'a> {
    transport: &'a Transport,
    tree: &'a Tree,
    directory: &'a FilePath,
}

/// Time from the start of one page of `web` to the start of the next.
fn web_interval(
    (pages, written): (Option<u32>, Option<Span>),
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Span {
    if pages == Some(1) && written.is_some() {
        let problem = Problem::new(path.key("web").key("interval"), "no `interval` here", "one");
        problems.push(problem.because("the page is loaded once"));
    }
    written.unwrap_or(Span::from_secs(30))
}

/// The traffic of a flow; `None` with problems of a page.
fn traffic(
    written: &document::Traffic,
    carried: &Carried<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Traffic> {
    let Carried { transport, tree, directory } = carried;
    let protocol = transport.protocol();
    let transport = transport.plan();
    let segment = Bytes(transport.full_payload().into());
    let has_streams = transport.has_streams();
    Some(match written {
        document::Traffic::Page { page } => {
            let path = &path.key("page");
            let place = page::Place { tree, directory, path, protocol };
            Traffic::Page(page::resolve(page, &place, problems)?.into())
        }
        document::Traffic::Download { download, request, .. } => {
            Traffic::Download { size: *download, request: *request }
        }
        document::Traffic::Bulk { bulk, .. } => Traffic::Bulk {
            size: match bulk {
                document::Bulk::Unlimited(_) => None,
                document::Bulk::Size(size) => Some(*size),
            },
        },
        document::Traffic::Web { web } => Traffic::Web(Web {
            pages: web.pages,
            interval: web_interval((web.pages, web.interval), path, problems),
            main_object: web.main_object,
            embedded_objects: web.embedded_objects,
            embedded_object: web.embedded_object,
            request: web.request,
            connections: web.connections.unwrap_or(if has_streams { 1 } else { 2 }),
            pipelining: web.pipelining.unwrap_or(has_streams),
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
        document::Traffic::Call { call } => {
            check_call(call, &path.key("call"), problems);
            Traffic::Call(*call)
        }
        document::Traffic::Messages { messages } => Traffic::Messages(*messages),
        document::Traffic::Video { video } => {
            check_video(video, &path.key("video"), problems);
            Traffic::Video(Arc::new(video.clone()))
        }
        document::Traffic::Speedtest { speedtest } => {
            check_speedtest(speedtest, &path.key("speedtest"), problems);
            Traffic::Speedtest(*speedtest)
        }
    })
}

/// Only some applications begin again.
fn check_sessions(traffic: &Traffic, path: &Path, problems: &mut Vec<Problem>) {
    if traffic.has_sessions() {
        return;
    }
    let found = format!("them with traffic.{}", traffic.key());
    let problem = Problem::new(path.key("sessions"), "no `sessions`", found);
    problems
        .push(problem.because("download, page, call, messages, video and speedtest have sessions"));
}

/// A bit rate is for a codec that has several.
fn check_call(call: &call::Settings, path: &Path, problems: &mut Vec<Problem>) {
    if let (Some(bitrate), Some(fixed)) = (call.bitrate, call.codec.fixed_rate()) {
        let expected = "no `bitrate` with this codec";
        let problem = Problem::new(path.key("bitrate"), expected, format!("\"{bitrate}\""));
        problems.push(problem.because(format!("{} has {fixed}", call.codec.name())));
    }
}

/// Bit rates rise, and the buffer has room for the segment that plays and the next one.
fn check_video(video: &video::Settings, path: &Path, problems: &mut Vec<Problem>) {
    let place = path.key("ladder");
    if let Some(pair) = video.ladder.windows(2).find(|pair| pair[0] >= pair[1]) {
        let [lower, higher] = [pair[0], pair[1]];
        let expected = format!("bit rates that rise, above \"{lower}\"");
        let problem = Problem::new(place, expected, format!("\"{higher}\""));
        problems.push(problem.because("a rule chooses among them by their order"));
    }
    let least = video.segment.times(2);
    if video.buffer < least {
        let expected = format!("at least two segments, \"{least}\"");
        let problem = Problem::new(path.key("buffer"), expected, format!("\"{}\"", video.buffer));
        problems.push(problem.because("one segment plays while the next one arrives"));
    }
    if video.segments() > MOST_SEGMENTS {
        let least = Span::from_nanos(video.length.as_nanos().div_ceil(MOST_SEGMENTS as u64));
        let expected = format!("at least \"{least}\" with this `length`");
        let found = format!("\"{}\"", video.segment);
        let problem = Problem::new(path.key("segment"), expected, found);
        problems.push(problem.because(format!("a video has at most {MOST_SEGMENTS} segments")));
    }
}

/// Segments of a video: rows of its table.
const MOST_SEGMENTS: usize = 100_000;

/// Some of the time of a direction has to be measured.
fn check_speedtest(test: &speedtest::Settings, path: &Path, problems: &mut Vec<Problem>) {
    if test.warm_up >= test.duration {
        let expected = format!("less than `duration`, \"{}\"", test.duration);
        let found = format!("\"{}\"", test.warm_up);
        let problem = Problem::new(path.key("warm_up"), expected, found);
        problems.push(problem.because("the rate is that of the time after it"));
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
