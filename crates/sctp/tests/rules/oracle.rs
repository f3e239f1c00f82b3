//! Data for an application, computed the slow way: all chunks that have arrived, and for each
//! stream the messages in order.

use std::collections::BTreeMap;

use sctp::{Connection, Data, Flags, Kind, Packet, State};
use transport::Endpoint;

/// Chunks that have arrived at one end with a buffer without limit, by the distance of their TSN
/// from the first.
#[derive(Clone, Debug)]
pub struct Oracle {
    initial: u32,
    chunks: BTreeMap<u32, Data>,
}

impl Oracle {
    /// Of the end whose other end begins with this TSN.
    pub fn new(initial: u32) -> Self {
        Self { initial, chunks: BTreeMap::new() }
    }

    pub fn on_packet(&mut self, end: &Connection, packet: &Packet) {
        let opens = packet.has(Kind::CookieEcho) && end.state() == State::Listen
            || packet.has(Kind::CookieAck) && end.state() == State::CookieEchoed;
        let receives = [State::Established, State::ShutdownPending, State::ShutdownSent]
            .contains(&end.state());
        if opens || receives {
            let initial = self.initial;
            self.chunks.extend(packet.data().map(|data| (data.tsn.wrapping_sub(initial), *data)));
        }
    }

    pub fn check(&self, end: &Connection) {
        assert_eq!(end.delivered() + end.unread(), self.deliverable());
    }

    /// Each message is the fragments from its B up to its E. Those of one stream count in order,
    /// the last one as far as its fragments go.
    fn deliverable(&self) -> u64 {
        let mut bytes = 0;
        let mut streams: BTreeMap<u16, BTreeMap<u16, (u64, bool)>> = BTreeMap::new();
        for (first, data) in &self.chunks {
            if !data.flags.contains(Flags::BEGIN) {
                continue;
            }
            let (mut sum, mut tsn, mut data) = (u64::from(data.payload), *first, *data);
            while !data.flags.contains(Flags::END) {
                tsn += 1;
                let Some(next) = self.chunks.get(&tsn) else { break };
                data = *next;
                sum += u64::from(data.payload);
            }
            let ends = data.flags.contains(Flags::END);
            if data.flags.contains(Flags::UNORDERED) {
                bytes += sum;
            } else {
                streams.entry(data.stream).or_default().insert(data.ssn, (sum, ends));
            }
        }
        for messages in streams.values() {
            for (expected, (ssn, (sum, ends))) in messages.iter().enumerate() {
                if usize::from(*ssn) != expected {
                    break;
                }
                bytes += sum;
                if !ends {
                    break;
                }
            }
        }
        bytes
    }
}
