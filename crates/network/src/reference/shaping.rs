//! A shaper in the reference engine: asked before each transmission when the tokens of the next
//! packet are there.

use link::{Queued, Shaper, TokenBucket};
use units::Time;

use super::{Load, ReferenceNetwork, SlowLane};
use crate::fabric::Packet;

/// The shaper, and a packet that has left the queue and waits for them.
#[derive(Clone, Debug)]
pub(super) struct Shaping<B> {
    pub shaper: Shaper,
    chosen: Option<(Packet<B>, Queued)>,
}

impl<B> Shaping<B> {
    pub fn new(settings: TokenBucket) -> Self {
        Self { shaper: Shaper::new(settings), chosen: None }
    }

    /// Returns true if a packet waits outside of the queue.
    pub fn holds(&self) -> bool {
        self.chosen.is_some()
    }
}

impl<B: Clone> SlowLane<B> {
    /// When the tokens of the next packet are there, if they are not there `now`. Chooses it if the
    /// queue decides by time.
    pub(super) fn lacks_tokens_until(&mut self, now: Time) -> Option<Time> {
        let is_fifo = self.managed.as_ref()?.is_fifo();
        if !is_fifo && !self.shaping.as_ref()?.holds() {
            let queued = self.dequeue(now)?;
            let packet = self.managed.as_mut()?.take(queued.ticket)?;
            self.shaping.as_mut()?.chosen = Some((packet, queued));
        }
        let (shaping, managed) = (self.shaping.as_mut()?, self.managed.as_ref()?);
        let bytes = shaping.chosen.as_ref().map(|(_, queued)| queued.bytes);
        let ready = shaping.shaper.ready_at(now, bytes.or_else(|| managed.next_bytes())?);
        (ready > now).then_some(ready)
    }
}

impl<B: Clone> ReferenceNetwork<B> {
    /// Takes the next packet, whose tokens are there, with its bytes without framing.
    pub(super) fn take_shaped(&mut self, now: Time, number: usize) -> Option<(Load<B>, u32)> {
        let port = &mut self.ports[number];
        let (packet, queued) = match port.shaping.as_mut()?.chosen.take() {
            Some(chosen) => chosen,
            None => {
                let queued = port.dequeue(now)?;
                (port.managed.as_mut()?.take(queued.ticket)?, queued)
            }
        };
        port.shaping.as_mut()?.shaper.take(now, queued.bytes);
        Some((Load::Packet(Packet { ecn: queued.ecn, ..packet }), queued.unframed))
    }
}
