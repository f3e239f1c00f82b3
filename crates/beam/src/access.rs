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

mod channel;
pub mod closed;
mod contender;
mod control;

pub use channel::{Channel, Scheme, SlotCounts};
pub use contender::{Contender, GaveUp, Retries, Turn};
pub use control::{LoadControl, Target};
