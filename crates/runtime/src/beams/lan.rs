//! Networks behind terminals with split proxies: between a proxy and the host of the user.
//!
//! Decisions, which are ours:
//! - Such a network carries 1 Gbit/s, in both directions together, with a delay of 1 ms. It loses
//!   nothing. The windows of the connections bound what waits.
//! - Only connections that the proxy splits take this time. Others come from the terminal at once.

use std::collections::BTreeMap;

use network::{NodeId, Packet};
use scenario::model::{DELAY_BEHIND_TERMINALS, RATE_BEHIND_TERMINALS};
use units::{Span, Time};

/// The networks of all terminals.
pub(super) struct Lans<B> {
    /// When the network of a terminal has sent its last packet.
    free_at: BTreeMap<NodeId, Time>,
    /// Packets by their arrival, and those of an instant in the order in which they were sent.
    waiting: BTreeMap<(Time, u64), Packet<B>>,
    sent: u64,
}

impl<B> Default for Lans<B> {
    fn default() -> Self {
        Self { free_at: BTreeMap::new(), waiting: BTreeMap::new(), sent: 0 }
    }
}

/// Time that a packet of `bytes` bytes takes.
fn time_of(bytes: u16) -> Span {
    let bits = u64::from(bytes) * 8;
    Span::from_nanos(bits * 1_000_000_000 / RATE_BEHIND_TERMINALS.bits_per_second())
}

impl<B> Lans<B> {
    /// A packet from a terminal to its host, or back.
    pub fn send(&mut self, now: Time, packet: Packet<B>) {
        let free_at = self.free_at.entry(packet.to).or_insert(now);
        *free_at = now.max(*free_at) + time_of(packet.bytes);
        let at = *free_at + DELAY_BEHIND_TERMINALS;
        self.waiting.insert((at, self.sent), packet);
        self.sent += 1;
    }

    /// When the next packet arrives.
    pub fn next_event(&self) -> Time {
        self.waiting.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    /// The next packet arrives.
    pub fn advance(&mut self) -> Option<Packet<B>> {
        self.waiting.pop_first().map(|(_, packet)| packet)
    }
}
