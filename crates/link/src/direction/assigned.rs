//! A direction with demand assignment: packets leave in the slots of its terminal.

use units::Time;

use super::{Direction, Fate};
use crate::demand::{Action, DemandSettings, Terminal};
use crate::queue::{Content, Queue, Queued, Served};

impl Direction {
    /// The idle direction with demand assignment.
    pub(super) fn assigned(self, demand: DemandSettings) -> Self {
        let mut direction = self.deciding_at_dequeue();
        if let Queue::Scheduled(scheduled) = &mut direction.queue {
            scheduled.sends_packets_only = false;
            scheduled.terminal = Some(Terminal::new(demand).into());
        }
        direction
    }

    /// Lets frames and slots start by `now`, until a packet leaves the queue or the terminal.
    /// `leaves` may change the length of a packet that leaves the queue, before it is put into
    /// slots.
    pub(super) fn serve_assigned(
        &mut self,
        now: Time,
        mut leaves: impl FnMut(Time, &mut Queued),
    ) -> Option<Served> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        loop {
            let terminal = scheduled.terminal.as_mut()?;
            scheduled.next_service = Time::NEVER;
            let (waiting, bytes) = scheduled.discipline.waiting();
            if waiting == 0 && scheduled.sending.is_none() {
                return None;
            }
            terminal.skip_to(scheduled.ready);
            let Some(start) = terminal.has_room() else {
                let at = terminal.next_action();
                if at > now {
                    scheduled.next_service = at;
                    return None;
                }
                if terminal.act(bytes) == Action::Slot {
                    let mut rate = self.settings.rate;
                    if let Some(dynamics) = &mut self.dynamics {
                        dynamics.before_packet(at, &mut self.line.transmitter);
                        rate = dynamics.rate();
                    }
                    if self.line.transmitter.free_at() <= at {
                        terminal.open(rate);
                    }
                }
                continue;
            };
            if scheduled.sending.is_none() {
                scheduled.sending = self.line.dequeue(scheduled, start);
                let Some(packet) = &mut scheduled.sending else { continue };
                leaves(start, packet);
                packet.bytes = self.line.framing.bytes(packet.unframed);
                let content = Content::Begins(packet.ticket);
                scheduled.terminal.as_mut()?.begin(packet.bytes);
                return Some(Served { content, fate: Fate::Scheduled });
            }
            if let Some((start, end)) = terminal.fill() {
                self.line.transmitter.occupy(start, end);
            }
            if terminal.is_sending() {
                continue;
            }
            let packet = scheduled.sending.take()?;
            let left = terminal.finish(packet.since);
            let corrupted = self.line.channel.corrupts(left, packet.unframed);
            let sent = (left, packet.bytes);
            let arrival = self.line.arrival(&mut self.dynamics, now, sent, corrupted);
            let fate = self.line.fate(now, arrival);
            return Some(Served { content: Content::Ends(packet), fate });
        }
    }
}
