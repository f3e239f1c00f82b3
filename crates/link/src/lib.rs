//! One direction of a link as a state machine without I/O: told when a packet is offered, it says
//! whether the packet is dropped, and if not when it arrives and whether it arrives intact.

mod channel;
mod direction;
mod jitter;
mod marker;
mod priority;
mod serialiser;
mod stream;

pub use channel::{Awgn, Budget, Bursts, Channel, Code, Errors, Fade, Lock, Outage};
pub use direction::{Change, Counters, Fate, Limit, Link, LowPriority, PushedOut, Settings};
pub use jitter::Jitter;
pub use marker::{Marker, Marking};
pub use priority::Priority;
pub use serialiser::Serialiser;
pub use stream::{Purpose, stream};
