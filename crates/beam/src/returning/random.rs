//! Random access of terminals that have no slots in a frame.
//!
//! The channel has carriers of its own, whose frames are those of the assigned slots. A burst has
//! as much of the terminal's queue as it carries, and a request for the rest. Decisions:
//!
//! - A packet is decoded at the end of its frame, when all replicas are there. What the burst has
//!   carried leaves the queue then, and the request has an effect a control loop later.
//! - A burst that is not decoded has neither. Its terminal notices at the timeout of its retries.
//! - A terminal with slots does not contend. Its requests go along in its bursts, at each period.
//! - A terminal that has given up requests in control slots, which lose nothing, until it is idle.
//!   If its group has no capacity but random access, it drops the packet.

use rand_xoshiro::Xoshiro256PlusPlus;
use units::Time;

use super::active::AtRandom;
use super::{Returning, Settings};
use crate::access::{
    self, Channel, Contender, GaveUp, LoadControl, Target, Turn, acknowledgement_frames,
};
use crate::packet::TerminalId;

/// Frames without any terminal after which a control of the load starts again.
const FORGOTTEN: u64 = 64;

/// The random access channel of a beam.
#[derive(Clone, Debug)]
pub(super) struct Random {
    settings: access::Settings,
    channel: Channel,
    control: Option<LoadControl>,
    random: Xoshiro256PlusPlus,
    /// Frames until an acknowledgement.
    acknowledgement: u64,
    /// The last frame that was sent, with its terminals, and which of them are decoded.
    frame: u64,
    senders: Vec<TerminalId>,
    decoded: Vec<bool>,
}

impl Random {
    pub fn new(settings: access::Settings, whole: &Settings, random: Xoshiro256PlusPlus) -> Self {
        let channel = Channel::new(settings.scheme, settings.slots);
        let delay = acknowledgement_frames(whole.delay, whole.frame);
        let control = settings.load.map(|load| LoadControl::new(Target { load, delay }, &channel));
        Self {
            channel,
            control,
            random,
            acknowledgement: delay.into(),
            frame: 0,
            senders: Vec::new(),
            decoded: Vec::new(),
            settings,
        }
    }

    /// The gateway has received a frame, and announces the probability for a later one.
    fn observe(&mut self, frame: u64) {
        let Some(control) = &mut self.control else { return };
        control.observe(self.channel.empty_slots());
        // Frames without terminals are not visited. All their slots are empty.
        let idle = frame.saturating_sub(self.frame + 1);
        if idle > FORGOTTEN {
            let load = control.target();
            *control = LoadControl::new(load, &self.channel);
        } else {
            (0..idle).for_each(|_| control.observe(self.channel.slots()));
        }
    }
}

impl<P> Returning<P> {
    /// The gateway decodes the last frame of random access.
    pub(super) fn receive_random(&mut self, now: Time, frame: u64) {
        let Some(random) = &mut self.random else { return };
        random.observe(frame);
        let carries_packets = random.settings.packets;
        let arrives = random.frame + random.acknowledgement;
        let senders = std::mem::take(&mut random.senders);
        let decoded = std::mem::take(&mut random.decoded);
        for (&number, _) in senders.iter().zip(&decoded).filter(|(_, decoded)| **decoded) {
            self.counters.random_decoded += 1;
            if carries_packets {
                self.fill(now, number);
            }
            let terminal = &mut self.terminals[number as usize];
            if let Some(access) = terminal.active.as_mut().and_then(|active| active.access.as_mut())
            {
                access.acknowledged = Some(arrives);
            }
            if !self.terminals[number as usize].lines.is_empty() {
                self.make_request(now, frame, number);
            }
        }
    }

    /// Terminals without slots in this frame send at random.
    pub(super) fn send_random(&mut self, frame: u64) {
        let Some(mut random) = self.random.take() else { return };
        let announced = random.control.as_ref().map_or(1.0, LoadControl::probability);
        random.frame = frame;
        for place in 0..self.active.len() {
            let number = self.active[place];
            match self.turn(frame, number, announced, &mut random) {
                Ok(Turn::Send) => random.senders.push(number),
                Ok(Turn::Wait) => {}
                Err(GaveUp) => self.give_up(number),
            }
        }
        let packets = u32::try_from(random.senders.len()).unwrap_or(u32::MAX);
        self.counters.random += u64::from(packets);
        let Random { channel, random: numbers, decoded, .. } = &mut random;
        decoded.extend_from_slice(channel.frame(packets, numbers));
        self.random = Some(random);
    }

    /// Decides for a terminal.
    fn turn(
        &mut self,
        frame: u64,
        number: TerminalId,
        announced: f64,
        random: &mut Random,
    ) -> Result<Turn, GaveUp> {
        let terminal = &mut self.terminals[number as usize];
        let Some(active) = &mut terminal.active else { return Ok(Turn::Wait) };
        if !self.settings.groups[terminal.group].access {
            return Ok(Turn::Wait);
        }
        let retries = random.settings.retries;
        let access = active.access.get_or_insert_with(|| {
            Box::new(AtRandom { contender: Contender::new(retries), ..AtRandom::default() })
        });
        if access.acknowledged.is_some_and(|at| at <= frame) {
            access.acknowledged = None;
            access.contender.acknowledged();
        }
        if active.is_assigned || access.gave_up || terminal.lines.is_empty() {
            access.contender.withdraw(frame);
            return Ok(Turn::Wait);
        }
        if access.contender.is_idle() {
            access.contender.offer(frame);
        }
        access.contender.turn(frame, announced, &mut random.random)
    }

    /// A terminal has sent its packet as often as the rules allow.
    fn give_up(&mut self, number: TerminalId) {
        self.counters.random_given_up += 1;
        let terminal = &mut self.terminals[number as usize];
        let group = &self.settings.groups[terminal.group];
        if group.policy.is_none() && group.constant == 0 && !group.free {
            if terminal.lines.give_up(&self.settings.classes) {
                terminal.counters.lost += 1;
            }
            return;
        }
        if let Some(access) = terminal.active.as_mut().and_then(|active| active.access.as_mut()) {
            access.gave_up = true;
        }
    }
}
