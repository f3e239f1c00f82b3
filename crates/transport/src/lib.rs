//! Parts that the transport protocols share.
//!
//! - [`RangeSet`] and [`Reassembly`]: what arrived out of order, and what was acknowledged so
//! - [`RttEstimator`]: smoothed round-trip time and retransmission timeout
//! - [`Datagrams`]: messages that may be lost
//! - [`Delivery`]: samples of the delivery rate; [`RoundTrips`]: only of the round-trip time
//! - [`Pacer`]: segments leave one by one
//! - [`CarefulResume`]: start from what an earlier connection has found
//! - [`LimitClock`]: time of a sender by what held it back
//! - [`PathMtu`]: the largest packet that the path takes
//! - [`pieces_up_to`]: a search in the pieces of a stream
//! - [`Protocol`]: the list of transport protocols
//! - [`Space`]: sequence numbers that wrap on the wire
//! - [`Streams`]: requests and answers on streams of their own
//! - [`QuickStart`]: start with a rate that the routers on the path approve

mod careful_resume;
mod datagrams;
mod delivery;
mod endpoint;
mod limits;
mod pacing;
mod path_cache;
mod path_mtu;
mod pieces;
mod protocol;
mod quick_start;
mod ranges;
mod reassembly;
mod records;
mod rtt;
mod sequence;
mod streams;

pub use careful_resume::{CarefulResume, ResumePhase, SavedPath};
pub use datagrams::{Datagram, Datagrams, LEAST_DATAGRAM};
pub use delivery::Delivery;
pub use endpoint::{AbortCause, Counters, Endpoint, Sample, Written};
pub use limits::{Limit, LimitClock, Limits};
pub use pacing::{Pacer, Pacing, usual_rate};
pub use path_cache::{KnownPath, PathCache};
pub use path_mtu::{Advice, MtuProbing, Opportunity, PathMtu, PathMtuCounters};
pub use pieces::pieces_up_to;
pub use protocol::{Protocol, ProtocolEntry, TakenKeys};
pub use quick_start::{Acknowledged, QuickStart};
pub use ranges::{Added, Range, RangeSet};
pub use reassembly::Reassembly;
pub use records::{Records, RoundTrips};
pub use rtt::{Estimator, Progress, RtoConfig, RttEstimator};
pub use sequence::Space;
pub use streams::{Exchange, Streams, Urgency};
