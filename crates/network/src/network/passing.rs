//! Ports whose packets all go on to one other port: many pass to it at one event.
//!
//! A port *passes* to another if all packets that come out of it enter the other, nothing else
//! does, and both have a plain queue. Then nothing in the network depends on when a packet passes,
//! until it comes out of the second port, which is the delay of that one later at the earliest. So
//! the event of the first port is put off by that delay less a nanosecond, and all packets that
//! have come out until then pass at once.
//!
//! The results are the same, also where times are equal:
//!
//! - Each packet is offered to the second port at its own time, in the order of the ring. Nothing
//!   else is offered to it, so its queue and its channel decide as if each had an event.
//! - A packet that still waits for the event is at the second port later than the event less the
//!   delay. So it comes out of that port after the event, also if the event of the second port is
//!   put off itself: what is taken out of a ring at any time is complete.
//! - Two events at one instant may change places if they have no port and no host in common. The
//!   event of the first port and those of the second never have the same time, and no host sees a
//!   packet pass.
//! - Totals are read after `Fabric::settle`, which lets those packets pass that would have passed
//!   by then, and counts an event for each of them.

use units::{Span, Time};

use link::Fate;

use crate::fabric::NodeId;

use super::Network;
use super::events::PortEvent;

impl<B> Network<B> {
    /// Returns true if packets pass to this port many at a time.
    pub(super) fn is_passed_to(&self, port: usize) -> bool {
        self.ports.iter().any(|one| one.passes_to() == Some(port))
    }
}

/// The ports before and behind a port, or how many there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbours {
    Unknown,
    One(usize),
    /// Several, or a host.
    More,
}

impl Neighbours {
    fn add(&mut self, port: usize) {
        *self = match *self {
            Self::Unknown => Self::One(port),
            Self::One(known) if known == port => Self::One(port),
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
            before[port] = Neighbours::More;
            while let Some(next) = self.next_hop.next(port, to) {
                behind[port].add(next);
                before[next].add(port);
                port = next;
            }
            behind[port] = Neighbours::More;
        }
        for (number, behind) in behind.into_iter().enumerate() {
            let Neighbours::One(next) = behind else { continue };
            let delay = self.ports[next].direction.settings().delay;
            if before[next] == Neighbours::One(number)
                && [number, next].iter().all(|port| self.ports[*port].is_plain())
                && delay > Span::from_nanos(1)
            {
                let event = self.numbers.of(PortEvent::Pass, number);
                let [event, next] = [event, next].map(|it| u32::try_from(it).unwrap_or(u32::MAX));
                self.ports[number].put_off(event, next, delay - Span::from_nanos(1));
            }
        }
        self.list_events();
    }

    /// The event of port number `number` happens.
    pub(super) fn pass_all(&mut self, now: Time, number: usize) -> u64 {
        let Some(next) = self.ports[number].passes_to() else { return 0 };
        let passed = self.pass_until(now, number, next);
        self.arrivals.follow_earliest(self.ports[number].next_event());
        self.note_first_passed(next, passed);
        passed.packets
    }

    /// Lets the packets pass whose turn would have been before that of port number `before` at
    /// `until`.
    pub(super) fn pass_before(&mut self, until: Time, before: u32) {
        for number in 0..self.ports.len() {
            let Some(next) = self.ports[number].passes_to() else { continue };
            let until = if number < before as usize {
                until
            } else if until > Time::ZERO {
                until - Span::from_nanos(1)
            } else {
                continue;
            };
            let passed = self.pass_until(until, number, next);
            if passed.packets > 0 {
                let port = &self.ports[number];
                self.arrivals.change(port.event as usize, port.next_event());
                self.note_first_passed(next, passed);
                self.settled += passed.packets;
            }
        }
    }

    /// Lets all packets pass that have come out of port number `number` until `until`.
    fn pass_until(&mut self, until: Time, number: usize, next: usize) -> Passed {
        let Ok([from, to]) = self.ports.get_disjoint_mut([number, next]) else {
            unreachable!("a link does not lead to its own start")
        };
        let mut passed = Passed { packets: 0, was_empty: to.packets.len() == 0 };
        while let Some((at, packet)) = from.packets.first()
            && *at <= until
        {
            passed.packets += 1;
            from.delivered.count(packet);
            let fate = to.direction.offer(*at, u32::from(packet.bytes), packet.priority);
            if let Fate::Arrives(arrival) = fate {
                // Plain data: it is copied from where it was to where it will wait.
                to.packets.push_with(|| (arrival, packet.clone()));
            }
            from.packets.forget_first();
        }
        self.hops += passed.packets;
        passed
    }

    /// The ring of port number `number` may have its first packet.
    fn note_first_passed(&mut self, number: usize, passed: Passed) {
        let port = &self.ports[number];
        if passed.was_empty
            && let Some(at) = port.next_event()
        {
            self.arrivals.insert(port.event as usize, at);
        }
    }
}

/// Packets that have passed at one event.
#[derive(Clone, Copy, Debug)]
struct Passed {
    packets: u64,
    /// None was on its way through the second port before.
    was_empty: bool,
}
