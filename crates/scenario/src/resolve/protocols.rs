//! Flows with different transport protocols: the keys of `flow.transport` that each takes, its
//! settings, and what the network must be.

pub(super) mod quic;
mod sctp;
mod stp;
mod udp;
mod xtp;

use std::sync::Arc;

use congestion::Specification;
use language::describe;
use language::error::Problem;
use language::path::Path;
use language::tree::{Tree, Value};
use tcp::{AckTiming, BestEffort, Config, DelayedAck};
use transport::{Protocol, ProtocolEntry, TakenKeys};
use wire::IpVersion;

use super::flows;
use crate::document::{self, Document};
use crate::model::{Flow, Scenario, Transport};

pub(super) use self::udp::of_application;

/// A key that a protocol does not take would have no effect.
pub(super) fn check(document: &Document, tree: &Tree, problems: &mut Vec<Problem>) {
    let all: Vec<_> = Protocol::ALL.iter().map(|protocol| protocol.entry()).collect();
    for (number, flow) in document.flow.iter().enumerate() {
        let path = Path::entry("flow", number).key("transport");
        let written = tree.at(&path).map(|tree| &tree.value);
        let Some(Value::Table(entries)) = written else { continue };
        let keys = entries.iter().map(|entry| entry.key.as_str());
        problems.extend(refused(flow.transport.protocol.entry(), &all, keys, &path));
    }
}

/// Places of settings that depend on the protocol, for messages.
pub(super) struct Places {
    controller: Path,
    /// The table with the settings.
    transport: Path,
    /// True if something else bounds the rate of connections without congestion control.
    is_bounded: bool,
    /// Requirement of a congestion controller called "none".
    requires: &'static str,
}

impl Places {
    /// Those of a side of a gateway, by its path.
    pub(super) fn of_side(path: &Path, is_bounded: bool) -> Self {
        let requires = "`rate` or `pacing_rate`";
        Self { controller: path.key("controller"), transport: path.clone(), is_bounded, requires }
    }
}

/// Rules between the protocol of a flow, its settings and its controller.
pub(super) fn check_flow(
    transport: &Transport,
    controller: &Specification,
    flow: &Path,
    problems: &mut Vec<Problem>,
) {
    let places = Places {
        controller: flow.key("controller"),
        transport: flow.key("transport"),
        is_bounded: false,
        requires: "scps.rate",
    };
    check_settings(transport, controller, &places, problems);
}

/// Rules between a protocol, its settings and a controller.
pub(super) fn check_settings(
    transport: &Transport,
    controller: &Specification,
    places: &Places,
    problems: &mut Vec<Problem>,
) {
    let Places { controller: place, transport: path, is_bounded, requires } = places;
    let name = controller.entry().name;
    let is_unlimited = *controller == Specification::unlimited();
    let protocol = transport.protocol();
    let is_bounded = transport.scps().is_some_and(|scps| *is_bounded || scps.rate.is_some());
    if is_unlimited && !is_bounded && protocol.takes_controller() {
        let problem = Problem::new(place.clone(), "a congestion controller", format!("{name:?}"));
        problems.push(problem.because(match protocol == Protocol::ScpsTp {
            true => format!("nothing would bound the sender without {requires}"),
            false => format!("it is for protocol = \"scps-tp\" with {requires}"),
        }));
    }
    let Some(config) = transport.tcp() else { return };
    let Some(scps) = config.scps else { return };
    let table = path.key("scps");
    if config.delayed_ack == AckTiming::Linux {
        let expected = "a time, \"off\" or a table";
        let problem = Problem::new(path.key("delayed_ack"), expected, "\"linux\"");
        problems.push(problem.because("SCPS-TP has rules of its own, see `scps.ack_floor`"));
    }
    if let AckTiming::Fixed(delayed) = config.delayed_ack
        && scps.strictly_delayed
        && delayed.segments != DelayedAck::default().segments
    {
        let problem = Problem::new(table.key("strictly_delayed"), "false", "true");
        let number = delayed.segments;
        problems.push(problem.because(match number {
            1 => "`delayed_ack` acknowledges each segment".to_owned(),
            _ => format!("`delayed_ack` acknowledges every {number} segments"),
        }));
    }
    if let Some(timeouts) = scps.outage_timeouts.filter(|most| *most > config.max_retries) {
        let expected = format!("at most `max_retries`, {}", config.max_retries);
        let place = table.key("outage_timeouts");
        let problem = Problem::new(place, expected, timeouts.to_string());
        problems.push(problem.because("the connection would be aborted before"));
    }
    if let Some(best_effort) = scps.best_effort {
        check_best_effort(&best_effort, config, &table.key("best_effort"), problems);
    }
}

