//! Buffers of hosts: sizes, and tables for those that tune themselves.

use std::sync::Arc;

use language::error::Problem;
use language::path::Path;
use tcp::{Config, ReceiveTuning, SendTuning};
use units::{Bytes, SizeLimit};

use crate::document::{self, ReceiveBuffer, SendBuffer};
use crate::model::Transport;

/// The settings of TCP as they were written, with both buffers.
pub(super) fn of(written: &document::Transport) -> Config {
    let config = written.config.clone();
    let receive_tuning = match written.receive_buffer {
        ReceiveBuffer::Size(_) => None,
        ReceiveBuffer::Tuned(table) => Some(ReceiveTuning {
            default: table.default.unwrap_or(table.growth.usual_default()),
            max: table.max.unwrap_or(table.growth.usual_maximum()),
            growth: table.growth,
        }),
    };
    let largest = |tuning: &ReceiveTuning| Bytes(tuning.largest_window(config.full_payload()));
    let (send_buffer, send_tuning) = match written.send_buffer {
        SendBuffer::Size(size) => (size, None),
        SendBuffer::Tuned(table) => {
            let document::SendTable { default, max, notsent_lowat } = table;
            let tuning = SendTuning { default, max, write: SendTuning::WRITE, notsent_lowat };
            (SizeLimit::of(max), Some(tuning))
        }
    };
    Config {
        receive_buffer: receive_tuning
            .as_ref()
            .map(largest)
            .or(written.receive_buffer.size())
            .unwrap_or(Config::RECEIVE_BUFFER),
        receive_tuning,
        send_buffer,
        send_tuning,
        ..config
    }
}

/// The receive buffer of a protocol whose buffers have one size.
pub(super) fn fixed(
    written: &document::Transport,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Bytes {
    written.receive_buffer.size().unwrap_or_else(|| {
        let place = path.key("transport").key("receive_buffer");
        let problem = Problem::new(place, "a size such as \"4MiB\"", "a table");
        let name = written.protocol.name();
        problems.push(problem.because(format!("with protocol = {name:?} no buffer tunes itself")));
        Config::RECEIVE_BUFFER
    })
}

/// The settings of a flow with the writes of its application.
pub(super) fn of_writes(
    transport: Transport,
    traffic: &document::Traffic,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Transport {
    let Some(write) = traffic.write() else { return transport };
    if let Transport::Tcp(config) = &transport
        && let Some(tuning) = config.send_tuning
    {
        let send_tuning = Some(SendTuning { write, ..tuning });
        return Transport::Tcp(Arc::new(Config { send_tuning, ..Config::clone(config) }));
    }
    let place = path.key("traffic").key("write");
    let problem =
        Problem::new(place, "`transport.send_buffer = {}` with it", format!("\"{write}\""));
    problems.push(problem.because("writes count only for a send buffer that tunes itself"));
    transport
}

/// Rules of buffers that tune themselves.
pub(super) fn check(config: &Config, path: &Path, problems: &mut Vec<Problem>) {
    let receive = config.receive_tuning.map(|tuning| (tuning.default, tuning.max));
    let send = config.send_tuning.map(|tuning| (tuning.default, tuning.max));
    for (key, sizes) in [("receive_buffer", receive), ("send_buffer", send)] {
        let Some((default, max)) = sizes.filter(|(default, max)| default > max) else { continue };
        let expected = format!("at least `default`, \"{default}\"");
        problems.push(Problem::new(path.key(key).key("max"), expected, format!("\"{max}\"")));
    }
}
