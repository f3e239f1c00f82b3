//! Flows of datagrams: which applications they carry, and that they have no congestion controller.

use std::sync::Arc;

use ::udp::Config;
use congestion::Specification;
use language::describe;
use language::error::Problem;
use language::path::Path;
use transport::{LEAST_DATAGRAM, Protocol};
use wire::IpVersion;

use crate::model::{Lengths, Plan, Traffic, Transport};

/// The settings of a flow, without the sizes of its datagrams.
pub(super) fn settings(
    controller: &Specification,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Arc<Config> {
    let reason = "UDP has no congestion control: the application sets the rate";
    super::check_no_controller(controller, reason, path, problems);
    Arc::default()
}

/// The settings of a flow with the datagrams of its application.
pub(crate) fn of_application(
    transport: Transport,
    traffic: &Traffic,
    ip: IpVersion,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Transport {
    let place = path.key("transport").key("protocol");
    let name = transport.protocol().name();
    let datagrams = traffic.datagrams();
    if transport.protocol() != Protocol::Udp {
        if traffic.needs_datagrams() {
            let problem = Problem::new(place, "\"udp\"", format!("{name:?}"));
            let key = traffic.key();
            problems
                .push(problem.because(format!("traffic.{key} sends datagrams that may be lost")));
        }
        return transport;
    }
    let Some([datagram, answer]) = datagrams else {
        let streams = Protocol::ALL.iter().map(|one| one.entry()).filter(|one| one.has_stream);
        let names: Vec<_> = streams.map(|one| one.name).collect();
        let expected = describe::list(&describe::quoted(&names), "or");
        let problem = Problem::new(place, expected, format!("{name:?}"));
        let key = traffic.key();
        let reason =
            format!("traffic.{key} needs a stream of bytes; UDP carries call and messages");
        problems.push(problem.because(reason));
        return transport;
    };
    for (key, bytes) in datagrams_by_key(traffic, [datagram, answer]) {
        let most = u64::from(::udp::most_payload(ip));
        if !(u64::from(LEAST_DATAGRAM)..=most).contains(&bytes) {
            let place = path.key("traffic").key(traffic.key()).key(key);
            let expected = format!("\"{LEAST_DATAGRAM}B\" to \"{most}B\" with UDP");
            let problem = Problem::new(place, expected, format!("\"{bytes}B\""));
            problems.push(problem.because("a datagram is one packet, without fragments"));
        }
    }
    let [datagram, answer] = [datagram, answer].map(|one| u16::try_from(one).unwrap_or(u16::MAX));
    Transport::Udp(Arc::new(Config { datagram, answer }))
}

/// The keys of the sizes, in the order of the ends that send them.
fn datagrams_by_key(traffic: &Traffic, [datagram, answer]: [u64; 2]) -> Vec<(&'static str, u64)> {
    match traffic {
        Traffic::Messages(_) => vec![("answer", datagram), ("request", answer)],
        _ => vec![("frame", datagram)],
    }
}

/// Datagrams in both directions instead of data and acknowledgements.
impl Plan for Config {
    fn lengths(&self) -> Lengths {
        let header = u64::from(wire::udp::HEADER);
        let full = u64::from(self.datagram) + header;
        Lengths { full, longest: full, ack: u64::from(self.answer) + header }
    }

    fn mss(&self) -> u32 {
        self.datagram.into()
    }

    fn full_payload(&self) -> u32 {
        u32::from(self.datagram).max(1)
    }

    /// Nothing bounds what is in flight.
    fn window(&self, _streams: u64) -> u64 {
        1 << 40
    }

    fn packets_per_ack(&self) -> u32 {
        1
    }

    fn receiver_sends_acks(&self) -> bool {
        false
    }
}
