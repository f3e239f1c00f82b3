//! A direction with a shaper: packets leave when their tokens are there.

use units::Time;

use super::{Direction, Fate};
use crate::queue::{Content, Queue, Queued, Served};

impl Direction {
    /// Starts the next transmission, if it starts by `now`, or chooses the packet that waits for
    /// tokens next.
    pub(super) fn serve_shaped(
        &mut self,
        now: Time,
        mut leaves: impl FnMut(Time, &mut Queued),
    ) -> Option<Served> {
        loop {
            let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
            let start = scheduled.next_service;
            if start > now {
                return None;
            }
            // An outage may have come while it waited for tokens.
            if let Some(dynamics) = &mut self.dynamics {
                dynamics.before_packet(start, &mut self.line.transmitter);
                if self.line.transmitter.free_at() > start {
                    self.plan();
                    continue;
                }
            }
            let (packet, content) = if let Some(packet) = scheduled.sending.take() {
                (packet, Content::Ends(packet))
            } else {
                let Some(mut packet) = self.line.dequeue(scheduled, start) else {
                    self.plan();
                    continue;
                };
                leaves(start, &mut packet);
                packet.bytes = self.line.framing.bytes(packet.unframed);
                if scheduled.shaper.as_mut()?.ready_at(start, packet.bytes) > start {
                    scheduled.sending = Some(packet);
                    self.plan();
                    let content = Content::Begins(packet.ticket);
                    return Some(Served { content, fate: Fate::Scheduled });
                }
                (packet, Content::Packet(packet))
            };
            scheduled.shaper.as_mut()?.take(start, packet.bytes);
            let (left, corrupted) = self.line.transmit(start, packet.bytes, packet.unframed);
            let sent = (left, packet.bytes);
            let arrival = self.line.arrival(&mut self.dynamics, now, sent, corrupted);
            let fate = self.line.fate(now, arrival);
            self.plan();
            return Some(Served { content, fate });
        }
    }
}
