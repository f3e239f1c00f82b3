//! TCP endpoints (RFC 9293) as state machines without I/O: segments and time go in, segments and
//! deadlines come out.
//!
//! A [`Connection`] is one end: its state, its set-up and its timers. Its parts can be called on
//! their own: both halves (`connection/halves`), reports of marks (`connection/marks`), keep-alive,
//! and the recovery and the reports of SCPS-TP (`scps`). The halves are the sender (`sender`), with
//! a core and one of three recoveries, and the receiver (`receiver`), with reassembly, delayed ACKs
//! and window. Payload is counted, not carried: byte `n` of a stream is byte `n` for both ends.

// A number of the user's is never narrowed in silence. Each cast says why it cannot be, or why it
// may.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod accurate_ecn;
mod ack_congestion;
mod buffers;
mod config;
mod connection;
mod flight;
mod info;
mod receiver;
mod scoreboard;
mod scps;
mod segment;
mod sender;
mod timestamps;

pub use ack_congestion::AckCounters;
pub use buffers::{Growth, ReceiveTuning, SendTuning};
pub use config::{
    AckTiming, Config, DelayedAck, DuplicateWindow, KeepAlive, Recovery, RecoveryExit,
    SsthreshBasis,
};
pub use connection::{Connection, Ended, State};
pub use info::{Info, TunedBuffer};
pub use receiver::{ReceiveOffload, SackCompression};
pub use scps::{
    BestEffort, BestEffortCounters, Cause, LeftOut, SILENCE_OF_SIGNALS, Scps, Snack, SnackForm,
};
pub use segment::{Block, EcnCounters, Flags, MAX_SACK_BLOCKS, Options, Segment};
pub use sender::{NoticeCounters, Phase};
