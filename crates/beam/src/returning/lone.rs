//! Time that a packet takes which finds everything idle.

use super::rle;
use super::rotation::Turns;
use super::settings::{Group, Settings};

/// Terminals of a group over which the mean is taken. They differ in the place of their slots only.
const MOST_MEMBERS: u64 = 16;
/// Frames over which the mean is taken, besides those of the packet.
const FRAMES: f64 = 24.0;

impl Settings {
    /// How long a packet of `bytes` from a terminal of group number `group` waits and is sent, in
    /// seconds, that finds everything idle: the mean over its place in a frame and over the
    /// terminals. `members` has the number of terminals of each group.
    ///
    /// - Without requests, and with slots in each frame: the wait for the next slot, and the slots
    ///   up to the last one of the packet.
    /// - With fewer: half of the frames until the turn of the terminal, and as many frames for each
    ///   further slot.
    /// - On request: half a period, the frames of the control loop, and the slots.
    /// - At random, without a collision: half a frame and the frame of the burst.
    pub fn lone_delay(&self, group: usize, members: &[u64], bytes: u32) -> f64 {
        let settings = &self.groups[group];
        let frame = self.frame.as_secs_f64();
        let bursts = rle::bursts(settings.waveform.payload, [bytes], 0);
        let random = self.access.filter(|_| settings.access);
        let requested = settings.policy.map_or(f64::INFINITY, |policy| {
            let period = policy.period.max(self.frame).as_secs_f64();
            // A burst at random is sent in the next frame, and decoded at its end.
            let until_there = if random.is_some() { 1.5 * frame } else { period / 2.0 };
            let sending = f64::from(bursts) * self.slot().as_secs_f64();
            until_there + self.loop_frames() as f64 * frame + sending
        });
        let fits = random.is_some_and(|access| access.packets && bursts <= 1);
        let at_random = if fits { 1.5 * frame } else { f64::INFINITY };
        self.unrequested_delay(group, members, bursts).min(requested).min(at_random)
    }

    /// The same without requests and random access; infinite without such slots.
    fn unrequested_delay(&self, group: usize, members: &[u64], bursts: u32) -> f64 {
        let settings = &self.groups[group];
        let [_, free] = self.turns(group, members, 0);
        let all = members[group].max(1);
        let of_each = |turns: Turns| f64::from(turns.slots) / turns.members as f64;
        let most = self.slots_of_rate(settings.constant as f64, settings).max(of_each(free));
        let (frame, slot) = (self.frame.as_secs_f64(), self.slot().as_secs_f64());
        if most < 1.0 {
            return frame / most * (0.5 + f64::from(bursts - 1)) + slot;
        }
        let before = self.free_members_before(group, members);
        let looked_at = all.min(MOST_MEMBERS);
        // Of slots at the same instant, one is used.
        let fewest = (most / f64::from(self.carriers)).max(1.0);
        let frames = FRAMES + f64::from(bursts) / fewest;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few hundred"
        )]
        let frames = frames as u64;
        let delays = (0..looked_at).map(|member| {
            let mut instants = Vec::new();
            for number in 0..frames {
                let [constant, free] = self.turns(group, members, number);
                let slots = constant.of(member).chain(free.of(before + member));
                let mut slots: Vec<u32> =
                    slots.map(|slot| slot % self.slots_of_carrier()).collect();
                slots.sort_unstable();
                slots.dedup();
                let start = number as f64 * frame;
                instants.extend(slots.iter().map(|place| start + f64::from(*place) * slot));
            }
            delay_to(&instants, bursts as usize) + slot
        });
        delays.sum::<f64>() / looked_at as f64
    }

    /// Slots of a frame without requests: of constant assignment of a group, and free ones if it
    /// has them.
    fn turns(&self, group: usize, members: &[u64], frame: u64) -> [Turns; 2] {
        let of_groups = |groups: &[Group], frame: u64| -> u64 {
            let groups = groups.iter().zip(members);
            groups.map(|(group, members)| self.constant_before(group, *members, frame)).sum()
        };
        let in_frame = |groups: &[Group]| {
            let slots = of_groups(groups, frame + 1) - of_groups(groups, frame);
            u32::try_from(slots).unwrap_or(u32::MAX)
        };
        let own = &self.groups[group..=group];
        let constant = Turns {
            members: members[group].max(1),
            first: self.constant_before(&own[0], members[group], frame),
            place: in_frame(&self.groups[..group]),
            slots: in_frame(&self.groups[..=group]) - in_frame(&self.groups[..group]),
        };
        let place = in_frame(&self.groups).min(self.slots());
        let free = Turns {
            members: self.free_members_before(self.groups.len(), members).max(1),
            first: (frame * u64::from(self.slots())).saturating_sub(of_groups(&self.groups, frame)),
            place,
            slots: if own[0].free { self.slots() - place } else { 0 },
        };
        [constant, free]
    }

    /// Terminals with free capacity in the groups before number `group`.
    fn free_members_before(&self, group: usize, members: &[u64]) -> u64 {
        let groups = self.groups[..group].iter().zip(members);
        groups.filter(|(group, _)| group.free).map(|(_, members)| members).sum()
    }
}

/// Mean time in seconds to the start of the last of `bursts` slots behind each other, over the
/// instants from the first slot on behind which this number of slots is left. `instants` has the
/// starts of all slots.
fn delay_to(instants: &[f64], bursts: usize) -> f64 {
    let last = instants.len() - bursts;
    let parts = (1..=last).map(|next| {
        let gap = instants[next] - instants[next - 1];
        gap * (gap / 2.0 + instants[next + bursts - 1] - instants[next])
    });
    parts.sum::<f64>() / (instants[last] - instants[0])
}
