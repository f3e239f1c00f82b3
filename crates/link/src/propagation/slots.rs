//! Slots in which packets are let go (`slot` of netem).
//!
//! A slot opens after a random delay from the minimum to the maximum. All packets that wait are let
//! go then, up to a number of packets or of bytes. When the slot is used up, the delay of the next
//! one begins. A slot that was not used up ends with the first packet that comes after it has
//! opened: the delay of the next slot begins with that packet, which waits for it (`netem_dequeue`
//! and `get_slot_next` in net/sched/sch_netem.c).
//!
//! Decisions:
//! - Slots are at the end of the propagation delay, as in netem without a delay. Where netem has a
//!   delay of its own, the next slot may be drawn as a packet enters the delay, which is earlier.
//! - Delays are drawn per slot, and not per packet: which slot is which depends on the packets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Span, Time};

/// Slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The shortest delay until a slot.
    pub min_delay: Span,
    /// The longest one; not below the shortest.
    pub max_delay: Span,
    /// Packets of a slot; `None` for no limit.
    pub packets: Option<u32>,
    /// Bytes of a slot, the packet that goes beyond them included; `None` for no limit.
    pub bytes: Option<u64>,
}

/// Slots at work.
#[derive(Clone, Debug)]
pub(super) struct Slotting {
    slots: Slots,
    /// When the slot opens.
    opens: Time,
    packets_left: u32,
    bytes_left: u64,
    rng: Xoshiro256PlusPlus,
}

impl Slotting {
    pub fn new(slots: Slots, rng: Xoshiro256PlusPlus) -> Self {
        let (packets_left, bytes_left) =
            (slots.packets.unwrap_or(u32::MAX), slots.bytes.unwrap_or(u64::MAX));
        Self { slots, opens: Time::ZERO, packets_left, bytes_left, rng }
    }

    /// When a packet of `bytes` is let go that could go at `due`. Packets come in the order in
    /// which they are due.
    pub fn release(&mut self, due: Time, bytes: u32) -> Time {
        if self.opens < due {
            self.next(due);
        }
        let at = due.max(self.opens);
        self.packets_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.into());
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.next(at);
        }
        at
    }

    /// The delay of the next slot begins at `now`.
    fn next(&mut self, now: Time) {
        let Slots { min_delay, max_delay, packets, bytes } = self.slots;
        let range = u128::from(max_delay.saturating_sub(min_delay).as_nanos());
        let more = ((u128::from(self.rng.next_u64()) * range) >> 64) as u64;
        self.opens = now + min_delay + Span::from_nanos(more);
        self.packets_left = packets.unwrap_or(u32::MAX);
        self.bytes_left = bytes.unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    const MAX: u32 = 1500;

    fn slots(min: u64, max: u64) -> Slots {
        let [min_delay, max_delay] = [min, max].map(Span::from_millis);
        Slots { min_delay, max_delay, packets: None, bytes: None }
    }

    /// When packets of 1500 bytes are let go that are due at these milliseconds, in milliseconds.
    fn released(slots: Slots, due: &[u64]) -> Vec<u64> {
        let mut slotting = Slotting::new(slots, stream(1, Purpose::Propagation, 0));
        let release = |due: &u64| {
            let at = slotting.release(Time::ZERO + Span::from_millis(*due), MAX);
            at.as_nanos() / 1_000_000
        };
        due.iter().map(release).collect()
    }

    #[test]
    fn packets_wait_for_the_slot_and_those_that_come_with_its_opening_go_with_it() {
        assert_eq!(released(slots(20, 20), &[5, 6, 24, 25, 26, 60]), [25, 25, 25, 25, 46, 80]);
    }

    #[test]
    fn a_slot_has_its_packets_and_the_next_one_begins_with_the_last_of_them() {
        let of_two = Slots { packets: Some(2), ..slots(20, 20) };
        assert_eq!(released(of_two, &[5, 6, 7, 8, 9]), [25, 25, 45, 45, 65]);
    }

    #[test]
    fn a_slot_has_its_bytes_and_the_packet_that_goes_beyond_them() {
        let of_bytes = |bytes| Slots { bytes: Some(bytes), ..slots(20, 20) };
        assert_eq!(released(of_bytes(3000), &[5, 6, 7]), [25, 25, 45]);
        assert_eq!(released(of_bytes(3001), &[5, 6, 7, 8]), [25, 25, 25, 45]);
        assert_eq!(released(of_bytes(1), &[5, 6]), [25, 45]);
    }

    /// A packet that is alone waits for the delay of its own slot.
    #[test]
    fn delays_of_slots_are_even_between_their_bounds() {
        let mut slotting = Slotting::new(slots(10, 30), stream(1, Purpose::Propagation, 0));
        let mut waits: Vec<_> = (1..100_001_u64)
            .map(|n| {
                let due = Time::ZERO + Span::from_secs(n);
                slotting.release(due, MAX).since(due).as_millis_f64()
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        for (share, expected) in
            [(0.0, 10.0), (0.25, 15.0), (0.5, 20.0), (0.99, 29.8), (0.99999, 30.0)]
        {
            let found = waits[(share * waits.len() as f64) as usize];
            assert!((found / expected - 1.0).abs() < 0.01, "{share}: {found}");
        }
    }
}