/// Data is given up before the connection is, and the level of the buffer can be reached.
fn check_best_effort(
    best_effort: &BestEffort,
    config: &Config,
    table: &Path,
    problems: &mut Vec<Problem>,
) {
    let BestEffort { retransmissions, receive_timeout: _, receive_threshold } = *best_effort;
    if config.user_timeout.is_none() && retransmissions >= config.max_retries {
        let expected = format!("less than `max_retries`, {}", config.max_retries);
        let place = table.key("retransmissions");
        let problem = Problem::new(place, expected, retransmissions.to_string());
        problems.push(problem.because("the connection would be aborted before"));
    }
    if let Some(level) = receive_threshold.filter(|level| *level >= config.receive_buffer) {
        let expected = format!("less than `receive_buffer`, \"{}\"", config.receive_buffer);
        let place = table.key("receive_threshold");
        let problem = Problem::new(place, expected, format!("\"{level}\""));
        problems.push(problem.because("the window lets no more data in"));
    }
}

/// Gateways relay streams without holes. `table` is that of SCPS-TP.
pub(super) fn no_best_effort(table: &Path) -> Problem {
    let problem = Problem::new(
        table.key("best_effort"),
        "no `best_effort` where a proxy splits connections",
        "the key",
    );
    problem.because("its relay would join what is before and behind a hole")
}

/// Those of `keys` that `chosen`, one of `all`, does not take.
pub(super) fn refused<'a>(
    chosen: &ProtocolEntry,
    all: &[&ProtocolEntry],
    keys: impl Iterator<Item = &'a str>,
    path: &Path,
) -> Vec<Problem> {
    let refuse = |key: &str| {
        if key == "protocol" || chosen.table == Some(key) {
            return None;
        }
        let owner = all.iter().find(|entry| entry.table == Some(key));
        let because = match owner {
            Some(owner) => format!("it has the settings of protocol = {:?}", owner.name),
            None if chosen.takes(key) => return None,
            None => format!("it is a setting of TCP, and {} has {}", chosen.name, own(chosen)),
        };
        let expected = format!("no `{key}` with protocol = {:?}", chosen.name);
        Some(Problem::new(path.key(key), expected, "the key").because(because))
    };
    keys.filter_map(refuse).collect()
}

/// The keys that a protocol takes.
fn own(entry: &ProtocolEntry) -> String {
    match (entry.keys, entry.table) {
        (TakenKeys::Only([]), None) => "no settings".to_owned(),
        (TakenKeys::Only(keys), table) => {
            let keys: Vec<_> = table.into_iter().chain(keys.iter().copied()).collect();
            describe::list(&describe::code(&keys), "and")
        }
        (TakenKeys::AllBut(_), Some(table)) => format!("rules of its own, see `{table}`"),
        (TakenKeys::AllBut(_), None) => "rules of its own".to_owned(),
    }
}

/// The context of the settings of a protocol.
pub(super) struct Host<'a> {
    pub(super) ip: IpVersion,
    /// The scenario as it was written.
    pub(super) tree: &'a Tree,
}

