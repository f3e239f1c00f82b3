//! One direction of a link as a state machine without I/O: a queue, a transmitter, a channel and a
//! delay. For each offered packet, it returns whether the packet is dropped, and otherwise its
//! arrival time and whether it is corrupted.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod arq;
mod channel;
mod correlated;
mod demand;
mod direction;
mod dynamics;
mod far_end;
mod fec;
mod feedback;
mod framing;
mod mechanism;
mod modem;
mod policer;
mod priority;
mod propagation;
mod queue;
mod shaper;
mod stream;
mod tokens;
mod trace;
mod transmitter;

pub use arq::{
    Accepted, Arq, ArqCounters, ArqSettings, Frame, GoBackNSettings, Receiver, Repeat,
    SelectiveRepeatSettings, Sender, Status,
};
pub use channel::{
    Awgn, Budget, BurstLength, Bursts, Channel, Code, CorrelatedErrors, Errors, Fade, Lock, Outage,
};
pub use demand::{Action, Demand, DemandCounters, DemandSettings, DvbRcs2Settings, Terminal};
pub use direction::{Counters, Direction, Fate, PushedOut, Settings, ToCome};
pub use dynamics::{Change, Cursor, Timeline, event_delay};
pub use fec::{
    CodedFrame, Decoder, Encoder, Fec, FecCounters, FecSettings, LONGEST_BLOCK, Part,
    ReedSolomonSettings,
};
pub use feedback::{
    EbnSettings, Feedback, FeedbackCounters, ProportionalXcpSettings, QuickStartSettings, Router,
    XcpSettings,
};
pub use framing::{Cells, Framing};
pub use mechanism::{Mechanism, Provenance};
pub use modem::{Acm, Modcod, Modem, ModemSettings, Signal};
pub use policer::{Policer, PolicerCounters};
pub use priority::Priority;
pub use propagation::{
    Distribution, Drawn, Duplication, ImpairmentCounters, Jitter, MOST_VALUES, Propagation,
    Reordering, Slots, Variation,
};
pub use queue::{
    Aqm, AqmCounters, CodelSettings, Content, Decisions, Discipline, DualPi2Settings, Ecn,
    FqCodelSettings, LowPriority, Marker, Marking, PieSettings, QueueLimit, Queued, Queueing,
    RedSettings, Served,
};
pub use shaper::{Shaper, ShaperCounters};
pub use stream::{Purpose, Seed, Trials, exponential, stream, uniform};
pub use tokens::{Buckets, Peak, TokenBucket, Tokens};
pub use trace::{Means, Trace, trace_start};
pub use transmitter::Serialiser;

/// The mechanisms of this crate, for `bentpipe path`.
pub fn mechanisms() -> Vec<&'static Mechanism> {
    let queues = Aqm::all();
    let repeats = Arq::all();
    let codes = Fec::all();
    let modems = Modem::all();
    let feedback = Feedback::all();
    let demands = Demand::all();
    let on_links = repeats.iter().map(Arq::about).chain(codes.iter().map(Fec::about));
    let on_links = on_links.chain(modems.iter().map(Modem::about));
    let on_links = on_links.chain(feedback.iter().map(Feedback::about));
    let on_links = on_links.chain(demands.iter().map(Demand::about)).chain([
        &trace::ABOUT,
        &shaper::ABOUT,
        &policer::ABOUT,
    ]);
    queues.iter().map(Aqm::about).chain(on_links).collect()
}
