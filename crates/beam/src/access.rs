//! Random access to the return channel: terminals send without an assignment, and may collide.
//!
//! The channel has frames of N slots. In a frame a terminal sends at most one packet, in one or
//! more replicas, each a burst in a slot of its own, drawn uniformly. A slot with one burst is
//! decoded, a slot with several is not (no capture).
//!
//! - Slotted ALOHA: one replica.
//! - DSA, diversity slotted ALOHA: d replicas, one of them in a slot of its own is enough.
//! - CRDSA, contention resolution diversity slotted ALOHA: each replica names the slots of the
//!   others, so that a decoded packet is subtracted from their slots, which may decode the next
//!   packet (successive interference cancellation). Casini, De Gaudenzi and del Rio Herrero, IEEE
//!   Trans. Wireless Communications 6(4), 2007. The cancellation is perfect here.
//!
//! [`Channel`] decodes frames, [`closed`] has the throughputs that are known in closed form,
//! [`LoadControl`] is the gateway's control of the load, and [`Contender`] a terminal with its
//! retries.

use link::uniform;
use rand_xoshiro::rand_core::Rng;
use units::Span;

mod channel;
pub mod closed;
mod contender;
mod control;

pub use channel::{Channel, Scheme};
pub use contender::{Contender, GaveUp, Retries, Turn};
pub use control::{LoadControl, Target};

/// Settings of a random access channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Replicas and cancellation.
    pub scheme: Scheme,
    /// Slots of a frame.
    pub slots: u32,
    /// Rules of retries.
    pub retries: Retries,
    /// Load that the gateway keeps to, in packets per slot; `None` without a control.
    pub load: Option<f64>,
    /// Bursts carry packets. Otherwise they carry requests only.
    pub packets: bool,
}

/// Frames from the one in which a packet is sent to the one at whose start its acknowledgement is
/// there: a frame until it is decoded, and the round trip.
pub fn acknowledgement_frames(delay: Span, frame: Span) -> u32 {
    let round_trip = 2 * delay.as_nanos();
    u32::try_from(1 + round_trip.div_ceil(frame.as_nanos().max(1))).unwrap_or(u32::MAX)
}

/// A whole number from 0 to below `total`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to below a number of slots or frames"
)]
fn below(total: u64, random: &mut impl Rng) -> u64 {
    (uniform(random) * total as f64) as u64
}