/// The settings of the protocol of a flow.
pub(super) fn settings(
    written: &document::Transport,
    controller: &Specification,
    host: &Host<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Transport {
    match written.protocol {
        Protocol::Tcp | Protocol::ScpsTp => {
            Transport::Tcp(Arc::new(flows::transport(written, controller)))
        }
        Protocol::Quic => {
            let (place, transport) = (path.key("controller"), path.key("transport"));
            let settings = quic::of_flow(written, &transport, problems);
            let table = transport.key("quic");
            Transport::Quic(quic::settings(settings, controller, place, &table, problems))
        }
        Protocol::Stp => Transport::Stp(stp::settings(written, controller, path, problems)),
        Protocol::Xtp => {
            Transport::Xtp(xtp::settings(written, controller, host.ip, path, problems))
        }
        Protocol::Sctp => {
            Transport::Sctp(sctp::settings(written, controller, host, path, problems))
        }
        Protocol::Udp => Transport::Udp(udp::settings(controller, path, problems)),
    }
}

/// A protocol takes no controller: the only one that is accepted is `"none"`.
pub(super) fn check_no_controller(
    controller: &Specification,
    reason: &str,
    flow: &Path,
    problems: &mut Vec<Problem>,
) {
    let none = Specification::unlimited();
    if *controller != none {
        let [name, none] = [controller, &none].map(|one| format!("{:?}", one.entry().name));
        let problem = Problem::new(flow.key("controller"), none, name);
        problems.push(problem.because(reason));
    }
}

/// A packet of payload `mss` and `headers` fits IP, with either version of it.
pub(super) fn check_payload(mss: u32, headers: u16, transport: &Path, problems: &mut Vec<Problem>) {
    let largest = u16::MAX - headers - IpVersion::V6.header_bytes();
    if mss > u32::from(largest) {
        let expected = format!("at most {largest}");
        let problem = Problem::new(transport.key("mss"), expected, mss.to_string());
        problems.push(problem.because("a packet has at most 65535 bytes with its headers"));
    }
}

/// Mechanisms that read TCP, or that need answers to packets that are too long, know no other
/// protocol.
pub(super) fn check_network(scenario: &Scenario, entries: &[usize], problems: &mut Vec<Problem>) {
    let of_flow = |(entry, flow): (&usize, &Flow)| {
        let path = Path::entry("flow", *entry);
        let mismatch = |place: Path, protocol: Protocol| {
            Problem::new(place.key("protocol"), "\"tcp\"", format!("{:?}", protocol.name()))
        };
        if !flow.transport.is_tcp() {
            return Some(mismatch(path.key("transport"), flow.protocol()));
        }
        if let Some((node, end)) = flow.other_end() {
            let place = scenario.nodes[node].place().key("proxy").key(end.side.key());
            return Some(mismatch(place, end.protocol()));
        }
        let place = path.key("traffic").key("page").key("resolver");
        let is_udp = flow.queries_names();
        is_udp.then(|| Problem::new(place, "\"terminal\"", "\"remote\", with packets of UDP"))
    };
    let Some(problem) = entries.iter().zip(&scenario.flows).find_map(of_flow) else {
        return;
    };
    let boxes = scenario.nodes.iter().filter(|node| node.middlebox.is_some());
    let boxes = boxes.map(|node| format!("the middlebox of node {:?}", node.name));
    let compressed = scenario.links.iter().filter(|link| link.header_compression != [None; 2]);
    let compressed = compressed.map(|link| format!("header_compression of link {:?}", link.name));
    let limited = scenario.links.iter().filter(|link| link.mtu != [None; 2]);
    let limited = limited.map(|link| format!("mtu of link {:?}", link.name));
    if let Some(found) = boxes.chain(compressed).chain(limited).next() {
        problems.push(problem.because(format!("{found} knows packets of TCP only")));
    }
}

#[cfg(test)]
mod tests {
    use congestion::Status;

    use super::*;

    const LIKE_TCP: ProtocolEntry = ProtocolEntry {
        name: "like-tcp",
        summary: "",
        source: "",
        status: Status::Published,
        on_kernel: false,
        takes_controller: true,
        has_stream: true,
        has_segments_of_tcp: true,
        table: Some("like"),
        keys: TakenKeys::AllBut(&["recovery"]),
    };
    const OTHER: ProtocolEntry = ProtocolEntry {
        name: "other",
        table: Some("other"),
        keys: TakenKeys::Only(&["reader_rate"]),
        ..LIKE_TCP
    };

    fn refused_keys(chosen: &ProtocolEntry, keys: &[&str]) -> Vec<String> {
        let all = [Protocol::Tcp.entry(), &LIKE_TCP, &OTHER];
        let problems = refused(chosen, &all, keys.iter().copied(), &Path::default());
        problems.iter().map(|problem| problem.path.to_string()).collect()
    }

    #[test]
    fn a_protocol_takes_its_own_table_and_the_keys_that_have_an_effect() {
        let keys = ["protocol", "mss", "recovery", "reader_rate", "like", "other"];
        assert_eq!(refused_keys(Protocol::Tcp.entry(), &keys), ["like", "other"]);
        assert_eq!(refused_keys(&LIKE_TCP, &keys), ["recovery", "other"]);
        assert_eq!(refused_keys(&OTHER, &keys), ["mss", "recovery", "like"]);
    }

    #[test]
    fn the_message_names_what_is_possible() {
        let all = [Protocol::Tcp.entry(), &LIKE_TCP, &OTHER];
        let reason = |chosen, key| {
            let problems = refused(chosen, &all, [key].into_iter(), &Path::default());
            problems[0].reason.clone().unwrap()
        };
        assert_eq!(
            reason(Protocol::Tcp.entry(), "other"),
            "it has the settings of protocol = \"other\""
        );
        let expected = "it is a setting of TCP, and other has `other` and `reader_rate`";
        assert_eq!(reason(&OTHER, "mss"), expected);
    }
}
