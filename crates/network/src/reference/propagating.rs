//! Propagation in the reference engine: random numbers are drawn when a packet is accepted, and its
//! arrival is found when it has left.

use link::{Drawn, ImpairmentCounters, Propagation};
use units::Time;

use super::{Accepted, Kind, Load, ReferenceNetwork, SlowLane};

impl<B: Clone> ReferenceNetwork<B> {
    /// A transmission that leaves at `left` comes to the far end.
    pub(super) fn propagate(&mut self, left: Time, number: usize, sent: Accepted<B>) {
        let port = &mut self.ports[number];
        let delay = port.delay_at(left);
        // Packets do not overtake each other, except by jitter that reorders, and where the delay
        // falls.
        if port.overtakes || (port.reorder && delay < port.last_delay) {
            port.last_arrival = Time::ZERO;
        }
        let at_once = sent.drawn.is_some_and(|drawn| drawn.is_at_once());
        if !at_once {
            port.last_delay = delay;
        }
        let takes = sent.drawn.map_or(delay, |drawn| drawn.delayed(delay));
        // A packet that is sent at once overtakes others, and none waits for it.
        let due = port.last_arrival.max(left + takes);
        let arrival = if at_once { left } else { port.release(due, sent.bytes) };
        if sent.lost {
            port.last_lost = port.last_lost.max(arrival);
            port.lost.push(port.last_lost);
        }
        if sent.corrupted && !matches!(sent.load, Load::Packet(_)) {
            // No packet is lost yet.
        } else if sent.corrupted {
            port.last_corrupted = port.last_corrupted.max(arrival);
            port.corrupted.push(port.last_corrupted);
        } else {
            if !at_once {
                port.last_arrival = arrival;
            }
            let copy = sent.drawn.and_then(|drawn| drawn.copy_delayed(delay)).map(|takes| {
                let order = if port.overtakes { Time::ZERO } else { port.last_arrival };
                port.last_arrival = port.release(order.max(left + takes), sent.bytes);
                port.copies.push(port.last_arrival);
                (port.last_arrival, sent.load.clone())
            });
            let (kind, number) = match (&sent.load, port.reverse) {
                (Load::Packet(_), _) => (Kind::Arrives, number),
                (Load::Frame(_) | Load::Coded(_), _) => (Kind::FrameArrives, number),
                (Load::Status(_), reverse) => (Kind::StatusArrives, reverse.unwrap_or(number)),
            };
            self.schedule(arrival, kind, number, Some(sent.load));
            if let Some((arrival, load)) = copy {
                self.schedule(arrival, kind, number, Some(load));
            }
        }
    }
}

impl<B: Clone> SlowLane<B> {
    /// Random decisions about a packet that leaves at `leaves`, and whether the trace loses one
    /// that is not `corrupted`.
    pub(super) fn draw(&mut self, leaves: Time, corrupted: bool) -> (Option<Drawn>, bool) {
        let drawn = self.propagation.as_mut().map(Propagation::draw);
        let lost = drawn.is_some_and(|drawn| drawn.is_lost(self.loss_at(leaves)));
        (drawn, lost && !corrupted)
    }

    /// When a packet arrives that could do so at `due`.
    fn release(&mut self, due: Time, bytes: u32) -> Time {
        self.propagation.as_mut().map_or(due, |all| all.release(due, bytes))
    }

    /// Totals of random impairments, where `duplicated_packets` copies have arrived.
    pub(super) fn impairments(&self, duplicated_packets: u64) -> Option<ImpairmentCounters> {
        let counters = self.propagation.clone()?.impairments(Time::ZERO)?;
        Some(ImpairmentCounters { duplicated_packets, ..counters })
    }
}
