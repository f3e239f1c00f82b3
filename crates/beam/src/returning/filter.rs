//! Filters: state machines that look at the packets that wait at a terminal, and take some of them
//! out.
//!
//! Decisions:
//! - A filter is asked before the queue decides whether it has room for a packet, so what it takes
//!   out makes room.
//! - The first packet of a class stays: bursts may have carried a part of it, or contend with it.
//! - Rates that are requested count what has arrived, and so what a filter has taken out. Volumes
//!   count what waits.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::Returning;
use crate::packet::{TerminalId, Waiting};

/// A filter of one terminal.
pub trait Filter<P>: Debug + Send + Sync {
    /// `packet` is about to join the queue under `ticket`. The tickets of waiting packets that it
    /// replaces go to `removed`, each once; the filter forgets them itself.
    fn join(&mut self, ticket: u32, packet: &P, removed: &mut Vec<u32>);

    /// A packet is the first one of its class, or the queue has dropped it.
    fn leave(&mut self, ticket: u32, packet: &P);

    /// A copy in a new box.
    fn boxed_clone(&self) -> Box<dyn Filter<P>>;
}

impl<P> Clone for Box<dyn Filter<P>> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// A filter with the tickets of its packets.
#[derive(Clone, Debug)]
pub(super) struct Filtered<P> {
    filter: Box<dyn Filter<P>>,
    next: u32,
    removed: Vec<u32>,
    /// Packets that it has taken out.
    count: u64,
}

impl<P> Filtered<P> {
    pub fn new(filter: Box<dyn Filter<P>>) -> Self {
        Self { filter, next: 0, removed: Vec::new(), count: 0 }
    }

    /// A packet is about to join these queues of its class. Calls `gone` with the place of the
    /// queue and each packet that it replaces.
    pub fn join(
        &mut self,
        waiting: &mut Waiting<P>,
        queues: [Option<&mut VecDeque<Waiting<P>>>; 2],
        mut gone: impl FnMut(usize, &Waiting<P>),
    ) {
        waiting.ticket = self.next;
        self.next = self.next.wrapping_add(1);
        self.filter.join(waiting.ticket, &waiting.packet, &mut self.removed);
        if self.removed.is_empty() {
            return;
        }
        for (place, queue) in queues.into_iter().enumerate() {
            let Some(queue) = queue else { continue };
            queue.retain(|one| {
                let stays = !self.removed.contains(&one.ticket);
                if !stays {
                    gone(place, one);
                }
                stays
            });
        }
        self.count += self.removed.len() as u64;
        self.removed.clear();
    }

    /// A packet is no longer one that another may replace.
    pub fn leave(&mut self, waiting: &Waiting<P>) {
        self.filter.leave(waiting.ticket, &waiting.packet);
    }
}

impl<P> Returning<P> {
    /// Sets the filter of a terminal, before any packet is offered.
    pub fn set_filter(&mut self, terminal: TerminalId, filter: Box<dyn Filter<P>>) {
        self.terminals[terminal as usize].lines.set_filter(filter);
    }

    /// Packets that the filter of each terminal has taken out; `None` without one.
    pub fn filtered(&self) -> impl Iterator<Item = Option<u64>> {
        self.terminals.iter().map(|terminal| terminal.lines.filtered())
    }
}

impl<P> super::lines::Lines<P> {
    /// Packets that the filter has taken out; `None` without one.
    fn filtered(&self) -> Option<u64> {
        self.filter().map(|filtered| filtered.count)
    }
}

#[cfg(test)]
mod tests {
    use link::Ecn;
    use units::Time;

    use super::super::lines::Lines;
    use super::super::rle::Piece;
    use super::*;
    use crate::classes::Classes;

    /// A packet with a number removes all that wait with a smaller one.
    #[derive(Clone, Debug, Default)]
    struct Latest(Vec<(u32, u32)>);

    impl Filter<u32> for Latest {
        fn join(&mut self, ticket: u32, packet: &u32, removed: &mut Vec<u32>) {
            removed
                .extend(self.0.iter().filter(|(_, old)| old < packet).map(|(ticket, _)| *ticket));
            self.0.retain(|(_, old)| old >= packet);
            self.0.push((ticket, *packet));
        }

        fn leave(&mut self, ticket: u32, _: &u32) {
            self.0.retain(|(old, _)| *old != ticket);
        }

        fn boxed_clone(&self) -> Box<dyn Filter<u32>> {
            Box::new(self.clone())
        }
    }

    fn waiting(packet: u32) -> Waiting<u32> {
        let (ecn, since) = (Ecn::NotCapable, Time::ZERO);
        let (terminal, class, flow, bytes, packets, ticket) = (0, 0, 0, 100, 1, 0);
        Waiting { terminal, class, flow, bytes, packets, ecn, since, ticket, packet }
    }

    fn join(lines: &mut Lines<u32>, number: u32) {
        let mut packet = waiting(number);
        lines.filter_out(&mut packet);
        lines.push(packet);
    }

    fn send(lines: &mut Lines<u32>) -> Option<u32> {
        lines.next(&Classes::default())?;
        let piece = Piece { bytes: 100, used: 100, is_last: true };
        lines.send(0, piece).map(|waiting| waiting.packet)
    }

    /// The first one waits for its slot and stays; the second one is replaced.
    #[test]
    fn all_but_the_first_packet_may_be_replaced() {
        let mut lines = Lines::new(1, None);
        lines.set_filter(Box::new(Latest::default()));
        (1..=3).for_each(|number| join(&mut lines, number));
        assert_eq!(lines.queue(0).bytes, 200);
        assert_eq!(lines.filtered(), Some(1));
        assert_eq!(send(&mut lines), Some(1));
        // The third one is the first of the queue now.
        join(&mut lines, 4);
        join(&mut lines, 5);
        assert_eq!(lines.queue(0).bytes, 200);
        assert_eq!(lines.filtered(), Some(2));
        assert_eq!(
            [send(&mut lines), send(&mut lines), send(&mut lines)],
            [Some(3), Some(5), None]
        );
        assert_eq!(lines.queue(0).bytes, 0);
    }
}
