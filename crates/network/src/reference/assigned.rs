//! Demand assignment in the reference engine: the terminal is the state machine of the fast engine,
//! and each frame and slot in which it has something to do is an event.

use link::{Action, DemandSettings, Queued, Terminal};
use units::{Span, Time};

use super::{Accepted, Kind, Load, ReferenceNetwork};

/// A terminal, and the packet that it sends.
#[derive(Clone, Debug)]
pub(super) struct Assigned<B> {
    pub terminal: Terminal,
    sending: Option<(Load<B>, Queued)>,
    /// The last time for which it has an event.
    wakes: Time,
}

impl<B> Assigned<B> {
    pub fn new(demand: DemandSettings) -> Self {
        Self { terminal: Terminal::new(demand), sending: None, wakes: Time::NEVER }
    }
}

impl<B: Clone> ReferenceNetwork<B> {
    /// The terminal of a port does what is due at `now`, and gets an event for what comes next.
    pub(super) fn serve_terminal(&mut self, now: Time, number: usize) {
        loop {
            let port = &mut self.ports[number];
            let (Some(managed), Some(assigned)) = (&port.managed, &mut port.assigned) else {
                return;
            };
            let (waiting, bytes) = managed.waiting();
            if waiting == 0 && assigned.sending.is_none() {
                return;
            }
            assigned.terminal.skip_to(now);
            if assigned.terminal.has_room().is_some() {
                self.fill_slot(now, number);
                continue;
            }
            let at = assigned.terminal.next_action();
            if at > now {
                if assigned.wakes != at {
                    assigned.wakes = at;
                    self.schedule(at, Kind::Resumes, number, None);
                }
                return;
            }
            let is_slot = assigned.terminal.act(bytes) == Action::Slot;
            if is_slot && port.up_from(now) == now {
                let rate = port.rate_at(now);
                if let Some(assigned) = &mut port.assigned {
                    assigned.terminal.open(rate);
                }
            }
        }
    }

    /// Puts bytes of one packet into the slot that starts at `now`.
    fn fill_slot(&mut self, now: Time, number: usize) {
        let is_idle = |assigned: &Assigned<B>| assigned.sending.is_none();
        if self.ports[number].assigned.as_ref().is_some_and(is_idle) {
            let Some((load, queued)) = self.take_assigned(now, number) else { return };
            let port = &mut self.ports[number];
            let Some(assigned) = &mut port.assigned else { return };
            assigned.terminal.begin(port.framing.bytes(queued.unframed));
            assigned.sending = Some((load, queued));
        }
        let port = &mut self.ports[number];
        let Some(assigned) = &mut port.assigned else { return };
        if let Some((start, end)) = assigned.terminal.fill() {
            port.busy = port.busy + end.since(start);
            port.last_end = end;
        }
        if assigned.terminal.is_sending() {
            return;
        }
        let Some((load, queued)) = assigned.sending.take() else { return };
        let leaves = assigned.terminal.finish(queued.since);
        let corrupted = port.channel.corrupts(leaves, queued.unframed);
        let (drawn, lost) = port.draw(leaves, corrupted);
        let (arrived, bytes, duration) = (now, queued.bytes, Span::ZERO);
        let corrupted = corrupted || lost;
        let sent = Accepted { load, bytes, arrived, corrupted, lost, drawn, duration, leaves };
        self.propagate(leaves, number, sent);
    }
}
