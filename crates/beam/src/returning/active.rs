//! A terminal with packets or requests: what it has requested, and its slots.

use std::collections::VecDeque;

use units::Time;

use super::requests::{Category, Left, Memory, Policy};
use super::{Group, Settings, rle};
use crate::access::Contender;

/// Packets up to which a request of a volume counts the bursts one by one.
const COUNTED_PACKETS: usize = 32;

/// Why a terminal has a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Constant,
    Rate,
    Volume,
    Free,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Request {
    /// Slots for each frame.
    Rate(u32),
    /// Slots in addition.
    Volume(u32),
    /// Slots in place of those before.
    NewVolume(u32),
}

/// The queue of a class at a terminal, for its requests.
pub(super) struct Queue<I> {
    pub packets: usize,
    pub bytes: u64,
    /// Lengths of the packets.
    pub lengths: I,
    /// Bytes of the first packet that are sent.
    pub sent: u32,
}

/// Requests of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct Loop {
    pub memory: Memory,
    /// Requests with the frames from which on they have an effect.
    requests: VecDeque<(u64, Request)>,
    /// The rate that was requested last.
    last_rate: f64,
    /// The rate in slots of a frame that has an effect.
    pub rate: u32,
    /// Slots by volume that the NCC has not assigned yet.
    pub volume: u32,
    /// Slots by volume whose request has no effect yet.
    pending: u32,
}

/// State of a terminal with packets or requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Active {
    /// By class.
    pub loops: Vec<Loop>,
    /// Slots of this frame, the last one first.
    pub slots: Vec<(u32, Kind)>,
    /// Its next burst is entered.
    pub is_planned: bool,
    /// It has slots in this frame.
    pub is_assigned: bool,
    /// Its packet at random access; boxed, since few terminals use it at a time.
    pub access: Option<Box<AtRandom>>,
}

/// A terminal's part in random access.
#[derive(Clone, Debug, Default)]
pub(super) struct AtRandom {
    pub contender: Contender,
    /// The frame at whose start the acknowledgement of its packet arrives.
    pub acknowledged: Option<u64>,
    /// Its packet was sent as often as the rules allow: it requests in control slots.
    pub gave_up: bool,
}

impl Active {
    /// A terminal whose packets have a number of classes.
    pub fn new(classes: usize) -> Self {
        Self { loops: vec![Loop::default(); classes], ..Self::default() }
    }

    /// Returns true if no request has or will have an effect.
    pub fn is_at_rest(&self) -> bool {
        let waits = self.access.as_ref().is_some_and(|one| !one.contender.is_idle());
        !waits && self.loops.iter().all(Loop::is_at_rest)
    }

    /// Returns true if random access has failed, so that the terminal requests in control slots.
    pub fn has_given_up(&self) -> bool {
        self.access.as_ref().is_some_and(|one| one.gave_up)
    }

    /// Brings the slots into their order in time, with one at an instant. Their numbers go over one
    /// carrier after the other.
    pub fn arrange(&mut self, slots_of_carrier: u32) {
        for (slot, _) in &mut self.slots {
            *slot %= slots_of_carrier;
        }
        self.slots.sort_unstable();
        self.slots.dedup_by_key(|(slot, _)| *slot);
        self.slots.reverse();
        self.is_assigned = !self.slots.is_empty();
    }
}

impl Loop {
    /// Returns true if no request has or will have an effect.
    fn is_at_rest(&self) -> bool {
        self.requests.is_empty() && self.rate == 0 && self.volume == 0 && self.last_rate == 0.0
    }

    /// Makes the request that is due. Returns false if there is nothing to request.
    pub fn request(
        &mut self,
        now: Time,
        frame: u64,
        settings: &Settings,
        (group, policy): (&Group, &Policy),
        queue: Queue<impl Iterator<Item = u32>>,
        left: &mut Left,
    ) -> bool {
        let effect = frame + settings.loop_frames();
        let request = match policy.category {
            Category::Rbdc => {
                let wire = queue.bytes + u64::from(rle::WHOLE) * queue.packets as u64;
                let rate = self.memory.rate(now, 8.0 * wire as f64, policy, left);
                if rate == 0.0 && self.last_rate == 0.0 {
                    return false;
                }
                self.last_rate = rate;
                Request::Rate(whole_slots(settings.slots_of_rate(rate, group)))
            }
            Category::Vbdc => {
                let known = self.volume + self.pending;
                let wanted = volume(group, policy, queue).saturating_sub(known);
                let slots = wanted.saturating_sub(left.constant_slots);
                left.constant_slots -= wanted - slots;
                self.pending += slots;
                Request::Volume(slots)
            }
            Category::Avbdc if self.pending > 0 || self.volume > 0 => return false,
            Category::Avbdc => {
                self.pending = volume(group, policy, queue);
                Request::NewVolume(self.pending)
            }
        };
        if matches!(request, Request::Volume(0) | Request::NewVolume(0)) {
            return false;
        }
        self.requests.push_back((effect, request));
        true
    }

    /// Requests that have an effect from this frame on reach the NCC.
    pub fn take_effect(&mut self, frame: u64) {
        while let Some(&(effect, request)) = self.requests.front()
            && effect <= frame
        {
            self.requests.pop_front();
            match request {
                Request::Rate(rate) => self.rate = rate,
                Request::Volume(slots) => {
                    self.volume += slots;
                    self.pending -= slots;
                }
                Request::NewVolume(slots) => {
                    self.volume = slots;
                    self.pending = 0;
                }
            }
        }
    }
}

/// A rate as whole slots of a frame, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole_slots(slots: f64) -> u32 {
    // A rate of whole slots is not one slot more because it was computed with fractions.
    (slots - 1e-6).ceil() as u32
}

/// Slots for the packets that wait.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn volume(group: &Group, policy: &Policy, queue: Queue<impl Iterator<Item = u32>>) -> u32 {
    let payload = group.waveform.payload;
    let slots = if queue.packets <= COUNTED_PACKETS {
        f64::from(rle::bursts(payload, queue.lengths, queue.sent))
    } else {
        let wire = queue.bytes as f64 + f64::from(rle::WHOLE) * queue.packets as f64;
        // A burst may end and begin with a fragment.
        (wire / f64::from(payload - rle::BURST - rle::FIRST)).ceil()
    };
    (slots * policy.over_request).ceil() as u32
}
