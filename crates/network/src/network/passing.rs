//! Ports whose packets all go on to one other port: they pass to it without an event.
//!
//! A port *passes* to another if all packets that come out of it enter the other, nothing else
//! does, and both have a plain queue. Then it is known when a packet comes out of the first port as
//! soon as it has entered that, and so when it is offered to the second. It is offered there at
//! once, ahead of time, and waits for its arrival at the end of the second. The results are the
//! same:
//!
//! - Nothing else is offered to the second port, and all packets in their order. So its queue and
//!   its channel decide as if each packet had an event.
//! - No host and no other port sees a packet pass.
//! - Totals are read after `Fabric::settle`. They are without those packets that would not have
//!   passed by then. Each packet that has passed counts as an event.

use units::{Span, Time};

use link::{Fate, Priority, ToCome};

use crate::fabric::NodeId;

use super::Network;
use super::port::Port;

impl<B> Network<B> {
    /// Returns true if packets pass to this port.
    pub(super) fn is_passed_to(&self, port: usize) -> bool {
        self.passing().any(|(_, next)| next == port)
    }

    /// Ports that pass to another, and these.
    fn passing(&self) -> impl Iterator<Item = (usize, usize)> {
        let numbered = self.ports.iter().enumerate();
        numbered.filter_map(|(number, port)| Some((number, port.passes_to? as usize)))
    }

    /// The ports that pass to another, and packets that would not have passed yet.
    pub(super) fn to_come(&self) -> impl Iterator<Item = (usize, ToCome)> {
        self.passing().map(|(number, next)| (number, self.ports[next].direction.to_come()))
    }
}

/// A thing that packets meet before or behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbour {
    Port(usize),
    Host,
}

/// All that packets meet before or behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbours {
    Unknown,
    One(Neighbour),
    More,
}

impl Neighbours {
    fn add(&mut self, neighbour: Neighbour) {
        *self = match *self {
            Self::Unknown => Self::One(neighbour),
            Self::One(known) if known == neighbour => Self::One(known),
            Self::One(_) | Self::More => Self::More,
        };
    }
}

impl<B: Clone> Network<B> {
    /// Finds the ports that pass to another, if hosts send packets from the first to the second of
    /// these nodes and nothing else does.
    pub(super) fn find_passing(&mut self, ways: &[[NodeId; 2]]) {
        let mut before = vec![Neighbours::Unknown; self.ports.len()];
        let mut behind = before.clone();
        for &[from, to] in ways {
            let mut port = self.routes.out(from, to);
            before[port].add(Neighbour::Host);
            while let Some(next) = self.next_hop.next(port, to) {
                behind[port].add(Neighbour::Port(next));
                before[next].add(Neighbour::Port(port));
                port = next;
            }
            behind[port].add(Neighbour::Host);
        }
        for (number, behind) in behind.into_iter().enumerate() {
            self.ports[number].is_last = behind == Neighbours::One(Neighbour::Host);
            let Neighbours::One(Neighbour::Port(next)) = behind else { continue };
            if before[next] == Neighbours::One(Neighbour::Port(number))
                && [number, next].iter().all(|port| self.ports[*port].is_plain())
                && self.ports[next].direction.settings().delay > Span::ZERO
            {
                self.ports[number].passes_to = u32::try_from(next).ok();
                self.ports[next].direction.take_ahead();
            }
        }
    }

    /// Totals are those after all that happens before the turn of port number `before` at `until`.
    pub(super) fn count_passed(&mut self, until: Time, before: u32) {
        for number in 0..self.ports.len() {
            let Some(next) = self.ports[number].passes_to else { continue };
            let is_over = number < before as usize || until == Time::ZERO;
            let until = if is_over { until } else { until - Span::from_nanos(1) };
            self.ports[next as usize].direction.count_offers_until(until);
        }
    }
}

/// Offers a packet to port `number` now, and ahead of time to each port to which that passes.
/// Returns the last port, its number, and the fate of the packet there.
#[inline(always)]
pub(super) fn offer<B>(
    ports: &mut [Port<B>],
    now: Time,
    number: usize,
    bytes: u16,
    priority: Priority,
) -> (&mut Port<B>, usize, Fate) {
    let port = &mut ports[number];
    let fate = port.direction.offer(now, bytes.into(), priority);
    let (Fate::Arrives(at), Some(next)) = (fate, port.passes_to) else {
        return (&mut ports[number], number, fate);
    };
    port.delivered.count(bytes);
    let number = next as usize;
    let port = &mut ports[number];
    let fate = port.direction.offer_ahead(now, at, bytes.into(), priority);
    let (Fate::Arrives(at), Some(_)) = (fate, port.passes_to) else {
        return (&mut ports[number], number, fate);
    };
    offer_on(ports, now, (number, at), bytes, priority)
}

/// The rest of [`offer`], for a packet that comes out of port `number` at `at` and passes on.
#[inline(never)]
fn offer_on<B>(
    ports: &mut [Port<B>],
    now: Time,
    (mut number, at): (usize, Time),
    bytes: u16,
    priority: Priority,
) -> (&mut Port<B>, usize, Fate) {
    let mut fate = Fate::Arrives(at);
    while let (Fate::Arrives(at), Some(next)) = (fate, ports[number].passes_to) {
        ports[number].delivered.count(bytes);
        number = next as usize;
        fate = ports[number].direction.offer_ahead(now, at, bytes.into(), priority);
    }
    (&mut ports[number], number, fate)
}
