//! Frames of random access: the slots of each packet, and the packets that are decoded.

use rand_xoshiro::rand_core::Rng;

use super::below;

/// How terminals repeat their packets, and how the gateway decodes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One burst for each packet.
    SlottedAloha,
    /// Replicas without cancellation.
    Dsa {
        /// Bursts of each packet, at least one.
        replicas: u32,
    },
    /// Replicas with cancellation.
    Crdsa {
        /// Bursts of each packet, at least one.
        replicas: u32,
        /// Most iterations of the receiver. Each one decodes all slots with one burst, and then
        /// subtracts the replicas of the decoded packets. With 1 nothing gains from a subtraction.
        iterations: u32,
    },
}

impl Scheme {
    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlottedAloha => "slotted-aloha",
            Self::Dsa { .. } => "dsa",
            Self::Crdsa { .. } => "crdsa",
        }
    }

    /// Bursts of each packet.
    pub fn replicas(self) -> u32 {
        match self {
            Self::SlottedAloha => 1,
            Self::Dsa { replicas } | Self::Crdsa { replicas, .. } => replicas,
        }
    }

    fn iterations(self) -> u32 {
        match self {
            Self::SlottedAloha | Self::Dsa { .. } => 1,
            Self::Crdsa { iterations, .. } => iterations,
        }
    }
}

/// A slot while the frame is decoded.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Bursts that are not subtracted yet.
    bursts: u32,
    /// The exclusive or of their packets' numbers: the packet's number once a burst is alone.
    packets: u32,
}

/// One channel of random access. The same value decodes frame after frame, so that a frame
/// allocates nothing.
#[derive(Clone, Debug)]
pub struct Channel {
    scheme: Scheme,
    slots: Vec<Slot>,
    /// Slots of the packets, `scheme.replicas()` for each.
    places: Vec<u32>,
    decoded: Vec<bool>,
    /// Packets that the present iteration has decoded.
    fresh: Vec<u32>,
    /// Slots with one burst, for this iteration and the next.
    ready: Vec<u32>,
}

impl Channel {
    /// A channel with frames of `slots` slots.
    ///
    /// # Panics
    ///
    /// If a frame has fewer slots than a packet has replicas, or a packet has none.
    pub fn new(scheme: Scheme, slots: u32) -> Self {
        let replicas = scheme.replicas();
        assert!(replicas >= 1 && slots >= replicas, "{replicas} replicas in {slots} slots");
        let slots = vec![Slot::default(); slots as usize];
        let lists = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (places, decoded, fresh, ready) = lists;
        Self { scheme, slots, places, decoded, fresh, ready }
    }

    /// Slots of a frame.
    pub fn slots(&self) -> u32 {
        count(self.slots.len())
    }

    /// The scheme of the channel.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Sends `packets` packets in one frame, in slots that are drawn from `random`. The answer has
    /// for each packet true if the gateway decodes it. [`Channel::empty_slots`] is the number of
    /// slots without a burst.
    pub fn frame(&mut self, packets: u32, random: &mut impl Rng) -> &[bool] {
        self.places.clear();
        self.decoded.clear();
        if packets == 0 {
            return &self.decoded;
        }
        self.slots.fill(Slot::default());
        for packet in 0..packets {
            self.place(packet, random);
        }
        self.decode(packets);
        &self.decoded
    }

    /// Draws the slots of a packet, all different.
    fn place(&mut self, packet: u32, random: &mut impl Rng) {
        let first = self.places.len();
        let total = self.slots();
        while self.places.len() - first < self.scheme.replicas() as usize {
            let slot = u32::try_from(below(total.into(), random)).unwrap_or(0);
            if !self.places[first..].contains(&slot) {
                self.places.push(slot);
                let slot = &mut self.slots[slot as usize];
                slot.bursts += 1;
                slot.packets ^= packet;
            }
        }
    }

    fn decode(&mut self, packets: u32) {
        self.decoded.clear();
        self.decoded.resize(packets as usize, false);
        self.ready.clear();
        let single = |(place, slot): (usize, &Slot)| (slot.bursts == 1).then(|| count(place));
        self.ready.extend(self.slots.iter().enumerate().filter_map(single));
        for _ in 0..self.scheme.iterations() {
            if self.ready.is_empty() {
                break;
            }
            self.decode_single();
            self.subtract();
        }
    }

    /// Decodes all slots with one burst.
    fn decode_single(&mut self) {
        self.fresh.clear();
        for place in self.ready.drain(..) {
            let slot = self.slots[place as usize];
            // Two slots may carry the same packet alone.
            let known = &mut self.decoded[slot.packets as usize];
            if !*known {
                *known = true;
                self.fresh.push(slot.packets);
            }
        }
    }

    /// Subtracts the bursts of newly decoded packets from their slots.
    fn subtract(&mut self) {
        let replicas = self.scheme.replicas() as usize;
        for packet in &self.fresh {
            let first = *packet as usize * replicas;
            for place in &self.places[first..first + replicas] {
                let slot = &mut self.slots[*place as usize];
                slot.bursts -= 1;
                slot.packets ^= packet;
            }
        }
        // After all subtractions. A slot that stands twice on the list is decoded once.
        for packet in &self.fresh {
            let first = *packet as usize * replicas;
            for place in &self.places[first..first + replicas] {
                if self.slots[*place as usize].bursts == 1 {
                    self.ready.push(*place);
                }
            }
        }
    }

    /// Number of slots of the last frame in which nothing was sent. A gateway knows it, because it
    /// measures the power of each slot.
    pub fn empty_slots(&self) -> u32 {
        let mut is_used = vec![false; self.slots.len()];
        for place in &self.places {
            is_used[*place as usize] = true;
        }
        count(is_used.iter().filter(|used| !**used).count())
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
