//! Settings of a return channel.

use units::Span;

use crate::access;
use crate::classes::Classes;
use crate::plan::Plan;

use super::requests::Policy;
use super::waveforms::{BurstLength, Waveform};

/// Settings of a return channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Length of a frame.
    pub frame: Span,
    /// Number of carriers.
    pub carriers: u32,
    /// Symbols per second of each carrier.
    pub symbol_rate: f64,
    /// Length of the bursts.
    pub bursts: BurstLength,
    /// Propagation from the terminals to the gateway.
    pub delay: Span,
    /// Time from a request to the earliest start of a frame with its slots.
    pub control_delay: Span,
    /// The channel for random access; `None` without one.
    pub access: Option<access::Settings>,
    /// Classes of traffic.
    pub classes: Classes,
    /// Groups of terminals.
    pub groups: Vec<Group>,
}

/// Settings of a group of terminals.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its waveform.
    pub waveform: Waveform,
    /// Rate of constant assignment of each terminal in bit/s.
    pub constant: u64,
    /// How its terminals request capacity; `None` if they do not.
    pub policy: Option<Policy>,
    /// Its terminals have a part of the free capacity.
    pub free: bool,
    /// Its terminals send at random where they have no slots.
    pub access: bool,
    /// Weight of its rates in a shortage.
    pub weight: u32,
    /// Bytes of each class that wait at a terminal.
    pub buffer: u64,
    /// Plan of a subscriber; `None` without one.
    pub plan: Option<Plan>,
}

impl Settings {
    /// Slots of a carrier in a frame.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates where nothing fits in memory"
    )]
    pub fn slots_of_carrier(&self) -> u32 {
        // A frame of whole slots is not one slot shorter because its length is rounded.
        let slots = self.frame.as_secs_f64() * self.symbol_rate / f64::from(self.bursts.symbols());
        (slots + 1e-6).floor() as u32
    }

    /// Slots of all carriers in a frame.
    pub fn slots(&self) -> u32 {
        self.slots_of_carrier().saturating_mul(self.carriers)
    }

    /// How long a slot takes.
    pub fn slot(&self) -> Span {
        Span::from_secs_f64(f64::from(self.bursts.symbols()) / self.symbol_rate)
    }

    /// Frames from that of a request to that of its slots.
    pub fn loop_frames(&self) -> u64 {
        self.control_delay.as_nanos().div_ceil(self.frame.as_nanos())
    }

    /// Slots of a frame that carry `rate` bit/s of long packets of a group.
    pub fn slots_of_rate(&self, rate: f64, group: &Group) -> f64 {
        rate * self.frame.as_secs_f64() / f64::from(8 * group.waveform.net_bytes())
    }

    /// Slots of constant assignment that all `members` of a group have before frame number `frame`.
    pub(super) fn constant_before(&self, group: &Group, members: u64, frame: u64) -> u64 {
        let rate = u128::from(group.constant) * u128::from(members);
        let bit_nanos = rate * u128::from(self.frame.as_nanos()) * u128::from(frame);
        let slots = bit_nanos / (8_000_000_000 * u128::from(group.waveform.net_bytes()));
        u64::try_from(slots).unwrap_or(u64::MAX)
    }
}
